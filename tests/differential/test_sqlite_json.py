"""SQLite's functions of JSON beside sqlite3, over random texts, paths and values: the same answers or refused.

What is written here holds for all versions: it was run on 3.40, 3.43 and 3.51.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect, read_version
from troubadour.model.values import param_kind

SCHEMA = "CREATE TABLE t (k INTEGER PRIMARY KEY, j TEXT, n INTEGER, s TEXT, r REAL)"
QUERIES = (
    "SELECT json_valid(?)",
    "SELECT json(j), json_valid(j), json_array_length(j), json_type(j) FROM t",
    "SELECT json_extract(j, {path}), json_type(j, {path}) FROM t",
    "SELECT json_extract(j, {path}, {path}), json_array_length(j, {path}) FROM t",
    "SELECT j -> {path}, j ->> {path} FROM t",
    "SELECT j -> {label}, j ->> {label} FROM t",
    "SELECT k FROM t WHERE j -> {label} ->> {label} IS NOT NULL",
    "SELECT j -> {label} -> {label} ->> {label}, (j ->> {label}) || s FROM t",
    "SELECT json_set(j, '$.a', n, '$.b', s, '$.c', NULL), json_insert(j, '$.b', 1, '$.c', 'x') FROM t",
    "SELECT k FROM t WHERE json_extract(j, {path}) = ?",
    "SELECT k FROM t WHERE json_extract(j, {path}) < ?",
    "SELECT k FROM t WHERE json_extract(j, {path}) = n OR s = (j ->> {path})",
    "SELECT k FROM t WHERE json_extract(j, {path}) >= r OR json_extract(j, {path}) < s",
    "SELECT k FROM t WHERE json_extract(j, {path}) IN (?, 1, 'a', json_extract(j, {path}))",
    "SELECT k FROM t WHERE json_extract(j, {path}) LIKE ?",
    "SELECT CASE WHEN json_type(j, {path}) IN ('false', 'true', 'null') THEN json_type(j, {path})"
    " ELSE json_extract(j, {path}) END FROM t",
    "SELECT k FROM t WHERE (CASE WHEN json_type(j, {path}) IN ('false', 'true', 'null') THEN json_type(j, {path})"
    " ELSE json_extract(j, {path}) END) = json_extract(?, '$')",
    "SELECT json_array(?, n, s, r, json(j), NULL), json_object(s, n, 'x', json(j)) FROM t",
    "SELECT json_array(json_extract(j, {path})) FROM t",
    "SELECT json_quote(s), json_quote(n), json_quote(?), json_quote(json(j)) FROM t",
    "SELECT json_set(j, {path}, ?), json_insert(j, {path}, ?), json_replace(j, {path}, ?) FROM t",
    "SELECT json_set(j, {path}, json(?)), json_remove(j, {path}) FROM t",
    "SELECT json_set(j, {path}, n, {path}, s), json_remove(j, {path}, {path}) FROM t",
    "SELECT json_remove(j, {path}, NULL, {label}), json_remove(j, {label}, NULL) FROM t",
    "SELECT coalesce(json_extract(j, {path}), s, n), CAST(json_extract(j, {path}) AS TEXT) FROM t",
    "SELECT (j ->> {label}) || '!', lower(j ->> {label}) FROM t",
    "SELECT x -> {label}, json_array(x) FROM (SELECT json(j) AS x FROM t) AS d",
    "SELECT json_array(CAST(json_extract(j, {path}) AS TEXT)), json_quote(CAST(j -> {label} AS TEXT)) FROM t",
    "SELECT json_array(x) FROM (SELECT min(json(j)) AS x FROM t) AS d",
    "SELECT json_array(x, lower(x)) FROM (SELECT CAST(j ->> {label} AS TEXT) AS x FROM t) AS d",
    "SELECT json_array(replace(json(j), s, 'x')), json_array(replace(j ->> {label}, 'a', 'x')) FROM t",
    "UPDATE t SET j = json_set(j, {path}, ?) WHERE json_type(j, {path}) IS NOT NULL",
    "UPDATE t SET s = json_extract(j, {path})",
)
KEYS = ("a", "b", "c", "key one", "é", "0", "a.b")


def a_value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(9 if depth < 3 else 6):
        case 0:
            return chance.choice([None, True, False])
        case 1:
            return chance.choice([0, 1, -1, 5, 2**53, 2**63 - 1, -(2**63), 10**20])
        case 2:
            return chance.choice([0.5, 1.0, -2.25, 1e10, 100.0, 0.1, 12.75])
        case 3 | 4 | 5:
            return chance.choice(["", "a", "b c", "é", '"', "\\", "line\nend", "1", "1.0", "true", "%a%", "[1]", "0"])
        case 6:
            return [a_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(KEYS): a_value(chance, depth + 1) for _ in range(chance.randrange(4))}


def a_text(chance: random.Random) -> str | None:
    """Mostly JSON."""
    text = json.dumps(a_value(chance), ensure_ascii=chance.random() < 0.3, indent=chance.choice([None, None, 1]))
    match chance.randrange(24):
        case 0:
            return None
        case 1:
            place = chance.randrange(len(text))
            return text[:place] + chance.choice(["", ",", "]", '"', "x", "\t", "0", "\\"]) + text[place + 1 :]
        case 2:
            escaped = chance.choice(["\\/", "\\u0041", "\\ud83d\\ude00", "\\ud800", "\\u0000", "\\b", "\\x41", "\0"])
            return text.replace(chance.choice("abc1 "), escaped)
        case 3:
            return chance.choice(["", "01", "1.", "-", "+1", "'a'", "{a:1}", "[1,]", "nul", "NaN", '"\\u00e9"', "1e5"])
    return text


def a_path(chance: random.Random) -> str:
    steps = (".a", ".b", ".c", '."key one"', '."a.b"', ".é", "[0]", "[1]", "[#-1]", "[#]", '."0"')
    return "$" + "".join(chance.choice(steps) for _ in range(chance.choice([0, 1, 1, 1, 2, 2])))


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def filled(sql: str, chance: random.Random) -> str:
    while "{path}" in sql:
        sql = sql.replace("{path}", literal(a_path(chance)), 1)
    while "{label}" in sql:
        sql = sql.replace("{label}", chance.choice(["'a'", "'b'", "'key one'", "0", "1", "'$.a'", "'$[0]'", "-1"]), 1)
    return sql


def classes(rows: list[tuple[Any, ...]]) -> Counter[Any]:
    return Counter(tuple((type(value), value) for value in row) for row in rows)


def compare(seed: int, count: int) -> Counter[str]:
    chance, seen = random.Random(seed), Counter[str]()
    dialect = Dialect("sqlite", foreign_keys=False, version=read_version(sqlite3.sqlite_version))
    library = SqlLibrary(dialect, [SCHEMA])
    for _ in range(count):
        rows: list[tuple[Any, ...]] = [
            (k, a_text(chance), chance.choice([None, 0, 1, 5]), chance.choice([None, "a", "1", "é"]),
             chance.choice([None, 0.5, 1.0]))
            for k in range(2)
        ]  # fmt: skip
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute(SCHEMA)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        view = MemoryView({"t": rows})
        for _ in range(8):
            sql = filled(chance.choice(QUERIES), chance)
            given = tuple(chance.choice([a_text(chance), "a", 1, 0.5, "%a%", None]) for _ in range(sql.count("?")))
            try:
                answer: Any = connection.execute(sql, given).fetchall()
            except sqlite3.Error as error:
                answer = error
            mark = view.savepoint()
            try:
                program = library.program(sql, tuple(map(param_kind, given)))
                results = program.run(view, given).results
                found: Any = [row for result in results for row in result.rows]
            except (Unsupported, SqlError) as error:
                view.rollback(mark)
                found = error
            if isinstance(found, Unsupported):
                seen["refused"] += 1
                seen[str(found)[:70]] += 1
                if sql.startswith("UPDATE"):
                    break  # what it left is not known here
                continue
            told = (seed, sql, given, rows, answer, found)
            if isinstance(answer, sqlite3.OperationalError):
                break  # a part that is not evaluated here is no JSON; such errors of a right text are not judged
            assert not isinstance(answer, Exception) and not isinstance(found, Exception), told
            assert classes(found) == classes(answer), told
            seen["same"] += 1
    return seen


@pytest.mark.parametrize("count", [150, pytest.param(500, marks=pytest.mark.slow)])
def test_json_is_what_sqlite_makes_of_it(count: int) -> None:
    seen = compare(11, count)
    assert seen["same"] > 3 * count, seen


@pytest.mark.slow
def test_json_at_length() -> None:
    assert compare(random.randrange(10**9), 20_000)["same"] > 60_000
