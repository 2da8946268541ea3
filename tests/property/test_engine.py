"""Each step of the engine by itself: what it refutes has, by the oracle, no witness; each chain that it tells is held
by the plain checker, and not where a link is missing; an order that it finds is one that replay takes.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest

from benchmarks.histories.generate import Shape, generate
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.key_value_logs import SCHEMA, key_value_log
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.audit.witness import witness_of
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.effects import Accounts
from troubadour.facts.sql.view_accounts import RowAccounts, accounts_for
from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Scope, Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.order.engine import Alone, Steps, contradiction_of, first_refuted, infer, is_for
from troubadour.order.evidence import Evidence, evidence_of
from troubadour.order.linearization import Limits
from troubadour.order.visibility import Unseen
from troubadour.problem.problem import Problem
from troubadour.proof.chains.order_chain import checked_chain
from troubadour.replay.checker import check
from troubadour.search.along import place_along, place_guided
from troubadour.search.found import Found
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.trace import Trace

LEVELS = (
    "read-committed",
    "prefix",
    "snapshot",
    "session-snapshot",
    "strict-snapshot",
    "serializable",
    "strict-serializable",
)
LOOSE = ("read-committed", "read-atomic", "causal", "snapshot", "serializable")
FAST, SLOW = range(18), range(60)
SEEDS = pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)


@cache
def key_value() -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation="C"), (SCHEMA,))


def problem_of(log: Log, schema: SqlLibrary, level: str) -> Problem:
    return Problem(log, schema, known_rows(log, schema), isolation=level)


def told(problem: Problem, steps: Steps | None = None) -> tuple[int, Evidence | None] | None:
    """The prefix that is refuted, with the evidence, None where its last transaction contradicts itself; None where
    nothing is."""
    found = infer(problem, steps).contradiction
    if found is None:
        return None
    assert not isinstance(found, Unseen)
    count, contradiction = first_refuted(problem, found)
    if isinstance(contradiction, Alone):
        return count, None
    evidence = evidence_of(contradiction.known, contradiction.impossible)
    assert evidence is not None
    assert checked_chain(problem, evidence, count) is not None
    return count, evidence


def compare(log: Log, schema: SqlLibrary, level: str) -> bool:
    """Whether the log is refuted; the oracle agrees then."""
    problem = problem_of(log, schema, level)
    if not is_for(problem):
        return False
    shown = told(problem)
    if shown is None:
        return False
    answer = explain(log, schema, level, budget=2_000_000)
    assert answer.verified_prefix < shown[0], f"at {level}: {shown}, but {answer}\n{write(log)}"
    return True


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_refuted_has_no_witness(level: str) -> None:
    refuted = sum(compare(random_log(seed), library(), level) for seed in SLOW)
    assert refuted > 2 or level == "read-committed"


@SEEDS
def test_reads_in_a_circle_are_refuted_where_each_row_is_of_its_own_state(seeds: range) -> None:
    refuted = sum(compare(key_value_log(seed, 5, 2, spoilt=4), key_value(), "read-committed") for seed in seeds)
    assert refuted > len(seeds) // 3


Ran = tuple[str, tuple[int, ...] | None]
"""A statement's text, and the values that its only column was answered with (None: that was not logged)."""


def log_of(initial: tuple[tuple[int, int], ...], *transactions: tuple[str, tuple[Ran, ...]]) -> Log:
    """Committed transactions on `kv`, in the order in which they are logged."""
    return Log(
        Header("postgres", (SCHEMA,), initial=(InitialTable("kv", ("k", "v"), initial),)),
        tuple(
            Transaction(
                name,
                "committed",
                tuple(
                    Statement(
                        text,
                        results=None
                        if values is None
                        else (ObservedRows(("c",), tuple((value,) for value in values)),),
                    )
                    for text, values in statements
                ),
                place,
            )
            for place, (name, statements) in enumerate(transactions, 1)
        ),
        "",
    )


REPLACED = ("t1", (("DELETE FROM kv WHERE k = 1", None),)), ("t2", (("INSERT INTO kv VALUES (1, 4)", None),))
"""The row of one key is replaced by another of that key."""


