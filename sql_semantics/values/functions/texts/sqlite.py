"""SQLite's GLOB and printf() (sqlite.org/lang_expr 5, printf.html). Does not know LIKE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.products.rules.values import FloatText
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly, plainly
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.types import BIGINT, FLOAT_KINDS, INTEGER_KINDS, TEXT, Kind, SqlType, Value

_DIRECTIVE = re.compile(r"%([-+ 0]*)(\d*)(?:\.(\d+))?(.)?", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_KNOWN = frozenset("disxXofcu")


def _in_class(letter: str, members: str) -> bool:
    """Whether a letter is one of ``[...]``: letters, and ranges of them."""
    place, before = 0, ""
    while place < len(members):
        if members[place] == "-" and before and place + 1 < len(members):
            if before <= letter <= members[place + 1]:
                return True
            before, place = "", place + 2
            continue
        before = members[place]
        if letter == before:
            return True
        place += 1
    return False


def _parts(pattern: str) -> list[tuple[str, str]]:
    """What a pattern asks for, one after the other. Raises Unsupported for a class that is not closed."""
    parts: list[tuple[str, str]] = []
    place = 0
    while place < len(pattern):
        letter = pattern[place]
        place += 1
        if letter != "[":
            parts.append((letter if letter in "*?" else "is", letter))
            continue
        kind = "not in" if pattern[place : place + 1] == "^" else "in"
        place += kind == "not in"
        end = pattern.find("]", place + 1)
        if end < 0:
            raise Unsupported("GLOB with a class that is not closed")
        parts.append((kind, pattern[place:end]))
        place = end + 1
    return parts


def _glob(pattern: str, text: str) -> int:
    parts = _parts(pattern)
    reached = {0}
    for kind, what in parts:
        if kind == "*":
            reached = set(range(min(reached), len(text) + 1)) if reached else reached
            continue
        reached = {at + 1 for at in reached if at < len(text) and _is(text[at], kind, what)}
    return int(len(text) in reached)


def _is(letter: str, kind: str, what: str) -> bool:
    if kind == "?":
        return True
    if kind == "is":
        return letter == what
    return _in_class(letter, what) is (kind == "in")


def _is_known(found: re.Match[str]) -> bool:
    """Whether a directive is modelled: not ``%%`` with a width, nor flags of which one puts another out of force."""
    if found[4] == "%":
        return found[0] == "%%"
    return found[4] in _KNOWN and not any(set(pair) <= set(found[1]) for pair in ("-0", "+ "))


def _checked_format(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    pattern = values[0]
    if not isinstance(pattern, str) or not all(map(_is_known, _DIRECTIVE.finditer(pattern))):
        raise Unsupported("printf() of such a format in sqlite")
    return TEXT


def _printf(call: Call) -> Implementation:
    style = call.dialect.rules.values.float_text

    def apply(pattern: str | None, *values: Any) -> str | None:
        return None if pattern is None else _printed(pattern, values, style)

    return apply


def _printed(pattern: str, values: Sequence[Any], style: FloatText | None) -> str:
    given = iter(values)

    def written(found: re.Match[str]) -> str:
        flags, width, digits, letter = found[1], int(found[2] or 0), found[3], found[4]
        if letter == "%":
            return "%"
        value = next(given, None)
        if letter in "sc":
            text = _text(value, style)
            if not text.isascii() and (width or digits is not None):
                raise Unsupported("printf() of so many letters beyond ASCII in sqlite")  # they are bytes
            shown = _cut(text, letter, digits)
        else:
            shown = _number(value, letter, digits, flags)
        if "-" in flags:
            return shown.ljust(width)
        if "0" in flags and letter not in "sc":
            sign = shown[:1] if shown[:1] in "+- " else ""
            return sign + shown[len(sign) :].rjust(width - len(sign), "0")
        return shown.rjust(width)

    return _DIRECTIVE.sub(written, pattern)


def _cut(text: str, letter: str, digits: str | None) -> str:
    """The text with so many letters of it, one for %c."""
    if letter == "c" and (digits is not None or not text):
        raise Unsupported("%c of nothing, or repeated, in sqlite")
    return text[:1] if letter == "c" else text if digits is None else text[: int(digits)]


def _text(value: Any, style: FloatText | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return float_text(value, Kind.DOUBLE, style)
    return str(value)


def _number(value: Any, letter: str, digits: str | None, flags: str) -> str:
    if letter == "f":
        return _signed(_fixed(value, 6 if digits is None else int(digits)), flags)
    if digits is not None:
        raise Unsupported(f"%.{digits}{letter} in sqlite")
    if value is None:
        value = 0
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) is None:
            raise Unsupported(f"%{letter} of a text that is no integer in sqlite")
        value = int(value)
    if isinstance(value, float):
        if not -(2.0**53) < value < 2.0**53:
            raise Unsupported(f"%{letter} of a large number in sqlite")
        value = int(value)
    if letter in "di":
        return _signed(str(value), flags)
    if value < 0:
        value += 2**64
    return str(value) if letter == "u" else format(value, letter)


def _signed(shown: str, flags: str) -> str:
    if shown.startswith("-"):
        return shown
    return ("+" if "+" in flags else " " if " " in flags else "") + shown


def _fixed(value: Any, digits: int) -> str:
    """A number with so many digits behind the point. Raises Unsupported where SQLite's own rounding shows."""
    if value is None:
        value = 0.0
    if isinstance(value, str):
        raise Unsupported("%f of a text in sqlite")
    exact, shortest = Decimal(float(value)), Decimal(repr(float(value)))
    if not exact.is_finite() or abs(exact) >= 10**12 or digits > 12 or (not exact and repr(value).startswith("-")):
        raise Unsupported("%f of such a number in sqlite")
    unit = Decimal(1).scaleb(-digits)
    ways = {one.quantize(unit, way) for one in (exact, shortest) for way in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
    if len(ways) > 1 or (exact < 0 and not next(iter(ways))):
        raise Unsupported("%f of a number near a half in sqlite")
    return f"{ways.pop():f}"


_ANYTHING = any_of(INTEGER_KINDS | FLOAT_KINDS | {Kind.TEXT, Kind.ANY, Kind.NUMERIC})
_WRITE = (
    Rule(exactly(TEXT), _checked_format, _printf, strict=False),
    Rule((*exactly(TEXT), _ANYTHING), _checked_format, _printf, variadic=True, strict=False),
)
SQLITE: Table = {
    "glob": (Rule(exactly(TEXT, TEXT), BIGINT, plainly(_glob)),),
    "printf": _WRITE,
    "format": _WRITE,
}
