"""An engine of the product is asked what a statement answers (`troubadour.record.asking`), in words of our own."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.rendering import render_row, render_statement, render_table
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import ObservedRows, Statement, Transaction
from troubadour.model.verdict import Claim
from troubadour.record.asking import answers_so
from troubadour.record.errors import RecordError

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"


ROWS = ((1, 2), (2, 3))


def ask(dialect: str, *statements: Statement, schema: str = TABLE, rows: tuple[tuple[int, int], ...] = ROWS) -> object:
    library = SqlLibrary(Dialect(dialect), [schema])
    transaction = Transaction("x", "committed", statements, 0)
    claim = Claim("x", len(statements) - 1, ({"t": ()}, {"t": rows}))
    return answers_so(claim, transaction, library)


def shows(sql: str, *rows: tuple[object, ...], params: tuple[object, ...] | None = None) -> Statement:
    return Statement(sql, params, (ObservedRows(tuple("c" * len(rows[0])), rows),))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_it_answers_for_the_product(dialect: str) -> None:
    assert ask(dialect, shows("SELECT sum(v) FROM t", (5,))) is True
    assert ask(dialect, shows("SELECT sum(v) FROM t", (6,))) is False
    assert ask(dialect, shows("SELECT id FROM t WHERE v >= $1", (2,), (1,), params=(2,))) is True
    assert ask(dialect, shows("SELECT id FROM t ORDER BY id", (2,), (1,))) is False
    add = Statement("UPDATE t SET v = v + $1 WHERE id = $2", (10, 1), affected=1)
    assert ask(dialect, add, shows("SELECT v FROM t WHERE id = 1", (12,))) is True
    assert ask(dialect, add, shows("SELECT v FROM t WHERE id = 1", (2,))) is False


def test_what_cannot_be_asked_is_no_opinion() -> None:
    default = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 3)"
    insert = Statement("INSERT INTO t (id) VALUES (7)", affected=1)
    assert ask("sqlite", insert, shows("SELECT v FROM t WHERE id = 7", (3,)), schema=default) is None
    assert ask("sqlite", shows("SELECT v FROM t WHERE id = 1", (2,)), schema=default) is True
    with pytest.raises(RecordError, match="ask-dsn"):
        ask("mysql", shows("SELECT v FROM t WHERE id = 1", (2,)))


def test_statements_are_rendered_anew() -> None:
    postgres = Dialect("postgres")
    rendered = render_statement("SELECT v -- and this\nFROM t WHERE w = $1 AND v > $2", ("it's", -1), postgres)
    assert rendered == "SELECT v FROM t WHERE w = 'it''s' AND v > (-1)"
    named = render_statement("SELECT v FROM t WHERE v = :x", {"x": None}, postgres)
    assert named == "SELECT v FROM t WHERE v = NULL"
    locking = render_statement("SELECT v FROM t WHERE w = %s LOCK IN SHARE MODE", (1,), Dialect("mysql"))
    assert locking == "SELECT v FROM t WHERE w = 1 LOCK IN SHARE MODE"
    with pytest.raises(Unsupported):
        render_statement("SELECT $1", ([1],), postgres)
    schema = 'CREATE TABLE "T" (a NUMERIC(5,2) NOT NULL, b VARCHAR(3), UNIQUE (b))'
    table = SqlLibrary(postgres, [schema]).catalog.tables["T"]
    assert (
        render_table(table, postgres) == 'CREATE TABLE "T" ("a" numeric(5, 2) NOT NULL, "b" varchar(3), UNIQUE ("b"))'
    )
    assert render_row(table, (None, "x'y"), postgres) == "INSERT INTO \"T\" VALUES (NULL, 'x''y')"
