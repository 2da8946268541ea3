"""Anomalies that one answer shows, or two of one key, without a circle (Alvaro and Kingsbury 2020, *Elle*, sections
4.3.1 and 6.1; Berenson et al. 1995 for lost updates).

Answers of a list that the facts make nothing of are looked at element by element. Does not know circles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from sql_semantics.records import dataclass
from troubadour.anomalies.sums import named_sum
from troubadour.facts.objects.accesses import NEVER, Ints, column, heads, spans
from troubadour.facts.objects.facts import Facts, Fault
from troubadour.facts.objects.names import named, shown
from troubadour.isolation.models import ruled_out, stronger
from troubadour.model.objects import ABORTED, APPEND, ObjectLog

_NAMES = {
    "aborted-read": "G1a",
    "intermediate-read": "G1b",
    "internal-inconsistency": "internal",
    "non-repeatable-read": "internal",
}
"""What the anomalies of single answers are called here."""

PORTION = 1 << 16
"""Answers that are looked at at once."""

LIKE = 200
"""Anomalies of one name and one object that are looked for."""


@dataclass(frozen=True, slots=True)
class Direct:
    """An anomaly without a circle: the places of its transactions, the object, a sentence, and what it rules out; the
    operation whose `key` several answers of are against one another (an index of the accesses, -1: none)."""

    name: str
    transactions: tuple[int, ...]
    subject: int
    text: str
    rules_out: frozenset[str]
    key: int = -1


def direct_anomalies(facts: Facts, since: Ints) -> list[Direct]:
    """Those of a log, whose facts have every append extending the newest list. `since`: see
    `order.objects.known.Relation`."""
    scan = _Lists(facts, since)
    found = [*scan.found()]
    told = {(one.name, one.transactions[0]) for one in found}
    for fault in facts.faults:
        if since[fault.txn] < NEVER:
            one = _of_fault(facts, fault)
            if (one.name, one.transactions[0]) not in told:
                found.append(one)
    return [*found, *_lost_updates(facts, since)]


def _of_fault(facts: Facts, fault: Fault) -> Direct:
    log = facts.accesses.log
    name = "future-read" if fault.writer == fault.txn else _NAMES.get(fault.anomaly, fault.anomaly)
    if fault.one_view:
        out = ruled_out("internal")
    elif fault.dirty:
        out = ruled_out(name) | stronger({"read-uncommitted"})
    else:
        out = ruled_out("G1a")
    writer, text = fault.writer, f"{log.ids[fault.txn]}: {fault.text}"
    if name == "counter-anomaly":
        told = named_sum(log, facts.accesses, fault.at)
        name, writer = told.name, told.writer
        if writer >= 0:
            text += f" without {'a part of ' if name == 'G1b' else ''}what {log.ids[writer]!r} added"
            text += ", which aborted" if name == "G1a" else ""
    members = [fault.txn, *(one for one in (writer, fault.with_reader) if one >= 0 and one != fault.txn)]
    subject = log.subjects[int(facts.accesses.op[fault.at])]
    return Direct(name, tuple(members), subject, text, out)


def _lost_updates(facts: Facts, since: Ints) -> Iterator[Direct]:
    """Two transactions read one version, and both wrote another one."""
    accesses, reads = facts.accesses, facts.reads
    log = accesses.log
    if not len(reads.at):
        return
    last = accesses.last_change()
    visit = accesses.visit[reads.at]
    first = heads(visit)
    torn = np.unique(visit[1:][(visit[1:] == visit[:-1]) & (reads.version[1:] != reads.version[:-1])])
    lists = accesses.of_type("list")[accesses.cell[reads.at]]
    changed = np.maximum(last[visit], 0)
    differs = lists | (accesses.value[changed] != accesses.value[reads.at])
    some = np.flatnonzero(first & (last[visit] >= 0) & differs & (since[reads.txn] < NEVER) & ~np.isin(visit, torn))
    some = some[np.argsort(reads.version[some], kind="stable")]
    again = np.flatnonzero(reads.version[some][1:] == reads.version[some][:-1])
    counts: Counter[int] = Counter()
    for place in again.tolist():
        one, other = int(some[place]), int(some[place + 1])
        at = int(reads.at[one])
        subject = log.subjects[int(accesses.op[at])]
        counts[subject] += 1
        if counts[subject] > LIKE:
            continue
        ids = [str(log.ids[int(reads.txn[number])]) for number in (one, other)]
        seen = shown(log.seen(int(accesses.op[at])))
        text = f"{ids[0]} and {ids[1]} both read {seen} of {named(accesses, at)}, and both wrote there then"
        yield Direct(
            "lost-update", (int(reads.txn[one]), int(reads.txn[other])), subject, text, ruled_out("lost-update")
        )


@dataclass(frozen=True, slots=True)
class _Append:
    """One append of a value to a cell: its transaction, and whether that appends there later, too."""

    txn: int
    last: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of a list: its operation (an index of the accesses), its transaction, and its elements but for what
    that had appended itself."""

    at: int
    txn: int
    base: tuple[int, ...]


