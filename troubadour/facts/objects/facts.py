"""What the answers of a log of operations on objects tell of the versions of each cell, whatever the order is.

Version numbers: the initial version of cell c is c; what visit v leaves is `cells + v`. Everything here holds in every
explanation of the log. Does not know which level is asked for, nor how a type of object is read.
"""

from __future__ import annotations

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.facts.objects.accesses import Accesses, Flags, Ints

NOTHING = np.zeros(0, np.int64)

BLIND = 2
"""In `Successions.differs`: others may come between the two."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that no order explains. `anomaly` is its name in `isolation.anomalies`, `txn` the transaction that
    read, `at` its operation (an index of the accesses), `writer` a transaction that it has to do with (-1: none) and
    `with_reader` another reader (-1: none). `one_view`: it is none where each operation reads a state of its own;
    `dirty`: it is one even where versions that were never committed may be read. `text` says it in a sentence. `since`:
    the least prefix, by its committed transactions, that has all which it hangs on besides, and `others` the
    transactions of which it hangs besides; `whole`: it is of all that the transaction did to the object."""

    anomaly: str
    txn: int
    at: int
    text: str
    writer: int = -1
    with_reader: int = -1
    one_view: bool = False
    dirty: bool = False
    since: int = 0
    others: tuple[int, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads by transaction, operation (an index of the accesses) and the one version that each can be."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    version: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Successions:
    """Version `later` comes after version `earlier` of the same cell. `by` is the transaction whose read shows it (that
    which made `later`, where it read `earlier` first). `at`: that read, an index of the accesses. `differs`: 1 where
    the two versions do not hold the same, 0 where they do, 2 where others may come between."""

    earlier: Ints = field(default_factory=lambda: NOTHING)
    later: Ints = field(default_factory=lambda: NOTHING)
    by: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    differs: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Misses:
    """Reader `txn`, by its operation `at`, does not see (or does see) what visit `visit` left, which stays for good."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    visit: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Tails:
    """Reader `txn`, by its operation `at`, sees nothing that stands at `place` or behind it. At place p stands what
    the visits `visits[first[p]:first[p + 1]]` left, for good; `ends[p]`: nothing is behind it."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    place: Ints = field(default_factory=lambda: NOTHING)
    first: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    visits: Ints = field(default_factory=lambda: NOTHING)
    ends: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))


@dataclass(frozen=True, slots=True)
class Counts:
    """Reads of counters to which all add in one direction, where every change acts on the newest version.

    By visit that read: `txn`, its operation `at`, and `group`: what was there by then, numbered by cell, and from less
    to more of what was added. By group: `cell_of`. By visit that read and changes: `visit`, its operation `by` that
    read, the group `based` of that, and `beyond`, the first group of as much as it left, or more."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    group: Ints = field(default_factory=lambda: NOTHING)
    cell_of: Ints = field(default_factory=lambda: NOTHING)
    visit: Ints = field(default_factory=lambda: NOTHING)
    based: Ints = field(default_factory=lambda: NOTHING)
    beyond: Ints = field(default_factory=lambda: NOTHING)
    by: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Sums:
    """Reads of counters, and of registers that are read before they are written, where every change acts on the newest
    version: reader `txn`, its operation `at`, `off`: by how much what it saw is above what was there at first, and
    that, `first`. `visit` of those that add something, and `net`, what."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    off: Ints = field(default_factory=lambda: NOTHING)
    first: Ints = field(default_factory=lambda: NOTHING)
    visit: Ints = field(default_factory=lambda: NOTHING)
    net: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Choices:
    """Reads of several possible versions: those of read i are `versions[first[i]:first[i + 1]]`."""

    txn: Ints = field(default_factory=lambda: NOTHING)
    at: Ints = field(default_factory=lambda: NOTHING)
    first: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    versions: Ints = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `sees`, `misses` and `tails` are of what stays for good."""

    accesses: Accesses
    reads: Reads
    successions: Successions
    sees: Misses
    misses: Misses
    tails: Tails
    counts: Counts
    sums: Sums
    choices: Choices
    faults: tuple[Fault, ...]

    @property
    def cells(self) -> int:
        """How many cells there are, and so the number of the first version that a transaction made."""
        return len(self.accesses.key)

    def writer(self, version: Ints) -> Ints:
        """The transactions that made versions, -1 for initial ones."""
        made = version >= self.cells
        found = np.full(len(version), -1, np.int64)
        found[made] = self.accesses.visit_txn[version[made] - self.cells]
        return found
