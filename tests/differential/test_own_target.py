"""MariaDB: a subquery on the table that an UPDATE or DELETE writes to is evaluated before any row is changed."""

from __future__ import annotations

import random
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

TABLE = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)"
STATEMENTS = (
    "UPDATE t SET b = b + 1 WHERE b <= (SELECT MIN(b) FROM t)",
    "UPDATE t SET b = (SELECT MAX(b) FROM t) + 1 WHERE a > {n}",
    "UPDATE t SET b = 0 WHERE EXISTS (SELECT 1 FROM t WHERE b = {n})",
    "UPDATE t SET b = b + 1 WHERE b IN (SELECT c FROM t WHERE c > {n})",
    "UPDATE t SET c = b WHERE b NOT IN (SELECT c FROM t WHERE c IS NOT NULL)",
    "DELETE FROM t WHERE b = (SELECT MAX(b) FROM t)",
    "DELETE FROM t WHERE c IN (SELECT b FROM t WHERE a = {n})",
    "DELETE FROM t WHERE b < (SELECT COUNT(*) FROM t) - {n}",
)


def test_a_subquery_sees_the_rows_as_they_were(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    dialect = Dialect("mysql", collation=collation, product="mariadb", version=(10, 11))
    chance = random.Random(39)
    compared = 0
    for _ in range(25):
        engine.clear()
        engine.run(TABLE)
        for key in range(7):
            values = [chance.choice(["NULL", *map(str, range(6))]) for _ in range(2)]
            engine.run(f"INSERT INTO t VALUES ({key}, {', '.join(values)})")
        beside = Beside(engine, dialect, Catalog(read_schema([TABLE], dialect)))
        for _ in range(6):
            sql = chance.choice(STATEMENTS).format(n=chance.randrange(5))
            done = beside.step(sql)
            assert done.problem is None, (sql, done.problem)
            assert done.outside is None, (sql, done.outside)
            compared += 1
    assert compared == 150
