"""The fields of IR nodes, looked up once per class, since walks over whole statements are frequent. Knows no node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sql_semantics.values.types import SqlType

_NAMES: dict[type, tuple[str, ...]] = {SqlType: ()}


def part_names(node: object) -> tuple[str, ...]:
    """The names of the fields in which a node may hold others; () for what holds none."""
    kind = type(node)
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(field.name for field in fields(node)) if is_dataclass(node) else ()
    return names


def walk_parts(node: object) -> Iterator[object]:
    """A node of the intermediate representation and all below it."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending += current
            continue
        names = _NAMES.get(type(current))
        if names is None:
            names = part_names(current)
        if names:
            yield current
            pending += [getattr(current, name) for name in names]
