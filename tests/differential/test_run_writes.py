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

T = "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 5, u INT UNIQUE, CHECK (n < 100))"
T_ROWS = "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)"

TU = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE u (id INT, m INT)",
)
TU_ROWS = ("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO u VALUES (1, 10), (1, 11), (2, 20), (9, 90)")

SCRIPTS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "on conflict": (
        (T,),
        (
            T_ROWS,
            "INSERT INTO t VALUES (1, 7, 9) ON CONFLICT (id) DO UPDATE SET n = n + 1",
            "INSERT INTO t VALUES (1, 7, 9) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n",
            "INSERT INTO t VALUES (1, 7, 9) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n WHERE t.n > 50",
            "INSERT INTO t VALUES (1, 700, 9) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO t VALUES (1, NULL, 9) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO t VALUES (5, 1, 1) ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES (6, 1, NULL), (6, 2, NULL) ON CONFLICT (id) DO NOTHING",
            "INSERT INTO t VALUES (7, 1, NULL), (7, 2, NULL) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
            "INSERT INTO t VALUES (1, 3, NULL) ON CONFLICT (id) DO UPDATE SET id = 3 RETURNING id, n, u",
            "INSERT INTO t VALUES (1, 3, NULL), (2, 8, NULL), (20, 8, NULL) ON CONFLICT (id)"
            " DO UPDATE SET n = excluded.n WHERE excluded.n < 5 RETURNING id, n",
            "INSERT INTO t VALUES (3, 3, NULL) ON CONFLICT DO UPDATE SET n = 3",
            "INSERT INTO t VALUES (3, 3, NULL) ON CONFLICT (n) DO NOTHING",
            "INSERT INTO t (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET (n, u) = (1, excluded.id) RETURNING *",
            "INSERT INTO t AS x (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = x.n + 1 RETURNING *",
            "INSERT INTO t AS x (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET x.n = 1 RETURNING *",
            "INSERT INTO t (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = NULL",
            "INSERT INTO t (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET n = 100",
            "INSERT INTO t SELECT id + 1, n, NULL FROM t WHERE id < 10 ON CONFLICT (id) DO UPDATE SET n = excluded.n",
            "INSERT INTO t SELECT id + 1, n, NULL FROM t WHERE id < 10 ON CONFLICT DO NOTHING",
            "INSERT INTO t VALUES (30, 1, 30) ON CONFLICT ON CONSTRAINT t_u_key DO NOTHING",
            "INSERT INTO t VALUES (31, 1, 30) ON CONFLICT ON CONSTRAINT t_u_key DO UPDATE SET id = excluded.id",
            "INSERT INTO t VALUES (31, 1, 30) ON CONFLICT ON CONSTRAINT t_x_key DO NOTHING",
        ),
    ),
    "update from": (
        TU,
        (
            *TU_ROWS,
            "UPDATE t SET n = u.m FROM u WHERE t.id = u.id AND u.m <> 11 RETURNING *",
            "UPDATE t SET n = u.m + t.n FROM u WHERE t.id = u.id AND u.m <> 11",
            "UPDATE t AS x SET n = x.n + u.m FROM u WHERE x.id = u.id AND m = 20 RETURNING n",
            "UPDATE t SET n = m FROM u JOIN t AS y ON y.id = u.id WHERE t.id = y.id AND m = 20",
            "UPDATE t SET n = 5 FROM u WHERE t.id = u.id",
            "UPDATE t SET n = u.m FROM u",
            "UPDATE t SET t.n = 1 FROM u",
            "UPDATE t SET n = 1 FROM t WHERE t.id = 1",
            "UPDATE t SET (n, id) = (u.m, t.id + 100) FROM u, t AS z WHERE t.id = u.id AND z.id = 3 AND u.m = 20",
            "UPDATE t SET id = NULL FROM u WHERE u.id = t.id",
        ),
    ),
    "delete using": (
        TU,
        (
            *TU_ROWS,
            "DELETE FROM t USING u WHERE t.id = u.id AND m = 90",
            "DELETE FROM t USING u WHERE t.id = u.id AND m = 20 RETURNING *",
            "DELETE FROM t USING u, t AS z WHERE t.id = u.id AND z.id = 3",
        ),
    ),
    "truncate": (
        TU,
        (
            *TU_ROWS,
            "TRUNCATE t",
            "INSERT INTO t VALUES (7, 2)",
            "TRUNCATE TABLE u RESTART IDENTITY CASCADE",
            "TRUNCATE t, u",
        ),
    ),
    "old and new": (
        TU,
        (
            *TU_ROWS,
            "UPDATE t SET n = n + 1 WHERE id < 3 RETURNING old.n, new.n, n, *",
            "INSERT INTO t VALUES (4, 4) RETURNING old.id, new.id, id",
            "INSERT INTO t VALUES (4, 6), (5, 5) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING old.*, new.*",
            "DELETE FROM t WHERE id > 3 RETURNING old.n, new.n, n",
        ),
    ),
    "foreign keys": (
        (
            "CREATE TABLE p (id INT PRIMARY KEY, k INT UNIQUE)",
            "CREATE TABLE c (id INT PRIMARY KEY, p INT REFERENCES p (id) ON DELETE RESTRICT)",
            "CREATE TABLE d (id INT PRIMARY KEY, p INT REFERENCES p)",
            "CREATE TABLE e (id INT PRIMARY KEY, k INT DEFAULT 3, FOREIGN KEY (k) REFERENCES p (k)"
            " ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE f (id INT PRIMARY KEY, e INT REFERENCES e (id) ON DELETE SET NULL ON UPDATE SET DEFAULT)",
            "CREATE TABLE s (id INT PRIMARY KEY, up INT REFERENCES s (id) ON DELETE CASCADE)",
            "CREATE TABLE r (id INT PRIMARY KEY, up INT REFERENCES r (id))",
        ),
        (
            "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)",
            "INSERT INTO c VALUES (1, 1), (2, NULL)",
            "INSERT INTO d VALUES (1, 2)",
            "INSERT INTO e VALUES (1, 4), (2, 4), (3, 5)",
            "INSERT INTO f VALUES (1, 1), (2, 2), (3, 3)",
            "DELETE FROM p WHERE id = 1",
            "DELETE FROM p WHERE id = 2",
            "UPDATE p SET id = 10 WHERE id = 1",
            "UPDATE p SET id = 10 WHERE id = 2",
            "UPDATE p SET id = 10 WHERE id = 3",
            "INSERT INTO c VALUES (5, 77)",
            "UPDATE c SET p = 77",
            "UPDATE c SET p = 10",
            "UPDATE p SET k = 40 WHERE k = 4",
            "DELETE FROM p WHERE k = 40",
            "UPDATE e SET id = 7",
            "DELETE FROM p WHERE k = 5",
            "INSERT INTO s VALUES (1, 2), (2, 1)",
            "INSERT INTO s VALUES (3, 1), (4, 3), (5, 5)",
            "DELETE FROM s WHERE id = 1",
            "DELETE FROM s",
            "INSERT INTO r VALUES (1, 2), (2, 1), (3, 2), (4, 3)",
            "DELETE FROM r WHERE id < 3",
            "DELETE FROM r WHERE id > 2",
            "DELETE FROM r",
            "INSERT INTO r VALUES (1, 2)",
            "INSERT INTO e (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET k = 99",
            "INSERT INTO e (id, k) VALUES (1, NULL) ON CONFLICT (id) DO UPDATE SET k = 99",
            "INSERT INTO e (id, k) VALUES (1, NULL) ON CONFLICT (id) DO UPDATE SET k = 99",
        ),
    ),
    "generated columns": (
        ("CREATE TABLE g (a INT PRIMARY KEY, b INT, c INT GENERATED ALWAYS AS (a + b) STORED, CHECK (c < 100))",),
        (
            "INSERT INTO g (a, b) VALUES (1, 1), (2, NULL)",
            "INSERT INTO g (a, b, c) VALUES (3, 1, 5)",
            "INSERT INTO g (a, b, c) VALUES (3, 1, DEFAULT)",
            "INSERT INTO g VALUES (6, 1)",
            "INSERT INTO g (a, b) VALUES (4, 99)",
            "UPDATE g SET b = 50",
            "UPDATE g SET b = 99",
            "UPDATE g SET c = 1",
            "INSERT INTO g (a, b) VALUES (1, 7) ON CONFLICT (a) DO UPDATE SET b = excluded.b + excluded.c RETURNING *",
            "INSERT INTO g SELECT a + 10, b FROM g",
            "UPDATE g SET b = c WHERE c < 10",
        ),
    ),
    "unique indexes": (
        (
            "CREATE TABLE x (id INT PRIMARY KEY, a INT, b TEXT)",
            "CREATE UNIQUE INDEX xb ON x (lower(b))",
            "CREATE UNIQUE INDEX xa ON x (a) WHERE id > 10",
        ),
        (
            "INSERT INTO x VALUES (1, 1, 'A'), (2, 1, 'b'), (11, 1, NULL), (12, 2, NULL)",
            "INSERT INTO x VALUES (3, 3, 'a') ON CONFLICT (lower(b)) DO UPDATE SET a = excluded.a",
            "INSERT INTO x VALUES (13, 2, 'c') ON CONFLICT (a) WHERE id > 10 DO NOTHING",
            "INSERT INTO x VALUES (4, 2, 'c') ON CONFLICT (a) WHERE id > 10 DO NOTHING",
            "INSERT INTO x VALUES (5, 2, 'B') ON CONFLICT DO NOTHING",
            "INSERT INTO x VALUES (14, NULL, NULL), (15, NULL, NULL) ON CONFLICT DO NOTHING",
        ),
    ),
    "row assignments": (
        TU,
        (
            *TU_ROWS,
            "UPDATE t SET (n, id) = (SELECT max(m), t.id + 10 FROM u WHERE u.id = t.id)",
            "UPDATE t SET (n, id) = (SELECT max(m), min(m) FROM u WHERE u.id = t.id) WHERE id = 12",
            "UPDATE t SET (n, id) = (SELECT m, u.id + 20 FROM u WHERE u.id + 10 = t.id AND m <> 11) WHERE id < 13",
            "UPDATE t SET (n) = (SELECT max(m) FROM u)",
            "UPDATE t SET (n, id) = (SELECT m FROM u)",
        ),
    ),
    "insert or": (
        (T,),
        (
            T_ROWS,
            "INSERT OR IGNORE INTO t VALUES (1, 5, 5), (11, 1, 1), (12, 1, 12)",
            "INSERT OR REPLACE INTO t VALUES (1, 5, 2), (40, 6, 41)",
            "REPLACE INTO t VALUES (1, 5, 2)",
            "INSERT OR REPLACE INTO t VALUES (60, 500, 41)",
            "INSERT OR IGNORE INTO t VALUES (61, 1, 61), (62, 1, 61)",
            "INSERT OR ABORT INTO t VALUES (70, 1, 70)",
        ),
    ),
}


