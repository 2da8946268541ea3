"""Conversions to truth values, dates, bytes, UUID and JSON (PostgreSQL 8.4 to 8.14, MySQL 11.2). Knows no numbers.

MySQL's answer to a text that is no date hangs on the statement (NULL with a warning, or an error), so it is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.casts.conversion import Conversion, Converter
from sql_semantics.values.dates.calendar import instant, midnight, time_microseconds, time_of, within
from sql_semantics.values.dates.temporal import parse_moment, parse_temporal
from sql_semantics.values.text import bytes_check
from sql_semantics.values.types import FLOAT_KINDS, INTEGER_KINDS, Interval, Kind, Value

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
_WORDS = frozenset({"true", "t", "1", "yes", "y", "false", "f", "0", "no", "n"})
_UUID = pattern(r"(\{?)[0-9a-fA-F]{8}(-?)(?:[0-9a-fA-F]{4}\2){3}[0-9a-fA-F]{12}(\}?)\Z", re.ASCII)
_ESCAPED = pattern(r"(?:[\x20-\x5b\x5d-\x7e]|\\x[0-9a-fA-F]{2})*\Z", re.ASCII)
_HEXADECIMAL = pattern(r"(?:[0-9a-fA-F]{2})*\Z", re.ASCII)


def to_boolean(this: Conversion) -> Converter | None:
    """To BOOLEAN."""
    source, texts = this.source, this.rules.truth_texts
    whole = texts == "words"

    def from_text(value: Value) -> Value:
        text = str(value).strip(" \t\n\r\f\v").lower()
        if whole and str(value).lower() not in _WORDS:
            raise this.fail("22P02", "could not convert a string to BOOL")
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        raise this.fail("22P02", "invalid input syntax for type boolean")

    if source.kind is Kind.BOOLEAN:
        return None
    if source.kind is Kind.TEXT and texts is not None:
        return from_text
    if source.kind in INTEGER_KINDS or source.kind in FLOAT_KINDS or source.kind is Kind.NUMERIC:
        return lambda value: value != 0
    raise this.unmodelled()


def _rounded(this: Conversion) -> Callable[[datetime], datetime] | None:
    """The cut to fewer fraction digits than six; None where the type keeps all."""
    digits = this.target.precision
    if digits is None or digits >= 6:
        return None
    unit = 10 ** (6 - digits)

    varies = this.rules.cuts_fractions_by_server
    truncates = varies and this.dialect.product == "mariadb"  # unless sql_mode has TIME_ROUND_FRACTIONAL

    def apply(moment: datetime) -> datetime:
        part = moment.microsecond
        kept = (part * 2 + unit) // (unit * 2) * unit
        below = part // unit * unit
        if varies and kept != below and this.dialect.product is None:
            raise Unsupported("fractions of a second that MySQL rounds and MariaDB cuts")
        if truncates:
            kept = below
        return within(lambda: moment + timedelta(microseconds=kept - part))()

    return apply


def _from_text(this: Conversion) -> Converter:
    kind, rules = this.target.kind, this.rules
    cut = _rounded(this)
    if not rules.has_dates:
        raise this.unmodelled()
    zeros, stamps = rules.zero_dates, rules.instants_of_32_bits and kind is Kind.TIMESTAMPTZ
    # their TIME has up to 838 hours
    fails = rules.bad_dates_fail == "always" or (this.assignment and kind is not Kind.TIME)

    def convert(value: Value) -> Value:
        text = str(value)
        if this.dialect.timezone is not None and kind is Kind.TIMESTAMPTZ and parse_moment(text, this.may)[1] is None:
            raise Unsupported(f"the session time zone {this.dialect.timezone}")
        if zeros and (text[:5] == "0000-" or "-00" in text or not text.strip()):
            raise Unsupported(f"the date {text!r} in mysql")
        try:
            found = parse_temporal(text, kind, this.may)
        except SqlError as error:
            if fails:
                raise
            raise Unsupported(f"the text {text!r} as a {kind.value} in mysql") from error  # NULL, or an error
        return _cut_any(_stamped(found) if stamps else found, cut)

    return convert


def _stamped(value: Value) -> Value:
    """MySQL's TIMESTAMP begins in 1970 and ends, in some versions, in 2038."""
    if not isinstance(value, datetime) or not 1 <= value.timestamp() < 2**31 - 1:
        raise Unsupported(f"the TIMESTAMP {value!r} in mysql")
    return value


def _then_stamped(convert: Callable[..., Value]) -> Callable[..., Value]:
    return lambda value: _stamped(convert(value))


def _cut_any(value: Value, cut: Callable[[datetime], datetime] | None) -> Value:
    if cut is None:
        return value
    if isinstance(value, datetime):
        return cut(value)
    if isinstance(value, time):
        return cut(datetime.combine(date(2000, 1, 1), value)).time()
    return value


