"""What is wrong with a line, in words: the decoder's messages are about Python's types.

Does not know where the line stands.
"""

from __future__ import annotations

import re
import types
import typing
from difflib import get_close_matches
from typing import Any, Literal

import msgspec

_TYPES = {
    "int": "an integer",
    "float": "a number",
    "decimal": "a number with a fraction",
    "str": "a text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_GOT = {"bool": "a boolean"}
_CLOCKS = frozenset({"invoked", "returned", "since", "until"})
"""Fields that are read from a client's clock."""
_STAMPS = frozenset({"start", "commit"})
"""Fields that are the database's own timestamps."""
_MISSING = "Object missing required field "
_UNKNOWN = "Object contains unknown field "


def worded(message: str, kind: type[msgspec.Struct], path: str) -> str:
    """A message of msgspec's about a value that was to be of `kind`, with the part at `path` (``.status``,
    ``.end.invoked``; empty: the whole) at fault: the path is named, types are said in words, and choices are listed."""
    name = path.lstrip(".")
    if message.startswith(_MISSING):
        told = message.replace(_MISSING, "missing required field ").replace("`", "'")
    elif message.startswith(_UNKNOWN):
        told = _unknown_field(message.removeprefix(_UNKNOWN).strip("`"), kind, path)
    elif (found := re.fullmatch(r"Invalid enum value (.*)", message, re.DOTALL)) is not None:
        value = found[1] if found[1].startswith("'") else repr(found[1])
        told = f"{value} is none of {', '.join(_choices(kind, path))}"
    else:
        told = _typed(message, name.rpartition(".")[2])
    return f"{name}: {told}" if name else told


def _unknown_field(name: str, kind: Any, path: str) -> str:
    """A field that there is none of, with the one that was probably meant."""
    near = get_close_matches(name.lower(), _fields(kind, path), 1)
    return f"unknown field '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _fields(kind: Any, path: str) -> list[str]:
    """The fields of the object at a path of a type."""
    return [
        field.encode_name
        for part in _parts(_at(kind, path))
        if isinstance(part, type) and issubclass(part, msgspec.Struct)
        for field in msgspec.structs.fields(part)
    ]


def _typed(message: str, field: str) -> str:
    matched = re.fullmatch(r"Expected `([^`]*)`(?:, got `([^`]*)`)?(.*)", message, re.DOTALL)
    if matched is None:
        told = message.replace("`", "'")
        return told[:1].lower() + told[1:]
    wanted, got, rest = matched.groups()
    expected = " or ".join(_TYPES.get(one, one) for one in wanted.split(" | ") if one != "null" or wanted == "null")
    if got and field in _CLOCKS:
        expected = "integer microseconds of the client's clock"
    elif got and field in _STAMPS:
        expected = "an integer, in any unit of the database's clock"
    return f"expected {expected}{rest}" + (f", not {_GOT.get(got, _TYPES.get(got, got))}" if got else "")


def _choices(kind: Any, path: str) -> tuple[str, ...]:
    """The texts that may stand at a path of a type."""
    return tuple(
        str(choice)
        for part in _parts(_at(kind, path))
        if typing.get_origin(part) is Literal
        for choice in part.__args__
    )


def _at(kind: Any, path: str) -> Any:
    """The type at a path of a type."""
    for step in re.findall(r"\.(\w+)|\[([^\]]*)\]", path):
        kind = _inside(kind, step[0])
    return kind


def _inside(kind: Any, field: str) -> Any:
    """The type of a field of a type, or of what a collection holds where no field is named."""
    for part in _parts(kind):
        if field and isinstance(part, type) and issubclass(part, msgspec.Struct):
            return typing.get_type_hints(part)[field]
        if not field and typing.get_origin(part) in (dict, tuple):
            return next(one for one in reversed(part.__args__) if one is not ...)
    raise LookupError(field)


def _parts(kind: Any) -> tuple[Any, ...]:
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return tuple(kind.__args__) if union else (kind,)
