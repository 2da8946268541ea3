"""A log of operations on objects, decided by what its answers tell of its order; None where that does not decide it.

A circle that the level forbids, or an answer of no version, refutes every order; an order that has all that is known
is a candidate, which replay judges (Kingsbury and Alvaro 2020, *Elle*; Biswas and Enea 2019). What is left open here is
audited as the SQL that it stands for. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice

import msgspec
import numpy as np

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, replace
from troubadour.audit.objects.account import Finding, account_of_circle, account_of_fault
from troubadour.audit.objects.candidates import candidates, sorted_events
from troubadour.audit.objects.links import links_of
from troubadour.audit.objects.placed import placed
from troubadour.audit.objects.second import core_log
from troubadour.audit.objects.timestamps import check_writers, refuted, refuted_by_some, rules_of
from troubadour.facts.objects.accesses import NEVER, Accesses, Ints, accesses_of, column, ranks
from troubadour.facts.objects.facts import Facts, Fault
from troubadour.facts.objects.gather import Derived
from troubadour.facts.objects.totals import total_faults
from troubadour.facts.objects.written import read_of_unknown
from troubadour.formats.objects.expand import row_names
from troubadour.formats.objects.read import kept
from troubadour.isolation.levels import LEVELS, Level, Scope
from troubadour.isolation.models import weaker
from troubadour.model.breaches import Breaches
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, UNKNOWN, UNREAD, ObjectLog
from troubadour.model.verdict import CoreScope, Coverage, Status, Verdict
from troubadour.model.verdict import Scope as Excluded
from troubadour.model.witness import RowRead, TransactionView, Views, Witness
from troubadour.order.objects.arrays import lightest, shortest_circle
from troubadour.order.objects.counted_times import out_of_time
from troubadour.order.objects.known import Relation, Why, is_general, is_orderly, known_order
from troubadour.problem.budget import FEW, SOME
from troubadour.proof.objects.dependencies import is_shown
from troubadour.replay.objects import Reading, by_timestamps, explains
from troubadour.timestamps.offline import gaps_of, ledger_of

Confirm = Callable[[ObjectLog, str], Status]
"""f(log, level): what the audit of a log's SQL says of it."""


FEW_ENOUGH = 3
"""Transactions of a shortest circle of which each is needed: fewer make none."""

NOT_MINIMAL = "the core contradicts itself, but could not be shown to be minimal"

ASSUMED = "of the rest of the log the core takes what others wrote to the keys that it names, whatever they read"

UNEXPLAINED = "that all before the failing transaction can be explained was not shown"


class Disagreement(AssertionError):
    """The second decision of a core says the opposite of the first: a fault of this program."""


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """`isolation`: of every transaction (None: each its own, else the header's). `unobserved`: a log may be correct of
    which nothing was observed. `minimum`: committed transactions of which something has to be judged."""

    isolation: str | None = None
    unobserved: bool = False
    minimum: int = 0
    visible: bool = False
    gaps: bool = False


CHEAP = 4
"""Candidates that need no search: the hint order, one that has all edges, and two by versions."""


class AskedOften(Derived):
    """The facts of one log that is asked about at several levels, and the order that replay `accepted` last."""

    accepted: Reading | None = None


def decide_objects(
    log: ObjectLog, options: ObjectOptions, confirm: Confirm, derived: Derived | None = None
) -> Verdict | None:
    """The verdict of a log, None where facts and order do not decide it. `confirm` decides the core a second time.
    `derived`: its facts, where several levels are asked for.

    Raises LogError where the log cannot be used, Disagreement where the second decision contradicts the first.
    """
    begun = time.perf_counter()
    level = _level_of(log, options.isolation)
    if not _is_judged(log, options):
        return None
    if level is None:
        between = _between(log, options.isolation, confirm, derived)
        found = None if between is None else between.made()
    elif any(definition.unknown for definition in log.objects):
        found = None if level.ordered else _Decision(log, level, options.isolation, confirm).by_totals()
    elif level.ordered:
        check_writers(log, level)
        found = _ByTimestamps(log, level, options, confirm).made()
    else:
        found = _Decision(log, level, options.isolation, confirm, derived=derived).made()
    if found is None:
        return None
    seconds = round(time.perf_counter() - begun, 4)
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    return Verdict(**{**fields, "seconds": seconds})


