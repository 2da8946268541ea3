"""TPC-C's procedures, with their cursors, answer and write in the interpreter as on PostgreSQL and MariaDB."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.tpcc.texts import calls, rows, small
from sql_semantics.values.dialect import Dialect
from tests.differential.routines import Engine, MariaEngine, Ours, PostgresEngine, plain


def _check(engine: Engine, count: int) -> None:
    dialect = engine.dialect
    workload = small(dialect)
    setup, procedures = [*workload.schema, *rows(workload)], list(workload.procedures)
    engine.prepare(setup, procedures)
    ours = Ours(Dialect(dialect, collation="C"), setup, procedures)
    errors = 0
    for number, sql in enumerate(calls(workload, 2, count)):
        theirs, mine = engine.run(sql), ours.run(sql)
        assert theirs.error == mine.error, f"statement {number}: {sql}"
        assert list(map(plain, theirs.results)) == list(map(plain, mine.results)), f"statement {number}: {sql}"
        errors += theirs.error is not None
    assert errors, "no order has an item that does not exist"
    for table in ours.catalog.tables:
        (stored,) = engine.run(f"SELECT * FROM {table}").results
        assert plain(stored) == plain(ours.view.rows(table)), table


def test_postgres(postgres: Any) -> None:
    _check(PostgresEngine(postgres), 300)


def test_mariadb(mariadb: Any) -> None:
    connection, _ = mariadb
    _check(MariaEngine(connection), 300)


@pytest.mark.slow
def test_postgres_at_length(postgres: Any) -> None:
    _check(PostgresEngine(postgres), 5000)
