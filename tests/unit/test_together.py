"""Statements under WITH items that write: what each part sees, what is refused, guarded runs. Knows no levels."""

from __future__ import annotations

from itertools import product

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import compile_guarded
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.terms import TRUE, Guard, Scalar, atom, choose, evaluate, evaluate_guard, neg
from sql_semantics.values.dialect import Dialect
from tests.guarded_view import Choice, GuardedMemory
from tests.unit.running import Database

CHOICES = [Choice({"a": a, "b": b}) for a, b in product((True, False), repeat=2)]
DIALECT = Dialect("postgres", collation="C")
SCHEMA = (
    "CREATE TABLE q (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE archive (id INT PRIMARY KEY, n INT CHECK (n < 50))",
)


def database(*schema: str) -> Database:
    return Database(DIALECT, schema or SCHEMA).fill("q", [(1, 10), (2, 20), (3, 30)])


def test_rows_go_from_one_table_to_the_other() -> None:
    db = database()
    moved = db.run("WITH m AS (DELETE FROM q WHERE n > 10 RETURNING *) INSERT INTO archive SELECT * FROM m")
    assert (moved.affected, moved.results) == (2, [])
    assert (db.view.rows("q"), db.view.rows("archive")) == ([(1, 10)], [(2, 20), (3, 30)])


def test_all_parts_see_the_rows_from_before() -> None:
    db = database()
    sql = (
        "WITH d AS (DELETE FROM q WHERE id = 1 RETURNING id), i AS (INSERT INTO q SELECT 9, count(*) FROM q)"
        " SELECT (SELECT count(*) FROM q), id FROM d"
    )
    assert db.rows(sql) == [(3, 1)]
    assert sorted(db.view.rows("q")) == [(2, 20), (3, 30), (9, 3)]


def test_an_item_is_run_once_and_whole() -> None:
    db = database()
    sql = "WITH u AS (UPDATE q SET n = n + 1 RETURNING n) SELECT a.n FROM u AS a CROSS JOIN u AS b LIMIT 1"
    assert len(db.rows(sql)) == 9
    assert db.view.rows("q") == [(1, 11), (2, 21), (3, 31)]


def test_what_fails_leaves_nothing_behind() -> None:
    db = database()
    with pytest.raises(SqlError, match="23514"):
        db.run("WITH m AS (DELETE FROM q RETURNING id, n + 25 AS n) INSERT INTO archive SELECT id, n FROM m")
    assert (len(db.view.rows("q")), db.view.rows("archive")) == (3, [])


def test_planning_errors_come_whether_a_row_is_there_or_not() -> None:
    with pytest.raises(SqlError, match="22012"):
        database().run("WITH u AS (UPDATE q SET n = 1 / 0 WHERE id = 99) SELECT 1")


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SELECT * FROM (WITH d AS (DELETE FROM q RETURNING id) SELECT id FROM d) AS x", "0A000"),
        ("INSERT INTO archive WITH d AS (DELETE FROM q RETURNING *) SELECT * FROM d", "0A000"),
        ("WITH a AS (WITH b AS (DELETE FROM q RETURNING id) SELECT id FROM b) SELECT id FROM a", "0A000"),
        ("WITH d AS (DELETE FROM q) SELECT * FROM d", "0A000"),
        ("WITH d (a, b, c) AS (DELETE FROM q RETURNING *) SELECT * FROM d", "42P10"),
        ("WITH d AS (DELETE FROM q RETURNING nosuch) SELECT * FROM d", "42703"),
        ("WITH d AS (SELECT 1), d AS (DELETE FROM q) SELECT 1", "42712"),
    ],
)
def test_texts_that_postgres_refuses(sql: str, state: str) -> None:
    with pytest.raises(SqlError, match=state):
        database().run(sql)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("WITH u AS (UPDATE q SET n = 1), d AS (DELETE FROM q WHERE id = 1) SELECT 1", "a row that two parts"),
        ("WITH d AS (DELETE FROM q WHERE id = 1) INSERT INTO q VALUES (1, 1) ON CONFLICT DO NOTHING", "a key in a"),
        ("WITH i AS (INSERT INTO q VALUES (7, 1)) INSERT INTO q VALUES (7, 2) ON CONFLICT DO NOTHING", "a key in a"),
        ("WITH u AS (UPDATE q SET n = 1) SELECT id FROM q FOR UPDATE", "a locking read beside"),
        ("WITH RECURSIVE q AS (DELETE FROM q RETURNING id) SELECT id FROM q", "under RECURSIVE"),
    ],
)
def test_what_hangs_on_the_order_of_the_parts_is_refused(sql: str, what: str) -> None:
    db = database()
    with pytest.raises(Unsupported, match=what):
        db.run(sql)
    assert db.view.rows("q") == [(1, 10), (2, 20), (3, 30)]


