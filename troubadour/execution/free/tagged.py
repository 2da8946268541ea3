"""Values that carry where the DBMS chose them, wherever they are copied.

Each is a value of its Python type like any other, with a `key` beside. Does not know what was chosen, nor who told
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Row

Address = tuple[int, int, int]
Key = tuple[int, Address, tuple[str, str, SqlType]]
"""An item, an address in it, and what is asked for there (on another path of a procedure it may be something else)."""


class _FreeInt(int):
    key: Key


class _FreeFloat(float):
    key: Key


class _FreeText(str):
    key: Key


class _FreeDecimal(Decimal):
    key: Key


class _FreeDate(date):
    key: Key


class _FreeTime(time):
    key: Key


class _FreeMoment(datetime):
    key: Key


class _FreeUuid(UUID):
    __slots__ = ("key",)


def _free_uuid(value: UUID) -> _FreeUuid:
    return _FreeUuid(int=value.int)


def _free_date(value: date) -> _FreeDate:
    return _FreeDate(value.year, value.month, value.day)


def _free_time(value: time) -> _FreeTime:
    return _FreeTime(value.hour, value.minute, value.second, value.microsecond, value.tzinfo)


def _free_moment(value: datetime) -> _FreeMoment:
    return _FreeMoment.combine(value.date(), value.timetz())


_TAGGED: Mapping[type, Callable[[Any], Any]] = {
    int: _FreeInt,
    float: _FreeFloat,
    str: _FreeText,
    Decimal: _FreeDecimal,
    date: _free_date,
    time: _free_time,
    datetime: _free_moment,
    UUID: _free_uuid,
}


_KINDS = (_FreeInt, _FreeFloat, _FreeText, _FreeDecimal, _FreeDate, _FreeTime, _FreeMoment, _FreeUuid)


def tagged(value: Value, key: Key) -> Value:
    """The same value, carrying where it was chosen."""
    make = _TAGGED.get(type(value))
    if make is None:
        return value
    found = make(value)
    object.__setattr__(found, "key", key)
    return found  # type: ignore[no-any-return]


def is_taggable(value: object) -> bool:
    """Whether a value is of a type that can carry an address."""
    return type(value) in _TAGGED


def key_of(value: object) -> Key | None:
    """Where a value was chosen; None for a plain one."""
    return getattr(value, "key", None) if isinstance(value, _KINDS) else None


def plain(value: Value) -> Value:
    """The value without its address."""
    match value:
        case _FreeInt():
            return int(value)
        case _FreeFloat():
            return float(value)
        case _FreeText():
            return str.__str__(value)
        case _FreeDecimal():
            return Decimal(value)
        case _FreeMoment():
            return datetime.combine(value.date(), value.timetz())
        case _FreeDate():
            return date(value.year, value.month, value.day)
        case _FreeTime():
            return time(value.hour, value.minute, value.second, value.microsecond, value.tzinfo)
        case _FreeUuid():
            return UUID(int=value.int)
    return value


def tag_row(row: Row, keys: Mapping[int, Key]) -> Row:
    """The row with its free values tagged."""
    return tuple(tagged(value, keys[place]) if place in keys else value for place, value in enumerate(row))


def keys_of(row: Row) -> dict[int, Key]:
    """Which columns of a row hold a free value."""
    return {place: key for place, value in enumerate(row) if (key := key_of(value)) is not None}
