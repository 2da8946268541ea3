"""Mutants of a protocol: each guard of an event left out, one at a time, to see that the proof needs it.

A guard may also be one that the level does not need; that is for a reader to argue, not for this. Does not know how an
obligation is decided.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.records import dataclass, replace
from troubadour.protocols.language import Event, Model, initially
from troubadour.protocols.terms import Term, negation, show


@dataclass(frozen=True, slots=True)
class Mutant:
    """The model without one guard of one event."""

    event: str
    guard: Term
    model: Model

    @property
    def text(self) -> str:
        """What was left out."""
        return show(self.guard)


def mutants(model: Model) -> Iterator[Mutant]:
    """Each guard left out, of a conjunction each part; but not the one that the language adds to every event, that its
    transaction is not the writer of the initial versions."""
    for place, one in enumerate(model.events):
        guards = _parts(one)
        for number, guard in enumerate(guards):
            step = replace(one.step, guards=(*guards[:number], *guards[number + 1 :]))
            events = (*model.events[:place], replace(one, step=step), *model.events[place + 1 :])
            if one.transaction is None or guard is not negation(one.transaction == initially()):
                yield Mutant(one.name, guard, replace(model, events=events))


def _parts(one: Event) -> tuple[Term, ...]:
    return tuple(part for guard in one.step.guards for part in (guard.args if guard.op == "and" else (guard,)))
