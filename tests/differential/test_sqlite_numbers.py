"""Texts as numbers in SQLite: CAST, and what is stored in columns of each affinity, over random texts; the same bits or
refused."""

from __future__ import annotations

import random
import sqlite3
import struct
from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect, read_version
from sql_semantics.values.types import Kind

SCHEMA = "CREATE TABLE t (k INTEGER PRIMARY KEY, n DECIMAL, r REAL, i INTEGER)"
QUERIES = (
    "SELECT CAST(? AS REAL)",
    "SELECT CAST(? AS NUMERIC)",
    "SELECT CAST(? AS INTEGER)",
    "SELECT CAST(? AS NUMERIC) / 2",
    "SELECT k FROM t WHERE n = ?",
    "SELECT k FROM t WHERE r < ?",
    "INSERT INTO t (n) VALUES (?)",
    "INSERT INTO t (r) VALUES (?)",
    "INSERT INTO t (i) VALUES (?)",
    "SELECT n, r, i FROM t",
)


def a_text(chance: random.Random) -> str:
    match chance.randrange(6):
        case 0 | 1:
            count = chance.choice([2, 4, 8, 12, 15, 16, 17, 19, 22])
            place = chance.randrange(count + 1)
            digits = "".join(chance.choice("0123456789") for _ in range(count))
            text = chance.choice(["", "-", "+"]) + digits[:place] + "." + digits[place:]
        case 2:
            text = chance.choice(["", "-"]) + str(chance.randrange(10 ** chance.randrange(1, 21)))
        case 3:
            whole = chance.randrange(10 ** chance.randrange(1, 16))
            text = f"{whole}{chance.choice(['', '.5', '.'])}e{chance.choice(['', '-', '+'])}{chance.randrange(25)}"
        case _:
            text = "".join(chance.choice(" 0123456789.eE+-ax\t") for _ in range(chance.randrange(8)))
    around = (chance.choice([" ", "\n", ""]), chance.choice([" ", "x", " x", ".", "e", "e5", "\t"]))
    return f"{around[0]}{text}{around[1]}" if chance.random() < 0.15 else text


def bits(rows: list[tuple[Any, ...]]) -> Any:
    """Rows with the class of each value, and floats by their bits."""
    return Counter(
        tuple((type(value), struct.pack("d", value) if isinstance(value, float) else value) for value in row)
        for row in rows
    )


def compare(seed: int, count: int) -> Counter[str]:
    chance, seen = random.Random(seed), Counter[str]()
    dialect = Dialect("sqlite", foreign_keys=False, version=read_version(sqlite3.sqlite_version))
    library = SqlLibrary(dialect, [SCHEMA])
    for _ in range(count):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute(SCHEMA)
        view = MemoryView({"t": []})
        for _ in range(12):
            sql, text = chance.choice(QUERIES), a_text(chance)
            given = (text,) if "?" in sql else ()
            answer = connection.execute(sql, given).fetchall()
            mark = view.savepoint()
            try:
                program = library.program(sql, tuple(Kind.TEXT for _ in given))
                results = program.run(view, given).results
            except Unsupported:
                view.rollback(mark)
                if sql.startswith("INSERT"):
                    connection.execute("DELETE FROM t WHERE k = (SELECT max(k) FROM t)")
                seen["refused"] += 1
                continue
            assert bits([row for result in results for row in result.rows]) == bits(answer), (seed, sql, text, answer)
            seen["same"] += 1
    return seen


def test_texts_are_the_numbers_that_sqlite_makes_of_them() -> None:
    seen = compare(3, 250)
    assert seen["same"] > 1500, seen


@pytest.mark.slow
def test_texts_at_length() -> None:
    assert compare(random.randrange(10**9), 20_000)["same"] > 100_000
