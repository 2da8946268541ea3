"""Recording SQLAlchemy 2 by engine events: an application, ORM or not, is recorded without touching it (issue 5).

New connections of an engine are made by the recorder (event ``do_connect``), and record while they are checked out of
the pool; what a dialect asks when it connects, and a pool's pings, go by unrecorded. Does not know the ORM.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubadour.record.dbapi import wrap
from troubadour.record.errors import RecordError

if TYPE_CHECKING:
    from sqlalchemy import Engine


def listen(engine: Engine, *, log: str | Path, **options: Any) -> None:
    """Record every connection that the engine makes from now on, in the log at the path `log`. For PostgreSQL
    (``postgresql+psycopg``), SQLite, MySQL and MariaDB (``mysql+pymysql``); `options` as of `recorder.connect`. Call it
    before the engine is used. Raises RecordError for other drivers, asynchronous engines among them, and where
    SQLAlchemy is not installed."""
    try:
        from sqlalchemy import event
    except ImportError as error:
        raise RecordError("SQLAlchemy is not installed: pip install 'sqlalchemy>=2'") from error
    base: Any = engine
    if hasattr(base.pool, "checkedout") and base.pool.checkedout():
        raise RecordError("the engine has connections in use: listen() before it is used")
    base.dispose()  # connections that were made before are not recorded
    driver = f"{base.dialect.name}+{base.dialect.driver}"
    if driver == "postgresql+psycopg":
        event.listen(base, "do_connect", _psycopg(Path(log), options))
    elif driver in ("sqlite+pysqlite", "mysql+pymysql", "mariadb+pymysql"):
        event.listen(base, "do_connect", _dbapi(Path(log), options))
    else:
        raise RecordError(f"{driver} is not recorded; postgresql+psycopg, sqlite and mysql+pymysql are")
    event.listen(base, "checkout", lambda connection, record, proxy: _mute(connection, False))
    event.listen(base, "checkin", lambda connection, record: _mute(connection, True))


def _psycopg(log: Path, options: dict[str, Any]) -> Any:
    from troubadour.record.postgres.connection import RecordedConnection

    recorded: Any = RecordedConnection.connect

    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        connection = recorded(*arguments, log=log, **options, **keywords)
        connection.muted = True
        return connection

    return connect


def _dbapi(log: Path, options: dict[str, Any]) -> Any:
    def connect(dialect: Any, record: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        connection = wrap(dialect.loaded_dbapi.connect(*arguments, **keywords), log=log, **options)
        connection.recording.muted = True
        return connection

    return connect


def _mute(connection: Any, muted: bool) -> None:
    if connection is None:  # it was invalidated
        return
    driver = getattr(connection, "driver_connection", connection)
    if hasattr(driver, "recording"):
        driver.recording.muted = muted
    else:
        driver.muted = muted
