"""sqlite3 connections and cursors that keep a log and are sqlite3's own classes: for whatever makes its connections by
`sqlite3.connect`, with cursor classes, row factories and functions of its own (Django, aiosqlite, peewee, ...).

A statement's rows are fetched at once and given out from memory, as by the wrapper. Does not know how a log is judged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NoReturn

from troubadour.record.dbapi.statements import Answered
from troubadour.record.dbapi.transactions import Recording
from troubadour.record.errors import NotRecorded

Begin = Callable[[Any], Recording]
"""Begins to record a connection that was just opened."""


class CursorRecording:
    """Mixed into a cursor class."""

    connection: Any
    description: Any
    arraysize: int
    row_factory: Any
    _rows: Iterator[Any] | None = None

    def execute(self, sql: str, params: Any = (), /) -> Any:
        """As sqlite3's."""
        parent: Any = super()
        recording = self.connection.recording
        self._rows = None

        def send() -> Answered:
            parent.execute(sql, params)
            return self._answered()

        if recording is None:
            return parent.execute(sql, params)
        recording.statement(sql, params or None, send)
        return self

    def executemany(self, sql: str, params: Iterable[Any], /) -> Any:
        """As sqlite3's, one statement after the other."""
        for one in params:
            self.execute(sql, one)
        return self

    def executescript(self, script: str, /) -> Any:
        """As sqlite3's: what is open is committed, and each statement is executed by itself."""
        connection = self.connection
        if connection.in_transaction:
            connection.commit()
        level, connection.isolation_level = connection.isolation_level, None
        try:
            for statement in statements(script):
                self.execute(statement)
        finally:
            connection.isolation_level = level
        return self

    def _answered(self) -> Answered:
        me: Any = self
        parent: Any = super()
        answered = Answered()
        if me.description is not None:
            factory, me.row_factory = me.row_factory, None
            raw = parent.fetchall()
            me.row_factory = factory
            answered.results.append((me.description, [], raw))
            self._rows = iter(raw if factory is None else [factory(self, row) for row in raw])
        answered.rowcount, answered.lastrowid = me.rowcount, me.lastrowid
        return answered

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        parent: Any = super()
        return next(self._rows) if self._rows is not None else parent.__next__()

    def fetchone(self) -> Any:
        """As sqlite3's."""
        parent: Any = super()
        return next(self._rows, None) if self._rows is not None else parent.fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """As sqlite3's."""
        parent: Any = super()
        wanted = self.arraysize if size is None else size
        if self._rows is None:
            found: list[Any] = parent.fetchmany(wanted)
            return found
        return [row for _, row in zip(range(wanted), self._rows, strict=False)]

    def fetchall(self) -> list[Any]:
        """As sqlite3's."""
        parent: Any = super()
        return list(self._rows) if self._rows is not None else parent.fetchall()


def _makes_cursors(connection: type) -> bool:
    """Whether a class of connections has a way of its own to make cursors, below what is mixed in."""
    below = connection.__mro__[connection.__mro__.index(ConnectionRecording) + 1 :]
    return next(one for one in below if "cursor" in vars(one)) is not sqlite3.Connection


class ConnectionRecording:
    """Mixed into a connection class; `recording` is None while the recorder itself is at work."""

    begin_recording: Begin
    recording: Recording | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.recording = type(self).begin_recording(self)

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """A recorded cursor of the class that is asked for, or that the connection's class makes by itself."""
        parent: Any = super()
        factory = arguments[0] if arguments else options.get("factory")
        if isinstance(factory, type):
            return parent.cursor(recorded_cursor_class(factory))
        if factory is None and _makes_cursors(type(self)):
            made = parent.cursor(*arguments, **options)
            own: Any = type(made)
            if own is not sqlite3.Cursor:
                made.__class__ = own if issubclass(own, CursorRecording) else recorded_cursor_class(own)
                return made
        return parent.cursor(recorded_cursor_class(sqlite3.Cursor) if factory is None else factory)

    def execute(self, *arguments: Any) -> Any:
        """As sqlite3's."""
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        """As sqlite3's."""
        return self.cursor().executemany(*arguments)

    def executescript(self, *arguments: Any) -> Any:
        """As sqlite3's."""
        return self.cursor().executescript(*arguments)

    def commit(self) -> None:
        """As sqlite3's."""
        parent: Any = super()
        parent.commit() if self.recording is None else self.recording.commit(parent.commit)

    def rollback(self) -> None:
        """As sqlite3's."""
        parent: Any = super()
        parent.rollback() if self.recording is None else self.recording.rollback(parent.rollback)

    def close(self) -> None:
        """As sqlite3's: what is open is rolled back."""
        parent: Any = super()
        parent.close()
        if self.recording is not None:
            self.recording.closed()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.commit() if kind is None else self.rollback()

    def blobopen(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refused. Raises NotRecorded."""
        raise NotRecorded("blobopen() is not recorded: use execute()")

    def deserialize(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refused. Raises NotRecorded."""
        raise NotRecorded("deserialize() is not recorded: load before the log begins")


def recorded_connection_class(connection: type[Any], begin: Begin) -> type[Any]:
    """The recorded class of a connection class that the application uses."""
    if issubclass(connection, ConnectionRecording):
        return connection
    return type(
        f"Recorded{connection.__name__}", (ConnectionRecording, connection), {"begin_recording": staticmethod(begin)}
    )


@lru_cache(maxsize=100)
def recorded_cursor_class(cursor: Any) -> Any:
    """The recorded class of a cursor class: what it does itself comes first, then the recording, then sqlite3."""
    if issubclass(cursor, CursorRecording):
        return cursor
    recorded = type("RecordedCursor", (CursorRecording, sqlite3.Cursor), {})
    return recorded if cursor is sqlite3.Cursor else type(f"Recorded{cursor.__name__}", (cursor, recorded), {})


def statements(script: str) -> Iterator[str]:
    """The statements of a script."""
    begun = ""
    for piece in script.split(";"):
        begun += piece + ";"
        if sqlite3.complete_statement(begun):
            if begun.strip(" \t\r\n;"):
                yield begun.strip()
            begun = ""
    if begun.strip(" \t\r\n;"):
        yield begun.strip().removesuffix(";")
