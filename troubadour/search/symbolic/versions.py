"""Symbolic versions compared and put together (paper §5.4 *ITE*).

Does not know which transaction wrote them, nor why they are compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.terms import FALSE, Cases, Guard, conj, disj, is_concrete, neg
from sql_semantics.terms.numbers import leaf_key
from troubadour.execution.states.history import (
    Guarded,
    RowHistory,
    SymbolicRow,
    Version,
    WriteMap,
    alternatives_of,
    simplest,
)
from troubadour.isolation.encoding import equal


def fewest(alternatives: list[tuple[Guard, SymbolicRow | None]]) -> Version:
    """Alternatives that write the same row are one."""
    merged: dict[object, tuple[list[Guard], SymbolicRow | None]] = {}
    for guard, values in alternatives:
        if guard is FALSE:
            continue
        key = None if values is None else tuple(leaf_key(v) if not isinstance(v, Cases) else id(v) for v in values)
        merged.setdefault(key, ([], values))[0].append(guard)
    return simplest([(disj(*guards), values) for guards, values in merged.values()])


def or_else(version: Version, before: list[tuple[Guard, SymbolicRow | None]]) -> list[tuple[Guard, SymbolicRow | None]]:
    """The row after a version that may not have been written everywhere."""
    found = list(alternatives_of(version))
    if isinstance(version, Guarded):
        unwritten = neg(version.written)
        found += [(conj(unwritten, guard), values) for guard, values in before]
    return found


def same_writes(left: WriteMap, right: WriteMap) -> Iterator[Guard]:
    """Where two runs of one transaction write the same."""

    def named(writes: WriteMap) -> dict[object, tuple[RowHistory, Version]]:
        return {(row if row.positions else (row.table, row.ordinal)): (row, version) for row, version in writes.items()}

    first, second = named(left), named(right)
    for name in first.keys() | second.keys():
        if name not in first or name not in second:
            version = (first.get(name) or second[name])[1]
            yield neg(version.written) if isinstance(version, Guarded) else FALSE
            continue
        version1, version2 = first[name][1], second[name][1]
        yield equal(with_unwritten(version1), with_unwritten(version2))


UNWRITTEN: SymbolicRow = ("\0unwritten",)
"""Stands for "this transaction did not write the row"; no table has such a row."""


def with_unwritten(version: Version) -> list[tuple[Guard, SymbolicRow | None]]:
    """The alternatives of a version, with UNWRITTEN where none of them holds."""
    found = list(alternatives_of(version))
    if isinstance(version, Guarded):
        unwritten = neg(version.written)
        if unwritten is not FALSE:
            found.append((unwritten, UNWRITTEN))
    return found


def is_certain(shapes: list[SymbolicRow], column: int) -> bool:
    """Whether a column has one and the same plain value in all these rows."""
    first = shapes[0][column]
    return is_concrete(first) and all(is_concrete(row[column]) and row[column] == first for row in shapes)
