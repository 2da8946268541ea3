"""Values as a concrete program meets them on one path. Does not know where rows come from.

A value with cases is decided as late as can be: rows hold cells, and a cell is read when the program takes it out of
its row. A value that the program only copies need not be decided at all: it is handed out as `Opaque`, which refuses
every look into it, whereupon the exploration begins anew with that column decided when read. Whether a value is NULL
is always decided, because a program asks that by identity. Numbers without cases become `Unknown`, whose comparisons
are decisions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NoReturn, cast

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.paths.running import Explorer, Looked
from sql_semantics.terms import Cases, Scalar, Term, TermLeaf, add, compare, disj, mul, negate, sub
from sql_semantics.values.types import Value


class Cell:
    """A value in a row or a frame that is not plain; `tag` names its column or slot."""

    __slots__ = ("explorer", "scalar", "tag")

    def __init__(self, explorer: Explorer, scalar: Cases | Term, tag: Hashable) -> None:
        self.explorer = explorer
        self.scalar = scalar
        self.tag = tag

    def read(self) -> Any:
        """The value as the program gets it."""
        explorer = self.explorer
        options = explorer.possible(self.scalar)
        plain = [leaf for _, leaf in options if not isinstance(leaf, Term)]
        if len(options) == 1 and plain:
            return plain[0]
        # truth values are asked by identity, too
        if not explorer.may_copy(self.tag) or any(isinstance(leaf, bool) for leaf in plain):
            leaf = explorer.leaf(self.scalar)
            if isinstance(leaf, Term):
                explorer.unknown = True
                return Unknown(explorer, leaf)
            return leaf
        if None in plain and explorer.holds(disj(*(guard for guard, leaf in options if leaf is None))):
            return None
        explorer.copied = True
        return Opaque(self.scalar, self.tag)

    def _outside(self, *_: object) -> NoReturn:
        raise RuntimeError(f"the cell of {self.tag} was taken out of its row unread")

    __eq__ = __hash__ = __bool__ = __lt__ = __str__ = __repr__ = _outside


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Opaque | Unknown, *_: object) -> NoReturn:
        self.look()
        raise AssertionError(name)

    return refuse


_LOOKS = (
    *("lt", "le", "gt", "ge", "eq", "ne", "hash", "bool", "str", "repr", "format", "int", "float", "index", "complex"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod"),
    *("divmod", "rdivmod", "pow", "rpow", "neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil"),
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
    *("len", "iter", "contains", "getitem", "bytes", "reversed", "copy", "deepcopy", "reduce", "reduce_ex", "getattr"),
)
"""Everything that Python asks of a value other than which object it is."""


class Opaque:
    """A value that is handed on as it is, and is not NULL. Every look into it raises Looked."""

    __slots__ = ("_scalar", "_tag")

    def __init__(self, scalar: Cases | Term, tag: Hashable) -> None:
        self._scalar = scalar
        self._tag = tag

    def look(self) -> NoReturn:
        """Refuse."""
        raise Looked(self._tag)

    # isinstance and x.__class__ are looks, too
    __class__ = property(_refuse("class"))


class Unknown:
    """A number (or, for equality only, another value) of which nothing is known but its term. Not NULL."""

    __slots__ = ("_explorer", "_term")

    def __init__(self, explorer: Explorer, term: Term) -> None:
        self._explorer = explorer
        self._term = term

    def look(self) -> NoReturn:
        """Refuse."""
        raise Unsupported(f"an unknown value in {self._explorer.what}")

    __class__ = property(_refuse("class"))

    def _compare(self, op: str, other: object) -> bool:
        if other is None:
            return op == "<>"
        if type(other) is Opaque:
            other.look()
        leaf = other._term if type(other) is Unknown else other
        if type(leaf) not in (int, Decimal, str, Term):
            self.look()
        try:
            guard = compare(op, self._term, cast("Value | Term", leaf))
        except TermLeaf:
            self.look()
        return self._explorer.holds(guard)

    def _calculate(self, function: Callable[[Any, Any], Any], left: object, right: object) -> Unknown | Value:
        operands: list[Any] = []
        for operand in (left, right):
            if type(operand) is Opaque:
                operand.look()
            # decimals are calculated by functions of their own, so only integers arrive here
            if type(operand) is Unknown:
                operand = operand._term
            elif type(operand) is not int:
                self.look()
            operands.append(operand)
        try:
            leaf = function(*operands)
        except TermLeaf:
            self.look()
        return Unknown(self._explorer, leaf) if type(leaf) is Term else cast(Value, leaf)

    def __eq__(self, other: object) -> bool:
        return self._compare("=", other)

    def __ne__(self, other: object) -> bool:
        return self._compare("<>", other)

    def __lt__(self, other: object) -> bool:
        return self._compare("<", other)

    def __le__(self, other: object) -> bool:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> bool:
        return self._compare(">", other)

    def __ge__(self, other: object) -> bool:
        return self._compare(">=", other)

    def __add__(self, other: object) -> Any:
        return self._calculate(add, self, other)

    def __radd__(self, other: object) -> Any:
        return self._calculate(add, other, self)

    def __sub__(self, other: object) -> Any:
        return self._calculate(sub, self, other)

    def __rsub__(self, other: object) -> Any:
        return self._calculate(sub, other, self)

    def __mul__(self, other: object) -> Any:
        return self._calculate(mul, self, other)

    def __rmul__(self, other: object) -> Any:
        return self._calculate(mul, other, self)

    def __neg__(self) -> Any:
        return self._calculate(lambda left, right: negate(left), self, 0)


for _class in (Opaque, Unknown):
    for _name in _LOOKS:
        if f"__{_name}__" not in vars(_class) or vars(_class)[f"__{_name}__"] is None:
            setattr(_class, f"__{_name}__", _refuse(_name))
del _class, _name


class LazyRow(tuple[Any, ...]):
    """A row some of whose values are cells, read when they are taken out."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        found = tuple.__getitem__(self, place)
        if type(found) is Cell:
            return found.read()
        return LazyRow(found) if type(place) is slice else found

    def __iter__(self) -> Iterator[Any]:
        for found in tuple.__iter__(self):
            yield found.read() if type(found) is Cell else found

    def __add__(self, other: tuple[Any, ...]) -> LazyRow:
        return LazyRow((*tuple.__iter__(self), *tuple.__iter__(other)))

    def __radd__(self, other: tuple[Any, ...]) -> LazyRow:
        return LazyRow((*tuple.__iter__(other), *tuple.__iter__(self)))

    def __hash__(self) -> int:
        return hash(tuple(iter(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(iter(self)) == (tuple(iter(other)) if isinstance(other, LazyRow) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        return tuple(iter(self)) < tuple(iter(other))

    def __le__(self, other: tuple[Any, ...]) -> bool:
        return tuple(iter(self)) <= tuple(iter(other))

    def __gt__(self, other: tuple[Any, ...]) -> bool:
        return tuple(iter(self)) > tuple(iter(other))

    def __ge__(self, other: tuple[Any, ...]) -> bool:
        return tuple(iter(self)) >= tuple(iter(other))

    def __contains__(self, value: object) -> bool:
        return value in tuple(iter(self))

    def index(self, value: object, *bounds: Any) -> int:
        """As of the values."""
        return tuple(iter(self)).index(value, *bounds)

    def count(self, value: object) -> int:
        """As of the values."""
        return tuple(iter(self)).count(value)

    def __repr__(self) -> str:
        return f"LazyRow of {len(self)} values"


class LazyFrame(list[Any]):
    """A procedure's variables, some of them cells."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        found = list.__getitem__(self, place)
        return found.read() if type(found) is Cell else found

    def __iter__(self) -> Iterator[Any]:
        for found in list.__iter__(self):
            yield found.read() if type(found) is Cell else found


def lazy(explorer: Explorer, scalars: Sequence[Scalar], tag: Hashable) -> tuple[Any, ...]:
    """The row that a program is given for these scalars; `tag` names its table."""
    if not any(isinstance(scalar, Cases | Term) for scalar in scalars):
        return tuple(scalars)
    return LazyRow(cells(explorer, scalars, tag))


def cells(explorer: Explorer, scalars: Sequence[Scalar], tag: Hashable) -> list[Any]:
    """The scalars, those that are not plain as cells."""
    return [
        Cell(explorer, scalar, (tag, place)) if isinstance(scalar, Cases | Term) else scalar
        for place, scalar in enumerate(scalars)
    ]


def scalar_of(value: Any) -> Scalar:
    """The scalar that a program's value stands for."""
    kind = type(value)
    if kind is Cell:
        return cast(Scalar, value.scalar)
    if kind is Opaque:
        return cast(Scalar, value._scalar)
    return cast(Scalar, value._term if kind is Unknown else value)


def scalars_of(row: Sequence[Any]) -> tuple[Scalar, ...]:
    """The scalars of a program's row; nothing is decided for it."""
    raw = tuple.__iter__(row) if isinstance(row, tuple) else list.__iter__(cast("list[Any]", row))
    return tuple(scalar_of(value) for value in raw)


def plain(value: Any) -> Value:
    """A program's value where it must be plain."""
    if type(value) is Opaque or type(value) is Unknown:
        value.look()
    return cast(Value, value)
