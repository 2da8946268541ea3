"""Functions and operators of dates, times and intervals (PostgreSQL 9.9, MySQL 14.7, DuckDB's date functions).

Operators stand in the tables under their symbols. Does not know now() and its kin, which are free choices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dates import calendar as dates
from sql_semantics.values.dates.temporal import unit_span
from sql_semantics.values.dates.zones import clock_in, moment_of, zone_of
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, any_of, exactly, plainly
from sql_semantics.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    INTERVAL,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Interval,
    Kind,
    SqlType,
    Value,
)


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Call], Implementation]:
    return lambda call: lambda left, right: function(right, left)


def _day_plus(day: date, span: Interval) -> datetime:
    return dates.add_interval(dates.midnight(day), span)


def _day_minus(day: date, span: Interval) -> datetime:
    return dates.add_interval(dates.midnight(day), dates.negate_interval(span))


def _minus(moment: datetime, span: Interval) -> datetime:
    return dates.add_interval(moment, dates.negate_interval(span))


def _time_plus(value: time, span: Interval) -> time:
    return dates.time_of(dates.time_microseconds(value) + span.microseconds)


def _time_minus(value: time, span: Interval) -> time:
    return dates.time_of(dates.time_microseconds(value) - span.microseconds)


def _day_at(day: date, at: time) -> datetime:
    return datetime.combine(day, at)


def _times_apart(left: time, right: time) -> Interval:
    return Interval(microseconds=dates.time_microseconds(left) - dates.time_microseconds(right))


def _days_apart(left: date, right: date) -> int:
    return (left - right).days


def _sooner(day: date, days: int) -> date:
    return dates.add_days(day, -days)


def _spans_apart(left: Interval, right: Interval) -> Interval:
    return dates.sum_intervals(left, dates.negate_interval(right))


def _divided(call: Call) -> Implementation:
    def apply(span: Interval, divisor: float) -> Interval:
        if divisor == 0:
            raise call.fail("22012", "division by zero")
        return dates.scale_interval(span, divisor, divide=True)

    return _within_range(apply, call)


def _within_range(function: Callable[..., Interval], call: Call) -> Implementation:
    """The function with an interval beyond its range as the product's error."""
    fails = call.dialect.rules.values.interval_overflows

    def apply(*arguments: Any) -> Interval:
        try:
            return function(*arguments)
        except OverflowError:
            if fails:
                raise call.fail("22008", "interval out of range") from None
            raise Unsupported("an interval beyond the range of its parts") from None

    return apply


def _spanning(function: Callable[..., Interval]) -> Callable[[Call], Implementation]:
    return lambda call: _within_range(function, call)


def _times(factor: float, span: Interval) -> Interval:
    return dates.scale_interval(span, factor)


def _binary(left: SqlType, right: SqlType, result: SqlType, function: Callable[[Any, Any], Any]) -> tuple[Rule, ...]:
    """An operator and, where its sides differ, not its mirror."""
    return (Rule(exactly(left, right), result, plainly(function)),)


def _both_ways(left: SqlType, right: SqlType, result: SqlType, function: Callable[[Any, Any], Any]) -> tuple[Rule, ...]:
    return (
        Rule(exactly(left, right), result, plainly(function)),
        Rule(exactly(right, left), result, _swapped(function)),
    )