def test_rows_of_two_insertions_may_be_read_at_once() -> None:
    """What was read, 7, is no version of a row: it is one version of each of two rows of one key."""
    log = log_of(((1, 3),), *REPLACED, ("t3", (("SELECT sum(v) FROM kv WHERE k = 1", (7,)),)))
    assert explain(log, key_value(), "read-committed", budget=100_000).status is Status.CORRECT
    problem = problem_of(log, key_value(), "read-committed")
    assert told(problem) is None
    accounts = accounts_for(problem, problem.levels[0])
    assert isinstance(accounts, RowAccounts)
    assert not accounts.has_one_row(("kv", (1,)))
    assert accounts.has_one_row(("kv", (2,)))


COUNTED = (
    ("t4", (("SELECT v FROM kv WHERE k = 3", (9,)), ("INSERT INTO kv VALUES (2, 5)", None))),
    ("t3", (("SELECT count(*) FROM kv WHERE k IN (1, 2)", (2,)), ("INSERT INTO kv VALUES (3, 9)", None))),
)
CHANGED = (
    COUNTED[0],
    ("t3", (("DELETE FROM kv WHERE k IN (1, 2) RETURNING v", (3, 4)), ("INSERT INTO kv VALUES (3, 9)", None))),
)


@pytest.mark.parametrize("later", [COUNTED, CHANGED], ids=["counted", "changed"])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_of_two_insertions_say_nothing_of_others(
    later: tuple[tuple[str, tuple[Ran, ...]], ...], turned: bool
) -> None:
    """Two rows were found: both may have been of the first key, none of the second."""
    transactions = (*later, *REPLACED) if turned else (*REPLACED, *later)
    log = log_of(((1, 3),), *transactions)
    assert explain(log, key_value(), "read-committed", budget=1_000_000).status is Status.CORRECT
    assert told(problem_of(log, key_value(), "read-committed")) is None
    verdict = audit(log, key_value(), Options("read-committed", timeout=600))
    assert verdict.status is Status.CORRECT, verdict


MOVED = (
    ("t1", (("UPDATE kv SET k = 2 WHERE k = 1", None), ("DELETE FROM kv WHERE v = 4 RETURNING k", ()))),
    ("t2", (("SELECT v FROM kv WHERE k = 2", (3,)),)),
)


@pytest.mark.parametrize("level", [*LEVELS, "postgres:read-committed", "causal", "read-atomic"])
def test_a_row_may_have_come_from_another_key(level: str) -> None:
    """How many rows changed their key was not logged, but what was read tells."""
    log = log_of(((1, 3),), *MOVED)
    assert explain(log, key_value(), level, budget=100_000).status is Status.CORRECT
    problem = problem_of(log, key_value(), level)
    assert infer(problem).contradiction is None and contradiction_of(problem) is None


@pytest.mark.parametrize("level", ["prefix", "session-snapshot", "session-serializable"])
def test_a_session_goes_past_a_transaction_that_need_not_have_happened(level: str) -> None:
    """The first saw what its session writes later. The one between is not in the prefix, and the chain does without."""
    log = log_of(
        ((1, 3), (2, 3)),
        ("t1", (("SELECT v FROM kv WHERE k = 1", (7,)),)),
        ("t2", (("UPDATE kv SET v = 7 WHERE k = 2", None),)),
        ("t3", (("UPDATE kv SET v = 7 WHERE k = 1", None),)),
    )
    transactions = [msgspec.structs.replace(one, session="a") for one in log.transactions]
    shown = told(problem_of(Log(log.header, tuple(transactions), ""), key_value(), level))
    assert shown is not None and shown[1] is not None
    assert shown[0] == 1 and shown[1].items == {0, 2}


INSERTED = (
    "INSERT INTO kv VALUES (1, 4)",
    "INSERT INTO kv SELECT 1, 4",
    "INSERT INTO kv VALUES (1, 4) ON CONFLICT DO NOTHING",
)


