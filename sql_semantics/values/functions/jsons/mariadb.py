"""Functions of JSON in MariaDB (its manual, JSON Functions), where JSON is a text. Does not know MySQL's, which write
values anew.

The scalars of a part are given as they are written. Plain paths only, ``$.a."b c"[0]``; a text that is no JSON gives
NULL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.values.families.json_texts import parts_of
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, exactly
from sql_semantics.values.types import INT, JSON, TEXT, Kind, SqlType, Value

_STEP = re.compile(r"""\s*(?:\.\s*(?:"([^"\\]+)"|([A-Za-z_]\w*))|\[\s*(\d{1,6})\s*\])""", re.ASCII)
_SCALARS = re.compile(r'["\dtfn-]')
_BEGINS = re.compile(r'[ \t\r\n]*(?:["\[{\d-]|true|false|null)', re.ASCII)
_BARE_POINT = re.compile(r"\d\.(?!\d)", re.ASCII)
"""MariaDB reads ``1.`` as a number."""


def steps_of(path: str) -> list[str | int]:
    """The names and places of a plain path. Raises Unsupported for another."""
    if not path.startswith("$"):
        raise Unsupported(f"the path {path!r}")
    found: list[str | int] = []
    place = 1
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            raise Unsupported(f"the path {path!r}")
        found.append(int(step[3]) if step[3] is not None else step[1] or step[2])
        place = step.end()
    return found


def _is_json(text: str) -> bool:
    if not text.isascii() or "\\" in text:
        raise Unsupported("a JSON text with escapes or letters beyond ASCII")
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise Unsupported("a deeply nested JSON text") from None
    except ValueError:
        if _BARE_POINT.search(text):
            raise Unsupported("a JSON text with a point that no digit follows") from None
        return False
    return True


def _refuse(word: str) -> None:
    raise ValueError(word)


def _part(text: str, path: str) -> str | None:
    found = text.strip(" \t\r\n")
    for step in steps_of(path):
        if isinstance(step, int) and not found.startswith("["):
            if step:
                return None
            continue  # a value is an array of itself
        if isinstance(step, str) and not found.startswith("{"):
            return None
        parts = parts_of(found)
        if isinstance(step, int):
            if step >= len(parts):
                return None
            found = parts[step][1]
            continue
        named = [part for name, part in parts if name == step]
        if len(named) > 1:
            raise Unsupported("a JSON object with a key twice")
        if not named:
            return None
        found = named[0]
    return found


def spaced(text: str) -> str:
    """A part with one blank behind each comma and colon, its scalars as they are written."""
    opening = text[:1]
    if opening == "[":
        return f"[{', '.join(spaced(part) for _, part in parts_of(text))}]"
    if opening == "{":
        return "{" + ", ".join(f'"{name}": {spaced(part)}' for name, part in parts_of(text)) + "}"
    return text


def _extract(call: Call) -> Implementation:
    def apply(text: str, path: str) -> str | None:
        if not _is_json(text):
            _refuse_stored(call)
            return None
        part = _part(text, path)
        return None if part is None else spaced(part)

    return apply


def _value(call: Call) -> Implementation:
    def apply(text: str, path: str) -> str | None:
        if not _is_json(text):
            if _BEGINS.match(text):  # it is read as far as the path needs
                raise Unsupported("json_value() of a text that begins as JSON does and is none")
            return None
        part = _part(text, path)
        if part is None or not _SCALARS.match(part) or part == "null":
            return None
        if part in ("true", "false"):
            return "1" if part == "true" else "0"
        return part[1:-1] if part.startswith('"') else part

    return apply


def _unquote(call: Call) -> Implementation:
    def apply(text: str) -> str:
        string = text.strip(" \t\r\n")
        if not string.startswith('"'):
            return text
        if not _is_json(string):
            raise Unsupported("json_unquote() of a text that is no JSON")
        return string[1:-1]

    return apply


def _valid(call: Call) -> Implementation:
    return lambda text: int(_is_json(text))


def _contains(call: Call) -> Implementation:
    """Whether a text or an integer is a part, or one of an array's; of others MariaDB has rules of its own."""

    def apply(text: str, candidate: str, path: str = "$") -> int:
        sought = candidate.strip(" ")
        if not _SIMPLE.match(sought):
            raise Unsupported("json_contains() of other than a text or an integer")
        if not _is_json(text):
            raise Unsupported("json_contains() in a text that is no JSON")
        part = _part(text, path)
        if part is None or part.startswith("{"):
            return 0
        items = [item for _, item in parts_of(part)] if part.startswith("[") else [part]
        if not all(_SIMPLE.match(item) or item in ("null", "true", "false") for item in items):
            raise Unsupported("json_contains() in a text with other than texts and integers")
        return int(sought in items)

    return apply


def is_whole(text: str, call: Call) -> bool:
    """Whether it is JSON. Raises Unsupported for a text that only begins as JSON, which some functions read so far, and
    for one that is no JSON in a statement that stores."""
    if _is_json(text):
        return True
    if _BEGINS.match(text):
        raise Unsupported(f"{call.name}() of a text that begins as JSON does and is none")
    _refuse_stored(call)
    return False


