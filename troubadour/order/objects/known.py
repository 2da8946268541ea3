"""What is known of the order of a log's events before any search: edges from the answers, the sessions and the times.

A transaction t has a commit event C(t). Where it may read an older state it has a snapshot event S(t) before that;
else both are one. What it sees is what committed before S(t) (Adya 1999's dependencies, as Viper and PolySI split
them). Does not know how answers are read, nor what follows from a circle.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from sql_semantics.records import dataclass, replace
from troubadour.facts.objects.accesses import NEVER, Flags, Ints, column, heads, ranks, spans
from troubadour.facts.objects.facts import BLIND, Facts
from troubadour.isolation.levels import LEVELS, Level, Scope, Visible
from troubadour.model.log import Begin
from troubadour.model.objects import ABORTED, COMMITTED, MISSING
from troubadour.order.objects.arrays import Links


class Why(IntEnum):
    """Why one event is before another. `INSIDE`: both are of one transaction, or the edge goes on from a bead, which
    stands for the end of many. `REAL_TIME` is by a client's clock, `TIMESTAMP` by the database's."""

    INSIDE = 0
    WR = 1
    WW = 2
    RW = 3
    SESSION = 4
    REAL_TIME = 5
    TIMESTAMP = 6


@dataclass(frozen=True, slots=True)
class Relation:
    """Edges over events: `links`, whose weights are the hint ranks (from 1) of the committed transaction by which all
    that an edge hangs on has happened. By edge: `why`, `at` (the operation that read, an index of the accesses, -1:
    none), `by` (the transaction that shows it besides its ends, -1: none). `owner`: the transaction of an event, -1 of
    a bead. `split`: transactions have two events. `since` is the weight of each transaction, NEVER of one that no
    committed one shows to have happened."""

    links: Links
    why: Ints
    at: Ints
    by: Ints
    owner: Ints
    split: bool
    since: Ints


def is_orderly(level: Level) -> bool:
    """Whether a level is told by an order of events: each transaction sees a state, or each row is of one."""
    return is_general(level) and level.visible is Visible.STATE and level.scope is not Scope.STATEMENT


def is_general(level: Level) -> bool:
    """Whether a level is no product's, and none by timestamps."""
    return level.dialect is None and not level.ordered


def since_of(facts: Facts) -> Ints:
    """The weight of each transaction: the least rank of those that show, one through the other, that it happened."""
    since = ranks(facts.accesses.log)
    writer = facts.writer(facts.reads.version)
    chosen = writer >= 0
    # an answer that has two versions of a list shows that both were written
    both = facts.successions
    later, earlier = facts.writer(both.later), facts.writer(both.earlier)
    has = (both.differs == 1) & (both.by != later)
    told = has & (earlier >= 0)
    reader = np.concatenate((facts.reads.txn[chosen], facts.sees.txn, both.by[has], both.by[told]))
    writer = np.concatenate((writer[chosen], facts.accesses.visit_txn[facts.sees.visit], later[has], earlier[told]))
    while True:
        earlier = np.flatnonzero(since[reader] < since[writer])
        if not len(earlier):
            return since
        np.minimum.at(since, writer[earlier], since[reader[earlier]])


