"""A certificate as a witness, which replay judges: each transaction on the state that it read, in the certified order
(Emme §5.3).

Where the DBMS chose values, or aborted transactions are to be placed, it is run first, which finds these, too, and
tells what does not fit. Does not search: the first thing that does not fit ends it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.audit.certified.images import Images
from troubadour.audit.certified.mismatch import mismatch
from troubadour.audit.certified.order import Certified, Incomplete, Mismatch, began
from troubadour.audit.witness import witness_of
from troubadour.execution.free.choices import Choices
from troubadour.model.certificate import Commit
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.witness import Views, Witness
from troubadour.problem.budget import SOME, Budget
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.replay.checker import Replay, check
from troubadour.replay.refusal import Refusal
from troubadour.search.found import Found
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.trace import Trace


@dataclass(frozen=True, slots=True)
class Ran:
    """The trace of a certificate that fits its log, transaction by transaction, and the witness that it is."""

    trace: Trace
    witness: Witness


def run_certified(problem: Problem, certified: Certified, *, rounds: int = SOME) -> Ran:
    """Run the log by the certificate. Raises Mismatch, Incomplete, and Unsupported where it cannot be known whether it
    fits."""
    for _ in range(rounds):
        trace = Trace(problem)
        if not _run(trace, certified):
            continue
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
        told, newest = certified.states[number], len(trace)
        if told is None and not problem.levels[item].horizon.latest:
            failure = trace.place(item)
            if failure is not None:
                raise _mismatch(problem, failure)
            reached.append(len(trace))
            continue
        state = newest if told is None else reached[told]
        latest = problem.levels[item].horizon.latest
        choices = Choices(newest) if latest else Choices(state, newest=newest)
        candidate = trace.run(item, choices, masked=trace.masked(item))
        if candidate.failure is not None:
            if problem.free.pending and problem.free.apply():
                return False
            raise _mismatch(problem, candidate.failure)
        trace.keep(candidate)
        reached.append(len(trace))
    aborted.place(len(certified.order))
    return True


def _mismatch(problem: Problem, failure: Failure) -> Mismatch:
    identifier = problem.transaction(failure.item).id
    return Mismatch(mismatch(problem, failure), identifier, answer=failure.condition == "observation")


def told_witness(log: Log, isolation: str | None, certified: Certified) -> Witness | None:
    """The witness that a certificate is where the DBMS chose no values; None where it does not tell every state."""
    states: Sequence[int]
    if isinstance(certified.states, range):
        states = certified.states
    else:
        states = array("q", [state for state in certified.states if state is not None])
    if len(states) < len(certified.order):
        return None
    return Witness(log.digest, isolation, certified.names, Views(states))


def replayed(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    witness: Witness,
    *,
    budget: Budget,
    commits: Mapping[TransactionId, Commit] | None = None,
    ordered: bool = False,
) -> Refusal | None:
    """Let replay judge a witness, and hold what it writes against the `commits`, where they are given; `ordered`: the
    records of those that wrote one row have to come in the witness's order. Raises Mismatch where the two differ,
    Incomplete for a commit that is missing."""

    images = Images(ordered=ordered)

    def placed(transaction: Transaction, replay: Replay) -> None:
        budget.left()
        if commits is None:
            return
        commit = commits.get(transaction.id)
        if commit is None:
            if any(replay.written.values()):
                raise Incomplete("its commit is missing", transaction.id)
            return
        text = images.mismatch(replay, transaction.id, commit)
        if text is not None:
            raise Mismatch(text, transaction.id)

    return check(log, witness, library, isolation=isolation, placed=placed)


def refused(refusal: Refusal) -> Mismatch:
    """A refusal of replay's as a mismatch."""
    return Mismatch(f"replay refuses it: {refusal.condition}: {refusal.text}", refusal.transaction)


class Unplaced:
    """The aborted transactions of a trace that have no place yet, in the order in which they began."""

    def __init__(self, trace: Trace, order: Sequence[int]) -> None:
        self._trace, self._order = trace, order
        self._waiting = sorted(trace.problem.aborted, key=lambda item: began(trace.problem, item))

    def place(self, number: int) -> None:
        """Place those that have a place before the transaction of this number. Raises Incomplete for one that has
        none although it must stand before that one."""
        if not self._waiting:
            return
        problem, coming = self._trace.problem, self._order[number : number + SOME]
        left: list[int] = []
        for place, item in enumerate(self._waiting):
            if coming and must_precede(problem, coming[-1], item):
                left += self._waiting[place:]
                break
            early = any(must_precede(problem, other, item) for other in (*coming, *left))
            failure = None if early else self._trace.place(item)
            if early or failure is not None:
                if not coming or must_precede(problem, item, coming[0]):
                    text = "it aborted, and no state that its times allow in the certified order explains its answers"
                    raise Incomplete(text, problem.transaction(item).id)
                left.append(item)
        self._waiting = left
