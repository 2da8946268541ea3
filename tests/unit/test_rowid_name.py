"""MySQL's `_rowid`, another name of a key that is one number, as MariaDB 10.11 answers. Runs no server."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SqlError
from sql_semantics.values.dialect import Dialect
from tests.unit.running import Database

SCHEMA = (
    "CREATE TABLE a (id INTEGER PRIMARY KEY, v INT)",
    "CREATE TABLE b (k VARCHAR(5) PRIMARY KEY, u INT NOT NULL UNIQUE)",
    "CREATE TABLE c (k VARCHAR(5), w INT UNIQUE, u BIGINT NOT NULL UNIQUE, z INT NOT NULL UNIQUE)",
    "CREATE TABLE d (p INT, q INT, PRIMARY KEY (p, q))",
    "CREATE TABLE f (p INT NOT NULL, q INT NOT NULL, UNIQUE (p, q), UNIQUE (q))",
    "CREATE TABLE g (_rowid INT, id INT PRIMARY KEY)",
    "CREATE VIEW va AS SELECT id FROM a",
)


def _database() -> Database:
    filled = Database(Dialect("mysql"), SCHEMA).fill("a", [(1, 10), (2, 20)]).fill("b", [("x", 1)])
    return filled.fill("c", [("x", 1, 2, 3)]).fill("d", [(1, 2)]).fill("f", [(1, 2)]).fill("g", [(7, 2)])


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT _rowid FROM a", [(1,), (2,)]),
        ("SELECT a._rowid, _ROWID, `_rowid` FROM a WHERE _rowid = 2", [(2, 2, 2)]),
        ("SELECT v FROM a ORDER BY _rowid DESC", [(20,), (10,)]),
        ("SELECT x.v FROM a AS x JOIN b ON x._rowid = b.u", [(10,)]),
        ("SELECT _rowid FROM c", [(2,)]),
        ("SELECT _rowid FROM g", [(7,)]),
        ("SELECT (SELECT v FROM a WHERE a._rowid = d.q) FROM d", [(20,)]),
    ],
)
def test_the_key_has_two_names(sql: str, rows: list[tuple[int, ...]]) -> None:
    assert _database().rows(sql) == rows


@pytest.mark.parametrize("source", ["b", "d", "f", "va", "a JOIN b", "(SELECT id FROM a) AS x"])
def test_others_have_no_such_column(source: str) -> None:
    with pytest.raises(SqlError) as caught:
        _database().rows(f"SELECT _rowid FROM {source}")
    assert caught.value.sqlstate == "42S22"


def test_it_is_written_like_any_column() -> None:
    database = _database()
    assert database.run("UPDATE a SET v = v + 1, _rowid = 5 WHERE _rowid = 1").affected == 1
    assert database.run("INSERT INTO a (_rowid, v) VALUES (9, 9)").affected == 1
    assert database.run("DELETE FROM a WHERE _rowid = 2").affected == 1
    assert database.rows("SELECT * FROM a ORDER BY id") == [(5, 11), (9, 9)]
