"""The faults of the simulated DBMS, and the dice that say when one happens. Does not know what a fault does: the store
and the server ask here whether they are to go wrong now."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

FAULTS: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        "stale-snapshot": (0.2, "a transaction is given a snapshot some commits old"),
        "non-atomic-visibility": (0.5, "some rows of a commit become visible later than its others"),
        "lost-update": (1.0, "a commit writes over what its snapshot does not have"),
        "dirty-read": (0.2, "a snapshot has another transaction's writes before it commits"),
        "aborted-read": (1.0, "what an aborted transaction wrote stays"),
        "write-dropped": (0.1, "a row that was written is not there after the commit"),
        "write-twice": (0.1, "an UPDATE is applied twice"),
        "missed-row": (0.1, "a statement does not meet a row that its predicate matches"),
        "wrong-aggregate": (0.3, "an aggregate counts a row twice"),
        "uniqueness": (1.0, "a second row with the same key is let in"),
        "order-inversion": (0.2, "a commit that was answered becomes visible only after the next one"),
        "missed-conflict": (1.0, "a serializable commit is let through although what it read has changed"),
        "missed-insert": (1.0, "as missed-conflict, where all that has changed are rows that came new"),
        "missed-delete": (1.0, "as missed-conflict, where all that has changed are rows that are gone"),
        "updated-insert": (1.0, "as missed-conflict, where all that has changed are rows inserted and then updated"),
        "clock-skew": (0.2, "the server's timestamps of some transactions are off"),
    }
)
"""`updated-insert` is PostgreSQL 12.3's bug (its commit 5940ffb2): of a row that one transaction inserted and another
one updated, both since the reader's snapshot, the conflict with the first went unnoticed. What the three bugs were that
were planted in CockroachDB (Emme §7.1) is not published; `missed-insert` and `missed-delete`, a refresh of reads that
looks at the rows that it found only, or at none that are gone, and `write-dropped`, a lost intent, stand for them.
For each the share of the moments at which it could happen that it does, by default, and what goes wrong."""


class Faults:
    """One kind of fault, or none; of the moments at which it could happen, the share `rate` is drawn (None: the
    kind's own). `happened` counts."""

    def __init__(
        self, kind: str | None, rate: float | None, seed: object, known: Mapping[str, tuple[float, str]] = FAULTS
    ) -> None:
        """Raises ValueError for a kind that is not known."""
        if kind is not None and kind not in known:
            raise ValueError(f"fault {kind!r} is none of {', '.join(known)}")
        self.kind = kind
        self.rate = known[kind][0] if kind is not None and rate is None else rate or 0.0
        self.happened = 0
        self.random = Random(f"{seed}/faults")

    def now(self, kind: str) -> bool:
        """Whether this kind of fault happens now; ask only where it would change something."""
        if kind != self.kind or self.random.random() >= self.rate:
            return False
        self.happened += 1
        return True
