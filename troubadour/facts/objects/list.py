"""Lists: the longest answer orders what it has, and what it lacks comes later (Alvaro and Kingsbury 2020, *Elle*,
sections 4.1.6 and 4.3.2).

That holds where every append extends the newest list (`grows`); where updates may get lost an answer tells of its last
element's version only. A list to which one value is appended twice tells nothing here. Does not know which levels those
are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.facts.objects.accesses import NEVER, Accesses, Flags, Ints, column, heads, spans
from troubadour.facts.objects.facts import BLIND, Fault, Misses, Reads, Successions
from troubadour.facts.objects.names import aborted_writer, named, shown

PORTION = 1 << 22
"""Items that are compared at once, about."""


@dataclass(slots=True)
class ListFacts:
    """What the answers tell. `sees` and `misses` are of answers that contradict each other."""

    reads: Reads = field(default_factory=Reads)
    successions: Successions = field(default_factory=Successions)
    sees: Misses = field(default_factory=Misses)
    misses: Misses = field(default_factory=Misses)
    faults: list[Fault] = field(default_factory=list)


def list_facts(accesses: Accesses, rank: Ints, *, grows: bool) -> ListFacts:
    """What reads and appends of lists tell. `rank`: as `ranks` has it."""
    if not any(one.type == "list" for one in accesses.log.objects):
        return ListFacts()
    return _Maker(accesses, rank, grows=grows).made()


class _Maker:
    def __init__(self, accesses: Accesses, rank: Ints, *, grows: bool) -> None:
        self.accesses, self.rank, self.grows = accesses, rank, grows
        self.found = ListFacts()
        log = accesses.log
        self.first, self.items = column(log.sequences.first), column(log.sequences.items)
        self.lists = accesses.of_type("list")
        on = self.lists[accesses.cell]
        self.appends = np.flatnonzero(on & ~accesses.is_read)
        changed = np.concatenate(([0], np.cumsum(on & ~accesses.is_read)))
        self.ordinal = changed[self.appends] - changed[accesses.begin[accesses.visit[self.appends]]]
        """Of each append its number in its visit."""
        self.of_visit = changed[accesses.begin[1:]] - changed[accesses.begin[:-1]]
        """How many appends a visit has."""
        self.reads = np.flatnonzero(on & accesses.known)
        code = accesses.value[self.reads]
        self.start = self.first[code]
        self.length = self.first[code + 1] - self.start
        self.before = changed[accesses.begin[accesses.visit[self.reads]]]
        self.own = changed[self.reads] - self.before
        self.base = self.length - self.own
        """How long the list was without what the reader had appended itself."""
        self.cells = len(accesses.key)
        self.initial = np.zeros(self.cells, np.int64)
        self.initial_start = np.zeros(self.cells, np.int64)
        self._read_initial()
        self.open: Flags = np.zeros(self.cells, np.bool_)
        """Cells that nothing more is told of."""

    def _read_initial(self) -> None:
        listed = np.flatnonzero(self.lists)
        codes = self.accesses.initial(listed)
        self.initial_start[listed] = self.first[codes]
        self.initial[listed] = self.first[codes + 1] - self.first[codes]

    def made(self) -> ListFacts:
        """All of it."""
        self._own_appends()
        self._index_appends()
        self._longest()
        self._compare()
        self._elements()
        self._versions()
        return self.found

    def _own_appends(self) -> None:
        """An answer ends with what its transaction had appended before."""
        short = self.base < 0
        wrong = short.copy()
        some = np.flatnonzero((self.own > 0) & ~short)
        own = self.own[some]
        told = self.items[spans(self.start[some] + self.base[some], own)]
        wrote = self.accesses.value[self.appends[spans(self.before[some], own)]]
        differs = np.repeat(some, own)[told != wrote]
        wrong[differs] = True
        for read in np.flatnonzero(wrong).tolist():
            at = int(self.reads[read])
            text = f"it read {self._told(at)} of {named(self.accesses, at)}, without what it had appended there itself"
            self.found.faults.append(Fault("internal-inconsistency", int(self.accesses.txn[at]), at, text, dirty=True))
        self._keep(~wrong)

    def _keep(self, kept: Flags) -> None:
        for name in ("reads", "start", "length", "before", "own", "base"):
            setattr(self, name, getattr(self, name)[kept])

    def _index_appends(self) -> None:
        """Which append an element is, by cell and value; cells in which that is not told are left open."""
        accesses = self.accesses
        cell, value = accesses.cell[self.appends], accesses.value[self.appends]
        listed = np.flatnonzero(self.lists)
        initial = self.items[spans(self.initial_start[listed], self.initial[listed])]
        self._names = np.unique(np.concatenate((value, initial)))
        self._width = max(1, len(self._names))
        keys = cell * self._width + np.searchsorted(self._names, value)
        order = np.argsort(keys, kind="stable")
        self._keys, self._of_key = keys[order], order
        again = self._keys[1:] == self._keys[:-1]
        self.open[self._keys[1:][again] // self._width] = True
        if len(initial):
            there = np.repeat(listed, self.initial[listed])
            both = there * self._width + np.searchsorted(self._names, initial)
            self.open[there[np.isin(both, self._keys)]] = True

    def _append_of(self, cell: Ints, value: Ints) -> Ints:
        """The append (an index of `appends`) of each pair, -1 for none."""
        name = np.minimum(np.searchsorted(self._names, value), max(0, len(self._names) - 1))
        found = np.full(len(cell), -1, np.int64)
        if not len(self._keys):
            return found
        there = self._names[name] == value
        keys = cell * self._width + name
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit = there & (self._keys[at] == keys)
        found[hit] = self._of_key[at[hit]]
        return found

    def _longest(self) -> None:
        """The longest answer of each cell that a committed transaction had, the first of these."""
        accesses = self.accesses
        cell = accesses.cell[self.reads]
        rank = self.rank[accesses.txn[self.reads]]
        certain = np.flatnonzero(rank < NEVER)
        order = certain[np.lexsort((-rank[certain], self.base[certain], cell[certain]))]
        self.longest = np.full(self.cells, -1, np.int64)
        self.longest[cell[order]] = order
        self.trunk_start = self.initial_start.copy()
        self.trunk = self.initial.copy()
        there = np.flatnonzero(self.longest >= 0)
        read = self.longest[there]
        longer = self.base[read] >= self.trunk[there]
        self.trunk_start[there[longer]] = self.start[read[longer]]
        self.trunk[there[longer]] = self.base[read[longer]]

    def _compare(self) -> None:
        """Every answer is a beginning of the longest, and has what was there at first."""
        cell = self.accesses.cell[self.reads]
        shorter = self.base <= self.trunk[cell]
        differs = ~shorter
        places = np.flatnonzero(shorter)
        for some in _portions(places, self.base[places]):
            told = self.items[spans(self.start[some], self.base[some])]
            trunk = self.items[spans(self.trunk_start[cell[some]], self.base[some])]
            wrong = np.flatnonzero(told != trunk)
            differs[some[np.searchsorted(np.cumsum(self.base[some]), wrong, side="right")]] = True
        short = self.base < self.initial[cell]
        listed = np.flatnonzero(self.lists)
        for one in _portions(listed, self.initial[listed]):
            at_first = self.items[spans(self.initial_start[one], self.initial[one])]
            trunk = self.items[spans(self.trunk_start[one], self.initial[one])]
            wrong = np.unique(np.repeat(one, self.initial[one])[at_first != trunk])
            differs |= np.isin(cell, wrong) & ~short
        for read in np.flatnonzero((short | differs) & ~self.open[cell]).tolist():
            self._unlike(read, short=bool(short[read]))
        self.open[cell[differs]] = True
        self._keep(~(short | differs | self.open[cell]))

    def _unlike(self, read: int, *, short: bool) -> None:
        """An answer that lacks what was there at first, or is no beginning of the longest."""
        accesses, at = self.accesses, int(self.reads[read])
        cell = int(accesses.cell[at])
        longest = int(self.longest[cell])
        base = self._items(int(self.start[read]), int(self.base[read]))
        initial = self._items(int(self.initial_start[cell]), int(self.initial[cell]))
        if short or base[: len(initial)] != initial:
            text = f"it read {self._told(at)} of {named(accesses, at)}, without what was there at first"
            self.found.faults.append(Fault("garbage-read", int(accesses.txn[at]), at, text, dirty=True))
            return
        if not self.grows or longest < 0 or longest == read:
            return
        trunk = self._items(int(self.start[longest]), int(self.base[longest]))
        other = int(self.reads[longest])
        place = next((one for one, both in enumerate(zip(base, trunk, strict=False)) if both[0] != both[1]), -1)
        if place < 0:
            return
        mine_, theirs = base[place], trunk[place]
        found = self._append_of(np.array([cell, cell]), np.array([mine_, theirs]))
        if (found < 0).any():
            self._unwritten(cell, at, mine_ if found[0] < 0 else theirs, at if found[0] < 0 else other)
            return
        if int(accesses.txn[at]) == int(accesses.txn[other]):
            text = f"it read {named(accesses, at)} as {self._told(at)} and as {self._told(other)}"
            self.found.faults.append(Fault("non-repeatable-read", int(accesses.txn[at]), at, text, one_view=True))
            return
        mine_visit, their_visit = accesses.visit[self.appends[found]].tolist()
        if mine_visit == their_visit:
            return
        self._opposed(at, base, mine_visit, theirs, their_visit)
        self._opposed(other, trunk, their_visit, mine_, mine_visit)

    def _opposed(self, at: int, items: list[int], seen: int, value: int, other: int) -> None:
        """An answer has what one visit appended, and then, or never, what another one did."""
        txn, found = int(self.accesses.txn[at]), self.found
        found.sees = _with(found.sees, txn, at, seen)
        if value not in items:
            found.misses = _with(found.misses, txn, at, other)
            return
        known = found.successions
        found.successions = Successions(
            np.append(known.earlier, self.cells + seen),
            np.append(known.later, self.cells + other),
            np.append(known.by, txn),
            np.append(known.at, at),
            np.append(known.differs, BLIND),
        )

    def _elements(self) -> None:
        """The appends that the longest answers are made of, whole and in turn."""
        accesses = self.accesses
        some = np.flatnonzero(self.lists & ~self.open & (self.trunk > self.initial))
        lengths = self.trunk[some] - self.initial[some]
        cell = np.repeat(some, lengths)
        at = spans(self.initial[some], lengths)
        value = self.items[spans(self.trunk_start[some] + self.initial[some], lengths)]
        append = self._append_of(cell, value)
        missing = np.flatnonzero(append < 0)
        for place in _first_of_each(cell[missing], missing):
            read = self._earliest(int(cell[place]), int(at[place]) + 1)
            self._unwritten(int(cell[place]), read, int(value[place]), read)
        self.open[cell[missing]] = True
        visit = np.where(append >= 0, accesses.visit[self.appends[append]], -1) if len(self.appends) else append
        number = np.where(append >= 0, self.ordinal[append], 0) if len(self.appends) else append
        begins = heads(cell, visit)
        expected = np.zeros(len(cell), np.int64)
        if len(cell):
            expected = np.arange(len(cell)) - np.maximum.accumulate(np.where(begins, np.arange(len(cell)), 0))
        wrong = (append >= 0) & (number != expected)
        # a run that another one, or nothing of the same cell, follows is whole
        ends = np.ones(len(cell), np.bool_)
        ends[:-1] = begins[1:]
        inner = ends.copy()
        inner[:-1] &= cell[1:] == cell[:-1]
        if len(inner):
            inner[-1] = False
        torn = wrong | ((append >= 0) & inner & (number + 1 != self.of_visit[visit]))
        for place in _first_of_each(cell[torn], np.flatnonzero(torn)):
            read = self._earliest(int(cell[place]), min(int(at[place]) + 2, int(self.trunk[cell[place]])))
            self._torn(read, int(accesses.visit_txn[visit[place]]))
        self.open[cell[torn]] = True
        self._trunk_cell: Ints = cell
        self._trunk_at: Ints = at
        self._trunk_visit: Ints = visit
        self._trunk_ends: Flags = ends

    def _versions(self) -> None:
        """Which version each answer is, and which follows which."""
        accesses = self.accesses
        cell = accesses.cell[self.reads]
        kept = ~self.open[cell]
        self._keep(kept)
        cell = cell[kept]
        shown_ = ~self.open[self._trunk_cell]
        trunk_cell, at, visit = (one[shown_] for one in (self._trunk_cell, self._trunk_at, self._trunk_visit))
        ends: Flags = self._trunk_ends[shown_]
        width = int(self.trunk.max(initial=0)) + 2
        keys = trunk_cell * width + at
        place = np.searchsorted(keys, cell * width + self.base - 1)
        initial = self.base <= self.initial[cell]
        place = np.minimum(place, max(0, len(keys) - 1))
        last = visit[place] if len(keys) else np.zeros(len(cell), np.int64)
        whole = initial | (self._is_whole(place, ends, visit) if len(keys) else initial)
        txn = accesses.txn[self.reads]
        itself = ~initial & (accesses.visit_txn[last] == txn) if len(accesses.visit_txn) else initial & False
        for read in np.flatnonzero(itself).tolist():
            one = int(self.reads[read])
            text = f"it read {self._told(one)} of {named(accesses, one)}, which has what it appended itself, later"
            self.found.faults.append(Fault("future-read", int(txn[read]), one, text, int(txn[read])))
        for read in np.flatnonzero(~whole & ~itself).tolist():
            self._torn(int(self.reads[read]), int(accesses.visit_txn[last[read]]))
        good = np.flatnonzero(whole & ~itself)
        version = np.where(initial, cell, self.cells + last)[good]
        reads, base, cell = self.reads[good], self.base[good], cell[good]
        self._unrepeated(reads, version)
        self.found.reads = Reads(accesses.txn[reads], reads, version)
        if self.grows:
            self._chain(reads, base, cell, version, trunk_cell, at, visit, ends)
        else:
            self._overwriting(reads, version)

    def _is_whole(self, place: Ints, ends: Flags, visit: Ints) -> Flags:
        """Whether the run that an element is part of ends there, with all that its visit appended."""
        first = np.ones(len(visit), np.bool_)
        first[1:] = ends[:-1]
        begin = np.maximum.accumulate(np.where(first, np.arange(len(visit)), 0))
        count = np.arange(len(visit)) - begin + 1
        found: Flags = (count == self.of_visit[visit])[place]
        return found

    def _unrepeated(self, reads: Ints, version: Ints) -> None:
        accesses = self.accesses
        visit = accesses.visit[reads]
        wrong = np.flatnonzero((visit[1:] == visit[:-1]) & (version[1:] != version[:-1]))
        for one in wrong.tolist():
            first, second = int(reads[one]), int(reads[one + 1])
            text = f"it read {named(accesses, second)} as {self._told(first)}, and later as {self._told(second)}"
            self.found.faults.append(
                Fault("non-repeatable-read", int(accesses.txn[second]), second, text, one_view=True)
            )

    def _chain(
        self, reads: Ints, base: Ints, cell: Ints, version: Ints, trunk_cell: Ints, at: Ints, visit: Ints, ends: Flags
    ) -> None:
        """Versions one after another, as the longest answers have them, and behind these what they lack."""
        accesses, found = self.accesses, self.found
        rank = self.rank[accesses.txn[reads]]
        certain = np.flatnonzero(rank < NEVER)
        order = certain[np.lexsort((base[certain], cell[certain]))]
        width = int(self.trunk.max(initial=0)) + 2
        keys = cell[order] * width + base[order]
        # of the answers that are as long or longer the one that comes first in the hint order
        big = np.int64(len(accesses.log) + 2)
        sofar = (cell[order] * big + rank[order])[::-1]
        best = np.minimum.accumulate(sofar)[::-1] if len(sofar) else sofar
        by_cell = cell[order] * big + rank[order]
        sorted_ = np.argsort(by_cell, kind="stable")
        picked = order[sorted_[np.searchsorted(by_cell[sorted_], best)]] if len(best) else order
        run_end = np.flatnonzero(ends)
        run_cell, run_visit, run_length = trunk_cell[run_end], visit[run_end], at[run_end] + 1
        first = heads(run_cell)
        before = run_cell.copy()
        before[~first] = self.cells + run_visit[np.flatnonzero(~first) - 1]
        asked = np.searchsorted(keys, run_cell * width + run_length)
        told_by = asked < len(order)
        told_by[told_by] = cell[order[asked[told_by]]] == run_cell[told_by]
        # an answer that is at fault shows nothing
        shows = picked[asked[told_by]]
        before, run_cell, run_visit = before[told_by], run_cell[told_by], run_visit[told_by]
        later = self.cells + run_visit
        in_trunk = np.zeros(len(accesses.visit_txn), np.bool_)
        in_trunk[run_visit] = True
        last = np.arange(self.cells)
        last[run_cell] = later
        # what is appended and not read
        lists = np.flatnonzero((self.of_visit > 0) & ~in_trunk & ~self.open[accesses.visit_cell])
        based = np.full(len(accesses.visit_txn), -1, np.int64)
        based[accesses.visit[reads[::-1]]] = np.arange(len(reads))[::-1]
        told = lists[based[lists] >= 0]
        read = based[told]
        untold = lists[based[lists] < 0]
        tip = last[accesses.visit_cell[untold]]
        shown_by = self._of_tip(reads, cell, base, accesses.visit_cell[untold])
        has = shown_by >= 0
        untold, tip, shown_by = untold[has], tip[has], shown_by[has]
        # what read the longest list and then appended to it comes right after it, and before all others
        next_ = np.flatnonzero((version[read] == last[accesses.visit_cell[told]]) & (rank[read] < NEVER))
        after = np.full(self.cells, -1, np.int64)
        after[accesses.visit_cell[told[next_[::-1]]]] = next_[::-1]
        one = after[accesses.visit_cell[untold]]
        behind = one >= 0
        tip[behind] = self.cells + told[one[behind]]
        shown_by[behind] = reads[read[one[behind]]]
        chain = found.successions
        found.successions = Successions(
            np.concatenate((chain.earlier, before, version[read], tip)),
            np.concatenate((chain.later, later, self.cells + told, self.cells + untold)),
            np.concatenate((chain.by, accesses.txn[reads[shows]], accesses.visit_txn[told], accesses.txn[shown_by])),
            np.concatenate((chain.at, reads[shows], reads[read], shown_by)),
            np.concatenate(
                (
                    chain.differs,
                    np.ones(len(before) + len(told), np.int64),
                    np.full(len(untold), BLIND, np.int64),
                )
            ),
        )

    def _of_tip(self, reads: Ints, cell: Ints, base: Ints, wanted: Ints) -> Ints:
        """A committed read of the longest list of each wanted cell, -1 for none."""
        rank = self.rank[self.accesses.txn[reads]]
        longest = np.flatnonzero((base == self.trunk[cell]) & (rank < NEVER))
        longest = longest[np.argsort(-rank[longest], kind="stable")]
        found = np.full(self.cells, -1, np.int64)
        found[cell[longest]] = reads[longest]
        return found[wanted]

    def _overwriting(self, reads: Ints, version: Ints) -> None:
        """A transaction that reads a version and then appends makes a later one."""
        accesses, found = self.accesses, self.found
        visit = accesses.visit[reads]
        some = np.flatnonzero((self.of_visit[visit] > 0) & heads(visit))
        found.successions = Successions(
            version[some],
            self.cells + visit[some],
            accesses.txn[reads[some]],
            reads[some],
            np.ones(len(some), np.int64),
        )

    # what is told of faults

    def _earliest(self, cell: int, length: int) -> int:
        """The committed read, first in the hint order, whose base is so long at least (an index of the accesses)."""
        accesses = self.accesses
        here = np.flatnonzero((accesses.cell[self.reads] == cell) & (self.base >= length))
        rank = self.rank[accesses.txn[self.reads[here]]]
        return int(self.reads[here[int(rank.argmin())]])

    def _torn(self, at: int, writer: int) -> None:
        accesses = self.accesses
        txn = int(accesses.txn[at])
        text = (
            f"it read {self._told(at)} of {named(accesses, at)}, a part of what {accesses.log.ids[writer]!r} appended"
        )
        self.found.faults.append(Fault("intermediate-read", txn, at, text, writer))

    def _unwritten(self, cell: int, at: int, value: int, reader: int) -> None:
        """An answer has an element that no transaction appended which may have committed."""
        accesses, log = self.accesses, self.accesses.log
        item = shown(log.codes.value(value))
        subject, key = int(accesses.subject[cell]), int(accesses.key[cell])
        here = f"it read {item} in {named(accesses, reader)}"
        txn = int(accesses.txn[reader])
        aborted = aborted_writer(log, subject, key, value)
        if aborted >= 0:
            text = f"{here}, which only {log.ids[aborted]!r} appended, and that aborted"
            self.found.faults.append(Fault("aborted-read", txn, reader, text, aborted))
            return
        text = f"{here}, which nothing appended"
        self.found.faults.append(Fault("garbage-read", txn, reader, text, dirty=True))

    def _items(self, start: int, length: int) -> list[int]:
        found: list[int] = self.items[start : start + length].tolist()
        return found

    def _told(self, at: int) -> str:
        return shown(self.accesses.log.seen(int(self.accesses.op[at])))


def _with(misses: Misses, txn: int, at: int, visit: int) -> Misses:
    return Misses(np.append(misses.txn, txn), np.append(misses.at, at), np.append(misses.visit, visit))


def _first_of_each(cell: Ints, places: Ints) -> list[int]:
    """The first place of each cell."""
    _, first = np.unique(cell, return_index=True)
    found: list[int] = places[first].tolist()
    return found


def _portions(places: Ints, lengths: Ints) -> Iterator[Ints]:
    """The places, some at a time."""
    total = np.cumsum(lengths)
    first = 0
    while first < len(places):
        done = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, done + PORTION)))
        yield places[first:last]
        first = last
