"""Obligations of a protocol's proof put to Z3: ground instances, quantified, or over finite sorts.

A formula is anything with `op`, `args` and `sort` (`troubadour.protocols.terms`). Unknown is an answer of its own and
never a proof. Does not know what a formula stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import z3

from sql_semantics.records import dataclass
from troubadour.solver.session import Answer


class FormulaSort(Protocol):
    """A sort: its name, and its constants where these are all that there are."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def values(self) -> tuple[str, ...] | None:
        """Its constants; None: any number of elements."""


class Formula(Protocol):
    """A term: an operator, its arguments and its sort."""

    op: str
    args: tuple[Any, ...]
    sort: Any


BOOL = "Bool"
TIME = "Time"


class FiniteModel:
    """What a satisfiable finite reading says of each function at each place, by name and element numbers."""

    def __init__(self, values: Mapping[tuple[Any, ...], Any]) -> None:
        self._values = values

    def value(self, name: str, *arguments: int) -> Any:
        """A bool, an integer, the name of a constant, or an element's number; None where nothing depends on it."""
        return self._values.get((name, *arguments))

    def items(self) -> Iterable[tuple[tuple[Any, ...], Any]]:
        """All that is said."""
        return self._values.items()


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost: Z3's own steps, which do not depend on load, and seconds."""

    steps: int
    seconds: float


