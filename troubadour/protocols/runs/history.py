"""What the clients of a run saw: committed transactions with what they read and wrote, who ran them, and when.

Every value is written once, so a read tells which version it is of. Does not know the protocol nor any level.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class HistoryTransaction:
    """A committed transaction: by key the value that it read and the value that it wrote. `after`: those that had
    returned when it was issued; `client`: None, one of its own."""

    name: int
    reads: Mapping[int, int]
    writes: Mapping[int, int]
    after: frozenset[int] = frozenset()
    client: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The committed transactions in the order of their commits, and the initial values by key."""

    transactions: tuple[HistoryTransaction, ...]
    initial: Mapping[int, int]
