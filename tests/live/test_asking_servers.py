"""PostgreSQL and MariaDB are asked what a statement answers (`troubadour.record.asking`)."""

from __future__ import annotations

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import ObservedError, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Claim
from troubadour.record.asking import answers_so

SCHEMA = ["CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n DECIMAL(9,2))"]
ROWS = {"t": ((1, "a", None), (2, "b\\'c", None))}


def asked(dialect: str, dsn: str | None, *statements: Statement) -> bool | None:
    claim = Claim("x", len(statements) - 1, (ROWS,))
    return answers_so(claim, Transaction("x", "committed", statements, 0), SqlLibrary(Dialect(dialect), SCHEMA), dsn)


def shows(sql: str, value: object, params: tuple[object, ...] | None = None) -> Statement:
    return Statement(sql, params, (ObservedRows(("c",), ((value,),)),))


def test_postgres_is_asked() -> None:
    change = Statement("UPDATE t SET n = $1 WHERE v = $2", ("1.50", "b\\'c"), affected=1)
    assert asked("postgres", None, change, shows("SELECT n FROM t WHERE id = 2", "1.50")) is True
    assert asked("postgres", None, change, shows("SELECT n FROM t WHERE id = 2", "1.51")) is False
    taken = Statement("INSERT INTO t VALUES (1, 'x', 1)", error=ObservedError("23505"))
    assert asked("postgres", None, taken) is True


def test_mariadb_is_asked(mariadb_dsn: str) -> None:
    change = Statement("UPDATE t SET n = ? WHERE v = ?", ("1.50", "b\\'c"), affected=1)
    assert asked("mysql", mariadb_dsn, change, shows("SELECT n FROM t WHERE id = 2", "1.50")) is True
    assert asked("mysql", mariadb_dsn, change, shows("SELECT n FROM t WHERE id = 1", "1.50")) is False