def _refuse_stored(call: Call) -> None:
    """Raise Unsupported for a text that is no JSON in a statement that stores, where it is an error in strict mode."""
    if call.dialect.writing is not None:
        raise Unsupported(f"{call.name}() of a text that is no JSON in a statement that stores")


def _asked(call: Call, found: Callable[[str], Value]) -> Implementation:
    """A function of a text, or of the part at a path: NULL where there is none."""

    def apply(text: str, path: str = "$") -> Value:
        part = _part(text, path) if is_whole(text, call) else None
        return None if part is None else found(part)

    return apply


def _count(part: str) -> int:
    return len(parts_of(part)) if part[:1] in "[{" else 1


def _keys(part: str) -> str | None:
    if not part.startswith("{"):
        return None
    names = dict.fromkeys(name for name, _ in parts_of(part))
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _depth(part: str) -> int:
    below = [_depth(inner) for _, inner in parts_of(part)] if part[:1] in "[{" else []
    return 1 + max(below, default=0)


_TYPES = {"[": "ARRAY", "{": "OBJECT", '"': "STRING", "t": "BOOLEAN", "f": "BOOLEAN", "n": "NULL"}


def _type(part: str) -> str:
    known = _TYPES.get(part[:1])
    if known is None and not _NUMBER.fullmatch(part):
        raise Unsupported("json_type() of such a number")
    return known or ("DOUBLE" if "." in part else "INTEGER")


_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?", re.ASCII)


def _exists(call: Call) -> Implementation:
    def apply(text: str, path: str) -> int:
        if not _is_json(text):
            raise Unsupported("json_exists() in a text that is no JSON")
        return int(_part(text, path) is not None)

    return apply


def _has_paths(call: Call) -> Implementation:
    def apply(text: str, which: str, *paths: str) -> int | None:
        if which.lower() not in ("one", "all"):
            raise Unsupported(f"json_contains_path() with {which!r}")
        if not is_whole(text, call):
            return None
        return int((any if which.lower() == "one" else all)([_part(text, path) is not None for path in paths]))

    return apply


def _overlaps(call: Call) -> Implementation:
    """Whether two texts have something in common: objects a name with the same value, arrays an item, an array and
    another value that value."""

    def apply(first: str, second: str) -> int:
        if not (_is_json(first) and _is_json(second)):
            raise Unsupported("json_overlaps() of a text that is no JSON")
        left, right = first.strip(_BLANKS), second.strip(_BLANKS)
        if _depth(left) > _FLAT or _depth(right) > _FLAT:
            raise Unsupported("json_overlaps() of arrays and objects within others")  # 10.11 compares these in part
        if left.startswith("{") and right.startswith("{"):
            members, others = _by_name(left), _by_name(right)
            return int(any(name in others and _is_same(part, others[name]) for name, part in members.items()))
        if left.startswith("[") or right.startswith("["):
            return int(any(_is_same(one, other) for one in _items_of(left) for other in _items_of(right)))
        return int(_is_same(left, right))

    return apply


_FLAT = 2
_BLANKS = " \t\r\n"


def _items_of(part: str) -> list[str]:
    return [item for _, item in parts_of(part)] if part.startswith("[") else [part]


def _by_name(part: str) -> dict[str, str]:
    found = parts_of(part)
    if len({name for name, _ in found}) < len(found):
        raise Unsupported("a JSON object with a key twice")
    return {str(name): inner for name, inner in found}


def _is_same(left: str, right: str) -> bool:
    """Whether two parts without parts are one value. Raises Unsupported for numbers that are not plain."""
    numbers = [_NUMBER.fullmatch(part) for part in (left, right)]
    if all(numbers):
        return float(left) == float(right)
    if any(part[0] in "-0123456789" and not number for part, number in zip((left, right), numbers, strict=True)):
        raise Unsupported("json_overlaps() of such a number")
    return left == right


def _part_rules(result: SqlType, found: Callable[[str], Value]) -> tuple[Rule, ...]:
    def build(call: Call) -> Implementation:
        return _asked(call, found)

    return Rule(exactly(TEXT), result, build), Rule(exactly(TEXT, TEXT), result, build)


_SIMPLE = re.compile(r'(?:"[^"\\]*"|0|-?[1-9]\d{0,14})\Z', re.ASCII)

MARIADB: Table = {
    "json_extract": (Rule(exactly(TEXT, TEXT), JSON, _extract),),
    "json_contains": (
        Rule(exactly(TEXT, TEXT), INT, _contains),
        Rule(exactly(TEXT, TEXT, TEXT), INT, _contains),
    ),
    "json_overlaps": (Rule(exactly(TEXT, TEXT), INT, _overlaps),),
    "json_value": (Rule(exactly(TEXT, TEXT), TEXT, _value),),
    "json_unquote": (Rule((Slot(frozenset({Kind.JSON, Kind.TEXT}), TEXT),), TEXT, _unquote),),
    "json_valid": (Rule(exactly(TEXT), INT, _valid),),
    "json_length": _part_rules(INT, _count),
    "json_keys": _part_rules(TEXT, _keys),
    "json_depth": _part_rules(INT, _depth)[:1],
    "json_type": _part_rules(TEXT, _type)[:1],
    "json_exists": (Rule(exactly(TEXT, TEXT), INT, _exists),),
    "json_contains_path": (Rule(exactly(TEXT, TEXT, TEXT), INT, _has_paths, variadic=True),),
}
