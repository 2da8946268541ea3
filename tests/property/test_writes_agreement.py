"""Search and oracle agree on random logs of upserts, foreign keys with actions and computed keys.

Transactions run on random states, constraints on later ones, so that many logs are explained at some levels only; then
an answer is changed now and then. Does not check cores.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.dialect import Dialect
from tests.property.states import Later, is_a_state
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import initial_state
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

LEVELS = ("read-committed", "snapshot", "strict-snapshot", "serializable")
SCHEMA = (
    "CREATE TABLE p (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, n INT)",
    "CREATE TABLE d (id INT PRIMARY KEY, p INT REFERENCES p (id) ON DELETE SET NULL)",
    "CREATE UNIQUE INDEX one ON c (n) WHERE p = 1",
)
INITIAL = (
    InitialTable("p", None, [(1, 10), (2, 20)]),
    InitialTable("c", None, [(1, 1, 1), (2, 2, 1)]),
    InitialTable("d", None, [(1, 1)]),
)
STATEMENTS = (
    "INSERT INTO p VALUES ({a}, {b}) ON CONFLICT (id) DO UPDATE SET n = p.n + excluded.n",
    "INSERT INTO p VALUES ({a}, {b}), ({b}, {a}) ON CONFLICT DO NOTHING",
    "INSERT INTO p VALUES ({a}, {b}) ON CONFLICT (id) DO UPDATE SET n = p.n + 1 WHERE p.n > 10 RETURNING n",
    "INSERT INTO p VALUES ({a}, 0)",
    "DELETE FROM p WHERE id = {a}",
    "UPDATE p SET id = {b} WHERE id = {a}",
    "INSERT INTO c VALUES ({a}, {b}, {a})",
    "INSERT INTO c VALUES ({a}, {b}, {a}) ON CONFLICT DO NOTHING",
    "UPDATE c SET p = {a} WHERE id = {b}",
    "UPDATE c SET n = p.n FROM p WHERE p.id = c.p AND p.id = {a}",
    "DELETE FROM c USING p WHERE p.id = c.p AND p.n > {a}",
    "INSERT INTO d VALUES ({a}, {b})",
    "SELECT * FROM p",
    "SELECT id, p FROM c",
    "SELECT count(*) FROM d WHERE p IS NULL",
)


def library() -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation="C"), SCHEMA)


def random_log(seed: int) -> Log:
    rng = random.Random(seed)
    compiled = library()
    header = Header("postgres", SCHEMA, initial=INITIAL, settings={"collation": "C"})
    store = Store(compiled, initial_state(Log(header, [], "empty"), compiled))
    transactions: list[Transaction] = []
    for number in range(1, rng.randint(3, 4) + 1):
        state = rng.choice((store.newest, rng.randint(0, store.newest)))
        view = WitnessView(store, number, state, statements=Later(rng, store.newest))
        statements: list[Statement] = []
        try:
            for index in range(rng.randint(1, 2)):
                sql = rng.choice(STATEMENTS).format(a=rng.randint(1, 3), b=rng.randint(1, 3))
                view.statement(index)
                outcome = compiled.program(sql).run(view, ())
                rows = tuple(ObservedRows(tuple("x" for _ in r.types), tuple(cut(r, None))) for r in outcome.results)
                affected = outcome.affected
                if affected is not None and rng.random() < 0.12:
                    affected = max(0, affected + rng.choice((-1, 1)))
                statements.append(Statement(sql, affected=affected, results=rows or None))
        except (SqlError, Unsupported):
            continue
        copy = store.copy()
        if not is_a_state(copy, view.writes):
            continue
        store = copy
        transactions.append(
            Transaction(number, "committed", tuple(statements), number, start=2 * state + 1, commit=2 * number + 2)
        )
    return Log(header, transactions, f"seed {seed}")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [range(12)], ids=str)
def test_search_and_oracle_agree(seeds: range, level: str) -> None:
    compare(seeds, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "seeds", [range(12, 60), *(range(start, start + 50) for start in range(1000, 1500, 50))], ids=str
)
def test_search_and_oracle_agree_on_many(seeds: range, level: str) -> None:
    compare(seeds, level)


def compare(seeds: range, level: str) -> Counter[str]:
    told: Counter[str] = Counter()
    for seed in seeds:
        log = random_log(seed)
        compiled = library()
        try:
            truth = explain(log, compiled, level, budget=60_000)
        except BudgetExceeded:
            told["too many"] += 1
            continue
        verdict = audit(log, compiled, Options(level, timeout=600))
        told[f"{truth.status.value} {verdict.status.value}"] += 1
        if truth.status is Status.UNDECIDED:
            continue
        shown = "\n".join(f"{t.id} {t.start}-{t.commit} {s.sql} {s.affected} {s.results}"
                          for t in log.transactions for s in t.statements)  # fmt: skip
        if verdict.status is not Status.UNDECIDED:
            assert (verdict.status, verdict.verified_prefix) == (truth.status, truth.verified_prefix), (
                f"seed {seed} at {level}: {verdict.explanation}, oracle {truth.witness}\n{shown}"
            )
    return told
