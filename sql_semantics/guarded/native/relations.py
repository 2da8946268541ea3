"""FROM items that are no tables, over guarded rows: derived tables, common tables, joins in parentheses.

Evaluated once per statement execution and combination of the outer values read, like subqueries in expressions, and
like there an error inside is Unsupported: it is left to path exploration, as are LATERAL and recursion. Does not know
how items are joined.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows, without_errors
from sql_semantics.guarded.paths.running import scalar_key
from sql_semantics.ir.queries import CommonScan, CommonTable, Derived, Joined, Query, Relation
from sql_semantics.ir.walks.digits import digits_in_from
from sql_semantics.ir.walks.traverse import outer_reads
from sql_semantics.values.dialect import Dialect

Fetch = Callable[[Execution], GuardedRows]


def compile_relation(relation: Relation, dialect: Dialect) -> Fetch:
    """f(execution) -> the item's guarded rows. Raises Unsupported for what is left to path exploration."""
    match relation:
        case Derived(query, False):
            return _memoized(object(), query, dialect)
        case CommonScan(CommonTable(step=None) as table, levels):
            return _outside(_memoized(table, table.query, dialect), levels)
        case Joined(sources):
            from sql_semantics.guarded.native.join import compile_sources  # joins have relations

            return compile_sources(sources, None, dialect, may=True)
    raise Unsupported(f"{type(relation).__name__} in FROM on symbolic rows")


def _memoized(token: object, query: Query, dialect: Dialect) -> Fetch:
    from sql_semantics.guarded.native.select import compile_query, feed  # queries have relations

    run = compile_query(query, dialect, inner=True, digits=digits_in_from(query))
    reads = sorted(outer_reads(query))

    def fetch(execution: Execution) -> GuardedRows:
        frame = execution.frame
        outer = [frame.rows[-depth][index] for depth, index in reads]
        key = (token, tuple(map(scalar_key, outer)))
        known = frame.memo.get(key)
        if known is None:
            found = without_errors(execution, lambda: feed(execution, run(execution)))
            # the outer values stay referenced, as the key names them by identity
            known = frame.memo[key] = (outer, found)
        return known[1]

    return fetch


def _outside(fetch: Fetch, levels: int) -> Fetch:
    """What is defined `levels` queries further out is evaluated there."""
    if levels == 0:
        return fetch

    def from_outside(execution: Execution) -> GuardedRows:
        frame = execution.frame
        rows = frame.rows
        frame.rows = rows[: len(rows) - levels]
        try:
            return fetch(execution)
        finally:
            frame.rows = rows

    return from_outside
