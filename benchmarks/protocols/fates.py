"""What a proof makes of a protocol without one of its guards, and whether the audit of a run tells it (VerIso §2.3).

Where the proof goes through, the guard may follow from the others, or guard a step that changes nothing; else the
level holds without it. Does not know which guards a protocol is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from benchmarks.protocols.refutations import log_of
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Status
from troubadour.protocols.language import Event
from troubadour.protocols.levels import ProtocolLevel
from troubadour.protocols.proofs.induction import counterexample
from troubadour.protocols.proofs.mutants import Mutant
from troubadour.protocols.proofs.obligations import Obligation, invariants_of, negated, obligations_of
from troubadour.protocols.proofs.prove import Clock, Prover
from troubadour.protocols.runs.bounded import Judge
from troubadour.protocols.runs.machine import Bound, Machine
from troubadour.protocols.runs.simulate import run
from troubadour.protocols.terms import FALSE, equal, negation, var

SECONDS = 5.0
"""For one question."""


class Fate(Enum):
    """What came of the proof."""

    REFUTED = "a counterexample to induction"
    UNPROVED = "not proved"
    IMPLIED = "implied by the other guards and the invariants"
    IDLE = "without it the step changes nothing"
    SPARE = "proved: the level does not need it"

    @property
    def proved(self) -> bool:
        """Whether the mutant keeps the level by proof."""
        return self not in (Fate.REFUTED, Fate.UNPROVED)


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant's fate; `lost`: the obligation that failed."""

    mutant: Mutant
    fate: Fate
    lost: str | None = None


def fate_of(mutant: Mutant, level: ProtocolLevel) -> Judged:
    """The obligations of the event alone: those of the others are the model's."""
    (event,) = [one for one in mutant.model.events if one.name == mutant.event]
    asked = [
        one for one in obligations_of(mutant.model, level) if one.event == mutant.event and negated(one) is not FALSE
    ]
    asked.sort(key=lambda one: one.kind != "refinement")
    # a counterexample is found sooner than a proof is given up
    for one in asked:
        if counterexample(mutant.model, one, SECONDS) is not None:
            return Judged(mutant, Fate.REFUTED, one.name)
    prover = Prover(invariants_of(mutant.model), Clock(None))
    for one in asked:
        if not prover.decide(one).proved:
            return Judged(mutant, Fate.UNPROVED, one.name)

    def holds(one: Obligation) -> bool:
        return counterexample(mutant.model, one, SECONDS) is None and prover.decide(one).proved

    if holds(Obligation("guard", "implied", event.name, event.step.guards, mutant.guard)):
        return Judged(mutant, Fate.IMPLIED)
    return Judged(mutant, Fate.IDLE if all(map(holds, _stays(mutant, event))) else Fate.SPARE)


def _stays(mutant: Mutant, event: Event) -> Iterator[Obligation]:
    """That every function keeps every value where the guard does not hold."""
    given = (*event.step.guards, negation(mutant.guard))
    before, after = mutant.model.start, event.step.after
    for name in after.updates:
        sorts = mutant.model.functions[name].sorts
        at = tuple(var(f"at_{sort.name.lower()}#{place}", sort) for place, sort in enumerate(sorts))
        goal = equal(getattr(after, name)(*at), getattr(before, name)(*at))
        yield Obligation("guard", name, event.name, given, goal)


def caught(mutant: Mutant, level: ProtocolLevel, runs: int) -> int | None:
    """The first seed whose run the level does not allow, by the abstract store and by the audit of its log."""
    machine = Machine(mutant.model, Bound(transactions=4))
    judge = Judge(machine, level)
    for seed in range(runs):
        trace = run(machine, seed)
        if trace is not None and judge.refuses(trace.programs, trace.initial, trace.seen):
            log = log_of(machine, trace, level.name)
            said = audit(log, library_of(log), Options(level.name)).status
            assert said is Status.VIOLATION, (mutant.event, mutant.text, seed, said)
            return seed
    return None
