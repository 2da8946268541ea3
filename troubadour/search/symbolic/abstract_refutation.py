"""Is an observation possible at all?

A quick refutation: every transaction is run on states that forget which value belongs to which version. What has no
explanation there has none in any execution under any level; what has one is left to others. Does not know orders
beyond the one it is given, and never says that something is possible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sql_semantics.terms import FALSE, Guard, conj
from troubadour.execution.states.history import RowHistory
from troubadour.execution.views.abstract import AbstractStates, Summaries
from troubadour.execution.views.guarded import GuardedStates
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.encoding import key_rivals
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Session


class AbstractEncoder(Encoder):
    """Places transactions over summaries; asserts nothing, since only folded contradictions count.

    With `only_last` the observations of that item alone are looked at; of the others only what they write matters.
    """

    def __init__(self, trace: Trace, only_last: int | None = None) -> None:
        super().__init__(trace, Session())
        self._only_last = only_last
        self._summaries = Summaries(self.trace.states)
        self.looked_at: dict[int, set[RowHistory]] = {}
        self._writers: dict[RowHistory, list[int]] = {}

    def _view(self, item: int, low: int, high: int, masked: list[frozenset[int]] | None) -> GuardedStates:
        view = AbstractStates(
            self.trace.states,
            self.problem.transaction(item).id,
            item,
            low,
            high,
            row_scope=self.problem.levels[item].own_states,
            by_key=self.problem.levels[item].acts,
            use_index=self.problem.heuristics.index,
        )
        view.summaries = self._summaries
        view.told = self.problem.free.told(item)
        return view

    def _statements(self, item: int, view: GuardedStates) -> Iterator[Guard]:
        if self._only_last is None or item == self._only_last:
            yield from super()._statements(item, view)
            return
        for statement in self.problem.prepared(item).statements:
            view.enter_statement(statement.index)
            if may_write(statement):
                self.answers.outcome(item, statement, view)

    def add(self, item: int, *, kept: bool) -> bool:
        """Place a transaction; False where its own observations fold to a contradiction."""
        newest = self.trace.states.length
        if not kept:
            self.leave_open(item)
            encoded = self.encoded[newest + 1]
            possible = True
        else:
            encoded = self._run(item, 0, newest, None)
            possible = conj(*encoded.guards) is not FALSE
            self._place(encoded)
        for row, version in encoded.writes.items():
            self._summaries.add(row, version)
        # an insert looks at nothing, but its keys are compared with other rows
        states, catalog = self.trace.states, self.problem.library.catalog
        rivals = {
            other for row, version in encoded.writes.items() for other in key_rivals(states, row, version, catalog)
        }
        self.looked_at[item] = encoded.view.looked_at | set(encoded.writes) | rivals
        for row in encoded.writes:
            self._writers.setdefault(row, []).append(item)
        return possible

    def writers_for(self, items: Collection[int]) -> frozenset[int]:
        """The transactions that may have written a row which one of these looked at or wrote."""
        return frozenset(
            writer for item in items for row in self.looked_at[item] for writer in self._writers.get(row, ())
        )


def is_refuted(problem: Problem, order: Sequence[int], kept: Collection[int]) -> bool:
    """Whether the last transaction of `order` has no explanation although everything outside `kept` may have written
    anything to its rows. Raises Unsupported and OutOfTime."""
    return not _run(problem, order, kept)[0]


def refuting_set(
    problem: Problem, order: Sequence[int], unknown: Collection[int] = frozenset()
) -> frozenset[int] | None:
    """Items that rule the last observation out by themselves: the last, whatever may have written what it looks at,
    and so on, as far as it takes. None where it is not refuted this way. Those in `unknown` stay open."""
    everything = frozenset(order) - frozenset(unknown)
    if not is_refuted(problem, order, everything):
        return None
    layer = frozenset({order[-1]})
    while True:
        possible, encoder = _run(problem, order, layer)
        if not possible:
            return layer
        grown = (layer | encoder.writers_for(layer)) & everything
        if grown == layer:
            return everything
        layer = grown


def with_unknown_anywhere(order: Sequence[int], unknown: Sequence[int]) -> list[int]:
    """An order in which transactions of unknown outcome may have written before and after every other: left open, they
    then stand for happening at any place, or not at all."""
    found = list(unknown)
    for item in order:
        found += [item, *unknown] if item != order[-1] else [item]
    return found


def relevant_order(problem: Problem, order: Sequence[int], kept: Collection[int]) -> list[int]:
    """The order without those that cannot have written, whatever they read, what a kept one looks at or compares its
    keys with. A start that hangs on all commit times keeps all, and so does a session's, and a bound on how many
    commits have followed a state."""
    levels = [problem.levels[item] for item in kept]
    if problem.max_staleness is not None or any(level.horizon.at_start or level.session for level in levels):
        return list(order)
    _, encoder = _run(problem, order, kept, only_last=False)
    wanted = frozenset(kept) | encoder.writers_for(kept)
    return [item for item in order if item in wanted]


def _run(
    problem: Problem, order: Sequence[int], kept: Collection[int], *, only_last: bool = True
) -> tuple[bool, AbstractEncoder]:
    encoder = AbstractEncoder(Trace(problem), order[-1] if only_last else None)
    kept = frozenset(kept)
    possible = True
    for item in order:
        problem.budget.left()
        possible = encoder.add(item, kept=item in kept)
    return possible, encoder
