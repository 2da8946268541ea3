"""Texts of several collations in one table: what MariaDB makes of them, and the interpreter.

Statements are drawn from a seed. Does not know which of them are errors: those are not modelled.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

TABLES = (
    "CREATE TABLE t (k int PRIMARY KEY, b varchar(9) COLLATE utf8mb4_bin, g varchar(9) COLLATE utf8mb4_general_ci,"
    " u varchar(9) COLLATE utf8mb4_unicode_ci, l varchar(9), s varchar(9) CHARACTER SET ascii COLLATE ascii_bin,"
    " e enum('x', 'Y') COLLATE utf8mb4_bin)",
    "CREATE TABLE w (k int PRIMARY KEY, c varchar(9), d varchar(9) COLLATE utf8mb4_bin)"
    " DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci",
    "CREATE TABLE v (k int PRIMARY KEY, c varchar(9) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin",
)
ROWS = (
    "INSERT INTO t VALUES (1, 'a', 'A', 'b', 'ab', 'A', 'x'), (2, 'A', 'a', 'B', 'AB', 'a', 'Y'),"
    " (3, 'aB', 'AB', NULL, 'a', NULL, NULL), (4, 'ab', 'ab', 'ab', 'Ab', 'ab', 'x')",
    "INSERT INTO w VALUES (1, 'A', 'ab'), (2, 'b', 'AB'), (3, NULL, 'a')",
    "INSERT INTO v VALUES (1, 'a'), (2, 'B')",
)
_COLUMNS = {"t": "bgulse", "w": "cd", "v": "c"}
_LITERALS = ("'a'", "'A'", "'ab'", "'AB'", "'B'", "'x'", "'X'", "'61'")


class Statements:
    """Draws them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def _one(self, *parts: str) -> str:
        return self._random.choice(parts)

    def _text(self, table: str, depth: int = 2) -> str:
        drawn = self._random.random()
        if depth == 0 or drawn < 0.4:
            return self._one(*_COLUMNS[table]) if drawn < 0.3 else self._one(*_LITERALS)
        inner, other = self._text(table, depth - 1), self._text(table, depth - 1)
        return self._one(
            f"lower({inner})",
            f"concat({inner}, {other})",
            f"hex({inner})",
            f"coalesce({inner}, {other})",
            f"CAST({inner} AS CHAR)",
            f"CASE WHEN k > 1 THEN {inner} ELSE {other} END",
            f"nullif({inner}, {other})",
            f"greatest({inner}, {other})",
            f"replace({inner}, 'q', {other})",
            f"left({inner}, 2)",
            f"if(k = 2, {inner}, {other})",
            f"json_unquote({inner})",
            f"(SELECT max({self._one(*_COLUMNS['w'])}) FROM w)",
            f"concat(k, {inner})",
            f"({inner} COLLATE {self._one('utf8mb4_bin', 'utf8mb4_unicode_ci')})",
        )

    def _pattern(self, other: str) -> str:
        return self._one("'a%'", "'A_'", other)

    def _condition(self, table: str) -> str:
        one, other = self._text(table), self._text(table)
        return self._one(
            f"{one} {self._one('=', '<>', '<', '<=', '<=>')} {other}",
            f"{one} IN ({other}, {self._text(table, 0)})",
            f"{one} LIKE {self._pattern(other)}",
            f"{one} IN (SELECT {self._one(*_COLUMNS['w'])} FROM w)",
            f"{one} BETWEEN {other} AND {self._text(table, 0)}",
            f"find_in_set({one}, 'a,A,ab') > 1",
            f"instr({one}, {other}) = 1",
            f"{one} REGEXP '^[a-b]+$'",
            f"field({one}, {other}, 'AB') = 2",
        )

    def draw(self) -> str:
        """One statement."""
        table = self._one(*_COLUMNS)
        shown = self._text(table)
        return self._one(
            f"SELECT k, {self._condition(table)} AS c, {shown} AS x FROM {table}",
            f"SELECT k FROM {table} WHERE {self._condition(table)} AND NOT {self._condition(table)}",
            f"SELECT DISTINCT {shown} AS x FROM {table}",
            f"SELECT {shown} AS x, count(*), min({self._text(table, 1)}) FROM {table} GROUP BY {shown}",
            f"SELECT k FROM {table} ORDER BY {shown}, k",
            f"SELECT {shown} AS x FROM {table} UNION SELECT {self._text('w')} FROM w",
            f"SELECT count(DISTINCT {shown}), group_concat({self._text(table, 1)} ORDER BY k) = 'A,B' FROM {table}",
            f"SELECT d.k FROM (SELECT k, {shown} AS x FROM {table}) d WHERE d.x = {self._one(*_LITERALS)}",
            f"SELECT a.k, o.k FROM {table} a JOIN w o ON {self._one(*_COLUMNS[table])} = {self._one('o.c', 'o.d')}",
            f"UPDATE {table} SET {self._one(*_COLUMNS[table])} = {shown} WHERE {self._condition(table)}",
            f"INSERT IGNORE INTO w VALUES (k, {self._one(*_LITERALS)}, {self._one(*_LITERALS)})".replace(
                "(k,", f"({self._random.randrange(4, 9)},"
            ),
            f"DELETE FROM v WHERE {self._condition('v')}",
            f"INSERT INTO v VALUES ({self._random.randrange(3, 9)}, {self._one(*_LITERALS)})",
            f"SELECT k, rank() OVER (ORDER BY {shown}) AS r FROM {table}",
        )