@pytest.mark.parametrize("text", INSERTED)
@pytest.mark.parametrize("turned", [False, True])
def test_an_own_row_may_be_met_beside_the_one_that_it_replaces(text: str, turned: bool) -> None:
    """What a statement reads may be older than the deletion of the first row."""
    level = "postgres:read-committed"
    own = ("t2", ((text, None), ("SELECT v FROM kv WHERE k = 1", (3, 4))))
    log = log_of(((1, 3),), *((own, REPLACED[0]) if turned else (REPLACED[0], own)))
    assert explain(log, key_value(), level, budget=100_000).status is Status.CORRECT
    assert told(problem_of(log, key_value(), level)) is None
    assert audit(log, key_value(), Options(level, timeout=600)).status is Status.CORRECT


def test_an_own_row_may_be_deleted_beside_the_one_that_it_replaces() -> None:
    """The first row was there until then, so that who changed it came before."""
    level = "postgres:read-committed"
    own = ("INSERT INTO kv VALUES (1, 4)", None), ("DELETE FROM kv WHERE k = 1 RETURNING v", (3, 4))
    log = log_of(((1, 3),), ("t2", own))
    assert explain(log, key_value(), level, budget=100_000).status is Status.CORRECT
    assert told(problem_of(log, key_value(), level)) is None


def test_an_own_row_of_a_key_that_no_other_has_is_met_alone() -> None:
    level = "postgres:read-committed"
    own = ("t2", (("INSERT INTO kv VALUES (1, 4)", None), ("SELECT v FROM kv WHERE k = 1", (3, 4))))
    log = log_of((), own, ("t1", (("DELETE FROM kv WHERE k = 2", None),)))
    assert explain(log, key_value(), level, budget=100_000).status is Status.VIOLATION
    assert told(problem_of(log, key_value(), level)) == (1, None)


@pytest.mark.parametrize("values", ["unique", "repeated", "counted"])
@pytest.mark.parametrize("level", ["snapshot", "serializable"])
@SEEDS
def test_a_spoilt_log_is_refuted_as_the_oracle_says(seeds: range, level: str, values: str) -> None:
    agreed = 0
    for seed in seeds:
        log = key_value_log(seed, 5, 2, values=values, spoilt=2)
        try:
            agreed += compare(log, key_value(), level)
        except BudgetExceeded:
            continue
    assert agreed > (0 if values == "repeated" else len(seeds) // 6)


def _each_affected_one(transaction: Transaction) -> Transaction:
    statements = [
        msgspec.structs.replace(one, affected=1) if one.results is None else one for one in transaction.statements
    ]
    return msgspec.structs.replace(transaction, statements=tuple(statements))


def test_a_write_that_leaves_a_count_as_it_was_may_bring_back_an_older_one() -> None:
    """It conflicts with nothing at `snapshot`, so that t3 may see what t1 read before t2 counted."""
    log = log_of(
        ((0, 0), (1, 0)),
        ("t1", (("UPDATE kv SET v = v + 1 WHERE k = 1", None), ("UPDATE kv SET v = v - 1 WHERE k = 1", None))),
        ("t2", (("UPDATE kv SET v = v - 1 WHERE k = 1", None), ("UPDATE kv SET v = v + 1 WHERE k = 0", None))),
        ("t3", (("SELECT v FROM kv WHERE k = 0", (1,)), ("SELECT v FROM kv WHERE k = 1", (0,)))),
    )
    log = Log(log.header, tuple(map(_each_affected_one, log.transactions)), "")
    assert explain(log, key_value(), "snapshot", budget=100_000).status is Status.CORRECT
    assert told(problem_of(log, key_value(), "snapshot")) is None
    assert explain(log, key_value(), "serializable", budget=100_000).status is Status.VIOLATION


@pytest.mark.parametrize("values", ["unique", "repeated", "counted"])
@pytest.mark.parametrize("level", ["read-committed", "snapshot", "serializable"])
@SEEDS
def test_answers_about_all_rows_of_a_table_whose_rows_last_are_read(seeds: range, level: str, values: str) -> None:
    agreed = told_more = 0
    for seed in seeds:
        log = key_value_log(1000 + seed, 4, 2, values=values, spoilt=1, scans=True)
        try:
            agreed += compare(log, key_value(), level)
        except BudgetExceeded:
            continue
        accounts = Accounts(problem_of(log, key_value(), level), latest=False)
        for item, transaction in enumerate(log.transactions):
            whole = any("ORDER BY k" in statement.sql for statement in transaction.statements)
            told_more += whole and len(accounts.of(item).met) == 2
    assert told_more > 0
    assert agreed > len(seeds) // 9 or values == "repeated" or level == "read-committed"


@pytest.mark.parametrize("level", LOOSE)
@pytest.mark.parametrize("values", ["unique", "repeated"])
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(8), marks=pytest.mark.slow)], ids=str)
def test_an_order_that_is_found_passes_replay(seeds: range, level: str, values: str) -> None:
    found = 0
    for seed in seeds:
        log = key_value_log(seed, 60, 6, values=values, sessions=3 * (seed % 2))
        problem = problem_of(log, key_value(), level)
        inferred = infer(problem)
        if not inferred.orders:
            assert values == "repeated", f"seed {seed}"
            continue
        frontier = Frontier(problem)
        frontier.trace = Trace(problem)
        if not place_along(frontier, [(place.item, place.state) for place in inferred.orders[0]]):
            # what repeats may have been taken from another writer than was decided
            assert values == "repeated", f"seed {seed}"
            continue
        found += 1
        witness = witness_of(problem, Found(frontier.trace, 60))
        assert check(log, witness, key_value(), isolation=level, order_recorded=False) is None
    assert found > len(seeds) // 2


