"""Real PostgreSQL runs with numbered rows, savepoints and errors: audited, they are correct at their level.

Some transactions are told the numbers that their rows got, some ask for them, some never learn them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
import psycopg
import pytest

from tests.live.test_end_to_end import assert_correct, record
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.record import Executor, Logic
from troubadour.record.runs.workload import Rows

ORDERS = (
    "CREATE TABLE orders (id SERIAL PRIMARY KEY, item TEXT NOT NULL, qty INT NOT NULL, UNIQUE (item))",
    "CREATE TABLE lines (no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id INT, part INT NOT NULL,"
    " at TIMESTAMPTZ NOT NULL DEFAULT now())",
)


@dataclass(frozen=True, slots=True)
class Orders:
    """A `troubadour.record.Workload`: orders of a few items, each at most once, with lines that refer to them."""

    @property
    def schema(self) -> Sequence[str]:
        return ORDERS

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        return {"orders": ("id", "item", "qty"), "lines": ("no", "order_id", "part", "at")}

    @property
    def dialect(self) -> str:
        return "postgres"

    @property
    def procedures(self) -> Sequence[str]:
        return ()

    def rows(self) -> Iterable[Rows]:
        yield "orders", ("item", "qty"), [("i1", 1), ("i2", 2)]

    def draw(self, random: Random) -> Logic:
        item, part, kind = f"i{random.randint(1, 12)}", random.randint(1, 5), random.random()

        def order(executor: Executor) -> None:
            """An order where there is none, by a savepoint; its line refers to it."""
            executor.execute("SAVEPOINT fresh")
            try:
                if kind < 0.2:
                    executor.execute("INSERT INTO orders (item, qty) VALUES ($1, 1) RETURNING id, qty", (item,))
                else:
                    executor.execute("INSERT INTO orders (item, qty) VALUES ($1, 1)", (item,))
            except psycopg.errors.UniqueViolation:
                executor.execute("ROLLBACK TO SAVEPOINT fresh")
                executor.execute("UPDATE orders SET qty = qty + 1 WHERE item = $1", (item,))
                return
            if kind < 0.4:
                executor.execute("SELECT lastval()")
            executor.execute("INSERT INTO lines (order_id, part) VALUES (currval('orders_id_seq'), $1)", (part,))

        def look(executor: Executor) -> None:
            executor.execute("SELECT id, qty FROM orders WHERE item = $1", (item,))
            if kind < 0.8:
                executor.execute(
                    "SELECT no, item, part, at FROM orders JOIN lines ON id = order_id WHERE part = $1", (part,)
                )
            else:
                executor.execute("SELECT COUNT(*), SUM(qty) FROM orders")

        def drop(executor: Executor) -> None:
            executor.execute("DELETE FROM orders WHERE item = $1 RETURNING id", (item,))
            executor.execute("SAVEPOINT kept")
            executor.execute("DELETE FROM lines WHERE part = $1", (part,))
            if part > 2:
                executor.execute("ROLLBACK TO kept")

        return order if kind < 0.55 else look if kind < 0.9 else drop


@pytest.mark.parametrize("isolation", [pytest.param("snapshot", marks=pytest.mark.slow), "serializable"])
def test_numbered_rows_are_correct_at_their_level(
    postgres_dsn: str, database_schema: str, tmp_path: Path, isolation: str
) -> None:
    path = tmp_path / "log.jsonl"
    log, _ = record(postgres_dsn, database_schema, path, Orders(), isolation, sessions=3, transactions=80)
    assert any(statement.error for t in log.transactions for statement in t.statements if t.status == "committed")
    assert_correct(log, path)


def test_a_number_that_was_never_drawn_is_found(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    """One session, so that the levels leave no choice; a number read is changed."""
    path = tmp_path / "log.jsonl"
    log, _ = record(postgres_dsn, database_schema, path, Orders(), "serializable", sessions=1, transactions=60)
    assert_correct(log, path)
    wrong = changed(log)
    assert wrong is not None
    verdict = audit(wrong, library_of(log), Options("strict-serializable", timeout=600))
    assert verdict.status is not Status.CORRECT


def changed(log: Log) -> Log | None:
    """The log with the number of the last order that was read twice made another one."""
    for place in range(len(log.transactions) - 1, -1, -1):
        transaction = log.transactions[place]
        for index, statement in enumerate(transaction.statements):
            rows = statement.results[0].rows if statement.results else ()
            if statement.sql.startswith("SELECT id, qty") and rows and transaction.status == "committed":
                number, quantity = rows[0]
                results = (msgspec.structs.replace(statement.results[0], rows=((number + 1000, quantity),)),)  # type: ignore[index,operator]
                statements = list(transaction.statements)
                statements[index] = msgspec.structs.replace(statement, results=results)
                transactions = list(log.transactions)
                transactions[place] = msgspec.structs.replace(transaction, statements=tuple(statements))
                return Log(log.header, transactions, log.digest)
    return None
