"""Sets: an element that is there was added by a transaction that is seen; one that is not there, by none that is.

An element never goes, and adding never conflicts, so that this holds at every level at which a transaction reads one
state. Elements of a cell are put in a row, those first that most answers have: what comes behind the last one that an
answer has it lacks altogether (`Tails`). Does not know levels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sql_semantics.records import dataclass, field
from troubadour.facts.objects.accesses import Accesses, Flags, Ints, column, heads, spans
from troubadour.facts.objects.facts import Fault, Misses, Tails
from troubadour.facts.objects.names import FAULTS, aborted_writer, named, shown, soonest

LACKED = 1 << 23
"""Elements that answers lack before the last one that they have: beyond so many, no more are listed."""

PORTION = 1 << 20
"""Places of elements that are looked at at once, about."""


@dataclass(slots=True)
class SetFacts:
    """What the answers tell. `sees`: of elements that one other transaction added; `misses` and `tails`: of those that
    an answer lacks, whichever transactions added them."""

    sees: Misses = field(default_factory=Misses)
    misses: Misses = field(default_factory=Misses)
    tails: Tails = field(default_factory=Tails)
    faults: list[Fault] = field(default_factory=list)


def set_facts(accesses: Accesses) -> SetFacts:
    """What reads of sets and additions to them tell."""
    if not any(one.type == "set" for one in accesses.log.objects):
        return SetFacts()
    return _Maker(accesses).made()


class _Maker:
    def __init__(self, accesses: Accesses) -> None:
        self.accesses = accesses
        self.found = SetFacts()
        log = accesses.log
        first, items = column(log.sequences.first), column(log.sequences.items)
        sets = accesses.of_type("set")
        on = sets[accesses.cell]
        self.reads = np.flatnonzero(on & accesses.known)
        adds = np.flatnonzero(on & ~accesses.is_read)
        codes = accesses.value[self.reads]
        lengths = first[codes + 1] - first[codes]
        self.owner = np.repeat(np.arange(len(self.reads)), lengths)
        """Of each element of an answer the answer, a number among `reads`."""
        told = items[spans(first[codes], lengths)]
        initial_cell, initial = self._initial(np.flatnonzero(sets), first, items)
        added = accesses.value[adds]
        # an element is a number: of its cell and its value
        cell = np.concatenate((initial_cell, accesses.cell[adds], accesses.cell[self.reads[self.owner]]))
        values, numbered = np.unique(np.concatenate((initial, added, told)), return_inverse=True)
        pairs, element = np.unique(cell * max(1, len(values)) + numbered, return_inverse=True)
        self.cell_of = pairs // max(1, len(values))
        self.value_of = values[pairs % max(1, len(values))] if len(values) else values
        self.count = max(1, len(pairs))
        self.is_initial: Flags = np.zeros(len(pairs), np.bool_)
        self.is_initial[element[: len(initial)]] = True
        self.told = element[len(initial) + len(added) :]
        self._index(adds, element[len(initial) : len(initial) + len(added)])

    def _initial(self, cells: Ints, first: Ints, items: Ints) -> tuple[Ints, Ints]:
        """The elements that are there at first, with their cells."""
        codes = self.accesses.initial(cells)
        lengths = first[codes + 1] - first[codes]
        return np.repeat(cells, lengths), items[spans(first[codes], lengths)]

    def _index(self, adds: Ints, element: Ints) -> None:
        """Which visit adds what: each an element once, where it does so first."""
        accesses = self.accesses
        keys = accesses.visit[adds] * self.count + element
        self.add_keys, at = np.unique(keys, return_index=True)
        self.add_at = adds[at]
        self.add_visit, self.add_element = accesses.visit[self.add_at], element[at]
        size = len(self.is_initial)
        self.adders = np.bincount(self.add_element, minlength=size)
        """Of each element how many visits add it."""
        self.sum_of_adders = np.zeros(size, np.int64)
        np.add.at(self.sum_of_adders, self.add_element, self.add_visit)

    def _own(self, visit: Ints, element: Ints) -> Ints:
        """Where visits add elements first themselves (an index of the accesses), -1: nowhere."""
        keys = visit * self.count + element
        found = np.full(len(keys), -1, np.int64)
        if len(self.add_keys):
            at = np.minimum(np.searchsorted(self.add_keys, keys), len(self.add_keys) - 1)
            hit = self.add_keys[at] == keys
            found[hit] = self.add_at[at[hit]]
        return found

    def made(self) -> SetFacts:
        """All of it."""
        accesses = self.accesses
        read = self.reads[self.owner]
        own = self._own(accesses.visit[read], self.told)
        earlier = (own >= 0) & (own < read)
        self._twice()
        self._without_initial()
        self._without_own(earlier)
        self._unrepeated()
        # an element that is neither initial nor the reader's own is another's
        open_ = ~self.is_initial[self.told] & ~earlier
        later = open_ & (own >= 0)
        others = self.adders[self.told] - later
        nothing = np.flatnonzero(open_ & (others == 0))
        for place in nothing[soonest(accesses, read[nothing])].tolist():
            self._of_nothing(int(read[place]), int(self.told[place]), later=bool(later[place]))
        single = np.flatnonzero(open_ & (others == 1))
        visit = self.sum_of_adders[self.told[single]]
        mine = later[single]
        visit[mine] -= accesses.visit[read[single[mine]]]
        # of several elements that one visit added one tells it
        order = np.lexsort((visit, read[single]))
        kept = order[heads(read[single][order], visit[order])]
        reader = read[single[kept]]
        self.found.sees = Misses(accesses.txn[reader], reader, visit[kept])
        self._lacking(own)
        return self.found

    # what is lacking

    def _lacking(self, own: Ints) -> None:
        accesses = self.accesses
        popular = np.bincount(self.told, minlength=len(self.is_initial))
        row = np.flatnonzero((self.adders > 0) & ~self.is_initial)
        if not len(row) or not len(self.reads):
            return
        row = row[np.lexsort((-popular[row], self.cell_of[row]))]
        place = np.full(len(self.is_initial), -1, np.int64)
        place[row] = np.arange(len(row))
        cells = self.cell_of[row]
        read_cell = accesses.cell[self.reads]
        begin = np.searchsorted(cells, read_cell)
        end = np.searchsorted(cells, read_cell, side="right")
        last = begin - 1
        np.maximum.at(last, self.owner, place[self.told])
        # an element that the reader adds itself is not looked at beyond
        visit = accesses.visit[self.reads]
        mine_last = np.full(len(accesses.visit_txn), -1, np.int64)
        np.maximum.at(mine_last, self.add_visit, place[self.add_element])
        last = np.maximum(last, mine_last[visit])
        some = np.flatnonzero(last + 1 < end)
        by_place = np.argsort(place[self.add_element], kind="stable")
        by_place = by_place[place[self.add_element[by_place]] >= 0]
        counts = np.bincount(place[self.add_element[by_place]], minlength=len(row))
        firsts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        visits = self.add_visit[by_place]
        ends = np.ones(len(row), np.bool_)
        ends[:-1] = cells[1:] != cells[:-1]
        self.found.tails = Tails(accesses.txn[self.reads[some]], self.reads[some], last[some] + 1, firsts, visits, ends)
        self._listed(begin, last, row, place, firsts, visits)

    def _listed(self, begin: Ints, last: Ints, row: Ints, place: Ints, firsts: Ints, visits: Ints) -> None:
        """What answers lack before the last element that they have, one by one."""
        accesses = self.accesses
        has = np.sort(self.owner * self.count + self.told)
        parts: list[tuple[Ints, Ints]] = []
        total = 0
        for some in _portions(last + 1 - begin):
            answer = np.repeat(some, last[some] + 1 - begin[some])
            element = row[spans(begin[some], last[some] + 1 - begin[some])]
            keys = answer * self.count + element
            at = np.minimum(np.searchsorted(has, keys), max(0, len(has) - 1))
            lacks = has[at] != keys if len(has) else np.ones(len(keys), np.bool_)
            answer, element = answer[lacks], element[lacks]
            places = place[element]
            many = firsts[places + 1] - firsts[places]
            reader = np.repeat(self.reads[answer], many)
            visit = visits[spans(firsts[places], many)]
            other = accesses.visit[reader] != visit
            parts.append((reader[other], visit[other]))
            total += int(other.sum())
            if total > LACKED:
                break
        if parts:
            reader, visit = (np.concatenate(one) for one in zip(*parts, strict=True))
            self.found.misses = Misses(accesses.txn[reader], reader, visit)

    # faults

    def _twice(self) -> None:
        keys = np.sort(self.owner * self.count + self.told)
        again = np.unique(keys[1:][keys[1:] == keys[:-1]])
        for key in again[:FAULTS].tolist():
            at = int(self.reads[key // self.count])
            item = shown(self.accesses.log.codes.value(int(self.value_of[key % self.count])))
            self._fault("garbage-read", at, f"it read {self._told(at)} of {named(self.accesses, at)}, {item} twice")

    def _without_initial(self) -> None:
        wanted = np.bincount(self.cell_of[self.is_initial], minlength=len(self.accesses.key))
        of = self.is_initial[self.told]
        keys = np.unique(self.owner[of] * self.count + self.told[of]) // self.count
        there = np.bincount(keys, minlength=len(self.reads))
        for at in self._soonest(there < wanted[self.accesses.cell[self.reads]]):
            text = f"it read {self._told(at)} of {named(self.accesses, at)}, without what was there at first"
            self._fault("garbage-read", at, text)

    def _without_own(self, earlier: Flags) -> None:
        accesses = self.accesses
        marks = np.zeros(len(accesses.op) + 1, np.int64)
        marks[self.add_at + 1] = 1
        before = np.cumsum(marks)
        added = before[self.reads] - before[accesses.begin[accesses.visit[self.reads]]]
        keys = np.unique(self.owner[earlier] * self.count + self.told[earlier]) // self.count
        there = np.bincount(keys, minlength=len(self.reads))
        for at in self._soonest(there < added):
            text = f"it read {self._told(at)} of {named(accesses, at)}, without what it had added there itself"
            self._fault("internal-inconsistency", at, text)

    def _unrepeated(self) -> None:
        """Visits whose answers differ by more than what they added between."""
        accesses = self.accesses
        visit = accesses.visit[self.reads]
        for place in np.flatnonzero(visit[1:] == visit[:-1]).tolist():
            one, other = self._of(place), self._of(place + 1)
            if one == other:
                continue
            begin, end = int(self.reads[place]), int(self.reads[place + 1])
            between = {int(accesses.value[at]) for at in range(begin, end) if not accesses.is_read[at]}
            if one | between != other and len(self.found.faults) < FAULTS:
                text = f"it read {named(accesses, end)} as {self._told(begin)}, and later as {self._told(end)}"
                self._fault("non-repeatable-read", end, text, one_view=True)

    def _of(self, place: int) -> set[int]:
        begin, end = np.searchsorted(self.owner, (place, place + 1))
        return set(self.value_of[self.told[begin:end]].tolist())

    def _of_nothing(self, at: int, element: int, *, later: bool) -> None:
        accesses, log = self.accesses, self.accesses.log
        item = shown(log.codes.value(int(self.value_of[element])))
        here = f"it read {item} in {named(accesses, at)}"
        cell, txn = int(self.cell_of[element]), int(accesses.txn[at])
        if later:
            text = f"{here}, which it added itself, later"
            self.found.faults.append(Fault("future-read", txn, at, text, txn))
            return
        subject, key = int(accesses.subject[cell]), int(accesses.key[cell])
        aborted = aborted_writer(log, subject, key, int(self.value_of[element]))
        if aborted >= 0:
            text = f"{here}, which only {log.ids[aborted]!r} added, and that aborted"
            self.found.faults.append(Fault("aborted-read", txn, at, text, aborted))
            return
        self._fault("garbage-read", at, f"{here}, which nothing added")

    def _soonest(self, wrong: Flags) -> list[int]:
        at = self.reads[wrong]
        found: list[int] = at[soonest(self.accesses, at)].tolist()
        return found

    def _fault(self, anomaly: str, at: int, text: str, *, one_view: bool = False) -> None:
        txn = int(self.accesses.txn[at])
        self.found.faults.append(Fault(anomaly, txn, at, text, one_view=one_view, dirty=not one_view))

    def _told(self, at: int) -> str:
        return shown(self.accesses.log.seen(int(self.accesses.op[at])))


def _portions(lengths: Ints) -> Iterator[Ints]:
    """The numbers of some things, a portion at a time."""
    total = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, done + PORTION, side="right")))
        yield np.arange(first, last)
        first = last
