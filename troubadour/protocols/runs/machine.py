"""The reading of a protocol that runs: finitely many keys, clients and transactions, states as tuples (VerIso §2.3).

Guards and updates are compiled to Python once. Does not know which of the steps is taken, nor what a level asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.protocols.language import AtPoints, Event, Function, Model
from troubadour.protocols.terms import (
    BOOL,
    CLIENT,
    KEY,
    TIME,
    TXN,
    VAL,
    ModelError,
    Sort,
    Term,
    const,
    free_variables,
    lift,
)

State = tuple[Any, ...]
"""The value of every function at every place: Booleans, integers, names of constants, numbers of elements."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How many there are of each; transactions beside the one that wrote the initial versions; times are 0, 1, ..."""

    keys: int = 2
    clients: int = 2
    transactions: int = 3
    times: int = 4


@dataclass(frozen=True, slots=True)
class Programs:
    """What each transaction reads and writes, by key, and its client, by number; number 0 wrote the initial versions.
    Those after the first `active` are never issued."""

    reads: tuple[tuple[bool, ...], ...]
    writes: tuple[tuple[bool, ...], ...]
    client: tuple[int, ...]
    active: int

    def alike(self, one: int, other: int) -> bool:
        """Whether two transactions differ in nothing but their number."""
        return (self.reads[one], self.writes[one], self.client[one]) == (
            self.reads[other],
            self.writes[other],
            self.client[other],
        )


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit says: by key the value that the transaction read, and the value that it wrote."""

    reads: Mapping[int, int]
    writes: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Taken:
    """A step: the event, its arguments, the state after it; `transaction`: the event's own; `commit`: what commits."""

    event: Event
    arguments: tuple[int, ...]
    transaction: int | None
    state: State
    commit: Committed | None


_Enumerate = Callable[[State, Any, Any, Any, int], Iterator[tuple[int, ...]]]
_Apply = Callable[..., State]
_Commit = Callable[..., tuple[dict[int, int], dict[int, int]]]


@dataclass(frozen=True)
class _Compiled:
    event: Event
    enumerate: _Enumerate
    apply: _Apply
    commit: _Commit | None
    transaction: int | None


@dataclass
class _Layout:
    """Where each function's values are in a state."""

    sizes: Mapping[str, int]
    offsets: dict[str, int] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    length: int = 0

    def add(self, function: Function) -> None:
        self.offsets[function.name], self.functions[function.name] = self.length, function
        self.length += prod(self.size(sort) for sort in function.sorts)

    def size(self, sort: Sort) -> int:
        if sort.values is not None:
            return len(sort.values)
        if sort.name not in self.sizes:
            raise ModelError(f"{sort} has no end: no function of the state, nor a quantifier in a step, is over it")
        return self.sizes[sort.name]

    def places(self, function: Function) -> Iterator[tuple[int, tuple[int, ...]]]:
        ranges = [range(self.size(sort)) for sort in function.sorts]
        return enumerate(product(*ranges), self.offsets[function.name])