MYSQL: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "duplicate keys": (
        (T,),
        (
            T_ROWS,
            "INSERT INTO t VALUES (1, 7, 9) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
            "INSERT INTO t VALUES (1, 7, 9) ON DUPLICATE KEY UPDATE n = n",
            "INSERT INTO t VALUES (1, 7, 9), (3, 3, 3), (2, 2, 9) ON DUPLICATE KEY UPDATE n = VALUES(n), u = n",
            "INSERT INTO t VALUES (1, 3, 2) ON DUPLICATE KEY UPDATE n = 50",
            "INSERT INTO t VALUES (90, 3, 2) ON DUPLICATE KEY UPDATE n = 51",
            "INSERT INTO t VALUES (4, 1, 1), (4, 2, 1) ON DUPLICATE KEY UPDATE n = VALUES(n)",
            "INSERT INTO t VALUES (5, 1, 50), (5, 2, 51) ON DUPLICATE KEY UPDATE n = VALUES(n)",
            "INSERT INTO t VALUES (1, 500, 1) ON DUPLICATE KEY UPDATE n = VALUES(n)",
            "INSERT INTO t VALUES (1, 5, 1) ON DUPLICATE KEY UPDATE n = 500",
            "INSERT INTO t VALUES (1, 5, 1) ON DUPLICATE KEY UPDATE n = NULL",
            "INSERT INTO t SET id = 200, n = 1",
            "INSERT INTO t (id, n) SELECT id, n + 1 FROM t WHERE id < 3 ON DUPLICATE KEY UPDATE n = VALUES(n)",
            "INSERT INTO t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE u = DEFAULT",
            "INSERT INTO t VALUES (500, 1, 1) ON DUPLICATE KEY UPDATE t.n = 3",
            "INSERT t VALUES (501, 1, 2), (1, 1, 3) ON DUPLICATE KEY UPDATE t.n = t.n + 1",
            "INSERT IGNORE INTO t VALUES (1, 1, 1), (70, 1, 70)",
            "INSERT IGNORE INTO t SELECT id + 1, n, NULL FROM t WHERE id > 60",
        ),
    ),
    "replace": (
        (T, "CREATE TABLE v (id INT PRIMARY KEY, n INT)"),
        (
            T_ROWS,
            "REPLACE INTO t VALUES (1, 1, 1)",
            "REPLACE INTO t VALUES (1, 1, 2)",
            "REPLACE INTO t VALUES (1, 2, 1), (2, 1, 70)",
            "REPLACE INTO t SET id = 200, n = 2",
            "REPLACE t (id, n, u) VALUES (200, 3, NULL), (200, 3, NULL)",
            "REPLACE INTO v VALUES (1, 1), (2, 2)",
            "REPLACE INTO v VALUES (1, 1)",
            "REPLACE INTO v VALUES (1, 2), (3, 3)",
            "REPLACE INTO v SELECT id, n FROM t",
        ),
    ),
    "several tables": (
        TU,
        (
            *TU_ROWS,
            "UPDATE t JOIN u ON t.id = u.id SET t.n = 5 WHERE u.m <> 3",
            "UPDATE t, u SET t.n = 6, u.m = 7 WHERE t.id = u.id",
            "UPDATE t LEFT JOIN u ON t.id = u.id SET t.n = 1, u.m = 1",
            "UPDATE t SET n = 9 ORDER BY id DESC LIMIT 2",
            "UPDATE t SET n = 9 ORDER BY id DESC LIMIT 2",
            "UPDATE t SET n = n + id, id = id + 10 WHERE id = 3",
            "UPDATE t JOIN u ON t.id = u.id SET id = 4",
            "UPDATE t JOIN u ON t.id = u.id SET t.id = NULL",
            "DELETE FROM t ORDER BY n, id LIMIT 1",
            "DELETE t, u FROM t JOIN u ON t.id = u.id",
            "DELETE x FROM t AS x LEFT JOIN u ON x.id = u.id WHERE u.id IS NULL",
            "DELETE FROM u USING u JOIN t",
            "DELETE FROM t USING u",
        ),
    ),
    "foreign keys": (
        (
            "CREATE TABLE p (id INT PRIMARY KEY, k INT UNIQUE)",
            "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE RESTRICT)",
            "CREATE TABLE e (id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES p (k)"
            " ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE f (id INT PRIMARY KEY, e INT, FOREIGN KEY (e) REFERENCES e (id) ON DELETE SET NULL)",
            "CREATE TABLE s (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES s (id))",
        ),
        (
            "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)",
            "INSERT INTO c VALUES (1, 1), (2, NULL)",
            "INSERT INTO e VALUES (1, 4), (2, 4), (3, 5)",
            "INSERT INTO f VALUES (1, 1), (2, 2), (3, 3)",
            "DELETE FROM p WHERE id = 1",
            "UPDATE p SET id = 10 WHERE id = 1",
            "UPDATE p SET id = 11 WHERE id = 2",
            "INSERT INTO c VALUES (5, 77)",
            "UPDATE c SET p = 77",
            "UPDATE p SET k = 40 WHERE k = 4",
            "DELETE FROM p WHERE k = 40",
            "UPDATE e SET id = 8 WHERE id = 3",
            "DELETE FROM e WHERE id = 3",
            "INSERT INTO s VALUES (1, 2), (2, 1)",
            "INSERT INTO s VALUES (1, 1), (2, 1), (3, 2)",
            "DELETE FROM s WHERE id = 3",
            "DELETE FROM s WHERE id = 1",
            "REPLACE INTO p VALUES (3, 3)",
            "REPLACE INTO p VALUES (3, 3), (1, 6)",
            "INSERT INTO p VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 12",
            "INSERT INTO p VALUES (3, 1) ON DUPLICATE KEY UPDATE k = 50",
        ),
    ),
    "generated columns": (
        ("CREATE TABLE g (a INT PRIMARY KEY, b INT, c INT GENERATED ALWAYS AS (a + b) STORED, CHECK (c < 100))",),
        (
            "INSERT INTO g (a, b) VALUES (1, 1), (2, NULL)",
            "INSERT INTO g (a, b, c) VALUES (3, 1, 5)",
            "INSERT INTO g (a, b, c) VALUES (3, 1, DEFAULT)",
            "INSERT INTO g (a, b) VALUES (4, 99)",
            "UPDATE g SET b = 50",
            "UPDATE g SET b = 99",
            "UPDATE g SET b = b + 1, a = a + 10 WHERE c = 51",
            "INSERT INTO g (a, b) VALUES (2, 7) ON DUPLICATE KEY UPDATE b = VALUES(b) + 1",
        ),
    ),
}


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
    if (engine.name, script) in {
        ("duckdb", "foreign keys"),
        ("duckdb", "generated columns"),
        ("duckdb", "unique indexes"),
    }:
        pytest.skip("refused in duckdb")
    schema, statements = SCRIPTS[script]
    pair = Pair(engine, schema)
    refused = {construct for sql in statements if (construct := pair.step(sql)) is not None}
    assert refused == REFUSED.get((engine.name, script), set())
