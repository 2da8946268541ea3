"""Functions of text and bytes (PostgreSQL 9.4 and 9.5, MySQL 14.8, SQLite's core functions, DuckDB's text functions).

Whatever would hang on a character set beyond ASCII letters or on an unknown collation raises Unsupported. Does not know
LIKE.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.rule import (
    Call,
    Implementation,
    Rule,
    Slot,
    Table,
    any_of,
    exactly,
    of_either,
    of_stored,
    plainly,
)
from sql_semantics.values.text import common_rule, equal_by_code_points, text_rule
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT_KINDS,
    INT,
    INTEGER_KINDS,
    INTEGER_RANGE,
    TEXT,
    Kind,
    SqlType,
)

_LONGEST = 1_000_000


def _case(lowering: bool) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        ascii_only = call.dialect.rules.values.ascii_case_only

        def apply(text: str) -> str:
            if not text.isascii():
                if ascii_only:
                    pairs = ((c.lower() if lowering else c.upper()) if c.isascii() else c for c in text)
                    return "".join(pairs)
                raise Unsupported(f"{call.name} of text beyond ASCII")
            return text.lower() if lowering else text.upper()

        return apply

    return build


def _octets(text: str | bytes) -> int:
    return len(text.encode()) if isinstance(text, str) else len(text)


def _stripper(side: str) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        whole = call.dialect.rules.values.trims_whole_texts

        def apply(text: str, characters: str = " ") -> str:
            if not characters:
                return text
            if whole and len(characters) > 1:
                while side != "right" and text.startswith(characters):
                    text = text[len(characters) :]
                while side != "left" and text.endswith(characters):
                    text = text[: -len(characters)]
                return text
            return (
                text.lstrip(characters)
                if side == "left"
                else (text.rstrip(characters) if side == "right" else text.strip(characters))
            )

        return apply

    return build


def _substring(call: Call) -> Implementation:
    dialect = call.dialect.name

    def clipped(text: Any, start: int, length: int | None = None) -> Any:
        if length is not None and length < 0:
            raise call.fail("22011", "negative substring length not allowed")
        end = len(text) if length is None else start + length - 1
        return text[max(start - 1, 0) : max(end, 0)]

    def from_inside(text: str, start: int, length: int | None = None) -> str:
        begin = start - 1 if start > 0 else len(text) + start
        if start == 0 or begin < 0 or (length is not None and length <= 0):
            return ""
        return text[begin:] if length is None else text[begin : begin + length]

    def from_zero(text: str, start: int, length: int | None = None) -> str:
        """SQLite and DuckDB: position 0 stands before the first character, negative ones count from the end."""
        if max(abs(start), abs(length or 0)) > INTEGER_RANGE[Kind.INT][1]:
            raise Unsupported(f"substr() with a position or length beyond 32 bits in {dialect}")
        begin = start - 1 if start > 0 else len(text) + start if start < 0 else -1
        if length is None:
            return text[max(begin, 0) :]
        end = begin + length
        if length < 0:
            begin, end = end, begin
        return text[max(begin, 0) : max(end, 0)]

    match call.dialect.rules.values.substrings:
        case "clipped":
            return clipped
        case "from_inside":
            return from_inside
        case "from_zero":
            return from_zero


def _left(call: Call) -> Implementation:
    counting = call.dialect.rules.values.counts_from_other_end
    return lambda text, n: text[:n] if n >= 0 or counting else ""


def _right(call: Call) -> Implementation:
    if call.dialect.rules.values.counts_from_other_end:
        return lambda text, n: (text[-n:] if n else "") if n >= 0 else text[-n:]
    return lambda text, n: text[-n:] if n > 0 else ""


def _bounded(text: str) -> str:
    if len(text) > _LONGEST:
        raise Unsupported("text longer than a million characters")
    return text


def _repeat(text: str, times: int) -> str:
    if len(text) * max(times, 0) > _LONGEST:
        raise Unsupported("text longer than a million characters")
    return text * max(times, 0)


def _padder(left: bool) -> Callable[[Call], Implementation]:
    def build(call: Call) -> Implementation:
        odd = call.dialect.rules.values.odd_padding
        null, refused = odd == "null", odd == "cut"

        def apply(text: str, length: int, fill: str = " ") -> str | None:
            if null and (length < 0 or (not fill and length > len(text))):
                if not fill and length >= 0:
                    raise Unsupported("lpad or rpad with an empty text")
                return None
            if length <= len(text):
                return text[: max(length, 0)]
            if length > _LONGEST:
                raise Unsupported("text longer than a million characters")
            if not fill:
                if refused:
                    raise Unsupported("lpad or rpad with an empty text")
                return text
            missing = length - len(text)
            padding = (fill * (missing // len(fill) + 1))[:missing]
            return padding + text if left else text + padding

        return apply

    return build


def _finder(swapped: bool) -> Callable[[Call], Implementation]:
    """Where a part begins, from 1; 0 for nowhere."""

    def build(call: Call) -> Implementation:
        exact = not call.dialect.rules.values.searches_by_collation or equal_by_code_points(
            common_rule(call.arguments, text_rule(call.dialect))
        )

        def apply(first: str, second: str, begin: int | None = None) -> int:
            text, part = (second, first) if swapped else (first, second)
            start = 1 if begin is None else begin
            if start < 1 or start > len(text) + 1:
                return 0
            if not part and begin is not None and start > len(text):
                if not text.isascii():  # MariaDB compares the place with a number of bytes
                    raise Unsupported("a search for an empty text behind the end")
                return 0
            found = text.find(part, start - 1) + 1
            if not exact and (not (text + part).isascii() or found != text.lower().find(part.lower(), start - 1) + 1):
                raise Unsupported("a search in text under an unknown collation")
            return found

        return apply

    return build


def _replace(call: Call) -> Implementation:
    return lambda text, old, new: _bounded(text.replace(old, new)) if old else text


def _mysql_replace(text: str | None, old: str | None, new: str | None) -> str | None:
    if text is None or old is None:
        return None
    if new is None:
        if old not in text or not old:
            raise Unsupported("replace() by NULL of what is not there, on which MySQL and MariaDB differ")
        return None
    return _bounded(text.replace(old, new)) if old else text


def _sqlite_replace(text: str | None, old: str | None, new: str | None) -> str | None:
    """An empty pattern is noticed before a NULL replacement there."""
    if text is None or old is None:
        return None
    if not old:
        return text
    return None if new is None else _bounded(text.replace(old, new))


def _md5(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _ascii(call: Call) -> Implementation:
    if call.dialect.rules.values.ascii_of_bytes:
        return lambda text: text.encode()[0] if text else 0
    return lambda text: ord(text[0]) if text else 0


def _chr(call: Call) -> Implementation:
    fails = call.dialect.rules.values.bad_codes_fail

    def apply(code: int) -> str:
        if code == 0 or code < 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            if fails:
                raise call.fail("22023" if code < 0 else "54000", "character code out of range")
            raise Unsupported(f"chr({code})")
        return chr(code)

    return apply


def _concat(call: Call) -> Implementation:
    if not call.dialect.rules.values.concat_skips_nulls:
        return lambda *texts: None if None in texts else _bounded("".join(texts))
    return lambda *texts: _bounded("".join(text for text in texts if text is not None))


def _concat_ws(separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else _bounded(separator.join(text for text in texts if text is not None))


def _plain_part(text: str, delimiter: str, place: int) -> str:
    """DuckDB's split_part(), but for places and delimiters that mean nothing."""
    if not text or not delimiter or not place:
        raise Unsupported("split_part() of an empty text, by one, or at place 0")
    parts = text.split(delimiter)
    index = place - 1 if place > 0 else len(parts) + place
    return parts[index] if 0 <= index < len(parts) else ""


