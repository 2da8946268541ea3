"""WITH items that write beside a real PostgreSQL: written scripts, and statements made of random parts.

What hangs on the order of the parts is refused here and has one of several outcomes there. Knows no levels.
"""

from __future__ import annotations

import random
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import Postgres

SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, g INT)",
    "CREATE TABLE a (id INT PRIMARY KEY, n INT CHECK (n < 60), c TEXT)",
    "CREATE TABLE p (id INT PRIMARY KEY, v CHAR(3))",
    "CREATE TABLE k (id INT PRIMARY KEY, p INT REFERENCES p (id))",
)
ROWS = (
    "INSERT INTO t VALUES (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 4, 2)",
    "INSERT INTO p VALUES (1, 'x'), (2, 'y'), (3, NULL)",
    "INSERT INTO k VALUES (1, 1), (2, 2)",
)
SCRIPT = (
    "WITH d AS (DELETE FROM t WHERE id = 1 RETURNING *) INSERT INTO a SELECT id, n, 'x' FROM d",
    "WITH d AS (DELETE FROM a RETURNING *) SELECT id, n, c || '|' FROM d",
    "WITH u AS (UPDATE p SET v = 'z' WHERE id < 3 RETURNING id, v) SELECT v, v || '|', p.v FROM u JOIN p USING (id)",
    "WITH u AS (UPDATE t SET n = n + 10 WHERE g = 2 RETURNING id, n) SELECT count(*) FROM t WHERE n > 10",
    "WITH i AS (INSERT INTO t VALUES (3, 3, 3), (9, 9, 9) ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM i",
    "WITH i AS (INSERT INTO t VALUES (10, 3, 3) RETURNING id), j AS (INSERT INTO a SELECT id, 7, 'z' FROM i"
    " RETURNING id) SELECT i.id, j.id FROM i, j",
    "WITH d AS (DELETE FROM t WHERE id = 2) SELECT 1",
    "WITH d AS (DELETE FROM t WHERE id = 2) SELECT * FROM d",
    "WITH x AS (INSERT INTO p VALUES (7, 'n') RETURNING id) INSERT INTO k SELECT id, id FROM x",
    "WITH x AS (INSERT INTO p VALUES (8, 'n') RETURNING id) INSERT INTO k VALUES (8, 99)",
    "WITH x AS (DELETE FROM k WHERE id = 7 RETURNING p) DELETE FROM p USING x WHERE p.id = x.p",
    "WITH x AS (DELETE FROM p WHERE id = 1 RETURNING id) SELECT * FROM x",
    "WITH x AS (DELETE FROM p WHERE id = 1 RETURNING id) DELETE FROM k WHERE p IN (SELECT id FROM x)",
    "WITH x AS (SELECT 11 AS i), y AS (INSERT INTO t SELECT i, 2, 3 FROM x RETURNING n), z AS (SELECT n + 1 AS m"
    " FROM y) SELECT * FROM z, x",
    "WITH y (a) AS (INSERT INTO t VALUES (12, 2, 3), (13, 3, 3) RETURNING n, id) SELECT a, id FROM y ORDER BY a"
    " LIMIT 1",
    "SELECT * FROM (WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d) AS x",
    "INSERT INTO a WITH d AS (DELETE FROM t WHERE id = 1 RETURNING *) SELECT id, n, 'w' FROM d",
    "WITH d AS (UPDATE t SET g = 1 / 0 WHERE id = 99 RETURNING 1) SELECT 1",
    "WITH d AS (UPDATE t SET g = 7 RETURNING 1) SELECT 1 / (id - 3) FROM t",
    "WITH f AS (SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE),"
    " u AS (DELETE FROM t USING f WHERE f.id = t.id RETURNING t.*) INSERT INTO a SELECT id, n, 'r' FROM u RETURNING *",
    "WITH t AS (DELETE FROM t WHERE id > 9 RETURNING *) SELECT * FROM t",
    "WITH w AS (WITH v AS (SELECT 20 AS i) INSERT INTO t SELECT i, i, i FROM v RETURNING *) SELECT * FROM w",
    "WITH w AS (INSERT INTO t VALUES (21, 5, 5) RETURNING *), unused AS (SELECT 1 / 0) SELECT * FROM w",
)
ORDER_SHOWS = {
    "a row that two parts of a statement with WITH items change",
    "a key in a conflict clause that another part of the statement writes",
}


