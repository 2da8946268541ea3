"""The language of protocols: state functions, events, invariants, an abstraction (VerIso §2.3, §3.1.2).

A protocol is a class, and a state of it is an instance: ``s.phase(t)`` is a term over the state, ``s.but(phase={t:
"read"})`` is the state after an event. So one text has all readings: unbounded and finite ones for a solver, and one
that runs. Does not know any of these, nor what a level demands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Self

from sql_semantics.records import dataclass, field
from troubadour.protocols.terms import (
    BOOL,
    CLIENT,
    FALSE,
    KEY,
    TIME,
    TXN,
    VAL,
    Bool,
    Client,
    Enum,
    Key,
    ModelError,
    Sort,
    SortName,
    Term,
    Time,
    Txn,
    Val,
    all_of,
    any_of,
    apply,
    equal,
    exists,
    forall,
    implies,
    ite,
    lift,
    none_of,
    quantify,
    show,
    sort_of,
    var,
    walk,
)

__all__ = [
    "Bool",
    "Client",
    "Enum",
    "Key",
    "Protocol",
    "Term",
    "Time",
    "Txn",
    "Val",
    "abstraction",
    "abstraction_at",
    "all_of",
    "any_of",
    "client",
    "commit",
    "event",
    "exists",
    "forall",
    "guard",
    "implies",
    "initial",
    "initially",
    "invariant",
    "ite",
    "none_of",
    "rank",
    "reads",
    "state",
    "writes",
    "written",
]

Update = Callable[..., Term]


class Function:
    """A function of the state, from elements of some sorts to one of a sort. As an attribute of a state it applies.

    `history`: it records what happened and no guard may ask it.
    """

    def __init__(self, sorts: tuple[Sort, ...], result: Sort, history: bool) -> None:
        self.sorts, self.result, self.history = sorts, result, history
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, one: Protocol | None, owner: type) -> Bound:
        return Bound(self, one)


class Bound:
    """A state function at a state."""

    __slots__ = ("_state", "function")

    def __init__(self, function: Function, at: Protocol | None) -> None:
        self.function, self._state = function, at

    def __call__(self, *arguments: object) -> Term:
        if self._state is None:
            raise ModelError(f"{self.function.name} is asked without a state")
        return self._state.value_of(self.function, arguments)


def state(*sorts: SortName, to: SortName, history: bool = False) -> Function:
    """A state function: ``value = state(Key, to=Val)``."""
    return Function(tuple(map(sort_of, sorts)), sort_of(to), history)


def _arguments(name: str, sorts: tuple[Sort, ...], given: tuple[object, ...]) -> tuple[Term, ...]:
    if len(given) != len(sorts):
        raise ModelError(f"{name} takes {len(sorts)} arguments, not {len(given)}")
    return tuple(lift(argument, sort) for argument, sort in zip(given, sorts, strict=True))


class Protocol:
    """A protocol; an instance is a state. The functions below are kept for every protocol, and no guard may ask them:
    whether a transaction was issued, has committed, has returned to its client; and whether one had returned before
    another was issued."""

    level = ""
    programs = ""
    """Programs that are tried first, as of `troubadour.protocols.runs.simulate.read_programs`."""
    issued = state(Txn, to=Bool, history=True)
    committed = state(Txn, to=Bool, history=True)
    returned = state(Txn, to=Bool, history=True)
    precedes = state(Txn, Txn, to=Bool, history=True)

    def __init__(self, updates: Mapping[str, Update] | None = None) -> None:
        self._updates: Mapping[str, Update] = updates or {}

    @property
    def updates(self) -> Mapping[str, Update]:
        """What differs from the state before, by function."""
        return self._updates

    def value_of(self, function: Function, arguments: tuple[object, ...]) -> Term:
        """The value of a state function here."""
        lifted = _arguments(function.name, function.sorts, arguments)
        update = self._updates.get(function.name)
        return apply("app", function.name, lifted, function.result) if update is None else update(*lifted)

    def but(self, **changes: Any) -> Self:
        """The state that differs in these functions: each by ``{arguments: value}``, the later entry standing, or by
        a function of the arguments that gives every value."""
        functions = functions_of(type(self))
        updates = dict(self._updates)
        for name, change in changes.items():
            if name not in functions:
                raise ModelError(f"unknown state name {name!r}; known are {', '.join(sorted(_own(functions)))}")
            if name in KEPT:
                raise ModelError(f"{name} is kept by itself")
            updates[name] = _update(functions[name], self, change)
        return type(self)(updates)

    def __getattr__(self, name: str) -> Any:
        raise ModelError(f"unknown state name {name!r}; known are {', '.join(sorted(_own(functions_of(type(self)))))}")


class AtPoints:
    """An update that changes some points: each its arguments and its value."""

    def __init__(self, update: Update, points: tuple[tuple[tuple[Term, ...], Term], ...]) -> None:
        self._update, self.points = update, points

    def __call__(self, *arguments: Term) -> Term:
        return self._update(*arguments)


KEPT = ("issued", "committed", "returned", "precedes")
"""The state functions that every protocol has."""


def _own(functions: Mapping[str, Function]) -> list[str]:
    return [name for name in functions if name not in KEPT]


def _update(function: Function, before: Protocol, change: Any) -> Update:
    if callable(change):

        def everywhere(*arguments: Term) -> Term:
            return lift(_guarded(function.name, lambda: change(*arguments)), function.result)

        return everywhere
    if not isinstance(change, Mapping):
        change = {(): change}
    points = [
        (
            _arguments(function.name, function.sorts, at if isinstance(at, tuple) else (at,)),
            lift(value, function.result),
        )
        for at, value in change.items()
    ]

    def at_points(*arguments: Term) -> Term:
        found = before.value_of(function, arguments)
        for place, value in points:
            found = ite(all_of(*map(equal, arguments, place)), value, found)
        return found

    # what another change has changed before is no longer a change of points
    if function.name in before.updates:
        return at_points
    return AtPoints(at_points, tuple(points))


def functions_of(owner: type) -> dict[str, Function]:
    """The state functions of a protocol's class, by name."""
    found: dict[str, Function] = {}
    for base in reversed(owner.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, Function):
                found[name] = value
    return found


