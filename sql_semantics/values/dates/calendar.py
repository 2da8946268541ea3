"""Arithmetic of dates, times and intervals (PostgreSQL 9.9, MySQL 14.7, DuckDB's date functions). Knows no text.

Results beyond the years 1 to 9999, which Python's dates cannot hold, raise Unsupported.
"""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dates.temporal import MICROSECONDS_PER_DAY, beyond
from sql_semantics.values.types import Interval

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1)
_LIMIT = 2**31


def within(function: Callable[..., T]) -> Callable[..., T]:
    """The function with Python's refusal of far dates as Unsupported."""

    def guarded(*arguments: Any) -> T:
        try:
            return function(*arguments)
        except (OverflowError, ValueError):
            raise beyond() from None

    return guarded


def add_months(moment: datetime, months: int) -> datetime:
    """The same day of another month, or its last day."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    if not 1 <= year <= 9999:
        raise beyond()
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


@within
def add_interval(moment: datetime, span: Interval) -> datetime:
    """Months first, then days, then the rest; an instant is shifted in UTC. Nothing added leaves the very value, which
    may carry where the DBMS chose it."""
    if span == Interval():
        return moment
    moved = add_months(moment, span.months) if span.months else moment
    return moved + timedelta(days=span.days, microseconds=span.microseconds)


def negate_interval(span: Interval) -> Interval:
    """All parts negated."""
    return Interval(-span.months, -span.days, -span.microseconds)


def sum_intervals(left: Interval, right: Interval) -> Interval:
    """Part by part; raises OverflowError where a part leaves its range."""
    return checked_interval(left.months + right.months, left.days + right.days, left.microseconds + right.microseconds)


def checked_interval(months: int, days: int, microseconds: int) -> Interval:
    """An interval whose parts fit; raises OverflowError otherwise."""
    if abs(months) >= _LIMIT or abs(days) >= _LIMIT or abs(microseconds) >= 2**63:
        raise OverflowError("an interval beyond the range of its parts")
    return Interval(months, days, microseconds)


def _rint(value: float) -> float:
    return float(round(value * 1e6)) / 1e6


def scale_interval(span: Interval, factor: float, divide: bool = False) -> Interval:
    """interval * factor or interval / factor, cascading fractions down as PostgreSQL's interval_mul does."""
    if not math.isfinite(factor):
        raise Unsupported("an interval times NaN or infinity")

    def scaled(part: int) -> float:
        return part / factor if divide else part * factor

    months, days = int(scaled(span.months)), int(scaled(span.days))
    month_days = _rint((scaled(span.months) - months) * 30.0)
    seconds = _rint((scaled(span.days) - days + month_days - int(month_days)) * 86400.0)
    if abs(seconds) >= 86400.0:
        days += int(seconds / 86400.0)
        seconds -= int(seconds / 86400.0) * 86400.0
    days += int(month_days)
    return checked_interval(months, days, round(scaled(span.microseconds) + seconds * 1e6))


def _microseconds(delta: timedelta) -> int:
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def difference(left: datetime, right: datetime) -> Interval:
    """timestamp - timestamp: whole days and the rest, both of one sign."""
    total = _microseconds(left - right)
    days = abs(total) // MICROSECONDS_PER_DAY
    sign = 1 if total >= 0 else -1
    return Interval(0, sign * days, sign * (abs(total) % MICROSECONDS_PER_DAY))


def age(left: datetime, right: datetime) -> Interval:
    """PostgreSQL's age(): years and months counted symbolically, days borrowed from the earlier date's month."""
    sign = 1
    if left < right:
        left, right, sign = right, left, -1
    months = (left.year - right.year) * 12 + left.month - right.month
    days = left.day - right.day
    rest = _time_of_day(left) - _time_of_day(right)
    if rest < 0:
        rest, days = rest + MICROSECONDS_PER_DAY, days - 1
    if days < 0:
        days += monthrange(right.year, right.month)[1]
        months -= 1
    return Interval(sign * months, sign * days, sign * rest)


def _time_of_day(moment: datetime) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


def time_microseconds(value: time) -> int:
    """Microseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def time_of(microseconds: int) -> time:
    """The time of day, wrapped around midnight."""
    seconds, part = divmod(microseconds % MICROSECONDS_PER_DAY, 1_000_000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, part)


def midnight(day: date) -> datetime:
    """DATE as TIMESTAMP."""
    return datetime(day.year, day.month, day.day)


@within
def add_days(day: date, days: int) -> date:
    """date + integer."""
    return day + timedelta(days=days)


# --- fields -------------------------------------------------------------------------------------------------------

_TRUNCATED = ("microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_PLURALS = {
    "microsecond": "microseconds", "millisecond": "milliseconds", "seconds": "second", "minutes": "minute",
    "hours": "hour", "days": "day", "weeks": "week", "months": "month", "quarters": "quarter", "years": "year",
}  # fmt: skip


def field_name(name: str) -> str:
    """A field's name as it is compared."""
    word = name.strip().lower()
    return _PLURALS.get(word, word)


def is_truncated(field: object) -> bool:
    """Whether timestamps are cut to a field that is known by a name."""
    return isinstance(field, str) and field_name(field) in _TRUNCATED


