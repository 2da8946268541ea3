"""MySQL's intervals of several fields, ``INTERVAL '1:30' HOUR_MINUTE`` (its manual, Temporal Intervals), as a number of
seconds or months. Does not know what they are added to.

Whatever stands between numbers parts them; where there are fewer than fields, the last fields have them.
"""

from __future__ import annotations

import re

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern

_SECONDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_TEXT = pattern(r"\s*(-?)\s*(\d{1,9}(?:\D+\d{1,9})*)\s*", re.ASCII)


def several_fields(text: str, unit: str) -> tuple[int, str]:
    """The number and the unit that it counts. Raises Unsupported for other texts, and for microseconds."""
    first, _, last = unit.upper().partition("_")
    found = _TEXT.fullmatch(text)
    sizes = _sizes(first, last)
    if found is None or not sizes:
        raise Unsupported(f"INTERVAL {text!r} {unit.upper()}")
    numbers = [int(number) for number in re.findall(r"\d+", found[2])]
    if len(numbers) > len(sizes):
        raise Unsupported(f"INTERVAL {text!r} {unit.upper()}")
    total = sum(number * size for number, size in zip(reversed(numbers), reversed(sizes), strict=False))
    return -total if found[1] else total, "month" if first == "YEAR" else "second"


def _sizes(first: str, last: str) -> list[int]:
    if (first, last) == ("YEAR", "MONTH"):
        return [12, 1]
    names = list(_SECONDS)
    if first not in names or last not in names or names.index(first) >= names.index(last):
        return []
    return [_SECONDS[name] for name in names[names.index(first) : names.index(last) + 1]]
