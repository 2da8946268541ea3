"""Scalar functions and LIKE on concrete values (DESIGN §3). Does not know expressions or rows.

`scalar_function` picks the implementation by name and argument types; all of them take non-null arguments (NULL in,
NULL out) except those listed in `NULL_AWARE`, which the expression compiler evaluates itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.number import (
    EXACT,
    modulo_decimals,
    modulo_integers,
    round_scale,
    truncate_scale,
)
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType

NULL_AWARE = frozenset({"coalesce", "ifnull", "nullif", "greatest", "least", "if", "concat"})

Implementation = Callable[..., Any]


def scalar_function(
    name: str,
    arguments: Sequence[SqlType],
    result: SqlType,
    dialect: Dialect,
    may: bool,
) -> Implementation:
    """The function over non-null values; raises Unsupported for one that is not modelled."""
    kinds = tuple(argument.kind for argument in arguments)
    count = len(kinds)
    if count and kinds[0] is not Kind.TEXT and count <= 2:
        implementation = _numeric_function(name, kinds, result, dialect, may)
        if implementation is not None:
            return implementation
    if count and kinds[0] in (Kind.TEXT, Kind.NULL):
        implementation = _text_function(name, count, dialect, may)
        if implementation is not None:
            return implementation
    raise Unsupported(f"the function {name}({', '.join(map(str, arguments))}) in {dialect.name}")


def _numeric_function(
    name: str, kinds: tuple[Kind, ...], result: SqlType, dialect: Dialect, may: bool
) -> Implementation | None:
    kind, count = kinds[0], len(kinds)
    exact = kind in INTEGER_KINDS or kind is Kind.NUMERIC
    finish = _finisher(result)
    if name == "abs" and count == 1:
        if kind in INTEGER_KINDS and dialect.name != "sqlite":
            high = INTEGER_RANGE[kind if dialect.name == "postgres" else Kind.BIGINT][1]

            def absolute(value: int) -> int:
                if abs(value) > high:
                    raise SqlError("22003", "integer out of range", may=may)
                return abs(value)

            return absolute
        return EXACT.abs if kind is Kind.NUMERIC else abs
    if name == "sign" and count == 1:
        return lambda value: finish((value > 0) - (value < 0))
    if name in ("ceil", "ceiling") and count == 1:
        if exact:
            return lambda value: finish(math.ceil(value))
        return lambda value: float(math.ceil(value)) if math.isfinite(value) else value
    if name == "floor" and count == 1:
        if exact:
            return lambda value: finish(math.floor(value))
        return lambda value: float(math.floor(value)) if math.isfinite(value) else value
    if name in ("round", "trunc", "truncate") and (count == 1 or kinds[1] in INTEGER_KINDS):
        if exact:
            cut = round_scale if name == "round" else truncate_scale

            def rounded(value: int | Decimal, scale: int = 0) -> Any:
                if not -2000 <= scale <= 2000:
                    raise Unsupported(f"{name} to {scale} digits")
                return finish(cut(Decimal(value), scale))

            return rounded
        if count == 1 and dialect.name == "postgres":
            if name == "round":
                return lambda value: float(round(value)) if math.isfinite(value) else value
            return lambda value: float(math.trunc(value)) if math.isfinite(value) else value
        return None
    if name == "mod" and count == 2 and exact:
        return _modulo(result, finish, dialect, may)
    return None


def _modulo(result: SqlType, finish: Callable[[Any], Any], dialect: Dialect, may: bool) -> Implementation:
    modulo: Implementation = modulo_integers if result.kind in INTEGER_KINDS else modulo_decimals

    def remainder(left: Any, right: Any) -> Any:
        if right:
            return finish(modulo(left, right))
        if dialect.name == "postgres" or dialect.writing is not None:
            raise SqlError("22012", "division by zero", may=may or dialect.writing == "condition")
        if dialect.name == "duckdb":
            raise Unsupported("division by zero in duckdb")
        return None

    return remainder


def _finisher(result: SqlType) -> Callable[[Any], Any]:
    """Bring a number into the representation of the result type."""
    if result.kind is Kind.NUMERIC:
        return lambda value: value if isinstance(value, Decimal) else Decimal(value)
    if result.kind is Kind.DOUBLE:
        return float
    return int


def _text_function(name: str, count: int, dialect: Dialect, may: bool) -> Implementation | None:
    postgres = dialect.name == "postgres"
    if name in ("lower", "upper", "lcase", "ucase") and count == 1:
        lowering = name in ("lower", "lcase")

        def change_case(text: str) -> str:
            if not text.isascii():
                raise Unsupported(f"{name} of text beyond ASCII")
            return text.lower() if lowering else text.upper()

        return change_case
    if name in ("char_length", "character_length") and count == 1:
        return len
    if name == "length" and count == 1:
        return (lambda text: len(text.encode())) if dialect.name == "mysql" else len
    if name == "octet_length" and count == 1:
        return lambda text: len(text.encode())
    if name in ("trim", "btrim", "ltrim", "rtrim"):
        if count == 2 and dialect.name == "mysql":
            return None
        if name == "ltrim":
            return lambda text, characters=" ": text.lstrip(characters) if characters else text
        if name == "rtrim":
            return lambda text, characters=" ": text.rstrip(characters) if characters else text
        return lambda text, characters=" ": text.strip(characters) if characters else text
    if name in ("substr", "substring", "mid") and count in (2, 3):
        return _substring(dialect, may)
    if name == "left" and count == 2:
        return lambda text, n: text[:n] if n >= 0 or postgres else ""
    if name == "right" and count == 2 and (postgres or dialect.name == "mysql"):
        return lambda text, n: (text[-n:] if n else "") if n >= 0 else (text[-n:] if postgres else "")
    if name == "replace" and count == 3:
        return lambda text, old, new: text.replace(old, new) if old else text
    if name in ("strpos", "instr") and count == 2 and dialect.name != "mysql":
        return lambda text, part: text.find(part) + 1
    if name == "repeat" and count == 2:

        def repeat(text: str, times: int) -> str:
            if len(text) * max(times, 0) > 1_000_000:
                raise Unsupported("text longer than a million characters")
            return text * max(times, 0)

        return repeat
    if name == "reverse" and count == 1:
        return lambda text: text[::-1]
    return None


def _substring(dialect: Dialect, may: bool) -> Implementation:
    def substring(text: str, start: int, length: int | None = None) -> str:
        if dialect.name == "postgres":
            if length is not None and length < 0:
                raise SqlError("22011", "negative substring length not allowed", may=may)
            end = len(text) if length is None else start + length - 1
            return text[max(start - 1, 0) : max(end, 0)]
        if start <= 0 or (length is not None and length < 0):
            if dialect.name == "mysql" and start < 0 and -start <= len(text):
                begin = len(text) + start
                return text[begin:] if length is None else text[begin : begin + max(length, 0)]
            if dialect.name == "mysql":
                return ""
            raise Unsupported(f"substring from {start} in {dialect.name}")
        return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]

    return substring


@lru_cache(maxsize=4096)
def like_pattern(pattern: str, escape: str, ignore_case: bool) -> re.Pattern[str] | None:
    """The LIKE pattern as a regular expression; None where it ends with the escape character (an error)."""
    parts = []
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if escape and character == escape:
            index += 1
            if index == len(pattern):
                return None
            parts.append(re.escape(pattern[index]))
        elif character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            parts.append(re.escape(character))
        index += 1
    return re.compile("".join(parts) + r"\Z", re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def like(text: str, pattern: str, escape: str, ignore_case: bool, may: bool) -> bool:
    """text LIKE pattern. Raises SqlError 22025 for a pattern that ends with the escape character."""
    if ignore_case and not (text.isascii() and pattern.isascii()):
        raise Unsupported("LIKE without case beyond ASCII")
    compiled = like_pattern(pattern, escape, ignore_case)
    if compiled is None:
        raise SqlError("22025", "LIKE pattern must not end with escape character", may=may)
    return compiled.match(text) is not None