_ADDITIONS = (
    *_both_ways(DATE, INT, DATE, dates.add_days),
    *_both_ways(DATE, INTERVAL, TIMESTAMP, _day_plus),
    *_both_ways(DATE, TIME, TIMESTAMP, _day_at),
    *_both_ways(TIMESTAMP, INTERVAL, TIMESTAMP, dates.add_interval),
    *_both_ways(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, dates.add_interval),
    *_both_ways(TIME, INTERVAL, TIME, _time_plus),
    Rule(exactly(INTERVAL, INTERVAL), INTERVAL, _spanning(dates.sum_intervals), errors=("22008",)),
)
_SUBTRACTIONS = (
    *_binary(DATE, INT, DATE, _sooner),
    *_binary(DATE, DATE, INT, _days_apart),
    *_binary(DATE, INTERVAL, TIMESTAMP, _day_minus),
    *_binary(TIMESTAMP, TIMESTAMP, INTERVAL, dates.difference),
    *_binary(TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL, dates.difference),
    *_binary(TIMESTAMP, INTERVAL, TIMESTAMP, _minus),
    *_binary(TIMESTAMPTZ, INTERVAL, TIMESTAMPTZ, _minus),
    *_binary(TIME, TIME, INTERVAL, _times_apart),
    *_binary(TIME, INTERVAL, TIME, _time_minus),
    Rule(exactly(INTERVAL, INTERVAL), INTERVAL, _spanning(_spans_apart), errors=("22008",)),
)
_FACTOR = Slot(FLOAT_KINDS, DOUBLE)
_SPAN = exactly(INTERVAL)[0]
_FIELD = exactly(TEXT)[0]


def _extract(call: Call) -> Implementation:
    convert: Callable[[Decimal], Any] = float if call.result.kind is Kind.DOUBLE else lambda value: value
    return lambda field, value: convert(dates.extract(field, value, call.may))


def _truncate(call: Call) -> Implementation:
    if call.arguments[1].kind is Kind.INTERVAL:
        return dates.truncate_interval
    return lambda field, moment: dates.truncate(field, moment, call.may)


