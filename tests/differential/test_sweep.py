"""A sample of the sweep over functions, operators and casts; `make sweep` has all of it."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import duckdb
import pytest

from tests.differential.engines import DbApi, Engine, MariaDB, Postgres
from tests.differential.sweep import expressions, sweep

SAMPLE = 1_500


def agrees(engine: Engine, compared: int) -> None:
    tally = sweep(engine, random.Random(11).sample(list(expressions(engine.name)), SAMPLE))
    assert not tally.differences, "\n".join(tally.differences)
    assert tally.compared > compared, tally.refused.most_common(9)


def test_postgres(postgres: Any) -> None:
    agrees(Postgres(postgres, "C"), 600)


def test_sqlite() -> None:
    agrees(DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error), 500)


def test_duckdb() -> None:
    agrees(DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error), 200)


def test_mariadb(mariadb: Any) -> None:
    connection, collation = mariadb
    agrees(MariaDB(connection, collation), 300)


@pytest.mark.parametrize("engine", ["postgres", "sqlite", "duckdb", "mysql"])
def test_the_sweep_is_wide(engine: str) -> None:
    drawn = list(expressions(engine))
    assert len(set(drawn)) > 10_000
    assert sum("?" in item for item in drawn) > 1_000
