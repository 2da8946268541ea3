"""Rows of answers as text, observed and given: two are the same row where their texts are. Does not know statements."""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.outcome import ResultSet
from sql_semantics.values.types import Value
from troubadour.execution.observations.observation import ObservedValue, ParsedRows
from troubadour.model.values import Redacted
from troubadour.proof.wording import value_text

_WIDE = 120


def observed(answer: ParsedRows) -> list[str]:
    """The rows that a client saw."""
    return [_row(row) for row in answer.rows or ()]


def answered(answer: ResultSet[Value]) -> list[str]:
    """The rows that a run gave, as far as its LIMIT lets them out."""
    last = None if answer.limit is None else answer.offset + answer.limit
    return [_row(row) for row in answer.rows[answer.offset : last]]


def _row(row: Sequence[ObservedValue]) -> str:
    text = ", ".join("?" if isinstance(value, Redacted) else value_text(value) for value in row)
    return f"({text})" if len(text) <= _WIDE else f"({text[: _WIDE - 3]}...)"
