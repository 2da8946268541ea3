"""MERGE beside a real PostgreSQL: written statements, and random ones. Knows no levels."""

from __future__ import annotations

import random
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import Postgres

SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT CHECK (n < 100), g INT DEFAULT 5)",
    "CREATE TABLE s (id INT, n INT)",
    "CREATE TABLE p (id INT PRIMARY KEY, v CHAR(4))",
    "CREATE TABLE k (id INT PRIMARY KEY, p INT REFERENCES p (id))",
    "CREATE TABLE gen (id INT PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a * 2) STORED)",
)
ROWS = (
    "INSERT INTO t VALUES (1, 1, 1), (2, 2, 1), (3, 3, 2)",
    "INSERT INTO s VALUES (1, 10), (2, 20), (4, 40), (4, 41), (NULL, 5)",
    "INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, NULL)",
    "INSERT INTO k VALUES (1, 1), (2, 2)",
)
ON = "MERGE INTO t USING s ON t.id = s.id"
STATEMENTS = (
    f"{ON} WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED AND s.id IS NOT NULL AND s.n < 41 THEN INSERT (id, n)"
    " VALUES (s.id, s.n) WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action(), *",
    f"{ON} WHEN MATCHED AND s.n < 41 THEN UPDATE SET n = s.n + 1 WHEN NOT MATCHED THEN DO NOTHING",
    "MERGE INTO t USING s ON true WHEN MATCHED THEN UPDATE SET n = 1",
    "MERGE INTO t USING s ON true WHEN MATCHED AND s.n = 10 AND t.id = 1 THEN UPDATE SET n = 1"
    " RETURNING old.*, new.*, t.n, s.*, merge_action() AS a",
    f"{ON} WHEN NOT MATCHED AND s.id = 4 AND s.n = 40 THEN INSERT DEFAULT VALUES",
    f"{ON} WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)",
    f"{ON} WHEN NOT MATCHED THEN INSERT (id) VALUES (g)",
    f"{ON} WHEN NOT MATCHED AND t.id = 3 THEN DO NOTHING",
    f"{ON} WHEN NOT MATCHED BY SOURCE AND s.id = 3 THEN DELETE",
    f"{ON} WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE",
    f"{ON} WHEN MATCHED AND s.id = 1 THEN UPDATE SET n = DEFAULT, g = (SELECT count(*) FROM s) RETURNING *",
    "MERGE INTO t AS x USING (VALUES (1, 2), (9, 9)) AS v (a, b) ON x.id = v.a WHEN MATCHED THEN UPDATE"
    " SET (n, g) = (v.b, v.a) WHEN NOT MATCHED THEN INSERT (id, n, g) VALUES (v.a, v.b, DEFAULT) RETURNING x.*, v.a",
    f"{ON} WHEN MATCHED AND s.id = 1 THEN UPDATE SET t.n = 5",
    "MERGE INTO t USING t AS u ON t.id = u.id WHEN MATCHED THEN UPDATE SET n = u.n + 1",
    "MERGE INTO t USING t ON t.id = 1 WHEN MATCHED THEN DELETE",
    "WITH w AS (SELECT 1 AS i) MERGE INTO t USING w ON t.id = w.i WHEN MATCHED THEN DELETE RETURNING id",
    f"{ON} WHEN MATCHED THEN UPDATE SET n = n",
    f"{ON} WHEN MATCHED AND s.n < 41 THEN UPDATE SET n = g",
    f"{ON} AND false WHEN NOT MATCHED BY TARGET AND s.id = 1 THEN INSERT (id, n) VALUES (80, (SELECT max(n) FROM t))",
    f"{ON} AND false WHEN NOT MATCHED AND s.id = 1 THEN INSERT (id, n) VALUES (1, 2, 3)",
    f"{ON} AND false WHEN NOT MATCHED AND s.id = 1 THEN INSERT (id, n) VALUES (1)",
    f"{ON} AND false WHEN NOT MATCHED AND s.id = 1 THEN INSERT VALUES (81)",
    f"{ON} AND false WHEN NOT MATCHED AND s.id = 1 THEN UPDATE SET n = 3",
    f"{ON} WHEN MATCHED AND s.id = 1 THEN INSERT VALUES (1)",
    f"{ON} WHEN MATCHED THEN UPDATE SET n = 1 / 0",
    f"{ON} WHEN MATCHED AND 1 / 0 = 1 THEN DO NOTHING",
    "MERGE INTO t USING (SELECT 81 AS i) AS q ON t.id = q.i WHEN MATCHED THEN UPDATE SET n = 300",
    "MERGE INTO t USING (SELECT 81 AS i) AS q ON t.id = q.i WHEN MATCHED THEN UPDATE SET id = NULL",
    "MERGE INTO p USING (VALUES (1, 'zz'), (7, 'y')) AS v (i, c) ON p.id = v.i WHEN MATCHED THEN UPDATE SET v = v.c"
    " WHEN NOT MATCHED THEN INSERT VALUES (v.i, v.c) RETURNING p.*, p.v || '|', old.v, new.v",
    "MERGE INTO p USING k ON p.id = k.p WHEN MATCHED THEN DELETE",
    "MERGE INTO p USING k ON p.id = k.p WHEN NOT MATCHED BY SOURCE AND p.id > 5 THEN DELETE RETURNING *",
    "MERGE INTO k USING p ON k.p = p.id WHEN NOT MATCHED THEN INSERT VALUES (p.id + 10, p.id + 50)",
    "MERGE INTO k USING p ON k.p = p.id WHEN NOT MATCHED THEN INSERT VALUES (p.id + 10, p.id) RETURNING k.id, p.id",
    "MERGE INTO gen USING s ON gen.id = s.id WHEN NOT MATCHED AND s.n < 41 AND s.id IS NOT NULL THEN INSERT (id, a)"
    " VALUES (s.id, s.n) WHEN MATCHED THEN UPDATE SET a = gen.a + s.n RETURNING *",
    "MERGE INTO gen USING (SELECT 1 AS i UNION ALL SELECT 2) AS s ON gen.id = s.i WHEN MATCHED THEN UPDATE SET a = 3"
    " RETURNING b, old.b, s.i",
    "MERGE INTO gen USING s ON gen.id = s.id WHEN MATCHED THEN UPDATE SET b = 3",
    f"WITH m AS ({ON} WHEN MATCHED AND s.n < 41 THEN UPDATE SET n = 7 WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING"
    " merge_action(), t.id), i AS (INSERT INTO t VALUES (200, 1, 1)) SELECT merge_action, count(*) FROM m GROUP BY 1",
    "WITH d AS (DELETE FROM s WHERE n = 40 RETURNING *) MERGE INTO t USING d ON t.id = d.id WHEN MATCHED THEN UPDATE"
    " SET n = d.n WHEN NOT MATCHED THEN INSERT VALUES (d.id, d.n, 1) RETURNING merge_action(), t.*",
)