def _known_field(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """DuckDB's date_trunc of a timestamp: another field is an error where no row is looked at, too."""
    if not dates.is_truncated(values[0]):
        raise Unsupported("date_trunc() to other than a known field, in duckdb")
    return TIMESTAMP


def _make_date(call: Call) -> Implementation:
    def apply(year: int, month: int, day: int) -> date:
        if not 1 <= year <= 9999:
            raise Unsupported("make_date beyond the years 1 to 9999")
        try:
            return date(year, month, day)
        except (ValueError, OverflowError):
            raise call.fail("22008", "date field value out of range") from None

    return apply


def _in_zone(result: SqlType) -> Callable[[Sequence[SqlType], Sequence[Value]], SqlType]:
    """The result of AT TIME ZONE, once the zone is one that is known."""

    def check(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
        if not isinstance(values[0], str):
            raise Unsupported("AT TIME ZONE with a zone that is no constant")
        zone_of(values[0])
        return result

    return check


_MOMENTS = tuple(exactly(kind)[0] for kind in (TIMESTAMP, TIMESTAMPTZ, DATE, TIME, INTERVAL))
_FIELD_ERRORS = ("0A000", "22023")


def _fields(result: SqlType) -> tuple[Rule, ...]:
    """Fields of each kind of moment; those of a moment with a time zone hang on the session's."""
    return tuple(
        Rule((_FIELD, slot), result, _extract, errors=_FIELD_ERRORS, stable=Kind.TIMESTAMPTZ in slot.kinds)
        for slot in _MOMENTS
    )


POSTGRES: Table = {
    "+": _ADDITIONS,
    "-": _SUBTRACTIONS,
    "*": (
        Rule((_SPAN, _FACTOR), INTERVAL, _spanning(dates.scale_interval), errors=("22008",)),
        Rule((_FACTOR, _SPAN), INTERVAL, _spanning(_times), errors=("22008",)),
    ),
    "/": (Rule((_SPAN, _FACTOR), INTERVAL, _divided, errors=("22012", "22008")),),
    "negate": (Rule((_SPAN,), INTERVAL, plainly(dates.negate_interval)),),
    "extract": _fields(NUMERIC),
    "date_part": _fields(DOUBLE),
    "date_trunc": (
        Rule(exactly(TEXT, TIMESTAMPTZ), TIMESTAMPTZ, _truncate, errors=_FIELD_ERRORS, stable=True),
        Rule(exactly(TEXT, TIMESTAMP), TIMESTAMP, _truncate, errors=_FIELD_ERRORS),
        Rule(exactly(TEXT, INTERVAL), INTERVAL, _truncate, errors=_FIELD_ERRORS),
    ),
    "age": (
        Rule(exactly(TIMESTAMPTZ, TIMESTAMPTZ), INTERVAL, plainly(dates.age)),
        Rule(exactly(TIMESTAMP, TIMESTAMP), INTERVAL, plainly(dates.age)),
    ),
    "make_date": (Rule(exactly(INT, INT, INT), DATE, _make_date, errors=("22008",)),),
    "timezone": (
        Rule(exactly(TEXT, TIMESTAMPTZ), _in_zone(TIMESTAMP), plainly(clock_in)),
        Rule(exactly(TEXT, TIMESTAMP), _in_zone(TIMESTAMPTZ), plainly(moment_of)),
    ),
}

# --- DuckDB ---------------------------------------------------------------------------------------------------------


_WHOLE_FIELDS = frozenset({"year", "month", "day", "quarter", "hour", "minute", "doy", "dow", "isodow"})


def _field_type(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """EXTRACT's fields are BIGINT, the seconds since 1970 a DOUBLE."""
    name = dates.field_name(values[0]) if isinstance(values[0], str) else None
    if name == "epoch":
        return DOUBLE
    if name not in _WHOLE_FIELDS:
        raise Unsupported(f"the field {values[0]!r} in duckdb")
    return BIGINT


def _duckdb_field(call: Call) -> Implementation:
    if call.result.kind is Kind.DOUBLE:
        return lambda field, value: float(dates.extract("epoch", value, call.may))

    def apply(field: str, value: Any) -> int:
        try:
            return int(dates.extract(field, value, call.may))
        except SqlError:
            if isinstance(value, datetime) or not isinstance(value, date):
                raise
            return 0  # hour and minute of a DATE

    return apply


_DUCK_MOMENTS = tuple(exactly(kind)[0] for kind in (TIMESTAMP, DATE))
_DUCK_DAYS = any_of([Kind.INT, Kind.SMALLINT, Kind.TINYINT], INT)
DUCKDB: Table = {
    "+": (
        Rule((exactly(DATE)[0], _DUCK_DAYS), DATE, plainly(dates.add_days)),
        Rule((_DUCK_DAYS, exactly(DATE)[0]), DATE, _swapped(dates.add_days)),
        *_both_ways(DATE, INTERVAL, TIMESTAMP, _day_plus),
        *_both_ways(TIMESTAMP, INTERVAL, TIMESTAMP, dates.add_interval),
        Rule(exactly(INTERVAL, INTERVAL), INTERVAL, _spanning(dates.sum_intervals)),
    ),
    "-": (
        Rule((exactly(DATE)[0], _DUCK_DAYS), DATE, plainly(_sooner)),
        *_binary(DATE, DATE, BIGINT, _days_apart),
        *_binary(DATE, INTERVAL, TIMESTAMP, _day_minus),
        *_binary(TIMESTAMP, TIMESTAMP, INTERVAL, dates.difference),
        *_binary(TIMESTAMP, INTERVAL, TIMESTAMP, _minus),
        Rule(exactly(INTERVAL, INTERVAL), INTERVAL, _spanning(_spans_apart)),
    ),
    "negate": (Rule((_SPAN,), INTERVAL, plainly(dates.negate_interval)),),
    "extract": tuple(Rule((_FIELD, slot), _field_type, _duckdb_field) for slot in _DUCK_MOMENTS),
    "date_part": tuple(Rule((_FIELD, slot), _field_type, _duckdb_field) for slot in _DUCK_MOMENTS),
    "date_trunc": (Rule(exactly(TEXT, TIMESTAMP), _known_field, _truncate),),
}

# --- MySQL ----------------------------------------------------------------------------------------------------------


def _as_moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else dates.midnight(value)


def _shift(sign: int) -> Callable[[Call], Implementation]:
    """DATE_ADD and DATE_SUB: the date, the unit's name, the number of units."""

    def build(call: Call) -> Implementation:
        whole = call.result.kind is Kind.DATE

        def apply(value: date, unit: str, count: int) -> date:
            span = unit_span(unit, sign * count)
            if span is None or unit.lower() in ("millisecond", "decade"):
                raise Unsupported(f"the interval unit {unit}")
            moved = dates.add_interval(_as_moment(value), span)
            return moved.date() if whole else moved

        return apply

    return build


def shifted_type(kind: SqlType, unit: str) -> SqlType:
    """What DATE_ADD gives: a DATE stays one under days and longer units."""
    if kind.kind is Kind.DATE and unit.lower() in ("day", "week", "month", "quarter", "year"):
        return DATE
    digits = 6 if unit.lower() == "microsecond" else kind.precision or 0
    return SqlType(Kind.TIMESTAMP, precision=digits)


def _apart(unit: str, earlier: date, later: date) -> int:
    first, last = _as_moment(earlier), _as_moment(later)
    name = unit.lower()
    months = {"month": 1, "quarter": 3, "year": 12}.get(name)
    if months is not None:
        count = dates.months_between(last, first)
        return count // months if count >= 0 else -(-count // months)
    span = unit_span(name, 1)
    if span is None or span.months:
        raise Unsupported(f"the interval unit {unit}")
    size = span.days * 86_400_000_000 + span.microseconds
    total = dates.epoch(last) - dates.epoch(first)
    return total // size if total >= 0 else -(-total // size)


_PARTS = {
    "year": "year", "month": "month", "day": "day", "dayofmonth": "day", "quarter": "quarter", "dayofyear": "doy",
    "hour": "hour", "minute": "minute", "second": "second",
}  # fmt: skip
_CLOCK = ("hour", "minute", "second")


def _part(field: str) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        def apply(value: Any) -> int:
            return int(dates.extract(field, _as_moment(value) if isinstance(value, date) else value, call.may))

        return apply

    return build


def _mysql_extract(call: Call) -> Implementation:
    def apply(field: str, value: Any) -> int:
        name = field.lower()
        if name not in ("year", "month", "day", "quarter", "hour", "minute", "second"):
            raise Unsupported(f"EXTRACT({field})")
        return int(dates.extract(name, _as_moment(value) if isinstance(value, date) else value, call.may))

    return apply


DUCKDB.update(
    {name: tuple(Rule((slot,), BIGINT, _part(name)) for slot in _DUCK_MOMENTS) for name in ("year", "month", "day")}
)

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FORMATS: Mapping[str, Callable[[datetime], str]] = {
    "%Y": lambda at: f"{at.year:04d}", "%y": lambda at: f"{at.year % 100:02d}", "%m": lambda at: f"{at.month:02d}",
    "%c": lambda at: str(at.month), "%d": lambda at: f"{at.day:02d}", "%e": lambda at: str(at.day),
    "%H": lambda at: f"{at.hour:02d}", "%k": lambda at: str(at.hour), "%i": lambda at: f"{at.minute:02d}",
    "%s": lambda at: f"{at.second:02d}", "%S": lambda at: f"{at.second:02d}", "%f": lambda at: f"{at.microsecond:06d}",
    "%h": lambda at: f"{at:%I}", "%I": lambda at: f"{at:%I}", "%l": lambda at: str(at.hour % 12 or 12),
    "%p": lambda at: "AM" if at.hour < 12 else "PM", "%r": lambda at: f"{at:%I:%M:%S} {'AM' if at.hour < 12 else 'PM'}",
    "%w": lambda at: str(at.isoweekday() % 7), "%x": lambda at: f"{at.isocalendar()[0]:04d}",
    "%v": lambda at: f"{at.isocalendar()[1]:02d}", "%W": lambda at: DAYS[at.weekday()],
    "%a": lambda at: DAYS[at.weekday()][:3], "%M": lambda at: MONTHS[at.month - 1],
    "%b": lambda at: MONTHS[at.month - 1][:3],
    "%T": lambda at: f"{at:%H:%M:%S}", "%j": lambda at: f"{at:%j}", "%%": lambda at: "%",
}  # fmt: skip
"""DATE_FORMAT's letters, names in English, but for weeks that do not begin on Monday as ISO 8601 has it."""


def _formatted(value: date, pattern: str) -> str | None:
    at = _as_moment(value)

    def written(found: re.Match[str]) -> str:
        write = _FORMATS.get(found[0])
        if write is None:
            raise Unsupported(f"date_format() with {found[0]}")
        return write(at)

    return re.sub(r"%.?", written, pattern, flags=re.DOTALL) if pattern else None


_MYSQL_DAY = (exactly(TIMESTAMP)[0], exactly(DATE)[0])
_MYSQL_ANY = any_of([Kind.TIMESTAMP, Kind.DATE], SqlType(Kind.TIMESTAMP, precision=6))
_COUNT = any_of(INTEGER_KINDS)


def _last_day(value: date) -> date:
    return dates.add_days(dates.add_months(_as_moment(value).replace(day=1), 1).date(), -1)


def _shift_rules(sign: int) -> tuple[Rule, ...]:
    return (
        Rule((_MYSQL_ANY, _FIELD, _COUNT), lambda types, values: shifted_type(types[0], str(values[1])), _shift(sign)),
    )


def _epoch_type(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    if types[0].kind is not Kind.DATE and types[0].precision != 0:
        raise Unsupported("unix_timestamp() of a fraction of a second")
    return BIGINT


def _unix_timestamp(call: Call) -> Implementation:
    if call.dialect.timezone is not None:
        raise Unsupported(f"the session time zone {call.dialect.timezone}")

    def apply(value: date) -> int:
        if not 1971 <= value.year <= 2037:
            raise Unsupported("unix_timestamp() beyond the years 1971 to 2037")
        return dates.epoch(_as_moment(value)) // 1_000_000

    return apply


def _days_between(later: date, earlier: date) -> int:
    return (_as_moment(later).date() - _as_moment(earlier).date()).days


MYSQL: Table = {
    "date_add": _shift_rules(1),
    "date_sub": _shift_rules(-1),
    "datediff": (Rule((_MYSQL_ANY,) * 2, INT, plainly(_days_between)),),
    "timestampdiff": (Rule((_FIELD, _MYSQL_ANY, _MYSQL_ANY), BIGINT, plainly(_apart)),),
    "date": (Rule((_MYSQL_ANY,), DATE, plainly(lambda value: _as_moment(value).date())),),
    "date_format": (Rule((_MYSQL_ANY, *exactly(TEXT)), TEXT, plainly(_formatted)),),
    "unix_timestamp": (
        Rule((any_of([Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.DATE], _MYSQL_ANY.target),), _epoch_type, _unix_timestamp),
    ),
    "last_day": (Rule((_MYSQL_ANY,), DATE, plainly(_last_day)),),
    "dayofweek": (Rule((_MYSQL_ANY,), INT, plainly(lambda value: value.isoweekday() % 7 + 1)),),
    "weekday": (Rule((_MYSQL_ANY,), INT, plainly(lambda value: value.weekday())),),
    "extract": (Rule((_FIELD, _MYSQL_ANY), INT, _mysql_extract), Rule(exactly(TEXT, TIME), INT, _mysql_extract)),
    **{
        name: (
            Rule((_MYSQL_ANY,), INT, _part(field)),
            *([Rule(exactly(TIME), INT, _part(field))] if name in _CLOCK else []),
        )
        for name, field in _PARTS.items()
    },
}
