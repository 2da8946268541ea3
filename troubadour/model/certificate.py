"""A database's own account of a run: the order of versions, and what each transaction read (Emme §1, §5).

Does not know whether it is true, nor the log beside it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from troubadour.model.ids import Places
from troubadour.model.log import TransactionId

_LOW = 62
LARGEST_TIMESTAMP = (1 << _LOW + 63) - 1
"""CockroachDB's are nanoseconds with ten digits for a logical clock: more than 64 bits."""


class Scheme(Enum):
    """How read states are told: by the set of commits seen, or by one place in an expected serialization order."""

    SNAPSHOT = "snapshot"
    SERIALIZATION_ORDER = "serialization-order"


class RowChange(msgspec.Struct, frozen=True, gc=False):
    """A row changed, as the write-ahead log has it: values by column, of `old` the identity at least, of `new` without
    large values that were not touched; None: not told, or there is none."""

    table: str
    kind: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


class Commit(msgspec.Struct, frozen=True):
    """A committed transaction by the database's id for it; `place` is that of its commit record; `changes` None:
    which rows it changed is not told."""

    xid: int
    place: int
    changes: Sequence[RowChange] | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """PostgreSQL's: every id below `highest` is seen if it committed, but for those `running`, of which `lowest` is
    the least possible."""

    lowest: int
    highest: int
    running: frozenset[int]

    def sees(self, xid: int) -> bool:
        """Whether a committed transaction of this id is seen."""
        return xid < self.highest and xid not in self.running

    @property
    def text(self) -> str:
        """As PostgreSQL writes it."""
        return f"{self.lowest}:{self.highest}:{','.join(map(str, sorted(self.running)))}"

    def contains_finished(self, own: int) -> bool:
        """Whether the transaction of this id had ended when the snapshot was taken. One that had its id by then is not
        among the running ones of its own snapshot; `lowest` is a transaction that was running, and the one before
        `highest` had ended (PostgreSQL, procarray.c, GetSnapshotData)."""
        if not self.sees(own):
            return False
        return own < self.lowest or own == self.highest - 1 or self.lowest not in {own, *self.running}

    def without(self, own: int) -> Snapshot:
        """The snapshot of the transaction of this id, which does not see its own commit."""
        return Snapshot(self.lowest, self.highest, self.running | {own}) if self.sees(own) else self


class ReadState(msgspec.Struct, frozen=True):
    """What a transaction read, in the terms of the scheme; `xid` is its own id, where it has one."""

    xid: int | None = None
    snapshot: Snapshot | None = None
    timestamp: int | None = None


class Timestamps(Mapping[TransactionId, ReadState]):
    """Read states that are timestamps, from 0 to `LARGEST_TIMESTAMP`, in few bytes each."""

    __slots__ = ("_high", "_low", "_places", "_xids")

    def __init__(self) -> None:
        self._places = Places()
        self._high, self._low = array("q"), array("q")
        self._xids: dict[int, int] = {}

    def add(self, id: TransactionId, timestamp: int, xid: int | None) -> bool:
        """Take one; False where this transaction has one."""
        place = len(self._places)
        if not self._places.add(id):
            return False
        self._high.append(timestamp >> _LOW)
        self._low.append(timestamp & (1 << _LOW) - 1)
        if xid is not None:
            self._xids[place] = xid
        return True

    def __getitem__(self, id: TransactionId) -> ReadState:
        place = self._places[id]
        return ReadState(self._xids.get(place), timestamp=self._high[place] << _LOW | self._low[place])

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[TransactionId]:
        return iter(self._places)


class Certificate(msgspec.Struct, frozen=True):
    """The account of one run. `reads` by the log's transaction ids."""

    log_id: str | None
    scheme: Scheme
    dbms: str | None
    commits: tuple[Commit, ...]
    reads: Mapping[TransactionId, ReadState]


class Standing(Enum):
    """What became of a certificate."""

    ACCEPTED = "accepted"
    REFUTED = "refuted"
    INCOMPLETE = "incomplete"


class Examined(msgspec.Struct, frozen=True):
    """What an audit says of a certificate: its standing, the transaction where it fails, and why; `notes` are what it
    tells beside the log. `outside`: it has commits that are none of the log's transactions. `lead`: the transactions of
    a wrong answer or a circle, which may contradict each other whatever the certificate says."""

    status: Standing
    transaction: TransactionId | None = None
    because: str | None = None
    notes: tuple[str, ...] = ()
    outside: bool = False
    lead: tuple[TransactionId, ...] = ()
