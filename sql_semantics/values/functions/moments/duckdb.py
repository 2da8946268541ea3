"""DuckDB's functions of dates (its manual, "Date Functions", "Timestamp Functions", "Date Format Functions").

What hangs on a time zone or a locale is no part of it. Does not know operators of moments.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.moments.temporal import DAYS, MONTHS
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly, plainly
from sql_semantics.values.types import BIGINT, DATE, TEXT, TIMESTAMP, SqlType, Value

_WRITTEN: Mapping[str, Callable[[datetime], str]] = {
    "%a": lambda at: DAYS[at.weekday()][:3], "%A": lambda at: DAYS[at.weekday()],
    "%b": lambda at: MONTHS[at.month - 1][:3], "%B": lambda at: MONTHS[at.month - 1],
    "%d": lambda at: f"{at.day:02d}", "%-d": lambda at: str(at.day), "%f": lambda at: f"{at.microsecond:06d}",
    "%H": lambda at: f"{at.hour:02d}", "%-H": lambda at: str(at.hour), "%I": lambda at: f"{at.hour % 12 or 12:02d}",
    "%j": lambda at: f"{at.timetuple().tm_yday:03d}", "%m": lambda at: f"{at.month:02d}",
    "%-m": lambda at: str(at.month), "%M": lambda at: f"{at.minute:02d}", "%-M": lambda at: str(at.minute),
    "%p": lambda at: "AM" if at.hour < 12 else "PM", "%S": lambda at: f"{at.second:02d}",
    "%-S": lambda at: str(at.second), "%u": lambda at: str(at.isoweekday()),
    "%w": lambda at: str(at.isoweekday() % 7), "%y": lambda at: f"{at.year % 100:02d}",
    "%Y": lambda at: f"{at.year:04d}", "%G": lambda at: f"{at.isocalendar()[0]:04d}",
    "%V": lambda at: f"{at.isocalendar()[1]:02d}", "%%": lambda at: "%",
}  # fmt: skip
_SPECIFIER = re.compile(r"%-?.?", re.DOTALL)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _checked_format(place: int) -> Callable[[Sequence[SqlType], Sequence[Value]], SqlType]:
    """A text, where the format is a constant that is known: another is an error where no row is looked at, too."""

    def check(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
        pattern = values[place]
        if not isinstance(pattern, str) or any(one not in _WRITTEN for one in _SPECIFIER.findall(pattern)):
            raise Unsupported("strftime() of such a format")
        return TEXT

    return check


def _formatted(value: date, pattern: str) -> str:
    at = _moment(value)
    return _SPECIFIER.sub(lambda found: _WRITTEN[found[0]](at), pattern)


_UNITS: Mapping[str, Callable[[datetime], int]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: at.year * 4 + (at.month - 1) // 3,
    "month": lambda at: at.year * 12 + at.month,
    "day": lambda at: at.toordinal(),
    "hour": lambda at: (at - datetime.min) // timedelta(hours=1),
    "minute": lambda at: (at - datetime.min) // timedelta(minutes=1),
    "second": lambda at: (at - datetime.min) // timedelta(seconds=1),
}
"""How many of a unit have begun up to a moment; of weeks versions differ."""


def _checked_unit(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    if not isinstance(values[0], str) or values[0].lower() not in _UNITS:
        raise Unsupported("date_diff() of such a unit")
    return BIGINT


def _apart(unit: str, earlier: date, later: date) -> int:
    count = _UNITS[unit.lower()]
    return count(_moment(later)) - count(_moment(earlier))


def _last_day(value: date) -> date:
    return date(value.year, value.month, monthrange(value.year, value.month)[1])


def _part(of: Callable[[datetime], int]) -> tuple[Rule, ...]:
    def build(call: Call) -> Implementation:
        return lambda value: of(_moment(value))

    return tuple(Rule(exactly(kind), BIGINT, build) for kind in _MOMENTS)


def _name(of: Callable[[datetime], str]) -> tuple[Rule, ...]:
    def build(call: Call) -> Implementation:
        return lambda value: of(_moment(value))

    return tuple(Rule(exactly(kind), TEXT, build) for kind in _MOMENTS)


_MOMENTS = (TIMESTAMP, DATE)
_PAIRS = tuple((one, other) for one in _MOMENTS for other in _MOMENTS)
_DIFFERENCES = tuple(Rule(exactly(TEXT, *pair), _checked_unit, plainly(_apart)) for pair in _PAIRS)
_WEEK = _part(lambda at: at.isocalendar()[1])
_WEEKDAY = _part(lambda at: at.isoweekday() % 7)
_DAY_OF_YEAR = _part(lambda at: at.timetuple().tm_yday)
DUCKDB: Table = {
    "strftime": tuple(Rule(exactly(kind, TEXT), _checked_format(1), plainly(_formatted)) for kind in _MOMENTS)
    + tuple(
        Rule(exactly(TEXT, kind), _checked_format(0), plainly(lambda pattern, at: _formatted(at, pattern)))
        for kind in _MOMENTS
    ),
    "date_diff": _DIFFERENCES,
    "datediff": _DIFFERENCES,
    "last_day": tuple(Rule(exactly(kind), DATE, plainly(_last_day)) for kind in _MOMENTS),
    "monthname": _name(lambda at: MONTHS[at.month - 1]),
    "dayname": _name(lambda at: DAYS[at.weekday()]),
    "isodow": _part(datetime.isoweekday),
    "dayofweek": _WEEKDAY,
    "weekday": _WEEKDAY,
    "dayofmonth": _part(lambda at: at.day),
    "dayofyear": _DAY_OF_YEAR,
    "week": _WEEK,
    "weekofyear": _WEEK,
    "quarter": _part(lambda at: (at.month + 2) // 3),
    "hour": _part(lambda at: at.hour),
    "minute": _part(lambda at: at.minute),
    "second": _part(lambda at: at.second),
}