RIGID: dict[str, tuple[tuple[Sort, ...], Sort]] = {
    "reads": ((TXN, KEY), BOOL),
    "writes": ((TXN, KEY), BOOL),
    "written": ((TXN, KEY), VAL),
    "client": ((TXN,), CLIENT),
    "rank": ((CLIENT,), TIME),
    "initially": ((), TXN),
}
"""What no event changes: the programs of the transactions, and the transaction that wrote the initial versions."""


def _rigid(name: str, *arguments: object) -> Term:
    sorts, result = RIGID[name]
    return apply("rigid", name, _arguments(name, sorts, arguments), result)


def reads(t: object, k: object) -> Term:
    """Whether the transaction's program reads the key."""
    return _rigid("reads", t, k)


def writes(t: object, k: object) -> Term:
    """Whether the transaction's program writes the key."""
    return _rigid("writes", t, k)


def written(t: object, k: object) -> Term:
    """The value that the transaction's program writes to the key."""
    return _rigid("written", t, k)


def client(t: object) -> Term:
    """The client that the transaction runs for."""
    return _rigid("client", t)


def rank(c: object) -> Term:
    """The client's number; no two clients have the same."""
    return _rigid("rank", c)


def initially() -> Term:
    """The transaction that wrote the initial version of each key; no event is its."""
    return _rigid("initially")


@dataclass
class _Recorder:
    """What a running event's text says by guard and commit."""

    guards: list[Term] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)


@dataclass(frozen=True)
class Commit:
    """A commit: which transaction, the value that it read of each key (`reads`, of sort Val; or the transaction that
    wrote what it read, of sort Txn), where it writes (`wrote`) and what (`value`), each a function of the key.
    `source`: the name of the state function that `reads` is, where it is one."""

    transaction: Term
    reads: Callable[[Term], Term]
    wrote: Callable[[Term], Term]
    value: Callable[[Term], Term]
    source: str | None


_recorder: ContextVar[_Recorder | None] = ContextVar("recorder", default=None)


def _running(what: str) -> _Recorder:
    found = _recorder.get()
    if found is None:
        raise ModelError(f"{what} belongs into an event")
    return found


