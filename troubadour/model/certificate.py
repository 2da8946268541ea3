"""A database's own account of a run: the order of versions, and what each transaction read (Emme §1, §5).

Does not know whether it is true, nor the log beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from troubadour.model.log import TransactionId


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
    changes: tuple[RowChange, ...] | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """PostgreSQL's: every id below `highest` is seen if it committed, but for those `running`, of which `lowest` is
    the least possible."""

    lowest: int
    highest: int
    running: frozenset[int]

    def sees(self, xid: int) -> bool:
        """Whether a committed transaction of this id is seen."""
        return xid < self.highest and xid not in self.running


class ReadState(msgspec.Struct, frozen=True):
    """What a transaction read, in the terms of the scheme; `xid` is its own id, where it has one."""

    xid: int | None = None
    snapshot: Snapshot | None = None
    timestamp: int | None = None


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
    tells beside the log. `outside`: it has commits that are none of the log's transactions."""

    status: Standing
    transaction: TransactionId | None = None
    because: str | None = None
    notes: tuple[str, ...] = ()
    outside: bool = False
