"""A trace that leaves readings open (paper §7): one incremental solver decides the newest part of each prefix.

Used where H4 is off, and where a log tells little. Transactions whose writes have one possible value are placed
concretely; the others are encoded, first with a window of newest states (H2), and what the solver finds to have one
value left becomes it (H3). With H4 what lies further back takes the strongest reading that is left, until one is
not explained (`search.symbolic.reopening`). Does not know which transaction ought to come next.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.records import dataclass
from sql_semantics.terms import TRUE, Guard, atom, conj, evaluate, evaluate_guard, items_of, neg
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.initial.discovery import InitialRows
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, Version, WriteMap, alternatives_of
from troubadour.execution.views.guarded import Sees
from troubadour.isolation.encoding import equal
from troubadour.problem.problem import Problem
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.placement import Placement, TakenBack, TooManyRuns
from troubadour.search.schedule.trace import Trace
from troubadour.search.schedule.visible_sets import TooManySets
from troubadour.search.symbolic.cegar import Unresolved
from troubadour.search.symbolic.encoded import Encoded
from troubadour.search.symbolic.encoder import Encoder
from troubadour.search.symbolic.reopening import reopen
from troubadour.search.symbolic.versions import UNWRITTEN, with_unwritten
from troubadour.solver import Answer, Model, Session

OPEN = 300
"""Cases of what open transactions wrote, and one for each of them, beyond which the older ones are settled."""


@dataclass(frozen=True, slots=True)
class TakenOpen(TakenBack):
    """One that was taken back and had been placed symbolically."""

    encoded: Encoded


class SymbolicTrace(Trace):
    """A trace in which the readings of the newest placements stay open; `place` fails only where no reading of any
    transaction placed explains the new one, where it is asked for all (`runs` None).

    `windows` are the numbers of newest states that transactions may read, by item, where that is not H2's (None:
    all states). `doubtful`: of the last one that failed not every reading was tried, since some cannot be left open.
    With H4 those of which more than `OPEN` are open take the strongest reading that a model has (`settle`), and are
    `guessed` then.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.encoder = Encoder(self, Session())
        self.windows: dict[int, int | None] = {}
        self.guessed: set[int] = set()
        self.doubtful = False
        self._limit = OPEN
        self._settles = problem.heuristics.stronger_first and not problem.discovery.unknown and not problem.has_sets
        self._bound: list[tuple[int, RowHistory, Version]] = []
        """Initial rows that became plain: since how many placements, and what they were before."""

    def truncate(self, length: int) -> None:
        """See `Trace`."""
        super().truncate(length)
        self.encoder.forget(length)
        while self._bound and self._bound[-1][0] > length:
            _, row, version = self._bound.pop()
            self.states.replace(row, 0, version)

    def clear(self) -> None:
        """See `Trace`."""
        super().clear()
        self.encoder = Encoder(self, Session())
        self.guessed.clear()
        self._bound.clear()

    def take_back(self, length: int) -> list[TakenBack]:
        """See `Trace`."""
        encoded = {e.item: e for position, e in self.encoder.encoded.items() if position > length}
        found: list[TakenBack] = []
        for one in super().take_back(length):
            if one.item in encoded:
                found.append(TakenOpen(one.placement, one.writes, one.idle, encoded[one.item]))
            else:
                found.append(one)
        return found

    def put_back(self, taken: Sequence[TakenBack]) -> None:
        """See `Trace`."""
        for one in taken:
            super().put_back([one])
            if isinstance(one, TakenOpen):
                self.encoder.encoded[len(self)] = one.encoded

    def place(
        self,
        item: int,
        forced: Choices | None = None,
        *,
        runs: int | None = None,
        wrote: WriteMap | None = None,
        likely: bool = False,
    ) -> Failure | None:
        """Place the transaction next, or say that no reading allows it. Reads that are `forced` are a guess, taken
        where nothing that they look at is open; `wrote` and `likely` are ignored. With `runs` what was placed before is
        left as it is.

        Raises Unsupported, OutOfTime and Unresolved.
        """
        self.problem.budget.left()
        if forced is not None:
            self.place_again(TakenBack(Placement(item, forced), {}, idle=False), forced, reopened=False)
            if self.placements[-1].choices is not None:
                self.guessed.add(item)
                return None
            self.truncate(len(self) - 1)
        failure = self.place_within(item)
        if failure is None or runs is not None:
            return failure
        return None if reopen(self, item) else failure

    def window(self, item: int) -> int | None:
        """How many of the newest states the item may read."""
        return self.windows.get(item, self.problem.heuristics.window)

    def is_narrow(self, item: int, length: int) -> bool:
        """Whether the item may not read every state when placed after so many."""
        window = self.window(item)
        return window is not None and window < length

    def place_within(self, item: int) -> Failure | None:
        """Place the transaction next on the states of its window, everything placed before being as it is."""
        length, window = len(self), self.window(item)
        failure: Failure | None = None
        try:
            if not self.problem.closed_world:
                raise TooManyRuns
            failures: list[Failure] = []
            outcomes = self.outcomes(item, failures, 0 if window is None else length - window)
            if len(outcomes) == 1:
                self.keep(outcomes[0])
                return None
            if not outcomes:
                return failures[0] if failures else Failure(item, "time", "no state is allowed by its start")
        except (OpenRead, TooManyRuns):
            failure = Failure(item, "reads", "no reading of the states before it explains its observations")
        encoded = self.encoder.keep(item, window=window)
        if self.decide():
            if self.problem.heuristics.concretize:
                self._concretize(encoded)
            return None
        self.truncate(length)
        return failure or Failure(item, "reads", "no reading of the states before it explains its observations")

    def place_again(self, one: TakenBack, choices: Choices | None, *, reopened: bool) -> None:
        """Place one that was taken back anew: as these choices have it where that goes, else with its readings open
        (`reopened`: at once). It is not asked whether that explains it."""
        if choices is not None and not reopened:
            try:
                if super().place(one.item, choices) is None:
                    return
            except (OpenRead, TooManySets):
                # what it looks at is open, or what others see
                pass
        self.guessed.discard(one.item)
        self.encoder.keep(one.item, window=self.window(one.item))

    def settle(self) -> None:
        """H4: where many are open, let the older half of them read what they read in a model, states as new as can be;
        the solver restarts with the others. Wherever that does not go, all stays open."""
        opened = [self.encoder.encoded[position] for position in sorted(self.encoder.encoded)]
        if not self._settles or sum(map(_cases, opened)) <= self._limit:
            return
        opened = opened[: len(opened) * 2 // 3]
        model = self._strongest(opened)
        told = self.encoder.in_model(model)
        readings = {one.item: told.chosen(one) for one in opened}
        length = opened[0].position - 1
        if length < self.fixed:
            return
        before = self.encoder
        taken = self.take_back(length)
        self.encoder = Encoder(self, Session())
        for one in taken:
            self.place_again(one, readings.get(one.item, one.choices), reopened=False)
        if readings.keys().isdisjoint(e.item for e in self.encoder.encoded.values()) and self.decide():
            self.guessed.update(readings)
            return
        super().truncate(length)
        self.encoder = before
        self.put_back(taken)
        self._limit *= 2

    def _strongest(self, opened: Sequence[Encoded]) -> Model:
        """A model in which these read the newest states, the earlier ones before the later ones."""
        if not self.decide():
            raise Unresolved("a prefix that was satisfiable is so no more")
        model = self.encoder.session.model()
        strong: list[Guard] = []
        for one in opened:
            self.problem.budget.left()
            newest = conj(*(atom(Sees(read, p)) for read, seen in one.view.sees.items() for p in seen))
            if all(model.holds(Sees(read, p)) for read, seen in one.view.sees.items() for p in seen):
                strong.append(newest)
            elif self.encoder.check([*strong, newest]) is Answer.SATISFIABLE:
                strong.append(newest)
                model = self.encoder.session.model()
        return model

    def decide(self) -> bool:
        """Whether some readings explain everything placed. Raises Unresolved where the solver gives up."""
        answer = self.encoder.check()
        if answer is Answer.UNKNOWN:
            raise Unresolved(f"the solver gave up ({self.encoder.session.reason})")
        return answer is Answer.SATISFIABLE

    def _concretize(self, encoded: Encoded) -> None:
        """H3: versions that this transaction wrote, and initial rows that it looked at, become plain rows where they
        are equal in every model."""
        open_rows = {(row, encoded.position): v for row, v in encoded.writes.items() if isinstance(v, Guarded)}
        for row in encoded.view.looked_at | encoded.writes.keys():
            if row.positions and row.positions[0] == 0 and isinstance(row.versions[0], Guarded):
                open_rows[row, 0] = row.versions[0]
        if open_rows:
            self._concretize_rows(open_rows, self.encoder.session.model())

    def _concretize_rows(self, rows: dict[tuple[RowHistory, int], Guarded], model: Model) -> None:
        known = {place: _in_model(version, model) for place, version in rows.items()}
        while known:
            agree = conj(*(equal(with_unwritten(rows[place]), [(TRUE, value)]) for place, value in known.items()))
            answer = self.encoder.check([neg(agree)])
            if answer is Answer.UNKNOWN:
                return
            if answer is Answer.UNSATISFIABLE:
                break
            # what another model has otherwise has several values
            other = self.encoder.session.model()
            known = {place: value for place, value in known.items() if _in_model(rows[place], other) == value}
        for (row, position), value in known.items():
            if not position:
                self._bound.append((len(self), row, row.versions[0]))
            self.states.replace(row, position, _version(value))

    def readings(self) -> tuple[dict[int, Choices], InitialRows]:
        """One reading of everything placed that explains it, by item, and the initial rows that it takes."""
        found = {p.item: p.choices for p in self.placements if p.choices is not None}
        model = Model({}, {})
        if self.encoder.encoded:
            if not self.decide():
                raise Unresolved("a prefix that was satisfiable is so no more")
            model = self.encoder.session.model()
        told = self.encoder.in_model(model)
        found.update((encoded.item, told.chosen(encoded)) for encoded in self.encoder.encoded.values())
        return found, told.initial_rows()


def _cases(one: Encoded) -> int:
    """How many values a transaction may have written into one column at most, and one."""
    values = (
        sum(1 for _ in items_of(value))
        for version in one.writes.values()
        for _, row in alternatives_of(version)
        for value in row or ()
    )
    return 1 + max(values, default=0)


def _in_model(version: Version, model: Model) -> SymbolicRow | None:
    for guard, values in with_unwritten(version):
        if evaluate_guard(guard, model):
            return None if values is None else tuple(evaluate(value, model) for value in values)
    return UNWRITTEN


def _version(value: SymbolicRow | None) -> Version:
    return Guarded(()) if value == UNWRITTEN else value  # type: ignore[return-value]