def guard(*conditions: object) -> None:
    """The event is possible only where all these hold."""
    _running("guard").guards.extend(lift(condition, BOOL) for condition in conditions)


def commit(t: Term, *, reads: Any = None, writes: Any = None) -> None:
    """The event commits the transaction.

    `reads`: a state function of transaction and key, or a function of the key, or ``{key: value}``: what it read of
    the keys that its program reads, as the state before the event has it. None: the first versions of these, so for
    programs that read nothing. `writes`: likewise; None: what its program writes.
    """
    chosen = _chooser(reads, t)
    if isinstance(writes, Mapping):
        points = [(lift(key, KEY), lift(value, VAL)) for key, value in writes.items()]

        def wrote(key: Term) -> Term:
            return any_of(*(equal(key, at) for at, _ in points))

        def value(key: Term) -> Term:
            found = points[-1][1] if points else _rigid("written", t, key)
            for at, what in points[:-1]:
                found = ite(equal(key, at), what, found)
            return found
    else:
        put = _chooser(writes, t) or (lambda key: _rigid("written", t, key))

        def wrote(key: Term) -> Term:
            return _rigid("writes", t, key)

        def value(key: Term) -> Term:
            return lift(put(key), VAL)

    source = reads.function.name if isinstance(reads, Bound) else None
    made = Commit(
        lift(t, TXN), chosen or (lambda key: _rigid("written", _rigid("initially"), key)), wrote, value, source
    )
    _running("commit").commits.append(made)


def _guarded(name: str, run: Callable[[], Any]) -> Any:
    """A user's text run, whenever it is; whatever it raises says that the model cannot be used."""
    try:
        return run()
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{name} raised {said}") from error


def _chooser(given: Any, t: Term) -> Callable[[Term], Term] | None:
    """What a commit says it read or wrote, as a function of the key."""
    if given is None:
        return None
    if isinstance(given, Bound):
        return lambda key: given(t, key)
    if isinstance(given, Mapping):
        points = list(given.items())

        def at(key: Term) -> Term:
            found: Term = points[-1][1]
            for place, what in points[:-1]:
                found = ite(equal(key, place), what, found)
            return found

        return at
    if callable(given):
        return lambda key: _guarded("commit", lambda: given(key))
    raise ModelError("commit: reads and writes are state functions, functions of the key, or {key: value}")


@dataclass(frozen=True)
class _Part:
    """What a decorator says of a method: `kind`, and its options."""

    kind: str
    text: Callable[..., Any]
    options: Mapping[str, Any]


def initial(text: Callable[..., Any]) -> Any:
    """A condition that holds of every initial state, for all elements."""
    return _Part("initial", text, {})


def invariant(text: Callable[..., Any]) -> Any:
    """A condition that is to hold of every reachable state, for all elements."""
    return _Part("invariant", text, {})


def abstraction(text: Callable[..., Any]) -> Any:
    """What the state stands for: ``versions(s, k)``, the newest committed value of a key; or ``before(s, a, b)`` and
    ``visible(s, a, b)`` over transactions that wrote, and any that see them."""
    return _Part("abstraction", text, {})


def abstraction_at(level: str, of: str) -> Callable[[Callable[..., Any]], Any]:
    """The abstraction of this name at one level, where it differs there."""
    return lambda text: _Part("abstraction", text, {"name": f"{of}@{level}"})


