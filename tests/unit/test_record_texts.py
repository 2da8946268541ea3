"""What a recorder reads off a statement's text."""

from __future__ import annotations

import pytest

from troubadour.record.statements.texts import Verb, end_of_failed, read_text


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("SELECT 1", Verb.READ),
        ("  -- hello\n /* more */ select 1 ;  ", Verb.READ),
        ("(SELECT 1) UNION (SELECT 2)", Verb.READ),
        ("SELECT * INTO t FROM u", Verb.WRITE),
        ("SELECT 'into; it', \"a;b\", $x$ ; $x$ FROM t", Verb.READ),
        ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", Verb.WRITE),
        ("UPDATE t SET n = ';'", Verb.WRITE),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END", Verb.WRITE),
        ("EXPLAIN SELECT 1", Verb.READ),
        ("EXPLAIN ANALYZE DELETE FROM t", Verb.WRITE),
        ("SAVEPOINT a", Verb.SAVEPOINT),
        ("ROLLBACK TO SAVEPOINT a", Verb.SAVEPOINT),
        ("rollback work to a", Verb.SAVEPOINT),
        ("ROLLBACK", Verb.ROLLBACK),
        ("ABORT", Verb.ROLLBACK),
        ("END", Verb.COMMIT),
        ("COMMIT AND NO CHAIN", Verb.COMMIT),
        ("COMMIT AND CHAIN", Verb.REFUSED),
        ("COMMIT PREPARED 'x'", Verb.REFUSED),
        ("PREPARE TRANSACTION 'x'", Verb.PREPARED),
        ("BEGIN IMMEDIATE", Verb.BEGIN),
        ("START TRANSACTION READ ONLY", Verb.BEGIN),
        ("BEGIN; DELETE FROM t; COMMIT", Verb.REFUSED),
        ("DELETE FROM t; DELETE FROM u", Verb.REFUSED),
        ("COPY t FROM STDIN", Verb.REFUSED),
        ("SET statement_timeout = 5", Verb.NEUTRAL),
        ("SET LOCAL lock_timeout TO '1s'", Verb.NEUTRAL),
        ("SET search_path TO x", Verb.READ),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", Verb.CHARACTERIZE),
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", Verb.DEFAULT),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", Verb.DEFAULT),
        ("SELECT relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON true", Verb.NEUTRAL),
        ("SELECT 1 FROM pg_catalog.pg_class, accounts", Verb.READ),
        ("SELECT 1 FROM accounts WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_class)", Verb.READ),
        ("SELECT name FROM sqlite_master WHERE type = 'table'", Verb.NEUTRAL),
        ('PRAGMA main.table_info("t")', Verb.NEUTRAL),
        ("PRAGMA read_uncommitted = 0", Verb.NEUTRAL),
        ("PRAGMA read_uncommitted = 1", Verb.READ),
        ("PRAGMA foreign_keys = ON", Verb.READ),
    ],
)
def test_verbs(sql: str, verb: Verb) -> None:
    dialect = "sqlite" if "PRAGMA" in sql or "sqlite_master" in sql else "postgres"
    assert read_text(sql, dialect).verb is verb


