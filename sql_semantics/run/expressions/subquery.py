"""Subqueries in expressions: scalar, EXISTS, IN, ANY and ALL, with three-valued logic.

Each is a function of (row, args, frame) like any expression: it puts its row on the frame's rows and runs the query,
once per combination of the outer values that it reads. Does not know where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from sql_semantics.errors import SqlError
from sql_semantics.ir.expressions import (
    Binary,
    Column,
    Const,
    Exists,
    Expr,
    InQuery,
    Quantified,
    ScalarQuery,
    Subquery,
)
from sql_semantics.ir.queries import OutputColumn, Query, Select
from sql_semantics.ir.walks.digits import Digits, digits_of_scalar
from sql_semantics.ir.walks.traverse import outer_reads, reads_working
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import Arguments, Emitter, Evaluate, Frame, Row, compile_row
from sql_semantics.run.expressions.frames import QueryFrame, memoized, query_frame
from sql_semantics.run.queries.queries import compile_query
from sql_semantics.run.queries.ties import Choose, cut
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, INT, Value

Truth = bool | None
T = TypeVar("T")


def compile_subquery(expr: Subquery, dialect: Dialect, may: bool) -> Evaluate:
    """f(row, args, frame) -> value, on a `QueryFrame`. `may` marks its errors."""
    match expr:
        case ScalarQuery():
            return _scalar(expr, dialect, may)
        case Exists():
            return _exists(expr, dialect)
        case InQuery():
            return _in(expr, dialect)
        case Quantified():
            return _quantified(expr, dialect)


def _evaluated(
    query: Query,
    reduce: Callable[[ResultSet[Value], Arguments, Choose | None], T],
    dialect: Dialect,
    may: bool,
    *,
    digits: Digits = "checked",
) -> Callable[[Row, Arguments, Frame], T]:
    """f(row, args, frame) -> what `reduce` makes of the query's rows, memoized. The choices of a query that is run for
    each outer row are not kept."""
    execute = compile_query(query, dialect, inner=True, may=may, digits=digits)
    correlated = bool(outer_reads(query)) or reads_working(query)

    def once(args: Arguments, frame: QueryFrame) -> T:
        return reduce(execute(frame.view, args, frame), args, None if correlated else frame.view.choose)

    if not correlated:
        return _shared(once)
    evaluate = once if reads_working(query) else memoized(object(), sorted(outer_reads(query)), once)

    def inside(row: Row, args: Arguments, frame: Frame) -> T:
        within = query_frame(frame)
        within.rows.append(row)
        try:
            return evaluate(args, within)
        finally:
            within.rows.pop()

    return inside


def _shared(evaluate: Callable[[Arguments, QueryFrame], T]) -> Callable[[Row, Arguments, Frame], T]:
    """`evaluate` once per statement execution, whatever the outer row."""
    token = object()

    def inside(row: Row, args: Arguments, frame: Frame) -> T:
        within = cast(QueryFrame, frame)
        known = within.memo.get(token)
        if known is None:
            within.rows.append(row)
            try:
                known = within.memo[token] = {(): evaluate(args, within)}
            finally:
                within.rows.pop()
        return known[()]  # type: ignore[no-any-return]  # kept under the token: a T

    return inside


def _scalar(expr: ScalarQuery, dialect: Dialect, may: bool) -> Evaluate:
    rules = dialect.rules.running
    first_row = rules.subqueries_take_first_row
    may = may or rules.elides_errors

    def reduce(result: ResultSet[Value], args: Arguments, choose: Choose | None) -> Value:
        if first_row:
            result.limit = 1 if result.limit is None else min(result.limit, 1)
        rows = cut(result, choose)
        if len(rows) > 1:
            raise SqlError("21000", "more than one row returned by a subquery used as an expression", may=may)
        return rows[0][0] if rows else None

    return _evaluated(expr.query, reduce, dialect, may, digits=digits_of_scalar(expr.query))


def _exists(expr: Exists, dialect: Dialect) -> Evaluate:
    negated = expr.negated

    def reduce(result: ResultSet[Value], args: Arguments, choose: Choose | None) -> bool:
        if result.subset:
            return (not cut(result, choose)) is negated
        count = len(result.rows) - result.offset
        some = count > 0 and (result.limit is None or result.limit > 0)
        return some is not negated

    return _evaluated(_rows_only(expr.query), reduce, dialect, True)


def _rows_only(query: Query) -> Query:
    """The query without what does not change whether it has rows: its columns and their order."""
    if not isinstance(query, Select) or query.distinct:
        return query
    return replace(query, outputs=(OutputColumn("exists", Const(1, INT)),), order=())


def _comparator(op: str, left: Expr, right: Expr, dialect: Dialect) -> Callable[[Value, Value], Truth]:
    """f(left, right) -> truth of the comparison of an operand with an item."""
    emitter = Emitter(dialect, True)
    test = Binary(op, Column(0, left.type, "left"), Column(1, right.type, "right"), BOOLEAN)
    compare = emitter.function("row, args, frame", emitter.value(test))
    return lambda a, b: cast(Truth, compare((a, b), (), []))


def _in(expr: InQuery, dialect: Dialect) -> Evaluate:
    convert = compile_row(expr.items, dialect, may=True)
    operands = compile_row(expr.operands, dialect, may=True)
    emitter = Emitter(dialect)
    pairs = list(zip(expr.operands, expr.items, strict=True))
    native = all(emitter.native_equality(a.type, b.type) for a, b in pairs)
    compare = [_comparator("=", a, b, dialect) for a, b in pairs]
    negated = expr.negated

    def reduce(
        result: ResultSet[Value], args: Arguments, choose: Choose | None
    ) -> tuple[list[Row], frozenset[Row], list[Row]]:
        rows = [convert(row, args, []) for row in cut(result, choose)]
        if not native:
            return rows, frozenset(), rows
        return rows, frozenset(rows), [row for row in rows if None in row]

    items = _evaluated(expr.query, reduce, dialect, True)

    def member(operand: Row, rows: list[Row]) -> Truth:
        unknown = False
        for row in rows:
            equal: Truth = True
            for test, a, b in zip(compare, operand, row, strict=True):
                one = test(a, b)
                if one is False:
                    equal = False
                    break
                if one is None:
                    equal = None
            if equal:
                return True
            unknown = unknown or equal is None
        return None if unknown else False

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Truth:
        operand = operands(row, args, frame)
        rows, whole, partial = items(row, args, frame)
        if not native or None in operand:
            truth = member(operand, rows)
        else:
            truth = operand in whole or (member(operand, partial) if partial else False)
        return truth if truth is None else truth is not negated

    return evaluate


def _quantified(expr: Quantified, dialect: Dialect) -> Evaluate:
    operand = compile_row([expr.operand], dialect, may=True)
    convert = compile_row([expr.item], dialect, may=True)
    compare = _comparator(expr.op, expr.operand, expr.item, dialect)
    deciding = not expr.every

    def reduce(result: ResultSet[Value], args: Arguments, choose: Choose | None) -> list[Value]:
        return list(dict.fromkeys([convert(row, args, [])[0] for row in cut(result, choose)]))

    items = _evaluated(expr.query, reduce, dialect, True)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Truth:
        (value,) = operand(row, args, frame)
        unknown = False
        for item in items(row, args, frame):
            truth = compare(value, item)
            if truth is deciding:
                return deciding
            unknown = unknown or truth is None
        return None if unknown else not deciding

    return evaluate
