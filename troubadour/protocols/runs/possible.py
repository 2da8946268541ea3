"""Whether an event's guards hold together in some small state that the invariants allow: a proof about an event that is
never possible says nothing. Such a state need not be reachable. Does not know what runs took.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import Enum

from troubadour.protocols.language import Model
from troubadour.protocols.proofs.obligations import invariants_of, programs_known
from troubadour.protocols.runs.machine import Bound
from troubadour.solver.protocols import Budget, Reading
from troubadour.solver.session import Answer

BUDGET = 10_000_000
"""Z3's own steps for one event."""


class Possible(Enum):
    """What is known of an event's guards."""

    TAKEN = "taken by a run"
    SATISFIABLE = "its guards are satisfiable"
    CONTRADICTORY = "its guards contradict the invariants"
    UNKNOWN = "whether its guards are satisfiable is unknown"


_SAID = {
    Answer.SATISFIABLE: Possible.SATISFIABLE,
    Answer.UNSATISFIABLE: Possible.CONTRADICTORY,
    Answer.UNKNOWN: Possible.UNKNOWN,
}


def possible_events(
    model: Model, bound: Bound, taken: Collection[str], left: Callable[[], float]
) -> Iterator[tuple[str, Possible]]:
    """Of each event; what a run took is possible, so only the others are asked for. `left`: the seconds that are left;
    it ends it by raising."""
    transactions = bound.transactions + 1
    sizes = {
        "Key": bound.keys,
        "Txn": transactions,
        "Client": bound.clients,
        "Val": transactions * bound.keys,
    }
    reading = Reading(sizes, left)
    for one in model.events:
        if one.name in taken:
            yield one.name, Possible.TAKEN
            continue
        conditions = (*one.step.guards, *programs_known(), *invariants_of(model))
        answer = reading.decide(conditions, Budget(BUDGET, left()))
        yield one.name, _SAID[answer]
