"""UNION, INTERSECT and EXCEPT of guarded rows. Does not know what the branches are.

Where duplicates go, a row is there once under the condition that some equal row is; where each duplicate counts, only
UNION ALL is done here. Errors inside a branch are Unsupported: whether a branch is evaluated at all is the DBMS's
choice, which path exploration leaves to the concrete runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows, without_errors
from sql_semantics.guarded.lifting import split
from sql_semantics.guarded.native.expressions import compile_scalar
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Query, SetOperation
from sql_semantics.run.queries.order import require_comparable
from sql_semantics.terms import FALSE, Guard, Scalar, conj, disj, neg
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import SqlType, Value

Rows = Callable[[Execution], GuardedRows]
ByValue = dict[tuple[Value, ...], list[Guard]]


def compile_set_operation(query: SetOperation, types: Sequence[SqlType], dialect: Dialect) -> Rows:
    """f(execution) -> the rows of both branches together. Raises Unsupported, also when it runs."""
    if query.every and query.op != "union":
        raise Unsupported(f"{query.op.upper()} ALL on symbolic rows")
    left = _branch(query.left, query.left_items, dialect)
    right = _branch(query.right, query.right_items, dialect)
    rule = text_rule(dialect)

    def rows(execution: Execution) -> GuardedRows:
        first = without_errors(execution, lambda: left(execution))
        second = without_errors(execution, lambda: right(execution))
        if query.every:
            return first + second
        one, other = _by_value(query.op, first), _by_value(query.op, second)
        require_comparable([*one, *other], types, rule)
        found = ((_present(query.op, one.get(row, []), other.get(row, [])), row) for row in {**one, **other})
        return [(guard, cast("tuple[Scalar, ...]", row)) for guard, row in found if guard is not FALSE]

    return rows


def _branch(query: Query, items: Sequence[Expr], dialect: Dialect) -> Rows:
    from sql_semantics.guarded.native.select import compile_query, feed  # queries are set operations, too

    run = compile_query(query, dialect, inner=True)
    convert = [compile_scalar(item, dialect) for item in items]

    def rows(execution: Execution) -> GuardedRows:
        args, frame = execution.arguments, execution.frame
        found: GuardedRows = []
        for guard, row in feed(execution, run(execution)):
            values, sound = execution.settled(guard, [item(row, args, frame) for item in convert])
            found.append((sound, execution.narrowed(sound, values)))
        return found

    return rows


def _by_value(op: str, rows: GuardedRows) -> ByValue:
    found: ByValue = {}
    for guard, values in rows:
        for case, leaves in split(op.upper(), guard, values):
            found.setdefault(leaves, []).append(case)
    return found


def _present(op: str, left: list[Guard], right: list[Guard]) -> Guard:
    match op:
        case "union":
            return disj(*left, *right)
        case "intersect":
            return conj(disj(*left), disj(*right))
    return conj(disj(*left), neg(disj(*right)))
