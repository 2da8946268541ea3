"""More of MySQL's functions of texts and days (12.8, 12.7 of its manual). Does not know other languages' names."""

from __future__ import annotations

import base64
import hashlib
import string
import zlib
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from operator import eq
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.moments.temporal import DAYS, MONTHS
from sql_semantics.values.functions.rule import (
    Call,
    Implementation,
    Rule,
    Table,
    any_of,
    exactly,
    of_either,
    plainly,
    second,
)
from sql_semantics.values.functions.texts.regular import read_regex
from sql_semantics.values.numbers.number import round_scale
from sql_semantics.values.text import TextRule, common_rule, text_equality, text_order, text_rule
from sql_semantics.values.types import BIGINT, BYTES, EXACT_KINDS, INT, INTEGER_KINDS, TEXT, UBIGINT, Kind


def _rule(call: Call) -> TextRule:
    return common_rule(call.arguments, text_rule(call.dialect))


def _in_set(call: Call) -> Implementation:
    equal = text_equality(_rule(call))

    def apply(item: str, items: str) -> int:
        if "," in item or item.endswith(" "):
            raise Unsupported("find_in_set() of such a text")
        found = (place for place, one in enumerate(items.split(","), 1) if equal(one, item))
        return next(found, 0) if items else 0

    return apply


def _place(call: Call) -> Implementation:
    texts = any(type_.kind is Kind.TEXT for type_ in call.arguments)
    equal: Callable[[Any, Any], bool] = text_equality(_rule(call)) if texts else eq

    def apply(item: Any, *items: Any) -> int:
        if item is None:
            return 0
        return next((place for place, one in enumerate(items, 1) if one is not None and equal(one, item)), 0)

    return apply


def _matches(call: Call) -> Implementation:
    """MariaDB's PCRE, as far as PostgreSQL's patterns mean the same there."""
    if call.dialect.product != "mariadb":
        raise Unsupported("regular expression")
    rule = _rule(call)
    if rule not in (TextRule.IGNORE_CASE, TextRule.CODE_POINT, TextRule.BINARY_PADDED):
        raise Unsupported("a regular expression under an unknown collation")
    ignore_case = rule is TextRule.IGNORE_CASE

    def apply(text: str, pattern: str) -> int:
        if not text.isascii() or "\n" in text or "\r" in text:
            raise Unsupported("a regular expression on a text of several lines or beyond ASCII")
        if ignore_case and "[:" in pattern:  # upper and lower are told apart there
            raise Unsupported(f"the regular expression {pattern!r} without case")
        return int(read_regex(pattern, ignore_case).search(text) is not None)

    return apply


def bytes_of(value: str | bytes) -> bytes:
    """What a text is stored as; bytes as they are."""
    return value.encode() if isinstance(value, str) else value


def _checksum(value: str | bytes) -> int:
    return zlib.crc32(bytes_of(value))


def _sha1(value: str | bytes) -> str:
    return hashlib.sha1(bytes_of(value), usedforsecurity=False).hexdigest()


def _sha2(call: Call) -> Implementation:
    """The digest of so many bits; NULL for a number that is none of theirs. MariaDB takes NULL bits for 0 (tried on
    10.11), MySQL's manual has NULL there."""
    of_null = None if call.dialect.product == "mysql" else 0

    def apply(value: str | bytes | None, bits: int | None) -> str | None:
        made = _SHA2.get(of_null if bits is None else bits)
        return None if made is None or value is None else made(bytes_of(value)).hexdigest()

    return apply


_SHA2: dict[int | None, Callable[[bytes], Any]] = {
    0: hashlib.sha256,
    224: hashlib.sha224,
    256: hashlib.sha256,
    384: hashlib.sha384,
    512: hashlib.sha512,
}


