"""Few transactions that no order explains, whatever the others wrote.

Every order of the few that their level allows is decided on one solver; between them stand copies of all other
transactions that may write what they look at, unknown outcomes and later ones included, each of which writes anything
at one place at most. What is unsatisfiable so has no explanation in any order of the whole log. Where a model takes a
write of another one, that one may be looked at, too. Does not know times of the others, nor levels at which what is
seen is no state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress

from sql_semantics.errors import Unsupported
from sql_semantics.ir.statements import Call
from sql_semantics.ir.walks.effects import touched_tables
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, TRUE, Guard, atom, conj, either_way, metered, neg
from troubadour.isolation.levels import Scope, Visible
from troubadour.problem.budget import BRIEFLY, HUNDREDS, MANY, MOST, Budget
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Heuristics, Problem
from troubadour.proof.cores.core import Core
from troubadour.proof.cores.open_writers import OpenWriters
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Answer, Session

MEMBERS = 5
"""Transactions of which every order is looked at."""

WORK = 1_000_000
"""Operands of conditions that are built for one question: a second or two, as each statement of a member meets each
version that may have been written there."""


class TooMuchWork(Exception):
    """The others are too many to stand at every place, or the orders too many to look at."""


@dataclass(slots=True)
class Meter:
    """Work that is left, in operands; `budget` is looked at now and then."""

    budget: Budget
    left: int = WORK
    _asked: int = WORK

    def spend(self, operands: int) -> None:
        """Take off what a condition costs. Raises TooMuchWork where that is not left, OutOfTime."""
        self.left -= operands
        self.budget.note_operands(operands)
        if self.left < 0:
            raise TooMuchWork
        if self._asked - self.left > MOST:
            self._asked = self.left
            self.budget.left()


def few_in_every_order(problem: Problem, suspects: Collection[int], meter: Meter) -> Core | None:
    """A minimal set of transactions, near the suspects, that no order explains, decided twice; None where none is
    found with what the meter leaves. Raises OutOfTime."""
    members = frozenset(suspects)
    try:
        while _applies(problem, members):
            try:
                decision = _decide(problem, members, meter)
            except Unsupported:
                # values that nobody knows cannot be compared: those of all who may have written them are looked at
                wider = members | _writers_beside(problem, members)
                if wider == members:
                    raise
                members = wider
                continue
            if decision.refuted:
                # what was run may have told that the DBMS had a choice
                proved = not decision.unknown and _applies(problem, members)
                return _minimal(problem, members, meter) if proved else None
            if not decision.used:
                return None
            members |= decision.used
    except (Unsupported, TooMuchWork):
        pass
    return None


def _applies(problem: Problem, members: Collection[int]) -> bool:
    return (
        0 < len(members) <= MEMBERS
        and len(problem.statuses) <= MANY
        and not problem.discovery.unknown
        and not problem.order_recorded
        and problem.max_staleness is None
        and not problem.library.catalog.transient
        and not any(item in problem.free.choices or item in problem.unknown for item in members)
        and all(problem.levels[item].visible is Visible.STATE and not problem.levels[item].dirty for item in members)
    )


def _writers_beside(problem: Problem, members: Collection[int]) -> frozenset[int]:
    """The others that may write to a table of which the members use any, those of unknown outcome among them."""

    def tables(item: int, *, written: bool) -> set[str]:
        programs = [statement.program for statement in problem.prepared(item).statements]
        catalog = problem.library.catalog
        return {
            name
            for program in programs
            if program is not None and not (written and program.read_only)
            for name in touched_tables(program.statement, catalog)
        }

    used = {name for item in members for name in tables(item, written=False)}
    others = (item for item, status in enumerate(problem.statuses) if status != "aborted" and item not in members)
    found: set[int] = set()
    for item in others:
        if not used.isdisjoint(tables(item, written=True)):
            found.add(item)
            if len(found) + len(members) > MEMBERS:
                break
    return frozenset(found)


def _minimal(problem: Problem, members: frozenset[int], meter: Meter) -> Core:
    """Leave out one after the other while the rest stays refuted; then decide it again, with heuristics off."""
    minimal = True
    for item in sorted(members, reverse=True):
        smaller = members - {item}
        if not smaller:
            continue
        try:
            decision = _decide(problem, smaller, meter)
        except (Unsupported, TooMuchWork):
            minimal = False
            continue
        if decision.refuted and not decision.unknown:
            members = smaller
        minimal = minimal and not decision.unknown and (decision.refuted or not decision.guessed)
    confirmed = False
    with suppress(Unsupported, TooMuchWork):
        for index in (False, True):
            off = Heuristics(index=index, window=None, concretize=False, stronger_first=False)
            again = _decide(problem.with_heuristics(off), members, Meter(problem.budget))
            confirmed = again.refuted and not again.unknown
            if confirmed:
                break
    return Core(tuple(sorted(members)), minimal, confirmed)


def _decide(problem: Problem, members: Collection[int], meter: Meter) -> _Decision:
    """Raises Unsupported, TooMuchWork, OutOfTime."""
    with metered(meter.spend), either_way() as untold:
        decision = _Decision(problem, members)
        decision.refuted = decision.refutes(tuple(sorted(members)), Answer.SATISFIABLE)
    decision.guessed = untold.count > 0
    return decision


class _Decision:
    """One set of members in every order. `refuted`: no order is known to be satisfiable; `unknown`: some order could
    not be decided; `used`: the transactions of which an explanation takes a write; `guessed`: values were compared that
    are not told, so that an order which is satisfiable need not be possible."""

    def __init__(self, problem: Problem, members: Collection[int]) -> None:
        """Raises Unsupported."""
        self._problem = problem
        self._members = members
        others = [i for i, status in enumerate(problem.statuses) if status != "aborted" and i not in members]
        self._others = OpenWriters(problem, members, others)
        self._known = frozenset(self._others.writers).difference(problem.unknown)
        self._encoder = Encoder(Trace(problem), Session())
        self._active: dict[int, list[Guard]] = defaultdict(list)
        self.refuted = False
        self.unknown = False
        self.used: frozenset[int] = frozenset()
        self.guessed = False

    def refutes(self, left: tuple[int, ...], answer: Answer) -> bool:
        """Whether no order in which what is left follows what is placed is known to be satisfiable."""
        if not left:
            if answer is not Answer.SATISFIABLE:
                self.unknown = True
                return True
            self._note_used()
            return False
        encoder, length = self._encoder, len(self._encoder.trace)
        for item in left:
            if any(must_precede(self._problem, other, item) for other in left if other != item):
                continue
            self._problem.budget.left()
            exclusive = self._place_others(left)
            encoded = encoder.keep(item)
            assert encoded.literal is not None
            encoder.session.add(encoded.literal, exclusive)
            further = self._decide(conj(*encoded.guards))
            rest = tuple(other for other in left if other != item)
            refuted = further is Answer.UNSATISFIABLE or self.refutes(rest, further)
            self._take_back(length)
            if not refuted:
                return False
        return True

    def _place_others(self, left: Sequence[int]) -> list[Guard]:
        """Copies of all others before the next member, once for each moment at which one that is left may look; that no
        one of them writes at two places."""
        moments = 1 + sum(_moments(self._problem, item) for item in left)
        if (len(self._encoder.trace) + moments * len(self._others.writers)) > HUNDREDS:
            raise TooMuchWork
        exclusive: list[Guard] = []
        for _ in range(moments):
            for other in self._others.writers:
                active = atom(("active", other, len(self._encoder.trace)))
                exclusive.extend(neg(conj(active, before)) for before in self._active[other])
                self._active[other].append(active)
                self._others.place(self._encoder, other, active)
        return exclusive

    def _take_back(self, length: int) -> None:
        for placement in self._encoder.trace.placements[length:]:
            if placement.item in self._active:
                self._active[placement.item].pop()
        self._encoder.take_back(length)

    def _decide(self, guard: Guard) -> Answer:
        if guard is FALSE:
            return Answer.UNSATISFIABLE
        if guard is TRUE and not self._others.writers:
            return Answer.SATISFIABLE
        with self._problem.budget.within(effort=BRIEFLY):
            return self._encoder.check()

    def _note_used(self) -> None:
        """Without whose writes this order has no explanation, so that looking at them may say more: of the nearest
        ones that are enough, one after the other, the farthest. Which model the solver found says nothing here."""
        last = max(self._members)
        near = sorted(self._known, key=lambda item: (abs(item - last), item))
        needed: list[int] = []
        while len(needed) < MEMBERS - len(self._members):
            enough = bisect_left(range(len(near)), True, key=lambda count: self._explained({*needed, *near[:count]}))
            if enough == 0:
                break
            needed.append(near[enough - 1])
            del near[enough - 1 :]
        self.used = frozenset(needed)

    def _explained(self, writers: Collection[int]) -> bool:
        """Whether this order is known to have an explanation in which, of the outcomes known, only these write."""
        nothing = [neg(active) for item in self._known.difference(writers) for active in self._active[item]]
        with self._problem.budget.within(effort=BRIEFLY):
            return self._encoder.check(nothing) is Answer.SATISFIABLE


def _moments(problem: Problem, item: int) -> int:
    """At how many moments before its place a transaction may look at states: its snapshot, and those at which its
    writes met constraints. Where each row read is of a state of its own, any is as good. Raises Unsupported."""
    level = problem.levels[item]
    statements = problem.prepared(item).statements
    if level.scope is Scope.TRANSACTION and not level.acts:
        if level.horizon.latest:
            return 0
        return 1 + sum(s.program is None or not s.program.read_only for s in statements)
    if level.scope is Scope.ROW:
        return 1
    if any(s.program is not None and isinstance(s.program.statement, Call) for s in statements):
        raise Unsupported("a routine whose statements read states of their own")
    return 1 + len(statements)