def _split_part(call: Call) -> Implementation:
    def apply(text: str, delimiter: str, place: int) -> str:
        if place == 0:
            raise call.fail("22023", "field position must not be zero")
        parts = text.split(delimiter) if delimiter else [text]
        if not text:
            return ""
        index = place - 1 if place > 0 else len(parts) + place
        return parts[index] if 0 <= index < len(parts) else ""

    return apply


def _translate(text: str, source: str, target: str) -> str:
    table: dict[int, int | None] = {}
    for place, character in enumerate(source):
        table.setdefault(ord(character), ord(target[place]) if place < len(target) else None)
    return text.translate(table)


def _hex(value: str | bytes | None) -> str:
    if value is None:
        return ""
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _hex_rounded(number: Decimal | float) -> str:
    """Of the integer that MySQL rounds a double to, and of the largest one beyond 64 bits."""
    double = float(number)
    within = -(2.0**63) < double < 2.0**64
    return f"{int(double + math.copysign(0.5, double)) % 2**64:X}" if within else "F" * 16


_TEXT = exactly(TEXT)[0]
_INT = Slot(INTEGER_KINDS, INT)
_PG_INT = any_of([Kind.SMALLINT, Kind.INT], INT)
_BYTES = exactly(BYTES)[0]


def _common(integer: Slot, length: SqlType, place: SqlType) -> Table:
    """What the products have in common, given how they take and give integers."""
    return {
        "lower": (Rule((_TEXT,), TEXT, _case(True)),),
        "upper": (Rule((_TEXT,), TEXT, _case(False)),),
        "length": (Rule((_TEXT,), length, plainly(len)),),
        **{name: (Rule((_TEXT,) * 1, TEXT, _stripper(side)),) for name, side in _SIDES.items()},
        "substr": (
            Rule((_TEXT, integer), TEXT, _substring),
            Rule((_TEXT, integer, integer), TEXT, _substring, errors=("22011",)),
        ),
        "replace": (Rule((_TEXT,) * 3, TEXT, _replace),),
        "instr": (Rule((_TEXT,) * 2, place, _finder(False)),),
    }


