"""Writes through simple views and views over them beside a real PostgreSQL: answers, errors, tables."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.routines import PostgresEngine, differences

SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 7, s TEXT, u INT UNIQUE)",
    "CREATE VIEW w (num, v, u) AS SELECT id, v, u FROM t WHERE v > 0",
    "CREATE VIEW x AS SELECT v AS amount, num FROM w WHERE num < 100 ORDER BY num",
    "CREATE VIEW y AS SELECT num AS id, amount FROM x",
    "INSERT INTO t VALUES (1, 10, 'a', 1), (2, -5, 'b', 2), (3, 30, 'c', NULL), (200, 5, 'd', 4)",
)
STATEMENTS = (
    "UPDATE x SET amount = amount + 1 RETURNING num, amount",
    "UPDATE y SET id = id + 50 WHERE amount > 15",
    "DELETE FROM y RETURNING *",
    "DELETE FROM x WHERE num IN (1, 2, 200)",
    "INSERT INTO x (num) VALUES (5)",
    "INSERT INTO y VALUES (6, -6) RETURNING id, amount",
    "UPDATE y SET v = 1",
    "INSERT INTO w VALUES (1, 4, 9) ON CONFLICT (num) DO UPDATE SET v = w.v + excluded.v, u = excluded.u RETURNING v",
    "INSERT INTO w (num, v) VALUES (2, 4), (8, 8) ON CONFLICT (num) DO UPDATE SET v = w.v + excluded.v",
    "INSERT INTO w AS q (num) VALUES (3) ON CONFLICT (num) DO UPDATE SET v = excluded.v WHERE q.v > 20",
    "INSERT INTO y VALUES (200, 1) ON CONFLICT (id) DO UPDATE SET amount = excluded.amount",
    "INSERT INTO w VALUES (9, 9, 4) ON CONFLICT DO NOTHING",
    "INSERT INTO w VALUES (9, 9, 4) ON CONFLICT (u) DO UPDATE SET u = 99",
    "INSERT INTO w VALUES (9, 9, 4) ON CONFLICT (v) DO NOTHING",
    "INSERT INTO w VALUES (9, 9, 4) ON CONFLICT (id) DO NOTHING",
    "INSERT INTO w VALUES (1, 9, 4) ON CONFLICT (num) DO UPDATE SET v = excluded.s",
    "INSERT INTO w VALUES (1, 9, 4) ON CONFLICT (num) DO UPDATE SET s = 'x'",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_as_postgres(postgres: Any, statement: str) -> None:
    unused = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"
    assert differences(PostgresEngine(postgres), SCHEMA, [unused], [statement]) == []