def with_violations(log: ObjectLog, options: ObjectOptions, verdict: Verdict) -> Verdict:
    """A verdict at a level that goes by the timestamps, with all that fails where something does, and a note where
    numbers of sessions are missing."""
    level = _level_of(log, options.isolation)
    if level is None or not level.ordered or any(definition.unknown for definition in log.objects):
        return verdict
    missing = gaps_of(log) if not options.gaps else None
    if missing is not None:
        verdict = msgspec.structs.replace(verdict, notes=(*verdict.notes, missing))
    if verdict.status is not Status.VIOLATION or verdict.violations is not None:
        return verdict
    found = ledger_of(log, rules_of(level, visible=options.visible, gaps=options.gaps)).breaches()
    return msgspec.structs.replace(verdict, violations=found) if found.count else verdict


def _level_of(log: ObjectLog, isolation: str | None) -> Level | None:
    """The one level of all transactions, where it is general; else None."""
    if not len(log):
        return None
    names = _names_of(log, isolation)
    if len(names) != 1:
        return None
    level = LEVELS.get(names.pop() or "")
    return level if level is not None and (level.ordered or is_orderly(level)) else None


def _names_of(log: ObjectLog, isolation: str | None) -> set[str | None]:
    """The levels that transactions are held to."""
    return {isolation or log.level_names[one] or log.header.isolation for one in set(log.levels)}


def _between(log: ObjectLog, isolation: str | None, confirm: Confirm, derived: Derived | None) -> _Between | None:
    """The decision at general levels that are not told by an order of events, or are several."""
    names = sorted(name or "" for name in _names_of(log, isolation))
    if not len(log) or any(name not in LEVELS or not is_general(LEVELS[name]) for name in names):
        return None
    if any(definition.unknown for definition in log.objects):
        return None
    below = [one for one in LEVELS.values() if is_orderly(one) and all(one.name in weaker(name) for name in names)]
    strongest = [one for one in below if not any(one.name in weaker(other.name) for other in below if other is not one)]
    if not strongest:
        return None
    return _Between(log, names, isolation, confirm, strongest[-1], derived=derived)


def _is_judged(log: ObjectLog, options: ObjectOptions) -> bool:
    """Whether enough was observed."""
    if log.header.gaps:
        return False
    busy = np.diff(np.frombuffer(log.first, np.int64)) > 0
    judged = int((busy & (np.frombuffer(log.statuses, np.uint8) == COMMITTED)).sum())
    return judged >= max(1, options.minimum) and (options.unobserved or _observed(log) > 0)


def _observed(log: ObjectLog) -> int:
    if not len(log.kinds):
        return 0
    reads = np.frombuffer(log.kinds, np.uint8) == READ
    return int((reads & (np.frombuffer(log.values, np.int64) != UNREAD)).sum())


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """A circle's edges or a fault, and how many committed transactions the shortest prefix has that shows it."""

    weight: int
    circle: list[int] | None
    fault: Fault | None = None


