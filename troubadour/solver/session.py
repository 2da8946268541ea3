"""One incremental solver (paper §7): constraints under assumption literals, so that an unsatisfiable set names a core.

Does not know what its literals stand for; callers number them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import z3
from z3 import z3core

from sql_semantics.terms import TRUE, Guard, Scalar, Term, items_of
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from troubadour.solver.lowering import Lowering


class Answer(Enum):
    """What the solver says; UNKNOWN is neither of the others and never taken for one."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Model:
    """An assignment (`sql_semantics.terms.Assignment`). Atoms and unknowns that were never asked about are False
    and 0, ``''`` or FALSE."""

    _atoms: dict[Hashable, bool]
    _unknowns: dict[Hashable, Value]

    def holds(self, key: Hashable) -> bool:
        """Whether the atom with this key is true."""
        return self._atoms.get(key, False)

    def mentions(self, scalar: Scalar) -> bool:
        """Whether the model says anything of a scalar's unknowns (constants need nothing said)."""
        return all(
            not isinstance(leaf, Term) or (leaf.op == "var" and leaf.args[0] in self._unknowns)
            for _, leaf in items_of(scalar)
        )

    def decides(self, key: Hashable) -> bool:
        """Whether the model says anything of the atom or unknown with this key."""
        return key in self._atoms or key in self._unknowns

    def value(self, key: Hashable) -> Value:
        """The value of the unknown with this key; one that was folded away may be anything, and is 0."""
        return self._unknowns.get(key, 0)


class Session:
    """An incremental solver. Literals are integers of the caller's; guards asserted under a literal hold in a check
    that assumes it."""

    def __init__(self) -> None:
        # one context for all sessions: making and deleting contexts costs more than most checks
        self._context = z3.main_ctx()
        self._lowering = Lowering(self._context)
        self._solver = z3.Solver(ctx=self._context)
        self._literals: dict[int, z3.BoolRef] = {}
        self._hard = 0
        self.reason = ""

    def literal(self, number: int) -> z3.BoolRef:
        """The assumption literal with this number."""
        found = self._literals.get(number)
        if found is None:
            found = z3.BoolRef(self._lowering.boolean(f"l{number}"), self._context)
            self._literals[number] = found
        return found

    def add(self, number: int, guards: Iterable[Guard]) -> None:
        """Assert guards under a literal."""
        literal = self.literal(number).as_ast()
        ref = self._context.ref()
        for guard in guards:
            if guard is TRUE:
                continue
            if guard.kind == "and":
                self.add(number, guard.args)
                continue
            formula = self._lowering.implies(literal, guard)
            z3core.Z3_solver_assert(ref, self._solver.solver, formula)
        for formula in self._lowering.hard[self._hard :]:
            z3core.Z3_solver_assert(ref, self._solver.solver, formula)
        self._hard = len(self._lowering.hard)

    def check(self, numbers: Sequence[int], seconds: float | None = None) -> tuple[Answer, list[int]]:
        """Decide the constraints under these literals; with UNSATISFIABLE, the literals of a core."""
        self._solver.set("timeout", 4294967295 if seconds is None else max(1, int(seconds * 1000)))
        wanted = {self.literal(number).get_id(): number for number in numbers}
        status = self._solver.check(*(self.literal(number) for number in numbers))
        if status == z3.sat:
            return Answer.SATISFIABLE, []
        if status == z3.unsat:
            return Answer.UNSATISFIABLE, sorted(wanted[part.get_id()] for part in self._solver.unsat_core())
        self.reason = self._solver.reason_unknown()
        return Answer.UNKNOWN, []

    def model(self) -> Model:
        """The model of the last satisfiable check."""
        model = self._solver.model()
        atoms: dict[Hashable, bool] = {}
        for key, ast in self._lowering.atoms.items():
            atoms[key] = z3.is_true(model.eval(z3.BoolRef(ast, self._context), model_completion=True))
        unknowns: dict[Hashable, Value] = {}
        for ast, term in self._lowering.unknowns.values():
            number = model.eval(z3.ArithRef(ast, self._context), model_completion=True).as_long()
            unknowns[term.args[0]] = self._value(number, term)
        return Model(atoms, unknowns)

    def _value(self, number: int, term: Term) -> Value:
        if term.kind in INTEGER_KINDS:
            return number
        if term.kind is Kind.NUMERIC:
            return Decimal(number).scaleb(-term.scale)
        return self._lowering.code_value(number, term.kind)
