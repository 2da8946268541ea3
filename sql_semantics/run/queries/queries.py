"""Queries of every kind: SELECT, set operations, VALUES, series. Does not know what becomes of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Query, Select, Series, SetOperation, Unnest, Values
from sql_semantics.ir.walks.digits import Digits
from sql_semantics.ir.walks.traverse import outer_reads
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import Arguments, EvaluateRow, Frame, Row, compile_row
from sql_semantics.run.queries.order import require_comparable
from sql_semantics.run.queries.select import Execute, compile_output, compile_select, inner_output, output_types
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.array_text import read_array
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.families.json_records import read_records
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import TEXT, SqlType, Value
from sql_semantics.view import View

SERIES_LIMIT = 1_000_000
"""Rows of a series beyond which it is not listed."""


def compile_query(
    query: Query,
    dialect: Dialect,
    *,
    inner: bool = False,
    may: bool = False,
    rounds: bool = False,
    digits: Digits = "checked",
) -> Execute:
    """f(view, args, frame) -> the query's rows before LIMIT; does not call `view.begin`.

    `inner`: the rows stay within the statement. `may` marks its errors. `rounds` and `digits` as in `compile_select`.
    """
    if isinstance(query, Select):
        return compile_select(query, dialect, inner=inner, may=may, rounds=rounds, digits=digits)
    types = output_types([output.expression for output in query.outputs], dialect)
    match query:
        case SetOperation():
            rows = _set_operation(query, types, dialect, may)
        case Values():
            rows = _values(query, dialect, may)
        case Series():
            rows = _series(query, dialect, may)
        case Unnest():
            rows = _records(query, dialect, may) if query.keys else _unnest(query, dialect, may)
    finish = inner_output(types, dialect) if inner else compile_output(types, dialect)

    def execute(view: View, args: Arguments, frame: Frame) -> ResultSet[Value]:
        found = rows(view, args, frame)
        return ResultSet(types, found if finish is None else [finish(row) for row in found])

    return execute


Rows = Callable[[View, Arguments, Frame], list[Row]]


def _values(query: Values, dialect: Dialect, may: bool) -> Rows:
    rows = [compile_row(row, dialect, may=may) for row in query.rows]
    return lambda view, args, frame: [row((), args, frame) for row in rows]


def _series(query: Series, dialect: Dialect, may: bool) -> Rows:
    bounds = compile_row([query.start, query.stop, query.step], dialect, may=may)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        start, stop, step = bounds((), args, frame)
        if start is None or stop is None or step is None:
            return []
        if not isinstance(start, int) or not isinstance(stop, int) or not isinstance(step, int):
            raise Unsupported("generate_series over other than integers")
        if step == 0:
            raise SqlError("22023", "step size cannot equal zero", may=may)
        numbers = range(start, stop + (1 if step > 0 else -1), step)
        if (stop - start) // step >= SERIES_LIMIT:
            raise Unsupported(f"generate_series of more than {SERIES_LIMIT} rows")
        return [(number,) for number in numbers]

    return rows


def _unnest(query: Unnest, dialect: Dialect, may: bool) -> Rows:
    arrays: list[EvaluateRow] = [
        compile_row(items, dialect, may=may) if items else lambda row, args, frame: () for items in query.arrays
    ]
    convert = [
        caster(TEXT, query.outputs[place].expression.type, False, dialect, may) if place in query.texts else None
        for place in range(len(arrays))
    ]

    def items_of(place: int, values: Row) -> Row:
        if place in query.values:
            return cast(Array, values[0]).items if values[0] is not None else ()
        if place not in query.texts:
            return values
        if values[0] is None:
            return ()
        read = convert[place]
        texts = read_array(str(values[0]), may)
        return tuple(text if text is None or read is None else read(text) for text in texts)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        columns = [items_of(place, array((), args, frame)) for place, array in enumerate(arrays)]
        found = list(zip_longest(*columns))
        return [(*row, number) for number, row in enumerate(found, 1)] if query.ordinality else found

    return rows


def _records(query: Unnest, dialect: Dialect, may: bool) -> Rows:
    text = compile_row(query.arrays[0], dialect, may=may)
    types = [output.expression.type for output in query.outputs]
    readers = [caster(TEXT, type_, False, dialect, may) for type_ in types]

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        (given,) = text((), args, frame)
        if given is None:
            return []
        return [
            tuple(item if item is None or read is None else read(item) for item, read in zip(row, readers, strict=True))
            for row in read_records(str(given), query.keys, may)
        ]

    return rows


def _set_operation(query: SetOperation, types: Sequence[SqlType], dialect: Dialect, may: bool) -> Rows:
    # where one side of an INTERSECT or EXCEPT is empty the other need not be looked at
    may = may or query.op != "union"
    left = _branch(query.left, query.left_items, dialect, may)
    right = _branch(query.right, query.right_items, dialect, may)
    rule = text_rule(dialect)
    combine = _COMBINE[query.op, query.every]
    compared = (query.op, query.every) != ("union", True)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        first, second = left(view, args, frame), right(view, args, frame)
        if compared:
            require_comparable([*first, *second], types, rule)
        return combine(first, second)

    return rows


def _branch(query: Query, items: Sequence[Expr], dialect: Dialect, may: bool) -> Rows:
    execute = compile_query(query, dialect, inner=True, may=may)
    convert = compile_row(items, dialect, may=may)
    correlated = bool(outer_reads(query))

    def branch(view: View, args: Arguments, frame: Frame) -> list[Row]:
        rows = cut(execute(view, args, frame), None if correlated else view.choose)
        return [convert(row, args, frame) for row in rows]

    return branch


def _intersect_all(first: list[Row], second: list[Row]) -> list[Row]:
    left = Counter(second)
    kept = []
    for row in first:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def _except_all(first: list[Row], second: list[Row]) -> list[Row]:
    gone = Counter(second)
    kept = []
    for row in first:
        if gone[row] > 0:
            gone[row] -= 1
        else:
            kept.append(row)
    return kept


def _intersect(first: list[Row], second: list[Row]) -> list[Row]:
    both = set(second)
    return [row for row in dict.fromkeys(first) if row in both]


def _except(first: list[Row], second: list[Row]) -> list[Row]:
    gone = set(second)
    return [row for row in dict.fromkeys(first) if row not in gone]


_COMBINE: dict[tuple[str, bool], Callable[[list[Row], list[Row]], list[Row]]] = {
    ("union", True): lambda first, second: first + second,
    ("union", False): lambda first, second: list(dict.fromkeys(first + second)),
    ("intersect", True): _intersect_all,
    ("intersect", False): _intersect,
    ("except", True): _except_all,
    ("except", False): _except,
}
