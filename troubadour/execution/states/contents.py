"""What a table holds in a state, as a number: equal ones hold the same rows (one run per footprint).

A digest of rows without their order or identity: the sum, over the rows, of 128 bits of each row's hash. Kept for the
states of one sequence of placements as far as somebody has asked, so that a table which nobody compares costs nothing.
Does not know who compares.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from troubadour.execution.states.history import RowHistory, Version

_MODULUS = 1 << 128


def token(version: Version) -> int | None:
    """A number for what a row holds: 0 for no row, None for a symbolic one."""
    if version is None:
        return 0
    if version.__class__ is not tuple:
        return None
    return int.from_bytes(blake2b(repr(version).encode("utf-8", "surrogatepass"), digest_size=16).digest())


class Contents:
    """The digests of one table, from the state first asked for on. `changes` are the positions at which it was written,
    oldest first; who takes some back says so to `forget`."""

    __slots__ = ("_base", "_changes", "_digests", "_name")

    def __init__(self, name: str, changes: list[int]) -> None:
        self._name = name
        self._changes = changes
        self._base = 0
        self._digests: list[int | None] = []

    def forget(self, kept: int = 0) -> None:
        """All but the first `kept` changes may be others now."""
        del self._digests[max(0, kept + 1 - self._base) :]

    def at(self, state: int, rows: Iterable[RowHistory], written: Sequence[Sequence[RowHistory]]) -> int | None:
        """The digest in a state, `rows` being all of the table and `written` what each position wrote; None where a
        row is symbolic there, and for states before the first one asked for."""
        number = bisect_right(self._changes, state)
        digests = self._digests
        if not digests:
            self._base = number
            digests.append(_sum(0, ((1, row.at(state)) for row in rows)))
        while len(digests) <= number - self._base:
            position = self._changes[self._base + len(digests) - 1]
            changed = [row for row in written[position - 1] if row.table == self._name]
            digests.append(_sum(digests[-1], _steps(changed, position)))
        return digests[number - self._base] if number >= self._base else None


def _steps(changed: Iterable[RowHistory], position: int) -> Iterator[tuple[int, Version]]:
    """What goes and what comes at a position."""
    for row in changed:
        yield -1, row.at(position - 1)
        yield 1, row.at(position)


def _sum(digest: int | None, steps: Iterable[tuple[int, Version]]) -> int | None:
    if digest is None:
        return None
    for sign, version in steps:
        number = token(version)
        if number is None:
            return None
        digest += sign * number
    return digest % _MODULUS
