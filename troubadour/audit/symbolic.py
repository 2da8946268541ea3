"""A trace that leaves readings open (paper §7): one incremental solver decides each prefix exactly.

Used where H4 is off. Transactions whose writes have one possible value are placed concretely; the others are encoded,
first with a window of newest states (H2), and what the solver finds to have one value left becomes it (H3). Does not
know which transaction ought to come next.
"""

from __future__ import annotations

from sql_semantics.terms import TRUE, conj, evaluate, evaluate_guard, neg
from troubadour.audit.encoder import Encoded, Encoder
from troubadour.audit.placement import TooManyRuns
from troubadour.audit.problem import Problem
from troubadour.audit.refinement import Unresolved
from troubadour.audit.running import Failure
from troubadour.audit.trace import Trace
from troubadour.audit.versions import UNWRITTEN, with_unwritten
from troubadour.execution.choices import Choices, OpenRead
from troubadour.execution.discovery import InitialRows
from troubadour.execution.history import Guarded, RowHistory, SymbolicRow, Version, WriteMap
from troubadour.isolation.encoding import equal
from troubadour.solver import Answer, Model, Session


class SymbolicTrace(Trace):
    """A trace in which `place` fails only where no reading of any transaction placed explains the new one."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._encoder = Encoder(self, Session())
        self._window = problem.heuristics.window
        self._bound: list[tuple[int, RowHistory, Version]] = []
        """Initial rows that became plain: since how many placements, and what they were before."""

    def truncate(self, length: int) -> None:
        """See `Trace`."""
        super().truncate(length)
        self._encoder.forget(length)
        while self._bound and self._bound[-1][0] > length:
            _, row, version = self._bound.pop()
            self.states.replace(row, 0, version)

    def place(
        self,
        item: int,
        forced: Choices | None = None,
        *,
        runs: int | None = None,
        wrote: WriteMap | None = None,
    ) -> Failure | None:
        """Place the transaction next, or say that no reading allows it. Reads can neither be forced nor
        bounded here: `forced`, `runs` and `wrote` are ignored, since every reading stays open.

        Raises Unsupported, OutOfTime and Unresolved.
        """
        self.problem.deadline.left()
        length = len(self)
        failure: Failure | None = None
        try:
            if not self.problem.closed_world:
                raise TooManyRuns
            failures: list[Failure] = []
            outcomes = self.outcomes(item, failures)
            if len(outcomes) == 1:
                self.keep(outcomes[0])
                return None
            if not outcomes:
                return failures[0] if failures else Failure(item, "time", "no state is allowed by its start")
        except (OpenRead, TooManyRuns):
            failure = Failure(item, "reads", "no reading of the states before it explains its observations")
        encoded = self._encoder.keep(item, window=self._window)
        if self._decide():
            if self.problem.heuristics.concretize:
                self._concretize(encoded)
            return None
        self.truncate(length)
        if self._window is None:
            return failure or Failure(item, "reads", "no reading of the states before it explains its observations")
        return self._widen(item)

    def _widen(self, item: int) -> Failure | None:
        """Place everything again with all states of the horizon readable."""
        items = [placement.item for placement in self.placements]
        self._window = None
        self.truncate(0)
        for other in items:
            if self.place(other) is not None:
                raise Unresolved("a wider window explains less than a narrower one")
        return self.place(item)

    def _decide(self) -> bool:
        answer = self._encoder.check()
        if answer is Answer.UNKNOWN:
            raise Unresolved(f"the solver gave up ({self._encoder.session.reason})")
        return answer is Answer.SATISFIABLE

    def _concretize(self, encoded: Encoded) -> None:
        """H3: versions that this transaction wrote, and initial rows that it looked at, become plain rows where they
        are equal in every model."""
        open_rows = {(row, encoded.position): v for row, v in encoded.writes.items() if isinstance(v, Guarded)}
        for row in encoded.view.looked_at | encoded.writes.keys():
            if row.positions and row.positions[0] == 0 and isinstance(row.versions[0], Guarded):
                open_rows[row, 0] = row.versions[0]
        if open_rows:
            self._concretize_rows(open_rows, self._encoder.session.model())

    def _concretize_rows(self, rows: dict[tuple[RowHistory, int], Guarded], model: Model) -> None:
        known = {place: _in_model(version, model) for place, version in rows.items()}
        agree = conj(*(equal(with_unwritten(rows[place]), [(TRUE, value)]) for place, value in known.items()))
        if self._encoder.check([neg(agree)]) is Answer.UNSATISFIABLE:
            for (row, position), value in known.items():
                if not position:
                    self._bound.append((len(self), row, row.versions[0]))
                self.states.replace(row, position, _version(value))
        elif len(rows) > 1:
            places = list(rows)
            for half in (places[: len(rows) // 2], places[len(rows) // 2 :]):
                self._concretize_rows({place: rows[place] for place in half}, model)

    def readings(self) -> tuple[dict[int, Choices], InitialRows]:
        """One reading of everything placed that explains it, by item, and the initial rows that it takes."""
        found = {p.item: p.choices for p in self.placements if p.choices is not None}
        model = Model({}, {})
        if self._encoder.encoded:
            if not self._decide():
                raise Unresolved("a prefix that was satisfiable is so no more")
            model = self._encoder.session.model()
            for encoded in self._encoder.encoded.values():
                found[encoded.item] = self._encoder.chosen(encoded, model)
        return found, self._encoder.initial_rows(model)


def _in_model(version: Version, model: Model) -> SymbolicRow | None:
    for guard, values in with_unwritten(version):
        if evaluate_guard(guard, model):
            return None if values is None else tuple(evaluate(value, model) for value in values)
    return UNWRITTEN


def _version(value: SymbolicRow | None) -> Version:
    return Guarded(()) if value == UNWRITTEN else value  # type: ignore[return-value]
