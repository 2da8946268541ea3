"""MariaDB's RETURNING of INSERT, REPLACE and DELETE beside a real one. Knows no reason."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.engines import MariaDB
from tests.differential.test_found import disagreements

SETUP = (
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT UNIQUE, s VARCHAR(4) DEFAULT 'd', g INT AS (n + 1) STORED"
    ", c CHAR(4), x DECIMAL(6,2))",
    "INSERT INTO t (id, n, s, c, x) VALUES (1, 1, 'a', 'p ', 1.5), (2, 2, NULL, NULL, NULL), (3, 3, 'c', 'r', 2)",
)
STATEMENTS = (
    "INSERT INTO t (id, n) VALUES (10, 10), (11, 11) RETURNING *",
    "INSERT INTO t (id, n, s, c, x) VALUES (12, 12, 'abc', 'x ', 7.125) RETURNING id, s, g, c, x, CONCAT(c, '|') AS k",
    "INSERT INTO t SET id = 13, n = '13' RETURNING n, t.n AS m, s",
    "INSERT IGNORE INTO t (id, n) VALUES (20, 1), (21, 7) RETURNING n",
    "INSERT IGNORE INTO t (id, n) VALUES (20, 1) RETURNING n",
    "INSERT INTO t (id, n) VALUES (1, 99) ON DUPLICATE KEY UPDATE s = 'u' RETURNING id, n, s",
    "INSERT INTO t (id, n) VALUES (30, 1), (31, 31) ON DUPLICATE KEY UPDATE s = CONCAT('w', n) RETURNING id, n, s",
    "INSERT INTO t (id, n) VALUES (32, 1) ON DUPLICATE KEY UPDATE s = s RETURNING id, n, s",
    "INSERT INTO t (id, n) VALUES (1, 1), (2, 2) ON DUPLICATE KEY UPDATE x = COALESCE(x, 0) + 1 RETURNING id, x",
    "REPLACE INTO t (id, n) VALUES (1, 5) RETURNING *",
    "REPLACE INTO t (id, n) VALUES (2, 3), (40, 40) RETURNING id, n, g",
    "INSERT INTO t (id, n) SELECT id + 100, n + 100 FROM t WHERE id = 12 RETURNING id, n",
    "INSERT INTO t (id, n) VALUES (50, 12) RETURNING n",
    "DELETE FROM t WHERE n = 7 RETURNING id, s",
    "DELETE FROM t WHERE n = 7 RETURNING id, s",
    "DELETE FROM t WHERE n IN (SELECT 10) RETURNING *",
    "DELETE FROM t WHERE id > 11 RETURNING id",
    "DELETE FROM t RETURNING c",
)


def test_mariadb(mariadb: Any) -> None:
    connection, collation = mariadb
    assert not disagreements(MariaDB(connection, collation), SETUP, STATEMENTS)


@pytest.mark.parametrize(
    ("sql", "product"),
    [
        ("INSERT INTO t (id) VALUES (1) RETURNING id", "mysql"),
        ("UPDATE t SET n = 1 RETURNING n", "mariadb"),
        ("DELETE FROM t RETURNING 1 / n", "mariadb"),
        ("DELETE FROM t RETURNING (SELECT 1)", "mariadb"),
        ("DELETE t FROM t JOIN t AS u ON u.id = t.n RETURNING t.id", "mariadb"),
    ],
)
def test_refused(sql: str, product: Literal["mysql", "mariadb"]) -> None:
    dialect = Dialect("mysql", collation="utf8mb4_bin", product=product)
    with pytest.raises(Unsupported, match="RETURNING"):
        bind(sql, None, Catalog(read_schema(SETUP[:1], dialect), {}), dialect)
