"""ORDER BY, DISTINCT and LIMIT over concrete rows (sequences up to ties).

Does not know where rows come from. LIMIT is applied by `ties.cut` where rows feed something inside the statement; at
the top it is left to the comparison, because ties leave the DBMS a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import OrderKey
from sql_semantics.run.queries.ties import Choose, differ, one_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.number import round_scale
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import (
    TextRule,
    order_key,
    require_groupable,
    require_orderable,
    rule_of,
)
from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType, Value

Row = tuple[Value, ...]
T = TypeVar("T")
MAY_BE_NAN = frozenset({Kind.DOUBLE, Kind.REAL, Kind.NUMERIC})
_NAN: Mapping[type, Any] = {float: float("nan"), Decimal: Decimal("NaN")}


def one_nan(key: Row) -> Row:
    """A key with every NaN of a type the same object, and thus equal to itself."""
    return tuple([_NAN[type(value)] if value != value else value for value in key])


def sort_rows(
    rows: list[T],
    keys: list[Row],
    order: Sequence[OrderKey],
    types: Sequence[SqlType],
    rule: TextRule,
) -> tuple[list[T], list[Row]]:
    """Rows and their (normalized) keys in ORDER BY order; equal keys are ties.

    Raises Unsupported where the order of the key texts is not known.
    """
    normalized = [one_nan(key) for key in keys] if any(type_.kind in MAY_BE_NAN for type_ in types) else keys
    for position, type_ in enumerate(types):
        if type_.kind is Kind.TEXT:
            own = rule_of(type_, rule)
            require_orderable((str(key[position]) for key in keys if key[position] is not None), own)
            if own is TextRule.IGNORE_CASE:
                normalized = [_with(key, position, _folded(key[position], own)) for key in normalized]
    indexes = list(range(len(rows)))
    for position in range(len(order) - 1, -1, -1):
        rank = _rank(normalized, position, order[position], types[position])
        indexes.sort(key=rank, reverse=order[position].descending)
    return [rows[i] for i in indexes], [normalized[i] for i in indexes]


def _folded(value: Value, rule: TextRule) -> Value:
    return order_key(value, rule) if isinstance(value, str) else value


def _with(key: Row, position: int, value: Value) -> Row:
    return (*key[:position], value, *key[position + 1 :])


def _rank(keys: list[Row], position: int, order: OrderKey, type_: SqlType) -> Callable[[int], Any]:
    key_of = sort_key(type_.kind)
    if key_of is None:
        values: list[Any] = [key[position] for key in keys]
        if not any(value is None for value in values):
            return values.__getitem__
    null_rank = -1 if order.nulls_first != order.descending else 1

    def rank(index: int) -> tuple[Any, ...]:
        value = keys[index][position]
        if value is None:
            return (null_rank,)
        return (0, value if key_of is None else key_of(value))

    return rank


def require_comparable(rows: Sequence[Row], types: Sequence[SqlType], rule: TextRule) -> None:
    """Raise Unsupported unless plain equality decides which of these rows are duplicates."""
    for position, type_ in enumerate(types):
        if type_.kind is Kind.TEXT:
            require_groupable((str(row[position]) for row in rows if row[position] is not None), rule_of(type_, rule))
        elif sort_key(type_.kind) is not None:
            require_one_form([row[position] for row in rows], type_.kind)


def require_one_form(values: Sequence[Value], kind: Kind) -> None:
    """Raise Unsupported where equal values have several forms (a month and 30 days), or one is not equal to itself."""
    key_of = sort_key(kind)
    present = [value for value in values if value is not None]
    if key_of is not None and len({key_of(value) for value in present}) != len(set(present)):
        raise Unsupported(f"equal values of type {kind.value} in several forms")


def require_shown_digits(rows: Sequence[Row], types: Sequence[SqlType]) -> None:
    """MySQL tells DECIMALs of DISTINCT and GROUP BY apart by the digits that they have or by those of their type, as
    the plan is (MariaDB 10.11: by a temporary table or a sort). Raises Unsupported where that makes a difference."""
    for position, type_ in enumerate(types):
        scale = type_.scale
        if type_.kind is not Kind.NUMERIC or scale is None:
            continue
        values = {row[position] for row in rows} - {None}
        # a NUMERIC column has Decimals only
        if len({round_scale(value, scale) for value in values}) < len(values):  # type: ignore[arg-type]
            raise Unsupported("quotients in DISTINCT or GROUP BY that differ beyond the digits of their type in mysql")


def distinct_rows(
    rows: list[Row], keys: list[Row] | None, types: Sequence[SqlType], rule: TextRule
) -> tuple[list[Row], list[Row] | None]:
    """The first of each set of equal rows (NULLs are equal), with its key."""
    require_comparable(rows, types, rule)
    if keys is None:
        return list(dict.fromkeys(rows)), None
    first: dict[Row, Row] = {}
    for row, key in zip(rows, keys, strict=True):
        first.setdefault(row, key)
    return list(first), list(first.values())


def first_rows(
    rows: list[Row],
    keys: list[Row] | None,
    width: int,
    types: Sequence[SqlType],
    rule: TextRule,
    choose: Choose | None,
) -> tuple[list[Row], list[Row] | None]:
    """DISTINCT ON: of sorted rows, each followed by what it is distinct in from position `width` on, the first of each.

    Where ties, or the lack of an order, leave several unequal rows, `choose` does; without it that is Unsupported.
    """
    on = [row[width:] for row in rows]
    require_comparable(on, types, rule)
    first: dict[Row, list[int]] = {}
    for place, value in enumerate(on):
        candidates = first.setdefault(value, [place])
        if candidates[0] != place and (keys is None or keys[candidates[0]] == keys[place]):
            candidates.append(place)
    chosen: dict[int, Row] = {}
    for candidates in first.values():
        tied = [rows[place] for place in candidates]
        if differ(tied):
            if choose is None:
                raise Unsupported("DISTINCT ON whose first row is not determined")
            chosen[candidates[0]] = one_of(tied, choose, "DISTINCT ON whose first row is not determined")
        else:
            chosen[candidates[0]] = tied[0]
    places = sorted(chosen)
    return [chosen[i][:width] for i in places], None if keys is None else [keys[i] for i in places]


def limit_with_ties(keys: Sequence[Row], offset: int, limit: int) -> int:
    """The number of rows that FETCH ... WITH TIES takes after `offset`: up to the last one that ties."""
    end = offset + limit
    if limit == 0 or end >= len(keys):
        return limit
    while end < len(keys) and keys[end] == keys[end - 1]:
        end += 1
    return end - offset


def limit_value(value: Value, type_: SqlType, sqlstate: str, what: str, dialect: Dialect) -> int | None:
    """A LIMIT or OFFSET; None for NULL, and for a negative one in SQLite. Raises SqlError for a negative one elsewhere
    (`sqlstate`)."""
    if value is None:
        if not dialect.rules.running.null_limits:
            raise Unsupported(f"{what} NULL in sqlite")
        return None
    if type_.kind not in INTEGER_KINDS or not isinstance(value, int):
        raise Unsupported(f"{what} that is not an integer")
    if value < 0:
        if dialect.rules.running.negative_limits:
            return None
        raise SqlError(sqlstate, f"{what} must not be negative")
    return value
