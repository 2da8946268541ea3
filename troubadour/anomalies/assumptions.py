"""What a user may take for granted of registers, and the orders of versions that follow from it (Alvaro and Kingsbury
2020, *Elle*, section 5.2).

A key whose versions come in a circle so is told of, and left out. Does not know circles of transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain, groupby, pairwise

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.anomalies.direct import Direct
from troubadour.anomalies.flow import LONG, Flow
from troubadour.facts.objects.accesses import NEVER, column
from troubadour.facts.objects.facts import Facts
from troubadour.facts.objects.names import named
from troubadour.isolation.models import ruled_out
from troubadour.model.objects import COMMITTED, MISSING
from troubadour.order.objects.arrays import Links, components
from troubadour.order.objects.dependencies import Assumed
from troubadour.order.objects.known import since_of


class Assumption(Enum):
    """What is taken for granted: a transaction's write of a register follows what it read there, and what was written
    there by those that it depends on (by wr and ww, through others, too); each session sees the versions of a register
    in their order; what one client has seen or written, a transaction that begins later sees, or a later version; the
    versions of a register are in the order of the database's commit timestamps."""

    WRITES_FOLLOW_READS = "writes-follow-reads"
    SEQUENTIAL_KEYS = "sequential-keys"
    LINEARIZABLE_KEYS = "linearizable-keys"
    COMMIT_ORDER = "commit-order"


