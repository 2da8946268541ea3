"""Parts of a JSON text as they are written in it (PostgreSQL 8.14, json keeps its text). The text is valid JSON.

Does not know jsonb, whose values are not texts.
"""

from __future__ import annotations

import json

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern

_BLANKS = pattern(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def member(text: str, key: str | int) -> str | None:
    """The text under a key of an object, or at a place of an array, from its end where it is negative; None for none.
    Of equal keys the last one counts."""
    place = _after_blanks(text, 0)
    if text[place : place + 1] != ("{" if isinstance(key, str) else "["):
        return None
    found = [part for name, part in parts_of(text) if not isinstance(key, str) or name == key]
    if isinstance(key, str):
        return found[-1] if found else None
    return found[key] if -len(found) <= key < len(found) else None


def parts_of(text: str) -> list[tuple[object, str]]:
    """The texts in an object or array, each with its key, which is None in an array."""
    place = _after_blanks(text, 0)
    opening = text[place : place + 1]
    found: list[tuple[object, str]] = []
    place = _after_blanks(text, place + 1)
    while text[place] not in "}]":
        name: object = None
        if opening == "{":
            name, place = _ended(text, place)
            place = _after_blanks(text, _after_blanks(text, place) + 1)
        _, end = _ended(text, place)
        found.append((name, text[place:end]))
        place = _after_blanks(text, end)
        if text[place] == ",":
            place = _after_blanks(text, place + 1)
    return found


def shown(text: str | None) -> str | None:
    """What ``->>`` makes of a part: a string without its quotes, NULL of null."""
    if text is None or text == "null":
        return None
    if not text.startswith('"'):
        return text
    if "\\u0000" in text:
        raise Unsupported("a JSON text with \\u0000")
    found = json.loads(text)
    if any("\ud800" <= letter <= "\udfff" for letter in found):
        raise Unsupported("a JSON text with half a surrogate pair")
    return str(found)


def _after_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    assert found is not None
    return found.end()


def _ended(text: str, place: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, place)
    except RecursionError:
        raise Unsupported("a deeply nested JSON text") from None