class _Decision:
    """One log at one level."""

    def __init__(
        self,
        log: ObjectLog,
        level: Level,
        isolation: str | None,
        confirm: Confirm,
        whole: ObjectLog | None = None,
        derived: Derived | None = None,
    ) -> None:
        """`whole`: the log of which this one is a prefix, where it is. `derived`: its facts, as far as they are."""
        self.derived = Derived(log) if derived is None else derived
        self.log, self.level, self.isolation, self.confirm = log, level, isolation, confirm
        self.whole = log if whole is None else whole
        self.grows = _grows(level)
        self.called = level.name
        self.is_sooner = False
        """Whether shorter prefixes were looked at already."""

    def _like(self, log: ObjectLog) -> _Decision:
        """Another log, or a prefix of the whole one, at the same levels."""
        return _Decision(log, self.level, self.isolation, self.confirm, self.whole)

    def made(self) -> Verdict | None:
        """The verdict; None where nothing is decided."""
        known = self._by_timestamps() or self._likely()
        if known is not None:
            return known
        facts = self.derived.facts(grows=self.grows)
        relation = known_order(facts, self.level)
        order = sorted_events(facts, relation)
        found = self._contradiction(facts, relation, acyclic=order is not None)
        if found is None:
            return self._explained(facts, relation, order)
        explained, smaller = self._prefix(relation, found.weight)
        if smaller is not None:
            return smaller
        if not explained and self.whole.count(COMMITTED) <= SOME:
            return None
        notes = () if explained else (UNEXPLAINED,)
        if found.circle is not None:
            return self._refuted_by_circle(facts, relation, notes, found.weight, found.circle)
        assert found.fault is not None
        return self._refuted_by_fault(facts.accesses, notes, found.weight, found.fault)

    def _contradiction(self, facts: Facts, relation: Relation, *, acyclic: bool = False) -> _Contradiction | None:
        """What contradicts the level in the shortest prefix; `acyclic`: the edges have no circle."""
        fault = self._first_fault(facts, relation)
        circle = None
        if not self.level.dirty and not acyclic:
            circle = self._circle(relation, int(NEVER) if fault is None else fault[0])
        if circle is not None:
            return _Contradiction(*circle)
        return None if fault is None else _Contradiction(fault[0], None, fault[1])

    def by_totals(self) -> Verdict | None:
        """A violation, where what nothing changes the sum of has another sum; None else. That holds whatever was there
        at first."""
        if not self.grows:
            return None
        rank = ranks(self.log)
        accesses = accesses_of(self.log)
        faults = [one for one in total_faults(accesses, rank) if not (one.one_view and self.level.scope is Scope.ROW)]
        if not faults or self.level.dirty:
            return None
        fault = min(faults, key=lambda one: one.since)
        return self._refuted_by_fault(accesses, (UNEXPLAINED,), fault.since, fault)

    def _prefix(self, relation: Relation, weight: int) -> tuple[bool, Verdict | None]:
        """Whether the prefix before a refuted one is explained; else its violation, where it has one that is found."""
        happened = np.flatnonzero(relation.since < weight)
        if not len(happened):
            return True, None
        before = _limited(self.log, weight)
        if self._explains(_some(before, happened)):
            return True, None
        sooner = None if self.is_sooner else self._sooner(weight)
        other = None if sooner is None else sooner.made()
        other = other or self._like(before).made()
        if other is None:
            return False, None
        return (True, None) if other.status is Status.CORRECT else (False, other)

    def _sooner(self, weight: int) -> _Decision | None:
        """The decision of a prefix of less than some weight that contradicts the level, too, a short one if there are
        several; None where none is found. A prefix may show what the whole log does not, as a key whose answers
        contradict one another tells nothing: a fourth is looked at, a fourth of that and so on, then halves. Of what
        comes later no answers are known."""
        found: _Decision | None = None
        free, bound, step = 0, weight, 4
        while bound - free > max(1, bound // FEW):
            size = free + (bound - free) // step
            other = self._like(_blind(self.log, size + 1))
            facts = other.derived.facts(grows=self.grows)
            told = other._contradiction(facts, known_order(facts, self.level))
            if told is None:
                free, step = size, 2
            else:
                found, bound = other, told.weight
        if found is not None:
            found.is_sooner = True
        return found

    def _explains(self, log: ObjectLog) -> bool:
        """Whether a candidate explains another log."""
        other = self._like(log)
        if other._by_timestamps() is not None:
            return True
        facts = other.derived.facts(grows=self.grows)
        relation = known_order(facts, self.level)
        return other._explained(facts, relation, sorted_events(facts, relation)) is not None

    def _first_fault(self, facts: Facts, relation: Relation) -> tuple[int, Fault] | None:
        """The fault that the shortest prefix has, with its number of committed transactions."""
        found: tuple[int, Fault] | None = None
        timed = out_of_time(facts) if self.level.real_time else []
        for fault in (*facts.faults, *timed):
            if (fault.one_view and self.level.scope is Scope.ROW) or (self.level.dirty and not fault.dirty):
                continue
            since = max(int(relation.since[fault.txn]), fault.since)
            if since < NEVER and (found is None or since < found[0]):
                found = since, fault
        return found

    def _circle(self, relation: Relation, bound: int) -> tuple[int, list[int]] | None:
        """The least weight below a bound of a circle, and the edges of a shortest one of that weight."""
        links = relation.links
        within = np.flatnonzero(links.weight < bound)
        found = lightest(links.only(within))
        if found is None:
            return None
        weight, edges = found
        kept = within[edges]
        part = links.only(kept)
        cost = (relation.why[kept] != Why.INSIDE).astype(np.int64).tolist()
        starts = np.flatnonzero(part.weight == weight)
        circle = shortest_circle(part, cost, starts)
        return weight, kept[np.array(circle, np.int64)].tolist()

    # verdicts

    def _refuted_by_circle(
        self, facts: Facts, relation: Relation, notes: tuple[str, ...], weight: int, edges: list[int]
    ) -> Verdict | None:
        circle = links_of(facts, relation, edges)
        members = {link.earlier for link in circle} | {link.by for link in circle if link.by >= 0}
        told = [at for link in circle for at in (link.at, link.more) if at >= 0]
        self._confirm(members, told)
        if not is_shown(self.log, self.level, circle):
            return None
        if len(members) > FEW_ENOUGH or any(link.by >= 0 for link in circle):
            notes = (*notes, NOT_MINIMAL)
        if self._have_others(members, told):
            notes = (*notes, ASSUMED)
        return self._violation(weight, members, account_of_circle(self.log, circle), notes)

    def _refuted_by_fault(
        self, accesses: Accesses, notes: tuple[str, ...], weight: int, fault: Fault
    ) -> Verdict | None:
        members = {fault.txn, *fault.others}
        if fault.writer >= 0 and self.log.statuses[fault.writer] != ABORTED:
            members.add(fault.writer)
        op, log = int(accesses.op[fault.at]), self.log
        told = [op]
        if fault.whole:
            own = range(log.first[fault.txn], log.first[fault.txn + 1])
            told = [one for one in own if log.subjects[one] == log.subjects[op]]
        self._confirm(members | {fault.writer} - {-1}, told)
        if len(members) > FEW_ENOUGH:
            notes = (*notes, NOT_MINIMAL)
        if fault.anomaly != "internal-inconsistency" and self._have_others(members, told):
            notes = (*notes, ASSUMED)
        return self._violation(weight, members, account_of_fault(self.log, accesses, fault), notes)

    def _have_others(self, members: set[int], operations: list[int]) -> bool:
        """Whether others than the members, that did not abort, change the keys of some operations."""
        log = self.log
        change = np.frombuffer(log.kinds, np.uint8) != READ
        keys, subjects = np.frombuffer(log.keys, np.int64), np.frombuffer(log.subjects, np.uint16)
        for at in set(operations):
            places = np.flatnonzero(change & (keys == log.keys[at]) & (subjects == log.subjects[at]))
            owners = np.unique(np.searchsorted(np.frombuffer(log.first, np.int64), places, side="right") - 1).tolist()
            if any(owner not in members and log.statuses[owner] != ABORTED for owner in owners):
                return True
        return False

    def _confirm(self, members: set[int], operations: list[int]) -> None:
        """Decide the core a second time. Raises Disagreement."""
        core = core_log(self.log, members, operations)
        if core is not None and self.confirm(core, self.level.name) is Status.CORRECT:
            names = ", ".join(str(self.log.ids[one]) for one in sorted(members))
            raise Disagreement(f"the core {names} contradicts {self.level.name}, but its SQL does not")

    def _violation(
        self,
        weight: int,
        members: Iterable[int],
        found: Finding,
        notes: tuple[str, ...],
        engine: str = "dependencies",
        violations: Breaches | None = None,
    ) -> Verdict:
        log = self.log
        place = {int(one): number for number, one in enumerate(log.order)}
        core = sorted(members, key=place.__getitem__)
        committed = [one for one in log.order if log.statuses[one] == COMMITTED]
        return self._verdict(
            Status.VIOLATION,
            weight - 1,
            engine,
            failing_transaction=log.ids[committed[weight - 1]],
            core=tuple(log.ids[one] for one in core),
            core_scope=CoreScope.EVERY_ORDER,
            scope=Excluded.EVERY_ORDER,
            explanation=found.explanation,
            account=found.account,
            violations=violations,
            notes=notes,
        )

    def _by_timestamps(self) -> Verdict | None:
        """Correct, where the database's own timestamps explain the log: cheaper than any fact."""
        log = self.log
        if not len(log.commits) or max(log.commits) == MISSING:
            return None
        for one in _fates(log):
            reading = by_timestamps(one, self.isolation)
            verdict = self._judged(reading, "timestamps") if isinstance(reading, Reading) else None
            if verdict is not None:
                return verdict
        among = None if self.level.scope is Scope.ROW else placed(log, serial=self.level.horizon.latest)
        return None if among is None else self._judged(among, "timestamps")

    def _likely(self) -> Verdict | None:
        """Correct, where an order that explains the log at another level does so here, or one that keeps sessions and
        times, too: such a one is near that of the database, and serves other levels."""
        if isinstance(self.derived, AskedOften) and self.derived.accepted is not None:
            return self._judged(self.derived.accepted)
        facts = self.derived.facts(grows=self.grows)
        if facts.faults:
            return None
        relation = known_order(facts, replace(self.level, session=True, real_time=True))
        order = sorted_events(facts, relation)
        return (
            None
            if order is None
            else self._first_accepted(islice(candidates(facts, relation, self.level, order), CHEAP))
        )

    def _explained(self, facts: Facts, relation: Relation, order: Ints | None) -> Verdict | None:
        verdict = self._first_accepted(candidates(facts, relation, self.level, order))
        if verdict is not None:
            return verdict
        if self.level.scope is not Scope.ROW:
            above = _above([self.level.name])
            return self._explained_at(one for one in above if one is not self.level and _grows(one))
        if self.grows:
            return None
        facts = self.derived.facts(grows=True)
        relation = known_order(facts, self.level, newest=True)
        return self._first_accepted(candidates(facts, relation, self.level, sorted_events(facts, relation)))

    def _explained_at(self, levels: Iterable[Level]) -> Verdict | None:
        """Correct, where replay accepts an order that a stronger level has."""
        for level in levels:
            facts = self.derived.facts(grows=_grows(level))
            relation = known_order(facts, level)
            verdict = self._first_accepted(candidates(facts, relation, level, sorted_events(facts, relation)))
            if verdict is not None:
                return verdict
        return None

    def _first_accepted(self, readings: Iterable[Reading]) -> Verdict | None:
        return next((verdict for one in readings if (verdict := self._judged(one)) is not None), None)

    def _judged(self, reading: Reading, engine: str = "dependencies") -> Verdict | None:
        """Correct, where replay accepts a reading of the log."""
        try:
            if not explains(self.log, reading, self.isolation):
                return None
        except Unsupported:
            return None
        if isinstance(self.derived, AskedOften) and self.log is self.whole:
            self.derived.accepted = reading
        witness = _witness(self.log, reading, self.isolation)
        return self._verdict(Status.CORRECT, self.whole.count(COMMITTED), engine, witness=witness)

    def _verdict(self, status: Status, verified: int, engine: str = "dependencies", **fields: object) -> Verdict:
        log = self.whole
        count = len(log.kinds)
        return Verdict(
            status=status,
            isolation=self.called,
            total=len(log),
            committed=log.count(COMMITTED),
            aborted=log.count(ABORTED),
            unknown=log.count(UNKNOWN),
            verified_prefix=verified,
            engine=engine,
            coverage=Coverage(count, count, _observed(log)),
            **fields,  # type: ignore[arg-type]
        )


class _Between(_Decision):
    """At levels between some that are told by an order of events: what the weaker one excludes is refuted, and an order
    that a stronger one has explains the log where replay accepts it at the levels themselves."""

    def __init__(
        self,
        log: ObjectLog,
        names: Sequence[str],
        isolation: str | None,
        confirm: Confirm,
        weak: Level,
        whole: ObjectLog | None = None,
        derived: Derived | None = None,
    ) -> None:
        """`names`: the levels; `weak`: one that they all imply."""
        super().__init__(log, weak, isolation, confirm, whole, derived)
        self.names = names
        self.called = ", ".join(names)

    def _like(self, log: ObjectLog) -> _Decision:
        return _Between(log, self.names, self.isolation, self.confirm, self.level, self.whole)

    def _explained(self, facts: Facts, relation: Relation, order: Ints | None) -> Verdict | None:
        return self._explained_at(_above(self.names))


def _above(names: Sequence[str]) -> list[Level]:
    """The weakest levels that are told by an order of events and imply some others, the weakest of them at which every
    change acts on the newest version, and the weakest at which every read does, too: fewer orders, sooner found."""
    some = [one for one in LEVELS.values() if is_orderly(one) and all(name in weaker(one.name) for name in names)]
    growing = [one for one in some if _grows(one)]
    serial = [one for one in growing if one.horizon.latest]
    return [*dict.fromkeys((*_weakest(some), *_weakest(growing), *_weakest(serial)))]


def _weakest(levels: Sequence[Level]) -> list[Level]:
    return [one for one in levels if not any(other.name in weaker(one.name) for other in levels if other is not one)]


def _grows(level: Level) -> bool:
    """Whether every change acts on the newest version."""
    return level.horizon.latest or level.write_conflict


class _ByTimestamps(_Decision):
    """At a level that goes by the timestamps: they explain a log, or what they contradict is told."""

    def __init__(self, log: ObjectLog, level: Level, options: ObjectOptions, confirm: Confirm) -> None:
        super().__init__(log, level, options.isolation, confirm)
        self._rules = rules_of(level, visible=options.visible, gaps=options.gaps)
        self._strict = options.visible or options.gaps

    def made(self) -> Verdict | None:
        """The verdict; None where it hangs on equal timestamps, unknown outcomes or readers without timestamps."""
        if not self._strict:
            timed = self._by_timestamps()
            if timed is not None:
                return timed
        found = refuted(self.log, self._rules)
        if found is None:
            return self._by_timestamps() if self._strict else None
        log = self.log
        notes: tuple[str, ...] = ()
        if not self._strict:
            before = _limited(log, found.weight)
            certain = np.flatnonzero(np.frombuffer(before.statuses, np.uint8) == COMMITTED)
            kept = np.union1d(certain, np.array(sorted(read_of_unknown(log)), np.int64))
            if len(kept) and not self._prefix_is_explained(_some(before, kept)):
                if log.count(COMMITTED) <= SOME:
                    return None
                notes = (UNEXPLAINED,)
            self._confirm(set(found.members), list(found.operations))
        finding = Finding(found.account, found.explanation)
        return self._violation(found.weight, found.members, finding, notes, "timestamps", found.violations)

    def by_some(self, counts: Mapping[str, int]) -> Verdict | None:
        """The violation of the log of which this one is a part."""
        found = refuted_by_some(self.log, self._rules, counts)
        if found is None:
            return None
        if not self._strict:
            self._confirm(set(found.members), list(found.operations))
        finding = Finding(found.account, found.explanation)
        return self._violation(found.weight, found.members, finding, (), "timestamps", found.violations)

    def _prefix_is_explained(self, log: ObjectLog) -> bool:
        reading = by_timestamps(log, self.isolation)
        if isinstance(reading, Reading) and explains(log, reading, self.isolation):
            return True
        among = placed(log, serial=self.level.horizon.latest)
        return among is not None and explains(log, among, self.isolation)


def refuted_part(log: ObjectLog, options: ObjectOptions, confirm: Confirm, counts: Mapping[str, int]) -> Verdict | None:
    """The violation of a log by timestamps of which this is the part about some keys, with the numbers of this part;
    see `refuted_by_some`. None where it is not decided. Raises Disagreement."""
    level = _level_of(log, options.isolation)
    if level is None or not level.ordered or not _is_judged(log, options):
        return None
    return _ByTimestamps(log, level, options, confirm).by_some(counts)


def _fates(log: ObjectLog) -> Iterator[ObjectLog]:
    """The log, and as it is where those of unknown outcome did not happen of which nothing was read."""
    yield log
    read = read_of_unknown(log)
    statuses = np.frombuffer(log.statuses, np.uint8)
    unread = (statuses == UNKNOWN) & (np.frombuffer(log.commits, np.int64) != MISSING)
    unread[list(read)] = False
    if unread.any():
        found = copy(log)
        found.statuses = bytearray(np.where(unread, ABORTED, statuses).astype(np.uint8).tobytes())
        yield found


def _limited(log: ObjectLog, weight: int) -> ObjectLog:
    """The log in which only the first committed transactions certainly happened, fewer than `weight`."""
    found = copy(log)
    statuses = bytearray(log.statuses)
    rank = ranks(log)
    for place in np.flatnonzero((rank >= weight) & (rank < NEVER)).tolist():
        statuses[place] = UNKNOWN
    found.statuses = statuses
    return found


def _blind(log: ObjectLog, weight: int) -> ObjectLog:
    """As `_limited`, and nothing is known of what the others read: what that contradicts the log does, too."""
    found = _limited(log, weight)
    rank = ranks(log)
    later = np.repeat((rank >= weight) & (rank < NEVER), np.diff(column(log.first)))
    values = column(log.values).copy()
    values[later & (np.frombuffer(log.kinds, np.uint8) == READ)] = UNREAD
    found.values = array("q", values.tobytes())
    return found


def _some(log: ObjectLog, places: Ints) -> ObjectLog:
    """Some of the transactions of a log, in its hint order."""
    chosen = places.tolist()
    number = {place: at for at, place in enumerate(chosen)}
    found = kept(log, chosen)
    found.order.extend(number[place] for place in log.order if place in number)
    return found


def _witness(log: ObjectLog, reading: Reading, isolation: str | None) -> Witness:
    order = [log.ids[place] for place in reading.places.tolist()]
    states = reading.states.tolist()
    if not len(reading.moved[0]) and not len(reading.hidden[0]):
        return Witness(log.digest, isolation, order, Views(states))
    exceptions: dict[int, list[RowRead]] = {}
    names = row_names(log)
    first = np.frombuffer(log.first, np.int64)
    owners = (np.searchsorted(first, reading.moved[0], side="right") - 1).tolist()
    for op, state, owner in zip(reading.moved[0].tolist(), reading.moved[1].tolist(), owners, strict=True):
        row = names[log.subjects[op]][log.keys[op]]
        exceptions.setdefault(owner, []).append(RowRead(op - log.first[owner], 0, row, state))
    hidden: dict[int, list[int]] = {}
    for reader, unseen in zip(reading.hidden[0].tolist(), reading.hidden[1].tolist(), strict=True):
        hidden.setdefault(reader, []).append(unseen)
    views = [
        TransactionView(
            state, tuple(exceptions.get(place, ())), hidden=tuple(sorted(hidden.get(at, ()))) or msgspec.UNSET
        )
        for at, (place, state) in enumerate(zip(reading.places.tolist(), states, strict=True), 1)
    ]
    return Witness(log.digest, isolation, order, views)
