"""jsonb (PostgreSQL 8.14): values by their meaning, written in one way.

Keys are sorted by length, then by bytes; of equal keys the last one stays; numbers are exact, and equal whatever their
digits after the point. Does not know json, which keeps its text.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import total_ordering
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass, field

_DIGITS = 1000
"""Digits of a number that are modelled."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Jsonb:
    """A value: `text` as PostgreSQL writes it, `key` by which values are equal, `tree` of dicts, lists and scalars."""

    text: str = field(compare=False)
    key: Any
    tree: Any = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def __lt__(self, other: Jsonb) -> bool:
        return bool(_rank(self.tree) < _rank(other.tree))


@dataclass(frozen=True, slots=True)
class JsonbFamily:
    """The type."""

    name: str = "jsonb"
    equated: bool = True

    def ordered(self, by_letters: bool) -> bool:
        """As texts are."""
        return by_letters

    def given(self, json_value: Any) -> Jsonb:
        """A text as the server writes it, or the value itself where a log has it as JSON."""
        if not isinstance(json_value, str):
            return jsonb_of(_decimals(json_value))
        try:
            return read_jsonb(json_value, False)
        except SqlError:
            raise Unsupported("a jsonb value that is no JSON text") from None

    def another(self, number: int) -> Jsonb:
        """A string that is hardly among the log's."""
        return jsonb_of(f"\ufffdother{number}")


def read_jsonb(text: str, may: bool) -> Jsonb:
    """The value of a text. Raises SqlError 22P02 for what is no JSON, 22P05 for a zero byte, Unsupported."""
    return jsonb_of(parsed(text, may))


def parsed(text: str, may: bool) -> Any:
    """The tree of a JSON text, with its numbers as Decimals."""
    try:
        tree = json.loads(text, parse_int=number_of, parse_float=number_of, parse_constant=_refuse)
    except RecursionError:
        raise Unsupported("a deeply nested JSON text") from None
    except ValueError:
        raise SqlError("22P02", "invalid input syntax for type json", may=may) from None
    _check(tree, may)
    return tree


def jsonb_of(tree: Any) -> Jsonb:
    """The value of a tree. Raises Unsupported for one that is nested too deeply."""
    try:
        return Jsonb(_written(tree), _key(tree), tree)
    except RecursionError:
        raise Unsupported("a deeply nested JSON text") from None


def number_text(number: Decimal) -> str:
    """A number as numeric writes it: no exponent, the digits after the point as they were given."""
    text = format(number, "f")
    return text[1:] if text.startswith("-") and not number else text


def string_text(text: str) -> str:
    """A string as PostgreSQL writes it in JSON: escaped where JSON asks for it, and nowhere else."""
    return json.dumps(text, ensure_ascii=False)


def _written(tree: Any) -> str:
    if isinstance(tree, dict):
        return (
            "{"
            + ", ".join(f"{string_text(key)}: {_written(tree[key])}" for key in sorted(tree, key=written_order))
            + "}"
        )
    if isinstance(tree, list):
        return "[" + ", ".join(map(_written, tree)) + "]"
    if isinstance(tree, Decimal):
        return number_text(tree)
    if isinstance(tree, str):
        return string_text(tree)
    return {None: "null", True: "true", False: "false"}[tree]


def written_order(key: str) -> tuple[int, bytes]:
    """Where a key stands among those of an object: short ones first."""
    encoded = key.encode()
    return len(encoded), encoded


def _key(tree: Any) -> Any:
    if isinstance(tree, dict):
        return "object", tuple((key, _key(tree[key])) for key in sorted(tree))
    if isinstance(tree, list):
        return "array", tuple(map(_key, tree))
    return (type(tree).__name__, tree)


def _rank(tree: Any, root: bool = True) -> Any:
    """By which values are ordered (8.14.4): by their sort, the number of items, the items. One that is neither object
    nor array is an array of one item at the root, and less than another such array."""
    if isinstance(tree, dict):
        return 5, len(tree), tuple((key, _rank(tree[key], False)) for key in sorted(tree, key=written_order))
    if isinstance(tree, list):
        return 4, len(tree), True, tuple(_rank(item, False) for item in tree)
    if root:
        return 4, 1, False, (_rank(tree, False),)
    if tree is None:
        return (0,)
    return {str: 1, Decimal: 2, bool: 3}[type(tree)], tree


def number_of(text: str) -> Decimal:
    """A number of JSON. Raises Unsupported for one of many digits."""
    exponent = text.lower().partition("e")[2]
    if len(text) > _DIGITS or (exponent and abs(int(exponent)) > _DIGITS):
        raise Unsupported("a JSON number of many digits")
    number = Decimal(text)
    return number if number.as_tuple().exponent <= 0 else Decimal(int(number))  # type: ignore[operator]


def _refuse(word: str) -> None:
    raise ValueError(word)


def _check(tree: Any, may: bool) -> None:
    """Strings that jsonb does not take."""
    open_ = [tree]
    while open_:
        one = open_.pop()
        if isinstance(one, dict):
            open_ += [*one, *one.values()]
        elif isinstance(one, list):
            open_ += one
        elif isinstance(one, str):
            if "\0" in one:
                raise SqlError("22P05", "unsupported Unicode escape sequence", may=may)
            if any("\ud800" <= letter <= "\udfff" for letter in one):
                raise SqlError("22P02", "invalid input syntax for type json", may=may)


def _decimals(tree: Any) -> Any:
    """A value of a log with its numbers as Decimals."""
    if isinstance(tree, bool) or tree is None or isinstance(tree, str | Decimal):
        return tree
    if isinstance(tree, int):
        return Decimal(tree)
    if isinstance(tree, float):
        return Decimal(repr(tree))
    if isinstance(tree, dict):
        return {str(key): _decimals(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_decimals(item) for item in tree]
    raise ValueError(f"{tree!r} does not fit a column of type jsonb")
