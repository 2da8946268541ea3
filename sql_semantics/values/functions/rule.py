"""What a product's function table is made of. Holds no function itself.

A `Rule` is one overload: the kinds that each argument may have, the type of the result, and how to build the
implementation once the types are known. The front end picks the rule and converts the arguments to it; the runtime
finds it again by the arguments' kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import bytes_check
from sql_semantics.values.types import TEXT, Kind, SqlType, Value

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What an implementation is built for. `may`: whether its errors depend on the order of evaluation."""

    name: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    dialect: Dialect
    may: bool

    def fail(self, state: str, message: str) -> SqlError:
        """The error of a value that the function does not take."""
        return SqlError(state, message, may=self.may)


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument: the `kinds` taken as they are, and the type that others and untyped literals are converted to."""

    kinds: frozenset[Kind]
    target: SqlType | None = None


Result = SqlType | Callable[[Sequence[SqlType], Sequence[Value]], SqlType]
"""A fixed type, or one made of the arguments' types and of the values of those that are constants (else None)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One overload. `variadic`: the last slot stands for one or more arguments. `errors`: SQLSTATEs it may raise.
    `strict`: NULL in, NULL out, and the implementation never sees one. `stable`: PostgreSQL does not fold it while
    planning.
    """

    slots: tuple[Slot, ...]
    result: Result
    build: Callable[[Call], Implementation]
    variadic: bool = False
    errors: tuple[str, ...] = ()
    strict: bool = True
    stable: bool = False

    def slots_for(self, count: int) -> tuple[Slot, ...] | None:
        """One slot per argument; None where the rule does not take that many."""
        if self.variadic and count >= len(self.slots):
            return self.slots + self.slots[-1:] * (count - len(self.slots))
        return self.slots if count == len(self.slots) else None

    def takes(self, kinds: Sequence[Kind]) -> bool:
        """Whether arguments of these kinds need no conversion."""
        slots = self.slots_for(len(kinds))
        return slots is not None and all(
            kind in slot.kinds or kind is Kind.NULL for kind, slot in zip(kinds, slots, strict=True)
        )


Table = dict[str, tuple[Rule, ...]]
"""A product's functions by lower-case name, overloads in order of preference."""


def exactly(*types: SqlType) -> tuple[Slot, ...]:
    """Slots that take one type each and convert to it."""
    return tuple(Slot(frozenset({type_.kind}), type_) for type_ in types)


def any_of(kinds: Sequence[Kind] | frozenset[Kind], target: SqlType | None = None) -> Slot:
    """A slot for a family of kinds."""
    return Slot(frozenset(kinds), target)


def of_either(
    result: SqlType, build: Callable[[Call], Implementation], *others: Slot, strict: bool = True
) -> tuple[Rule, ...]:
    """A function of bytes that takes texts as well; other arguments become texts."""
    firsts = (Slot(frozenset({Kind.BYTES})), Slot(frozenset({Kind.TEXT}), TEXT))
    return tuple(Rule((first, *others), result, of_stored(build), strict=strict) for first in firsts)


def of_stored(build: Callable[[Call], Implementation]) -> Callable[[Call], Implementation]:
    """A function of the bytes that its first argument is stored in, built for UTF-8. Raises Unsupported for a text that
    another character set of MySQL's may store otherwise."""

    def made(call: Call) -> Implementation:
        function = build(call)
        check = None if call.arguments[0].kind is Kind.BYTES else bytes_check(call.arguments[0], call.dialect)
        if check is None:
            return function

        def apply(text: Value, *rest: Value) -> Value:
            check(text)
            found: Value = function(text, *rest)
            return found

        return apply

    return made


def plainly(function: Implementation) -> Callable[[Call], Implementation]:
    """An implementation that does not depend on the call."""
    return lambda call: function


def same(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """The first argument's type."""
    return types[0]


def second(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """The second argument's type."""
    return types[1]


def refused(construct: str) -> Callable[[Sequence[SqlType], Sequence[Value]], SqlType]:
    """The result of an overload that exists and is not modelled: Unsupported, naming it, where it is called."""

    def refuse(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
        raise Unsupported(construct)

    return refuse


def merged(*tables: Table) -> Table:
    """One table; overloads of a later one come behind those of an earlier one."""
    result: Table = {}
    for table in tables:
        for name, found in table.items():
            result[name] = result.get(name, ()) + found
    return result
