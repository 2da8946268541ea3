"""An order of events in which no change overtakes a read that it would spoil (Biswas and Enea 2019; Cobra 2020).

A transaction needs some cells as certain tokens at its first event, and changes some at its last. Of the events that
may be next that with the least priority is taken, unless a change would take away a token that others still need. It
does not go back: where nothing may be next, no order is found. Does not know what a token is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from sql_semantics.records import dataclass
from troubadour.order.objects.arrays import Ints, Links, Rows

Token = int
Read = tuple[int, Token | frozenset[Token]]
"""A cell, and the token that it must be, or one of several."""

Change = tuple[int, Token, bool]
"""A cell and what it becomes; where the last is True, how much its token grows."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Of transactions by number: `reads` of each cell once, `changes`; `initial` are the tokens of cells at first."""

    reads: Mapping[int, Sequence[Read]]
    changes: Mapping[int, Sequence[Change]]
    initial: Mapping[int, Token]


class Greedy:
    """One attempt. `owner`: the transaction of an event, -1 for none; the first event of
    transaction t is event t. `half`: where transactions have two events, how
    many there are: the first ones are numbered first, then the last ones in the same order; else 0. `keeps`: what a
    transaction changes stays as it is between its events."""

    def __init__(
        self, links: Links, priority: Ints, owner: Sequence[int], needs: Needs, half: int, keeps: bool
    ) -> None:
        self._links, self._priority, self._owner = links, priority.tolist(), owner
        self._reads, self._changes = needs.reads, needs.changes
        self._half, self._keeps = half, keeps
        self._now: dict[int, Token] = dict(needs.initial)
        self._needed: dict[tuple[int, Token], int] = {}
        self._waiting: dict[int, list[int]] = {}
        """Events that cannot be next before a cell changes or is needed less."""
        self._readers: dict[tuple[int, Token], list[int]] = {}
        """The events that end the need of a token."""
        for txn, wanted in needs.reads.items():
            for cell, token in wanted:
                if not isinstance(token, frozenset):
                    self._need(cell, token, 1)
                    self._readers.setdefault((cell, token), []).append(txn)
        rows, back = Rows(links), Rows(Links(links.events, links.target, links.source, links.weight))
        self._first, self._targets = rows.first, rows.targets
        self._before, self._sources = back.first, back.targets
        self._left = [end - begin for begin, end in zip(back.first, back.first[1:], strict=False)]
        self._done = bytearray(links.events)
        self._ready: list[tuple[int, int]] = []
        self._held: dict[int, bool] = {}
        """Cells that a transaction between its events will change."""
        self._hurried: set[int] = set()

    def run(self) -> list[int] | None:
        """The events in order; None where none is found."""
        links = self._links
        ready = [(self._priority[event], event) for event in range(links.events) if not self._left[event]]
        heapify(ready)
        self._ready = ready
        found: list[int] = []
        late: list[tuple[int, int]] = []
        while ready or late:
            if not ready:
                # nothing else may be next: the transaction that is the first of those waiting begins, and ends later
                priority, event = heappop(late)
                self._hurried.add(event)
            else:
                priority, event = heappop(ready)
            if self._done[event]:
                continue
            cell = self._blocked(event)
            if cell == -2:
                heappush(late, (priority, event))
                continue
            if cell >= 0:
                self._waiting.setdefault(cell, []).append(event)
                self._hurry(event, cell, priority)
                continue
            self._done[event] = 1
            for woken in self._take(event):
                heappush(ready, (self._priority[woken], woken))
            found.append(event)
            for place in range(self._first[event], self._first[event + 1]):
                other = self._targets[place]
                self._left[other] -= 1
                if not self._left[other]:
                    heappush(ready, (self._priority[other], other))
                elif self._half and self._left[other] == 1 and self._half <= other < 2 * self._half:
                    first = other - self._half
                    if not self._left[first] and not self._done[first]:
                        heappush(ready, (self._priority[first], first))
        return found if len(found) == links.events else None

    def _hurry(self, event: int, cell: int, priority: int) -> None:
        """Those that still need what an event would change are next, and all that has to come before them."""
        pending = [one for one in self._readers.get((cell, self._now[cell]), ()) if not self._done[one]]
        while pending:
            one = pending.pop()
            if self._done[one] or one == event or self._priority[one] <= priority:
                continue
            self._priority[one] = priority
            self._hurried.add(one)
            if not self._left[one]:
                heappush(self._ready, (priority, one))
                continue
            pending += (
                other for other in self._sources[self._before[one] : self._before[one + 1]] if not self._done[other]
            )

    def _need(self, cell: int, token: Token, more: int) -> None:
        key = (cell, token)
        self._needed[key] = self._needed.get(key, 0) + more

    def _parts(self, event: int) -> tuple[Sequence[Read], Sequence[Change]]:
        """What an event reads, and what it changes."""
        txn = self._owner[event]
        reads = self._reads.get(txn, ()) if event < self._half or not self._half else ()
        changes = self._changes.get(txn, ()) if not self._half or event >= self._half else ()
        return (reads, changes) if txn >= 0 else ((), ())

    def _blocked(self, event: int) -> int:
        """The cell for which an event has to wait, -1 for none, -2 where its transaction cannot end yet."""
        reads, changes = self._parts(event)
        now = self._now
        for cell, token in reads:
            if now[cell] not in token if isinstance(token, frozenset) else now[cell] != token:
                return cell
        if not self._half:
            return self._unchangeable(changes, reads)
        if event >= self._half:
            return self._unchangeable(changes, (), int(self._keeps))
        # a first event whose last one cannot follow at once waits, unless it is hurried
        changes = self._changes.get(self._owner[event], ()) if self._owner[event] >= 0 else ()
        if self._keeps:
            held = next((cell for cell, _, _ in changes if self._held.get(cell)), -1)
            if held >= 0:
                return held
        if event in self._hurried or not changes:
            return -1
        if self._left[event + self._half] > 1:
            return -2
        return self._unchangeable(changes, reads)

    def _unchangeable(self, changes: Sequence[Change], reads: Sequence[Read], own: int = 0) -> int:
        """The first of the cells to be changed that others still need as it is, -1 for none."""
        for cell, _, _ in changes:
            mine = own + sum(one == cell and not isinstance(token, frozenset) for one, token in reads)
            if self._needed.get((cell, self._now[cell]), 0) > mine:
                return cell
        return -1

    def _take(self, event: int) -> list[int]:
        """Let an event happen; those that need not wait for it any more."""
        reads, changes = self._parts(event)
        touched = set()
        for cell, token in reads:
            if not isinstance(token, frozenset):
                self._need(cell, token, -1)
                touched.add(cell)
        if self._half and self._keeps:
            if event < self._half:
                for cell, _, _ in self._changes.get(self._owner[event], ()):
                    self._need(cell, self._now[cell], 1)
                    self._readers.setdefault((cell, self._now[cell]), []).append(event + self._half)
                    self._held[cell] = True
            for cell, _, _ in changes:
                self._need(cell, self._now[cell], -1)
                self._held[cell] = False
        for cell, token, grows in changes:
            self._now[cell] = self._now[cell] + token if grows else token
            touched.add(cell)
        return [event for cell in touched for event in self._waiting.pop(cell, ())]
