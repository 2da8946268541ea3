"""Search and oracle agree on random logs of reservations: locking reads with LIMIT, OFFSET, SKIP LOCKED and joins,
beside updates, at the products' levels.

Transactions run on random states and commit one after another, whatever they locked, so that many logs are explained at
some levels only. Does not know what a server does: tests/live/test_reservations.py does.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.dialect import Dialect
from tests.property.random_logs import write
from tests.property.states import is_a_state
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import initial_state
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

SCHEMA = (
    "CREATE TABLE jobs (id INT PRIMARY KEY, place INT NOT NULL, holder INT)",
    "CREATE TABLE crew (id INT PRIMARY KEY, job INT)",
)
INITIAL = (
    InitialTable("jobs", None, [(1, 1, None), (2, 1, None), (3, 2, None)]),
    InitialTable("crew", None, [(1, 1), (2, 3)]),
)
SETTINGS = {
    "postgres": {"collation": "C"},
    "mysql": {"collation": "utf8mb4_bin", "sql_mode": "STRICT_TRANS_TABLES", "innodb_snapshot_isolation": "OFF"},
}
LEVELS = (
    "postgres:read-committed",
    "postgres:repeatable-read",
    "postgres:serializable",
    "mysql:read-committed",
    "mysql:repeatable-read",
    "mysql:repeatable-read ON",
)
LOCKS = (
    "SELECT id FROM jobs WHERE holder IS NULL ORDER BY id LIMIT 1{lock}",
    "SELECT id FROM jobs WHERE holder IS NULL ORDER BY place LIMIT 1{lock}",
    "SELECT place, holder FROM jobs ORDER BY place LIMIT 2{lock}",
    "SELECT id, place FROM jobs WHERE holder IS NULL LIMIT 2{lock}",
    "SELECT id FROM jobs ORDER BY place, id LIMIT 1 OFFSET 1{lock}",
    "SELECT place FROM jobs WHERE id = {a}{lock}",
    "SELECT count(*) FROM crew",
    "SELECT jobs.id, crew.id FROM jobs JOIN crew ON crew.job = jobs.id ORDER BY crew.id LIMIT 1{lock_of}",
    "SELECT jobs.id, holder, crew.id FROM jobs JOIN crew ON crew.job = jobs.id{lock_of}",
)
WRITES = (
    "UPDATE jobs SET holder = {t} WHERE id = {a}",
    "UPDATE jobs SET holder = {t} WHERE id = {a}",
    "UPDATE jobs SET holder = NULL WHERE holder = {a}",
    "UPDATE jobs SET place = place WHERE id = {a}",
    "UPDATE jobs SET place = 1 WHERE place = 2",
    "DELETE FROM jobs WHERE id = {a}",
    "INSERT INTO jobs VALUES ({b}, 1, NULL)",
    "UPDATE jobs SET id = {b} WHERE id = {a}",
    "UPDATE crew SET job = {a} WHERE id = 1",
)
READS = ("SELECT id, holder FROM jobs", "SELECT count(*) FROM jobs WHERE holder IS NULL")
POSTGRES = (" FOR UPDATE", " FOR UPDATE SKIP LOCKED", " FOR NO KEY UPDATE", " FOR SHARE", " FOR KEY SHARE NOWAIT")
MYSQL = (" FOR UPDATE", " FOR UPDATE", " FOR UPDATE SKIP LOCKED", " LOCK IN SHARE MODE")
FAST, SLOW = range(7), [range(7, 100), *(range(start, start + 100) for start in range(100, 1100, 100))]


def library(dialect: str) -> SqlLibrary:
    collation = "C" if dialect == "postgres" else "utf8mb4_bin"
    return SqlLibrary(Dialect(dialect, collation=collation), SCHEMA)


def _text(rng: random.Random, dialect: str, number: int) -> str:
    sql = rng.choice(rng.choice((LOCKS, LOCKS, LOCKS, WRITES, WRITES, WRITES, READS)))
    lock = rng.choice(POSTGRES if dialect == "postgres" else MYSQL)
    lock_of = rng.choice((" FOR UPDATE OF jobs", " FOR SHARE OF crew", lock)) if dialect == "postgres" else lock
    if "JOIN" in sql:
        lock_of = lock_of.replace(" SKIP LOCKED", "")
    return sql.format(a=rng.choice((1, 1, 2, 3)), b=rng.randint(3, 4), t=number, lock=lock, lock_of=lock_of)


def random_log(seed: int, dialect: str, **settings: str) -> Log:
    """Three or four transactions, each on a state of its own; in most of the logs of MySQL what writes or locks acts on
    the newest one."""
    rng = random.Random(f"{dialect} {seed}")
    compiled = library(dialect)
    header = Header(dialect, SCHEMA, initial=INITIAL, settings={**SETTINGS[dialect], **settings})
    store = Store(compiled, initial_state(Log(header, [], "empty"), compiled))
    acts = dialect == "mysql" and rng.random() < 0.8
    found: list[Transaction] = []
    count = rng.randint(3, 4)
    for number in range(1, count + 1):
        state = store.newest if rng.random() < 0.3 else rng.randint(max(0, store.newest - 2), store.newest)
        view = WitnessView(store, number, state, acts=acts)
        statements: list[Statement] = []
        try:
            for index in range(rng.randint(2, 3)):
                sql = _text(rng, dialect, number)
                if number == count and index == 0 and rng.random() < 0.5:
                    sql = "SELECT id, place, holder FROM jobs"
                view.statement(index)
                outcome = compiled.program(sql).run(view, ())
                results = []
                for result in outcome.results:
                    if result.keys is None:
                        rng.shuffle(result.rows)
                    if result.subset and result.rows and rng.random() < 0.3:
                        del result.rows[0]
                        result.keys = None if result.keys is None else result.keys[1:]
                    result.subset = False
                    rows = tuple(cut(result, lambda count, _: rng.randrange(count)))
                    results.append(ObservedRows(("x",) * len(result.types), rows))
                affected = outcome.affected
                if affected is not None and rng.random() < 0.05:
                    affected += 1
                known = rng.random() < 0.95
                statements.append(Statement(sql, affected=affected, results=tuple(results) or None if known else None))
        except (SqlError, Unsupported):
            continue
        copy = store.copy()
        if not is_a_state(copy, view.writes):
            continue
        store = copy
        times = {}
        if rng.random() < 0.7:
            times = {"invoked": 20 * state + 1, "returned": 20 * number + 2 + rng.randint(0, 30)}
        found.append(Transaction(number, "committed", tuple(statements), len(found), **times))
    return Log(header, found, f"seed {seed}")


@pytest.mark.parametrize("level", LEVELS)
def test_search_and_oracle_agree(level: str) -> None:
    compare(FAST, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_search_and_oracle_agree_on_many(seeds: range, level: str) -> None:
    compare(seeds, level)


def compare(seeds: range, level: str) -> Counter[str]:
    told: Counter[str] = Counter()
    name, _, refuses = level.partition(" ")
    dialect = name.partition(":")[0]
    compiled = library(dialect)
    for seed in seeds:
        log = random_log(seed, dialect, **({"innodb_snapshot_isolation": "ON"} if refuses else {}))
        try:
            truth = explain(log, compiled, name, budget=60_000)
        except BudgetExceeded:
            told["too many"] += 1
            continue
        verdict = audit(log, compiled, Options(name, timeout=600))
        told[f"oracle {truth.status.value}, audit {verdict.status.value}"] += 1
        if Status.UNDECIDED in (truth.status, verdict.status):
            continue
        assert (verdict.status, verdict.verified_prefix) == (truth.status, truth.verified_prefix), (
            f"seed {seed} at {level}: {verdict.explanation}, oracle {truth.witness}\n{write(log)}"
        )
    return told
