"""Joins that the written order makes products of: the rows are SQLite's, and they come soon."""

from __future__ import annotations

import sqlite3
from collections import Counter

import pytest

from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import compile_guarded
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.plan.arrangement import arrange
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.terms import TRUE, atom, evaluate_guard
from sql_semantics.values.dialect import Dialect
from tests.guarded_view import Choice, GuardedMemory

SQLITE = Dialect("sqlite")
COUNT = 14
SCHEMA = [f"CREATE TABLE t{i} (a{i} INTEGER PRIMARY KEY, b{i} INTEGER, x{i} TEXT)" for i in range(COUNT)]
CATALOG = Catalog(read_schema(SCHEMA, SQLITE))
TABLES = {
    f"t{i}": [(key, (key * 3 + i) % 11 or None, f"row {key} of {i}") for key in range(1, 11)] for i in range(COUNT)
}
CHAIN = " AND ".join(f"b{i} = a{i + 1}" for i in range(COUNT - 1))
ODD_FIRST = ", ".join(f"t{i}" for i in [*range(1, COUNT, 2), *range(0, COUNT, 2)])
STATEMENTS = [
    f"SELECT x0, x{COUNT - 1} FROM {ODD_FIRST} WHERE {CHAIN} AND b0 IS NOT NULL AND a0 > 0",
    f"SELECT * FROM {ODD_FIRST} WHERE {CHAIN} AND a{COUNT - 1} > 0",
    "SELECT a0, b2, x1 FROM t0 CROSS JOIN t2 JOIN t1 ON b0 = a1 AND b1 = a2",
    "SELECT a0, b2, x1 FROM t0 JOIN t2 ON a2 > 2 JOIN t1 ON b0 = a1 WHERE b1 = a2 AND a0 / b2 < 5",
    "SELECT a0, a2 FROM t0, t2, t1 WHERE b0 = a1 AND b1 = a2 AND EXISTS (SELECT 1 FROM t3 WHERE b3 > a0)",
    "SELECT a0, a2, y FROM t0, (SELECT a4 AS y FROM t4 WHERE b4 > 2) AS d, t2 WHERE b0 = a2 AND b2 = y",
    "SELECT t0.a0, b.a0, t1.a1 FROM t0, t0 AS b, t1 WHERE t0.b0 = a1 AND b1 = b.b0",
    "SELECT count(*), sum(b2) FROM t0, t2, t1 WHERE a1 = b0 AND a2 = b1",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_rows(sql: str) -> None:
    connection = sqlite3.connect(":memory:")
    for ddl, (table, rows) in zip(SCHEMA, TABLES.items(), strict=True):
        connection.execute(ddl)
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
    statement = bind(sql, None, CATALOG, SQLITE).statement
    assert isinstance(statement, Select)
    assert arrange(statement.sources, statement.where, SQLITE) is not None
    outcome = compile_statement(statement, CATALOG, SQLITE)(MemoryView(TABLES), ())
    wanted = Counter(connection.execute(sql).fetchall())
    connection.close()
    assert wanted
    assert Counter(outcome.results[0].rows) == wanted


@pytest.mark.parametrize("sql", STATEMENTS[2:4])
def test_guarded_rows(sql: str) -> None:
    first = atom("first")
    tables = {name: [(TRUE, row) for row in rows] for name, rows in TABLES.items()}
    tables["t1"] = [(first if row[0] < 6 else guard, row) for guard, row in tables["t1"]]
    statement = bind(sql, None, CATALOG, SQLITE).statement
    (guarded,) = compile_guarded(statement, CATALOG, SQLITE)(GuardedMemory(tables), (), TRUE).results
    counts = []
    for truth in (True, False):
        choice = Choice({"first": truth}, {})
        kept = [row for row, guard in zip(guarded.rows, guarded.guards, strict=True) if evaluate_guard(guard, choice)]
        there = {**TABLES, "t1": [row for row in TABLES["t1"] if truth or row[0] >= 6]}
        assert Counter(kept) == Counter(
            compile_statement(statement, CATALOG, SQLITE)(MemoryView(there), ()).results[0].rows
        )
        counts.append(len(kept))
    assert counts[0] > counts[1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM t0, t1, t2 WHERE b0 = a1 AND b1 = a2",
        "SELECT 1 FROM t0, t2, t1",
        "SELECT 1 FROM t0 CROSS JOIN t2 LEFT JOIN t1 ON b0 = a1 AND b1 = a2",
        "SELECT 1 FROM t0 JOIN t2 ON a2 / a0 = 1 JOIN t1 ON b0 = a1 AND b1 = a2",
    ],
)
def test_the_written_order_stays(sql: str) -> None:
    statement = bind(sql, None, CATALOG, SQLITE).statement
    assert isinstance(statement, Select)
    assert arrange(statement.sources, statement.where, SQLITE) is None
