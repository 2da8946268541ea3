"""What committed in runs of a protocol: the shapes of its programs, and whether one followed another in time.

A proof is of whatever commits, so that one of what never does says nothing. Does not know proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from troubadour.protocols.levels import ProtocolLevel
from troubadour.protocols.runs.machine import Programs
from troubadour.protocols.runs.trace import Seen


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A program but for the names of its keys: how many it reads and writes, reads only, writes only."""

    both: int
    read: int
    written: int

    def __str__(self) -> str:
        keys = range(1, self.both + self.read + self.written + 1)
        reads, writes = keys[: self.both + self.read], (*keys[: self.both], *keys[self.both + self.read :])
        return " ".join([*(f"r{key}" for key in reads), *(f"w{key}" for key in writes)])


def shapes(keys: int) -> list[Shape]:
    """Every shape of so many keys at most, the smaller ones first."""
    found = [
        Shape(both, read, written)
        for both in range(keys + 1)
        for read in range(keys + 1 - both)
        for written in range(keys + 1 - both - read)
        if both + read + written
    ]
    return sorted(found, key=lambda one: (2 * one.both + one.read + one.written, one))


def shape_of(programs: Programs, t: int) -> Shape:
    """The shape of a transaction's program."""
    pairs = list(zip(programs.reads[t], programs.writes[t], strict=True))
    return Shape(pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)))


@dataclass
class CommittedPrograms:
    """`shapes`: of the programs that committed somewhere; `followed`: in some run a transaction that committed had
    returned when another one began that committed, too; `in_session`: one of the same client."""

    shapes: set[Shape] = field(default_factory=set)
    followed: bool = False
    in_session: bool = False

    def note(self, programs: Programs, seen: Seen) -> None:
        """Take what a run came to."""
        committed = {t for t, _, _ in seen.commits}
        self.shapes.update(shape_of(programs, t) for t in committed)
        for t, after in seen.after:
            before = after & committed if t in committed else frozenset()
            self.followed = self.followed or bool(before)
            self.in_session = self.in_session or any(programs.client[one] == programs.client[t] for one in before)

    def lacks(self, level: ProtocolLevel) -> str | None:
        """What no run has that the level is about; None where there is nothing."""
        if level.real_time and not self.followed:
            return "no committed transaction returns before another one begins that commits"
        if level.sessions and not self.in_session:
            return "no committed transaction returns before another one of its client begins that commits"
        return None
