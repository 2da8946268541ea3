"""MySQL's functions that make days and times of numbers and texts, and numbers of days (its manual, Date and Time
Functions). Does not know the moment that it is, nor dates with a month or a day of zero.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly, plainly
from sql_semantics.values.types import BIGINT, DATE, INT, INTEGER_KINDS, TEXT, Kind, SqlType, Value

_YEAR_ZERO = 365
"""Days of the year 0, which TO_DAYS counts from."""
_LAST_DAY = 3_652_424
_CLOCK = SqlType(Kind.TIME, 0)
_FIELDS = {"Y": (4, 4), "m": (1, 2), "c": (1, 2), "d": (1, 2), "e": (1, 2), "H": (1, 2), "k": (1, 2), "i": (1, 2),
           "s": (1, 2), "S": (1, 2), "f": (1, 6)}  # fmt: skip
"""The letters of STR_TO_DATE that are modelled, with the fewest and the most digits."""
_SAME = {"c": "m", "e": "d", "k": "H", "S": "s"}
_BLANKS = " \t\r\n"
_DATE, _TIME = frozenset("Ymd"), frozenset("Hisf")


def _to_days(day: date) -> int:
    return day.toordinal() + _YEAR_ZERO


def _from_days(days: int) -> date:
    if not _YEAR_ZERO < days <= _LAST_DAY:
        raise Unsupported("from_days() beyond the years 1 to 9999")
    return date.fromordinal(days - _YEAR_ZERO)


def _make_date(year: int, day: int) -> date | None:
    """A day of a year by its number; two digits are of 1970 to 2069."""
    if day <= 0 or not 0 <= year <= 9999:
        return None
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    found = date(year, 1, 1).toordinal() + day - 1
    return date.fromordinal(found) if found <= date.max.toordinal() else None


def _seconds(moment: time | datetime) -> int:
    if moment.microsecond:
        raise Unsupported("time_to_sec() of a fraction of a second")
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _to_time(seconds: int) -> time:
    if not 0 <= seconds < 86_400:
        raise Unsupported("a time beyond a day")
    return (datetime(2000, 1, 1) + timedelta(seconds=seconds)).time()


def _make_time(hours: int, minutes: int, seconds: int) -> time | None:
    if not (0 <= minutes < 60 and 0 <= seconds < 60):
        return None
    if not 0 <= hours < 24:
        raise Unsupported("a time beyond a day")
    return time(hours, minutes, seconds)


def _letters(form: str) -> list[str]:
    """A format in parts: letters with their percent sign, and what stands between. Raises Unsupported for others."""
    parts = re.findall(r"%.|[^%]", form.replace("%T", "%H:%i:%s"), re.DOTALL)
    if "".join(parts) != form.replace("%T", "%H:%i:%s") or any(p[0] == "%" and p[1] not in _FIELDS for p in parts):
        raise Unsupported(f"str_to_date() with {form!r}")
    letters = [_SAME.get(part[1], part[1]) for part in parts if part[0] == "%"]
    if len(set(letters)) < len(letters):
        raise Unsupported(f"str_to_date() with {form!r}")
    return parts


def _read_type(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    form = values[1]
    if not isinstance(form, str):
        raise Unsupported("str_to_date() with a computed format")
    letters = {_SAME.get(part[1], part[1]) for part in _letters(form) if part[0] == "%"}
    if not letters >= _DATE:
        raise Unsupported(f"str_to_date() with {form!r}")
    return SqlType(Kind.TIMESTAMP, 6 if "f" in letters else 0) if letters & _TIME else DATE


def _read(call: Call) -> Implementation:
    with_time = call.result.kind is Kind.TIMESTAMP

    def apply(text: str, form: str) -> Value:
        found, rest = _numbers(text, _letters(form))
        moment = None if found is None else made(found)
        if call.dialect.writing is not None and (moment is None or rest.strip(_BLANKS)):
            raise Unsupported(f"str_to_date() of {text!r} in a statement that stores")  # an error in strict mode
        return moment

    def made(found: dict[str, int]) -> Value:
        if not (found.get("Y") and found.get("m") and found.get("d")):
            raise Unsupported("str_to_date() of a date without all its parts")
        hour, minute, second, fraction = (found.get(letter, 0) for letter in "Hisf")
        if found["m"] > 12 or found["d"] > 31 or hour > 23 or max(minute, second) > 59:
            return None
        if found["d"] > monthrange(found["Y"], found["m"])[1]:
            raise Unsupported("a day that its month has not")
        day = date(found["Y"], found["m"], found["d"])
        return datetime.combine(day, time(hour, minute, second, fraction)) if with_time else day

    return apply


def _numbers(text: str, parts: Sequence[str]) -> tuple[dict[str, int] | None, str]:
    """The number of each letter, as far as the text goes, and what follows in the text; None where it is otherwise than
    the format."""
    found: dict[str, int] = {}
    place = 0
    for part in parts:
        while place < len(text) and text[place] in _BLANKS:
            place += 1
        if part in _BLANKS:
            continue
        if place >= len(text):
            break
        if part[0] != "%":
            if text[place] != part:
                return None, text
            place += 1
            continue
        fewest, most = _FIELDS[part[1]]
        digits = re.compile(rf"\d{{1,{most}}}", re.ASCII).match(text, place)
        if digits is None and text[place] in "+-":
            raise Unsupported("str_to_date() of a number with a sign")
        if digits is None:
            return None, text
        if len(digits[0]) < fewest:
            raise Unsupported("str_to_date() of a year of fewer than four digits")
        shown = digits[0].ljust(6, "0") if part[1] == "f" else digits[0]
        found[_SAME.get(part[1], part[1])] = int(shown)
        place = digits.end()
    return found, text[place:]


def _of_seconds(call: Call) -> Implementation:
    """The moment so many seconds after 1970 in the session's time zone, which is UTC; how far, versions differ."""
    if call.dialect.timezone is not None:
        raise Unsupported(f"the session time zone {call.dialect.timezone}")

    def apply(seconds: int) -> datetime | None:
        if seconds >= 2**31:
            raise Unsupported("from_unixtime() beyond 2038")
        return datetime(1970, 1, 1) + timedelta(seconds=seconds) if seconds >= 0 else None

    return apply


_WHOLE = any_of(INTEGER_KINDS)
_DAY = any_of([Kind.DATE, Kind.TIMESTAMP])
MYSQL: Table = {
    "to_days": (Rule((_DAY,), INT, plainly(_to_days)),),
    "from_days": (Rule((_WHOLE,), DATE, plainly(_from_days)),),
    "from_unixtime": (Rule((any_of(INTEGER_KINDS, BIGINT),), SqlType(Kind.TIMESTAMP, precision=0), _of_seconds),),
    "makedate": (Rule((_WHOLE, _WHOLE), DATE, plainly(_make_date)),),
    "maketime": (Rule((_WHOLE,) * 3, _CLOCK, plainly(_make_time)),),
    "time_to_sec": (Rule((any_of([Kind.TIME, Kind.TIMESTAMP]),), INT, plainly(_seconds)),),
    "sec_to_time": (Rule((_WHOLE,), _CLOCK, plainly(_to_time)),),
    "str_to_date": (Rule(exactly(TEXT, TEXT), _read_type, _read),),
    "bit_count": (Rule((_WHOLE,), INT, plainly(lambda number: (number % 2**64).bit_count())),),
}
