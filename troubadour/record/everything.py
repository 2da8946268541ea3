"""Recording a whole process without touching its code: the functions by which drivers connect are replaced.

psycopg, sqlite3 (and with it aiosqlite), PyMySQL and DuckDB are recorded; other drivers of databases that are installed
refuse to connect, so that nothing passes unseen. Does not know the application.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from troubadour.record.dbapi import wrap
from troubadour.record.dbapi.connection import begin
from troubadour.record.dbapi.sqlite import recorded_connection_class as recorded_sqlite_class
from troubadour.record.dbapi.transactions import Recording as DbapiRecording
from troubadour.record.drivers.detection import driver_of
from troubadour.record.errors import NotRecorded, RecordError
from troubadour.record.postgres.connection import Recording, recorded_connection_class

UNKNOWN: Mapping[str, str] = {
    "asyncpg": "psycopg 3 (postgresql+psycopg:// in SQLAlchemy, psycopg:// in Tortoise)",
    "psycopg2": "psycopg 3 (postgresql+psycopg:// in SQLAlchemy; Django takes it by itself where it is installed)",
    "pg8000": "psycopg 3 (postgresql+psycopg:// in SQLAlchemy)",
    "MySQLdb": "PyMySQL (mysql+pymysql:// in SQLAlchemy; pymysql.install_as_MySQLdb() elsewhere)",
    "mysql.connector": "PyMySQL (mysql+pymysql:// in SQLAlchemy)",
    "aiomysql": "PyMySQL",
    "asyncmy": "PyMySQL",
}
"""Drivers that are not recorded, and what to use instead."""
_OPENING = ("connect", "Connect", "create_pool", "_connect")
_FURTHER: Mapping[str, str] = {"asyncpg": "asyncpg.connection"}
"""Modules inside drivers that have the same functions, under which the driver's own pools call them."""
_CLASSES: Mapping[str, tuple[str, str]] = {"psycopg2": ("psycopg2.extensions", "connection")}
"""Classes that connect as they are made."""

_replaced: list[tuple[Any, str, Any]] = []
_memory = itertools.count(1)


def everything(log: str | Path, **options: Any) -> None:
    """Record every connection that this process makes from now on, in the log at the path `log`; ``{database}`` in it
    stands for the database's name, so that each has its own. `options` as of `recorder.connect`, for what they apply
    to. Call it before anything is imported that binds a driver's `connect` to a name of its own; calling it again does
    nothing. Drivers that are not recorded raise NotRecorded as they connect. Raises RecordError after `nothing`."""
    if _replaced:
        return
    path = Path(log).absolute()
    beside: dict[str, Any] = {
        name: options[name] for name in ("unwritable", "durable", "compatible", "checkpoints") if name in options
    }
    _psycopg(path, options)
    _sqlite(path, beside)
    for name in ("pymysql", "duckdb"):
        _wrapped(name, path, beside)
    for name, instead in UNKNOWN.items():
        _refused(name, instead)


def nothing() -> None:
    """Undo `everything`, for connections that are made from now on."""
    while _replaced:
        holder, name, original = _replaced.pop()
        setattr(holder, name, original)


def _replace(holder: Any, name: str, new: Any) -> None:
    _replaced.append((holder, name, vars(holder)[name] if isinstance(holder, type) else getattr(holder, name)))
    setattr(holder, name, new)


def _psycopg(path: Path, options: Mapping[str, Any]) -> None:
    kinds: tuple[Any, ...] = (psycopg.Connection, psycopg.AsyncConnection)
    for kind in kinds:
        _replace(kind, "connect", classmethod(_connecting(kind.connect.__func__, path, options)))
    _replace(psycopg, "connect", psycopg.Connection.connect)


def _connecting(original: Callable[..., Any], path: Path, options: Mapping[str, Any]) -> Callable[..., Any]:
    def connect(cls: Any, conninfo: str = "", **given: Any) -> Any:
        if issubclass(cls, Recording):
            return original(cls, conninfo, **given)
        return recorded_connection_class(cls).connect(conninfo, **{"log": path, **options, **given})

    return connect


FACTORY = 5
"""The place of the connection class among the arguments of `sqlite3.connect`."""


def _sqlite(path: Path, options: Mapping[str, Any]) -> None:
    original: Any = sqlite3.connect

    def connect(*arguments: Any, **keywords: Any) -> Any:
        database = arguments[0] if arguments else keywords.get("database", "")

        def begun(connection: Any) -> DbapiRecording:
            driver = driver_of(connection)
            tape = begin(connection, driver, path, database=_memory_database(database), **options)
            return DbapiRecording(connection, driver, tape)

        given = arguments[FACTORY] if len(arguments) > FACTORY else keywords.get("factory", sqlite3.Connection)
        factory = recorded_sqlite_class(given, begun) if isinstance(given, type) else given
        if len(arguments) > FACTORY:
            return original(*arguments[:FACTORY], factory, *arguments[FACTORY + 1 :], **keywords)
        return original(*arguments, **{**keywords, "factory": factory})

    for module in (sqlite3, sqlite3.dbapi2):
        _replace(module, "connect", connect)


def _memory_database(database: Any) -> tuple[Any, str] | None:
    """A database in memory is its connection's own, unless it is shared by name."""
    text = str(database)
    if text in ("", ":memory:"):
        number = next(_memory)
        return number, f"memory-{number}"
    shared = re.match(r"file:([^?]*)\?.*mode=memory", text)
    return (text, shared[1] or "memory") if shared else None


def _wrapped(name: str, path: Path, options: Mapping[str, Any]) -> None:
    module = _installed(name)
    if module is None:
        return
    original = module.connect

    @functools.wraps(original)
    def connect(*arguments: Any, **keywords: Any) -> Any:
        return wrap(original(*arguments, **keywords), log=path, **options)

    for function in _OPENING:
        if getattr(module, function, None) is original:
            _replace(module, function, connect)


def _refused(name: str, instead: str) -> None:
    module = _installed(name)
    if module is None or module is sys.modules.get("pymysql"):
        return

    def connect(*arguments: Any, **keywords: Any) -> NoReturn:
        raise NotRecorded(f"{name} is not recorded: use {instead}")

    for holder in (module, _installed(_FURTHER[name]) if name in _FURTHER else None):
        for function in _OPENING:
            if holder is not None and callable(getattr(holder, function, None)):
                _replace(holder, function, connect)
    if name in _CLASSES:
        inside, kind = _CLASSES[name]
        holder = _installed(inside)
        if holder is not None:
            _replace(holder, kind, type(kind, (getattr(holder, kind),), {"__init__": connect}))


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None
    except ImportError:
        return None


__all__ = ["RecordError", "everything", "nothing"]
