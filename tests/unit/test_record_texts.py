"""What a recorder reads off a statement's text."""

from __future__ import annotations

import pytest

from troubadour.record.texts import Verb, read_text


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
    assert read_text(sql).verb is verb


def test_levels_and_calls() -> None:
    begun = read_text("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    assert (begun.level, begun.read_only) == ("REPEATABLE READ", True)
    assert read_text("SELECT Withdraw(1, 2), n FROM t WHERE lower(x) = 'f(y)'").calls == {"withdraw", "lower"}