def truncate(name: str, moment: datetime, may: bool) -> datetime:
    """date_trunc on a timestamp. Raises SqlError 22023 for an unknown field, Unsupported for centuries and the like."""
    field = field_name(name)
    if field not in _TRUNCATED:
        raise Unsupported(f"date_trunc to {name!r}")
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match field:
        case "microseconds":
            return moment
        case "milliseconds":
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case "second":
            return moment.replace(microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "day":
            return day
        case "week":
            if day.toordinal() - day.weekday() < 1:
                raise beyond()
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1)


def truncate_interval(name: str, span: Interval) -> Interval:
    """date_trunc on an interval, day or shorter only."""
    field = field_name(name)
    units = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "milliseconds": 1000, "microseconds": 1}
    if field == "day":
        return Interval(span.months, span.days)
    if field not in units:
        raise Unsupported(f"date_trunc of an interval to {name!r}")
    part = abs(span.microseconds) // units[field] * units[field]
    return Interval(span.months, span.days, part if span.microseconds >= 0 else -part)


def date_field(field: str, day: date) -> int | None:
    """A whole-number field of a date; None where it is none of these."""
    match field:
        case "year":
            return day.year
        case "month":
            return day.month
        case "day":
            return day.day
        case "quarter":
            return (day.month - 1) // 3 + 1
        case "dow":
            return day.isoweekday() % 7
        case "isodow":
            return day.isoweekday()
        case "doy":
            return day.timetuple().tm_yday
        case "week":
            return day.isocalendar()[1]
        case "isoyear":
            return day.isocalendar()[0]
        case "decade":
            return day.year // 10
        case "century":
            return (day.year + 99) // 100
        case "millennium":
            return (day.year + 999) // 1000
    return None


def clock_field(field: str, microseconds: int) -> Decimal | None:
    """A field of a time of day or of an interval's time part, at PostgreSQL's scale; None where it is none of these."""
    size, sign = abs(microseconds), -1 if microseconds < 0 else 1
    match field:
        case "hour":
            return Decimal(sign * (size // 3_600_000_000))
        case "minute":
            return Decimal(sign * (size // 60_000_000 % 60))
        case "second":
            return Decimal(sign * (size % 60_000_000)).scaleb(-6)
        case "milliseconds":
            return Decimal(sign * (size % 60_000_000)).scaleb(-3)
        case "microseconds":
            return Decimal(sign * (size % 60_000_000))
    return None


def epoch(moment: datetime) -> int:
    """Microseconds since 1970."""
    return _microseconds(moment.replace(tzinfo=None) - _EPOCH)


def extract(name: str, value: Any, may: bool) -> Decimal:
    """PostgreSQL's EXTRACT, a NUMERIC at the scale that PostgreSQL gives it.

    Raises SqlError 0A000 for a field that the type has not, Unsupported for fields that are not modelled.
    """
    field = field_name(name)
    found: int | Decimal | None
    if isinstance(value, Interval):
        return _extract_interval(field, value)
    if isinstance(value, time):
        found = clock_field(field, time_microseconds(value))
        if field == "epoch":
            found = Decimal(time_microseconds(value)).scaleb(-6)
        elif found is None and date_field(field, date(2000, 1, 1)) is not None:
            raise SqlError("0A000", f"unit {name} not supported for type time", may=may)
    elif isinstance(value, datetime):
        found = date_field(field, value)
        if found is None:
            found = clock_field(field, _time_of_day(value))
        if field == "epoch":
            found = Decimal(epoch(value)).scaleb(-6)
    else:
        found = date_field(field, value)
        if field == "epoch":
            found = epoch(midnight(value)) // 1_000_000
        elif found is None and clock_field(field, 0) is not None:
            raise SqlError("0A000", f"unit {name} not supported for type date", may=may)
    if found is None:
        raise Unsupported(f"EXTRACT({name})")
    return Decimal(found)


def _extract_interval(field: str, span: Interval) -> Decimal:
    sign = -1 if span.months < 0 else 1
    if field == "year":
        return Decimal(sign * (abs(span.months) // 12))
    if field == "month":
        return Decimal(sign * (abs(span.months) % 12))
    if field == "day":
        return Decimal(span.days)
    if field == "epoch":
        years, months = sign * (abs(span.months) // 12), sign * (abs(span.months) % 12)
        # A year counts 365.25 days there, a month 30.
        seconds = years * 31_557_600 + months * 2_592_000 + span.days * 86_400
        return Decimal(seconds * 1_000_000 + span.microseconds).scaleb(-6)
    found = clock_field(field, span.microseconds)
    if found is None or field not in ("hour", "minute", "second", "milliseconds", "microseconds"):
        raise Unsupported(f"EXTRACT({field} FROM interval)")
    if field == "hour":
        size = abs(span.microseconds) // 3_600_000_000
        return Decimal(size if span.microseconds >= 0 else -size)
    return found


def instant(moment: datetime) -> datetime:
    """A timestamp as an instant, in the only session time zone that is modelled."""
    return moment.replace(tzinfo=UTC)


def months_between(later: datetime, earlier: datetime) -> int:
    """MySQL's TIMESTAMPDIFF(MONTH): whole months, toward zero."""
    sign = 1
    if later < earlier:
        later, earlier, sign = earlier, later, -1
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    if (later.day, later.time()) < (earlier.day, earlier.time()):
        months -= 1
    return sign * months
