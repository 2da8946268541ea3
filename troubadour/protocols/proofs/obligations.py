"""What has to be proved so that a protocol keeps a level (VerIso §2.3, §3.2, §3.3).

Initiation: every invariant holds initially. Consecution: every event keeps every invariant. Refinement, in one of two
ways. With ``versions``, the newest committed value of every key, the store of the abstract model is seen with full
views: a skip leaves it as it is, a commit reads it and writes it. With ``before`` and ``visible``, the level's axioms
hold of the committed transactions in every state (`axioms`). Does not know how an obligation is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sql_semantics.records import dataclass
from troubadour.protocols.language import (
    Claim,
    Event,
    Model,
    Protocol,
    client,
    closed,
    initially,
    lift_variable,
    rank,
    reads,
    writes,
    written,
)
from troubadour.protocols.levels import ProtocolLevel
from troubadour.protocols.terms import (
    FALSE,
    KEY,
    TRUE,
    TXN,
    VAL,
    ModelError,
    Sort,
    Term,
    all_of,
    any_of,
    equal,
    forall,
    implies,
    ite,
    negation,
)
from troubadour.protocols.terms import Client as ClientSort
from troubadour.protocols.terms import Key as KeySort
from troubadour.protocols.terms import Txn as TxnSort


@dataclass(frozen=True)
class Obligation:
    """`goal` follows from `given` and, where `invariants`, from all invariants of the state before. `kind`:
    ``initiation``, ``consecution`` or ``refinement``."""

    kind: str
    name: str
    event: str | None
    given: tuple[Term, ...]
    goal: Term
    invariants: bool = True


def obligations_of(model: Model, level: ProtocolLevel) -> list[Obligation]:
    """All obligations of a model at a level. Raises ModelError where its abstraction says too little for any."""
    return [*_initiation(model), *_consecution(model), *_refinement(model, level)]


def _is_over(one: Protocol, t: Term, u: Term) -> Term:
    return implies(one.precedes(t, u), all_of(one.returned(t), one.issued(u)))


KEPT_CLAIMS = (Claim("what precedes another has returned", (TXN, TXN), _is_over),)
"""What holds of the history of every protocol. It is proved like the model's own invariants."""


def claims_of(model: Model) -> tuple[Claim, ...]:
    """The model's invariants, and what holds of every history."""
    return (*KEPT_CLAIMS, *model.invariants)


def invariants_of(model: Model) -> tuple[Term, ...]:
    """The invariants of the state before, for all elements."""
    return tuple(closed(claim, model.start) for claim in claims_of(model))


def initial_of(model: Model) -> tuple[Term, ...]:
    """What holds initially: what the model says, and that nothing was issued, has committed or returned."""
    start = model.start
    return (
        *(closed(claim, start) for claim in model.initial),
        forall(TxnSort, lambda t: negation(start.issued(t))),
        forall(TxnSort, lambda t: negation(start.committed(t))),
        forall(TxnSort, lambda t: negation(start.returned(t))),
        forall(TxnSort, TxnSort, lambda t, u: negation(start.precedes(t, u))),
        *programs_known(),
    )


def programs_known() -> tuple[Term, ...]:
    """What is known of programs: the initial versions are of all keys, their writer reads nothing; clients differ."""
    return (
        forall(KeySort, lambda k: writes(initially(), k)),
        forall(KeySort, lambda k: negation(reads(initially(), k))),
        forall(ClientSort, ClientSort, lambda c, d: implies(equal(rank(c), rank(d)), equal(c, d))),
    )


def _named(sorts: tuple[Sort, ...], used: tuple[Term, ...] = ()) -> tuple[Term, ...]:
    """Constants of these sorts, numbered after those that an event uses."""
    counts: dict[Sort, int] = {}
    for one in used:
        counts[one.sort] = counts.get(one.sort, 0) + 1
    found = []
    for sort in sorts:
        found.append(lift_variable(sort, counts.get(sort, 0)))
        counts[sort] = counts.get(sort, 0) + 1
    return tuple(found)


def _initiation(model: Model) -> Iterator[Obligation]:
    given = initial_of(model)
    for claim in claims_of(model):
        goal = claim.at(model.start, _named(claim.sorts))
        yield Obligation("initiation", claim.name, None, given, goal, invariants=False)


def _consecution(model: Model) -> Iterator[Obligation]:
    for one in model.events:
        for claim in claims_of(model):
            yield _kept(model, one, claim)


def _kept(model: Model, one: Event, claim: Claim) -> Obligation:
    goal = claim.at(one.step.after, _named(claim.sorts, one.parameters))
    before = claim.at(model.start, _named(claim.sorts, one.parameters))
    # what the event does not touch stays as it was
    return Obligation("consecution", claim.name, one.name, _given(one), TRUE if goal is before else goal)


def _given(one: Event) -> tuple[Term, ...]:
    return (*one.step.guards, *programs_known())


