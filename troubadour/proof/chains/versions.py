"""What may have been left at a place, and what is before what, listed plainly for checks of a proof: no index, no bits.

From what single transactions say by themselves and from times alone. Does not know any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from troubadour.facts.sql.effects import Accounts, Known, Place, may_agree
from troubadour.isolation.times import sent_after
from troubadour.problem.problem import Problem


class Versions:
    """The versions of the places of a problem."""

    def __init__(self, problem: Problem, accounts: Accounts) -> None:
        self._problem = problem
        self._accounts = accounts
        self._writers: dict[Place, list[int]] = {}

    def writers(self, place: Place) -> list[int]:
        """Every transaction that may have written there."""
        found = self._writers.get(place)
        if found is None:
            found = self._writers[place] = [*self._may_write(place)]
        return found

    def _may_write(self, place: Place) -> Iterator[int]:
        for item, status in enumerate(self._problem.statuses):
            if status == "aborted":
                continue
            account = self._accounts.of(item)
            if place[0] in account.wild or place in account.wrote:
                yield item

    def initial(self, place: Place) -> Known:
        """What was there at first; None where nothing was."""
        columns = self._accounts.places[place[0]]
        for row in self._problem.initial.get(place[0], ()):
            if row is not None and tuple([row[column] for column in columns]) == place[1]:
                return row
        return None

    def sources(
        self, reader: int, place: Place, known: Known, *, is_read: bool = True, statement: int = -1
    ) -> Iterator[int | None]:
        """Whose version a transaction may have seen there that saw this (None: the initial one). `is_read`: it was
        read by a statement, and so not sent after its answer; else it is compared in the order, and not in time."""
        if may_agree(self.initial(place), known):
            yield None
        times = self._problem.times[reader]
        number = statement % len(times.got) if times.got else 0
        for item in self.writers(place):
            if item == reader:
                continue
            if is_read and times.got and sent_after(self._problem.times[item], times, number):
                continue
            account = self._accounts.of(item)
            if place[0] in account.wild or may_agree(account.wrote[place].after, known):
                yield item

    def is_certain(self, item: int, place: Place) -> bool:
        """Whether a transaction certainly writes there, where it is known what."""
        account = self._accounts.of(item)
        written = account.wrote.get(place)
        return place[0] not in account.wild and written is not None and written.certain


Moment = TypeVar("Moment", bound=Hashable)


def reaches(following: Mapping[Moment, set[Moment]], one: Moment, other: Moment) -> bool:
    """Whether one moment is before another, by those that come next after each."""
    pending, known = [one], {one}
    while pending:
        for after in following.get(pending.pop(), ()):
            if after == other:
                return True
            if after not in known:
                known.add(after)
                pending.append(after)
    return False
