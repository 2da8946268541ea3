"""unnest() of arrays, several at once, and comparisons with arrays, beside a real PostgreSQL."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from troubadour.execution.prepared import arguments_of
from troubadour.model.values import param_shape

SCHEMA = "CREATE TABLE t (id int PRIMARY KEY, v text)"
ROWS = [(1, "a"), (2, "b c"), (3, None), (4, "NULL")]
QUERIES = (
    ("SELECT * FROM unnest(%s::int[])", "i"),
    ("SELECT * FROM unnest(%s::int[], %s::text[]) AS d (x, y)", "it"),
    ("SELECT x, n FROM unnest(%s::text[]) WITH ORDINALITY AS u (x, n)", "t"),
    ("SELECT unnest(%s::int[]) AS a, unnest(%s::text[])", "it"),
    ("SELECT t.id, u.y FROM t JOIN unnest(%s::int[], %s::text[]) AS u (x, y) ON t.id = u.x", "it"),
    ("SELECT id FROM t WHERE v = ANY (%s::text[])", "t"),
    ("SELECT id FROM t WHERE id <> ALL (%s::int[])", "i"),
    ("SELECT id FROM t WHERE id < ANY (%s::int[])", "i"),
    ("SELECT count(*), sum(x) FROM unnest(%s::int[]) AS x", "i"),
)


def array_text(items: list[Any]) -> str:
    """The array as a driver may send it, in one text."""
    quoted = [item if item is None or isinstance(item, int) else f'"{item}"' for item in items]
    return "{" + ",".join("NULL" if item is None else str(item) for item in quoted) + "}"


@pytest.mark.parametrize(("sql", "kinds"), QUERIES)
def test_arrays_of_every_form(postgres: Any, sql: str, kinds: str) -> None:
    postgres.execute(SCHEMA)
    postgres.cursor().executemany("INSERT INTO t VALUES (%s, %s)", ROWS)
    dialect = Dialect("postgres", collation="C")
    library, chance = SqlLibrary(dialect, [SCHEMA]), random.Random(sql)
    for attempt in range(12):
        pool = {"i": [1, 2, 3, 7, None], "t": ["a", "b c", "NULL", "", "x,y", None]}
        given: list[Any] = [chance.choices(pool[kind], k=chance.randrange(4)) for kind in kinds]
        if attempt % 2:
            given = [array_text(items) for items in given]
        if attempt == 11:
            given[0] = None
        expected = postgres.execute(sql, given).fetchall()
        program = library.program(sql, param_shape(given))
        arguments = arguments_of(given, program.parameters, dialect)
        found = program.run(MemoryView({"t": ROWS}), arguments).results[0].rows
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), given


RECORDS = (
    '[]', '[{"a": 1, "b": "x"}]', '[{"b": "x y", "c": "2020-02-03"}, {"a": null}]', '[{"a": "7", "b": true, "z": [1]}]',
    '[{"a": 12, "b": 1.50}]', '[{"a": 1.5}]', '[{"a": "x"}]', '[1]', '{"a": 1}', '[{"a": 1}', 'null', None,
    '[{"b": {"c": 1}}]', '[{"b": [1]}]', '[{"b": 1e3}]', '[{"b": "\\u00e4\\n"}]',
    '[{"c": "2020-13-01"}]', '[{"a": 3000000000}]',
)  # fmt: skip


@pytest.mark.parametrize("name", ["jsonb_to_recordset", "json_to_recordset"])
def test_records_of_json(postgres: Any, name: str) -> None:
    dialect = Dialect("postgres", collation="C")
    library, compared = SqlLibrary(dialect, [SCHEMA]), 0
    cast = name.partition("_")[0]
    sql = f"SELECT b, a, c FROM {name}(%s::{cast}) AS r (a int, b text, c date)"
    for text in RECORDS:
        try:
            expected = sorted(map(repr, postgres.execute(sql, [text]).fetchall()))
        except psycopg.Error as error:
            expected = [error.sqlstate or ""]
        program = library.program(sql, param_shape([text]))
        try:
            rows = program.run(MemoryView({}), arguments_of([text], program.parameters, dialect)).results[0].rows
            found = sorted(map(repr, rows))
        except Unsupported:
            continue
        except SqlError as error:
            found = [error.sqlstate]
        assert found == expected, text
        compared += 1
    assert compared > 12
