"""A certificate run as it says: each transaction on the state that it read, in the certified order (Emme §5.3).

What comes out is a witness, which replay judges. Does not search: the first thing that does not fit ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sql_semantics.errors import Unsupported
from troubadour.audit.certified.aborted import Unplaced
from troubadour.audit.certified.mismatch import image_mismatch, mismatch
from troubadour.audit.certified.order import Certified, Incomplete
from troubadour.audit.witness import witness_of
from troubadour.execution.free.choices import Choices
from troubadour.model.log import TransactionId
from troubadour.model.witness import Witness
from troubadour.replay import check
from troubadour.search.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.scheduler import Found

ROUNDS = 64
"""Runs of the whole certificate in which values are learned that the DBMS chose."""


class Mismatch(Exception):
    """What a transaction answered or wrote is not what the certificate makes of it."""

    def __init__(self, because: str, transaction: TransactionId | None) -> None:
        super().__init__(because)
        self.transaction = transaction


@dataclass(frozen=True, slots=True)
class Ran:
    """The trace of a certificate that fits its log, transaction by transaction, and the witness that it is."""

    trace: Trace
    witness: Witness


def run_certified(problem: Problem, certified: Certified, *, images: bool = True, rounds: int = ROUNDS) -> Ran:
    """Run the log by the certificate; with `images` the rows written are held against those of the write-ahead log.
    Raises Mismatch, Incomplete, and Unsupported where it cannot be known whether it fits."""
    for _ in range(rounds):
        trace = Trace(problem)
        if not _run(trace, certified):
            continue
        if images:
            _check_images(trace, certified)
        return Ran(trace, witness_of(problem, Found(trace, len(trace))))
    raise Unsupported("values that the DBMS chose and that the certificate does not tell")


def _run(trace: Trace, certified: Certified) -> bool:
    """Place everything; False where values that the DBMS chose are known now that had been guessed."""
    problem = trace.problem
    aborted = Unplaced(trace, certified.order)
    reached = [0]
    for number, item in enumerate(certified.order):
        aborted.place(number)
        problem.free.pending.clear()
        state, newest = reached[certified.states[item]], len(trace)
        latest = problem.levels[item].horizon.latest
        choices = Choices(newest) if latest else Choices(state, newest=newest)
        candidate = trace.run(item, choices, masked=trace.masked(item))
        if candidate.failure is not None:
            if problem.free.pending and problem.free.apply():
                return False
            raise Mismatch(mismatch(problem, candidate.failure), problem.transaction(item).id)
        trace.keep(candidate)
        reached.append(len(trace))
    aborted.place(len(certified.order))
    return True


def _check_images(trace: Trace, certified: Certified) -> None:
    problem = trace.problem
    for position, placement in enumerate(trace.placements, 1):
        item = placement.item
        commit = certified.commits.get(item)
        if commit is None:
            if trace.states.written_at(position):
                raise Incomplete("its commit is missing", problem.transaction(item).id)
            continue
        if commit.changes is None:
            continue
        text = image_mismatch(problem, trace, item, position, commit.changes)
        if text is not None:
            raise Mismatch(text, problem.transaction(item).id)


def replayed(problem: Problem, witness: Witness) -> None:
    """Let replay judge a witness. Raises Mismatch."""
    refusal = check(problem.log, witness, problem.library, isolation=problem.isolation)
    if refusal is not None:
        raise Mismatch(f"replay refuses it: {refusal.condition}: {refusal.text}", refusal.transaction)
