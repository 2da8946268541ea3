"""What MySQL and MariaDB answer differently, or in a way of their own, is refused by name. Runs no server."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.unit.running import Database

ROUNDED = "a column equated with a constant of more digits below an outer join in mysql"


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT CAST(1 AS BIGINT)", "CAST to BIGINT in mysql"),
        ("SELECT CAST('x' AS VARCHAR(3))", "CAST to VARCHAR in mysql"),
        ("SELECT 1 / 3 = 0.3333", "a comparison that hangs on digits beyond the scale of a DECIMAL in mysql"),
        ("SELECT avg(1.5 / 7)", "SUM or AVG of a DECIMAL with more digits than its type in mysql"),
        (
            "SELECT n AS k, count(*) FROM t GROUP BY n, k HAVING k > 2",
            "a name in HAVING that is a column and an alias of another one in mysql",
        ),
        ("SELECT n AS k, k AS k FROM t GROUP BY n, k", "GROUP BY an alias of two outputs in mysql"),
        ("SELECT CAST(1 / 7 AS DOUBLE)", "a quotient of decimals as a floating-point number in mysql"),
        ("SELECT 1.5e0 * (1.5 / 7)", "a quotient of decimals as a floating-point number in mysql"),
        ("SELECT - (1 - 3)", "unary minus of a constant expression in mysql"),
        ("SELECT - d.a FROM (SELECT -1 AS a) AS d", "unary minus of a constant expression in mysql"),
        ("SELECT 1 / k + 1 FROM t GROUP BY 1 / k", "a quotient that is grouped by inside another expression in mysql"),
        ("SELECT (1 > ANY (SELECT k FROM t)) IS NULL", "IS NULL of ANY or ALL in mysql"),
        ("SELECT CASE WHEN 1 = 2 THEN (SELECT NULL FROM t) ELSE 1 END", "a subquery of a bare NULL in mysql"),
        ("SELECT ((1, k) = (k, 2)) IS NULL FROM t", "IS NULL of a comparison of rows in mysql"),
        ("SELECT 1 / 3 <=> 0.3333", "<=> of a quotient in mysql"),
        ("SELECT 1 FROM t LEFT JOIN t AS u ON u.k = 1.5", ROUNDED),
        ("SELECT 1 FROM t LEFT JOIN t AS u ON u.n IN (1.25)", ROUNDED),
        ("SELECT 1 FROM t JOIN t AS u ON t.k = 1.5e0 RIGHT JOIN t AS v ON v.k = 1", ROUNDED),
        ("SELECT 1 FROM t LEFT JOIN (SELECT k FROM t WHERE 1.5 = k) AS d ON d.k = t.k", ROUNDED),
        ("SELECT 1 FROM t LEFT JOIN t AS u ON u.k = (SELECT 1.5)", ROUNDED),
        (
            "SELECT (SELECT max((SELECT max(u.k) FROM t AS v WHERE t.k = 1)) FROM t AS u) FROM t",
            "aggregate of a column of an outer query",
        ),
        (
            "SELECT (SELECT max((SELECT max(u.k + v.k) FROM t AS v WHERE t.k = 1)) FROM t AS u) FROM t",
            "aggregate of a subquery that reads an outer query in mysql",
        ),
        ("SELECT -1.5 % 1.5 = 0", "a DECIMAL remainder of minus zero in mysql, which is less than zero"),
    ],
)
def test_refused(sql: str, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        Database(Dialect("mysql"), ["CREATE TABLE t (k INT, n DECIMAL(6, 1))"]).rows(sql)
    assert caught.value.construct == construct


def test_constants_that_a_column_can_hold_are_looked_up() -> None:
    made = Database(Dialect("mysql"), ["CREATE TABLE t (k INT, n DECIMAL(6, 1))"])
    made.fill("t", [(1, Decimal("2.5"))])
    assert made.rows("SELECT u.k FROM t LEFT JOIN t AS u ON u.k = 1.0 AND u.n = 2.50") == [(1,)]
    assert made.rows("SELECT u.k FROM t JOIN t AS u ON u.k = 1.5") == []
    outer = "SELECT u.k FROM t LEFT JOIN t AS u ON u.k = %s"
    assert made.rows(outer, [1], (Kind.INT,)) == [(1,)]
    with pytest.raises(Unsupported, match="constant of more digits"):
        made.rows(outer, [1.5], (Kind.DOUBLE,))


def test_quotients_that_only_their_hidden_digits_tell_apart_are_refused() -> None:
    made = Database(Dialect("mysql"), ["CREATE TABLE t (k INT, a INT, b INT)"])
    made.fill("t", [(1, 1, 3), (2, 2, 6), (3, 2, 3), (4, 33333, 100000)])
    alike, grouped = "SELECT DISTINCT a / b FROM t", "SELECT a / b, count(*) FROM t{} GROUP BY a / b"
    for sql in (alike, grouped.format("")):
        with pytest.raises(Unsupported, match="quotients in DISTINCT or GROUP BY"):
            made.rows(sql)
    two = [(Decimal("0.3333"),), (Decimal("0.6667"),)]
    assert sorted(made.rows(alike + " WHERE k < 4")) == two
    assert sorted(made.rows(grouped.format(" WHERE k < 4"))) == [(Decimal("0.3333"), 2), (Decimal("0.6667"), 1)]
    assert made.rows("SELECT count(DISTINCT a / b), sum(DISTINCT a / b) FROM t") == [(2, Decimal("1.0000"))]
    assert sorted(made.rows("SELECT k, rank() OVER (ORDER BY a / b) FROM t")) == [(1, 1), (2, 1), (3, 4), (4, 1)]


def test_an_upsert_that_sets_null_to_null_beside_a_default_is_refused() -> None:
    """MariaDB 10.11 counts the row once, though it is not changed."""
    made = Database(Dialect("mysql"), ["CREATE TABLE t (k INT PRIMARY KEY, a INT, b INT DEFAULT 7)"])
    made.run("INSERT INTO t VALUES (1, NULL, NULL)")
    upsert = "INSERT INTO t (k) VALUES (1) ON DUPLICATE KEY UPDATE {} = NULL"
    assert made.run(upsert.format("a")).affected == 0
    with pytest.raises(Unsupported, match="sets NULL to NULL"):
        made.run(upsert.format("b"))


def test_a_view_of_a_target_of_a_write_to_several_tables_is_refused() -> None:
    schema = ["CREATE TABLE t (k INT)", "CREATE TABLE u (k INT)", "CREATE VIEW v AS SELECT k FROM t WHERE k > 0"]
    with pytest.raises(Unsupported) as caught:
        Database(Dialect("mysql"), schema).run("DELETE x FROM t x JOIN u ON x.k = u.k WHERE 1 IN (SELECT k FROM v)")
    assert caught.value.construct == "a subquery on the table that is written to in mysql"


def test_an_update_of_two_columns_over_a_derived_table_of_its_own_is_refused() -> None:
    made = Database(Dialect("mysql"), ["CREATE TABLE t (k INT, n INT)"])
    with pytest.raises(Unsupported) as caught:
        made.run("UPDATE t SET k = 5, n = k WHERE 1 NOT IN (SELECT 2 FROM (SELECT k FROM t) d)")
    assert caught.value.construct == "a subquery on the table that is written to in mysql"
    made.run("UPDATE t SET k = 5 WHERE 1 NOT IN (SELECT 2 FROM (SELECT k FROM t) d)")


def test_what_is_like_it_is_not_refused() -> None:
    made = Database(Dialect("mysql"), [])
    assert made.rows("SELECT 1.5 % 1.5 = 0, CAST(1 AS SIGNED), CAST('xyz' AS CHAR(2)), - -3") == [(1, 1, "xy", 3)]
    assert made.rows("SELECT sum(1.5 / 4), avg(1 / 2) > 0.4") == [(Decimal("0.37500"), 1)]


def test_a_later_row_of_values_that_reads_its_target_is_refused() -> None:
    """MariaDB 10.11 shows it the rows inserted before."""
    made = Database(Dialect("mysql"), ["CREATE TABLE t (k INT)"])
    row = "(CASE WHEN 1 IN (SELECT 1 FROM (SELECT k FROM t) d) THEN 2 ELSE 3 END)"
    for verb in ("INSERT", "REPLACE"):
        with pytest.raises(Unsupported) as caught:
            made.run(f"{verb} INTO t VALUES (1), {row}")
        assert caught.value.construct == "a subquery on the table that is written to in mysql"
    made.run(f"INSERT INTO t VALUES {row}")
