"""Which errors a statement can raise at all, by its text, by the routines that it calls, and by the schema."""

from __future__ import annotations

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.execution.observations.raising import may_raise

SCHEMA = (
    "CREATE TABLE users (id INT PRIMARY KEY, state TEXT, v INT)",
    "CREATE TABLE members (id INT PRIMARY KEY, user_id INT REFERENCES users (id) ON DELETE SET NULL)",
)
ROUTINES = (
    "CREATE FUNCTION total(w int) RETURNS int LANGUAGE sql STABLE AS 'SELECT sum(v)::int FROM users WHERE id > w'",
    "CREATE FUNCTION ratio(w int) RETURNS int LANGUAGE sql STABLE AS 'SELECT sum(v)::int / w FROM users'",
    "CREATE FUNCTION twice(w int) RETURNS int LANGUAGE sql STABLE AS 'SELECT ratio(w) + total(w)'",
    "CREATE FUNCTION told(w int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF w > 1 THEN RAISE division_by_zero; END IF;"
    " RETURN 1; END $$",
    "CREATE FUNCTION added(w int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO users VALUES (w); RETURN w; END"
    " $$",
    "CREATE FUNCTION set_v(w int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN UPDATE users SET v = v + 1"
    " WHERE id = w RETURNING v INTO n; IF n > 3 THEN n := 3; END IF; RETURN n; END $$",
    "CREATE FUNCTION sure(w int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF w > 1 THEN RAISE EXCEPTION 'x' USING"
    " ERRCODE = 'unique_violation'; END IF; RETURN 1; END $$",
    "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := 10 / NEW.v; RETURN NEW; END $$",
    "CREATE FUNCTION h() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
)
DIVIDED, KEY = "22012", "23505"


@pytest.mark.parametrize(
    ("sql", "state", "expected"),
    [
        ("DELETE FROM members USING users WHERE users.id = members.user_id", DIVIDED, False),
        ("DELETE FROM members USING users WHERE users.id = members.user_id", KEY, False),
        ("DELETE FROM members USING users WHERE users.id = 7 / members.user_id", DIVIDED, True),
        ("UPDATE users SET v = s.b FROM (VALUES (1, 2)) AS s(a, b) WHERE s.a = id", DIVIDED, False),
        ("UPDATE users SET v = s.b % s.a FROM (VALUES (1, 2)) AS s(a, b) WHERE s.a = id", DIVIDED, True),
        ("UPDATE users SET id = s.b FROM (VALUES (1, 2)) AS s(a, b) WHERE s.a = id", KEY, True),
        ("WITH d AS (DELETE FROM members RETURNING user_id) SELECT count(*) FROM d", DIVIDED, False),
        ("WITH d AS (DELETE FROM members RETURNING 1 / user_id AS x) SELECT count(*) FROM d", DIVIDED, True),
        ("WITH d AS (INSERT INTO users VALUES (1) RETURNING id) SELECT count(*) FROM d", KEY, True),
        ("SELECT total(1)", DIVIDED, False),
        ("SELECT total(1)", KEY, False),
        ("SELECT ratio(0)", DIVIDED, True),
        ("SELECT twice(0)", DIVIDED, True),
        ("SELECT told(2)", DIVIDED, True),
        ("SELECT told(2)", KEY, False),
        ("SELECT sure(2)", KEY, True),
        ("SELECT sure(2)", DIVIDED, False),
        ("SELECT added(2)", DIVIDED, False),
        ("SELECT added(2)", KEY, True),
        ("SELECT set_v(2)", DIVIDED, False),
        ("SELECT set_v(2)", KEY, False),
        ("SELECT set_v(2)", "22003", True),
    ],
)
def test_what_is_executed(sql: str, state: str, expected: bool) -> None:
    library = SqlLibrary(Dialect("postgres", collation="C"), SCHEMA, ROUTINES)
    assert may_raise(library.program(sql).statement, library.catalog, state) is expected


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("CREATE INDEX i ON users (v)", False),
        ("CREATE TRIGGER x BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION g()", True),
        ("CREATE TRIGGER x BEFORE UPDATE ON users FOR EACH ROW WHEN (10 / NEW.v > 1) EXECUTE FUNCTION h()", True),
        ("ALTER TABLE users ADD CONSTRAINT c CHECK (10 / v > 1)", True),
        ("ALTER TABLE users ADD COLUMN x INT GENERATED ALWAYS AS (10 / v) STORED", True),
    ],
)
@pytest.mark.parametrize("sql", ["UPDATE users SET v = 0", "SELECT set_v(1)"])
def test_what_the_schema_computes(definition: str, expected: bool, sql: str) -> None:
    library = SqlLibrary(Dialect("postgres", collation="C"), [*SCHEMA, definition], ROUTINES)
    assert may_raise(library.program(sql).statement, library.catalog, DIVIDED) is expected


@pytest.mark.parametrize(
    ("index", "fails"),
    [
        ("(v)", False),
        ("(v DESC NULLS LAST, state)", False),
        ("(lower(state) text_pattern_ops)", False),
        ('(state COLLATE "C") WHERE v > 1', False),
        ("((10 / v))", True),
        ("(((state)::int))", True),
        ("(v) WHERE 10 / v > 1", True),
        ("USING gin (to_tsvector('english', state))", True),
    ],
)
def test_an_index_refuses_rows_that_its_expression_fails_on(index: str, fails: bool) -> None:
    library = SqlLibrary(Dialect("postgres", collation="C"), [*SCHEMA, f"CREATE INDEX i ON users {index}"])
    assert bool(library.catalog.tables["users"].refusing) is fails


@pytest.mark.parametrize(("index", "fails"), [("((v + 1))", False), ("((10 / v))", False), ("(abs(v))", True)])
def test_arithmetic_of_sqlite_refuses_no_row(index: str, fails: bool) -> None:
    library = SqlLibrary(Dialect("sqlite"), ["CREATE TABLE t (v INT, state TEXT)", f"CREATE INDEX i ON t {index}"])
    assert bool(library.catalog.tables["t"].refusing) is fails
