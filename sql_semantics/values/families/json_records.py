"""A text that holds a JSON array of objects, as rows of texts (PostgreSQL 9.16, jsonb_to_recordset).

Numbers with an exponent, and objects and arrays inside an object, are not modelled: jsonb writes them in its own way.
Does not know the types of columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sql_semantics.errors import SqlError, Unsupported


def read_records(text: str, keys: Sequence[str], may: bool) -> list[tuple[str | None, ...]]:
    """The values under some keys, NULL where an object has none. Raises SqlError 22P02 for what is no JSON, 22023 for
    another one."""
    try:
        found = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)
    except RecursionError as error:
        raise Unsupported("a deeply nested JSON text") from error
    except ValueError as error:
        raise SqlError("22P02", "invalid input syntax for type json", may=may) from error
    if "\\u0000" in text:
        raise Unsupported("a JSON text with \\u0000")
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise SqlError("22023", "argument must be an array of objects", may=may)
    return [tuple(_text(item.get(key)) for key in keys) for item in found]


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _refuse(word: str) -> None:
    raise ValueError(word)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Number):
        if "e" in value.lower() or value == "-0":
            raise Unsupported("a JSON number with an exponent")
        return str(value)
    if isinstance(value, str):
        return value
    raise Unsupported("a JSON object or array in a column")
