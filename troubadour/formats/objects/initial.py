"""What the objects of a log hold at first: the header's `initial` and `rows` lines. Does not know the transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from troubadour.formats.entries import BadEntry, RawHeader, RawInitial, RawRows, shorten
from troubadour.model.objects import NOTHING, Codes, ObjectDefinition, ObjectType, Sequences

_SHAPES: dict[ObjectType, str] = {
    "register": "an integer, a text or null",
    "list": "a list of integers and texts",
    "set": "a list of integers and texts",
    "counter": "an integer",
}


class ObjectInitial:
    """The initial values of one segment, header and `rows` lines together."""

    def __init__(self, header: RawHeader) -> None:
        """Raises BadEntry."""
        assert header.objects is not None
        self._types: dict[str, ObjectType] = dict(header.objects)
        self.defaults: dict[str, Any] = {}
        self.rows: dict[str, dict[int | str, Any]] = {}
        self.unknown: list[str] = []
        for name, given in header.initial.items():
            kind = self._type(name)
            if not isinstance(given, RawInitial):
                self.unknown.append(name)
                continue
            if given.default is not msgspec.UNSET:
                _check(f"initial: the default of {shorten(name)}", kind, given.default)
                self.defaults[name] = given.default
            self._add(name, given.columns, given.rows or ())

    def add_line(self, line: RawRows) -> None:
        """A `rows` line. Raises BadEntry."""
        if line.table in self.unknown:
            raise BadEntry(f"initial values of {shorten(line.table)}, which the header calls unknown")
        self._add(line.table, line.columns, line.rows)

    def definitions(self, codes: Codes, sequences: Sequences) -> tuple[ObjectDefinition, ...]:
        """The objects, in the order of the header."""
        found = []
        for name, kind in self._types.items():
            if name in self.defaults:
                default = code_of(self.defaults[name], codes, sequences)
            else:
                default = NOTHING if kind == "register" else 0 if kind == "counter" else sequences.add(())
            rows = {codes.code(key): code_of(value, codes, sequences) for key, value in self.rows.get(name, {}).items()}
            found.append(ObjectDefinition(name, kind, default, rows, name in self.unknown))
        return tuple(found)

    def says_nothing(self) -> bool:
        """Whether it names no value."""
        return not self.defaults and not self.rows and not self.unknown

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectInitial):
            return NotImplemented
        mine, theirs = ((one.defaults, one.rows, set(one.unknown)) for one in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def _type(self, name: str) -> ObjectType:
        kind = self._types.get(name)
        if kind is None:
            raise BadEntry(f"initial values of {shorten(name)}, which is none of the objects")
        return kind

    def _add(self, name: str, columns: Sequence[str] | None, rows: Sequence[Sequence[Any]]) -> None:
        kind = self._type(name)
        what = f"initial values of {shorten(name)}"
        if columns is not None and len(columns) != 2:
            raise BadEntry(f"{what}: an object has two columns, key and value")
        known = self.rows.setdefault(name, {})
        for number, row in enumerate(rows, 1):
            if len(row) != 2:
                raise BadEntry(f"{what}: row {number} has {len(row)} values, not 2: key and value")
            key, value = row
            if not is_value(key):
                raise BadEntry(f"{what}: row {number}: {shorten(key)} is no key")
            if key in known:
                raise BadEntry(f"{what}: row {number}: a repeated key, {shorten(key)}")
            _check(f"{what}: row {number}", kind, value)
            known[key] = value


def is_value(value: object) -> bool:
    """Whether it can be a key or a value."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def code_of(value: Any, codes: Codes, sequences: Sequences) -> int:
    """The code of what an object holds; of a list or a set it is the number of a sequence."""
    if value is None:
        return NOTHING
    if isinstance(value, list | tuple):
        return sequences.add([codes.code(item) for item in value])
    code: int = codes.code(value)
    return code


def _check(what: str, kind: ObjectType, value: object) -> None:
    if kind == "register":
        fits = value is None or is_value(value)
    elif kind == "counter":
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, list | tuple) and all(map(is_value, value))
    if not fits:
        raise BadEntry(f"{what}: {shorten(value)} is not {_SHAPES[kind]}")