class _Maker:
    """Edges in the making."""

    def __init__(self, facts: Facts, level: Level) -> None:
        self.facts, self.level = facts, level
        self.log = facts.accesses.log
        self.count = len(self.log)
        self.split = not level.horizon.latest and level.scope is not Scope.ROW
        self.events = self.count * (2 if self.split else 1)
        self.since = since_of(facts)
        self.parts: list[tuple[Ints, ...]] = []
        if self.split:
            alive = np.flatnonzero(np.frombuffer(self.log.statuses, np.uint8) != ABORTED)
            self.add(alive, self.commit(alive), self.since[alive], Why.INSIDE)

    def commit(self, txn: Ints) -> Ints:
        """The commit events of transactions."""
        return txn + self.count if self.split else txn

    def add(
        self, source: Ints, target: Ints, weight: Ints, why: int, at: Ints | None = None, by: Ints | None = None
    ) -> None:
        """Some edges of one kind."""
        none = np.full(len(source), -1, np.int64)
        kind = np.full(len(source), int(why), np.int64)
        self.parts.append((source, target, weight, kind, none if at is None else at, none if by is None else by))

    def beads(self, count: int) -> int:
        """New events; the first of them."""
        self.events += count
        return self.events - count

    def made(self) -> Relation:
        """All of it, without what no committed transaction shows to have happened."""
        empty = tuple(np.zeros(0, np.int64) for _ in range(6))
        columns = [np.concatenate(one) for one in zip(*(self.parts or [empty]), strict=True)]
        kept = columns[2] < NEVER
        source, target, weight, why, at, by = (one[kept] for one in columns)
        owner = np.full(self.events, -1, np.int64)
        owner[: self.count] = np.arange(self.count)
        if self.split:
            owner[self.count : 2 * self.count] = np.arange(self.count)
        return Relation(Links(self.events, source, target, weight), why, at, by, owner, self.split, self.since)

    # what answers tell

    def reads(self) -> None:
        """A version that was read was committed before its reader's snapshot."""
        reads, since = self.facts.reads, self.since
        writer = self.facts.writer(reads.version)
        chosen = np.flatnonzero(writer >= 0)
        chosen = chosen[self._first_of_visit(reads.at[chosen], chosen)]
        writer, reader = writer[chosen], reads.txn[chosen]
        target = self.commit(reader) if self.level.scope is Scope.ROW else reader
        weight = np.maximum(since[writer], since[reader])
        self.add(self.commit(writer), target, weight, Why.WR, reads.at[chosen])

    def _first_of_visit(self, at: Ints, chosen: Ints) -> Flags:
        """Of the reads those whose visit and version no earlier one has."""
        return heads(self.facts.accesses.visit[at], self.facts.reads.version[chosen])

    def successions(self) -> None:
        """Readers of a version took their snapshot before the commits of what came after it."""
        facts, since = self.facts, self.since
        known = facts.successions
        if not len(known.earlier) and not len(facts.reads.txn):
            return
        later_txn = facts.writer(known.later)
        weight = np.maximum(since[later_txn], np.where(known.by >= 0, since[known.by], 0))
        direct = (known.differs != BLIND) & (
            self.level.horizon.latest | (self.level.write_conflict & (known.differs != 0))
        )
        self._overlapping(np.flatnonzero(~direct), later_txn, weight)
        chosen = np.flatnonzero(direct)
        # of several that follow one version directly the one that has happened first is taken for its successor
        chosen = chosen[np.lexsort((weight[chosen], known.earlier[chosen]))]
        earlier = known.earlier[chosen]
        first = heads(earlier)
        successors = chosen[first]
        successor = np.full(facts.cells + len(facts.accesses.visit_txn), -1, np.int64)
        successor[known.earlier[successors]] = successors
        others = chosen[~first]
        if len(others):
            head = successor[known.earlier[others]]
            both = np.maximum(weight[others], weight[head])
            # each read the version that the other follows, or appended to it, as another one's answer shows
            shows = np.where(known.by[others] == later_txn[others], -1, known.by[others])
            self.add(later_txn[others], self.commit(later_txn[head]), both, Why.RW, known.at[others], shows)
            target = (
                later_txn[others] if self.level.write_conflict or not self.split else self.commit(later_txn[others])
            )
            self.add(self.commit(later_txn[head]), target, both, Why.WW, known.at[head], known.by[head])
        self._proved(known.by != later_txn, later_txn, weight)
        reads = facts.reads
        follows = successor[reads.version]
        some = np.flatnonzero(follows >= 0)
        some = some[self._first_of_visit(reads.at[some], some)]
        follower = follows[some]
        reader, writer = reads.txn[some], later_txn[follower]
        different = reader != writer
        # a second one that follows the version is told of already
        visit = facts.accesses.visit[reads.at[some]] + facts.cells
        different &= ~np.isin(visit, known.later[others]) if len(others) else True
        some, follower, reader, writer = (one[different] for one in (some, follower, reader, writer))
        both = np.maximum(since[reader], since[writer])
        # what is not in an answer that lacks nothing before it needs no other reader to show it
        self.add(reader, self.commit(writer), both, Why.RW, reads.at[some])
        self._initial(successor, later_txn)

    def _proved(self, chosen: Flags, later_txn: Ints, weight: Ints) -> None:
        """Versions that another transaction's answer puts in order."""
        known = self.facts.successions
        some = np.flatnonzero(chosen)
        earlier_txn = self.facts.writer(known.earlier[some])
        made = earlier_txn >= 0
        some, earlier_txn = some[made], earlier_txn[made]
        both = np.maximum(weight[some], self.since[earlier_txn])
        target = later_txn[some] if self.level.write_conflict or not self.split else self.commit(later_txn[some])
        self.add(self.commit(earlier_txn), target, both, Why.WW, known.at[some], known.by[some])

    def versions(self) -> None:
        """The writers of versions that follow one another, as if each change acted on the newest one."""
        known, since = self.facts.successions, self.since
        earlier, later = self.facts.writer(known.earlier), self.facts.writer(known.later)
        some = np.flatnonzero((earlier >= 0) & (earlier != later))
        earlier, later = earlier[some], later[some]
        weight = np.maximum(since[earlier], since[later])
        self.add(self.commit(earlier), self.commit(later), weight, Why.WW, known.at[some], known.by[some])

    def _overlapping(self, chosen: Ints, later_txn: Ints, weight: Ints) -> None:
        """Readers of a version before the commits of several that came after it, through a bead for each version."""
        if not len(chosen):
            return
        known, reads = self.facts.successions, self.facts.reads
        versions, number = np.unique(known.earlier[chosen], return_inverse=True)
        first = self.beads(len(versions))
        self.add(first + number, self.commit(later_txn[chosen]), weight[chosen], Why.INSIDE)
        at = np.minimum(np.searchsorted(versions, reads.version), len(versions) - 1)
        some = np.flatnonzero(versions[at] == reads.version)
        some = some[self._first_of_visit(reads.at[some], some)]
        self.add(reads.txn[some], first + at[some], self.since[reads.txn[some]], Why.RW, reads.at[some])

    def _initial(self, successor: Ints, later_txn: Ints) -> None:
        """What is there at first comes before all that is written, and what follows it directly before all else."""
        facts = self.facts
        accesses, cells = facts.accesses, facts.cells
        reads = facts.reads
        initial = np.flatnonzero(reads.version < cells)
        if not len(initial):
            return
        read_cells = np.zeros(cells, np.bool_)
        read_cells[reads.version[initial]] = True
        last = accesses.last_change()
        follows = np.zeros(len(accesses.visit_txn), np.bool_)
        follows[facts.successions.later - cells] = True
        # versions of sets and counters are not one after another
        ordered = accesses.of_type("register", "list") & read_cells
        begun = np.flatnonzero((last >= 0) & ~follows & ordered[accesses.visit_cell])
        if not len(begun):
            return
        cell, txn = accesses.visit_cell[begun], accesses.visit_txn[begun]
        head = successor[cell]
        followed = head >= 0
        before = later_txn[head[followed]]
        both = np.maximum(self.since[before], self.since[txn[followed]])
        if len(before):
            known = facts.successions
            target = txn[followed] if self.level.write_conflict or not self.split else self.commit(txn[followed])
            self.add(self.commit(before), target, both, Why.WW, known.at[head[followed]], known.by[head[followed]])
        # the others through a bead for each cell
        rest = np.flatnonzero(~followed)
        number = np.full(cells, -1, np.int64)
        used = np.unique(cell[rest])
        first = self.beads(len(used))
        number[used] = first + np.arange(len(used))
        self.add(number[cell[rest]], self.commit(txn[rest]), self.since[txn[rest]], Why.INSIDE)
        some = initial[number[reads.version[initial]] >= 0]
        some = some[self._first_of_visit(reads.at[some], some)]
        if not self.split:
            # a reader that writes there as well would be before itself
            some = some[last[accesses.visit[reads.at[some]]] < 0]
        self.add(reads.txn[some], number[reads.version[some]], self.since[reads.txn[some]], Why.RW, reads.at[some])

    def sees(self) -> None:
        """A reader took its snapshot (where each row is of a state, made its commit) after the commits that it sees."""
        sees, since = self.facts.sees, self.since
        writer = self.facts.accesses.visit_txn[sees.visit]
        chosen = writer != sees.txn
        reader, writer = sees.txn[chosen], writer[chosen]
        weight = np.maximum(since[reader], since[writer])
        self.add(self.commit(writer), reader, weight, Why.WR, sees.at[chosen])

    def misses(self) -> None:
        """A reader took its snapshot before the commits that it misses."""
        misses, since = self.facts.misses, self.since
        writer = self.facts.accesses.visit_txn[misses.visit]
        chosen = writer != misses.txn
        reader, writer = misses.txn[chosen], writer[chosen]
        weight = np.maximum(since[reader], since[writer])
        self.add(reader, self.commit(writer), weight, Why.RW, misses.at[chosen])
        tails = self.facts.tails
        if not len(tails.txn):
            return
        # a bead for each place: it comes before what stands there, and before the bead of the next place
        count = len(tails.ends)
        first = self.beads(count)
        beads = first + np.arange(count)
        self.add(tails.txn, first + tails.place, since[tails.txn], Why.RW, tails.at)
        goes_on = np.flatnonzero(~tails.ends)
        self.add(beads[goes_on], beads[goes_on] + 1, np.zeros(len(goes_on), np.int64), Why.INSIDE)
        writer = self.facts.accesses.visit_txn[tails.visits]
        self.add(np.repeat(beads, np.diff(tails.first)), self.commit(writer), since[writer], Why.INSIDE)

    def counts(self) -> None:
        """Reads of counters that only grow, from less to more, and between them those that read and then add."""
        counts, since = self.facts.counts, self.since
        many = len(counts.cell_of)
        if not many:
            return
        # by group three beads: behind all that read no more, before all that read no less, and behind those that read
        # as much and add nothing
        less, more, same = (self.beads(many) for _ in range(3))
        self.add(counts.txn, less + counts.group, since[counts.txn], Why.RW, counts.at)
        self.add(more + counts.group, counts.txn, since[counts.txn], Why.WR, counts.at)
        group = np.flatnonzero(counts.cell_of[1:] == counts.cell_of[:-1])
        none = np.zeros(len(group), np.int64)
        for source, target in ((less, less), (more, more), (less, more)):
            self.add(source + group, target + group + 1, none, Why.INSIDE)
        txn = self.facts.accesses.visit_txn[counts.visit]
        next_ = np.minimum(counts.based + 1, many - 1)
        followed = (next_ > counts.based) & (counts.cell_of[next_] == counts.cell_of[counts.based])
        self.add(self.commit(txn[followed]), more + next_[followed], since[txn[followed]], Why.INSIDE)
        pure = ~np.isin(counts.at, counts.by)
        self.add(counts.txn[pure], same + counts.group[pure], since[counts.txn[pure]], Why.RW, counts.at[pure])
        self.add(same + counts.based, self.commit(txn), since[txn], Why.INSIDE)
        self._between(txn)
        self._added_twice(txn)

    def _between(self, txn: Ints) -> None:
        """Reads of more than a transaction read, and less than it left."""
        counts, since = self.facts.counts, self.since
        lengths = counts.beyond - counts.based - 1
        change = np.repeat(np.arange(len(lengths)), lengths)
        group = spans(counts.based + 1, lengths)
        order = np.argsort(counts.group, kind="stable")
        # one read of each number shows it
        read = order[np.searchsorted(counts.group[order], group)]
        reader, writer = counts.txn[read], txn[change]
        weight = np.maximum(since[reader], since[writer])
        self.add(reader, self.commit(writer), weight, Why.RW, counts.at[read])

    def _added_twice(self, txn: Ints) -> None:
        """Transactions that read the same and added: whichever comes first, another misses it and is to follow it."""
        counts, since = self.facts.counts, self.since
        order = np.lexsort((since[txn], counts.based))
        based = counts.based[order]
        first = heads(based)
        head = order[np.flatnonzero(first)[np.cumsum(first) - 1]]
        others, head = order[~first], head[~first]
        weight = np.maximum(since[txn[others]], since[txn[head]])
        self.add(txn[others], self.commit(txn[head]), weight, Why.RW, counts.by[others])
        self.add(self.commit(txn[head]), txn[others], weight, Why.WW, counts.by[head])

    # sessions and times

    def sessions(self) -> None:
        """Each after what its session committed before."""
        log = self.log
        order = column(log.order)
        session = column(log.sessions)[order]
        status = np.frombuffer(log.statuses, np.uint8)[order]
        chosen = np.flatnonzero((session >= 0) & (status != ABORTED))
        chosen = chosen[np.argsort(session[chosen], kind="stable")]
        places, session = order[chosen], session[chosen]
        committed = status[chosen] == COMMITTED
        here = np.arange(len(places))
        last = np.full(len(places), -1, np.int64)
        last[1:] = np.maximum.accumulate(np.where(committed, here, -1))[:-1]
        some = np.flatnonzero((last >= 0) & (session[last] == session))
        before, after = places[last[some]], places[some]
        kept = ~self._contrary(before, after)
        before, after = before[kept], after[kept]
        weight = np.maximum(self.since[before], self.since[after])
        self.add(self.commit(before), after, weight, Why.SESSION)

    def _contrary(self, before: Ints, after: Ints) -> Flags:
        """Pairs of a session of which the client's times may say the opposite."""
        log = self.log
        numbered = column(log.numbers) != MISSING
        clocks = np.array(log.clocks, np.int64)
        least = np.int64(2**63 - 1)
        ends = np.full(self.count, least)
        for one in map(column, (log.returned, log.end_returned)):
            ends = np.minimum(ends, np.where(one == MISSING, least, one))
        begins = column(log.invoked).copy()
        for place, more in log.more.items():
            begin = more.get("begin")
            if isinstance(begin, Begin) and begin.invoked is not None:
                begins[place] = max(int(begins[place]), begin.invoked)
        timed = (clocks[before] == clocks[after]) & (begins[before] != MISSING)
        found: Flags = ~(numbered[before] & numbered[after]) & timed & (ends[after] < begins[before])
        return found

    def real_time(self) -> None:
        """What was over before another began is before it."""
        log = self.log
        starts, commits = column(log.starts), column(log.commits)
        statuses = np.frombuffer(log.statuses, np.uint8)
        alive = statuses != ABORTED
        over = np.flatnonzero((commits != MISSING) & alive)
        began = np.flatnonzero((starts != MISSING) & alive)
        self._before(Why.TIMESTAMP, over, commits[over], began, starts[began], snapshot=True)
        returned, invoked = column(log.returned), column(log.invoked)
        clocks = np.array(log.clocks, np.int64)
        by_server = len(over) > 0 or len(began) > 0 or bool(log.more)
        for clock in np.unique(clocks).tolist():
            mine = clocks == clock
            over = np.flatnonzero(mine & (returned != MISSING) & (statuses == COMMITTED))
            began = np.flatnonzero(mine & (invoked != MISSING) & alive)
            self._before(Why.REAL_TIME, over, returned[over], began, invoked[began], snapshot=not by_server)

    def _before(self, why: Why, over: Ints, ends: Ints, began: Ints, begins: Ints, *, snapshot: bool) -> None:
        """Those that were over before others began, through a bead for each end. `snapshot`: before their snapshots,
        too."""
        if not len(over) or not len(began):
            return
        own = np.full(self.count, 2**63 - 1, np.int64)
        own[over] = ends
        began, begins = began[own[began] >= begins], begins[own[began] >= begins]
        order = np.argsort(ends, kind="stable")
        over, ends = over[order], ends[order]
        bead = self.beads(len(over)) + np.arange(len(over))
        zero = np.zeros(len(over), np.int64)
        self.add(self.commit(over), bead, self.since[over], why)
        self.add(bead[:-1], bead[1:], zero[1:], Why.INSIDE)
        last = np.searchsorted(ends, begins, side="left") - 1
        some = np.flatnonzero(last >= 0)
        target = began[some] if snapshot else self.commit(began[some])
        self.add(bead[last[some]], target, self.since[began[some]], Why.INSIDE)


_TIMED = replace(LEVELS["strict-serializable"], session=True)
"""Where a transaction is one event, and times and sessions count."""


def of_reads_and_times(facts: Facts) -> Relation:
    """The edges of what was read, of sessions and of times, a transaction being one event: they hold at every level
    that keeps these."""
    maker = _Maker(facts, _TIMED)
    maker.reads()
    maker.sees()
    maker.misses()
    maker.sessions()
    maker.real_time()
    return maker.made()


def known_order(facts: Facts, level: Level, *, newest: bool = False) -> Relation:
    """The edges that hold at a level, for which `is_orderly` holds; `newest`: where each row is of a state of its own,
    with those that hold where each change acts on the newest version, as servers let it."""
    maker = _Maker(facts, level)
    maker.reads()
    maker.sees()
    if newest and level.scope is Scope.ROW:
        maker.versions()
    if level.scope is not Scope.ROW:
        maker.successions()
        maker.misses()
        maker.counts()
    if level.session:
        maker.sessions()
    if level.real_time:
        maker.real_time()
    return maker.made()
