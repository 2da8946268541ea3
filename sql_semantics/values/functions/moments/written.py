"""PostgreSQL's to_char() of moments (its manual, 9.8). Does not know numbers and intervals, nor languages.

A pattern is read as PostgreSQL reads it, the longest of its words at each place; words whose output hangs on the
session's language or time zone, or is seldom asked for, are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from functools import lru_cache

from sql_semantics.errors import Unsupported
from sql_semantics.values.dates import calendar as dates
from sql_semantics.values.functions.rule import Rule, Table, any_of, exactly, plainly
from sql_semantics.values.types import TEXT, Kind

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Part = Callable[[datetime, bool], str]
"""f(moment, whether FM takes blanks and leading zeros away) -> text."""


def _number(value: Callable[[datetime], int], width: int) -> Part:
    return lambda at, bare: str(value(at)) if bare else f"{value(at):0{width}d}"


def _name(value: Callable[[datetime], str], change: Callable[[str], str], width: int) -> Part:
    return lambda at, bare: change(value(at)) if bare else change(value(at)).ljust(width)


def _half(at: datetime) -> int:
    return at.hour % 12 or 12


_NUMBERS: Mapping[str, Part] = {
    "YYYY": _number(lambda at: at.year, 4),
    "YY": _number(lambda at: at.year % 100, 2),
    "IYYY": _number(lambda at: at.isocalendar().year, 4),
    "IW": _number(lambda at: at.isocalendar().week, 2),
    "Q": _number(lambda at: (at.month + 2) // 3, 1),
    "MM": _number(lambda at: at.month, 2),
    "DDD": _number(lambda at: at.timetuple().tm_yday, 3),
    "DD": _number(lambda at: at.day, 2),
    "D": _number(lambda at: at.isoweekday() % 7 + 1, 1),
    "ID": _number(lambda at: at.isoweekday(), 1),
    "HH24": _number(lambda at: at.hour, 2),
    "HH12": _number(_half, 2),
    "HH": _number(_half, 2),
    "MI": _number(lambda at: at.minute, 2),
    "SS": _number(lambda at: at.second, 2),
    "MS": lambda at, bare: f"{at.microsecond // 1000:03d}",
    "US": lambda at, bare: f"{at.microsecond:06d}",
}
_NAMES: dict[str, Part] = {}
for _change in (str.upper, str.lower, str.title):
    _NAMES[_change("month")] = _name(lambda at: _MONTHS[at.month - 1], _change, 9)
    _NAMES[_change("mon")] = _name(lambda at: _MONTHS[at.month - 1][:3], _change, 3)
    _NAMES[_change("day")] = _name(lambda at: _DAYS[at.weekday()], _change, 9)
    _NAMES[_change("dy")] = _name(lambda at: _DAYS[at.weekday()][:3], _change, 3)
for _change in (str.upper, str.lower):
    for _word in ("am", "pm"):
        _NAMES[_change(_word)] = _name(lambda at: "PM" if at.hour >= 12 else "AM", _change, 2)
KNOWN: Mapping[str, Part] = {**_NUMBERS, **{word.lower(): part for word, part in _NUMBERS.items()}, **_NAMES}
"""The words of a pattern that are modelled."""
_OTHERS = (
    *(
        "A.D.",
        "A.M.",
        "AD",
        "B.C.",
        "BC",
        "CC",
        "FF1",
        "FF2",
        "FF3",
        "FF4",
        "FF5",
        "FF6",
        "FX",
        "IDDD",
        "IYY",
        "IY",
        "I",
    ),
    *("J", "OF", "P.M.", "RM", "SSSSS", "SSSS", "TZH", "TZM", "TZ", "WW", "W", "Y,YYY", "YYY", "Y", "TM"),
)
_WORDS = sorted({*KNOWN, *_OTHERS, *(word.lower() for word in _OTHERS)}, key=len, reverse=True)
_SUFFIXES = ("TH", "th", "SP")


@lru_cache(maxsize=256)
def read_pattern(pattern: str) -> tuple[tuple[Part | str, bool], ...]:
    """The pattern's parts, each with whether FM stands before it; texts are written as they are. Raises Unsupported."""
    parts: list[tuple[Part | str, bool]] = []
    place = 0
    while place < len(pattern):
        if pattern[place] == '"':
            end = pattern.find('"', place + 1)
            if end < 0 or "\\" in pattern[place:end]:
                raise Unsupported(f"to_char() with {pattern[place:]}")
            parts.append((pattern[place + 1 : end], False))
            place = end + 1
            continue
        bare = pattern[place : place + 2] in ("FM", "fm")
        start = place + 2 * bare
        word = next((word for word in _WORDS if pattern.startswith(word, start)), None)
        if word is None:
            character = pattern[place]
            if bare or character.isalnum() or character == "\\" or not character.isascii():
                raise Unsupported(f"to_char() with {pattern[place:]}")
            parts.append((character, False))
            place += 1
            continue
        part, place = KNOWN.get(word), start + len(word)
        if part is None or pattern[place : place + 2] in _SUFFIXES:
            raise Unsupported(f"to_char() with {word}{pattern[place : place + 2] if part is not None else ''}")
        parts.append((part, bare))
    return tuple(parts)


def _written(value: date, pattern: str) -> str | None:
    at = value if isinstance(value, datetime) else dates.midnight(value)
    if not pattern:
        return None
    return "".join(part if isinstance(part, str) else part(at, bare) for part, bare in read_pattern(pattern))


POSTGRES: Table = {
    "to_char": tuple(
        Rule((any_of([kind]), *exactly(TEXT)), TEXT, plainly(_written), stable=True)
        for kind in (Kind.TIMESTAMPTZ, Kind.TIMESTAMP, Kind.DATE)
    ),
}
