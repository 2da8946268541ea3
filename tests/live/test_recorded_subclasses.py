"""Parameters of subclasses of what the drivers know: an application gets the same as without a recorder, and the log
has what the driver sent."""

from __future__ import annotations

import datetime
import decimal
import enum
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from troubadour.formats import read_log
from troubadour.record import recorder
from troubadour.record.servers import embedded_mariadb


class Text(str):
    """As an ORM marks a safe string."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


class Whole(int):
    """As a typed id."""


class Real(float):
    """As a measure with a unit."""


class Raw(bytes):
    """As a token."""


class When(datetime.datetime):
    """As pendulum's."""


class Money(decimal.Decimal):
    """As an amount."""


class Color(enum.IntEnum):
    """As a choice."""

    RED = 1


class Kind(enum.StrEnum):
    """As a choice, too."""

    A = "x"


VALUES = [
    Text("x"), Whole(1), Real(1.5), Raw(b"x"), When(2020, 1, 1), Money("1.5"), Color.RED, Kind.A, bytearray(b"x"),
    memoryview(b"x"), 2**70, -(2**70), float("inf"), True, None,
]  # fmt: skip


def answers(connection: Any, execute: Callable[[Any, Any], Any], value: object) -> str:
    """What an application gets for a parameter."""
    try:
        return repr(execute(connection, value))
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


def on_sqlite(connection: Any, value: object) -> Any:
    return connection.execute(Text("SELECT ?, a FROM t"), (value,)).fetchall()


def on_duckdb(connection: Any, value: object) -> Any:
    connection.execute("SELECT ?, a FROM t", (value,))
    return connection.fetchall()


def on_mariadb(connection: Any, value: object) -> Any:
    cursor = connection.cursor()
    cursor.execute("SELECT %s, a FROM t", (value,))
    return list(cursor.fetchall())


def compare(plain: Any, recorded: Any, execute: Callable[[Any, Any], Any], log: Path) -> None:
    for value in VALUES:
        assert answers(recorded, execute, value) == answers(plain, execute, value), type(value)
    recorded.close()
    recorder.close()
    assert read_log([log]).transactions


def test_sqlite(tmp_path: Path) -> None:
    file, log = tmp_path / "t.db", tmp_path / "log.jsonl"
    with sqlite3.connect(file) as setup:
        setup.execute("CREATE TABLE t (a INTEGER)")
        setup.execute("INSERT INTO t VALUES (1)")
    setup.close()
    plain = sqlite3.connect(file)
    compare(plain, recorder.wrap(sqlite3.connect(file), log=log), on_sqlite, log)
    plain.close()


def test_duckdb(tmp_path: Path) -> None:
    plain = duckdb.connect()
    plain.execute("CREATE TABLE t AS SELECT 1 AS a")
    compare(plain, recorder.wrap(plain.cursor(), log=tmp_path / "log.jsonl"), on_duckdb, tmp_path / "log.jsonl")


@pytest.mark.skipif(embedded_mariadb.missing() is not None, reason=str(embedded_mariadb.missing()))
def test_mariadb(tmp_path: Path) -> None:
    with embedded_mariadb.PrivateMariaDB() as server:
        plain = server.connect()
        plain.cursor().execute("CREATE TABLE t AS SELECT 1 AS a")
        recorded = recorder.wrap(server.connect(), log=tmp_path / "log.jsonl")
        compare(plain, recorded, on_mariadb, tmp_path / "log.jsonl")
        plain.close()
