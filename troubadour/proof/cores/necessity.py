"""Is a transaction necessary for a contradiction? Shown by example.

With one transaction's writes made unknown, the failing one is asked alone which values it would take to explain it;
with these written in, the others are run concretely. That they all have a place proves that the rest is no
contradiction; where this finds none, nothing is said. Does not know how else necessity could be decided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.terms import evaluate, evaluate_guard
from troubadour.execution.states.history import RowHistory, Version, WriteMap, alternatives_of
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Answer, Model, Session


class Necessity:
    """Examples for one failing order, whose last transaction fails after the others were placed concretely.

    Ask for later transactions before earlier ones: the prefix before the one asked for is reused.
    """

    def __init__(self, problem: Problem, order: Sequence[int]) -> None:
        self.problem = problem
        self.order = list(order)
        self.positions = {item: place for place, item in enumerate(order, 1)}
        self.trace = Trace(problem)
        self._again = Trace(problem)
        self.usable = not problem.discovery.unknown
        if not self.usable:
            # nothing runs concretely there
            return
        for item in order[:-1]:
            if self.trace.place(item) is not None or self._again.place(item) is not None:
                self.usable = False
                return

    def is_explained_without(self, item: int, kept: Collection[int]) -> bool:
        """Whether some writes of `item` explain the last transaction together with all of `kept`."""
        position = self.positions[item]
        if not self.usable or position == len(self.order) or position > len(self._again) + 1:
            return False
        written = self._wanted(item, position)
        if written is None:
            return False
        self._again.truncate(position - 1)
        _write(self._again, item, written)
        for later in self.order[position:]:
            if self._again.place(later) is not None:
                if later in kept:
                    return False
                rows = self.trace.states.written_at(self.positions[later])
                _write(self._again, later, {row: row.at(self.positions[later]) for row in rows})
        return True

    def _wanted(self, item: int, position: int) -> WriteMap | None:
        """Writes of `item` that let the last transaction explain its observations, all else being as it was."""
        states = self.trace.states
        before = {row: row.at(position) for row in states.written_at(position)}
        encoder = Encoder(self.trace, Session())
        try:
            for row, version in before.items():
                states.replace(row, position, encoder.open_version(item, row, version))
            encoder.keep(self.order[-1])
            if encoder.check() is not Answer.SATISFIABLE:
                return None
            model = encoder.session.model()
            return {row: _concrete(row.at(position), version, model) for row, version in before.items()}
        except Unsupported:
            return None
        finally:
            self.trace.truncate(len(self.order) - 1)
            for row, version in before.items():
                states.replace(row, position, version)


def _write(trace: Trace, item: int, versions: WriteMap) -> None:
    """Place an item with given writes; rows of another trace are found again by their addresses."""
    tables = {row.table for row in versions}
    known = {row.address: row for table in tables for row in trace.states.tables[table].rows}
    trace.states.place(
        {known.get(row.address) or RowHistory(row.table, row.author, row.ordinal): v for row, v in versions.items()}
    )
    trace.timeline.append(trace.problem.times[item], idle=not versions)
    trace.place_symbolic(item)


def _concrete(version: Version, before: Version, model: Model) -> Version:
    """An open version in a model; what the model does not mention stays as it was."""
    for guard, values in alternatives_of(version):
        if not evaluate_guard(guard, model):
            continue
        if values is None:
            return None
        if not isinstance(before, tuple):
            return tuple(evaluate(value, model) for value in values)
        return tuple(
            evaluate(value, model) if model.mentions(value) else old for value, old in zip(values, before, strict=True)
        )
    return None
