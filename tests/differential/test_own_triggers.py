"""Triggers of SQLite and MariaDB beside the real ones: what they do where they are run, and what comes of the write."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.walks.effects import triggers_of
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.differential.engines import DbApi, Engine, MariaDB
from tests.differential.own_triggers import ROWS, OwnTriggers
from tests.differential.random_triggers import Tally, TriggeredBeside


def sqlite_engine() -> Engine:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return DbApi("sqlite", connection, sqlite3.Error)


def run_case(engine: Engine, dialect: Dialect, seed: int, tally: Tally, statements: int = 12) -> None:
    """One schema with triggers, and statements."""
    generator = OwnTriggers(seed, engine.name)
    engine.clear()
    tables = generator.tables()
    for text in (*tables, *ROWS):
        assert engine.run(text).error is None
    kept = [text for text in generator.triggers() if engine.run(text).error is None]
    library = SqlLibrary(dialect, [*tables, *kept], [])
    tally.run += sum(map(len, library.catalog.triggers.values()))
    beside = TriggeredBeside(engine, dialect, library.catalog)
    beside.library = library
    texts = "\n".join((*tables[1:2], *kept))
    for _ in range(statements):
        sql = generator.statement()
        compared = beside.compare(sql, tally, f"case {seed}", texts)
        tally.fired += compared and _fires(sql, library)
        if tally.differences:
            return


def _fires(sql: str, library: SqlLibrary) -> bool:
    try:
        return bool(triggers_of(library.program(sql).statement, library.catalog))
    except (SqlError, Unsupported):
        return False


SEEDS = [range(40), pytest.param(range(40, 3000), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_sqlite(seeds: range) -> None:
    tally, engine = Tally(), sqlite_engine()
    for seed in seeds:
        run_case(engine, Dialect("sqlite", foreign_keys=True, version=sqlite3.sqlite_version_info), seed, tally)
    assert not tally.differences, tally.differences[0]
    assert tally.run > len(seeds) and tally.fired > 2 * len(seeds) and tally.errors > len(seeds) / 4


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_mariadb(mariadb: Any, seeds: range) -> None:
    connection, collation = mariadb
    tally, engine = Tally(), MariaDB(connection, collation)
    dialect = Dialect("mysql", collation=collation, product="mariadb", version=(10, 11))
    for seed in seeds:
        run_case(engine, dialect, seed, tally)
    assert not tally.differences, tally.differences[0]
    assert tally.run > len(seeds) / 2 and tally.fired > len(seeds) and tally.errors > len(seeds) / 4
