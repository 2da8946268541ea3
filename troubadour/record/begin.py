"""``troubadour log init``: a log that begins with what a database has now. Does not know what will be recorded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from troubadour.record.capture import capture_duckdb, capture_mysql, capture_sqlite
from troubadour.record.core.segments import Captured, create
from troubadour.record.drivers import mysql
from troubadour.record.drivers.detection import driver_of
from troubadour.record.errors import RecordError
from troubadour.record.postgres.log import begin_log


def begin(dsn: str, path: Path, tables: Sequence[str] | None = None, level: str | None = None) -> None:
    """Make the log. `dsn`: ``sqlite:FILE``, ``duckdb:FILE``, ``mysql://...``, or libpq's for PostgreSQL. `tables`: only
    these; `level`: for the header in place of the database's default. Raises RecordError, also where `path` exists."""
    if path.exists():
        raise RecordError(f"{path} exists: a log begins once")
    kind, colon, rest = dsn.partition(":")
    if colon and kind in ("sqlite", "duckdb"):
        file = rest.removeprefix("//")
        if not Path(file).is_file():
            raise RecordError(f"there is no file {file}")
        if kind == "sqlite":
            _begin(sqlite3.connect(file), capture_sqlite, path, tables, level)
        else:
            import duckdb

            _begin(duckdb.connect(file), capture_duckdb, path, tables, level)
    elif kind in ("mysql", "mariadb") and colon:
        _begin(mysql.connect(f"mysql:{rest}"), capture_mysql, path, tables, level)
    else:
        begin_log(dsn, path, tables, level)


def _begin(
    connection: Any,
    capture: Callable[[Any], Captured],
    path: Path,
    tables: Sequence[str] | None,
    level: str | None,
) -> None:
    with closing(connection):
        if tables is not None:
            raise RecordError("--table is for PostgreSQL; elsewhere the whole database is captured")
        driver = driver_of(connection)
        captured = capture(connection)
        header = {**captured.header, "isolation": level or driver.level(connection)}
        if not create(path, Captured(header, captured.rows)):
            raise RecordError(f"{path} exists: a log begins once")
