"""Initial rows and prepared statements: conversion by type, and errors that name their place."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import INT, TEXT
from troubadour.execution.initial.rows import initial_state
from troubadour.execution.prepared import Preparations, UnsupportedStatement, prepare, result_types
from troubadour.model.log import (
    Header,
    InitialTable,
    Log,
    LogError,
    ObservedError,
    ObservedRows,
    Statement,
    Transaction,
)

SCHEMA = (
    "CREATE TABLE a (id INT PRIMARY KEY, m NUMERIC(6,2) DEFAULT 1.5, c CHAR(4), n TEXT NOT NULL DEFAULT 'x')",
    "CREATE TABLE empty (id INT)",
)
PROCEDURES = (
    "CREATE PROCEDURE Two(IN k INT) BEGIN SELECT id FROM a WHERE id = @k; SELECT n FROM a; END;",
    "CREATE PROCEDURE Maybe(IN k INT) BEGIN IF @k > 0 THEN SELECT id FROM a; END IF; END;",
)


@pytest.fixture(scope="module")
def library() -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation="C"), SCHEMA, PROCEDURES)


def log_with(*tables: InitialTable) -> Log:
    return Log(Header("postgres", SCHEMA, initial=tables), [], "digest")


def one(sql: str, **fields: Any) -> Transaction:
    status = fields.pop("status", "committed")
    return Transaction("t", status, (Statement("SELECT id FROM empty"), Statement(sql, **fields)), 0)


def test_initial_rows_are_converted_and_filled(library: SqlLibrary) -> None:
    state = initial_state(log_with(InitialTable("a", ("c", "id"), [("ab  ", "7"), (None, 8)])), library)
    assert state == {"a": [(7, Decimal("1.50"), "ab", "x"), (8, Decimal("1.50"), None, "x")], "empty": []}
    assert str(state["a"][0][1]) == "1.50"


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (InitialTable("b", None, []), "no such table"),
        (InitialTable("a", ("id", "z"), []), "no column 'z'"),
        (InitialTable("a", ("id", "id"), []), "given twice"),
        (InitialTable("a", ("id",), [("x",)]), "row 1: 'x' does not fit"),
        (InitialTable("a", ("id",), [(1, 2)]), "2 values for 1 columns"),
        (InitialTable("a", ("n",), [("x",)]), "NULL in column 'id'"),
        (InitialTable("a", ("id", "n"), [(1, None)]), "NULL in column 'n'"),
        (InitialTable("a", ("id",), [(1,), (2,), (1,)]), r"row 3: key \(1\)"),
        (InitialTable("a", ("id", "m"), [(1, "1.234")]), "row 1: "),
    ],
)
def test_initial_rows_that_cannot_be(library: SqlLibrary, table: InitialTable, error: str) -> None:
    with pytest.raises(LogError, match=error):
        initial_state(log_with(table), library)


def test_arguments_take_the_types_of_their_places(library: SqlLibrary) -> None:
    (_, prepared) = prepare(one("SELECT id FROM a WHERE m = $1", params=("2.5",)), library).statements
    assert prepared.program is not None
    (argument,) = prepared.arguments
    assert argument == Decimal("2.5")
    assert isinstance(argument, Decimal)


def test_result_types_are_known_unless_a_call_branches(library: SqlLibrary) -> None:
    def types(sql: str) -> object:
        return result_types(library.program(sql).statement, library.catalog)

    assert types("SELECT id, n FROM a") == ((INT, TEXT),)
    assert types("DELETE FROM a") == ()
    assert types("DELETE FROM a RETURNING id") == ((INT,),)
    assert types("CALL Two(1)") == ((INT,), (TEXT,))
    assert types("CALL Maybe(1)") is None


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ({"sql": "SELECT id FROM nowhere"}, "no table named 'nowhere'"),
        ({"sql": "SELECT id FROM a", "results": (ObservedRows(("id",), (("x",),)),)}, "row 1, column id: "),
        ({"sql": "SELECT id FROM a WHERE id = $1", "params": ("x",)}, "'x' does not fit"),
    ],
)
def test_bad_input_names_transaction_and_statement(library: SqlLibrary, statement: dict[str, Any], error: str) -> None:
    with pytest.raises(LogError, match=f"transaction 't', statement 2: {error}"):
        prepare(one(**statement), library)
    if "results" not in statement:
        failed = prepare(one(**statement, error=ObservedError("42P01")), library).statements[1]
        assert isinstance(failed.failure, SqlError)


def test_unmodelled_statements_name_their_place(library: SqlLibrary) -> None:
    with pytest.raises(UnsupportedStatement) as caught:
        prepare(one("COPY a FROM STDIN"), library)
    assert (caught.value.transaction, caught.value.index) == ("t", 1)


def test_an_outcome_that_nobody_knows(library: SqlLibrary) -> None:
    assert prepare(one("DELETE FROM a", outcome_unknown=True), library).statements[1].program is not None
    lenient = SqlLibrary(Dialect("sqlite"), SCHEMA[1:])
    with pytest.raises(UnsupportedStatement):
        prepare(one("DELETE FROM empty", outcome_unknown=True), lenient)
    assert prepare(one("DELETE FROM empty", outcome_unknown=True, status="aborted"), lenient).statements


def test_preparations_are_kept_within_bounds(library: SqlLibrary) -> None:
    made = Preparations(library, capacity=2)
    transactions = [Transaction(n, "committed", (Statement("DELETE FROM a"),), n) for n in range(3)]
    first = made(transactions[0])
    assert made(transactions[0]) is first
    made(transactions[1])
    made(transactions[2])
    assert made(transactions[0]) is not first
