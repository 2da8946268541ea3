"""Deciding one order of a failing prefix exactly, by lazy refinement (paper §7).

Only some transactions are kept, the rest may have written anything to their rows. Unsatisfiable: the kept ones
contradict each other, whatever the rest did. Satisfiable: transactions whose unknown writes the model used are kept
too, and so on, until nothing unknown is used or everything is kept. Does not know other orders.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from troubadour.execution.free.choices import Choices
from troubadour.execution.initial.discovery import InitialRows
from troubadour.execution.states.history import RowHistory
from troubadour.isolation.encoding import key_rivals
from troubadour.isolation.levels import Scope
from troubadour.problem.budget import SEVERAL, OutOfUnits
from troubadour.problem.problem import Problem
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import refuting_set, relevant_order
from troubadour.search.symbolic.decode import Modelled
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Answer, Session


@dataclass(slots=True)
class Contradiction:
    """The kept items contradict each other under this order; `enumerated`: found by looking at every state."""

    kept: frozenset[int]
    enumerated: bool = False


@dataclass(slots=True)
class Readings:
    """Reads that explain the prefix, by item (those not named take their newest), and the initial rows where these are
    not known."""

    choices: dict[int, Choices]
    initial: InitialRows = field(default_factory=dict)


class Unresolved(Exception):
    """The solver gave up; `reason` is its own."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def relax(problem: Problem, order: Sequence[int], kept: Collection[int]) -> tuple[Answer, Encoder]:
    """Decide an order with only `kept` kept, on a fresh solver. Where all are, a query that cannot run on symbolic rows
    says nothing. Raises Unsupported and OutOfTime."""
    encoder = Encoder(Trace(problem), Session(), lenient=all(item in kept for item in order))
    for item in order:
        problem.budget.left()
        if item in kept:
            encoder.keep(item)
        else:
            encoder.leave_open(item)
    return encoder.check(), encoder


def is_satisfiable_by_newest(problem: Problem, order: Sequence[int], kept: Collection[int]) -> bool:
    """Whether `kept` is satisfiable even if all but its last read the newest states only: a cheap sufficient test."""
    encoder = Encoder(Trace(problem), Session())
    last = order[-1]
    for item in order:
        problem.budget.left()
        if item in kept:
            encoder.keep(item, window=None if item == last else 0)
        else:
            encoder.leave_open(item)
    answer = encoder.check()
    return answer is Answer.SATISFIABLE


def refine(problem: Problem, order: Sequence[int], *, seconds: float | None = None) -> Contradiction | Readings:
    """Decide whether an order whose last transaction fails under the guessed reads can be explained at all.

    `seconds`, of an idle machine, bound the search for a small contradiction. Raises Unsupported, Unresolved, and
    OutOfTime.
    """
    try:
        with problem.budget.step("refinement"), problem.budget.within(effort=seconds):
            return _refined(problem, order)
    except OutOfUnits:
        raise Unresolved(f"no small contradiction was found with an effort of {seconds or 0:g} seconds") from None