def _settings() -> Iterator[tuple[str, str]]:
    yield "utf8mb4_bin", "utf8mb4_bin"
    yield "utf8mb4_unicode_ci", "utf8mb4_general_ci"
    yield "utf8mb4_bin", "utf8mb4_general_ci"
    yield "utf8mb4_general_ci", "utf8mb4_bin"


def differences(connection: Any, log: str, session: str, seed: int, count: int) -> tuple[list[str], int]:
    """What differs, and how many statements were modelled."""
    engine = MariaDB(connection, log)
    dialect = Dialect(
        "mysql", collation=log, literals=None if log == session else session, product="mariadb", version=(10, 11)
    )
    for sql in (f"SET NAMES utf8mb4 COLLATE {session}", f"ALTER DATABASE COLLATE {log}", "SET sql_mode = DEFAULT"):
        assert engine.run(sql).error is None, sql
    statements, found, modelled = Statements(seed), [], 0
    engine.clear()
    for sql in TABLES:
        assert engine.run(sql).error is None, sql
    catalog = Catalog(read_schema(list(TABLES), dialect), {})
    beside: Beside | None = None
    for number in range(count):
        if number % 25 == 0:
            for sql in ("DELETE FROM t", "DELETE FROM w", "DELETE FROM v", *ROWS):
                assert engine.run(sql).error is None, sql
            beside = Beside(engine, dialect, catalog)
        assert beside is not None
        sql = statements.draw()
        step = beside.step(sql)
        if step.problem is not None:
            found.append(f"{log}, {session}: {sql}: {step.problem}")
        if step.outside is not None and not sql.startswith("SELECT"):
            engine.run(sql)
            beside.load()
        modelled += step.outside is None
    return found, modelled


@pytest.mark.parametrize("settings", list(_settings()), ids=lambda pair: "-".join(pair))
def test_texts_of_several_collations(mariadb: Any, settings: tuple[str, str]) -> None:
    connection, _ = mariadb
    try:
        found, modelled = differences(connection, *settings, seed=len(settings[0]), count=150)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
            cursor.execute("ALTER DATABASE COLLATE utf8mb4_bin")
    assert not found
    assert modelled > 60


@pytest.mark.parametrize("change", ["ADD COLUMN d varchar(9)", "MODIFY COLUMN c varchar(20)"])
@pytest.mark.parametrize("c", ["varchar(9) COLLATE utf8mb4_bin", "int"])
def test_new_columns_of_a_table_of_another_collation_are_left_open(c: str, change: str) -> None:
    dialect = Dialect("mysql", collation="utf8mb4_bin", product="mariadb", version=(10, 11))
    table = f"CREATE TABLE t (k int PRIMARY KEY, c {c}) COLLATE utf8mb4_general_ci"
    with pytest.raises(Unsupported, match="beside a collation"):
        read_schema([table, f"ALTER TABLE t {change}"], dialect)
