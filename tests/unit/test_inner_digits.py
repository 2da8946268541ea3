"""The digits of averages and quotients inside a statement, as MariaDB 10.11 answers. Runs no server."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from tests.unit.running import Database

AVERAGE = "(SELECT AVG(v) FROM a)"


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        (f"SELECT {AVERAGE}", "13.3333"),
        (f"SELECT {AVERAGE} + 1", "14.3333"),
        (f"SELECT {AVERAGE} / 3", "4.44444444"),
        (f"SELECT {AVERAGE} * 1.10", "14.666667"),
        (f"SELECT MAX(v) - {AVERAGE} FROM a", "6.6667"),
        (f"SELECT COALESCE({AVERAGE}, 0)", "13.3333"),
        ("SELECT (SELECT SUM(v) / COUNT(*) FROM a) * 3", "40.0000"),
        # a temporary table has the digits of the type only
        ("SELECT x.m * 3 FROM (SELECT AVG(v) AS m FROM a) AS x", "39.9999"),
        ("WITH w AS (SELECT AVG(v) AS m FROM a) SELECT m * 3 FROM w", "39.9999"),
        ("SELECT AVG(x.m) FROM (SELECT AVG(v) AS m FROM a GROUP BY id % 2) AS x", "15.00000000"),
    ],
)
def test_digits_are_kept_in_a_subquery_and_lost_in_a_table(sql: str, answer: str) -> None:
    ((found,),) = _database().rows(sql)
    assert isinstance(found, Decimal)
    assert str(found) == answer


@pytest.mark.parametrize(
    "condition",
    [f"v > {AVERAGE}", f"v >= {AVERAGE} + 1", f"v BETWEEN {AVERAGE} AND 100", "v * 3 > (SELECT AVG(v) * 3 FROM a)"],
)
def test_averages_are_compared(condition: str) -> None:
    assert _database().rows(f"SELECT v FROM a WHERE {condition}") == [(20,)]


@pytest.mark.parametrize(
    "sql",
    [
        # MariaDB compares the declared digits, other versions all of them
        f"SELECT 13.3333 = {AVERAGE}",
        # a cached answer has the declared digits, a fresh one all
        "SELECT (SELECT AVG(b.v) FROM a AS b WHERE b.id <= a.id) * 3 FROM a",
        f"SELECT SUM(v - {AVERAGE}) FROM a",
    ],
)
def test_what_hangs_on_more_digits_is_refused(sql: str) -> None:
    with pytest.raises(Unsupported, match="DECIMAL"):
        _database().rows(sql)


def _database() -> Database:
    schema = ["CREATE TABLE a (id INT PRIMARY KEY, v INT)"]
    return Database(Dialect("mysql"), schema).fill("a", [(1, 11), (2, 20), (5, 9)])