@pytest.mark.parametrize(
    ("dialect", "sql", "verb"),
    [
        ("postgres", "SELECT a #> '{x}' FROM t; DELETE FROM t", Verb.REFUSED),
        ("postgres", "SELECT 5 # 3, f(1) FROM t", Verb.READ),
        ("postgres", "SELECT f() FROM pg_class", Verb.READ),
        ("postgres", "SELECT (c).f FROM pg_class c", Verb.READ),
        ("postgres", "SELECT relname ~~~ 'x' FROM pg_class", Verb.READ),
        ("postgres", "SELECT relname::mood FROM pg_class", Verb.READ),
        ("postgres", "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_attribute a", Verb.NEUTRAL),
        ("postgres", "SELECT count(*) FROM pg_class WHERE relname = 'x'", Verb.NEUTRAL),
        ("postgres", "SELECT version()", Verb.NEUTRAL),
        ("postgres", "SELECT version()::mood", Verb.READ),
        ("postgres", "/* a /* nested */ DELETE FROM t */ SELECT 1", Verb.READ),
        ("postgres", "SELECT $a$ ; $b$ ; $a$", Verb.READ),
        ("postgres", "SET transaction_read_only = off", Verb.REFUSED),
        ("mysql", "/*!50000 UPDATE */ t SET n = 1", Verb.WRITE),
        ("mysql", "/*!50000 UPDATE t SET n = 1 */", Verb.WRITE),
        ("mysql", "/*M! UPDATE t SET n = 1 */", Verb.WRITE),
        ("mysql", "/* UPDATE t SET n = 1 */", Verb.NEUTRAL),
        ("mysql", "# a comment; with one\nUPDATE t SET n = 1", Verb.WRITE),
        ("mysql", "SELECT 1--1; DELETE FROM t", Verb.REFUSED),
        ("mysql", "SELECT 'a\\'; b'", Verb.READ),
        ("mysql", 'SELECT "a; b"', Verb.READ),
        ("mysql", "SET @x = f()", Verb.READ),
        ("mysql", "SET wait_timeout = f()", Verb.READ),
        ("mysql", "SET wait_timeout = 5", Verb.NEUTRAL),
        ("mysql", "ANALYZE UPDATE t SET n = 1", Verb.WRITE),
        ("mysql", "SELECT @@session.tx_isolation AS x, @@version", Verb.NEUTRAL),
        ("sqlite", "SELECT [a; b] FROM t", Verb.READ),
        ("sqlite", "-- x\nWITH c AS (SELECT 1) INSERT INTO t SELECT * FROM c", Verb.WRITE),
    ],
)
def test_each_product_has_its_own_tokens(dialect: str, sql: str, verb: Verb) -> None:
    assert read_text(sql, dialect).verb is verb


@pytest.mark.parametrize(
    ("dialect", "sql", "harmless"),
    [
        ("postgres", "SELECT 1", True),
        ("postgres", "SELECT $1, 'x' AS y", True),
        ("postgres", "SELECT n FROM v", False),
        ("postgres", "SELECT nextval('s')", False),
        ("postgres", "SELECT 1 ### 2", False),
        ("postgres", "SELECT $1::mood", False),
        ("postgres", "TABLE v", False),
        ("postgres", "SET search_path TO x", True),
        ("mysql", "SELECT n FROM t", False),
        ("mysql", "SELECT NEXT VALUE FOR s", False),
        ("mysql", "SET @x = NEXT VALUE FOR s", False),
        ("mysql", "SELECT 1, 'x' AS y, NULL", True),
        ("mysql", "SET @x = f()", False),
        ("mysql", "SET @x = 5", True),
        ("duckdb", "SELECT n FROM t", False),
        ("duckdb", "SELECT 1", True),
        ("sqlite", "SELECT f(n) FROM v WHERE a = ?", True),
        ("sqlite", "WITH c AS (SELECT 1) SELECT * FROM c", True),
        ("sqlite", "WITH c AS (SELECT 1) DELETE FROM t", False),
        ("sqlite", "SELECT optimize(t) FROM t", False),
        ("sqlite", "INSERT INTO t VALUES (1) RETURNING n", False),
    ],
)
def test_what_certainly_writes_nothing(dialect: str, sql: str, harmless: bool) -> None:
    assert read_text(sql, dialect).harmless is harmless


def test_levels_and_calls() -> None:
    begun = read_text("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "postgres")
    assert (begun.level, begun.read_only) == ("REPEATABLE READ", True)
    assert read_text("SELECT Withdraw(1, 2), n FROM t WHERE lower(x) = 'f(y)'", "postgres").calls == {
        "withdraw",
        "lower",
    }


@pytest.mark.parametrize(
    ("word", "dialect", "end"),
    [("CALL", "mysql", "committed"), ("CALL", "postgres", "aborted"), ("INSERT", "mysql", "aborted")],
)
def test_what_became_of_a_statement_that_failed_by_itself(word: str, dialect: str, end: str) -> None:
    assert end_of_failed(word, dialect) == end