def _refinement(model: Model, level: ProtocolLevel) -> Iterator[Obligation]:
    if "versions" in model.abstraction:
        yield from _full_views(model, level, model.abstraction["versions"])
    elif {"before", "visible"} <= model.abstraction.keys():
        yield from _axioms(model, level)
    else:
        raise ModelError(f"{model.name} has no abstraction: versions(s, k), or before(s, a, b) and visible(s, a, b)")


def _full_views(model: Model, level: ProtocolLevel, versions: Claim) -> Iterator[Obligation]:
    def newest(one: Protocol, key: Term) -> Term:
        said = versions.holds(one, key)
        assert isinstance(said, Term) and said.sort == VAL
        return said

    start = model.start
    for one in model.events:
        given, after = _given(one), one.step.after
        (key,) = _named((KEY,), one.parameters)
        made = one.step.commit

        def proved(name: str, goal: Term, at: Event = one, given: tuple[Term, ...] = given) -> Obligation:
            return Obligation("refinement", name, at.name, given, goal)

        if made is None:
            yield proved("skip leaves every newest version", equal(newest(after, key), newest(start, key)))
        else:
            t = made.transaction
            read = made.reads(key)
            if read.sort == TXN:
                raise ModelError(f"{one.name}: with versions(s, k), commit says which values were read")
            yield proved("commit reads the newest versions", implies(reads(t, key), equal(read, newest(start, key))))
            value = ite(made.wrote(key), made.value(key), newest(start, key))
            yield proved("commit writes the newest versions", equal(newest(after, key), value))
            if made.wrote(key) is not writes(t, key):
                yield proved("a commit writes what its program writes", equal(made.wrote(key), writes(t, key)))
            yield proved("a transaction commits once", negation(start.committed(t)))
        yield from _times(model, level, one, proved)


def _times(
    model: Model, level: ProtocolLevel, one: Event, proved: Callable[[str, Term], Obligation]
) -> Iterator[Obligation]:
    """Where a level keeps real time: the commit lies between issue and return. Where it keeps the order of each
    client's transactions, too, and each begins after the one before it has returned."""
    t, start = one.transaction, model.start
    if t is None or not (level.real_time or level.sessions):
        return
    if one.step.commit is not None:
        yield proved("commit before the return", negation(start.returned(t)))
        if level.real_time:
            (other,) = _named((TXN,), one.parameters)
            late = all_of(start.committed(other), start.precedes(t, other))
            yield proved("no transaction that it precedes has committed", negation(late))
        if not one.issues:
            yield proved("commit after the issue", start.issued(t))
    if one.returns and not one.issues and one.step.commit is None:
        yield proved("return after the issue", start.issued(t))
    if one.issues:
        yield proved("issue before the commit", any_of(start.issued(t), negation(start.committed(t))))
        if level.sessions:
            (other,) = _named((TXN,), one.parameters)
            same = all_of(negation(equal(other, t)), equal(client(other), client(t)), start.issued(other))
            goal = any_of(start.issued(t), implies(same, start.returned(other)))
            yield proved("a client's transactions follow one another", goal)


Relation = Callable[[Term, Term], Term]


@dataclass(frozen=True)
class View:
    """What the axioms speak of, in one state. `wrote`: committed with a write, or the writer of the initial versions;
    `before` and `visible` with that one before and visible to all others."""

    state: Protocol
    before: Relation
    visible: Relation

    def done(self, t: Term) -> Term:
        """Whether it committed."""
        return all_of(negation(equal(t, initially())), self.state.committed(t))

    def wrote(self, t: Term, k: Term) -> Term:
        """Whether it committed a write of the key, or the initial version."""
        return any_of(equal(t, initially()), all_of(self.state.committed(t), writes(t, k)))


def view_of(model: Model, level: ProtocolLevel, one: Protocol) -> View:
    """The model's abstraction in a state; every committed transaction is after the initial versions and sees them."""
    first = initially()

    def related(name: str) -> Relation:
        claim = model.abstraction.get(f"{name}@{level.name}", model.abstraction[name])

        def holds(a: Term, b: Term) -> Term:
            ours = all_of(
                negation(equal(a, first)),
                negation(equal(b, first)),
                one.committed(a),
                one.committed(b),
                claim.at(one, (a, b)),
            )
            return any_of(all_of(equal(a, first), negation(equal(b, first)), one.committed(b)), ours)

        return holds

    return View(one, related("before"), related("visible"))


