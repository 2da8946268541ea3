"""Values that the DBMS chooses, in the concrete runtime: what is tied to what, per dialect."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value

ORDERS = {
    "postgres": "CREATE TABLE o (id SERIAL PRIMARY KEY, a INT)",
    "mysql": "CREATE TABLE o (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
}
LINES = "CREATE TABLE l (o INT, b INT)"


class Session:
    """One transaction's statements on empty tables."""

    def __init__(self, dialect: str, *procedures: str, choose: Any = None) -> None:
        self.library = SqlLibrary(Dialect(dialect), [ORDERS[dialect], LINES], procedures)
        self.view = MemoryView({}, choose)

    def rows(self, sql: str) -> list[tuple[Value, ...]]:
        results = self.library.program(sql).run(self.view, ()).results
        return results[-1].rows if results else []


def test_sequences() -> None:
    session = Session("postgres")
    assert session.rows("INSERT INTO o (a) VALUES (1), (2) RETURNING id") == [(1,), (2,)]
    assert session.rows("SELECT currval('o_id_seq'), lastval(), nextval('other'), lastval()") == [(2, 2, 1, 1)]
    assert session.rows("INSERT INTO o VALUES (7, 3) RETURNING id") == [(7,)]
    assert session.rows("SELECT currval('public.O_ID_SEQ'::regclass)") == [(2,)]
    with pytest.raises(SqlError) as caught:
        session.rows("INSERT INTO o VALUES (NULL, 3)")
    assert caught.value.sqlstate == "23502"


def test_last_insert_id_is_the_first_of_the_last_insert() -> None:
    session = Session("mysql")
    session.rows("INSERT INTO o (a) VALUES (1)")
    session.rows("INSERT INTO o VALUES (0, 2), (NULL, 3), (9, 4)")
    assert session.rows("SELECT LAST_INSERT_ID(), id FROM o WHERE a = 3") == [(2, 3)]
    session.rows("INSERT INTO l VALUES (LAST_INSERT_ID(), 1)")
    session.rows("INSERT INTO o (a) VALUES (LAST_INSERT_ID())")
    assert session.rows("SELECT a FROM o WHERE id = LAST_INSERT_ID()") == [(2,)]
    assert session.rows("SELECT o FROM l") == [(2,)]


def test_in_procedures() -> None:
    mysql = Session(
        "mysql",
        "CREATE PROCEDURE p(x INT) BEGIN DECLARE n INT; INSERT INTO o (a) VALUES (x); SET n = LAST_INSERT_ID();"
        " INSERT INTO l VALUES (n, x); END",
    )
    mysql.rows("CALL p(5)")
    mysql.rows("CALL p(6)")
    assert mysql.rows("SELECT o, b FROM l") == [(1, 5), (2, 6)]
    postgres = Session(
        "postgres",
        "CREATE PROCEDURE p(x INT) LANGUAGE plpgsql AS $$ DECLARE n INT; BEGIN n := nextval('o_id_seq');"
        " INSERT INTO o VALUES (n, x); INSERT INTO o (a) VALUES (x) RETURNING id INTO n; INSERT INTO l VALUES (n, x);"
        " END $$",
    )
    postgres.rows("CALL p(5)")
    assert postgres.rows("SELECT id, b FROM o, l") == [(1, 5), (2, 5)]


@pytest.mark.parametrize(
    ("dialect", "sql", "drawn"),
    [
        ("postgres", "SELECT now(), CURRENT_TIMESTAMP, transaction_timestamp()", 1),
        ("postgres", "SELECT clock_timestamp(), clock_timestamp(), random()", 3),
        ("postgres", "SELECT statement_timestamp(), statement_timestamp(), now()", 2),
        ("mysql", "SELECT NOW(), CURRENT_TIMESTAMP(), LOCALTIME()", 1),
        ("mysql", "SELECT SYSDATE(), RAND(), RAND()", 3),
    ],
)
def test_moments_that_are_one(dialect: str, sql: str, drawn: int) -> None:
    asked: list[str] = []

    def choose(source: str, name: str, type: SqlType) -> Value:
        asked.append(source)
        return 0.5 if source == "random" else datetime(2026, 1, len(asked), tzinfo=UTC)

    session = Session(dialect, choose=choose)
    session.rows(sql)
    assert len(asked) == drawn
    session.rows(sql)
    assert len(asked) == 2 * drawn - ("now" in asked)


@pytest.mark.parametrize("text", ["UPDATE o SET id = 5", "INSERT INTO o VALUES (5, 1)"])
def test_generated_always_takes_no_value(text: str) -> None:
    library = SqlLibrary(Dialect("postgres"), ["CREATE TABLE o (id INT GENERATED ALWAYS AS IDENTITY, a INT)"])
    with pytest.raises(SqlError) as caught:
        library.program(text)
    assert caught.value.sqlstate == "428C9"
    assert library.program("UPDATE o SET id = DEFAULT")
