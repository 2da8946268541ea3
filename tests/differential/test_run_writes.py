"""Writes against real engines: scripts of statements whose answers and tables must agree with the interpreter's."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from tests.differential.comparison import only_way
from tests.differential.engines import Answer, DbApi, Engine, MariaDB, Postgres
from tests.differential.write_scripts import DUCKDB, MYSQL, SCRIPTS


class Plain(DbApi):
    """As `DbApi`, with the rows of RETURNING (without a row count beside them)."""

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        try:
            cursor = self.connection.execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()]
        except self.error:
            return Answer(error="any")
        if sql.startswith("SELECT") or "RETURNING" in sql:
            return Answer(rows)
        if self.name == "sqlite":
            return Answer(affected=cursor.rowcount)
        return Answer(affected=rows[0][0] if rows else None)


class Pair:
    """One script on an engine and in the interpreter."""

    def __init__(self, engine: Engine, schema: Sequence[str]) -> None:
        self.engine = engine
        self.dialect = Dialect(engine.name, collation=engine.collation, foreign_keys=True)
        self.catalog = Catalog(read_schema(schema, self.dialect), {})
        self.view = MemoryView({name: [] for name in self.catalog.tables})
        self.view.picking = only_way
        for name in reversed(self.catalog.tables):
            if engine.name == "postgres":
                name += " CASCADE"
            engine.run(f"DROP TABLE IF EXISTS {name}")
        for text in schema:
            answer = engine.run(text)
            assert answer.error is None, (text, answer)

    def step(self, sql: str) -> str | None:
        """Run a statement on both sides. The construct that the interpreter alone refuses, or None."""
        mark = self.view.savepoint()
        outcome = error = refused = None
        try:
            bound = bind(sql, None, self.catalog, self.dialect)
            outcome = compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ())
        except SqlError as failure:
            error = failure
        except Unsupported as failure:
            refused = failure.construct
        answer = self.engine.run(sql)
        where = f"{self.engine.name}: {sql}"
        if refused is not None:
            self.view.rollback(mark)
            if answer.error is None:
                self.reload()
            return refused if answer.error is None else None
        if error is not None:
            assert answer.error in (error.sqlstate, "any"), f"{where}: {answer}, expected {error}"
        else:
            assert outcome is not None
            assert answer.error is None, f"{where}: {answer}, expected {outcome}"
            if outcome.results:
                assert Counter(answer.rows or ()) == Counter(outcome.results[0].rows), where
            if answer.affected is not None and answer.affected >= 0:
                assert answer.affected == outcome.affected, f"{where}: {answer}, expected {outcome}"
        for name in self.catalog.tables:
            theirs = self.engine.run(f"SELECT * FROM {name}").rows or []
            assert Counter(theirs) == Counter(self.view.rows(name)), where
        return None

    def reload(self) -> None:
        """Take over the engine's tables."""
        rows = {name: self.engine.run(f"SELECT * FROM {name}").rows or [] for name in self.catalog.tables}
        self.view = MemoryView(rows)
        self.view.picking = only_way


@pytest.fixture(params=["postgres", "sqlite", "duckdb"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "postgres":
        yield Postgres(request.getfixturevalue("postgres"))
    elif request.param == "sqlite":
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        yield Plain("sqlite", connection, sqlite3.Error)
        connection.close()
    else:
        duckdb = pytest.importorskip("duckdb", reason="no DuckDB installed")
        with duckdb.connect() as other:
            yield Plain("duckdb", other, duckdb.Error)


REFUSED: dict[tuple[str, str], set[str]] = {
    ("duckdb", "on conflict"): {
        "a row that fails with 23514 in an INSERT that skips rows",
        "a row that fails with 23502 in an INSERT that skips rows",
        "rows of one INSERT that have the same key",
    },
    ("sqlite", "row assignments"): {
        "NULL in a primary key in sqlite",
        "a row assignment from aggregates beside other values",
        "assignment of something else than a value to a column",
    },
    ("duckdb", "row assignments"): {"assignment of something else than a value to a column"},
    ("postgres", "update from"): {"a choice among several ways"},
    ("duckdb", "update from"): {
        "a choice among several ways",
    },
    ("sqlite", "foreign keys"): {"a statement that removes a row together with the rows that refer to it"},
    ("sqlite", "update from"): {
        "a choice among several ways",
        "NULL in a primary key in sqlite",
    },
    ("duckdb", "insert or"): {"rows of one INSERT that have the same key"},
}
"""What the interpreter refuses of a script although the engine takes it: everything else must agree."""


@pytest.mark.parametrize("script", MYSQL)
def test_scripts_agree_with_mariadb(mariadb: Any, script: str) -> None:
    schema, statements = MYSQL[script]
    engine = MariaDB(*mariadb)
    engine.clear()
    pair = Pair(engine, schema)
    refused = {construct for sql in statements if (construct := pair.step(sql)) is not None}
    assert refused == REFUSED.get((engine.name, script), set())


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_agree(engine: Any, script: str) -> None:
    if (engine.name, script) in {("duckdb", "foreign keys"), ("duckdb", "unique indexes")}:
        pytest.skip("refused in duckdb")
    own = DUCKDB if engine.name == "duckdb" else SCRIPTS
    schema, statements = own.get(script, SCRIPTS[script])
    pair = Pair(engine, schema)
    refused = {construct for sql in statements if (construct := pair.step(sql)) is not None}
    assert refused == REFUSED.get((engine.name, script), set())
