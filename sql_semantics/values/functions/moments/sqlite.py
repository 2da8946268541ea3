"""SQLite's date and time functions over texts (sqlite.org/lang_datefunc.html): a moment in UTC, then modifiers.

What versions do differently is refused: days that a month has not, the hour 24, fractions beyond milliseconds. Does not
know ``'now'``, which is a free choice, nor Julian day numbers as input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly, plainly
from sql_semantics.values.types import BIGINT, DOUBLE, TEXT, SqlType

_MOMENT = pattern(
    r"(\d{4})-(\d{2})-(\d{2})(?:[ T]+(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?\s*(Z|[+-]\d{2}:\d{2})?\s*\Z", re.ASCII
)
_CLOCK = pattern(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?\Z", re.ASCII)
_NUMBER = pattern(r"\s*[+-]?[\d.]+", re.ASCII)
_STEP = pattern(r"([+-]?\d{1,9})\s+(second|minute|hour|day|month|year)s?\Z", re.ASCII | re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1)
_EPOCH_AS_JULIAN = 210_866_760_000_000
"""1970-01-01 00:00 in milliseconds of Julian days."""


def _parsed(text: str) -> datetime | None:
    """The moment that a text is; None for none."""
    found = _MOMENT.match(text)
    if found is not None:
        year, month, day = (int(part) for part in found.groups()[:3])
        hour, minute, second = (int(part or 0) for part in found.groups()[3:6])
        fraction, zone = found[7], found[8]
    else:
        clock = _CLOCK.match(text)
        if clock is None:
            if _NUMBER.match(text) or text.strip().lower().startswith("now"):
                raise Unsupported(f"the moment {text[:30]!r} in sqlite")
            return None
        (year, month, day), zone = (2000, 1, 1), None
        hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
        fraction = clock[4]
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute <= 59 and second <= 59):
        return None
    if hour == 24 or len(fraction or "") > 3 or year == 0:
        raise Unsupported(f"the moment {text[:30]!r} in sqlite")
    try:
        moment = datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(3, "0")) * 1000)
    except ValueError:
        raise Unsupported(f"the moment {text[:30]!r} in sqlite") from None
    if zone and zone != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:]))
        moment = moment - offset if zone[0] == "+" else moment + offset
    return moment


def _moved(moment: datetime, modifier: str) -> datetime:
    word = " ".join(modifier.lower().split())
    if word == "start of day":
        return moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("start of month", "start of year"):
        first = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return first if word.endswith("month") else first.replace(month=1)
    step = _STEP.match(word)
    if step is None:
        raise Unsupported(f"the modifier {modifier[:30]!r} in sqlite")
    count, unit = int(step[1]), step[2].lower()
    if unit not in ("month", "year"):
        return moment + timedelta(**{f"{unit}s": count})
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "year" else 1)
    # a day that the month has not is one of the next
    return moment.replace(year=months // 12, month=months % 12 + 1, day=1) + timedelta(days=moment.day - 1)


def _moment_of(text: str, modifiers: tuple[str, ...]) -> datetime | None:
    moment = _parsed(text)
    try:
        for modifier in modifiers if moment is not None else ():
            assert moment is not None
            moment = _moved(moment, modifier)
    except (ValueError, OverflowError):
        raise Unsupported("a moment beyond the years 1 to 9999") from None
    return moment


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_LETTERS: Mapping[str, Callable[[datetime], str]] = {
    "%Y": lambda at: f"{at.year:04d}", "%m": lambda at: f"{at.month:02d}", "%d": lambda at: f"{at.day:02d}",
    "%H": lambda at: f"{at.hour:02d}", "%M": lambda at: f"{at.minute:02d}", "%S": lambda at: f"{at.second:02d}",
    "%f": lambda at: f"{at.second:02d}.{at.microsecond // 1000:03d}", "%j": lambda at: f"{at:%j}",
    "%w": lambda at: str(at.isoweekday() % 7), "%s": lambda at: str(_milliseconds(at) // 1000), "%%": lambda at: "%",
}  # fmt: skip


def _written(pattern: str, moment: datetime) -> str:
    def letter(found: re.Match[str]) -> str:
        write = _LETTERS.get(found[0])
        if write is None:
            raise Unsupported(f"strftime() with {found[0]} in sqlite")
        return write(moment)

    return re.sub(r"%.?", letter, pattern, flags=re.DOTALL)


def _shown(pattern: str) -> Implementation:
    def apply(text: str, *modifiers: str) -> str | None:
        moment = _moment_of(text, modifiers)
        return None if moment is None else _written(pattern, moment)

    return apply


def _strftime(call: Call) -> Implementation:
    def apply(pattern: str, text: str, *modifiers: str) -> str | None:
        moment = _moment_of(text, modifiers)
        return None if moment is None else _written(pattern, moment)

    return apply


def _number(of: Callable[[int], float | int]) -> Implementation:
    def apply(text: str, *modifiers: str) -> float | int | None:
        moment = _moment_of(text, modifiers)
        return None if moment is None else of(_milliseconds(moment))

    return apply


def _rules(result: SqlType, build: Callable[[Call], Implementation], texts: int = 1) -> tuple[Rule, ...]:
    return (
        Rule(exactly(*[TEXT] * texts), result, build),
        Rule(exactly(*[TEXT] * (texts + 1)), result, build, variadic=True),
    )


SQLITE: Table = {
    "date": _rules(TEXT, plainly(_shown("%Y-%m-%d"))),
    "time": _rules(TEXT, plainly(_shown("%H:%M:%S"))),
    "datetime": _rules(TEXT, plainly(_shown("%Y-%m-%d %H:%M:%S"))),
    "strftime": _rules(TEXT, _strftime, 2),
    "julianday": _rules(DOUBLE, plainly(_number(lambda ms: (ms + _EPOCH_AS_JULIAN) / 86_400_000.0))),
    "unixepoch": _rules(BIGINT, plainly(_number(lambda ms: ms // 1000))),
}
