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
SAMPLES = pytest.mark.parametrize("sample", [900, pytest.param(SAMPLE, marks=pytest.mark.slow)])


def agrees(engine: Engine, sample: int, compared: int) -> None:
    """Of so many; `compared` of `SAMPLE` can be."""
    tally = sweep(engine, random.Random(11).sample(list(expressions(engine.name)), sample))
    assert not tally.differences, "\n".join(tally.differences)
    assert tally.compared * SAMPLE > compared * sample, tally.refused.most_common(9)


@SAMPLES
def test_postgres(postgres: Any, sample: int) -> None:
    agrees(Postgres(postgres, "C"), sample, 600)


@SAMPLES
def test_sqlite(sample: int) -> None:
    agrees(DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error), sample, 500)


@SAMPLES
def test_duckdb(sample: int) -> None:
    agrees(DbApi("duckdb", duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error), sample, 200)


@SAMPLES
def test_mariadb(mariadb: Any, sample: int) -> None:
    connection, collation = mariadb
    agrees(MariaDB(connection, collation), sample, 300)


@pytest.mark.parametrize("engine", ["postgres", "sqlite", "duckdb", "mysql"])
def test_the_sweep_is_wide(engine: str) -> None:
    drawn = list(expressions(engine))
    assert len(set(drawn)) > 10_000
    assert sum("?" in item for item in drawn) > 1_000
