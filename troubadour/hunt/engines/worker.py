"""Runs SQLite, DuckDB or Turso in a process of its own: requests and answers are lines of JSON.

Imports nothing of this project, so that any interpreter can run it whose environment has the driver. It does not wait:
a session that meets another's lock has an error at once.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
import time
import uuid
from typing import Any

Done = dict[str, Any]
"""What is answered to a request."""


def now() -> int:
    """Microseconds of the monotonic clock."""
    return time.monotonic_ns() // 1000


def plain(value: Any) -> Any:
    """A value as a log has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if value - value == 0:
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return str(value)
    return {"redacted": True}


class Sqlite:
    """Python's module, or `pysqlite3` where that is installed beside it."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.version = "SQLite " + module.sqlite_version
        self.connections: dict[int, Any] = {}

    def open(self, path: str, number: int) -> None:
        """A connection to the file, which waits for no lock."""
        connection = self.module.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        self.connections[number] = connection

    def run(self, number: int, sql: str, writes: bool) -> Done:
        """The answer to one statement."""
        cursor = self.connections[number].execute(sql)
        if cursor.description is None:
            return {"affected": cursor.rowcount if writes else None}
        rows = cursor.fetchall()
        return {
            "columns": [column[0] for column in cursor.description],
            "rows": [[plain(value) for value in row] for row in rows],
            "affected": len(rows) if writes else None,
        }

    def leave(self, number: int) -> None:
        """Close one connection."""
        self.connections.pop(number).close()

    def close(self) -> None:
        """All connections."""
        for connection in self.connections.values():
            connection.close()
        self.connections = {}


class Turso(Sqlite):
    """The same interface; locks are told by the error's text."""

    def __init__(self, module: Any) -> None:
        import importlib.metadata

        self.module = module
        self.version = "Turso " + importlib.metadata.version("pyturso")
        self.connections = {}

    def open(self, path: str, number: int) -> None:
        """A connection to the file."""
        self.connections[number] = self.module.connect(path, isolation_level=None)


class Duck:
    """Sessions are cursors of one database."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.version = "DuckDB " + module.__version__
        self.connections: dict[int | None, Any] = {}

    def open(self, path: str, number: int) -> None:
        """A cursor, which is a connection of its own."""
        if None not in self.connections:
            self.connections[None] = self.module.connect(path, config={"threads": 1})
        self.connections[number] = self.connections[None].cursor()

    def run(self, number: int, sql: str, writes: bool) -> Done:
        """The answer to one statement."""
        connection = self.connections[number]
        connection.execute(sql)
        description = connection.description
        rows = connection.fetchall() if description else []
        names = [column[0] for column in description or ()]
        if writes and names == ["Count"]:
            return {"affected": rows[0][0] if rows else None}
        if not names or names == ["Success"]:
            return {"affected": None}
        return {
            "columns": names,
            "rows": [[plain(value) for value in row] for row in rows],
            "affected": len(rows) if writes else None,
        }

    def leave(self, number: int) -> None:
        """Close one cursor."""
        self.connections.pop(number).close()

    def close(self) -> None:
        """All cursors and the database."""
        for connection in reversed(list(self.connections.values())):
            connection.close()
        self.connections = {}


def product(name: str) -> Any:
    """The driver of a product."""
    if name == "duckdb":
        import duckdb

        return Duck(duckdb)
    if name == "turso":
        import turso

        return Turso(turso)
    if name == "pysqlite3":
        import pysqlite3

        return Sqlite(pysqlite3)
    import sqlite3

    return Sqlite(sqlite3)


def answered(driver: Any, request: Done) -> Done:
    """One request done."""
    done: Done
    begun = now()
    try:
        if request["do"] == "run":
            done = driver.run(request["session"], request["sql"], request["writes"])
        elif request["do"] == "open":
            driver.open(request["path"], request["session"])
            done = {}
        elif request["do"] == "leave":
            driver.leave(request["session"])
            done = {}
        else:
            driver.close()
            done = {}
    except Exception as error:  # noqa: BLE001  whatever a driver raises is its answer
        kinds = [kind.__name__ for kind in type(error).__mro__]
        name = getattr(error, "sqlite_errorname", None)
        done = {"kinds": kinds, "name": name, "message": str(error)}
    done["invoked"], done["returned"] = begun, now()
    return done


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a driver prints is no answer
    driver = product(sys.argv[1])
    answers.write(json.dumps({"version": driver.version}) + "\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(answered(driver, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