@dataclass(frozen=True, slots=True)
class Taken:
    """The assumptions' names, the order of versions that they give, the keys where they contradict one another or the
    answers, and what was not looked at."""

    names: tuple[str, ...] = ()
    order: Assumed = field(default_factory=Assumed)
    cyclic: tuple[Direct, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Touch:
    """What a transaction has of a cell: the first and the last version that it read or left there, and whether it left
    one."""

    txn: int
    first: int
    last: int
    wrote: bool


def taken_for_granted(facts: Facts, assumptions: Sequence[Assumption]) -> Taken:
    """What follows from assumptions."""
    if not assumptions:
        return Taken()
    return _Maker(facts, assumptions).made()


class _Maker:
    def __init__(self, facts: Facts, assumptions: Sequence[Assumption]) -> None:
        self.facts, self.assumptions = facts, assumptions
        self.log = facts.accesses.log
        self.since = since_of(facts)
        self.rank = np.empty(len(self.log), np.int64)
        self.rank[column(self.log.order)] = np.arange(len(self.log))
        self.last = facts.accesses.last_change()
        cell = facts.accesses.visit_cell[facts.successions.later - facts.cells]
        self.by_cell = np.argsort(cell, kind="stable")
        """The successions by cell, and the cell of each."""
        self.cell_of = cell[self.by_cell]
        self.begun = np.zeros(facts.cells, np.bool_)
        """By cell: whether what is there at first was read."""
        self.begun[facts.reads.version[facts.reads.version < facts.cells]] = True

    def made(self) -> Taken:
        """All of it: versions order transactions, and these order versions, until nothing changes."""
        touches = dict(self._touches())
        own = {cell: {pair for pair in self._pairs(some) if pair[0] != pair[1]} for cell, some in touches.items()}
        follow = Assumption.WRITES_FOLLOW_READS in self.assumptions
        flow = Flow(self.facts, self.since) if follow else None
        cyclic: dict[int, Direct] = {}
        while True:
            pairs = {cell: set(some) for cell, some in own.items()}
            if flow is not None:
                for cell, pair in flow.pairs(chain.from_iterable(own.values())):
                    pairs.setdefault(cell, set()).add(pair)
            # a key that contradicts itself orders nothing, neither here nor by what followed from it elsewhere
            wrong = {cell: circle for cell, some in pairs.items() if (circle := _circle(some | self._known(cell)))}
            new = wrong.keys() - cyclic.keys()
            cyclic |= {cell: self._cyclic(cell, wrong[cell], touches.get(cell, ())) for cell in sorted(new)}
            if not any(own.get(cell) for cell in new):
                break
            for cell in new:
                own.pop(cell, None)
        told = [pair for cell in sorted(pairs.keys() - cyclic.keys()) for pair in sorted(pairs[cell])]
        made = np.array([pair for pair in told if pair[1] >= self.facts.cells], np.int64).reshape(-1, 2)
        names = tuple(one.value for one in self.assumptions)
        notes = () if flow is None or flow.is_complete else (LONG,)
        order = Assumed(made[:, 0], made[:, 1], follow, np.array(sorted(cyclic), np.int64))
        return Taken(names, order, tuple(cyclic[cell] for cell in sorted(cyclic)), notes)

    def _touches(self) -> Iterator[tuple[int, list[_Touch]]]:
        """By cell of a register what transactions have of it."""
        if set(self.assumptions) <= {Assumption.WRITES_FOLLOW_READS}:
            return
        facts, accesses = self.facts, self.facts.accesses
        registers = accesses.of_type("register")
        first: dict[int, int] = {}
        latest: dict[int, int] = {}
        for at, version in zip(facts.reads.at.tolist(), facts.reads.version.tolist(), strict=True):
            visit = int(accesses.visit[at])
            first.setdefault(visit, version)
            latest[visit] = version
        found: list[_Touch] = []
        cell = -1
        for visit, (here, txn) in enumerate(
            zip(accesses.visit_cell.tolist(), accesses.visit_txn.tolist(), strict=True)
        ):
            if not registers[here] or self.since[txn] >= NEVER:
                continue
            if here != cell:
                if found:
                    yield cell, found
                cell, found = here, []
            wrote = bool(self.last[visit] >= 0)
            made = facts.cells + visit if wrote else latest.get(visit)
            if made is not None:
                found.append(_Touch(txn, first.get(visit, made), made, wrote))
        if found:
            yield cell, found

    def _pairs(self, touches: Sequence[_Touch]) -> Iterator[tuple[int, int]]:
        """Versions of one cell in an order that the assumptions give."""
        if Assumption.SEQUENTIAL_KEYS in self.assumptions:
            yield from self._by_sessions(touches)
        if Assumption.LINEARIZABLE_KEYS in self.assumptions:
            yield from self._by_times(touches)
        if Assumption.COMMIT_ORDER in self.assumptions:
            yield from self._by_commits(touches)

    def _by_commits(self, touches: Sequence[_Touch]) -> Iterator[tuple[int, int]]:
        commits = self.log.commits
        made = [one for one in touches if one.wrote and commits[one.txn] != MISSING]
        made.sort(key=lambda one: commits[one.txn])
        groups = [list(group) for _, group in groupby(made, key=lambda one: commits[one.txn])]
        for earlier, later in pairwise(groups):
            yield from ((one.last, other.last) for one in earlier for other in later)

    def _by_sessions(self, touches: Sequence[_Touch]) -> Iterator[tuple[int, int]]:
        before: dict[int, _Touch] = {}
        for touch in sorted(touches, key=lambda one: int(self.rank[one.txn])):
            session = self.log.sessions[touch.txn]
            if session < 0:
                continue
            if session in before:
                yield before[session].last, touch.first
            before[session] = touch

    def _by_times(self, touches: Sequence[_Touch]) -> Iterator[tuple[int, int]]:
        """Of those that were over before another began the last ones: none of them was over before another of them
        began."""
        log = self.log
        clocks: dict[int, list[_Touch]] = {}
        for touch in touches:
            if log.invoked[touch.txn] != MISSING:
                clocks.setdefault(log.clocks[touch.txn], []).append(touch)
        for mine in clocks.values():
            mine.sort(key=lambda one: log.invoked[one.txn])
            over = [one for one in mine if log.returned[one.txn] != MISSING and log.statuses[one.txn] == COMMITTED]
            over.sort(key=lambda one: log.returned[one.txn])
            taken = 0
            frontier: list[_Touch] = []
            for touch in mine:
                begun = log.invoked[touch.txn]
                while taken < len(over) and log.returned[over[taken].txn] < begun:
                    new = over[taken]
                    frontier = [one for one in frontier if log.returned[one.txn] >= log.invoked[new.txn]]
                    frontier.append(new)
                    taken += 1
                for one in frontier:
                    yield one.last, touch.first

    def _known(self, cell: int) -> set[tuple[int, int]]:
        """The order of a cell's versions that answers tell."""
        known = self.facts.successions
        cells = self.facts.cells
        mine = self.by_cell[slice(*np.searchsorted(self.cell_of, (cell, cell + 1)))]
        pairs = set(zip(known.earlier[mine].tolist(), known.later[mine].tolist(), strict=True))
        if self.begun[cell]:
            begin, end = np.searchsorted(self.facts.accesses.visit_cell, (cell, cell + 1))
            pairs |= {(cell, cells + int(visit)) for visit in begin + np.flatnonzero(self.last[begin:end] >= 0)}
        return pairs

    def _cyclic(self, cell: int, circle: Iterable[int], touches: Sequence[_Touch]) -> Direct:
        versions = set(circle)
        members = {one.txn for one in touches if one.first in versions or one.last in versions}
        if not members:
            made = np.array([one for one in versions if one >= self.facts.cells], np.int64)
            members = set(self.facts.writer(made).tolist())
        at = int(np.searchsorted(self.facts.accesses.cell, cell))
        names = ", ".join(one.value for one in self.assumptions)
        text = f"the versions of {named(self.facts.accesses, at)} come after one another in a circle, by {names}"
        subject = int(self.facts.accesses.subject[cell])
        ordered = tuple(sorted(members, key=lambda one: int(self.rank[one])))
        return Direct("cyclic-versions", ordered, subject, text, ruled_out("cyclic-versions"))


def _circle(pairs: set[tuple[int, int]]) -> list[int]:
    """Versions that come after one another in a circle, those of one component."""
    if not pairs:
        return []
    versions, numbered = np.unique(np.array(sorted(pairs), np.int64), return_inverse=True)
    both = numbered.reshape(-1, 2)
    links = Links(len(versions), both[:, 0], both[:, 1], np.zeros(len(both), np.int64))
    label = components(links)
    for number in set(label):
        members = [int(versions[one]) for one, other in enumerate(label) if other == number and number >= 0]
        if len(members) > 1:
            return members
    return []
