"""Dates, times and intervals as text, by product (PostgreSQL 8.5, MySQL 11.2, DuckDB's data types).

Only texts that every setting of DateStyle, IntervalStyle and sql_mode reads the same way are taken: ISO 8601 order,
years 1 to 9999, at most six fraction digits. Does not know arithmetic, nor any session time zone but UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.types import Interval, Kind

MICROSECONDS_PER_DAY = 86_400_000_000
_CLOCK = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?"
_ZONE = r"\s*(Z|z|UTC|utc|[+-]\d{2}(?::?\d{2})?)"
_DATE = pattern(rf"\s*(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:(?:\s+|T){_CLOCK}(?:{_ZONE})?)?\s*\Z", re.ASCII)
_TIME = pattern(rf"\s*{_CLOCK}\s*\Z", re.ASCII)
_SPAN_PART = pattern(
    r"\s*(?:([+-]?)(\d{1,10}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?(?![\d:.])|([+-]?\d{1,9})(?:\.(\d{1,6}))?\s*([a-z]+))",
    re.ASCII,
)
_ISO_SPAN = pattern(
    r"\s*P(?:(-?\d{1,9})Y)?(?:(-?\d{1,9})M)?(?:(-?\d{1,9})W)?(?:(-?\d{1,9})D)?"
    r"(?:T(?:(-?\d{1,9})H)?(?:(-?\d{1,9})M)?(?:(-?\d{1,9})(?:\.(\d{1,6}))?S)?)?\s*\Z",
    re.ASCII,
)
_UNITS: dict[str, tuple[str, int]] = {
    "microsecond": ("microseconds", 1),
    "millisecond": ("microseconds", 1000),
    "second": ("microseconds", 1_000_000),
    "sec": ("microseconds", 1_000_000),
    "minute": ("microseconds", 60_000_000),
    "min": ("microseconds", 60_000_000),
    "hour": ("microseconds", 3_600_000_000),
    "day": ("days", 1),
    "week": ("days", 7),
    "month": ("months", 1),
    "mon": ("months", 1),
    "quarter": ("months", 3),
    "year": ("months", 12),
    "decade": ("months", 120),
}
"""Singular names of interval units: the part they count in, and how much of it."""


def unit_span(name: str, count: int) -> Interval | None:
    """`count` of a unit by its name, singular or plural; None for a name that is none."""
    word = name.lower()
    found = _UNITS.get(word) or _UNITS.get(word.removesuffix("s"))
    return None if found is None else Interval(**{found[0]: count * found[1]})


def _fail(text: str, what: str, state: str, may: bool) -> SqlError:
    return SqlError(state, f"invalid {what}: {text!r}", may=may)


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0"))


def _clock(groups: tuple[str | None, ...], text: str, may: bool) -> time:
    hour, minute, second = (int(part or 0) for part in groups[:3])
    if hour == 24 or second == 60:
        raise Unsupported(f"the time of day {text!r}")
    if hour > 24 or minute > 59 or second > 60:
        raise _fail(text, "time", "22008", may)
    return time(hour, minute, second, _fraction(groups[3]))


def parse_moment(text: str, may: bool = False) -> tuple[datetime, timezone | None]:
    """Date, time of day (midnight if none is given) and zone offset (None if none is given) of a text.

    Raises SqlError 22008 for fields out of range, 22007 for an empty text, Unsupported for every other form.
    """
    match = _DATE.match(text)
    if match is None:
        if not text.strip():
            raise _fail(text, "date or time", "22007", may)
        raise Unsupported(f"the date or time {text!r}")
    groups = match.groups()
    at = _clock(groups[3:7], text, may) if groups[3] is not None else time()
    try:
        day = date(int(groups[0] or 0), int(groups[1] or 0), int(groups[2] or 0))
    except ValueError:
        raise _fail(text, "date", "22008", may) from None
    return datetime.combine(day, at), _zone(groups[7])


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text.lower() in ("z", "utc"):
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    if offset > timedelta(hours=15, minutes=59) or int(digits[2:]) > 59:
        raise Unsupported(f"the time zone {text!r}")
    return timezone(-offset if text[0] == "-" else offset)


def parse_time(text: str, may: bool = False) -> time:
    """A time of day. Raises as `parse_moment`."""
    match = _TIME.match(text)
    if match is None:
        if not text.strip():
            raise _fail(text, "time", "22007", may)
        raise Unsupported(f"the time {text!r}")
    return _clock(match.groups(), text, may)


def parse_temporal(text: str, kind: Kind, may: bool = False) -> date | time | datetime | Interval:
    """A text as a DATE, TIME, TIMESTAMP, TIMESTAMPTZ (without an offset: UTC) or INTERVAL. Raises as `parse_moment`."""
    if kind is Kind.TIME:
        return parse_time(text, may)
    if kind is Kind.INTERVAL:
        return parse_interval(text)
    moment, zone = parse_moment(text, may)
    if kind is Kind.DATE:
        return moment.date()
    if kind is Kind.TIMESTAMP:
        return moment
    try:
        return moment.replace(tzinfo=zone or UTC).astimezone(UTC)
    except OverflowError:
        raise beyond() from None


def beyond() -> Unsupported:
    """The refusal of dates that some products have and this library does not."""
    return Unsupported("a date beyond the years 1 to 9999")


def parse_interval(text: str) -> Interval:
    """``1 year 2 mons -3 days 04:05:06.7`` or ``P1Y2M3DT4H5M6S``; fractions only of seconds. Raises Unsupported."""
    iso = _ISO_SPAN.match(text)
    if iso is not None and any(iso.groups()):
        year, month, week, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:7])
        part = _fraction(iso.group(8))
        seconds = hour * 3600 + minute * 60 + second
        fraction = -part if (iso.group(7) or "").startswith("-") else part
        return Interval(year * 12 + month, week * 7 + day, seconds * 1_000_000 + fraction)
    refusal = Unsupported(f"the interval {text!r}")
    months = days = microseconds = 0
    place, rest, seen = 0, text.lower().rstrip(), set[str]()
    while place < len(rest):
        match = _SPAN_PART.match(rest, place)
        if match is None:
            raise refusal
        sign, hours, minutes, seconds_text, fraction_text, number, decimals, unit = match.groups()
        if hours is not None:
            if int(minutes) > 59 or int(seconds_text or 0) > 59 or "time" in seen:
                raise refusal
            span = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds_text or 0)) * 1_000_000
            span += _fraction(fraction_text)
            microseconds += -span if sign == "-" else span
            seen.add("time")
        else:
            part_of = unit_span(unit, int(number))
            if part_of is None or unit in seen or unit.startswith("quarter"):
                raise refusal
            seen.add(unit)
            months, days = months + part_of.months, days + part_of.days
            microseconds += part_of.microseconds
            if decimals:
                if unit.removesuffix("s") not in ("second", "sec"):
                    raise refusal
                microseconds += -_fraction(decimals) if number.startswith("-") else _fraction(decimals)
        place = match.end()
    if not seen or not -(2**63) <= microseconds < 2**63:
        raise refusal
    return Interval(months, days, microseconds)


def interval_key(span: Interval) -> int:
    """What SQL compares: microseconds, a month of 30 days and a day of 24 hours."""
    return (span.months * 30 + span.days) * MICROSECONDS_PER_DAY + span.microseconds


# --- as text ------------------------------------------------------------------------------------------------------


def _fraction_text(microseconds: int, digits: int | None) -> str:
    """``.5``: PostgreSQL and DuckDB leave out trailing zeros (`digits` None), MySQL writes as many as declared."""
    if digits is None:
        return f".{microseconds:06d}".rstrip("0") if microseconds else ""
    return f".{microseconds:06d}"[: digits + 1] if digits else ""


def date_text(value: date) -> str:
    """``2020-01-31``."""
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def time_text(value: time, digits: int | None = None) -> str:
    """``10:11:12.5``."""
    return f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}{_fraction_text(value.microsecond, digits)}"


def timestamp_text(value: datetime, digits: int | None = None) -> str:
    """``2020-01-31 10:11:12.5``, and ``+00`` behind an instant."""
    zone = "+00" if value.tzinfo is not None and digits is None else ""
    return f"{date_text(value)} {time_text(value.timetz().replace(tzinfo=None), digits)}{zone}"


def interval_text(span: Interval, *, short: bool) -> str:
    """An interval as PostgreSQL (IntervalStyle postgres, `short`) or DuckDB prints it."""
    years, months = int(span.months / 12), int(abs(span.months) % 12) * (-1 if span.months < 0 else 1)
    words: list[str] = []
    negative = False
    for count, unit in ((years, "year"), (months, "mon" if short else "month"), (span.days, "day")):
        if count:
            plus = "+" if short and negative and count > 0 else ""
            plural = count != 1 if short else count not in (1, -1)
            words.append(f"{plus}{count} {unit}{'s' if plural else ''}")
            negative = count < 0
    if span.microseconds or not words:
        seconds, part = divmod(abs(span.microseconds), 1_000_000)
        sign = "-" if span.microseconds < 0 else "+" if short and negative else ""
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        words.append(f"{sign}{clock}{_fraction_text(part, None)}")
    return " ".join(words)


def temporal_text(value: date | time | datetime | Interval, *, short: bool, digits: int | None = None) -> str:
    """Any temporal value as its product prints it. `digits`: MySQL's declared fraction digits; `short` as above."""
    if isinstance(value, Interval):
        return interval_text(value, short=short)
    if isinstance(value, datetime):
        return timestamp_text(value, digits)
    if isinstance(value, date):
        return date_text(value)
    return time_text(value, digits)
