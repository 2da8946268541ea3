"""Enums (PostgreSQL 8.7): labels in the order of their definition. Does not know how one is defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sql_semantics.errors import UnknownLabel, Unsupported


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """A value: its place among the labels, by which it is ordered, and how it is written."""

    place: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class EnumFamily:
    """One enum."""

    name: str
    labels: tuple[str, ...]
    equated: bool = True

    def ordered(self, by_letters: bool) -> bool:
        """Always, whatever their texts are."""
        return True

    def read(self, text: str, may: bool) -> Label:
        """The label of a text, letter by letter. Raises SqlError 22P02."""
        if text not in self.labels:
            raise UnknownLabel("22P02", f"invalid input value for enum {self.name}: {text[:40]!r}", may=may)
        return Label(self.labels.index(text), text)

    def given(self, json: Any) -> Label:
        """The label that a log shows. One that is not among them may have been added since."""
        if not isinstance(json, str):
            raise ValueError(f"{json!r} does not fit a column of type {self.name}")
        if json not in self.labels:
            raise Unsupported(f"a label that {self.name} is not defined with")
        return self.read(json, False)

    def another(self, number: int) -> Label:
        """One of the labels."""
        place = number % len(self.labels)
        return Label(place, self.labels[place])
