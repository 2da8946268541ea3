"""Lowering of guards and terms to Z3 through the raw calls (STYLE: measured four times quicker than the Python API).

Numbers become integers scaled by a power of ten; text, booleans and floats become integer codes, of which only
equality is ever asked. Does not know why a formula is asked.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sql_semantics.terms import Guard, Leaf, Term
from sql_semantics.terms.numbers import is_number, scale_of
from sql_semantics.values.types import Interval, Kind, Value
from troubadour.solver.late import z3, z3core

Ast = Any
"""A Z3_ast pointer."""


class Lowering:
    """Memoized lowering into one Z3 context. `hard` collects assertions that belong to the unknowns themselves
    (their bounds)."""

    def __init__(self, context: z3.Context) -> None:
        self._context = context
        self._ref = context.ref()
        self._bool = z3core.Z3_mk_bool_sort(self._ref)
        self._int = z3core.Z3_mk_int_sort(self._ref)
        self._kept: list[Ast] = []
        for sort in (self._bool, self._int):
            self._keep(z3core.Z3_sort_to_ast(self._ref, sort))
        self._guards: dict[int, tuple[Ast, Guard]] = {}
        self._terms: dict[tuple[int, int], tuple[Ast, Term]] = {}
        self._numerals: dict[int, Ast] = {}
        self._codes: dict[tuple[type, Value], int] = {}
        self._values: dict[tuple[Hashable, int], Value] = {}
        self._next = 2
        self._others = itertools.count()
        self.atoms: dict[Hashable, Ast] = {}
        self.unknowns: dict[Hashable, tuple[Ast, Term]] = {}
        self.hard: list[Ast] = []

    def _keep(self, ast: Ast) -> Ast:
        z3core.Z3_inc_ref(self._ref, ast)
        self._kept.append(ast)
        return ast

    def __del__(self) -> None:
        for ast in self._kept:
            z3core.Z3_dec_ref(self._ref, ast)

    def _const(self, name: str, sort: Any) -> Ast:
        return self._keep(z3core.Z3_mk_const(self._ref, z3core.Z3_mk_string_symbol(self._ref, name), sort))

    def boolean(self, name: str) -> Ast:
        """A fresh Boolean constant."""
        return self._const(name, self._bool)

    def numeral(self, value: int) -> Ast:
        """An integer numeral."""
        found = self._numerals.get(value)
        if found is None:
            found = self._keep(z3core.Z3_mk_numeral(self._ref, str(value), self._int))
            self._numerals[value] = found
        return found

    def code_value(self, code: int, kind: Kind) -> Value:
        """The value behind a code. A code that stands for none becomes that of some other value of the kind: what a
        model says of an unknown is the same when it is asked about as a constant."""
        if kind not in _OTHER:
            return bool(code)
        other = _OTHER[kind]
        known = self._values.get((_domain(other(0)), code))
        if known is not None:
            return known
        value = next(value for value in map(other, self._others) if (type(value), value) not in self._codes)
        self._assign(value, code)
        return value

    def _code(self, value: Value) -> int:
        if isinstance(value, bool):
            return int(value)
        found = self._codes.get((type(value), value))
        if found is None:
            while (_domain(value), self._next) in self._values:
                self._next += 1
            found = self._next
            self._assign(value, found)
            self._next += 1
        return found

    def _assign(self, value: Value, code: int) -> None:
        self._codes[type(value), value] = code
        self._values[_domain(value), code] = value

    def implies(self, literal: Ast, guard: Guard) -> Ast:
        """(=> literal guard)."""
        return self._keep(z3core.Z3_mk_implies(self._ref, literal, self.guard(guard)))

    def guard(self, root: Guard) -> Ast:
        """The formula of a guard."""
        done = self._guards
        if root.serial in done:
            return done[root.serial][0]
        stack: list[Guard] = [root]
        while stack:
            node = stack[-1]
            if node.serial in done:
                stack.pop()
                continue
            if node.kind in ("not", "and", "or"):
                pending = [part for part in node.args if part.serial not in done]
                if pending:
                    stack.extend(pending)
                    continue
            stack.pop()
            done[node.serial] = (self._keep(self._guard(node)), node)
        return done[root.serial][0]

    def _guard(self, node: Guard) -> Ast:
        match node.kind:
            case "true":
                return z3core.Z3_mk_true(self._ref)
            case "false":
                return z3core.Z3_mk_false(self._ref)
            case "atom":
                key = node.args[0]
                if key not in self.atoms:
                    self.atoms[key] = self.boolean(f"a{len(self.atoms)}")
                return self.atoms[key]
            case "not":
                return z3core.Z3_mk_not(self._ref, self._guards[node.args[0].serial][0])
            case "and" | "or":
                parts = [self._guards[part.serial][0] for part in node.args]
                array = _array(parts)
                make = z3core.Z3_mk_and if node.kind == "and" else z3core.Z3_mk_or
                return make(self._ref, len(parts), array)
        operator, left, right = node.args
        scale = max(scale_of(left), scale_of(right))
        a, b = self.leaf(left, scale), self.leaf(right, scale)
        match operator:
            case "=":
                return z3core.Z3_mk_eq(self._ref, a, b)
            case "<":
                return z3core.Z3_mk_lt(self._ref, a, b)
        return z3core.Z3_mk_le(self._ref, a, b)

    def leaf(self, leaf: Leaf, scale: int) -> Ast:
        """A leaf as an integer: a number times 10**scale, or a code."""
        if not isinstance(leaf, Term):
            return self.numeral(_scaled(leaf, scale) if is_number(leaf) else self._code(leaf))
        stack: list[tuple[Term, int]] = [(leaf, scale)]
        done = self._terms
        while stack:
            term, at = stack[-1]
            if (id(term), at) in done:
                stack.pop()
                continue
            pending = [pair for pair in _parts(term, at) if (id(pair[0]), pair[1]) not in done]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            done[id(term), at] = (self._keep(self._term(term, at)), term)
        return done[id(leaf), scale][0]

    def _operand(self, leaf: Leaf, scale: int) -> Ast:
        if isinstance(leaf, Term):
            return self._terms[id(leaf), scale][0]
        return self.leaf(leaf, scale)

    def _term(self, term: Term, scale: int) -> Ast:
        ref = self._ref
        match term.op:
            case "var":
                ast = self._unknown(term)
                factor = 10 ** (scale - term.scale)
                return ast if factor == 1 else z3core.Z3_mk_mul(ref, 2, _array([ast, self.numeral(factor)]))
            case "add":
                return z3core.Z3_mk_add(ref, 2, _array([self._operand(arg, scale) for arg in term.args]))
            case "neg":
                return z3core.Z3_mk_unary_minus(ref, self._operand(term.args[0], scale))
            case "ite":
                guard, then, otherwise = term.args
                return z3core.Z3_mk_ite(
                    ref, self.guard(guard), self._operand(then, scale), self._operand(otherwise, scale)
                )
        left, right = term.args
        factor = 10 ** (scale - term.scale)
        parts = [self._operand(left, scale_of(left)), self._operand(right, scale_of(right)), self.numeral(factor)]
        return z3core.Z3_mk_mul(ref, 3, _array(parts))

    def _unknown(self, term: Term) -> Ast:
        key = (term.args[0], term.kind, term.scale, term.low, term.high)
        known = self.unknowns.get(key)
        if known is not None:
            return known[0]
        ast = self._const(f"u{len(self.unknowns)}", self._int)
        self.unknowns[key] = (ast, term)
        low, high = (0, 1) if term.kind is Kind.BOOLEAN else (term.low, term.high)
        if low is not None:
            self.hard.append(self._keep(z3core.Z3_mk_ge(self._ref, ast, self.numeral(_scaled(low, term.scale)))))
        if high is not None:
            self.hard.append(self._keep(z3core.Z3_mk_le(self._ref, ast, self.numeral(_scaled(high, term.scale)))))
        return ast


def _domain(value: Value) -> Hashable:
    """The values among which a code stands for one."""
    return type(value), isinstance(value, datetime) and value.tzinfo is not None


def _other_text(number: int) -> str:
    return f"\ufffdother{number}"


_OTHER: dict[Kind, Callable[[int], Value]] = {
    Kind.TEXT: _other_text,
    Kind.JSON: _other_text,
    Kind.REAL: float,
    Kind.DOUBLE: float,
    Kind.DATE: lambda number: date.fromordinal(3_600_000 + number),
    Kind.TIME: lambda number: time(23, 59, 59, number % 1_000_000),
    Kind.TIMESTAMP: lambda number: datetime(9990, 1, 1) + timedelta(microseconds=number),
    Kind.TIMESTAMPTZ: lambda number: datetime(9990, 1, 1, tzinfo=UTC) + timedelta(microseconds=number),
    Kind.INTERVAL: lambda number: Interval(microseconds=-number),
    Kind.BYTES: lambda number: b"\xff\xfe" + str(number).encode(),
    Kind.UUID: lambda number: UUID(int=number),
}
"""Values of each kind that has no arithmetic, by number, unlikely to be among the log's; replay judges them anyway."""


def _array(parts: list[Ast]) -> Any:
    array = (z3.Ast * len(parts))()
    for index, part in enumerate(parts):
        array[index] = part
    return ctypes.cast(array, ctypes.POINTER(z3.Ast)) if not parts else array


def _scaled(value: Any, scale: int) -> int:
    scaled = Decimal(value).scaleb(scale)
    integer = int(scaled)
    if integer != scaled:
        raise ValueError(f"{value!r} has more than {scale} decimal digits")
    return integer


def _parts(term: Term, scale: int) -> list[tuple[Term, int]]:
    match term.op:
        case "var":
            return []
        case "mul":
            return [(arg, arg.scale) for arg in term.args if isinstance(arg, Term)]
        case "ite":
            # the guard's own terms are lowered by `guard`, which starts anew
            return [(arg, scale) for arg in term.args[1:] if isinstance(arg, Term)]
    return [(arg, scale) for arg in term.args if isinstance(arg, Term)]
