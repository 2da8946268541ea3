"""Aggregates that put the values of a group one after the other (PostgreSQL 9.21): string_agg, array_agg, JSON's.

They come in the order of the aggregate's own ORDER BY; what that leaves open, and shows, is the DBMS's choice. Does not
know groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.queries import Aggregate
from sql_semantics.ir.walks.traverse import LISTS
from sql_semantics.run.expressions.expressions import Arguments, Frame, Row, compile_row
from sql_semantics.run.expressions.frames import query_frame
from sql_semantics.run.queries.order import require_comparable, sort_rows
from sql_semantics.run.queries.ties import arranged, canonical, differ
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.functions.jsons.making import made_of_pairs, made_of_values
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Value
from sql_semantics.view import View

OverRows = Callable[[list[Row], Arguments, Frame], Value]
_OMIT_NULLS = frozenset({"string_agg"})


def compile_listing(aggregate: Aggregate, dialect: Dialect, *, may: bool, ordered: bool, chooses: bool) -> OverRows:
    """f(rows, args, frame) -> the aggregate. `ordered`: the rows come in an order that is determined. `chooses`: the
    query reads no row around it, so that the DBMS chooses once; elsewhere it does so each time anew, and may do it more
    or less often than the run here."""
    assert aggregate.function in LISTS
    rule = text_rule(dialect)
    values_of = compile_row(aggregate.arguments, dialect, may=may)
    keys = [key.expression for key in aggregate.order if key.expression is not None]
    key_of = compile_row(keys, dialect, may=may)
    types = [key.type for key in keys]
    value_types = [argument.type for argument in aggregate.arguments]
    made = _maker(aggregate, dialect)
    omits = aggregate.function in _OMIT_NULLS
    what = _what(aggregate, dialect)
    longest = _longest(dialect)

    def listing(rows: list[Row], args: Arguments, frame: Frame) -> Value:
        values = [values_of(row, args, frame) for row in rows]
        order = [key_of(row, args, frame) for row in rows]
        if omits:
            kept = [place for place, value in enumerate(values) if value[0] is not None]
            values, order = [values[place] for place in kept], [order[place] for place in kept]
        if not values:
            return None
        if aggregate.distinct:
            require_comparable(values, value_types, rule)
            _require_one_writing(values, what)
            first = dict(zip(reversed(values), reversed(order), strict=True))
            values, order = list(first), list(first.values())
        if longest is not None:
            _require_whole_keys(order, longest, omits)
        values, order = sort_rows(values, order, aggregate.order, types, rule)
        if not ordered:
            values = _chosen(values, order, query_frame(frame).view, what, once=chooses)
        return made(values)

    return listing


def _longest(dialect: Dialect) -> int | None:
    """After how many bytes a list is cut, if it is (MySQL's group_concat_max_len)."""
    return dialect.list_bytes or dialect.rules.running.list_bytes


def _require_whole_keys(order: Sequence[Row], longest: int, omits: bool) -> None:
    """Raises Unsupported where MySQL sorts by other than the keys: GROUP_CONCAT takes a NULL for an empty value among
    the others, and of long texts it only compares what a list may be long."""
    for keys in zip(*order, strict=True):
        if omits and 0 < keys.count(None) < len(keys):
            raise Unsupported("GROUP_CONCAT in the order of values of which some are NULL")
        texts = [key.encode() if isinstance(key, str) else key for key in keys if isinstance(key, str | bytes)]
        if any(len(text) > longest for text in texts):
            raise Unsupported("a list in the order of values that are longer than group_concat_max_len")


def _chosen(values: list[Row], order: Sequence[Row], view: View, what: str, *, once: bool) -> list[Row]:
    """The values in one of the orders that their keys leave."""
    found: list[Row] = []
    for _, tied in groupby(zip(order, values, strict=True), key=lambda pair: pair[0]):
        group = [value for _, value in tied]
        _require_one_writing(group, what)
        if differ(group):
            if not once:
                view.arbitrary(what)
            one = arranged(group, view.choose, what)
            if one is None:
                view.arbitrary(what)
                one = sorted(group, key=canonical)
            group = one
        found += group
    return found


def _require_one_writing(values: Sequence[Row], what: str) -> None:
    """Raises Unsupported for values that are equal and yet not written alike, as 1.0 and 1.00: which of them stands
    where is told by no value."""
    if len(set(values)) < len(set(map(repr, values))):
        raise Unsupported(what)


def _what(aggregate: Aggregate, dialect: Dialect) -> str:
    name = dialect.rules.running.list_aggregate or aggregate.function
    return f"{name} of values whose order is not determined"


def _maker(aggregate: Aggregate, dialect: Dialect) -> Callable[[list[Row]], Value]:
    """f(values, at least one) -> what is made of them."""
    name = aggregate.function
    types = tuple(argument.type for argument in aggregate.arguments)
    if name == "string_agg":
        return _joined(dialect)
    if name == "json_arrayagg":
        return _parts(dialect)
    if name == "array_agg":
        return lambda values: Array(tuple(value[0] for value in values))
    if len(types) == 2:
        of_pairs = made_of_pairs(name, (types[0], types[1]), dialect)
        pairs: Callable[[list[Any]], Value] = of_pairs
        return pairs
    of_values = made_of_values(name, types[0], dialect)
    return lambda values: of_values([value[0] for value in values])


def _parts(dialect: Dialect) -> Callable[[list[Row]], Value]:
    """MariaDB's array of values that are JSON texts already; it cuts one that is too long."""
    longest = _longest(dialect)

    def join(values: list[Row]) -> Value:
        text = f"[{','.join('null' if value is None else str(value) for (value,) in values)}]"
        if longest is not None and len(text.encode()) > longest:
            raise Unsupported("JSON_ARRAYAGG beyond group_concat_max_len")
        return text

    return join


def _joined(dialect: Dialect) -> Callable[[list[Row]], Value]:
    """The delimiter stands before each value but the first. What is too long is cut, with a warning that is an error
    where it is stored, or put into a variable of a routine."""
    longest = _longest(dialect)
    cuts = dialect.list_bytes is not None and dialect.writing is None and dialect.answers

    def join(values: list[Row]) -> Value:
        parts = [str(values[0][0])]
        for value, delimiter in values[1:]:
            parts += (str(delimiter or ""), str(value))
        text = "".join(parts)
        if longest is not None and len(text.encode()) > longest:
            if cuts and text.isascii():  # other letters have as many bytes as their character set gives them
                return text[:longest]
            raise Unsupported("GROUP_CONCAT beyond group_concat_max_len")
        return text

    return join
