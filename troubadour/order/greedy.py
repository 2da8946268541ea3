"""An order of events in which no change overtakes a read that it would spoil (Biswas and Enea 2019; Cobra 2020).

A transaction needs some cells as certain tokens at its first event, and changes some at its last. Of the events that
may be next that with the least priority is taken, unless a change would take away a token that others still need. It
does not go back: where nothing may be next, no order is found. Does not know what a token is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from troubadour.order.arrays import Ints, Links, Rows

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
    """One attempt. `owner`: the transaction of an event, -1 for none. `half`: where transactions have two events, how
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
        for wanted in needs.reads.values():
            for cell, token in wanted:
                if not isinstance(token, frozenset):
                    self._need(cell, token, 1)

    def run(self) -> list[int] | None:
        """The events in order; None where none is found."""
        links, priority = self._links, self._priority
        rows = Rows(links)
        first, targets = rows.first, rows.targets
        left = [0] * links.events
        for target in targets:
            left[target] += 1
        ready = [(priority[event], event) for event in range(links.events) if not left[event]]
        heapify(ready)
        found: list[int] = []
        while ready:
            _, event = heappop(ready)
            cell = self._blocked(event)
            if cell >= 0:
                self._waiting.setdefault(cell, []).append(event)
                continue
            for woken in self._take(event):
                heappush(ready, (priority[woken], woken))
            found.append(event)
            for place in range(first[event], first[event + 1]):
                other = targets[place]
                left[other] -= 1
                if not left[other]:
                    heappush(ready, (priority[other], other))
        return found if len(found) == links.events else None

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
        """The cell for which an event has to wait, -1 for none."""
        reads, changes = self._parts(event)
        now = self._now
        for cell, token in reads:
            if now[cell] not in token if isinstance(token, frozenset) else now[cell] != token:
                return cell
        for cell, _, _ in changes:
            own = sum(one == cell and not isinstance(token, frozenset) for one, token in reads)
            if self._half:
                own = self._keeps
            if self._needed.get((cell, now[cell]), 0) > own:
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
            for cell, _, _ in changes:
                self._need(cell, self._now[cell], -1)
        for cell, token, grows in changes:
            self._now[cell] = self._now[cell] + token if grows else token
            touched.add(cell)
        return [event for cell in touched for event in self._waiting.pop(cell, ())]