def beside(postgres: Any) -> Beside:
    engine = Postgres(postgres, collation="C")
    engine.clear()
    dialect = Dialect("postgres", collation="C")
    for text in (*SCHEMA, *ROWS):
        assert engine.run(text).error is None
    return Beside(engine, dialect, Catalog(read_schema(SCHEMA, dialect), {}))


def test_statements_agree(postgres: Any) -> None:
    tables = beside(postgres)
    for sql in STATEMENTS:
        done = tables.step(sql)
        assert (done.outside, done.problem) == (None, None), sql


def condition(chance: random.Random, columns: str) -> str:
    if chance.random() < 0.3:
        return ""
    column = chance.choice(columns.split())
    return f" AND {column} {chance.choice(('<', '>', '=', '<>'))} {chance.randrange(12)}"


def statement(chance: random.Random) -> str:
    source = chance.choice(
        [
            "s",
            "(SELECT id, max(n) AS n FROM s GROUP BY id) AS s",
            "(SELECT DISTINCT n % 10 AS id, 3 AS n FROM s) AS s",
            "(VALUES (1, 7), (6, NULL), (3, 2)) AS s (id, n)",
            "t AS s",
        ]
    )
    on = chance.choice(["t.id = s.id", "t.id = s.id AND t.n < 9", "t.g = s.id", "t.id + 1 = s.id"])
    clauses = [
        f"WHEN MATCHED{condition(chance, 't.n s.n t.id')} THEN "
        + chance.choice(["UPDATE SET n = s.n", "UPDATE SET g = t.g + s.n, n = 4", "DELETE", "DO NOTHING"]),
        f"WHEN NOT MATCHED{condition(chance, 's.n s.id')} THEN "
        + chance.choice(["INSERT VALUES (s.id, s.n, 1)", "INSERT (n, id) VALUES (2, s.id + 20)", "DO NOTHING"]),
        f"WHEN NOT MATCHED BY SOURCE{condition(chance, 't.n t.g')} THEN "
        + chance.choice(["UPDATE SET n = coalesce(t.n, 0) + 1", "DELETE", "DO NOTHING"]),
    ]
    chosen = chance.sample(clauses, chance.randrange(1, 4))
    returning = chance.choice(["", "", " RETURNING merge_action(), *", " RETURNING t.id, s.n, old.n, new.n"])
    return f"MERGE INTO t USING {source} ON {on} {' '.join(chosen)}{returning}"


def test_random_statements_agree(postgres: Any) -> None:
    tables = beside(postgres)
    chance = random.Random(5)
    answered = 0
    for _ in range(150):
        sql = statement(chance)
        done = tables.step(sql)
        assert (done.outside, done.problem) == (None, None), sql
        answered += not done.error
        if chance.random() < 0.3:
            tables.step("INSERT INTO t SELECT i, i * 3, i % 4 FROM generate_series(1, 6) AS i ON CONFLICT DO NOTHING")
            tables.step(f"DELETE FROM t WHERE id > 6 OR id = {chance.randrange(5)}")
    assert answered > 60