def event(*, refines: str, issues: bool = False, returns: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A step: of one client, or of one server. `refines`: ``skip`` or ``commit``. The event's transaction is its
    first parameter of that sort. `issues`: its client begins it with this (where no event says so, with the first one);
    `returns`: its client has the answer after this (where no event says so, after the commit)."""
    if refines not in ("skip", "commit"):
        raise ModelError(f"an event refines skip or commit, not {refines!r}")
    return lambda text: _Part("event", text, {"refines": refines, "issues": issues, "returns": returns})


@dataclass(frozen=True)
class Step:
    """What an event does from the state before: its guards, the functions' updates, its commit."""

    guards: tuple[Term, ...]
    after: Protocol
    changed: tuple[str, ...]
    commit: Commit | None


@dataclass(frozen=True)
class Event:
    """An event with its parameters as variables, and what it does for them."""

    name: str
    parameters: tuple[Term, ...]
    refines: str
    transaction: Term | None
    issues: bool
    returns: bool
    step: Step


@dataclass(frozen=True)
class Claim:
    """A condition of a state, for all elements of its parameters' sorts."""

    name: str
    sorts: tuple[Sort, ...]
    holds: Callable[..., Any]

    def at(self, one: Protocol, arguments: tuple[Term, ...]) -> Term:
        """The condition in a state."""
        return lift(self.holds(one, *arguments), BOOL)


@dataclass(frozen=True)
class Model:
    """A protocol's text, read: all that the readings ask of it."""

    name: str
    level: str
    title: str
    owner: type[Protocol]
    functions: Mapping[str, Function]
    initial: tuple[Claim, ...]
    events: tuple[Event, ...]
    invariants: tuple[Claim, ...]
    abstraction: Mapping[str, Claim]
    lines: int
    programs: str = ""

    @property
    def start(self) -> Protocol:
        """The state before an event: nothing known."""
        return self.owner()

    @cached_property
    def uses_clients(self) -> bool:
        """Whether a guard or an update asks for a transaction's client."""
        return any(_mentions(one, "client") for one in self.events)


def _mentions(one: Event, name: str) -> bool:
    from_terms: list[Term] = []
    terms = list(one.step.guards)
    for changed in one.step.changed:
        function = functions_of(type(one.step.after))[changed]
        names = tuple(lift_variable(sort, place, "u") for place, sort in enumerate(function.sorts))
        terms.append(one.step.after.value_of(function, names))
    for each in terms:
        walk(each, lambda inner: from_terms.append(inner) if inner.op == "rigid" and inner.args[0] == name else None)
    return bool(from_terms)


def lift_variable(sort: Sort, place: int, prefix: str = "") -> Term:
    """A constant or variable of a sort that has no meaning of its own, by number."""
    return var(f"{prefix}{sort.name.lower()}#{place}", sort)


def read_model(owner: type[Protocol]) -> Model:
    """Read a protocol's class. Raises ModelError where it cannot be used."""
    parts = {name: part for base in reversed(owner.__mro__) for name, part in vars(base).items()}
    functions = functions_of(owner)
    for name, function in functions.items():
        if name in KEPT and vars(Protocol)[name] is not function:
            raise ModelError(f"{name} is kept by itself and cannot be a state of the protocol")
        if not function.name:
            function.name = name
    claims: dict[str, list[Claim]] = {"initial": [], "invariant": [], "abstraction": []}
    events: list[Event] = []
    chosen = [(name, part) for name, part in parts.items() if isinstance(part, _Part)]
    returning = any(part.options.get("returns") for _, part in chosen)
    issuing = any(part.options.get("issues") for _, part in chosen)
    for name, part in chosen:
        sorts = _signature(name, part.text)
        if part.kind == "event":
            events.append(_event(owner, name, part, sorts, issuing, returning))
        else:
            claims[part.kind].append(_claim(owner, name, part, sorts))
    if not any(one.refines == "commit" for one in events):
        raise ModelError(f"{owner.__name__} has no event that refines commit")
    if owner.level == "":
        raise ModelError(f'{owner.__name__} names no level (level = "serializable")')
    return Model(
        name=owner.__name__,
        level=owner.level,
        title=(inspect.getdoc(owner) or "").partition("\n")[0] if owner.__doc__ else "",
        owner=owner,
        functions=functions,
        initial=tuple(claims["initial"]),
        events=tuple(events),
        invariants=tuple(claims["invariant"]),
        abstraction={claim.name: claim for claim in claims["abstraction"]},
        lines=_lines(owner),
        programs=owner.programs,
    )


def _lines(owner: type) -> int:
    try:
        text, _ = inspect.getsourcelines(owner)
    except (OSError, TypeError):
        return 0
    return sum(bool(line.strip()) for line in text)


_SORTS = {kind.__name__: kind for kind in (Key, Txn, Client, Val, Time, Bool)}


def _signature(name: str, text: Callable[..., Any]) -> tuple[Sort, ...]:
    """The sorts of the parameters after the state."""
    parameters = list(inspect.signature(text).parameters.values())[1:]
    found = []
    for parameter in parameters:
        written_as = parameter.annotation
        if isinstance(written_as, str):
            written_as = _SORTS.get(written_as, written_as)
        if getattr(written_as, "SORT", None) is None:
            raise ModelError(f"{name}: parameter {parameter.name!r} has no sort")
        found.append(sort_of(written_as))
    return tuple(found)


def _claim(owner: type[Protocol], name: str, part: _Part, sorts: tuple[Sort, ...]) -> Claim:
    """Read once here, so that a text which raises is refused before anything is decided."""
    names = tuple(lift_variable(sort, place) for place, sort in enumerate(sorts))
    said = _guarded(name, lambda: part.text(owner(), *names))
    name = part.options.get("name", name)
    lift(said, VAL if name.partition("@")[0] == "versions" and part.kind == "abstraction" else BOOL)
    return Claim(name, sorts, lambda *arguments: _guarded(name, lambda: part.text(*arguments)))


def _event(
    owner: type[Protocol], name: str, part: _Part, sorts: tuple[Sort, ...], issuing: bool, returning: bool
) -> Event:
    counts: dict[Sort, int] = {}
    names = []
    for sort in sorts:
        names.append(lift_variable(sort, counts.get(sort, 0)))
        counts[sort] = counts.get(sort, 0) + 1
    transaction = next((one for one in names if one.sort == TXN), None)
    recorder = _Recorder()
    token = _recorder.set(recorder)
    try:
        after = _guarded(name, lambda: part.text(owner(), *names))
    finally:
        _recorder.reset(token)
    if not isinstance(after, owner):
        raise ModelError(f"{name} returns no state: return s.but(...)")
    refines = part.options["refines"]
    commits = recorder.commits
    if len(commits) != (refines == "commit"):
        raise ModelError(f"{name} refines {refines} and says commit {len(commits)} times")
    if commits and transaction is not commits[0].transaction:
        raise ModelError(f"{name} commits a transaction that is not its own")
    issues = part.options["issues"] or (not issuing and transaction is not None)
    returns = part.options["returns"] or (not returning and refines == "commit")
    if (issues or returns) and transaction is None:
        raise ModelError(f"{name} has no transaction that it could begin or end")
    for one in recorder.guards:
        _no_history(owner, name, one)
    if transaction is not None:
        recorder.guards.append(~equal(transaction, _rigid("initially")))
    own = tuple(after.updates)
    after = _recorded(after, transaction, issues, returns, bool(commits))
    return Event(
        name,
        tuple(names),
        refines,
        transaction,
        issues,
        returns,
        Step(tuple(recorder.guards), after, own, commits[0] if commits else None),
    )


def _no_history(owner: type[Protocol], name: str, one: Term) -> None:
    history = {function.name for function in functions_of(owner).values() if function.history}
    found: list[str] = []
    walk(one, lambda inner: found.append(inner.args[0]) if inner.op == "app" and inner.args[0] in history else None)
    if found:
        raise ModelError(f"{name}: a guard asks {found[0]}, which only records: {show(one)}")


def _recorded(after: Protocol, t: Term | None, issues: bool, returns: bool, commits: bool) -> Protocol:
    """The state with what is kept for every protocol."""
    updates: dict[str, Update] = dict(after.updates)
    before = type(after)()

    def marked(name: str) -> Update:
        function = functions_of(type(after))[name]
        return lambda one: any_of(equal(one, t) if t is not None else FALSE, before.value_of(function, (one,)))

    if issues:
        updates["issued"] = marked("issued")
        updates["precedes"] = lambda one, other: any_of(
            before.precedes(one, other),
            all_of(equal(other, t) if t is not None else FALSE, ~before.issued(other), before.returned(one)),
        )
    if commits:
        updates["committed"] = marked("committed")
    if returns:
        updates["returned"] = marked("returned")
    return type(after)(updates)


def closed(claim: Claim, one: Protocol) -> Term:
    """The condition in a state, for all elements."""
    names = tuple(var(f"{sort.name.lower()}_all{place}", sort) for place, sort in enumerate(claim.sorts))
    body = claim.at(one, names)
    return quantify("forall", names, body) if body.op != "const" else body
