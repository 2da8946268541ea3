"""A run on the newest states as it is written to a file, and made anew from it: rows, times, names of levels.

Values are written with their classes, so that they come back as they were. Does not know files, nor how far the log
was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from sql_semantics.values.types import Value
from sql_semantics.view import Row, RowId

Written = tuple[str, RowId, "Row | None", "Row | None"]
"""A table, a row of it, and what it was before and after."""

_PLAIN = frozenset({int, str, bool, type(None)})

Clock = str | None
Kept = list[Any]
"""A row: numbers, texts, truth values and null as they are, others as a class's letter and a text."""


class Unkept(Exception):
    """There is a value of a class that is not written."""


class KeptTable(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The rows of a table, oldest first."""

    name: str
    ids: tuple[RowId, ...]
    rows: tuple[Kept, ...]


class KeptCourse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the times of those placed: see `Course`. `recent`: when a commit was sent, its clock, and the
    table, row, row before and row after of each write."""

    commit: int
    start: int
    wrote_at: int
    sent: tuple[tuple[Clock, int], ...]
    wrote_sent: tuple[tuple[Clock, int], ...]
    dropped: tuple[tuple[Clock, int], ...]
    recent: tuple[tuple[int, Clock, tuple[tuple[str, RowId, Kept | None, Kept | None], ...]], ...]


class KeptRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run: its tables, the number of the next row, the times, and the levels so far, by what transactions name."""

    tables: tuple[KeptTable, ...]
    next: int
    course: KeptCourse
    levels: tuple[str, ...]


def kept(row: Row) -> Kept:
    """A row as it is written. Raises Unkept."""
    if _PLAIN.issuperset(map(type, row)):
        return list(row)
    return [_written(value) for value in row]


def _written(value: object) -> Any:
    match value:
        case None | bool():
            return value
        case str() if type(value) is str:
            return value
        case int() if type(value) is int:
            return value
        case float() if type(value) is float:
            return ["f", value.hex()]
        case Decimal() if type(value) is Decimal:
            return ["d", str(value)]
        case datetime() if type(value) is datetime:
            return ["m", value.isoformat()]
        case date() if type(value) is date:
            return ["a", value.isoformat()]
        case time() if type(value) is time:
            return ["t", value.isoformat()]
        case UUID() if type(value) is UUID:
            return ["u", str(value)]
    raise Unkept(type(value).__name__)


_READ: Mapping[str, Callable[[str], Value]] = {
    "f": float.fromhex,
    "d": Decimal,
    "m": datetime.fromisoformat,
    "a": date.fromisoformat,
    "t": time.fromisoformat,
    "u": UUID,
}


def made(row: Kept) -> Row:
    """The row. Raises ValueError and its kin where it was not written so."""
    if _PLAIN.issuperset(map(type, row)):
        return tuple(row)
    return tuple([_READ[value[0]](value[1]) if isinstance(value, list) else value for value in row])


def kept_writes(written: Sequence[Written]) -> tuple[tuple[str, RowId, Kept | None, Kept | None], ...]:
    """Writes as they are written. Raises Unkept."""
    return tuple(
        (table, row, None if before is None else kept(before), None if after is None else kept(after))
        for table, row, before, after in written
    )


def made_writes(written: Sequence[tuple[str, RowId, Kept | None, Kept | None]]) -> list[Written]:
    """The writes."""
    return [
        (table, row, None if before is None else made(before), None if after is None else made(after))
        for table, row, before, after in written
    ]