def to_datetime(this: Conversion) -> Converter | None:
    """To DATE, TIME, TIMESTAMP or TIMESTAMPTZ; instants and timestamps differ by the session's zone, which is UTC."""
    pair = (this.source.kind, this.target.kind)
    cut = _rounded(this)
    if this.source.kind is Kind.TEXT:
        return _from_text(this)
    if pair[0] is pair[1]:
        return None if cut is None else lambda value: _cut_any(value, cut)
    found = _DATETIMES.get(pair)
    if found is None or (Kind.TIME in pair and not this.rules.casts_times):
        raise this.unmodelled()
    if this.dialect.timezone is not None and Kind.TIMESTAMPTZ in pair:
        raise Unsupported(f"the session time zone {this.dialect.timezone}")
    convert: Callable[..., Value] = found
    if this.rules.instants_of_32_bits and pair[1] is Kind.TIMESTAMPTZ:
        convert = _then_stamped(found)
    return convert if cut is None else lambda value: _cut_any(convert(value), cut)


_DATETIMES: Mapping[tuple[Kind, Kind], Callable[..., Value]] = {
    (Kind.DATE, Kind.TIMESTAMP): midnight,
    (Kind.DATE, Kind.TIMESTAMPTZ): lambda day: instant(midnight(day)),
    (Kind.TIMESTAMP, Kind.DATE): lambda moment: moment.date(),
    (Kind.TIMESTAMP, Kind.TIME): lambda moment: moment.time(),
    (Kind.TIMESTAMP, Kind.TIMESTAMPTZ): instant,
    (Kind.TIMESTAMPTZ, Kind.DATE): lambda moment: moment.astimezone(UTC).date(),
    (Kind.TIMESTAMPTZ, Kind.TIME): lambda moment: moment.astimezone(UTC).time(),
    (Kind.TIMESTAMPTZ, Kind.TIMESTAMP): lambda moment: moment.astimezone(UTC).replace(tzinfo=None),
    (Kind.INTERVAL, Kind.TIME): lambda span: time_of(span.microseconds),
}


def to_interval(this: Conversion) -> Converter | None:
    """To INTERVAL."""
    if this.target.precision is not None:
        raise Unsupported(f"type {this.target}")
    if this.source.kind is Kind.INTERVAL:
        return None
    if this.source.kind is Kind.TEXT and this.rules.has_intervals:
        return _from_text(this)
    if this.source.kind is Kind.TIME and this.rules.casts_times_to_intervals:
        return lambda value: Interval(microseconds=time_microseconds(value))  # type: ignore[arg-type]
    raise this.unmodelled()


def to_bytes(this: Conversion) -> Converter | None:
    """To BYTEA or BLOB."""
    if this.source.kind is Kind.BYTES:
        return None
    if this.source.kind is not Kind.TEXT:
        raise this.unmodelled()

    def from_hexadecimal(value: Value) -> Value:
        text = str(value)
        if text.startswith("\\x") and _HEXADECIMAL.match(text[2:]):
            return bytes.fromhex(text[2:])
        if "\\" in text:
            raise Unsupported(f"the bytes {text!r}")
        return text.encode()

    def from_escaped(value: Value) -> Value:
        text = str(value)
        if not _ESCAPED.match(text):
            raise Unsupported(f"the bytes {text!r}")  # an error, as far as it is known
        return re.sub(r"\\x(..)", lambda found: chr(int(found[1], 16)), text).encode("latin-1")

    match this.rules.bytes_of_text:
        case "hexadecimal":
            return from_hexadecimal
        case "escaped":
            return from_escaped
        case "encoded":
            return _encoded(this)


def _encoded(this: Conversion) -> Converter:
    """A text as MySQL, DuckDB and SQLite store it."""
    check = bytes_check(this.source, this.dialect) if this.rules.strict_writes else None
    if check is None:
        return lambda value: str(value).encode()

    def convert(value: Value) -> Value:
        check(value)
        return str(value).encode()

    return convert


def to_uuid(this: Conversion) -> Converter | None:
    """To UUID."""
    if this.source.kind is Kind.UUID:
        return None
    if this.source.kind is not Kind.TEXT or not this.rules.has_uuids:
        raise this.unmodelled()
    fails = this.rules.bad_uuids_fail

    def from_text(value: Value) -> Value:
        text = str(value)
        match = _UUID.match(text)
        if match and len(match.group(1)) == len(match.group(3)):
            return UUID(text)
        if len(re.findall("[0-9a-fA-F]", text)) == 32 or not fails:
            raise Unsupported(f"the UUID {text!r}")
        raise this.fail("22P02", "invalid input syntax for type uuid")

    return from_text


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def to_json(this: Conversion) -> Converter | None:
    """To PostgreSQL's json, which keeps its text."""
    if this.source.kind is Kind.JSON:
        return None
    if this.source.kind is Kind.JSONB:
        return str
    if this.source.kind is not Kind.TEXT or not this.rules.has_json:
        raise this.unmodelled()

    def from_text(value: Value) -> Value:
        text = str(value)
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            raise this.fail("22P02", "invalid input syntax for type json") from None
        except RecursionError:
            raise Unsupported("JSON nested too deeply") from None
        return text

    return from_text


TARGETS: Mapping[Kind, Callable[[Conversion], Converter | None]] = {
    Kind.BOOLEAN: to_boolean,
    Kind.DATE: to_datetime,
    Kind.TIME: to_datetime,
    Kind.TIMESTAMP: to_datetime,
    Kind.TIMESTAMPTZ: to_datetime,
    Kind.INTERVAL: to_interval,
    Kind.BYTES: to_bytes,
    Kind.UUID: to_uuid,
    Kind.JSON: to_json,
}
