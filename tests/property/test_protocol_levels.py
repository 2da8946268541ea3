"""The store's side of each level (VerIso §3.2) against axioms on visibility and arbitration (Cerone et al. 2015), on
histories of three transactions: two transcriptions that share nothing."""

from __future__ import annotations

import random
from itertools import combinations, permutations, product
from pathlib import Path

import pytest

from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.formats.write import LogWriter
from troubadour.isolation.levels import implied_by
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.protocols.levels import PROTOCOL_LEVELS, ProtocolLevel, weaker_levels
from troubadour.protocols.runs.abstract import explains
from troubadour.protocols.runs.emit import READ, SCHEMA, WRITE
from troubadour.protocols.runs.history import History, HistoryTransaction

NAMES = list(PROTOCOL_LEVELS)


def random_history(source: random.Random) -> History:
    """Three transactions over two keys; every value is written once, and every read is of some version."""
    writes = {t: {k: 10 * t + k for k in range(2) if source.random() < 0.5} for t in (1, 2, 3)}
    transactions = []
    alone = source.random() < 0.3
    clients = {t: None if alone else source.randrange(2) for t in writes}
    order = source.sample([1, 2, 3], 3)
    for t in writes:
        reads = {}
        for k in range(2):
            if source.random() < 0.6:
                others = [u for u in writes if u != t and k in writes[u]]
                reads[k] = source.choice([k, *(writes[u][k] for u in others)])
        # one that precedes another in time; those of a client always do
        after = {u for u in order[: order.index(t)] if source.random() < 0.4}
        if clients[t] is not None:
            after |= {u for u in order[: order.index(t)] if clients[u] == clients[t]}
        transactions.append(HistoryTransaction(t, reads, writes[t], frozenset(after), clients[t]))
    return History(tuple(transactions), {0: 0, 1: 1})


def closed_after(history: History) -> dict[int, set[int]]:
    """Times order transitively what they order."""
    after = {one.name: set(one.after) for one in history.transactions}
    for _ in after:
        for t in after:
            after[t] |= {v for u in after[t] for v in after[u]}
    return after


def axioms_explain(history: History, level: ProtocolLevel) -> bool:
    """Every arbitration, every visibility within it."""
    named = {one.name: one for one in history.transactions}
    sessions = {
        (u, t)
        for t in named
        for u in named[t].after
        if named[t].client is not None and named[u].client == named[t].client
    }
    for order in permutations(named):
        place = {t: n for n, t in enumerate(order)}
        pairs = [(a, b) for a, b in combinations(order, 2)]
        if level.real_time and any(place[u] > place[t] for t in named for u in named[t].after):
            continue
        for chosen in product((False, True), repeat=len(pairs)):
            visible = {pair for pair, there in zip(pairs, chosen, strict=True) if there}
            if _holds(history, level, named, place, visible, sessions, set(pairs)):
                return True
    return False


def _holds(history, level, named, place, visible, sessions, before) -> bool:  # type: ignore[no-untyped-def]
    for t, one in named.items():
        for key, value in one.reads.items():
            writers = [u for u in named if (u, t) in visible and key in named[u].writes]
            newest = named[max(writers, key=place.__getitem__)].writes[key] if writers else history.initial[key]
            if newest != value:
                return False
    if level.conflicts and any(
        named[a].writes.keys() & named[b].writes.keys() and (a, b) not in visible for a, b in before
    ):
        return False
    if level.sessions and not sessions <= visible:
        return False
    if level.total:
        return bool(visible == before)
    if level.prefix:
        return all((a, c) in visible for a, b in before for d, c in visible if d == b)
    if level.transitive:
        return all((a, c) in visible for a, b in visible for d, c in visible if d == b)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_the_store_and_the_axioms_agree(name: str) -> None:
    level = PROTOCOL_LEVELS[name]
    source = random.Random(16)
    seen = {True: 0, False: 0}
    for _ in range(500):
        history = random_history(source)
        answer = axioms_explain(history, level)
        seen[answer] += 1
        assert explains(history, level) is answer, history
    assert min(seen.values()) > 40, seen


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_store_and_the_axioms_agree_widely(name: str) -> None:
    source = random.Random(17)
    for _ in range(40_000):
        history = random_history(source)
        assert explains(history, PROTOCOL_LEVELS[name]) is axioms_explain(history, PROTOCOL_LEVELS[name]), history


def reads_the_future(history: History) -> bool:
    """Whether a transaction reads what was written by one that was issued after it had returned."""
    return any(
        one.name in other.after and value in other.writes.values()
        for one in history.transactions
        for value in one.reads.values()
        for other in history.transactions
    )


def write_log(history: History, path: Path) -> None:
    """The history as a log; times say who preceded whom."""
    header = {
        "dialect": "postgres",
        "schema": [SCHEMA],
        "initial": {"store": {"columns": ["key", "value"], "rows": [[0, 0], [1, 1]]}},
    }
    after = closed_after(history)
    with LogWriter(path, header) as log:
        for one in sorted(history.transactions, key=lambda one: len(after[one.name])):
            depth = len(after[one.name])
            reads = [
                {"sql": READ, "params": [k], "result": {"columns": ["value"], "rows": [[v]]}}
                for k, v in one.reads.items()
            ]
            writes = [{"sql": WRITE, "params": [v, k], "affected": 1} for k, v in one.writes.items()]
            entry = {"id": one.name, "status": "committed", "statements": [*reads, *writes]}
            entry |= {"invoked": 100 * depth, "returned": 100 * depth + 50}
            if one.client is not None:
                entry["session"] = f"c{one.client}"
            log.transaction(entry)


@pytest.mark.parametrize("name", NAMES)
def test_the_store_and_the_oracle_agree(name: str, tmp_path: Path) -> None:
    """The oracle runs the log's own SQL; its levels are those of `troubadour.isolation.levels`."""
    source = random.Random(18)
    level = PROTOCOL_LEVELS[name]
    for _ in range(30):
        history = random_history(source)
        # times as a log tells them: intervals by depth
        after = closed_after(history)
        transactions = tuple(
            HistoryTransaction(
                one.name,
                one.reads,
                one.writes,
                frozenset(u for u in after if len(after[u]) < len(after[one.name])),
                one.client,
            )
            for one in history.transactions
        )
        history = History(transactions, history.initial)
        if reads_the_future(history):
            continue  # no run does, and the audit refuses it at every level
        write_log(history, tmp_path / "log.jsonl")
        log = read_log([tmp_path / "log.jsonl"])
        answer = explain(log, library_of(log), name)
        assert (answer.status is Status.CORRECT) is explains(history, level), history


def test_the_lattice_is_that_of_the_audit() -> None:
    for name in NAMES:
        assert weaker_levels(name) == implied_by(name) & set(NAMES), name


def test_what_a_level_allows_the_weaker_ones_allow() -> None:
    source = random.Random(19)
    for _ in range(300):
        history = random_history(source)
        allowed = {name for name in NAMES if explains(history, PROTOCOL_LEVELS[name])}
        for name in allowed:
            assert weaker_levels(name) <= allowed, (name, history)
