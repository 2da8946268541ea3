"""The number that a text is, or begins with, in SQLite (sqlite.org/datatype3, 3 and 4; lang_expr, CAST).

How a text with a fraction becomes a double differs between its versions and machines (sqlite3AtoF: in 80 bits where
there are such, else in 64; from 3.43 on in pairs of doubles, at first not always the nearest one). Here it is what all
of them make of it, or refused. Does not know which columns ask for numbers.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern

_BLANKS = r"[ \t\n\v\f\r]*"
_PREFIX = pattern(rf"{_BLANKS}([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_INTEGER = pattern(rf"{_BLANKS}([+-]?[0-9]+)", re.ASCII)
_WHOLE = pattern(rf"{_BLANKS}\Z", re.ASCII)
_LOW, _HIGH = -(2**63), 2**63 - 1
_EXACT = 2**53
"""Integers up to this one are doubles."""
_EXACT_POWER = 22
"""Powers of ten up to this one are doubles."""
_PLACES, _FEW_PLACES = 15, 4
"""Digits behind the point up to which the nearest double is found; in versions that are not known to."""
_IN_PAIRS, _NEAREST = (3, 43), (3, 51)
"""Versions between which more digits than a few may give another double; they were tried for 3.40, 3.43.1 and 3.51."""
Version = tuple[int, ...] | None
_ALSO_INTEGER = 2**51
_LONG = 400
_NEGATIVE = "negative zero in sqlite"


def leading_real(text: str, version: Version) -> float:
    """CAST(text AS REAL). Raises Unsupported."""
    found = _prefix(text)
    if found is None and text.lstrip(" \t\n\v\f\r").startswith("-"):
        raise Unsupported(_NEGATIVE)
    return 0.0 if found is None else _double(found[0], version)


def leading_number(text: str, version: Version) -> int | float:
    """CAST(text AS NUMERIC): an integer where the number is one of up to 51 bits, or is written as one of 64. Raises
    Unsupported."""
    found = _prefix(text)
    if found is None:
        return 0
    if _is_integer(found[0]):
        return _integer(found[0], version)
    value = _double(found[0], version)
    return int(value) if abs(value) < _ALSO_INTEGER and value == int(value) else value


def whole_number(text: str, version: Version) -> int | float | None:
    """What numeric affinity makes of a text: None where it is more or less than a number, and stays a text. What is
    written as an integer is one, where 64 bits hold it; what has a point or an exponent is a double. Raises
    Unsupported."""
    found = _prefix(text)
    if found is None or not found[1]:
        return None
    return _integer(found[0], version) if _is_integer(found[0]) else _double(found[0], version)


def narrowed(value: int | float) -> int | float:
    """A number in a column of NUMERIC affinity: a double that is a whole number of 64 bits is an integer."""
    if isinstance(value, float) and _LOW < value < _HIGH and value == int(value):
        return int(value)
    return value


def _prefix(text: str) -> tuple[str, bool] | None:
    """The number that a text begins with, and whether nothing but blanks follows; None for no number."""
    if "\0" in text or len(text) > _LONG:
        raise Unsupported("a text as a number in sqlite that is long, or holds the character 0")
    match = _PREFIX.match(text)
    return None if match is None else (match[1], _WHOLE.match(text, match.end()) is not None)


def _is_integer(number: str) -> bool:
    return _INTEGER.fullmatch(number) is not None


def _integer(number: str, version: Version) -> int | float:
    value = int(number)
    return value if _LOW <= value <= _HIGH else _double(number, version)


def _double(number: str, version: Version) -> float:
    sign, digits, exponent = Decimal(number).as_tuple()
    assert isinstance(exponent, int)
    significand = int("".join(map(str, digits)))
    if significand == 0:
        if sign:
            raise Unsupported(_NEGATIVE)
        return 0.0
    while significand % 10 == 0:
        significand, exponent = significand // 10, exponent + 1
    if exponent >= 0 and significand * 10 ** min(exponent, 20) <= _HIGH:
        whole: int = significand * 10**exponent
        return float(-whole if sign else whole)
    if 0 < exponent <= _EXACT_POWER and (whole := significand * 10**exponent) == float(whole):
        return float(-whole if sign else whole)
    nearest = version is not None and (version < _IN_PAIRS or version >= _NEAREST)
    if significand > _EXACT or not -(_PLACES if nearest else _FEW_PLACES) <= exponent < 0:
        raise Unsupported(f"the text {number!r} as a floating-point number in sqlite, which depends on its version")
    exact = Fraction(significand, 10**-exponent)
    value: float = significand / 10**-exponent
    if value != _through_80_bits(exact):
        raise Unsupported(f"the text {number!r} as a floating-point number in sqlite, which depends on the machine")
    return -value if sign else value


def _through_80_bits(exact: Fraction) -> float:
    """A positive number rounded to the 64 bits of a long double, and then to a double."""
    shift = 63 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    scaled = exact * 2**shift if shift >= 0 else exact / 2**-shift
    if scaled >= 2**64:
        scaled, shift = scaled / 2, shift - 1
    elif scaled < 2**63:
        scaled, shift = scaled * 2, shift + 1
    return float(Fraction(round(scaled)) / Fraction(2) ** shift)