class Reading:
    """Formulas lowered once and asked often. `sizes`: the number of elements of each sort, by name, in the finite
    reading; None: the unbounded one. `tick` is called at every instance of a quantifier and ends the lowering by
    raising."""

    def __init__(self, sizes: Mapping[str, int] | None = None, tick: Callable[[], object] = int) -> None:
        self._tick = tick
        self._context = z3.Context()
        self._sizes = sizes
        self._sorts: dict[str, Any] = {}
        self._constants: dict[str, Mapping[str, Any]] = {}
        self._elements: dict[str, list[Any]] = {}
        self._functions: dict[str, Any] = {}
        self._lowered: dict[int, tuple[Any, Any]] = {}
        self._cells: dict[tuple[Any, ...], Any] = {}
        self._ranges: list[Any] = []
        self.reason = ""

    def decide(self, formulas: Sequence[Formula], budget: Budget, seed: int = 0) -> Answer:
        """Whether the formulas hold together somewhere."""
        return self._check(formulas, budget, seed)[0]

    def model(self, formulas: Sequence[Formula], budget: Budget, seed: int = 0) -> tuple[Answer, FiniteModel | None]:
        """The same, with what holds then; in the finite reading only."""
        assert self._sizes is not None
        answer, solver = self._check(formulas, budget, seed)
        if answer is not Answer.SATISFIABLE:
            return answer, None
        model = solver.model()
        return answer, FiniteModel({cell: self._value(model, ast) for cell, ast in self._cells.items()})

    def text(self, formulas: Sequence[Formula]) -> str:
        """The formulas in SMT-LIB, with the question, for another solver."""
        solver = z3.SimpleSolver(ctx=self._context)
        solver.add(*map(self.lower, formulas), *self._ranges)
        found: str = solver.to_smt2()
        return found

    def _check(self, formulas: Sequence[Formula], budget: Budget, seed: int) -> tuple[Answer, Any]:
        solver = z3.SimpleSolver(ctx=self._context)
        solver.set("timeout", max(1, int(budget.seconds * 1000)))
        solver.set("rlimit", budget.steps)
        solver.set("random_seed", seed)
        if seed:
            solver.set("phase_selection", 5)
        lowered = [self.lower(formula) for formula in formulas]
        # another seed reads them in another order, too
        for ast in reversed(lowered) if seed else lowered:
            solver.add(ast)
        for ast in self._ranges:
            solver.add(ast)
        answer = solver.check()
        if answer == z3.sat:
            return Answer.SATISFIABLE, solver
        if answer == z3.unsat:
            return Answer.UNSATISFIABLE, solver
        self.reason = solver.reason_unknown()
        return Answer.UNKNOWN, solver

    def lower(self, formula: Formula) -> Any:
        """The formula in Z3. Bound variables and constants keep their names; what is free is a constant."""
        return self._lower(formula, {})

    def _lower(self, one: Formula, bound: dict[str, Any]) -> Any:
        known = self._lowered.get(id(one)) if not bound else None
        if known is not None:
            return known[1]
        found = self._built(one, bound)
        if not bound:
            # the formula is kept, so that its identity stays its own
            self._lowered[id(one)] = (one, found)
        return found

    def _built(self, one: Formula, bound: dict[str, Any]) -> Any:
        op, args = one.op, one.args
        match op:
            case "const":
                return self._constant(args[0], one.sort)
            case "var":
                return bound[args[0]] if args[0] in bound else self._free(args[0], one.sort)
            case "app" | "rigid":
                return self._applied(args[0], [self._lower(part, bound) for part in args[1:]], args[1:], one.sort)
            case "forall" | "exists":
                return self._quantified(op, args[0], args[1], bound)
        parts = [self._lower(part, bound) for part in args]
        match op:
            case "eq":
                return parts[0] == parts[1]
            case "lt":
                return parts[0] < parts[1]
            case "le":
                return parts[0] <= parts[1]
            case "add":
                return parts[0] + parts[1]
            case "not":
                return z3.Not(parts[0])
            case "and":
                return z3.And(*parts)
            case "or":
                return z3.Or(*parts)
            case "ite":
                return z3.If(parts[0], parts[1], parts[2])
        raise AssertionError(f"no such operator: {op}")

    def _sort(self, sort: FormulaSort) -> Any:
        found = self._sorts.get(sort.name)
        if found is None:
            if sort.name == BOOL:
                found = z3.BoolSort(self._context)
            elif sort.name == TIME:
                found = z3.IntSort(self._context)
            elif sort.values is not None:
                name = f"enum{len(self._constants)}"
                names = [f"{name}:{value}" for value in sort.values]
                found, constants = z3.EnumSort(name, names, ctx=self._context)
                self._constants[sort.name] = dict(zip(sort.values, constants, strict=True))
            elif self._sizes is None:
                found = z3.DeclareSort(sort.name, self._context)
            else:
                names = [f"{sort.name}:{number}" for number in range(self._sizes[sort.name])]
                found, elements = z3.EnumSort(sort.name, names, ctx=self._context)
                self._elements[sort.name] = list(elements)
            self._sorts[sort.name] = found
        return found

    def _constant(self, value: Any, sort: FormulaSort) -> Any:
        ours = self._sort(sort)
        if sort.name == BOOL:
            return z3.BoolVal(value, self._context)
        if sort.name == TIME:
            return z3.IntVal(value, self._context)
        if sort.values is not None:
            return self._constants[sort.name][value]
        assert ours is not None
        return self._elements[sort.name][value]

    def _free(self, name: str, sort: FormulaSort) -> Any:
        found = self._cells.get((name,))
        if found is None:
            found = z3.Const(name, self._sort(sort))
            self._cells[(name,)] = found
        return found

    def _applied(self, name: str, parts: list[Any], terms: Sequence[Formula], sort: FormulaSort) -> Any:
        key = f"f:{name}"
        function = self._functions.get(key)
        if function is None:
            sorts = [self._sort(part.sort) for part in terms]
            function = z3.Function(key, *sorts, self._sort(sort)) if sorts else z3.Const(key, self._sort(sort))
            self._functions[key] = function
            if self._sizes is not None:
                self._name_cells(name, function, terms, [])
        return function(*parts) if parts else function

    def _name_cells(self, name: str, function: Any, terms: Sequence[Formula], at: list[int]) -> None:
        if len(at) == len(terms):
            elements = [self._elements[part.sort.name][n] for part, n in zip(terms, at, strict=True)]
            self._cells[(name, *at)] = function(*elements) if elements else function
            return
        for number in range(len(self._elements[terms[len(at)].sort.name])):
            self._name_cells(name, function, terms, [*at, number])

    def _quantified(self, op: str, variables: Sequence[Formula], body: Formula, bound: dict[str, Any]) -> Any:
        names, parts = [], [bound]
        for one in variables:
            sort = self._sort(one.sort)
            # times have no end, so they stay quantified in the finite reading
            if self._sizes is None or one.sort.name == TIME:
                names.append(z3.Const(one.args[0], sort))
                values = names[-1:]
            elif one.sort.name == BOOL:
                values = [z3.BoolVal(value, self._context) for value in (False, True)]
            elif one.sort.values is not None:
                values = list(self._constants[one.sort.name].values())
            else:
                values = self._elements[one.sort.name]
            parts = [{**part, one.args[0]: value} for part in parts for value in values]
        lowered = []
        for part in parts:
            self._tick()
            inner = self._lower(body, part)
            if names:
                inner = z3.ForAll(names, inner) if op == "forall" else z3.Exists(names, inner)
            lowered.append(inner)
        if len(lowered) == 1:
            return lowered[0]
        return z3.And(*lowered) if op == "forall" else z3.Or(*lowered)

    def _value(self, model: Any, ast: Any) -> Any:
        value = model.eval(ast, model_completion=True)
        if z3.is_bool(value):
            return z3.is_true(value)
        if z3.is_int_value(value):
            return value.as_long()
        sort, _, name = str(value).partition(":")
        return int(name) if sort in self._elements else name
