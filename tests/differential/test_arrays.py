"""Comparisons with arrays answer as PostgreSQL does, type errors included (PostgreSQL 9.25)."""

from __future__ import annotations

import itertools
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from troubadour.execution.prepared import arguments_of
from troubadour.model.values import param_shape

POSTGRES = Dialect("postgres", collation="C")
TABLE = "CREATE TABLE o (k integer, b bigint, t text, n numeric(6,2), d date)"
ROWS = [
    (1, 1, "1", Decimal("1.00"), date(2020, 1, 1)),
    (2, 3, "2", Decimal("1.50"), date(2020, 1, 2)),
    (None, None, None, None, None),
    (3, 2, "x", Decimal("2.00"), date(2020, 1, 1)),
]
OPERANDS = ("k", "b", "t", "n", "d", "2")
WRITTEN = (
    *("ARRAY[1,2]", "ARRAY['1','2']", "ARRAY['1','2']::int[]", "'{1,2}'", "'{1,NULL}'::bigint[]", "ARRAY[1,NULL]"),
    *("ARRAY[NULL,NULL]", "ARRAY[1.5,2]", "ARRAY[k,3]", "ARRAY[t,'2']", "'{}'", "'{}'::int[]", "ARRAY[]::text[]"),
    *("ARRAY['x',t]", "ARRAY['2020-01-01'::date]", "'{a,b}'::text[]", "ARRAY[1,'2']", "ARRAY[1,t]", "('{1}')"),
    *(
        "('{1,2}'::int[])::bigint[]",
        "('{1,2}'::text[])::int[]",
        "(ARRAY['1','3'])::int[]",
        "('{1.5,2}'::numeric[])::int[]",
    ),
    *('\'{"x","a b"}\'::text[]', "('{\"2020-01-01\"}'::date[])::date[]", "'{1'::int[]", "('{x}'::text[])::int[]"),
)


def ours(query: str) -> list[str] | str | None:
    """The rows in some order, or the SQLSTATE; None for what is refused by name."""
    catalog = Catalog(read_schema([TABLE], POSTGRES))
    try:
        run = compile_statement(bind(query, (), catalog, POSTGRES).statement, catalog, POSTGRES)
        return sorted(map(repr, run(MemoryView({"o": ROWS}), ()).results[0].rows))
    except SqlError as error:
        return error.sqlstate
    except Unsupported:
        return None


def theirs(postgres: Any, query: str) -> list[str] | str:
    try:
        return sorted(map(repr, postgres.execute(query).fetchall()))
    except psycopg.Error as error:
        return error.sqlstate or "none"


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_comparisons_with_arrays(postgres: Any, every: bool) -> None:
    """With one word after the other, or each."""
    postgres.execute(TABLE)
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO o VALUES (%s, %s, %s, %s, %s)", ROWS)
    refused, words = 0, ("ANY", "ALL", "SOME")
    for number, (operand, op, array) in enumerate(itertools.product(OPERANDS, ("=", "<>", "<", ">="), WRITTEN)):
        for word in words if every else (words[(number + number // len(WRITTEN)) % 3],):
            query = f"SELECT k, {operand} {op} {word} ({array}) FROM o"
            mine = ours(query)
            refused += mine is None
            assert mine is None or mine == theirs(postgres, query), query
    assert refused < 50


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("SELECT k FROM o WHERE k = ANY(%s)", [[1, 3, 7]]),
        ("SELECT k FROM o WHERE k = ANY(%s) AND b = %s", [[1, 3], 2]),
        ("SELECT k FROM o WHERE k = ANY(%s)", [[]]),
        ("SELECT k FROM o WHERE k <> ALL(%s)", [[]]),
        ("SELECT k FROM o WHERE t <> ALL(%s)", [["1", None]]),
        ("SELECT k FROM o WHERE t = ANY(%s)", [["1", "x"]]),
        ("SELECT k FROM o WHERE b > ANY(%s)", [[2, 1]]),
        ("SELECT k FROM o WHERE k = ANY(%s::bigint[])", [[2, 1]]),
        ("SELECT k FROM o WHERE k = ANY(%(keys)s) AND b < %(most)s", {"keys": [1, 2, 3], "most": 3}),
    ],
)
def test_lists_are_arrays(postgres: Any, sql: str, given: Any) -> None:
    postgres.execute(TABLE)
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO o VALUES (%s, %s, %s, %s, %s)", ROWS)
    catalog = Catalog(read_schema([TABLE], POSTGRES))
    bound = bind(sql, param_shape(given), catalog, POSTGRES)
    run = compile_statement(bound.statement, catalog, POSTGRES)
    outcome = run(MemoryView({"o": ROWS}), arguments_of(given, bound.parameters))
    assert sorted(map(repr, outcome.results[0].rows)) == sorted(map(repr, postgres.execute(sql, given).fetchall()))
