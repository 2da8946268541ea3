"""What a proof by arbitration and visibility shows is the level: the shipped obligations, as conditions on a finished
history, against the abstract store (VerIso §3.2) and Cerone's axioms, on all histories of three transactions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest
import z3

from tests.property.test_protocol_levels import axioms_explain, random_history
from troubadour.protocols.abstract import explains
from troubadour.protocols.history import History, HistoryTransaction
from troubadour.protocols.language import (
    Bool,
    Key,
    Protocol,
    Txn,
    abstraction,
    client,
    commit,
    event,
    initially,
    lift_variable,
    read_model,
    reads,
    state,
    writes,
)
from troubadour.protocols.levels import PROTOCOL_LEVELS, ProtocolLevel
from troubadour.protocols.obligations import axioms, view_of
from troubadour.protocols.terms import KEY, TXN, Term, const, free_variables, implies, rebuild, show

NAMES = (1, 2, 3)
KEYS = (0, 1)


class Finished(Protocol):
    """A history that is over, with the arbitration and the visibility that are looked for."""

    level = "causal"
    came_from = state(Txn, Key, Txn, to=Bool)
    first = state(Txn, Txn, to=Bool)
    sees = state(Txn, Txn, to=Bool)

    @event(refines="commit")
    def end(s, t: Txn) -> Protocol:
        commit(t)
        return s.but()

    @abstraction
    def before(s, a: Txn, b: Txn) -> Term:
        return s.first(a, b)

    @abstraction
    def visible(s, a: Txn, t: Txn) -> Term:
        return s.sees(a, t)


class Obliged:
    """Whether some arbitration and visibility fulfil a level's obligations on a history: these are instantiated over
    three transactions once, and a history says what else is true."""

    def __init__(self, level: ProtocolLevel) -> None:
        model = read_model(Finished)
        self._state = model.start
        self._solver = z3.SimpleSolver()
        self._lowered: dict[Term, z3.BoolRef] = {}
        source = lift_variable(TXN, 9)
        conditions = []
        for _, goal in axioms(level, view_of(model, level, self._state), lambda t, k: source):
            if source in free_variables(goal):
                t, k = lift_variable(TXN, 3), lift_variable(KEY, 0)
                goal = implies(self._state.came_from(t, k, source), goal)
            conditions.append(goal)
        for one in conditions:
            names = sorted(free_variables(one), key=lambda name: str(name.args[0]))
            for chosen in product(*([const(n, x.sort) for n in range(4 if x.sort == TXN else 2)] for x in names)):
                self._solver.add(self._lower(grounded(one, dict(zip(names, chosen, strict=True)))))

    def _lower(self, one: Term) -> z3.BoolRef:
        found = self._lowered.get(one)
        if found is None:
            parts = [self._lower(part) for part in one.args] if one.op in ("and", "or", "not") else []
            match one.op:
                case "const":
                    found = z3.BoolVal(one.args[0])
                case "and":
                    found = z3.And(*parts)
                case "or":
                    found = z3.Or(*parts)
                case "not":
                    found = z3.Not(*parts)
                case _:
                    assert one.op in ("app", "rigid", "eq"), show(one)
                    found = z3.Bool(show(one))
            self._lowered[one] = found
        return found

    def explain(self, history: History) -> bool:
        """Whether the history's facts are together with the obligations."""
        answer = self._solver.check(*self._facts(history))
        assert answer != z3.unknown
        return bool(answer == z3.sat)

    def _facts(self, history: History) -> Iterator[z3.BoolRef]:
        def said(condition: Term, holds: bool) -> z3.BoolRef:
            return self._lower(grounded(condition if holds else ~condition, {}))

        state = self._state
        # one without a client is a client of its own
        clients = {one.name: -one.name if one.client is None else one.client for one in history.transactions}
        for k in KEYS:
            yield said(writes(initially(), const(k, KEY)), True)
            yield said(reads(initially(), const(k, KEY)), False)
        for one in history.transactions:
            t = const(one.name, TXN)
            yield said(state.committed(t), True)
            for k in KEYS:
                key = const(k, KEY)
                yield said(reads(t, key), k in one.reads)
                yield said(writes(t, key), k in one.writes)
                if k in one.reads:
                    yield said(state.came_from(t, key, const(one.reads[k] // 10, TXN)), True)
            for u in NAMES:
                yield said(state.precedes(const(u, TXN), t), u in one.after)
                if u != one.name:
                    yield said(client(const(u, TXN)) == client(t), clients[u] == clients[one.name])


def grounded(one: Term, values: dict[Term, Term]) -> Term:
    """Without variables, and the writer of the initial versions is number 0."""
    if one is initially():
        return const(0, TXN)
    if one.op == "var":
        return values[one]
    if one.op == "const":
        return one
    return rebuild(one, [grounded(part, values) if isinstance(part, Term) else part for part in one.args])


def all_histories(orders: list[dict[int, frozenset[int]]], clients: list[dict[int, int]]) -> Iterator[History]:
    """Every history of three transactions over two keys: what each reads and writes, in every order that is given with
    its clients. Of those that differ in names only not all are left out."""
    masks = list(product((False, True), repeat=len(KEYS)))
    for writing in product(masks, repeat=3):
        swapped = tuple(one[::-1] for one in writing)
        if list(writing) != sorted(writing) or writing > tuple(sorted(swapped)):
            continue
        wrote = {t: {k: 10 * t + k for k in KEYS if writing[t - 1][k]} for t in NAMES}
        places = list(product(NAMES, KEYS))
        choices = [[None, k, *(wrote[u][k] for u in NAMES if u != t and k in wrote[u])] for t, k in places]
        for chosen in product(*choices):
            read: dict[int, dict[int, int]] = {t: {} for t in NAMES}
            for (t, k), value in zip(places, chosen, strict=True):
                if value is not None:
                    read[t][k] = value
            for after, client_of in zip(orders, clients, strict=True):
                made = (HistoryTransaction(t, read[t], wrote[t], after[t], client_of[t]) for t in NAMES)
                yield History(tuple(made), {k: k for k in KEYS})


def sessions() -> tuple[list[dict[int, frozenset[int]]], list[dict[int, int]]]:
    """Every way to give three transactions to clients, in every order at each: 13."""
    found: dict[Any, tuple[dict[int, frozenset[int]], dict[int, int]]] = {}
    for client_of in product(range(3), repeat=3):
        for order in permutations(NAMES):
            after = {
                t: frozenset(u for u in order[: order.index(t)] if client_of[u - 1] == client_of[t - 1]) for t in NAMES
            }
            same = frozenset((t, u) for t in NAMES for u in NAMES if client_of[t - 1] == client_of[u - 1])
            found.setdefault((same, tuple(after.items())), (after, dict(zip(NAMES, client_of, strict=True))))
    return [after for after, _ in found.values()], [client_of for _, client_of in found.values()]


def times() -> tuple[list[dict[int, frozenset[int]]], list[dict[int, int]]]:
    """Every order in real time, each transaction of a client of its own: 19."""
    found = []
    pairs = [(t, u) for t in NAMES for u in NAMES if t != u]
    for chosen in product((False, True), repeat=len(pairs)):
        earlier = {pair for pair, there in zip(pairs, chosen, strict=True) if there}
        closed = all((a, d) in earlier for a, b in earlier for c, d in earlier if b == c)
        if closed and not any((u, t) in earlier for t, u in earlier):
            found.append({t: frozenset(u for u in NAMES if (u, t) in earlier) for t in NAMES})
    return found, [{t: t - 1 for t in NAMES}] * len(found)


def compare(name: str, every: int) -> None:
    level = PROTOCOL_LEVELS[name]
    obliged = Obliged(level)
    counts = {True: 0, False: 0}
    orders, clients = times() if level.real_time else sessions()
    for number, history in enumerate(all_histories(orders, clients)):
        if number % every:
            continue
        answer = explains(history, level)
        counts[answer] += 1
        assert obliged.explain(history) is answer, history
        assert axioms_explain(history, level) is answer, history
    assert min(counts.values()) > 10, counts


def test_the_orders_are_all() -> None:
    assert len(sessions()[0]) == 13
    assert len(times()[0]) == 19


def test_obligations_are_the_level() -> None:
    level, source = PROTOCOL_LEVELS["causal"], random.Random(20)
    obliged = Obliged(level)
    histories = [random_history(source) for _ in range(80)]
    answers = [obliged.explain(history) for history in histories]
    assert answers == [explains(history, level) for history in histories]
    assert min(answers.count(True), answers.count(False)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROTOCOL_LEVELS if name != "causal"])
def test_obligations_are_every_level(name: str) -> None:
    compare(name, 23)


@pytest.mark.slow
def test_obligations_are_the_level_on_all_histories() -> None:
    """Without the reduction of VerIso §3.3.3: no history of three transactions tells the statements apart."""
    compare("causal", 1)