@SEEDS
def test_a_chain_with_a_link_missing_is_not_confirmed(seeds: range) -> None:
    seen = 0
    for seed in seeds:
        problem = problem_of(key_value_log(seed, 20, 3, spoilt=2), key_value(), "serializable")
        shown = told(problem)
        if shown is None or shown[1] is None:
            continue
        count, evidence = shown
        accounts = Accounts(problem, latest=True)
        following = dict(zip(evidence.circle, (*evidence.circle[1:], *evidence.circle[:1]), strict=True))
        for number, fact in enumerate(evidence.facts):
            fewer = (*evidence.facts[:number], *evidence.facts[number + 1 :])
            turned = (
                *evidence.facts[:number],
                replace(fact, later=fact.observation.event) if fact.observation else fact,
            )
            if fact.earlier is not None and following.get(fact.earlier) == fact.later:
                assert checked_chain(problem, replace(evidence, facts=fewer), count, accounts) is None
                seen += 1
            if fact.later != turned[-1].later:
                turned = (*turned, *evidence.facts[number + 1 :])
                assert checked_chain(problem, replace(evidence, facts=turned), count, accounts) is None
    assert seen > (50 if seeds is SLOW else 20)


def test_decisions_need_not_all_be_kept() -> None:
    problem = problem_of(key_value_log(3, 60, 5), key_value(), "serializable")
    found, kept = infer(problem, Steps(limits=Limits(kept=0))), infer(problem)
    assert found.orders and kept.orders
    assert found.effort[0].decisions > 1, "there was something to forget"
    assert [place.item for place in found.orders[0]] == [place.item for place in kept.orders[0]]


@pytest.mark.parametrize("level", ["causal", "snapshot", "serializable"])
def test_counts_are_put_in_an_order(level: str) -> None:
    for seed in range(2):
        log = key_value_log(seed, 40, 6, values="counted")
        verdict = audit(log, key_value(), Options(level, timeout=600))
        assert verdict.status is Status.CORRECT, verdict


@pytest.mark.parametrize("level", [pytest.param("snapshot", marks=pytest.mark.slow), "serializable"])
@pytest.mark.parametrize("seeds", [range(2, 4), pytest.param(range(4), marks=pytest.mark.slow)], ids=str)
def test_sides_of_counts_are_decided_before_a_schedule(level: str, seeds: range, tmp_path: Path) -> None:
    """Rows that few read: one schedule finds an order where all sides were decided, and rarely where none was."""
    orders = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        generate(Shape(150, 150, increments=True), seed).write(path)
        log = read_log([path])
        problem = problem_of(log, library_of(log), level)
        found = infer(problem, Steps(limits=Limits(schedules=1)))
        assert found.orders and found.effort[0].schedules == 1
        assert place_along(Frontier(problem), [(place.item, place.state) for place in found.orders[0]])
        orders += bool(infer(problem, Steps(snapshots=False, limits=Limits(schedules=1, sides=0))).orders)
    assert orders < len(seeds)


