"""The proofs once more, each confirmed by another solver: cvc5, where it is installed (VerIso §8: Z3 has no kernel).

Does not know how a question was found: ground instances, as text.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections import Counter
from typing import Any

from troubadour.protocols.language import Model
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.proofs.obligations import invariants_of, obligations_of
from troubadour.protocols.proofs.prove import Clock, Prover, Way
from troubadour.solver.session import Answer


def available() -> bool:
    """Whether cvc5 is installed; the project does not depend on it."""
    return importlib.util.find_spec("cvc5") is not None


class Cvc5:
    """Decides a question in SMT-LIB; counts its answers."""

    def __init__(self) -> None:
        self._cvc5: Any = importlib.import_module("cvc5")
        self.counts: Counter[Answer] = Counter()
        self.version = importlib.metadata.version("cvc5")

    def __call__(self, text: str, seconds: float) -> Answer:
        """What cvc5 says."""
        solver = self._cvc5.Solver()
        solver.setOption("tlimit-per", str(max(1, int(seconds * 1000))))
        solver.setLogic("ALL")
        parser = self._cvc5.InputParser(solver)
        parser.setStringInput(self._cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager())
        answers = {"sat": Answer.SATISFIABLE, "unsat": Answer.UNSATISFIABLE}
        answer = answers.get(said.strip(), Answer.UNKNOWN)
        self.counts[answer] += 1
        return answer


def confirmed(model: Model) -> str:
    """How many of a model's proofs the other solver confirms, at the model's own level."""
    second = Cvc5()
    prover = Prover(invariants_of(model), Clock(None), second)
    decided = [prover.decide(one) for one in obligations_of(model, PROTOCOL_LEVELS[model.level])]
    unchanged = sum(one.way is Way.UNCHANGED for one in decided)
    proved = sum(one.proved for one in decided)
    return (
        f"{model.name} at {model.level} with cvc5 {second.version} as the second decision: {proved} of {len(decided)} "
        f"obligations proved, {unchanged} of them about what the event does not change; cvc5 was asked "
        f"{sum(second.counts.values())} times and says unsatisfiable {second.counts[Answer.UNSATISFIABLE]} times."
    )