def _password(value: str | bytes | None) -> str:
    """MariaDB's hash of a password, empty for none."""
    if not value:
        return ""
    once = hashlib.sha1(bytes_of(value), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()


def _old_password(value: str | bytes) -> str:
    """The hash of MySQL before 4.1 (password.c, hash_password)."""
    if not value:
        return ""
    first, second, more = 1345345333, 0x12345671, 7
    for byte in bytes_of(value).translate(None, b" \t"):
        first ^= ((first & 63) + more) * byte + (first << 8)
        second += (second << 8) ^ first
        more += byte
        first, second = first & _WORD, second & _WORD
    return f"{first & _HALF:08x}{second & _HALF:08x}"


_WORD, _HALF = 2**64 - 1, 2**31 - 1


def _interval(value: Any, *bounds: Any) -> int:
    """How many of the bounds the value has reached, -1 for NULL; a bound that is NULL is none."""
    told = [bound for bound in bounds if bound is not None]
    if len(bounds) >= _SEARCHED and (len(told) < len(bounds) or told != sorted(told)):
        raise Unsupported("interval() of many bounds that are not in order")  # it looks for the place by halves
    if value is None:
        return -1
    return next((place for place, bound in enumerate(bounds) if bound is not None and bound > value), len(bounds))


_SEARCHED = 8


def _format(value: float | Decimal, digits: int) -> str:
    """So many digits behind the point, and commas between thousands; halves are rounded away from zero, of doubles
    what the product with the power of ten is nearest to (my_double_round)."""
    digits = max(digits, 0)
    if digits > _MOST_DIGITS:
        raise Unsupported("format() with so many digits")  # the two products have other limits
    if isinstance(value, float):
        scaled = value * 10.0**digits
        if abs(scaled) > _EXACT_DOUBLE:
            raise Unsupported("format() of such a double")
        value = round(scaled) / 10.0**digits
    else:
        value = round_scale(Decimal(value), digits)
        if len(f"{value:f}") > _MOST_PLACES:
            raise Unsupported("format() of such a decimal")
    return f"{value or abs(value):,.{digits}f}"


_MOST_DIGITS, _MOST_PLACES = 30, 65
_EXACT_DOUBLE = 2.0**53


def _day(value: date) -> str:
    return DAYS[value.weekday()]


def _month(value: date) -> str:
    return MONTHS[value.month - 1]


def _compared(call: Call) -> Implementation:
    return text_order(_rule(call))


def _week(day: date, mode: int) -> tuple[int, int]:
    """The year and the number of a week, by the table of modes in MySQL's manual (14.7, WEEK)."""
    if not 0 <= mode <= 7 or not 1 < day.year < 9999:
        raise Unsupported("week() of such a mode or year")
    day = date(day.year, day.month, day.day)
    on_monday, within_year, by_four_days = bool(mode & 1), not mode & 2, mode in (1, 3, 4, 6)

    def first(year: int) -> date:
        new_year = date(year, 1, 1)
        before = new_year.weekday() if on_monday else new_year.isoweekday() % 7
        late = before > 3 if by_four_days else before > 0
        return new_year + timedelta(days=(7 if late else 0) - before)

    year = day.year
    if not within_year:
        year += 1 if day >= first(year + 1) else -1 if day < first(year) else 0
    elif day < first(year):
        return year, 0
    return year, (day - first(year)).days // 7 + 1


def _week_of(day: date, mode: int) -> int:
    return _week(day, mode)[1]


def _year_and_week(day: date, mode: int = 0) -> int:
    year, week = _week(day, mode | 2)
    return year * 100 + week


def _unhex(text: str) -> bytes | None:
    """NULL of other letters; an odd first digit stands for a byte."""
    return bytes.fromhex("0" * (len(text) % 2) + text) if _HEXADECIMAL.issuperset(text) else None


def _to_base64(value: str | bytes) -> str:
    written = base64.b64encode(bytes_of(value)).decode()
    return "\n".join(written[at : at + 76] for at in range(0, len(written), 76))


_HEXADECIMAL = frozenset(string.hexdigits)
_MOMENT = any_of([Kind.DATE, Kind.TIMESTAMP])
_TEXTS, _EXACT, _WHOLE = any_of([Kind.TEXT]), any_of(EXACT_KINDS), any_of(INTEGER_KINDS)
MYSQL: Table = {
    "with collation": (Rule(exactly(TEXT), TEXT, plainly(lambda text: text)),),
    "find_in_set": (Rule(exactly(TEXT, TEXT), INT, _in_set),),
    "field": (
        Rule((_TEXTS, _TEXTS), INT, _place, variadic=True, strict=False),
        Rule((_EXACT, _EXACT), INT, _place, variadic=True, strict=False),
    ),
    "regexp": (Rule(exactly(TEXT, TEXT), INT, _matches),),
    "strcmp": (Rule(exactly(TEXT, TEXT), INT, _compared),),
    "week": (Rule((_MOMENT, _WHOLE), INT, plainly(_week_of)),),
    "yearweek": (
        Rule((_MOMENT,), INT, plainly(_year_and_week)),
        Rule((_MOMENT, _WHOLE), INT, plainly(_year_and_week)),
    ),
    "unhex": (Rule(exactly(TEXT), BYTES, plainly(_unhex)),),
    "to_base64": of_either(TEXT, plainly(_to_base64)),
    "crc32": of_either(UBIGINT, plainly(_checksum)),
    "sha": of_either(TEXT, plainly(_sha1)),
    "sha1": of_either(TEXT, plainly(_sha1)),
    "sha2": of_either(TEXT, _sha2, any_of(INTEGER_KINDS, BIGINT), strict=False),
    "interval": (Rule((_EXACT, _EXACT), INT, plainly(_interval), variadic=True, strict=False),),
    "format": (Rule((any_of(EXACT_KINDS | {Kind.DOUBLE}), any_of(INTEGER_KINDS, BIGINT)), TEXT, plainly(_format)),),
    "dayname": (Rule((_MOMENT,), TEXT, plainly(_day)),),
    "monthname": (Rule((_MOMENT,), TEXT, plainly(_month)),),
}
MARIADB: Table = {
    "name_const": (Rule((_TEXTS, any_of(frozenset(Kind))), second, plainly(lambda name, value: value), strict=False),),
    "password": of_either(TEXT, plainly(_password), strict=False),
    "old_password": of_either(TEXT, plainly(_old_password)),
}