def _axioms(model: Model, level: ProtocolLevel) -> Iterator[Obligation]:
    """The level's axioms in every state, and that what a committed transaction read stays what its commit told: the
    axioms are of what the state says after it."""
    sources = {one.step.commit.source for one in model.events if one.step.commit is not None}
    (source,) = sources if len(sources) == 1 else (None,)
    if source is None or model.functions[source].result != TXN:
        raise ModelError(
            f"{model.name}: with before and visible, every commit says reads=s.f, f(t, k) the transaction that wrote it"
        )
    read = model.functions[source]
    start = model.start
    for one in model.events:
        t, k = _named((TXN, KEY), one.parameters)
        given = _given(one)
        goal = implies(
            all_of(one.step.after.committed(t), reads(t, k)),
            equal(one.step.after.value_of(read, (t, k)), start.value_of(read, (t, k))),
        )
        yield Obligation("refinement", "what was read stays", one.name, given, goal)
        if one.step.commit is not None:
            own = one.step.commit.transaction
            yield Obligation(
                "refinement", "a transaction commits once", one.name, given, negation(start.committed(own))
            )
            (key,) = _named((KEY,), one.parameters)
            wrote, value = one.step.commit.wrote(key), one.step.commit.value(key)
            if wrote is not writes(own, key) or value is not written(own, key):
                raise ModelError(f"{one.name}: with before and visible, commit writes what the program writes")
        if level.sessions:
            yield from (
                found
                for found in _times(
                    model,
                    level,
                    one,
                    lambda name, goal, at=one, given=given: Obligation("refinement", name, at.name, given, goal),  # type: ignore[misc]
                )
            )
    view = view_of(model, level, start)

    def read_from(t: Term, k: Term) -> Term:
        return start.value_of(read, (t, k))

    for name, goal in axioms(level, view, read_from):
        yield Obligation("refinement", name, None, programs_known(), goal)


def axioms(level: ProtocolLevel, view: View, read_from: Relation) -> Iterator[tuple[str, Term]]:
    """The level's axioms on constants.

    Visibility is said of transactions that wrote, and arbitration orders these alone. Those that only read are what no
    read is of; that this loses nothing is argued in docs/protocols.md.
    """
    a, b, c, t = (lift_variable(TXN, place) for place in range(4))
    k, j = (lift_variable(KEY, place) for place in range(2))
    before, visible = view.before, view.visible
    wrote_a, wrote_b, wrote_c = view.wrote(a, k), view.wrote(b, j), view.wrote(c, lift_variable(KEY, 2))
    yield "arbitration is irreflexive", implies(wrote_a, negation(before(a, a)))
    yield (
        "arbitration is transitive",
        implies(all_of(wrote_a, wrote_b, wrote_c, before(a, b), before(b, c)), before(a, c)),
    )
    apart = negation(equal(a, b))
    yield "arbitration is total", implies(all_of(wrote_a, wrote_b, apart), any_of(before(a, b), before(b, a)))
    yield "what is visible is before", implies(all_of(wrote_a, wrote_b, visible(a, b)), before(a, b))
    source = read_from(t, k)
    reader = all_of(view.done(t), reads(t, k))
    yield "a read is of a visible write", implies(reader, all_of(view.wrote(source, k), visible(source, t)))
    newest = any_of(equal(a, source), before(a, source))
    yield "a read is of the newest visible write", implies(all_of(reader, wrote_a, visible(a, t)), newest)
    if level.transitive:
        seen = all_of(wrote_a, wrote_b, view.done(t), visible(a, b), visible(b, t))
        yield "what a visible one sees is visible", implies(seen, visible(a, t))
    if level.prefix:
        seen = all_of(wrote_a, wrote_b, view.done(t), before(a, b), visible(b, t))
        yield "what is before a visible one is visible", implies(seen, visible(a, t))
    if level.conflicts:
        both = all_of(view.wrote(a, k), view.wrote(b, k), apart)
        yield "of two writers of a key one sees the other", implies(both, any_of(visible(a, b), visible(b, a)))
    if level.total:
        yield "a writer sees all before", implies(all_of(wrote_a, wrote_b, before(a, b)), visible(a, b))
    if level.sessions:
        yield from _follows(
            "its client's", lambda x, y: all_of(equal(client(x), client(y)), view.state.precedes(x, y)), view
        )
    if level.real_time:
        yield from _follows("earlier", view.state.precedes, view)
        late = all_of(view.done(t), wrote_a, view.state.precedes(t, a))
        yield "nothing later is seen", implies(late, negation(visible(a, t)))


def _follows(which: str, earlier: Relation, view: View) -> Iterator[tuple[str, Term]]:
    a, t, u = (lift_variable(TXN, place) for place in range(3))
    k = lift_variable(KEY, 0)
    both = all_of(view.done(t), view.done(u), earlier(t, u))
    own = all_of(view.done(a), writes(a, k), view.done(t), earlier(a, t))
    yield f"{which} writes are seen", implies(own, view.visible(a, t))
    yield (
        f"what {which} transactions saw is seen",
        implies(all_of(both, view.wrote(a, k), view.visible(a, t)), view.visible(a, u)),
    )


def negated(one: Obligation) -> Term:
    """What must have no model together with what is given."""
    return FALSE if one.goal is TRUE else negation(one.goal)
