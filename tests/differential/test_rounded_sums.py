"""Sums and averages of doubles on real engines lie in the interval that is claimed of them. Does not know logs."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any

import duckdb

from sql_semantics.values.numbers.rounded import rounded_sum


def groups() -> list[list[float]]:
    chance = random.Random(7)
    return [
        [chance.uniform(-1, 1) * 10.0 ** chance.randrange(-12, 13) for _ in range(chance.randrange(3, 400))]
        for _ in range(40)
    ]


def agree(fill: Callable[[list[tuple[int, float]]], object], ask: Callable[[str], list[Any]]) -> None:
    samples = groups()
    fill([(number, value) for number, values in enumerate(samples) for value in values])
    rows = ask("SELECT g, sum(x), avg(x) FROM sums GROUP BY g")
    assert len(rows) == len(samples)
    for number, total, mean in rows:
        assert rounded_sum(samples[number], average=False).holds(total), number
        assert rounded_sum(samples[number], average=True).holds(mean), number


def test_sqlite() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE sums (g INT, x REAL)")
    agree(
        lambda rows: connection.executemany("INSERT INTO sums VALUES (?, ?)", rows),
        lambda sql: connection.execute(sql).fetchall(),
    )


def test_duckdb() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE sums (g INT, x DOUBLE)")
    agree(
        lambda rows: connection.execute(
            "INSERT INTO sums SELECT unnest(?), unnest(?)", [[g for g, _ in rows], [x for _, x in rows]]
        ),
        lambda sql: connection.execute(sql).fetchall(),
    )


def test_postgres(postgres: Any) -> None:
    postgres.execute("CREATE TEMPORARY TABLE sums (g INT, x DOUBLE PRECISION)")
    agree(
        lambda rows: postgres.execute(
            "INSERT INTO sums SELECT * FROM unnest(%s::int[], %s::float8[])",
            [[g for g, _ in rows], [x for _, x in rows]],
        ),
        lambda sql: postgres.execute(sql).fetchall(),
    )
    postgres.execute("DROP TABLE sums")
