"""The order of values of one kind. Does not know text, whose order hangs on a collation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sql_semantics.values.dates.temporal import interval_key
from sql_semantics.values.numbers.number import double_key
from sql_semantics.values.types import Kind

_KEYS: dict[Kind, Callable[[Any], Any]] = {
    Kind.REAL: double_key,
    Kind.DOUBLE: double_key,
    Kind.INTERVAL: interval_key,
}


def sort_key(kind: Kind) -> Callable[[Any], Any] | None:
    """What stands for a value in comparisons and sorting; None where the value itself does."""
    return _KEYS.get(kind)