def test_a_chain_of_counts_needs_all_that_is_added() -> None:
    seen = 0
    for seed in range(20):
        problem = problem_of(key_value_log(seed, 9, 2, values="counted", spoilt=3), key_value(), "serializable")
        shown = told(problem)
        if shown is None or shown[1] is None:
            continue
        count, evidence = shown
        accounts = Accounts(problem, latest=True)
        following = dict(zip(evidence.circle, (*evidence.circle[1:], *evidence.circle[:1]), strict=True))
        for number, fact in enumerate(evidence.facts):
            if not fact.added or following.get(fact.earlier or fact.later) != fact.later:
                continue
            fewer = replace(fact, added=fact.added[1:])
            facts = (*evidence.facts[:number], fewer, *evidence.facts[number + 1 :])
            assert checked_chain(problem, replace(evidence, facts=facts), count, accounts) is None
            seen += 1
        if evidence.added:
            assert checked_chain(problem, replace(evidence, added=evidence.added[1:]), count, accounts) is None
            seen += 1
    assert seen > 2


def test_steps_can_be_left_out() -> None:
    problem = problem_of(key_value_log(1, 40, 4), key_value(), "snapshot")
    assert not infer(problem, Steps(saturate=False)).orders
    assert not infer(problem, Steps(linearize=False)).orders
    assert not infer(problem, Steps(events=10)).orders
    assert infer(problem, Steps(snapshots=False)).orders


@pytest.mark.parametrize("level", ["causal", "snapshot", "serializable"])
def test_shuffled_logs_are_correct(level: str) -> None:
    for seed in range(3):
        verdict = audit(key_value_log(seed, 120, 8), key_value(), Options(level, timeout=600))
        assert verdict.status is Status.CORRECT, verdict


def test_a_shuffled_log_with_a_spoilt_read_is_refuted_or_explained() -> None:
    found = set()
    for seed in range(6):
        log = key_value_log(seed, 80, 6, spoilt=1)
        verdict = audit(log, key_value(), Options("serializable", timeout=600))
        assert verdict.status is not Status.UNDECIDED, verdict
        assert verdict.status is Status.CORRECT or verdict.scope is Scope.EVERY_ORDER, verdict
        found.add(verdict.status)
    assert Status.VIOLATION in found


def two_hosts(log: Log, seed: int) -> Log:
    """The same transactions, in their serial order by the clocks of two hosts that are far apart."""
    rng = random.Random(f"hosts {seed}")
    found = []
    for transaction in log.transactions:
        at = 1000 * int(str(transaction.id)[1:])
        host = rng.choice(["a", "b"])
        at += 7_000_000 if host == "b" else 0
        found.append(msgspec.structs.replace(transaction, invoked=at, returned=at + 900, clock=host))
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.jsonl", log.header, found)
        return read_log([Path(folder) / "log.jsonl"])


def test_what_is_counted_up_and_down_is_found_by_running() -> None:
    found = 0
    for seed in range(12):
        problem = problem_of(key_value_log(seed, 12, 3, values="swung"), key_value(), "serializable")
        known = infer(problem).known
        assert known is not None

        def begin(problem: Problem = problem) -> Frontier:
            frontier = Frontier(problem)
            frontier.trace = Trace(problem)
            return frontier

        first, more = place_guided(known, begin, restarts=1), place_guided(known, begin, restarts=60)
        assert more or not first
        found += more and not first
    assert found > 2


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_runs_of_two_clocks_are_explained(level: str) -> None:
    for seed in range(3):
        log = two_hosts(key_value_log(seed, 80, 4, values="counted"), seed)
        assert audit(log, key_value(), Options(level)).status is Status.CORRECT, f"seed {seed}"