_SIDES = {"trim": "both", "ltrim": "left", "rtrim": "right"}
_SET_SIDES: Table = {
    name: (Rule((_TEXT,), TEXT, _stripper(side)), Rule((_TEXT, _TEXT), TEXT, _stripper(side)))
    for name, side in {**_SIDES, "btrim": "both"}.items()
}


def _larger(integer: Slot, place: SqlType) -> Table:
    """What PostgreSQL, MySQL and DuckDB have and SQLite has not."""
    return {
        "left": (Rule((_TEXT, integer), TEXT, _left),),
        "right": (Rule((_TEXT, integer), TEXT, _right),),
        "repeat": (Rule((_TEXT, integer), TEXT, plainly(_repeat)),),
        "reverse": (Rule((_TEXT,), TEXT, plainly(lambda text: text[::-1])),),
        "lpad": (Rule((_TEXT, integer, _TEXT), TEXT, _padder(True)),),
        "rpad": (Rule((_TEXT, integer, _TEXT), TEXT, _padder(False)),),
        "md5": (Rule((_TEXT,), TEXT, plainly(_md5)),),
        "ascii": (Rule((_TEXT,), INT, _ascii),),
        "concat": (Rule((_TEXT,), TEXT, _concat, variadic=True, strict=False, stable=True),),
        "concat_ws": (Rule((_TEXT, _TEXT), TEXT, plainly(_concat_ws), variadic=True, strict=False, stable=True),),
        "position": (Rule((_TEXT, _TEXT), place, _finder(True)),),
    }


POSTGRES: Table = {
    **_common(_PG_INT, INT, INT),
    **_larger(_PG_INT, INT),
    **_SET_SIDES,
    "length": (Rule((_TEXT,), INT, plainly(len)), Rule((_BYTES,), INT, plainly(len))),
    "char_length": (Rule((_TEXT,), INT, plainly(len)),),
    "character_length": (Rule((_TEXT,), INT, plainly(len)),),
    "octet_length": (Rule((_TEXT,), INT, plainly(_octets)), Rule((_BYTES,), INT, plainly(_octets))),
    "strpos": (Rule((_TEXT, _TEXT), INT, _finder(False)),),
    "lpad": (Rule((_TEXT, _PG_INT), TEXT, _padder(True)), Rule((_TEXT, _PG_INT, _TEXT), TEXT, _padder(True))),
    "rpad": (Rule((_TEXT, _PG_INT), TEXT, _padder(False)), Rule((_TEXT, _PG_INT, _TEXT), TEXT, _padder(False))),
    "chr": (Rule((_PG_INT,), TEXT, _chr, errors=("54000", "22023")),),
    "md5": (Rule((_TEXT,), TEXT, plainly(_md5)), Rule((_BYTES,), TEXT, plainly(_md5))),
    "split_part": (Rule((_TEXT, _TEXT, _PG_INT), TEXT, _split_part, errors=("22023",)),),
    "translate": (Rule((_TEXT,) * 3, TEXT, plainly(_translate)),),
    "starts_with": (Rule((_TEXT,) * 2, BOOLEAN, plainly(str.startswith)),),
    "substr": (
        Rule((_TEXT, _PG_INT), TEXT, _substring),
        Rule((_TEXT, _PG_INT, _PG_INT), TEXT, _substring, errors=("22011",)),
        Rule((_BYTES, _PG_INT), BYTES, _substring),
        Rule((_BYTES, _PG_INT, _PG_INT), BYTES, _substring, errors=("22011",)),
    ),
}
_PG_WAIT = plainly(lambda *_: "")
"""What returns void, which is shown as an empty text: it waits, locks or notifies, and no row changes."""
_LOCK_KEYS = (exactly(BIGINT), exactly(INT, INT))
POSTGRES |= {
    name: tuple(Rule(keys, TEXT, _PG_WAIT, stable=True) for keys in _LOCK_KEYS)
    for name in ("pg_advisory_lock", "pg_advisory_xact_lock", "pg_advisory_lock_shared", "pg_advisory_xact_lock_shared")
}
POSTGRES |= {
    "pg_notify": (Rule((_TEXT, _TEXT), TEXT, _PG_WAIT, strict=False, stable=True),),
    "pg_sleep": (Rule(exactly(DOUBLE), TEXT, _PG_WAIT, stable=True),),
}
del POSTGRES["instr"]
POSTGRES["substring"] = POSTGRES["substr"]
POSTGRES["trim"] = POSTGRES["btrim"]