def _refined(problem: Problem, order: Sequence[int]) -> Contradiction | Readings:
    try:
        refuting = refuting_set(problem, order)
    except Unsupported:
        refuting = None
    if refuting is not None:
        return Contradiction(refuting)
    kept = {order[-1]}
    rounds = 0
    while True:
        try:
            relevant = list(order) if kept.issuperset(order) else relevant_order(problem, order, kept)
            answer, encoder = relax(problem, relevant, kept)
        except Unsupported:
            if kept.issuperset(order):
                raise
            # a statement looks into what was left open; where all are kept nothing is
            kept = set(order)
            continue
        if answer is Answer.UNKNOWN:
            raise Unresolved(f"the solver gave up ({encoder.session.reason})")
        if answer is Answer.UNSATISFIABLE:
            return Contradiction(frozenset(kept))
        rounds += 1
        told = encoder.in_model(encoder.session.model())
        rows = open_rows_used(encoder, told)
        grown = {item for items in rows.values() for item in items} - kept
        if grown and rounds > SEVERAL:
            grown = writers_of(encoder, rows) - kept
        if not grown:
            choices: dict[int, Choices] = {}
            for encoded in encoder.encoded.values():
                # what statements read for themselves is left to the concrete search: the solver was asked for less
                level = problem.levels[encoded.item]
                own_states = level.scope is Scope.STATEMENT or level.acts
                if encoded.literal is not None and not own_states:
                    choices[encoded.item] = _in_full_order(told.chosen(encoded), relevant, order)
            initial = told.initial_rows()
            failure = retrace(problem.assuming(initial) if initial else problem, order, choices)
            if failure is None:
                return Readings(choices, initial)
            grown = {failure.item} - kept or writers_of(encoder, looked_at(encoder)) - kept or set(order) - kept
            if not grown:
                raise Unresolved("a model of everything was refused by the concrete run")
        kept |= grown


def _in_full_order(choices: Choices, relevant: Sequence[int], order: Sequence[int]) -> Choices:
    """The same reads when the transactions left out stand in between again: none of these wrote what is read."""
    places = {item: place for place, item in enumerate(order, 1)}
    states = [0, *(places[item] for item in relevant)]
    exceptions = {address: states[state] for address, state in (choices.exceptions or {}).items()}
    newest = None if choices.newest is None else states[choices.newest]
    newests = {execution: states[state] for execution, state in (choices.newests or {}).items()}
    statements = {execution: states[state] for execution, state in (choices.statements or {}).items()}
    state = states[choices.state]
    hidden = choices.hidden
    if hidden is not None:
        # those that were left out are not seen
        seen = {states[position] for position in range(1, choices.state + 1) if position not in hidden}
        hidden = frozenset(position for position in range(1, state + 1) if position not in seen)
    return Choices(
        state, exceptions, statements=statements, newest=newest, newests=newests, hidden=hidden, picks=choices.picks
    )


def retrace(problem: Problem, order: Sequence[int], choices: dict[int, Choices]) -> Failure | None:
    """Run an order concretely with the given reads; the first failure."""
    trace = Trace(problem)
    for item in order:
        failure = trace.place(item, choices.get(item))
        if failure is not None:
            return failure
    return None


def open_rows_used(encoder: Encoder, told: Modelled) -> dict[RowHistory, set[int]]:
    """Rows of which a kept transaction takes an unknown write in a model, as a read or as the newest version that its
    writes and keys are compared with, and whose write that is."""
    found: dict[RowHistory, set[int]] = {}
    states, catalog = encoder.trace.states, encoder.problem.library.catalog
    for encoded in encoder.encoded.values():
        if encoded.literal is None:
            continue
        rivals = {
            other for row, version in encoded.writes.items() for other in key_rivals(states, row, version, catalog)
        }
        for row in encoded.view.looked_at | set(encoded.writes) | rivals:
            for position in (*told.positions_taken(encoded, row), told.written_last(row, encoded.position - 1)):
                if position > 0 and encoder.encoded[position].literal is None:
                    found.setdefault(row, set()).add(encoder.encoded[position].item)
    return found


def looked_at(encoder: Encoder) -> set[RowHistory]:
    """Rows that a kept transaction looked at or wrote."""
    rows: set[RowHistory] = set()
    for encoded in encoder.encoded.values():
        if encoded.literal is not None:
            rows |= encoded.view.looked_at | set(encoded.writes)
            for row, version in encoded.writes.items():
                rows |= key_rivals(encoder.trace.states, row, version, encoder.problem.library.catalog)
    return rows


def writers_of(encoder: Encoder, rows: Collection[RowHistory]) -> set[int]:
    """Items left open that can have written one of these rows."""
    return {
        encoder.encoded[position].item
        for row in rows
        for position in row.positions
        if position > 0 and encoder.encoded[position].literal is None
    }