def test_other_keys_of_a_conflict_clause_are_no_matter() -> None:
    db = database()
    sql = (
        "WITH d AS (DELETE FROM q WHERE id = 1) INSERT INTO q VALUES (2, 9) ON CONFLICT (id) DO UPDATE SET n = q.n + 1"
    )
    assert db.run(sql).affected == 1
    assert db.view.rows("q") == [(2, 21), (3, 30)]


def test_foreign_keys_are_checked_when_all_parts_are_over() -> None:
    db = database("CREATE TABLE q (id INT PRIMARY KEY, n INT)", "CREATE TABLE c (q INT REFERENCES q (id))")
    db.fill("c", [(1,), (1,)])
    with pytest.raises(SqlError, match="23503"):
        db.run("WITH d AS (DELETE FROM q WHERE id = 1) SELECT 1")
    assert len(db.view.rows("q")) == 3
    db.run("WITH d AS (DELETE FROM q WHERE id = 1 RETURNING id) DELETE FROM c USING d WHERE c.q = d.id")
    assert (len(db.view.rows("q")), db.view.rows("c")) == (2, [])


def test_foreign_keys_that_act_are_refused_beside_another_write() -> None:
    child = "CREATE TABLE c (q INT REFERENCES q (id) ON DELETE CASCADE)"
    db = database("CREATE TABLE q (id INT PRIMARY KEY, n INT)", child)
    with pytest.raises(Unsupported, match="a foreign key that acts on other rows"):
        db.run("WITH d AS (DELETE FROM q RETURNING id) INSERT INTO c SELECT id FROM d")
    db.fill("c", [(1,), (2,)]).run("WITH d AS (DELETE FROM q WHERE id = 1 RETURNING id) SELECT id FROM d")
    assert db.view.rows("c") == [(2,)]


@pytest.mark.parametrize("name", ["mysql", "sqlite", "duckdb"])
def test_other_products_have_none(name: str) -> None:
    db = Database(Dialect(name, collation="C"), ["CREATE TABLE q (id INT PRIMARY KEY, n INT)"])
    with pytest.raises(Unsupported):
        db.run("WITH d AS (DELETE FROM q RETURNING id) SELECT id FROM d")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH m AS (DELETE FROM q WHERE n > 10 RETURNING *) INSERT INTO archive SELECT * FROM m",
        "WITH m AS (UPDATE q SET n = n + 1 WHERE id < 3 RETURNING id, n) SELECT sum(m.n), count(q.id) FROM m FULL"
        " JOIN q ON m.id = q.id",
        "WITH i AS (INSERT INTO q VALUES (2, 7), (5, 7) ON CONFLICT DO NOTHING RETURNING id), d AS (DELETE FROM archive"
        " RETURNING id) SELECT i.id FROM i",
    ],
)
def test_guarded_runs_agree_with_concrete_ones(sql: str) -> None:
    catalog = Catalog(read_schema(SCHEMA, DIALECT))
    a, b = atom("a"), atom("b")
    rows: list[tuple[Guard, tuple[Scalar, ...]]] = [
        (TRUE, (1, choose([(a, 5), (neg(a), 15)]))),
        (b, (2, 20)),
        (neg(a), (3, 30)),
    ]
    view = GuardedMemory({"q": rows, "archive": [(a, (9, 9))]})
    before = {choice: view.under(choice) for choice in CHOICES}
    statement = bind(sql, None, catalog, DIALECT).statement
    outcome = compile_guarded(statement, catalog, DIALECT)(view, (), TRUE)
    for choice in CHOICES:
        memory = MemoryView(before[choice])
        expected = compile_statement(statement, catalog, DIALECT)(memory, ())
        assert not any(evaluate_guard(guard, choice) for guard, _ in outcome.errors)
        shown = [
            [
                tuple(evaluate(value, choice) for value in row)
                for row, guard in zip(result.rows, result.guards, strict=True)
                if evaluate_guard(guard, choice)
            ]
            for result in outcome.results
        ]
        assert [sorted(rows) for rows in shown] == [sorted(result.rows) for result in expected.results]
        for table in ("q", "archive"):
            assert sorted(view.under(choice)[table]) == sorted(memory.rows(table))