def beside(postgres: Any) -> Beside:
    engine = Postgres(postgres, collation="C")
    engine.clear()
    dialect = Dialect("postgres", collation="C")
    for text in SCHEMA:
        assert engine.run(text).error is None
    for text in ROWS:
        assert engine.run(text).error is None
    return Beside(engine, dialect, Catalog(read_schema(SCHEMA, dialect), {}))


def test_scripts_agree(postgres: Any) -> None:
    tables = beside(postgres)
    for sql in SCRIPT:
        done = tables.step(sql)
        assert (done.outside, done.problem) == (None, None), sql


def part(chance: random.Random, known: list[str], returning: bool) -> str:
    """A write; `known` are WITH items with columns id and n."""
    number = chance.randrange(9)
    source = chance.choice([*known, "(SELECT id, n FROM t)", "(SELECT id, n FROM a)"])
    some = chance.choice([f"id = {number}", f"n > {number * 5}", f"id IN (SELECT id FROM {source} AS s)", "n % 2 = 0"])
    text = chance.choice(
        [
            f"DELETE FROM {chance.choice('ta')} WHERE {some}",
            f"UPDATE {chance.choice('ta')} SET n = n + {number} WHERE {some}",
            f"UPDATE t SET n = s.n + 1 FROM {source} AS s WHERE s.id = t.id AND t.g < {number}",
            f"DELETE FROM a USING {source} AS s WHERE s.id = a.id",
            f"INSERT INTO t SELECT id + {number}, n, {number} FROM {source} AS s ON CONFLICT DO NOTHING",
            f"INSERT INTO a SELECT id + {number * 10}, n, 'i' FROM {source} AS s ON CONFLICT (id) DO NOTHING",
            f"INSERT INTO a VALUES ({number}, {number * 10}, 'v') ON CONFLICT (id) DO UPDATE SET n = a.n + 1",
        ]
    )
    # of two columns named n the target's comes first
    table = text.split(" ")[1 if text.startswith("UPDATE") else 2]
    return f"{text} RETURNING {table}.id, {table}.n" if returning else text


def statement(chance: random.Random) -> str:
    items: list[str] = []
    known: list[str] = []
    for name in ("x", "y", "z")[: chance.randrange(1, 4)]:
        items.append(f"{name} AS ({part(chance, known, True)})")
        known.append(name)
    name = known[-1]
    main = chance.choice(
        [
            part(chance, known, chance.random() < 0.5),
            f"SELECT * FROM {name}",
            f"SELECT count(*), sum(n) FROM {name}",
            f"SELECT {name}.id, {name}.n, t.n FROM {name} LEFT JOIN t USING (id)",
            f"SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM a), (SELECT count(*) FROM {name})",
        ]
    )
    return f"WITH {', '.join(items)} {main}"


def test_random_statements_agree(postgres: Any) -> None:
    tables = beside(postgres)
    chance = random.Random(42)
    answered = 0
    for _ in range(120):
        sql = statement(chance)
        done = tables.step(sql)
        assert done.problem is None, sql
        assert done.outside is None or done.outside in ORDER_SHOWS, (sql, done.outside)
        answered += done.outside is None and not done.error
        if chance.random() < 0.3:
            series = f"generate_series(1, {chance.randrange(9)})"
            tables.step(f"INSERT INTO t SELECT i, i, i % 3 FROM {series} AS i ON CONFLICT DO NOTHING")
    assert answered > 40
