"""Fresh runs on a real PostgreSQL, audited: what a server does at a level is correct at that level (DESIGN §10).

The bank in both variants, and a mixed workload on ten contended rows: reads by key, by predicate and of aggregates,
inserts, deletes, updates by predicate. What the server decided is taken as right; a verdict that is not `correct` is a
fault of the audit. Does not know how a run is recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import psycopg
import pytest

from benchmarks.bank import Bank, Variant
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.record import Executor, Logic, Recorder, Tally, Workload, connect, load, run
from troubadour.record.workload import Rows
from troubadour.replay import check

SEED = 31_415
LEVELS = ("read-committed", "snapshot", "serializable")
SECONDS = 120.0

ITEMS = "CREATE TABLE items (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, price NUMERIC(8,2), note TEXT)"
_INSERT = "INSERT INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, $4, $5)"
_READS = (
    "SELECT id, qty, price FROM items WHERE id = $1",
    "SELECT id, grp, qty FROM items WHERE grp = $2 ORDER BY id",
    "SELECT id, qty FROM items WHERE qty < $3",
    "SELECT COUNT(*), SUM(qty) FROM items",
    "SELECT COUNT(*), SUM(price), MAX(qty) FROM items WHERE grp = $2",
    "SELECT grp, COUNT(*), SUM(qty) FROM items GROUP BY grp ORDER BY grp",
    "SELECT id, note FROM items ORDER BY qty DESC, id LIMIT 3",
    "SELECT a.id, b.id FROM items a JOIN items b ON a.qty = b.qty AND a.id < b.id",
)
_WRITES = (
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = qty + 2, note = 'more' WHERE id = $1 RETURNING id, qty",
    "UPDATE items SET price = price * 2 WHERE id = $1 AND price < 1000",
    "UPDATE items SET qty = qty - 1 WHERE grp = $2 AND qty > $3",
    "UPDATE items SET grp = 1 - grp WHERE qty = $3 RETURNING id, grp",
    "UPDATE items SET price = NULL, qty = 0 WHERE qty >= 40",
    "DELETE FROM items WHERE id = $1",
    "DELETE FROM items WHERE qty < $3 AND grp = $2 RETURNING id, qty",
)


@dataclass(frozen=True, slots=True)
class Items:
    """A `troubadour.record.Workload` on a few rows that come and go; ids 1 to `count`. An insert that finds its id
    taken ends its transaction."""

    count: int = 10

    @property
    def schema(self) -> Sequence[str]:
        return (ITEMS,)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        return {"items": ("id", "grp", "qty", "price", "note")}

    @property
    def dialect(self) -> str:
        return "postgres"

    @property
    def procedures(self) -> Sequence[str]:
        return ()

    def rows(self) -> Iterable[Rows]:
        rows = [(n, n % 2, 5 * n % 20, Decimal(n), None if n % 3 else "first") for n in range(1, self.count + 1)]
        yield "items", self.tables["items"], rows

    def draw(self, random: Random) -> Logic:
        steps = [self._step(random) for _ in range(random.choice((1, 1, 2, 2, 3, 4)))]
        if random.random() < 0.25:
            steps = [self._read(random) for _ in steps]

        def logic(executor: Executor) -> None:
            try:
                for statements in steps:
                    for sql, params in statements:
                        executor.execute(sql, params)
            except psycopg.errors.UniqueViolation:
                return  # its COMMIT becomes a ROLLBACK

        return logic

    def _step(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        kind = random.random()
        if kind < 0.45:
            return self._read(random)
        if kind < 0.85:
            return [self._statement(random, random.choice(_WRITES))]
        return self._renew(random)

    def _read(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        return [self._statement(random, random.choice(_READS))]

    def _statement(self, random: Random, sql: str) -> tuple[str, tuple[object, ...]]:
        """The parameters that the text uses, numbered anew."""
        values = {"$1": random.randint(1, self.count), "$2": random.randint(0, 1), "$3": random.randint(1, 12)}
        used = [name for name in values if name in sql]
        for number, name in enumerate(used, 1):
            sql = sql.replace(name, f"${number}")
        return sql, tuple(values[name] for name in used)

    def _renew(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        """Insert a row, mostly after deleting the one that has its id."""
        item = random.randint(1, self.count)
        row: tuple[object, ...] = (
            item,
            random.randint(0, 1),
            random.randint(0, 20),
            Decimal(random.randint(100, 999)).scaleb(-2),
            "again",
        )
        insert = [(_INSERT, row)]
        return [("DELETE FROM items WHERE id = $1", (item,)), *insert] if random.random() < 0.7 else insert


def record(
    dsn: str, schema: str, path: Path, workload: Workload, isolation: str, *, sessions: int, transactions: int
) -> tuple[Log, Tally]:
    """A recorded run, read back."""
    with connect(dsn, schema) as connection:
        load(workload, connection.cursor())
        with Recorder(
            dsn,
            path,
            isolation=isolation,
            schema=workload.schema,
            procedures=workload.procedures,
            tables=workload.tables,
            search_path=schema,
        ) as recorder:
            tally = run(recorder.session, workload, sessions=sessions, transactions=transactions, seed=SEED)
    return read_log([path]), tally


def library_of(log: Log) -> SqlLibrary:
    dialect = Dialect(log.header.dialect, collation=str(log.header.settings["collation"]))
    return SqlLibrary(dialect, log.header.schema, log.header.procedures)


def assert_correct(log: Log, path: Path) -> Verdict:
    """Correct at its own level, with a witness that replay takes."""
    library = library_of(log)
    verdict = audit(log, library, Options(timeout=SECONDS))
    told = f"{path}: {verdict.status.value} at {verdict.failing_transaction}: {verdict.explanation or verdict.reason}"
    assert (verdict.status, verdict.verified_prefix) == (Status.CORRECT, log.committed), told
    assert verdict.witness is not None
    assert check(log, verdict.witness, library, isolation=None) is None
    return verdict


@pytest.mark.parametrize("variant", list(Variant), ids=lambda variant: variant.value)
@pytest.mark.parametrize("isolation", LEVELS)
def test_a_bank_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, variant: Variant
) -> None:
    path = tmp_path / "log.jsonl"
    workload = Bank(accounts=20, variant=variant, blind_writes=50, seed=SEED)
    log, tally = record(postgres_dsn, database_schema, path, workload, isolation, sessions=4, transactions=300)
    assert log.committed == tally.committed >= 300
    assert_correct(log, path)


def assert_mixed(log: Log, tally: Tally, isolation: str) -> None:
    """The run was what it is meant to be: contended, and of every kind of statement."""
    verbs = Counter(
        statement.sql.partition(" ")[0]
        for transaction in log.transactions
        if transaction.status == "committed"
        for statement in transaction.statements
    )
    assert all(verbs[verb] >= log.committed / 50 for verb in ("SELECT", "UPDATE", "INSERT", "DELETE")), verbs
    conflicts = sum(tally.aborted.values())
    assert conflicts > 0 if isolation != "read-committed" else log.committed > 0, tally


@pytest.mark.parametrize(("isolation", "transactions"), [("read-committed", 400), *((n, 1500) for n in LEVELS[1:])])
def test_a_mixed_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str, transactions: int
) -> None:
    path = tmp_path / "log.jsonl"
    log, tally = record(postgres_dsn, database_schema, path, Items(), isolation, sessions=6, transactions=transactions)
    assert_mixed(log, tally, isolation)
    assert_correct(log, path)


@pytest.mark.slow
@pytest.mark.parametrize("isolation", LEVELS)
def test_a_long_mixed_run_is_correct_at_its_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str
) -> None:
    path = tmp_path / "log.jsonl.gz"
    log, tally = record(postgres_dsn, database_schema, path, Items(), isolation, sessions=6, transactions=20_000)
    assert_mixed(log, tally, isolation)
    assert_correct(log, path)
