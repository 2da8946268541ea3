"""Aggregates of every number type, with DISTINCT, FILTER and ORDER BY, on real engines."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from tests.differential.engines import DbApi, MariaDB, Postgres
from tests.differential.fixed import Fixed

COLUMNS = "id int PRIMARY KEY, g int, s smallint, b bigint, f double precision, x varchar(10), y text"
NUMBERS = ("id", "g", "s", "b", "f")


def rows(exact: bool) -> list[tuple[Any, ...]]:
    """Ten rows with NULLs and repetitions; `exact`: with a NUMERIC and a BOOLEAN column."""
    found = []
    for i in range(10):
        group, small = None if i % 5 == 4 else i % 3, None if i % 4 == 3 else i * 7 % 11 - 5
        text = None if i == 6 else "abcab"[i % 3 :][: 2 + i % 2]
        row = (i, group, small, i * 10**9, None if i == 3 else i / 4, text, ["aa", "b", "", "cc"][i % 4])
        more = (Decimal(i * 37 % 100).scaleb(-1) if i != 5 else None, None if i == 2 else i % 2 == 0)
        found.append((*row, *more) if exact else row)
    return found


def statements(numbers: tuple[str, ...]) -> list[str]:
    found = []
    for function in ("sum", "avg", "min", "max", "count"):
        for column in numbers:
            found += [
                f"SELECT {function}({column}), {function}(DISTINCT {column}) FROM t",
                f"SELECT g, {function}({column}) FILTER (WHERE id > 4) FROM t GROUP BY g",
                f"SELECT {function}({column}) FROM t WHERE id < 0",
            ]
    return [
        *found,
        "SELECT g, count(*) FILTER (WHERE s > 0) FROM t GROUP BY g",
        "SELECT count(DISTINCT f), count(DISTINCT x), count(DISTINCT y) FROM t",
        "SELECT g FROM t GROUP BY g HAVING count(*) FILTER (WHERE s > 0) = 1",
    ]


ORDERED = [
    "SELECT string_agg(x, ',' ORDER BY id) FROM t",
    "SELECT string_agg(x, ',' ORDER BY x DESC, y) FROM t",
    "SELECT g, string_agg(y, '-' ORDER BY y) FROM t GROUP BY g",
    "SELECT string_agg(DISTINCT y, '' ORDER BY y) FROM t",
    "SELECT string_agg(x, ',') FROM t WHERE id = 2",
    "SELECT string_agg(x, ',' ORDER BY id) FILTER (WHERE g = 1) FROM t",
    "SELECT string_agg(x, ',' ORDER BY y NULLS FIRST, id DESC) FROM t",
    "SELECT g, bool_and(o), bool_or(o) FROM t GROUP BY g",
    "SELECT bool_and(s > -5), bool_or(o) FROM t WHERE id < 4",
    "SELECT bool_and(o) FROM t WHERE id < 0",
    "SELECT sum(f ORDER BY id) FROM t",
    "SELECT count(DISTINCT n), count(DISTINCT o) FROM t",
]


def exact(engine: Any) -> Fixed:
    return Fixed(engine, [f"CREATE TABLE t ({COLUMNS}, n numeric(8,1), o boolean)"], {"t": rows(True)})


def agree(tables: Fixed, sql: list[str]) -> None:
    differences, refused = tables.report(sql)
    assert not differences, "\n".join(differences)
    assert not refused


def test_postgres(postgres: Any) -> None:
    engine = Postgres(postgres, collation="C")
    tables = exact(engine)
    agree(tables, statements((*NUMBERS, "n")))
    agree(tables, ORDERED)
    errors = ["SELECT string_agg(id, ',') FROM t", "SELECT string_agg(x) FROM t", "SELECT bool_and(id) FROM t"]
    agree(
        tables, [*errors, "SELECT string_agg(DISTINCT y, ',' ORDER BY x) FROM t", "SELECT count(DISTINCT g, s) FROM t"]
    )
    agree(tables, ["SELECT every(o) FROM t", "SELECT sum(id * 1.5), avg(n * n), sum(9223372036854775807) FROM t"])


def test_sqlite() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    tables = Fixed(engine, [f"CREATE TABLE t ({COLUMNS})"], {"t": rows(False)})
    agree(tables, statements(NUMBERS))
    agree(tables, ["SELECT total(f), total(g) FROM t", "SELECT total(f) FROM t WHERE id < 0"])
    agree(tables, ["SELECT group_concat(x), group_concat(id, ';') FROM t WHERE id = 1"])
    agree(tables, ["SELECT sum(9223372036854775807) FROM t"])


BARE = [
    "SELECT g, max(id), x, y FROM t GROUP BY g",
    "SELECT g, max(f), id, s FROM t GROUP BY g ORDER BY id",
    "SELECT sum(id), x FROM t WHERE id = 3",
    "SELECT max(id), x FROM t WHERE id < 0",
    "SELECT id, g FROM t GROUP BY id",
    "SELECT g, count(*), x FROM t WHERE x = 'ab' GROUP BY g",
    "SELECT max(id) + 1, x || 'q' FROM t",
    "SELECT max(s) AS s FROM t GROUP BY g HAVING s > 0",
]


def test_ungrouped_columns_in_sqlite() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    tables = Fixed(engine, [f"CREATE TABLE t ({COLUMNS})"], {"t": rows(False)})
    agree(tables, BARE)
    choice = ["SELECT sum(id), x FROM t", "SELECT max(id), min(id), x FROM t"]
    assert set(tables.report(choice)[1].values()) == {"a choice among several ways"}


LAST_DIGITS = "an average whose last digits hang on the plan or the version of duckdb"


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    tables = exact(DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error))
    differences, refused = tables.report([*statements((*NUMBERS, "n")), *ORDERED])
    assert not differences, "\n".join(differences)
    assert all(construct == LAST_DIGITS and "avg(" in sql and "n" in sql for sql, construct in refused.items()), refused
    above = ["sum(g) + 1", "sum(n) > 3", "coalesce(sum(g), 0)", "sum(n) * 2.5", "sum(id) % 2", "avg(g) * 2", "max(o)"]
    agree(tables, [f"SELECT {expression} FROM t" for expression in above])
    agree(tables, ["SELECT g FROM t GROUP BY g HAVING sum(id) > 5", "SELECT sum(9223372036854775807) FROM t"])
    agree(tables, ["SELECT avg(b), avg(s) FROM t GROUP BY g", "SELECT string_agg(id, ',' ORDER BY id) FROM t"])


def test_averages_of_decimals_in_duckdb() -> None:
    """One division or two, as the plan has it: never other digits than the engine's, and often these."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    random = Random(1)
    schema = ["CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, n DECIMAL(10,2))"]
    made = [(n, random.randrange(150), Decimal(random.randrange(-(10**6), 10**6)).scaleb(-2)) for n in range(600)]
    tables = Fixed(DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error), schema, {"t": made})
    asked = [
        *(f"SELECT avg(n) FROM t WHERE g = {group}" for group in range(150)),
        *(f"SELECT g, avg(n) FROM t WHERE g IN ({group}, {group + 1}) GROUP BY g" for group in range(0, 150, 3)),
        *(f"SELECT g, avg(n), {beside} FROM t GROUP BY g" for beside in ("sum(n)", "max(n)", "count(*)", "sum(n * 2)")),
        *(f"SELECT g, avg({how}n) FROM t WHERE g < 60 GROUP BY g HAVING sum(n) > 0" for how in ("", "DISTINCT ")),
        *(
            f"SELECT avg(DISTINCT n), avg(n) FILTER (WHERE id > 9), avg(n) FROM t WHERE g = {g}"
            for g in range(0, 150, 9)
        ),
        "SELECT id, (SELECT avg(n) FROM t b WHERE b.g = a.g) FROM t a WHERE id < 99",
        *(f"SELECT DISTINCT avg(n) OVER (PARTITION BY g) FROM t WHERE g = {group}" for group in range(0, 150, 3)),
    ]
    differences, refused = tables.report(asked)
    assert not differences, "\n".join(differences)
    assert set(refused.values()) == {LAST_DIGITS}
    assert len(refused) < len(asked) / 2


def test_what_hangs_on_the_order_of_rows_is_undecided() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:"), sqlite3.Error)
    tables = Fixed(engine, [f"CREATE TABLE t ({COLUMNS})"], {"t": rows(False)})
    sql = "SELECT sum(f * 0.1) FROM t"
    _, refused = tables.report([sql])
    assert "order" in refused[sql]


def test_mariadb(mariadb: Any) -> None:
    tables = Fixed(
        MariaDB(*mariadb), [f"CREATE TABLE t ({COLUMNS}, n numeric(8,1))"], {"t": [row[:-1] for row in rows(True)]}
    )
    agree(tables, [sql for sql in statements((*NUMBERS, "n")) if "FILTER" not in sql])