class _Lists:
    """Lists of which some answer is not of a version."""

    def __init__(self, facts: Facts, since: Ints) -> None:
        self.facts, self.since = facts, since
        self.accesses = facts.accesses
        self.log: ObjectLog = facts.accesses.log

    def found(self) -> Iterator[Direct]:
        """What their answers show."""
        cells = self._suspect()
        appends = self._appends(cells)
        counts: Counter[tuple[str, int]] = Counter()
        for cell in cells:
            subject = int(self.accesses.subject[cell])
            for one in self._of_cell(cell, appends.get(cell, {})):
                counts[one.name, subject] += 1
                if counts[one.name, subject] <= LIKE:
                    yield one

    def _suspect(self) -> list[int]:
        """Cells with an answer that is of no version, or whose longest answer has an element twice."""
        accesses, log = self.accesses, self.log
        on = accesses.of_type("list")[accesses.cell]
        reads = np.flatnonzero(on & accesses.known)
        if not len(reads):
            return []
        told = np.zeros(len(accesses.op), np.bool_)
        told[self.facts.reads.at] = True
        cells = {int(cell) for cell in np.unique(accesses.cell[reads[~told[reads]]])}
        first, items = column(log.sequences.first), column(log.sequences.items)
        code = accesses.value[reads]
        order = np.lexsort((first[code + 1] - first[code], accesses.cell[reads]))
        ends = np.append(heads(accesses.cell[reads][order])[1:], True)
        for read in reads[order[ends]].tolist():
            begin, end = first[accesses.value[read]], first[accesses.value[read] + 1]
            if end - begin > 1 and len(np.unique(items[begin:end])) < end - begin:
                cells.add(int(accesses.cell[read]))
        cells |= self._early(reads, first, items)
        return sorted(cells)

    def _early(self, reads: Ints, first: Ints, items: Ints) -> set[int]:
        """Cells with an answer that has what its transaction appended there later."""
        accesses = self.accesses
        last = accesses.last_change()[accesses.visit[reads]]
        some = np.flatnonzero(last > reads)
        found: set[int] = set()
        for portion in np.array_split(some, len(some) // PORTION + 1):
            code = accesses.value[reads[portion]]
            lengths = first[code + 1] - first[code]
            own = np.repeat(accesses.value[last[portion]], lengths)
            hit = np.repeat(reads[portion], lengths)[items[spans(first[code], lengths)] == own]
            found |= {int(cell) for cell in np.unique(accesses.cell[hit])}
        return found

    def _appends(self, cells: Sequence[int]) -> dict[int, dict[int, list[_Append]]]:
        """By cell and value its appends, those of transactions that aborted among them."""
        log, accesses = self.log, self.accesses
        cell_of = {(int(accesses.subject[cell]), int(accesses.key[cell])): cell for cell in cells}
        keys = np.array([key for _, key in cell_of], np.int64)
        kinds = np.frombuffer(log.kinds, np.uint8) if len(log.kinds) else np.zeros(0, np.uint8)
        near = np.flatnonzero((kinds == APPEND) & np.isin(column(log.keys), keys))
        owners = (np.searchsorted(column(log.first), near, side="right") - 1).tolist()
        found: dict[int, dict[int, list[_Append]]] = {}
        later: set[tuple[int, int]] = set()
        for op, txn in zip(near[::-1].tolist(), owners[::-1], strict=True):
            cell = cell_of.get((log.subjects[op], log.keys[op]))
            if cell is not None:
                append = _Append(txn, (cell, txn) not in later)
                later.add((cell, txn))
                found.setdefault(cell, {}).setdefault(log.values[op], []).append(append)
        return found

    def _of_cell(self, cell: int, appends: dict[int, list[_Append]]) -> Iterator[Direct]:
        answers = self._answers(cell)
        subject, key = int(self.accesses.subject[cell]), int(self.accesses.key[cell])
        definition = self.log.objects[subject]
        initial = Counter(self.log.sequences.at(definition.initial(key)))
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for answer in answers:
            for one in self._of_answer(answer, subject, appends, initial):
                if (one.name, one.transactions) not in seen:
                    seen.add((one.name, one.transactions))
                    yield one
        yield from self._incompatible(answers, subject, appends)

    def _answers(self, cell: int) -> list[_Answer]:
        accesses, log = self.accesses, self.log
        begin, end = np.searchsorted(accesses.cell, (cell, cell + 1))
        found = []
        for at in range(int(begin), int(end)):
            txn = int(accesses.txn[at])
            if not accesses.known[at] or self.since[txn] >= NEVER:
                continue
            visit = int(accesses.begin[accesses.visit[at]])
            own = [int(accesses.value[one]) for one in range(visit, at) if not accesses.is_read[one]]
            items = tuple(log.sequences.at(int(accesses.value[at])))
            if len(items) >= len(own) and list(items[len(items) - len(own) :]) == own:
                found.append(_Answer(at, txn, items[: len(items) - len(own)]))
        return found

    def _of_answer(
        self, answer: _Answer, subject: int, appends: dict[int, list[_Append]], initial: Counter[int]
    ) -> Iterator[Direct]:
        log = self.log
        here = f"{log.ids[answer.txn]}: it read {shown(log.seen(int(self.accesses.op[answer.at])))} of "
        here += named(self.accesses, answer.at)
        dirty: list[tuple[int, int]] = []
        for value, times in Counter(answer.base).items():
            by = appends.get(value, [])
            item = shown(log.codes.value(value))
            if times > len(by) + initial[value] and (by or initial[value]):
                text = f"{here}, which has {item} {times} times, and it was appended {len(by)} times"
                yield Direct("duplicate-elements", (answer.txn,), subject, text, ruled_out("duplicate-elements"))
            if not by and not initial[value]:
                text = f"{here}, whose {item} nothing appended"
                yield Direct("garbage-read", (answer.txn,), subject, text, ruled_out("garbage-read"))
            if len(by) == 1 and not initial[value]:
                writer = by[0].txn
                if log.statuses[writer] == ABORTED:
                    text = f"{here}, whose {item} only {log.ids[writer]!r} appended, and that aborted"
                    yield Direct("G1a", (answer.txn, writer), subject, text, ruled_out("G1a"))
                    dirty.append((answer.base.index(value), writer))
                elif writer == answer.txn:
                    text = f"{here}, which has {item}, what it appended itself, later"
                    yield Direct("future-read", (answer.txn,), subject, text, ruled_out("future-read"))
                elif answer.base[-1] == value and not by[0].last:
                    text = f"{here}, a part of what {log.ids[writer]!r} appended"
                    yield Direct("G1b", (answer.txn, writer), subject, text, ruled_out("G1b"))
        for place, aborted in dirty:
            yield from self._dirty_update(answer, place, aborted, subject, appends, here)

    def _dirty_update(
        self, answer: _Answer, place: int, aborted: int, subject: int, appends: dict[int, list[_Append]], here: str
    ) -> Iterator[Direct]:
        """A committed append behind one that aborted."""
        for value in answer.base[place + 1 :]:
            by = appends.get(value, [])
            if len(by) == 1 and by[0].txn != aborted and self.since[by[0].txn] < NEVER:
                log = self.log
                text = (
                    f"{here}: {log.ids[by[0].txn]!r} appended {shown(log.codes.value(value))} behind what "
                    f"{log.ids[aborted]!r} appended, which aborted"
                )
                yield Direct("dirty-update", (aborted, by[0].txn), subject, text, ruled_out("dirty-update"))
                return

    def _incompatible(
        self, answers: Sequence[_Answer], subject: int, appends: dict[int, list[_Append]]
    ) -> Iterator[Direct]:
        """Two answers none of which is a beginning of the other."""
        if not answers:
            return
        longest = max(answers, key=lambda one: len(one.base))
        told: set[tuple[int, ...]] = set()
        for answer in answers:
            base = answer.base
            if base == longest.base[: len(base)] or base in told or answer.txn == longest.txn:
                continue
            told.add(base)
            place = next(n for n, both in enumerate(zip(base, longest.base, strict=False)) if both[0] != both[1])
            log = self.log
            one, other = (str(log.ids[it.txn]) for it in (answer, longest))
            lists = [shown(log.seen(int(self.accesses.op[it.at]))) for it in (answer, longest)]
            text = (
                f"{named(self.accesses, answer.at)} was {lists[0]} when {one} read it and {lists[1]} when {other} did: "
                "no list that only grows is both"
            )
            # one append leaves one list; that an update got lost explains the others
            both = set(base[place:]) & set(longest.base[place:])
            twice = any(len(appends.get(value, [])) == 1 for value in both)
            out = ruled_out("G1a") if twice else ruled_out("incompatible-order")
            yield Direct("incompatible-order", (answer.txn, longest.txn), subject, text, out, answer.at)