def _up_to(text: str, delimiter: str, count: int) -> str:
    """SUBSTRING_INDEX: what stands before the count-th delimiter, or behind it counted from the end."""
    if not delimiter or not count:
        return ""
    parts = text.split(delimiter)
    if count < 0 and parts != text.rsplit(delimiter):
        raise Unsupported("substring_index() from the end, of delimiters that overlap")
    return delimiter.join(parts[:count] if count > 0 else parts[count:])


def _chosen(place: int | None, *texts: str | None) -> str | None:
    return texts[place - 1] if place is not None and 0 < place <= len(texts) else None


MYSQL: Table = {
    **_common(_INT, INT, INT),
    "substring_index": (Rule((_TEXT, _TEXT, _INT), TEXT, plainly(_up_to)),),
    "elt": (Rule((_INT, _TEXT), TEXT, plainly(_chosen), variadic=True, strict=False),),
    "hex": (
        *(Rule((slot,), TEXT, of_stored(plainly(_hex))) for slot in (_TEXT, _BYTES)),
        Rule((_INT,), TEXT, plainly(lambda number: f"{number % 2**64:X}")),
        Rule((any_of(FLOAT_KINDS | {Kind.NUMERIC}),), TEXT, plainly(_hex_rounded)),
    ),
    **_larger(_INT, INT),
    **_SET_SIDES,
    "length": of_either(INT, plainly(_octets)),
    "octet_length": of_either(INT, plainly(_octets)),
    "char_length": of_either(INT, plainly(len)),
    "character_length": of_either(INT, plainly(len)),
    "locate": (Rule((_TEXT, _TEXT), INT, _finder(True)), Rule((_TEXT, _TEXT, _INT), INT, _finder(True))),
    "space": (Rule((_INT,), TEXT, plainly(lambda n: _repeat(" ", n))),),
}
del MYSQL["btrim"]
MYSQL["replace"] = (Rule((_TEXT,) * 3, TEXT, plainly(_mysql_replace), strict=False),)
MYSQL["ascii"] = (Rule((_TEXT,), INT, of_stored(_ascii)),)
MYSQL["md5"] = of_either(TEXT, plainly(_md5))
MYSQL.update(lcase=MYSQL["lower"], ucase=MYSQL["upper"], substring=MYSQL["substr"], mid=MYSQL["substr"][1:])

SQLITE: Table = {
    **_common(_INT, BIGINT, BIGINT),
    **{name: _SET_SIDES[name] for name in _SIDES},
    "length": (Rule((_TEXT,), BIGINT, plainly(len)), Rule((_BYTES,), BIGINT, plainly(len))),
    "unicode": (Rule((_TEXT,), BIGINT, plainly(lambda text: ord(text[0]) if text else None)),),
    "replace": (Rule((_TEXT,) * 3, TEXT, plainly(_sqlite_replace), strict=False),),
    "hex": (Rule((_TEXT,), TEXT, plainly(_hex), strict=False), Rule((_BYTES,), TEXT, plainly(_hex), strict=False)),
}
SQLITE["substring"] = SQLITE["substr"]

DUCKDB: Table = {
    **_common(_INT, BIGINT, BIGINT),
    **_larger(_INT, BIGINT),
    **{name: _SET_SIDES[name] for name in _SIDES},
    "strpos": (Rule((_TEXT, _TEXT), BIGINT, _finder(False)),),
    "chr": (Rule((any_of([Kind.INT], INT),), TEXT, _chr),),
    "starts_with": (Rule((_TEXT,) * 2, BOOLEAN, plainly(str.startswith)),),
    "contains": (Rule((_TEXT,) * 2, BOOLEAN, plainly(lambda text, part: part in text)),),
    "octet_length": (Rule((_BYTES,), BIGINT, plainly(_octets)),),
    "split_part": (Rule((_TEXT, _TEXT, _INT), TEXT, plainly(_plain_part)),),
}
DUCKDB["substring"] = DUCKDB["substr"]
DUCKDB["len"] = DUCKDB["length"]
