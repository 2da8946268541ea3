"""Generated statements give the same rows, counts, errors and tables in the interpreter and on real engines."""

from __future__ import annotations

import os
import random
import sqlite3
from typing import Any

import pytest

from tests.differential.campaign import collation_of, summary
from tests.differential.engines import Answer, DbApi, Engine, MariaDB, Postgres
from tests.differential.harness import Case, Tally, explained, run_cases
from troubadour.hunt.generate.schemas import ColumnSpec, TableSpec

LONG = 100_000


def check(engine: Engine, seed: int, statements: int, least: float) -> Tally:
    tally = run_cases(engine, seed, statements)
    report = "\n".join(tally.differences)
    assert not tally.differences, f"seed {seed}: {len(tally.differences)} differences\n{report}"
    assert tally.compared >= least * tally.statements, f"seed {seed}: {summary(tally, 0)}"
    return tally


def sqlite() -> Engine:
    return DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)


def duckdb() -> Engine:
    module = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return DbApi("duckdb", module.connect(":memory:", config={"threads": 1}), module.Error)


def seed() -> int:
    """A fresh seed, or the one to look at again."""
    return int(os.environ.get("DIFFERENTIAL_SEED", random.randrange(1, 10**6)))


@pytest.mark.parametrize("statements", [180, pytest.param(900, marks=pytest.mark.slow)])
def test_postgres_agrees(postgres: Any, statements: int) -> None:
    """With the server's own collation given to the interpreter."""
    check(Postgres(postgres, collation_of(postgres)), 1, statements, 0.85)


@pytest.mark.parametrize("statements", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_postgres_agrees_where_the_collation_is_unknown(postgres: Any, statements: int) -> None:
    check(Postgres(postgres), 4, statements, 0.5)


@pytest.mark.parametrize("statements", [180, pytest.param(900, marks=pytest.mark.slow)])
def test_sqlite_agrees(statements: int) -> None:
    check(sqlite(), 2, statements, 0.85)


@pytest.mark.parametrize("statements", [120, pytest.param(600, marks=pytest.mark.slow)])
def test_duckdb_agrees(statements: int) -> None:
    check(duckdb(), 3, statements, 0.75)


class _Forgetful(DbApi):
    """Loses rows whatever is turned off."""

    def run(self, sql: str) -> Answer:
        answer = super().run(sql)
        return Answer([]) if sql.startswith("SELECT k") else answer


def test_a_fault_of_an_optimizer_is_one_only_if_it_is_gone_without_it() -> None:
    module = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = _Forgetful("duckdb", module.connect(":memory:", config={"threads": 1}), module.Error)
    columns = [ColumnSpec("k", "integer", "int"), ColumnSpec("c", "integer", "int")]
    rows: dict[str, list[tuple[Any, ...]]] = {"ta": [(1, 5), (2, None)]}
    case = Case(engine, [TableSpec("ta", columns, rows=list(rows["ta"]))])
    theirs = "SELECT EXISTS (SELECT 1 FROM ta AS x LEFT JOIN (SELECT k FROM ta WHERE c = 1) AS d ON d.k > x.k)"
    for sql, known in ((theirs, True), ("SELECT k FROM ta LIMIT 2", False)):
        problem = case.step(sql).problem
        assert problem is not None
        reason, case = explained(engine, case, rows, sql, problem)
        assert (reason is not None) is known


def test_a_fault_of_a_generated_column_is_one_only_if_an_ordinary_one_has_it_not() -> None:
    module = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    engine = _Forgetful("duckdb", module.connect(":memory:", config={"threads": 1}), module.Error)
    made = ColumnSpec("g", "bigint", "int", generated="coalesce(k, 3)", kept="VIRTUAL")
    tables = [
        TableSpec("ta", [ColumnSpec("k", "integer", "int")], rows=[(7,)]),
        TableSpec("tb", [ColumnSpec("k", "integer", "int"), made]),
    ]
    case = Case(engine, tables)
    theirs = "SELECT y.g FROM ta AS x LEFT JOIN tb AS y ON y.k = x.k"
    lost = "SELECT k FROM ta LEFT JOIN tb USING (k)"
    for sql, known in ((theirs, True), (lost, False)):
        problem = case.step(sql).problem
        assert problem is not None
        reason, case = explained(engine, case, case.rows(), sql, problem)
        assert (reason is not None) is known


def test_mariadb_agrees(mariadb: Any) -> None:
    connection, collation = mariadb
    check(MariaDB(connection, collation), 5, 300, 0.8)


@pytest.mark.slow
def test_postgres_agrees_at_length(postgres: Any) -> None:
    check(Postgres(postgres, collation_of(postgres)), seed(), LONG, 0.8)


@pytest.mark.slow
def test_sqlite_agrees_at_length() -> None:
    check(sqlite(), seed(), LONG, 0.8)


@pytest.mark.slow
def test_duckdb_agrees_at_length() -> None:
    check(duckdb(), seed(), LONG, 0.75)


@pytest.mark.slow
def test_mariadb_agrees_at_length(mariadb: Any) -> None:
    connection, collation = mariadb
    check(MariaDB(connection, collation), seed(), LONG, 0.8)


def test_a_difference_is_found_and_made_small() -> None:
    """The harness itself: an engine that answers wrongly is caught, with the one row that is needed."""

    class Wrong(DbApi):
        def run(self, sql: str) -> Any:
            answer = super().run(sql)
            if "SELECT" in sql and "ABS(" in sql and answer.rows:
                answer.rows = answer.rows[:-1]
            return answer

    tally = run_cases(
        Wrong("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error), 7, 2000, most=1
    )
    assert tally.differences
    first = tally.differences[0]
    assert "ABS(" in first and len(first.splitlines()) < 9, first
