"""Subqueries in expressions over guarded rows.

A query's guarded rows decide a predicate by guards, not by paths: `x IN (query)` holds where some row that is there
equals x, however many rows are uncertain. An error inside a subquery is Unsupported here, and left to path exploration.
Does not know where the subquery stands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedFrame, GuardedRows, without_errors
from sql_semantics.guarded.lifting import Failure, failed, is_failure
from sql_semantics.guarded.native.expressions import Arguments, Frame, Row, Symbolic, compile_scalar, compile_test
from sql_semantics.guarded.native.predicates import Predicate, both, negation
from sql_semantics.guarded.native.select import Selected, compile_query, feed
from sql_semantics.guarded.paths.running import scalar_key
from sql_semantics.ir.expressions import Binary, Column, Exists, Expr, InQuery, Outer, Quantified, ScalarQuery, Subquery
from sql_semantics.ir.queries import Query
from sql_semantics.ir.walks.digits import Digits, digits_of_scalar
from sql_semantics.ir.walks.traverse import outer_reads
from sql_semantics.run.expressions.subquery import _rows_only
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, choose, conj, disj, items_of, neg
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN

_SEVERAL = Failure("21000", "more than one row returned by a subquery used as an expression", False)


def compile_outer(expr: Outer) -> Symbolic:
    """A value of a row around the query. Raises Unsupported for CHAR(n), whose blanks are stripped elsewhere."""
    if expr.type.padded:
        raise Unsupported("a CHAR value of an outer row on symbolic rows")
    depth, index = expr.depth, expr.index
    return lambda row, args, frame: _frame(frame).rows[-depth][index]


def compile_subquery(expr: Subquery, dialect: Dialect) -> Symbolic:
    """f(row, args, frame) -> predicate or scalar, on a `GuardedFrame`. Raises Unsupported, also when it runs."""
    match expr:
        case Exists():
            return _exists(expr, dialect)
        case InQuery():
            return _in(expr, dialect)
        case Quantified():
            return _quantified(expr, dialect)
    return _scalar(expr, dialect)


def _frame(frame: Frame) -> GuardedFrame:
    return cast(GuardedFrame, frame)


def _compile(
    query: Query, dialect: Dialect, *, digits: Digits = "checked"
) -> Callable[[Row, Frame], tuple[Execution, Selected]]:
    """f(row, frame) -> the query's guarded rows, once per statement execution and values of outer rows read."""
    run = compile_query(query, dialect, inner=True, digits=digits)
    reads = sorted(outer_reads(query))
    token = object()

    def find(row: Row, frame: Frame) -> tuple[Execution, Selected]:
        within = _frame(frame)
        execution = within.execution
        within.rows.append(row)
        try:
            outer = [within.rows[-depth][index] for depth, index in reads]
            key: Hashable = (token, tuple(map(scalar_key, outer)))
            known = within.memo.get(key)
            if known is None:
                # the outer values stay referenced, as the key names them by identity
                known = within.memo[key] = (outer, without_errors(execution, lambda: run(execution)))
        finally:
            within.rows.pop()
        return execution, cast(Selected, known[1])

    return find


def _exists(expr: Exists, dialect: Dialect) -> Symbolic:
    find = _compile(_rows_only(expr.query), dialect)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Predicate:
        execution, selected = find(row, frame)
        if selected.limit == 0:
            some = FALSE
        elif selected.offset:
            some = disj(*(guard for guard, _ in feed(execution, selected)))
        else:
            some = disj(*(guard for guard, _ in selected.rows))
        return Predicate(neg(some), some) if expr.negated else Predicate(some, neg(some))

    return evaluate


def _in(expr: InQuery, dialect: Dialect) -> Symbolic:
    find = _compile(expr.query, dialect)
    operands = [compile_scalar(operand, dialect, may=True) for operand in expr.operands]
    items = [compile_scalar(item, dialect, may=True) for item in expr.items]
    tests = [_comparison("=", a, b, dialect) for a, b in zip(expr.operands, expr.items, strict=True)]

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Predicate:
        left = [_sound(operand(row, args, frame)) for operand in operands]
        execution, selected = find(row, frame)
        equal: list[tuple[Guard, Predicate]] = []
        for guard, values in feed(execution, selected):
            right = [item(values, args, []) for item in items]
            compared = [test(a, b) for test, a, b in zip(tests, left, right, strict=True)]
            whole = compared[0]
            for other in compared[1:]:
                whole = both(whole, other)
            equal.append((guard, whole))
        found = _any(equal)
        return negation(found) if expr.negated else found

    return evaluate


def _quantified(expr: Quantified, dialect: Dialect) -> Symbolic:
    find = _compile(expr.query, dialect)
    operand = compile_scalar(expr.operand, dialect, may=True)
    item = compile_scalar(expr.item, dialect, may=True)
    test = _comparison(expr.op, expr.operand, expr.item, dialect)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Predicate:
        left = _sound(operand(row, args, frame))
        execution, selected = find(row, frame)
        compared = [(guard, test(left, item(values, args, []))) for guard, values in feed(execution, selected)]
        if expr.every:
            # x op ALL (q) = NOT (NOT (x op) ANY (q))
            return negation(_any([(guard, negation(one)) for guard, one in compared]))
        return _any(compared)

    return evaluate


def _sound(scalar: Scalar) -> Scalar:
    """An operand, which is evaluated even where the query has no row."""
    if any(is_failure(leaf) for _, leaf in items_of(scalar)):
        raise Unsupported("an error beside a subquery on symbolic rows")
    return scalar


def _comparison(op: str, left: Expr, right: Expr, dialect: Dialect) -> Callable[[Scalar, Scalar], Predicate]:
    test = compile_test(
        Binary(op, Column(0, left.type, "left"), Column(1, right.type, "right"), BOOLEAN), dialect, may=True
    )
    return lambda a, b: test((a, b), (), [])


def _any(rows: Sequence[tuple[Guard, Predicate]]) -> Predicate:
    """Where the predicate holds of some row that is there; unknown where it is unknown of one and holds of none."""
    if any(one.failures for _, one in rows):
        raise Unsupported("an error beside a subquery on symbolic rows")
    true = disj(*(conj(guard, one.true) for guard, one in rows))
    unknown = disj(*(conj(guard, one.null) for guard, one in rows))
    return Predicate(true, conj(neg(true), neg(unknown)), conj(neg(true), unknown))


def _scalar(expr: ScalarQuery, dialect: Dialect) -> Symbolic:
    if dialect.rules.running.subqueries_take_first_row:
        raise Unsupported("a scalar subquery of several rows in sqlite on symbolic rows")
    find = _compile(expr.query, dialect, digits=digits_of_scalar(expr.query))

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar:
        execution, selected = find(row, frame)
        return _single(feed(execution, selected))

    return evaluate


def _single(rows: GuardedRows) -> Scalar:
    if len(rows) == 1 and rows[0][0] is TRUE:
        return rows[0][1][0]
    items: list[tuple[Guard, Scalar]] = []
    before = several = FALSE
    for guard, _ in rows:
        several = disj(several, conj(before, guard))
        before = disj(before, guard)
    items += [(conj(guard, neg(several)), values[0]) for guard, values in rows]
    items += [(neg(before), None), (several, failed(_SEVERAL.error()))]
    return choose(items)


def compile_embedded(expr: Any, dialect: Dialect) -> Symbolic | None:
    """The symbolic form of an outer value or a subquery; None for every other expression."""
    if isinstance(expr, Outer):
        return compile_outer(expr)
    return compile_subquery(expr, dialect) if isinstance(expr, Subquery) else None
