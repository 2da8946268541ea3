"""Whether transactions stand in hint order as far as they were read, whatever comes after them.

Goes by one kind of time for all of them. Does not know a window, nor what hangs on the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import le, lt
from typing import Literal

import msgspec

from troubadour.model.log import Transaction


class Ascent(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of transactions one after another. `by`: the times that all have, None before there is one: commits
    by the DBMS's clock, answers to the client with this `clock`, or none at all; `first` and `last`: the times at the
    ends; `certain`: they ascend, so that hint order has the transactions so, as long as those that follow ascend, too;
    `skipped`: there are aborted ones between them, about which nothing is said."""

    by: Literal["commit", "returned", "file"] | None = None
    clock: str | None = None
    first: int = 0
    last: int = 0
    certain: bool = True
    skipped: bool = False

    def note(self, transactions: Sequence[Transaction]) -> None:
        """Some more come next."""
        if not transactions:
            return
        if all(map(_is_timeless, transactions)):
            self.append(Ascent("file"))
            return
        placed = [one for one in transactions if one.status != "aborted" or one.commit is not None]
        later = _ascent(placed) if placed else Ascent()
        later.skipped = len(placed) < len(transactions)
        self.append(later)

    def append(self, later: Ascent) -> None:
        """Others come next."""
        self.skipped = self.skipped or later.skipped
        self.certain = self.certain and later.certain
        if self.by is None:
            self.by, self.clock, self.first, self.last = later.by, later.clock, later.first, later.last
        elif later.by is not None:
            alike = (self.by, self.clock) == (later.by, later.clock)
            # of equal commits another time may tell, for which it takes all of them; of equal answers the file does
            ascend = (lt if self.by == "commit" else le)(self.last, later.first)
            self.certain = self.certain and alike and ascend
            self.last = later.last
        if self.by == "file" and self.skipped:
            self.certain = False  # these have times


def _is_timeless(one: Transaction) -> bool:
    """Whether it has no time that hint order goes by."""
    if one.commit is not None or one.returned is not None:
        return False
    return one.status != "aborted" or (one.invoked is None and all(each.returned is None for each in one.statements))


def _ascent(placed: Sequence[Transaction]) -> Ascent:
    commits = [one.commit for one in placed if one.commit is not None]
    if len(commits) == len(placed):
        # what tells of equal commits are other times of these, unless another part has one of them, or their numbers
        follows = lt if any(one.sno is not None for one in placed) else le
        ascend = all(map(follows, commits, islice(commits, 1, None)))
        return Ascent("commit", None, commits[0], commits[-1], ascend)
    returned = [one.returned for one in placed if one.returned is not None]
    if commits or len(returned) < len(placed):
        return Ascent(certain=False)
    clock = placed[0].clock
    ascend = all(map(le, returned, islice(returned, 1, None))) and all(one.clock == clock for one in placed)
    return Ascent("returned", clock, returned[0], returned[-1], ascend)
