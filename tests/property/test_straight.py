"""The straight path and the search say the same: what the first explains the second does, too, and the general replay
accepts its witness, on random logs at every level and profile.

Does not check what the straight path leaves to the search.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property import test_profiles_agreement as profiles
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.audit.straight import ENGINE
from troubadour.isolation.levels import LEVELS, Visible
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status, Verdict
from troubadour.model.witness import TransactionView
from troubadour.problem.problem import Heuristics
from troubadour.replay.checker import check

FAST, SLOW = range(95_000, 95_004), [range(start, start + 50) for start in range(96_000, 97_000, 50)]
KINDS = ({}, {"wider": True}, {"savepoints": True}, {"mixed": True})
GENERAL = tuple(name for name, level in LEVELS.items() if level.dialect is None and not level.ordered)


def told(verdict: Verdict) -> tuple[object, ...]:
    """What does not hang on the way to a verdict."""
    counts = verdict.total, verdict.committed, verdict.aborted, verdict.unknown
    return verdict.status, verdict.verified_prefix, verdict.core, verdict.isolation, verdict.notes, counts


def compare(log: Log, compiled: SqlLibrary, level: str | None, recorded: bool, what: object) -> bool:
    """Whether the straight path explains a log; fails where the search or the replay of any witness disagrees."""
    verdict = audit(log, compiled, Options(level, recorded))
    if verdict.engine != ENGINE:
        return False
    assert verdict.witness is not None
    refusal = check(log, verdict.witness, compiled, isolation=level, order_recorded=recorded)
    assert refusal is None, f"{what} at {level}: {refusal}\n{write(log)}"
    other = audit(log, compiled, Options(level, recorded, heuristics=Heuristics(straight=False)))
    assert other.engine is None
    assert told(verdict) == told(other), f"{what} at {level}: {other}\n{write(log)}"
    return True


def run(seeds: range) -> Counter[str]:
    explained: Counter[str] = Counter()
    for seed in seeds:
        for kind in KINDS:
            log = random_log(seed, **kind)
            levels = (None,) if "mixed" in kind else (GENERAL[seed % len(GENERAL)], GENERAL[-1 - seed % 3])
            for level in levels:
                explained["general"] += compare(log, library(), level, seed % 3 == 0, (seed, kind))
        for level in profiles.PROFILES:
            dialect = LEVELS[level].dialect
            assert dialect is not None
            log = profiles.log_of(seed, dialect)
            if log is not None:
                explained[dialect] += compare(log, profiles.library(dialect), level, False, (seed, dialect))
    return explained


def test_the_search_and_replay_agree_with_the_straight_path() -> None:
    assert run(FAST)["general"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_the_search_and_replay_agree_with_the_straight_path_on_many(seeds: range) -> None:
    explained = run(seeds)
    assert min(explained[name] for name in ("general", "postgres", "sqlite", "duckdb")) > 0


# --- longer logs, one transaction after another or a few at a time ---------------------------------------------------

SCHEMA = (
    "CREATE TABLE owners (id INT PRIMARY KEY)",
    "CREATE TABLE accounts (id INT PRIMARY KEY, owner INT REFERENCES owners (id), balance NUMERIC(9,2) CHECK"
    " (balance >= 0), name VARCHAR(20) UNIQUE)",
)
READ = "SELECT balance, name FROM accounts WHERE id = $1"
MOVE = "UPDATE accounts SET balance = balance + $1 WHERE id = $2"
OPEN = "INSERT INTO accounts VALUES ($1, $2, 1, $3)"
CLOSE = "DELETE FROM accounts WHERE id = $1"
COUNT = "SELECT COUNT(*), SUM(balance) FROM accounts WHERE balance > $1"


@cache
def bank() -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation="C"), SCHEMA)


def bank_log(seed: int, *, transactions: int = 80, sessions: int = 1, spoilt: bool = False) -> Log:
    """A log of a bank whose transactions ran one after another at the moment of their commit; with several `sessions`
    each began while others were under way, and took its snapshot later. `spoilt`: one answer is another."""
    rng = random.Random(f"bank {seed}")
    held: dict[int, tuple[int, str]] = {n: (1000, f"n{n}") for n in range(6)}
    done: list[Transaction] = []

    def answer(sql: str, params: tuple[object, ...]) -> Statement:
        if sql == COUNT:
            some = [cents for cents, _ in held.values() if cents > params[0] * 100]  # type: ignore[operator]
            row: tuple[object, ...] = (len(some), f"{sum(some) / 100:.2f}" if some else None)
            return Statement(sql, params, (ObservedRows(("count", "sum"), (row,)),))
        found = held.get(params[-1] if sql == MOVE else params[0])  # type: ignore[call-overload]
        if sql == READ:
            rows = () if found is None else ((f"{found[0] / 100:.2f}", found[1]),)
            return Statement(sql, params, (ObservedRows(("balance", "name"), rows),))
        return Statement(sql, params, affected=int(found is not None))

    for place in range(transactions):
        key, statements = rng.randrange(9), []
        aborted = rng.random() < 0.1
        before = dict(held)
        for sql in rng.sample((READ, MOVE, OPEN, CLOSE, COUNT), k=2):
            if sql == OPEN and key not in held:
                statements.append(Statement(OPEN, (key, 1, f"n{key}"), affected=1))
                held[key] = (100, f"n{key}")
            elif sql in (READ, COUNT, CLOSE):
                statements.append(answer(sql, (key,)))
                if sql == CLOSE:
                    held.pop(key, None)
            elif sql == MOVE:
                statements.append(answer(sql, (rng.randint(1, 9), key)))
                if key in held:
                    held[key] = held[key][0] + statements[-1].params[0] * 100, held[key][1]  # type: ignore[index, operator]
        if aborted:
            held = before
        moment, overlap = 100 * place, rng.randrange(sessions) * 100
        done.append(
            Transaction(
                place,
                "aborted" if aborted else "committed",
                tuple(statements) or (answer(READ, (key,)),),
                place,
                session=f"s{place % sessions}" if overlap == 0 else f"o{place}",
                start=10 * place - 1,
                commit=None if aborted else 10 * place,
                invoked=moment - overlap,
                returned=moment + 60,
            )
        )
    if spoilt:
        place = rng.randrange(transactions // 2, transactions)
        statement = done[place].statements[0]
        done[place] = _with_first(done[place], Statement(READ, (statement.params[-1],), _no_rows(rng)))  # type: ignore[index]
    rows = tuple((n, 1, "10.00", f"n{n}") for n in range(6))
    header = Header(
        "postgres",
        SCHEMA,
        isolation="serializable",
        settings={"collation": "C"},
        initial=(InitialTable("owners", None, ((1,),)), InitialTable("accounts", None, rows)),
    )
    return Log(header, tuple(done), f"bank {seed}")


def _with_first(one: Transaction, statement: Statement) -> Transaction:
    return Transaction(
        one.id, one.status, (statement, *one.statements[1:]), one.place, one.session,
        start=one.start, commit=one.commit, invoked=one.invoked, returned=one.returned,
    )  # fmt: skip


def _no_rows(rng: random.Random) -> tuple[ObservedRows, ...]:
    return (ObservedRows(("balance", "name"), (("0.01", f"n{rng.randrange(6)}"),)),)


def read(view: TransactionView) -> TransactionView:
    """What a transaction saw; that its constraints met the state that it read need not be said."""
    met_another = view.newest not in (msgspec.UNSET, view.state)
    return view if met_another else msgspec.structs.replace(view, newest=msgspec.UNSET, statements=msgspec.UNSET)


ONE_STATE = [name for name, level in LEVELS.items() if level.dialect in (None, "postgres") and not level.own_states]
ONE_STATE = [name for name in ONE_STATE if LEVELS[name].visible is Visible.STATE and not LEVELS[name].ordered]


@pytest.mark.parametrize("level", ONE_STATE)
def test_a_serial_log_goes_straight_with_the_witness_of_the_search(level: str) -> None:
    log = bank_log(ONE_STATE.index(level))
    assert compare(log, bank(), level, False, level)
    options = Options(level, heuristics=Heuristics(straight=False))
    witnesses = [audit(log, bank(), one).witness for one in (Options(level), options)]
    assert witnesses[0] is not None
    assert witnesses[1] is not None
    if LEVELS[level].dialect is not None:  # where the search lets the aborted wait
        aborted = {one.id for one in log.transactions if one.status == "aborted"}
        orders = [[id for id in one.order if id not in aborted] for one in witnesses if one is not None]
        assert orders[0] == orders[1]
        return
    assert list(witnesses[0].order) == list(witnesses[1].order)
    assert list(map(read, witnesses[0].views)) == list(map(read, witnesses[1].views))


@pytest.mark.parametrize("seed", range(4))
def test_transactions_that_overlap_go_straight_where_no_answer_hangs_on_a_later_commit(seed: int) -> None:
    assert compare(bank_log(seed, sessions=3), bank(), "serializable", False, seed)


@pytest.mark.parametrize("level", ["serializable", "snapshot", "postgres:repeatable-read"])
def test_an_answer_that_is_wrong_is_found_by_the_search_alike(level: str) -> None:
    log = bank_log(1, transactions=24, spoilt=True)
    verdicts = [
        audit(log, bank(), Options(level, heuristics=Heuristics(straight=straight))) for straight in (True, False)
    ]
    assert verdicts[0].engine is None
    assert verdicts[0].status is Status.VIOLATION
    assert told(verdicts[0]) == told(verdicts[1])
    assert verdicts[0].failing_transaction == verdicts[1].failing_transaction
