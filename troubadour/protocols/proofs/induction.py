"""What a failed obligation lacks: a state that the invariants allow and an event that leads out of them.

Such a counterexample to induction need not be reachable and refutes nothing. Does not know how proofs are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.records import dataclass
from troubadour.protocols.language import RIGID, Model
from troubadour.protocols.proofs.obligations import Obligation, invariants_of, negated
from troubadour.protocols.terms import Term, free_variables, walk
from troubadour.solver.protocols import Budget, FiniteModel, Reading
from troubadour.solver.session import Answer

SIZES = {"Key": 2, "Txn": 4, "Client": 3, "Val": 5}
"""How many there are of each sort; of transactions one wrote the initial versions."""
BUDGET = Budget(3_000_000, 5.0)


@dataclass(frozen=True)
class Counterexample:
    """The event's arguments and the elements that the obligation fails for, and what the state says where the
    obligation asks, as text."""

    arguments: tuple[str, ...]
    state: tuple[str, ...]


def counterexample(
    model: Model, one: Obligation, seconds: float, tick: Callable[[], object] = int
) -> Counterexample | None:
    """A finite one; None where none was found. `tick` ends it by raising."""
    conditions: Sequence[Term] = (*one.given, *(invariants_of(model) if one.invariants else ()), negated(one))
    reading = Reading(SIZES, tick)
    answer, found = reading.model(conditions, Budget(BUDGET.steps, min(seconds, BUDGET.seconds)))
    if answer is not Answer.SATISFIABLE or found is None:
        return None
    against = (*one.given, negated(one))
    names = sorted({name for part in against for name in free_variables(part)}, key=lambda name: str(name.args[0]))
    arguments = tuple(f"{_plain(name)} = {_shown(found.value(name.args[0]), name.sort.name)}" for name in names)
    return Counterexample(arguments, _state(model, found, against))


def _state(model: Model, found: FiniteModel, asked: Sequence[Term]) -> tuple[str, ...]:
    names: dict[str, Term] = {}

    def visit(one: Term) -> None:
        if one.op in ("app", "rigid"):
            names.setdefault(one.args[0], one)

    for part in asked:
        walk(part, visit)
    lines = []
    for (name, *at), value in found.items():
        if name in names:
            sorts = RIGID[name][0] if name in RIGID else model.functions[name].sorts
            places = ", ".join(_shown(n, sort.name) for n, sort in zip(at, sorts, strict=True))
            lines.append(f"{name}{f'({places})' if at else ''} = {_shown(value, names[name].sort.name)}")
    return tuple(lines)


def _plain(name: Term) -> str:
    text: str = name.args[0]
    return text.replace("#", "")


def _shown(value: object, sort: str) -> str:
    short = {"Key": "k", "Txn": "t", "Client": "c", "Val": "v"}
    return f"{short[sort]}{value}" if sort in short else str(value)