class Machine:
    """A protocol with a bound: its initial state and its steps. Raises ModelError where the text cannot run. `tick` is
    called while it is compiled and initial states are looked for, and ends this by raising."""

    def __init__(self, model: Model, bound: Bound, tick: Callable[[], object] = int) -> None:
        self.model, self.bound, self._tick = model, bound, tick
        sizes = {KEY.name: bound.keys, TXN.name: bound.transactions + 1, CLIENT.name: bound.clients}
        self._layout = _Layout(sizes)
        for function in model.functions.values():
            # who returned before whom is kept by the history, not by the state
            if function.name != "precedes":
                self._layout.add(function)
        self._last: State | None = None
        self._events = [self._compiled(one) for one in model.events]
        self._initial = [
            self._function(["R", "W", "C", "s"], f"return {self._all_places(claim.sorts, claim.holds)}")
            for claim in model.initial
        ]

    def initial(self, programs: Programs) -> State | None:
        """An initial state: the simplest, changed where the model's conditions name a value; None if that is none."""
        if self._last is not None and self.is_initial(self._last, programs):
            return self._last
        state = self._simplest()
        for _ in range(3):
            if self.is_initial(state, programs):
                self._last = tuple(state)
                return self._last
            for claim in self.model.initial:
                for arguments in self._arguments(claim.sorts):
                    self._settle(state, claim.at(self.model.start, arguments), programs)
        return tuple(state) if self.is_initial(state, programs) else None

    def is_initial(self, state: Sequence[Any], programs: Programs) -> bool:
        """Whether the model's conditions hold."""
        return all(holds(programs.reads, programs.writes, programs.client, state) for holds in self._initial)

    def steps(self, state: State, programs: Programs) -> Iterator[Taken]:
        """Every possible step, in the order of the text. Of transactions that are alike the first begins first."""
        reads, writes, clients = programs.reads, programs.writes, programs.client
        issued = self._layout.offsets["issued"]
        for one in self._events:
            for arguments in one.enumerate(state, reads, writes, clients, programs.active):
                t = None if one.transaction is None else arguments[one.transaction]
                if t is not None and not state[issued + t] and self._later_of_alike(state, issued, t, programs):
                    continue
                yield self._taken(one, arguments, t, state, programs)

    def step(self, name: str, arguments: tuple[int, ...], state: State, programs: Programs) -> Taken | None:
        """This step, where it is possible."""
        for one in self._events:
            if one.event.name == name:
                for found in one.enumerate(state, programs.reads, programs.writes, programs.client, programs.active):
                    if found == arguments:
                        t = None if one.transaction is None else arguments[one.transaction]
                        return self._taken(one, arguments, t, state, programs)
        return None

    def _taken(
        self, one: _Compiled, arguments: tuple[int, ...], t: int | None, state: State, programs: Programs
    ) -> Taken:
        reads, writes, clients = programs.reads, programs.writes, programs.client
        after = one.apply(state, reads, writes, clients, *arguments)
        commit = None
        if one.commit is not None:
            commit = Committed(*one.commit(state, reads, writes, clients, *arguments))
            _check_writes(one.event, commit, () if t is None else writes[t])
        return Taken(one.event, arguments, t, after, commit)

    def _later_of_alike(self, state: State, issued: int, t: int, programs: Programs) -> bool:
        return any(not state[issued + other] and programs.alike(other, t) for other in range(1, t))

    def value(self, state: State, name: str, *arguments: int) -> Any:
        """A function's value at a place."""
        function = self._layout.functions[name]
        place = 0
        for argument, sort in zip(arguments, function.sorts, strict=True):
            place = place * self._layout.size(sort) + argument
        return state[self._layout.offsets[name] + place]

    def cells(self) -> Iterator[tuple[Function, tuple[int, ...], int]]:
        """Every function at every place, and where in a state its value is."""
        for function in self._layout.functions.values():
            for place, arguments in self._layout.places(function):
                yield function, arguments, place

    def newest(self, state: State, programs: Programs, key: int) -> int | None:
        """The value that ``versions`` gives a key; None where the model says nothing of versions."""
        claim = self.model.abstraction.get("versions")
        if claim is None:
            return None
        term = claim.holds(self.model.start, const(key, KEY))
        found = self._function(["s", "R", "W", "C"], f"return {self._text(term)}")(
            state, programs.reads, programs.writes, programs.client
        )
        assert isinstance(found, int)
        return found

    def written(self, t: int, key: int) -> int:
        """The value that a transaction's program writes to a key: one of its own."""
        return t * self.bound.keys + key

    # the initial state

    def _simplest(self) -> list[Any]:
        state: list[Any] = [None] * self._layout.length
        for function, arguments, place in self.cells():
            state[place] = self._simplest_value(function, arguments)
        return state

    def _simplest_value(self, function: Function, arguments: tuple[int, ...]) -> Any:
        if function.result == BOOL:
            return False
        if function.result.values is not None:
            return function.result.values[0]
        if function.result == VAL and KEY in function.sorts:
            # of a value of some key: its initial version
            return arguments[function.sorts.index(KEY)]
        return 0

    def _arguments(self, sorts: Sequence[Sort]) -> Iterator[tuple[Term, ...]]:
        ranges = [[const(n, sort) for n in self._values(sort)] for sort in sorts]
        for arguments in product(*ranges):
            self._tick()
            yield arguments

    def _values(self, sort: Sort) -> Sequence[Any]:
        return sort.values if sort.values is not None else range(self._layout.size(sort))

    def _settle(self, state: list[Any], condition: Term, programs: Programs) -> None:
        """Values that a condition names outright."""
        match condition.op:
            case "and":
                for part in condition.args:
                    self._settle(state, part, programs)
            case "or" if not self._evaluated(self._text(condition), state, programs):
                # a consequence stands last
                self._settle(state, condition.args[-1], programs)
            case "app":
                state[self._place(condition, state, programs)] = True
            case "not" if condition.args[0].op == "app":
                state[self._place(condition.args[0], state, programs)] = False
            case "eq":
                left, right = condition.args
                if left.op != "app":
                    left, right = right, left
                if left.op == "app":
                    state[self._place(left, state, programs)] = self._evaluated(self._text(right), state, programs)
            case _:
                pass

    def _place(self, one: Term, state: Sequence[Any], programs: Programs) -> int:
        found = self._evaluated(self._index(one), state, programs)
        assert isinstance(found, int)
        return found

    def _evaluated(self, text: str, state: Sequence[Any], programs: Programs) -> Any:
        return self._function(["s", "R", "W", "C"], f"return {text}")(
            state, programs.reads, programs.writes, programs.client
        )

    # compiling

    def _compiled(self, one: Event) -> _Compiled:
        names = [_name(parameter) for parameter in one.parameters]
        place = None if one.transaction is None else names.index(_name(one.transaction))
        return _Compiled(one, self._enumerator(one), self._applier(one, names), self._committer(one, names), place)

    def _enumerator(self, one: Event) -> _Enumerate:
        lines: list[str] = []
        known: set[Term] = set()
        waiting = list(one.step.guards)
        indent = 0
        ordered = sorted(one.parameters, key=lambda p: p.sort == VAL)
        for parameter in (None, *ordered):
            if parameter is not None:
                lines.append("    " * indent + f"for {_name(parameter)} in {self._range(one, parameter)}:")
                known.add(parameter)
                indent += 1
            ready = sorted((g for g in waiting if free_variables(g) <= known), key=_weight)
            waiting = [g for g in waiting if not free_variables(g) <= known]
            if ready:
                lines.append("    " * indent + "if " + " and ".join(self._text(g) for g in ready) + ":")
                indent += 1
        lines.append("    " * indent + "yield (" + "".join(f"{_name(p)}, " for p in one.parameters) + ")")
        found: _Enumerate = self._function(["s", "R", "W", "C", "N"], "\n".join(lines))
        return found

    def _range(self, one: Event, parameter: Term) -> str:
        sort = parameter.sort
        if sort == TXN:
            return "range(1, N + 1)" if parameter is one.transaction else (f"range({self.bound.transactions + 1})")
        if sort == TIME:
            return f"range({self.bound.times})"
        if sort == VAL:
            # a value of its own, so that what was read tells which version
            key = next((p for p in one.parameters if p.sort == KEY), None)
            if one.transaction is None or key is None:
                raise ModelError(f"{one.name}: a parameter of sort Val needs a transaction and a key beside it")
            return f"({_name(one.transaction)} * {self.bound.keys} + {_name(key)},)"
        if sort == BOOL:
            return "(False, True)"
        return repr(sort.values) if sort.values is not None else f"range({self._layout.size(sort)})"

    def _applier(self, one: Event, names: Sequence[str]) -> _Apply:
        lines = ["c = list(s)"]
        after = one.step.after
        for name, update in after.updates.items():
            if name == "precedes":
                continue
            function = self._layout.functions[name]
            if isinstance(update, AtPoints):
                for place, value in update.points:
                    target = self._index(self._applied(function, place))
                    lines.append(f"c[{target}] = {self._text(value)}")
                continue
            if name in ("issued", "committed", "returned"):
                assert one.transaction is not None
                lines.append(f"c[{self._index(self._applied(function, (one.transaction,)))}] = True")
                continue
            for number, arguments in self._layout.places(function):
                self._tick()
                terms = tuple(self._element(n, sort) for n, sort in zip(arguments, function.sorts, strict=True))
                value = lift(update(*terms), function.result)
                if value is not self._applied(function, terms):
                    lines.append(f"c[{number}] = {self._text(value)}")
        lines.append("return tuple(c)")
        found: _Apply = self._function(["s", "R", "W", "C", *names], "\n".join(lines))
        return found

    def _committer(self, one: Event, names: Sequence[str]) -> _Commit | None:
        made = one.step.commit
        if made is None:
            return None
        t = self._text(made.transaction)
        lines = ["read, wrote = {}, {}"]
        for number in range(self.bound.keys):
            key = const(number, KEY)
            read = made.reads(key)
            text = self._text(read)
            if read.sort == TXN:
                text = f"({text}) * {self.bound.keys} + {number}"
            lines.append(f"if R[{t}][{number}]: read[{number}] = {text}")
            lines.append(f"if {self._text(made.wrote(key))}: wrote[{number}] = {self._text(made.value(key))}")
        lines.append("return read, wrote")
        found: _Commit = self._function(["s", "R", "W", "C", *names], "\n".join(lines))
        return found

    def _element(self, number: int, sort: Sort) -> Term:
        return const(self._values(sort)[number], sort)

    def _applied(self, function: Function, arguments: tuple[Term, ...]) -> Term:
        return self.model.start.value_of(function, arguments)

    def _function(self, parameters: Sequence[str], body: str) -> Any:
        text = f"def made({', '.join(parameters)}):\n" + "\n".join("    " + line for line in body.splitlines())
        namespace: dict[str, Any] = {}
        exec(compile(text, f"<{self.model.name}>", "exec"), namespace)  # our own text, made of terms only
        return namespace["made"]

    def _all_places(self, sorts: Sequence[Sort], holds: Callable[..., Any]) -> str:
        parts = [self._text(lift(holds(self.model.start, *arguments), BOOL)) for arguments in self._arguments(sorts)]
        return " and ".join(parts) or "True"

    def _index(self, one: Term) -> str:
        function = self._layout.functions[one.args[0]]
        place = ""
        for argument, sort in zip(one.args[1:], function.sorts, strict=True):
            text = self._text(argument)
            if sort.values is not None:
                text = f"{sort.values!r}.index({text})"
            place = text if not place else f"({place}) * {self._layout.size(sort)} + {text}"
        offset = self._layout.offsets[one.args[0]]
        return f"{offset} + {place}" if place else str(offset)

    def _text(self, one: Term) -> str:
        match one.op:
            case "const":
                return repr(one.args[0])
            case "var":
                return _name(one)
            case "app":
                if one.args[0] == "precedes":
                    raise ModelError("precedes is for invariants only")
                return f"s[{self._index(one)}]"
            case "rigid":
                return self._rigid(one)
            case "forall" | "exists":
                loops = " ".join(f"for {_name(name)} in {self._values(name.sort)!r}" for name in one.args[0])
                which = "all" if one.op == "forall" else "any"
                return f"{which}({self._text(one.args[1])} {loops})"
            case "not":
                return f"(not {self._text(one.args[0])})"
            case "ite":
                condition, then, other = map(self._text, one.args)
                return f"({then} if {condition} else {other})"
        between = {"eq": " == ", "lt": " < ", "le": " <= ", "add": " + ", "and": " and ", "or": " or "}[one.op]
        return "(" + between.join(map(self._text, one.args)) + ")"

    def _rigid(self, one: Term) -> str:
        parts = [self._text(part) for part in one.args[1:]]
        match one.args[0]:
            case "reads":
                return f"R[{parts[0]}][{parts[1]}]"
            case "writes":
                return f"W[{parts[0]}][{parts[1]}]"
            case "client":
                return f"C[{parts[0]}]"
            case "rank":
                return parts[0]
            case "written":
                return f"(({parts[0]}) * {self.bound.keys} + {parts[1]})"
            case _:
                return "0"


def _check_writes(event: Event, commit: Committed, program: Sequence[bool]) -> None:
    """That a commit writes the keys that its program does. Raises ModelError."""
    wanted = {key for key, there in enumerate(program) if there}
    for what, keys in (("drops", wanted - commit.writes.keys()), ("adds to", commit.writes.keys() - wanted)):
        if keys:
            named = " ".join(f"w{key + 1}" for key in sorted(wanted)) or "no key"
            raise ModelError(
                f"{event.name}: commit's writes= {what} a program's writes: the program writes {named}, key"
                f" {min(keys) + 1} is {'not written' if what == 'drops' else 'written'}"
            )


def _name(one: Term) -> str:
    """A variable's name in Python: parameters and bound variables apart."""
    name: str = one.args[0]
    return "p_" + name.replace("#", "_") if "#" in name else "b_" + name


def _weight(one: Term) -> int:
    """Cheap conditions first."""
    return 1 + sum(_weight(part) for part in one.args if isinstance(part, Term)) + 8 * (one.op in ("forall", "exists"))
