"""Composite types (PostgreSQL 8.16): rows of named fields, NULL among them, and rows of no type, which are ``record``.

Whether a row IS NULL hangs on its fields and is asked elsewhere: a row of NULLs is a value. Does not know how a row is
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from sql_semantics.values.families.record_text import record_text

if TYPE_CHECKING:
    from sql_semantics.values.types import SqlType

RECORD = "record"
"""The type of a row that no type was given to."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Composite:
    """A value. Two rows are equal whose fields are, NULL being equal to NULL, and after everything else (9.25.6)."""

    fields: tuple[Any, ...]

    def __str__(self) -> str:
        return record_text([None if field is None else str(field) for field in self.fields])

    def __lt__(self, other: Composite) -> bool:
        return nulls_last(self.fields) < nulls_last(other.fields)


def composite(fields: Iterable[Any]) -> Composite:
    """The row of these values; NaN is equal to itself in it."""
    return Composite(tuple(_NAN.get(type(field), field) if field != field else field for field in fields))


_NAN: Mapping[type, Any] = {float: float("nan"), Decimal: Decimal("NaN")}


def nulls_last(values: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """What orders as items or fields do: NULLs are equal, and after everything else."""
    return tuple((value is None, value) for value in values)


@dataclass(frozen=True, slots=True)
class CompositeFamily:
    """One composite type."""

    name: str
    fields: tuple[tuple[str, SqlType], ...]

    @property
    def equated(self) -> bool:
        """Whether each field's equality is modelled, and is that of its values here."""
        return all(type_.equated for _, type_ in self.fields)

    def ordered(self, by_letters: bool) -> bool:
        """As its fields are."""
        return all(type_.ordered(by_letters) for _, type_ in self.fields)

    def place(self, name: str) -> int | None:
        """Where the field of that name stands; None for none."""
        return next((place for place, (field, _) in enumerate(self.fields) if field == name), None)

    def given(self, json: Any) -> Composite:
        """Not by itself: the reader of a log knows how fields are read."""
        raise Unsupported(f"a value of type {self.name}")

    def another(self, number: int) -> Composite:
        """A row of NULLs, or of what its fields have besides."""
        return composite(
            type_.family.another(number) if type_.family is not None and number else None for _, type_ in self.fields
        )
