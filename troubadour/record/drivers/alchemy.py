"""Recording SQLAlchemy 2 by engine events: an application, ORM or not, is recorded without touching it (issue 5).

New connections of an engine are made by the recorder (event ``do_connect``), and record while they are checked out of
the pool; what a dialect asks when it connects, and a pool's pings, go by unrecorded. Does not know the ORM.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubadour.record.dbapi import wrap
from troubadour.record.dbapi.connection import begin
from troubadour.record.dbapi.sqlite import recorded_connection_class
from troubadour.record.dbapi.transactions import Recording
from troubadour.record.drivers.detection import driver_of
from troubadour.record.errors import RecordError

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine


def listen(engine: Engine | AsyncEngine, *, log: str | Path, **options: Any) -> None:
    """Record every connection that the engine makes from now on, in the log at the path `log`. For PostgreSQL
    (``postgresql+psycopg``), SQLite, MySQL and MariaDB (``mysql+pymysql``), and asynchronous engines
    (``postgresql+psycopg``, ``sqlite+aiosqlite``); `options` as of `recorder.connect`. Call it before the engine is
    used. Raises RecordError for other drivers, and where SQLAlchemy is not installed."""
    try:
        from sqlalchemy import event
    except ImportError as error:
        raise RecordError("SQLAlchemy is not installed: pip install 'sqlalchemy>=2'") from error
    base: Any = getattr(engine, "sync_engine", engine)
    if hasattr(base.pool, "checkedout") and base.pool.checkedout():
        raise RecordError("the engine has connections in use: listen() before it is used")
    base.dispose()  # connections that were made before are not recorded
    driver = f"{base.dialect.name}+{base.dialect.driver}"
    asynchronous = getattr(base.dialect, "is_async", False) and driver == "postgresql+psycopg"
    connecting = _psycopg_async if asynchronous else _CONNECTING.get(driver)
    if connecting is None:
        raise RecordError(
            f"{driver} is not recorded; postgresql+psycopg, sqlite, sqlite+aiosqlite and mysql+pymysql are"
        )
    event.listen(base, "do_connect", connecting(log, options))
    event.listen(base, "checkout", lambda connection, record, proxy: _mute(connection, False))
    event.listen(base, "checkin", lambda connection, record: _mute(connection, True))


def _psycopg(log: str | Path, options: dict[str, Any]) -> Any:
    from troubadour.record.postgres.connection import RecordedConnection

    recorded: Any = RecordedConnection.connect

    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        connection = recorded(*arguments, log=log, **options, **keywords)
        connection.muted = True
        return connection

    return connect


def _psycopg_async(log: str | Path, options: dict[str, Any]) -> Any:
    from troubadour.record.postgres.connection import RecordedAsyncConnection

    recorded: Any = RecordedAsyncConnection.connect

    async def made(*arguments: Any, **keywords: Any) -> Any:
        connection = await recorded(*arguments, log=log, **options, **keywords)
        connection.muted = True
        return connection

    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
        keywords.setdefault("async_creator_fn", made)

    return connect


def _dbapi(log: str | Path, options: dict[str, Any]) -> Any:
    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        connection = wrap(dialect.loaded_dbapi.connect(*arguments, **keywords), log=log, **options)
        connection.recording.muted = True
        return connection

    return connect


def _aiosqlite(log: str | Path, options: dict[str, Any]) -> Any:
    def begun(connection: Any) -> Recording:
        driver = driver_of(connection)
        recording = Recording(connection, driver, begin(connection, driver, log, **options))
        recording.muted = True
        return recording

    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
        keywords["factory"] = recorded_connection_class(keywords.get("factory", sqlite3.Connection), begun)

    return connect


_CONNECTING: Mapping[str, Callable[[str | Path, dict[str, Any]], Any]] = {
    "postgresql+psycopg": _psycopg,
    "sqlite+pysqlite": _dbapi,
    "sqlite+aiosqlite": _aiosqlite,
    "mysql+pymysql": _dbapi,
    "mariadb+pymysql": _dbapi,
}
"""What makes an engine's connections recorded ones, by driver."""


def _mute(connection: Any, muted: bool) -> None:
    if connection is None:  # it was invalidated
        return
    driver = getattr(connection, "driver_connection", connection)
    driver = getattr(driver, "_conn", driver) if type(driver).__module__.startswith("aiosqlite") else driver
    if hasattr(driver, "recording"):
        driver.recording.muted = muted
    else:
        driver.muted = muted
