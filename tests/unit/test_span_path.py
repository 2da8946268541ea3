"""Integers between two bounds are looked up one by one: the answers are those of a scan."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.plan.access import SPAN
from sql_semantics.run.memory import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.unit.running import Database

SCHEMA = [
    "CREATE TABLE t (a int, b int, k int, x int, PRIMARY KEY (a, k))",
    "CREATE TABLE u (k int PRIMARY KEY, n bigint, m numeric(6, 1))",
]
CONDITIONS = [
    "t.k {} {}", "t.k {} $1", "$1 {} t.k", "t.k {} $1 - {}", "t.k + 0 {} {}", "t.k {} {}.5", "t.a = {1}", "t.b = {1}",
    "t.a {} {}", "t.k BETWEEN {1} AND $1", "t.k BETWEEN {1} AND {1} + 3", "t.k {} NULL", "t.b IN ({1}, 2)", "t.x {} {}",
    "t.k {} 2147483647 + $1", "t.k {} $1 + $1", "10 / t.x > {1}",
]  # fmt: skip
JOINED = [*CONDITIONS, "u.k {} {}", "u.n {} $1", "u.k = t.b", "u.n {} {} + $1", "u.m {} {}", "u.k > t.k"]


def database(dialect: str) -> Database:
    draw = random.Random(1)
    made = Database(Dialect(dialect, collation="C"), SCHEMA)
    rows = {(draw.randint(0, 3), draw.randint(0, 50)): draw.choice([None, 0, 1, 2, 5]) for _ in range(90)}
    made.fill("t", [(a, draw.choice([None, 1, 2]), k, x) for (a, k), x in rows.items()])
    return made.fill("u", [(k, draw.choice([None, k, 5]), None) for k in range(0, 12, 2)])


def answer(made: Database, sql: str, given: int | None) -> Any:
    try:
        return sorted(made.rows(sql, [given], (Kind.INT,)), key=repr)
    except (SqlError, Unsupported) as error:
        return str(error)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "duckdb", "sqlite"])
def test_the_answers_are_those_of_a_scan(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, draw = database(dialect), random.Random(2)
    looked, lookup = 0, MemoryView.lookup

    def counted(*asked: Any) -> Any:
        nonlocal looked
        looked += 1
        return lookup(*asked)

    monkeypatch.setattr(MemoryView, "lookup", counted)
    some = spanned = 0
    for _ in range(50):
        joins = draw.random() < 0.4
        chosen = draw.choices(JOINED if joins else CONDITIONS, k=draw.randint(1, 4))
        parts = [part.format(draw.choice(["<", "<=", ">", ">="]), draw.choice([0, 1, 3, 7, 20])) for part in chosen]
        if not any("$1" in part for part in parts):
            parts.append("$1 = $1")
        sources, given = "t, u" if joins else "t", draw.choice([None, 0, 4, 5, 9, 40, 2147483647])
        where = " AND ".join(parts)
        scanned = " AND ".join(f"({part} OR t.k < -1)" for part in parts)
        looked = 0
        found = answer(made, f"SELECT t.a, t.k, t.x FROM {sources} WHERE {where}", given)
        spanned += looked > 2
        wanted = answer(made, f"SELECT t.a, t.k, t.x FROM {sources} WHERE {scanned}", given)
        if isinstance(wanted, list):
            some += bool(wanted)
            assert found == wanted, (where, given)
    assert some > 4 and (spanned > 1 or dialect == "sqlite")


def test_bounds_far_apart_are_no_lookups() -> None:
    made = Database(Dialect("postgres", collation="C"), SCHEMA)
    made.fill("t", [(1, 1, k, k) for k in range(3 * SPAN)])
    for width in (SPAN - 1, SPAN, SPAN + 1, 3 * SPAN):
        assert len(made.rows("SELECT k FROM t WHERE k >= 0 AND k < $1", [width], (Kind.INT,))) == width
        assert (
            len(made.rows("SELECT k FROM t WHERE a = 1 AND k > 0 AND k <= $1 - 1", [width], (Kind.INT,))) == width - 1
        )
    assert made.rows("SELECT k FROM t WHERE k > 5 AND k < 5") == []
    with pytest.raises(SqlError):
        made.rows("SELECT k FROM t WHERE k > 5 AND k < 2147483647 + $1", [1], (Kind.INT,))


@pytest.mark.parametrize(
    "query",
    [
        "t JOIN u ON 10 / t.x > 1 WHERE t.k BETWEEN $1 AND $1 + 1",
        "t RIGHT JOIN u ON 10 / t.x > u.k WHERE t.k >= $1 AND t.k < $1 + 2",
        "t, LATERAL (SELECT 10 / t.x AS n FROM u) d WHERE t.k >= $1 AND t.k < $1 + 2",
        "t WHERE t.a < 2147483647 + $1 AND t.k > 60 AND t.k < 65",
    ],
)
def test_errors_on_rows_beside_the_span_are_met(query: str) -> None:
    made = Database(Dialect("postgres", collation="C"), SCHEMA)
    made.fill("t", [(1, 1, k, 0 if k == 9 else 1) for k in range(12)]).fill("u", [(1, 1, None)])
    with pytest.raises(SqlError):
        made.rows(f"SELECT t.k FROM {query}", [1], (Kind.INT,))
