"""Arrays of one dimension (PostgreSQL 8.15): items of one type, numbered from 1, NULL among them.

Which items an array may have is decided where a type is read (`ITEMS`). Several dimensions and other bounds are refused
by name. Does not know how an item is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from sql_semantics.values.families.composites import nulls_last

if TYPE_CHECKING:
    from sql_semantics.values.types import SqlType


@total_ordering
@dataclass(frozen=True, slots=True)
class Array:
    """A value. Two arrays are equal whose items are, NULL being equal to NULL, and after everything else (PostgreSQL
    9.19)."""

    items: tuple[Any, ...]

    def __lt__(self, other: Array) -> bool:
        return nulls_last(self.items) < nulls_last(other.items)

    def __str__(self) -> str:
        return array_text([None if item is None else str(item) for item in self.items])


@dataclass(frozen=True, slots=True)
class ArrayFamily:
    """Arrays of one type."""

    item: SqlType

    @property
    def equated(self) -> bool:
        """As its items are."""
        return self.item.equated

    def ordered(self, by_letters: bool) -> bool:
        """As its items are."""
        return self.item.ordered(by_letters)

    @property
    def name(self) -> str:
        """The type's name."""
        return f"{self.item}[]"

    def given(self, json: Any) -> Array:
        """Not by itself: the reader of a log knows how items are read."""
        raise Unsupported(f"a value of type {self.name}")

    def another(self, number: int) -> Array:
        """An array without items, or with NULLs."""
        return Array((None,) * (number % 64))


def array_text(items: Sequence[str | None]) -> str:
    """The array as PostgreSQL writes it (8.15.6): what would be read otherwise stands in quotes."""
    return "{" + ",".join("NULL" if item is None else _quoted(item) for item in items) + "}"


def _quoted(item: str) -> str:
    plain = item and item.upper() != "NULL" and not any(letter in '{},"\\' or letter.isspace() for letter in item)
    return item if plain else '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"'


def each(convert: Callable[[Any], Any] | None) -> Callable[[Array], Array]:
    """A conversion of items as one of arrays."""
    if convert is None:
        return lambda array: array
    return lambda array: Array(tuple(None if item is None else convert(item) for item in array.items))
