"""Where the rows of a FROM item come from: tables, derived tables, common tables, joins in parentheses.

A query in FROM is evaluated once per statement execution and combination of the outer values that it reads (inside a
recursive term: once per round). The DBMS may merge it into the query around it and then evaluates less of it, so its
errors are `may`. Does not know how items are joined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sql_semantics.errors import Unsupported
from sql_semantics.ir.queries import (
    BaseTable,
    CommonScan,
    CommonTable,
    Derived,
    FunctionScan,
    Identified,
    Joined,
    Query,
    Relation,
    Source,
    WorkingTable,
    WrittenTable,
)
from sql_semantics.ir.walks.digits import digits_in_from
from sql_semantics.ir.walks.traverse import outer_reads, reads_working
from sql_semantics.run.expressions.expressions import Arguments, Frame, Row, compile_row
from sql_semantics.run.expressions.frames import QueryFrame, memoized, query_frame
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import View

Fetch = Callable[[View, Arguments, Frame], list[Row]]

RECURSION_LIMIT = 200_000
"""Rows of a recursive common table beyond which it is not followed."""


def compile_relation(relation: Relation, dialect: Dialect) -> Fetch:
    """f(view, args, frame) -> the rows of a FROM item, which must not be changed."""
    match relation:
        case BaseTable(name):
            return lambda view, args, frame: [row for _, row in view.scan(name)]
        case Identified(name):
            return lambda view, args, frame: [(*row, identity) for identity, row in view.scan(name)]
        case Derived(query):
            return _materialized(query, dialect)
        case CommonScan(table, levels):
            return _common(table, levels, dialect)
        case Joined(sources):
            return _joined(sources, dialect)
        case FunctionScan():
            return _function(relation, dialect)


def _function(scan: FunctionScan, dialect: Dialect) -> Fetch:
    from sql_semantics.run.routines.routines import invoker  # routines hold queries

    arguments = compile_row(scan.arguments, dialect)
    invoke, within = invoker(scan.routine, dialect), scan.within
    signature = scan.routine.signature

    def rows(args: Arguments, frame: QueryFrame) -> list[Row]:
        run = None if within is None else frame[within]
        found = invoke(frame.view, arguments((), args, frame), run)  # type: ignore[arg-type]
        if signature.rows:
            return found  # type: ignore[no-any-return]
        if signature.record:
            return [tuple(None for _ in signature.results) if found is None else found]
        return [(found,)]

    evaluate = memoized(object(), [], rows)
    return lambda view, args, frame: evaluate(args, query_frame(frame))


def compile_rows(query: Query, dialect: Dialect) -> Fetch:
    """The rows of a query that feeds another one, cut to its LIMIT."""
    from sql_semantics.run.queries.queries import compile_query  # queries have relations

    execute = compile_query(query, dialect, inner=True, may=True, digits=digits_in_from(query))
    if not outer_reads(query):
        return lambda view, args, frame: cut(execute(view, args, frame), view.choose)
    token = object()

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        # the choices of the first row outside are kept; which others come, and in what order, is not determined
        first = query_frame(frame).memo.setdefault(token, {})
        choose = None if first else view.choose
        first[()] = True
        return cut(execute(view, args, frame), choose)

    return rows


def _materialized(query: Query, dialect: Dialect) -> Fetch:
    rows = compile_rows(query, dialect)
    if reads_working(query):
        return rows
    evaluate = memoized(object(), sorted(outer_reads(query)), lambda args, frame: rows(frame.view, args, frame))
    return lambda view, args, frame: evaluate(args, query_frame(frame))


def _joined(sources: tuple[Source, ...], dialect: Dialect) -> Fetch:
    from sql_semantics.run.queries.join import compile_sources  # joins have relations

    return compile_sources(sources, None, dialect, may=True)


def _common(table: CommonTable | WorkingTable | WrittenTable, levels: int, dialect: Dialect) -> Fetch:
    if not isinstance(table, CommonTable):
        return lambda view, args, frame: query_frame(frame).memo[table][()]
    evaluate = _compile_common(table, dialect)
    if levels == 0:
        return lambda view, args, frame: evaluate(args, query_frame(frame))

    def from_outside(view: View, args: Arguments, frame: Frame) -> list[Row]:
        inside = query_frame(frame)
        rows = inside.rows
        inside.rows = rows[: len(rows) - levels]
        try:
            return evaluate(args, inside)
        finally:
            inside.rows = rows

    return from_outside


@lru_cache(maxsize=1024)
def _compile_common(table: CommonTable, dialect: Dialect) -> Callable[[Arguments, QueryFrame], list[Row]]:
    """Compiled once for all its references."""
    initial = compile_rows(table.query, dialect)
    reads = outer_reads(table.query)
    if table.step is None or table.working is None:
        return memoized(table, sorted(reads), lambda args, frame: initial(frame.view, args, frame))
    reads |= outer_reads(table.step)
    step = compile_rows(table.step, dialect)
    working, union_all = table.working, table.union_all
    rounds = dialect.rules.running.recursion_rounds or RECURSION_LIMIT

    def recurse(args: Arguments, frame: QueryFrame) -> list[Row]:
        latest = initial(frame.view, args, frame)
        if not union_all:
            latest = list(dict.fromkeys(latest))
        found = list(latest)
        seen = set(found)
        for _ in range(rounds):
            if not latest or len(found) > RECURSION_LIMIT:
                break
            frame.memo[working] = {(): latest}
            latest = step(frame.view, args, frame)
            if not union_all:
                latest = [row for row in dict.fromkeys(latest) if row not in seen]
                seen.update(latest)
            found += latest
        if latest:
            raise Unsupported(f"recursive query {table.name} of more than {rounds} rounds or {RECURSION_LIMIT} rows")
        return found

    return memoized(table, sorted(reads), recurse)
