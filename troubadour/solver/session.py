"""One incremental solver (paper §7): constraints under assumption literals, so that an unsatisfiable set names a core.

Does not know what its literals stand for; callers number them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from sql_semantics.terms import TRUE, Guard, Scalar, Term, items_of
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from troubadour.solver.late import z3, z3core
from troubadour.solver.lowering import Lowering


class Answer(Enum):
    """What the solver says; UNKNOWN is neither of the others and never taken for one."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


class Model:
    """An assignment (`sql_semantics.terms.Assignment`), each value of which is made when it is asked for. Atoms that
    were never asked about are False."""

    __slots__ = ("_atoms", "_held", "_holds", "_unknowns", "_value_of")

    def __init__(
        self,
        atoms: Mapping[Hashable, Any] | None = None,
        unknowns: Mapping[Hashable, Any] | None = None,
        holds: Callable[[Any], bool] = bool,
        value_of: Callable[[Any], Value] = int,
    ) -> None:
        """`atoms` and `unknowns` by their keys, as `holds` and `value_of` take them."""
        self._atoms = atoms or {}
        self._unknowns = unknowns or {}
        self._holds = holds
        self._value_of = value_of
        self._held: dict[tuple[str, Hashable], Any] = {}

    def holds(self, key: Hashable) -> bool:
        """Whether the atom with this key is true."""
        name = ("atom", key)
        if name not in self._held:
            self._held[name] = key in self._atoms and self._holds(self._atoms[key])
        return bool(self._held[name])

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
        """The value of the unknown with this key; None for one that was folded away, which may be anything."""
        name = ("unknown", key)
        if name not in self._held:
            self._held[name] = self._value_of(self._unknowns[key]) if key in self._unknowns else None
        found: Value = self._held[name]
        return found


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
        self._counted = 0
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

    def check(self, numbers: Sequence[int], seconds: float | None = None, steps: int = 0) -> tuple[Answer, list[int]]:
        """Decide the constraints under these literals; with UNSATISFIABLE, the literals of a core. `seconds` is what
        the user's limit leaves; `steps` (0: any) bounds the question by the solver's own measure, whatever the load."""
        self._solver.set("timeout", 4294967295 if seconds is None else max(1, int(seconds * 1000)))
        self._solver.set("rlimit", steps)
        # the raw call: z3.py wraps every literal anew
        literals = (z3.Ast * len(numbers))(*[self.literal(number).as_ast() for number in numbers])
        answer = z3core.Z3_solver_check_assumptions(self._context.ref(), self._solver.solver, len(numbers), literals)
        if answer == z3.Z3_L_TRUE:
            return Answer.SATISFIABLE, []
        if answer == z3.Z3_L_FALSE:
            wanted = {self.literal(number).get_id(): number for number in numbers}
            return Answer.UNSATISFIABLE, sorted(wanted[part.get_id()] for part in self._solver.unsat_core())
        self.reason = self._solver.reason_unknown()
        return Answer.UNKNOWN, []

    def steps(self) -> int:
        """The solver's steps since this was asked last, of all sessions; to ask costs as much as a short check."""
        counted: int = self._solver.statistics().get_key_value("rlimit count")
        since, self._counted = max(0, counted - self._counted), counted
        return since

    def model(self) -> Model:
        """The model of the last satisfiable check."""
        model, context = self._solver.model(), self._context

        def holds(ast: Any) -> bool:
            return bool(z3.is_true(model.eval(z3.BoolRef(ast, context), model_completion=True)))

        def value_of(unknown: tuple[Any, Term]) -> Value:
            ast, term = unknown
            return self._value(model.eval(z3.ArithRef(ast, context), model_completion=True).as_long(), term)

        unknowns = {term.args[0]: (ast, term) for ast, term in self._lowering.unknowns.values()}
        return Model(dict(self._lowering.atoms), unknowns, holds, value_of)

    def _value(self, number: int, term: Term) -> Value:
        if term.kind in INTEGER_KINDS:
            return number
        if term.kind is Kind.NUMERIC:
            return Decimal(number).scaleb(-term.scale)
        return self._lowering.code_value(number, term.kind)
