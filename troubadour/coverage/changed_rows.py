"""Since when the rows of a table may be others than is known, and which reads that leaves alone.

Nothing reads a commit that was sent after the read's answer arrived. Does not know statements.
"""

from __future__ import annotations

from sql_semantics.records import dataclass, field
from troubadour.coverage.reduced import Gap
from troubadour.isolation.times import Times


@dataclass(slots=True)
class ChangedRows:
    """Since when rows of a table may be other than what is known: `sent`, by clock, the first commit that may have
    changed them, None where that is not told; `started`: the DBMS's time before which none of these began, None where
    that is not told or decides nothing; `rank`: the place of the first in hint order, None where that decides nothing.
    """

    gap: Gap
    sent: dict[str | None, int | None] = field(default_factory=dict)
    started: int | None = None
    rank: int | None = None
    empty: bool = True

    def add(self, clock: str | None, sent: int | None, started: int | None, rank: int | None) -> bool:
        """Take in a writer; whether that changes anything."""
        before = (dict(self.sent), self.started, self.rank)
        known = self.sent.get(clock, sent)
        self.sent[clock] = None if sent is None or known is None else min(sent, known)
        for name, own in (("started", started), ("rank", rank)):
            mine = getattr(self, name)
            setattr(self, name, own if self.empty else None if own is None or mine is None else min(own, mine))
        self.empty = False
        return before != (self.sent, self.started, self.rank)

    def reaches(self, reader: Times, index: int) -> bool:
        """Whether a statement of a reader may have seen one of them."""
        if self.rank is not None and reader.happened and reader.rank < self.rank:
            return False
        if self.started is not None and reader.commit is not None and reader.commit < self.started:
            return False
        answered = reader.got[index]
        return answered is None or any(
            clock != reader.clock or sent is None or answered >= sent for clock, sent in self.sent.items()
        )
