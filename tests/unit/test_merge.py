"""MERGE: which rows fall under which clause, errors, guarded runs. Knows no levels."""

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
SCHEMA = ("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "CREATE TABLE s (id INT, n INT)")
ON = "MERGE INTO t USING s ON t.id = s.id"


def database() -> Database:
    db = Database(DIALECT, SCHEMA).fill("t", [(1, 10), (2, 20), (3, 30)])
    return db.fill("s", [(2, 7), (4, 8), (None, 9)])


def test_each_joined_row_falls_under_its_first_clause() -> None:
    db = database()
    sql = (
        f"{ON} WHEN MATCHED AND s.n > 90 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + s.n"
        " WHEN NOT MATCHED AND s.id IS NULL THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n)"
        " WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN DELETE"
    )
    assert (db.run(sql).affected, db.run("SELECT 1").affected) == (3, None)
    assert sorted(db.view.rows("t")) == [(2, 27), (3, 30), (4, 8)]


def test_returning_shows_the_source_first_and_both_versions() -> None:
    sql = (
        f"{ON} WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN DELETE"
        " WHEN NOT MATCHED AND s.id = 4 THEN INSERT VALUES (4, 1) RETURNING *, old.n, new.n, lower(merge_action())"
    )
    assert sorted(database().rows(sql), key=str) == [
        (2, 7, 2, 0, 20, 0, "update"),
        (4, 8, 4, 1, None, 1, "insert"),
        (None, None, 1, 10, 10, None, "delete"),
    ]


@pytest.mark.parametrize("second", ["UPDATE SET n = 1", "DELETE"])
def test_a_row_is_changed_once_at_most(second: str) -> None:
    db = database()
    sql = "MERGE INTO t USING (VALUES (1, 1), (1, 2)) AS v (i, j) ON t.id = v.i WHEN MATCHED"
    with pytest.raises(SqlError, match="21000"):
        db.run(f"{sql} THEN {second}")
    assert len(db.view.rows("t")) == 3
    assert db.run(f"{sql} AND j = 1 THEN {second}").affected == 1


@pytest.mark.parametrize(
    ("clause", "state"),
    [
        ("WHEN NOT MATCHED THEN INSERT VALUES (t.id, 1)", "42P01"),
        ("WHEN NOT MATCHED BY SOURCE AND s.n = 1 THEN DELETE", "42P01"),
        ("WHEN MATCHED THEN DELETE WHEN MATCHED AND t.n = 1 THEN DO NOTHING", "42601"),
        ("WHEN MATCHED THEN INSERT VALUES (1, 1)", "42601"),
        ("WHEN NOT MATCHED THEN DELETE", "42601"),
        ("WHEN MATCHED THEN UPDATE SET n = n", "42702"),
        ("WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2)", "42601"),
        ("WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)", "42701"),
    ],
)
def test_texts_that_postgres_refuses(clause: str, state: str) -> None:
    with pytest.raises(SqlError, match=state):
        database().run(f"{ON} {clause}")


@pytest.mark.parametrize("name", ["mysql", "sqlite", "duckdb"])
def test_other_products_are_refused(name: str) -> None:
    db = Database(Dialect(name, collation="C"), SCHEMA)
    with pytest.raises(Unsupported):
        db.run(f"{ON} WHEN MATCHED THEN DELETE")


def test_foreign_keys_are_enforced() -> None:
    db = Database(DIALECT, (*SCHEMA, "CREATE TABLE c (t INT REFERENCES t (id))")).fill("t", [(1, 1)]).fill("c", [(1,)])
    with pytest.raises(SqlError, match="23503"):
        db.run("MERGE INTO t USING c ON c.t = t.id WHEN MATCHED THEN DELETE")
    with pytest.raises(SqlError, match="23503"):
        db.run("MERGE INTO c USING t ON c.t = t.id WHEN MATCHED THEN UPDATE SET t = 9")
    assert (db.view.rows("t"), db.view.rows("c")) == ([(1, 1)], [(1,)])


@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED AND t.n > 10 THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n)",
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.n < 15 THEN UPDATE SET n = 0 RETURNING t.id, s.n",
    ],
)
def test_guarded_runs_agree_with_concrete_ones(clauses: str) -> None:
    catalog = Catalog(read_schema(SCHEMA, DIALECT))
    a, b = atom("a"), atom("b")
    rows: list[tuple[Guard, tuple[Scalar, ...]]] = [
        (TRUE, (1, choose([(a, 5), (neg(a), 15)]))),
        (b, (2, 20)),
        (neg(a), (3, 30)),
    ]
    view = GuardedMemory({"t": rows, "s": [(TRUE, (1, 6)), (a, (2, 7)), (neg(b), (9, 8))]})
    before = {choice: view.under(choice) for choice in CHOICES}
    statement = bind(f"{ON} {clauses}", None, catalog, DIALECT).statement
    outcome = compile_guarded(statement, catalog, DIALECT)(view, (), TRUE)
    for choice in CHOICES:
        memory = MemoryView(before[choice])
        expected = compile_statement(statement, catalog, DIALECT)(memory, ())
        assert evaluate(outcome.affected, choice) == expected.affected
        shown = [
            sorted(
                tuple(evaluate(value, choice) for value in row)
                for row, guard in zip(result.rows, result.guards, strict=True)
                if evaluate_guard(guard, choice)
            )
            for result in outcome.results
        ]
        assert shown == [sorted(result.rows) for result in expected.results]
        assert sorted(view.under(choice)["t"]) == sorted(memory.rows("t"))
