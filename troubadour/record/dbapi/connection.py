"""A DB-API connection that keeps a log: a wrapper around the application's own, whatever the driver (PEP 249).

Every statement's rows are fetched at once and given out from memory, so that what is logged is all that the statement
answered, as of one moment. Does not know the drivers: `drivers` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic_ns
from typing import Any, NoReturn, Self

from troubadour.record.core.journal import STOP, shared
from troubadour.record.core.segments import Captured, log_of, open_journal
from troubadour.record.core.tape import Tape
from troubadour.record.dbapi.statements import WRITES, Answered
from troubadour.record.dbapi.transactions import Recording
from troubadour.record.drivers.detection import Driver, driver_of
from troubadour.record.errors import NotRecorded
from troubadour.record.settings import begun_with, tell
from troubadour.record.statements.texts import Text, Verb, read_text


def wrap(
    connection: Any,
    *,
    log: str | Path,
    driver: Driver | None = None,
    unwritable: str = STOP,
    compatible: int | None = None,
    durable: bool = False,
    checkpoints: int | None = None,
) -> RecordedDbapi:
    """The connection as one that keeps a log at the path `log`; use it in place of the other, which is then the
    wrapper's alone. What is said of `recorder.connect` holds here too. Raises RecordError where nothing can be
    recorded."""
    known = driver or driver_of(connection)
    tape = begin(connection, known, log, unwritable, None, compatible, durable, checkpoints)
    return RecordedDbapi(connection, known, tape)


def begin(
    connection: Any,
    driver: Driver,
    log: str | Path,
    unwritable: str = STOP,
    database: tuple[Any, str] | None = None,
    compatible: int | None = None,
    durable: bool = False,
    checkpoints: int | None = None,
) -> Tape:
    """A tape of a connection that begins to be recorded; `database`: as the driver's, if the caller knows better."""
    level = driver.level(connection)
    source, name = driver.database(connection) if database is None else database

    def capture() -> Captured:
        found = driver.capture(connection)
        return Captured({**found.header, "isolation": level}, found.rows)

    path = log_of(log, name)
    journal = shared(path, lambda path: open_journal(path, capture, None, unwritable, durable))
    journal.durable = journal.durable or durable
    journal.check_source(source)
    tape = Tape(journal, level, compatible=compatible, checkpoints=checkpoints)
    if driver.settings is not None:
        tell(tape, driver.settings(connection), begun_with(journal), driver.dialect)
    return tape


class RecordedDbapi:
    """A DB-API connection that keeps a log; what it does not know itself it asks the application's connection."""

    def __init__(self, connection: Any, driver: Driver, tape: Tape) -> None:
        object.__setattr__(self, "_inner", connection)
        object.__setattr__(self, "recording", Recording(connection, driver, tape))
        object.__setattr__(self, "_last", None)

    recording: Recording
    _inner: Any
    _last: RecordedDbapiCursor | None

    def __getattr__(self, name: str) -> Any:
        if name in _UNSEEN:
            _refuse(name)
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_last":
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)

    def cursor(self, *arguments: Any, **options: Any) -> Any:
        """A recorded cursor; of a DuckDB connection it is a connection of its own, as there."""
        inner = self._inner.cursor(*arguments, **options)
        if self.recording.driver.cursors_are_connections:
            tape = self.recording.tape
            return RecordedDbapi(inner, self.recording.driver, tape.another())
        return RecordedDbapiCursor(self, inner)

    def execute(self, sql: str, params: Any = None) -> Any:
        """Run one statement, as sqlite3 and DuckDB let connections do."""
        cursor = RecordedDbapiCursor(self, self._executor())
        cursor.execute(sql, params)
        self._last = cursor
        return self if self.recording.driver.cursors_are_connections else cursor

    def executemany(self, sql: str, params: Any) -> Any:
        """Run one statement for each of the parameters."""
        cursor = RecordedDbapiCursor(self, self._executor())
        cursor.executemany(sql, params)
        self._last = cursor
        return self if self.recording.driver.cursors_are_connections else cursor

    def _executor(self) -> Any:
        return self._inner if self.recording.driver.cursors_are_connections else self._inner.cursor()

    def fetchone(self) -> Any:
        """The next row of what was executed last (DuckDB)."""
        return self._answered().fetchone()

    def fetchmany(self, size: int = 1) -> Any:
        """The next rows of what was executed last (DuckDB)."""
        return self._answered().fetchmany(size)

    def fetchall(self) -> Any:
        """The other rows of what was executed last (DuckDB)."""
        return self._answered().fetchall()

    def _answered(self) -> RecordedDbapiCursor:
        if self._last is None or not self.recording.driver.cursors_are_connections:
            raise AttributeError("nothing was executed on this connection itself")
        return self._last

    @property
    def description(self) -> Any:
        """Of what was executed last (DuckDB)."""
        return self._answered().description

    def begin(self, *arguments: Any) -> Any:
        """Begin a transaction, where the driver has that method."""
        invoked = monotonic_ns()
        answer = self._inner.begin(*arguments)
        if not self.recording.muted:
            self.recording.begun(invoked, Text(Verb.BEGIN, snapshot_at="statement"))
        return self if self.recording.driver.cursors_are_connections else answer

    def commit(self) -> Any:
        """Commit."""
        answer = self.recording.commit(self._inner.commit)
        return self if self.recording.driver.cursors_are_connections else answer

    def rollback(self) -> Any:
        """Roll back."""
        answer = self.recording.rollback(self._inner.rollback)
        return self if self.recording.driver.cursors_are_connections else answer

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._inner.close()
        self.recording.closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.recording.driver.name == "sqlite3":
            # as sqlite3: the transaction ends, the connection stays
            self.commit() if kind is None else self.rollback()
        else:
            self.close()


_UNSEEN = frozenset(
    {
        "executescript", "backup", "deserialize", "iterdump", "blobopen", "sql", "query", "table", "from_query",
        "df", "fetchdf", "fetch_df", "fetchnumpy", "arrow", "fetch_arrow_table", "pl", "torch", "tf", "append",
        "register", "callproc", "query_df", "read_csv", "read_parquet", "fetch_df_chunk", "fetch_record_batch",
        "from_df", "view", "load_extension", "to_arrow_table", "to_arrow_reader",
    }
)  # fmt: skip
"""What runs statements past the wrapper."""


def _refuse(name: str) -> NoReturn:
    raise NotRecorded(f"{name}() is not recorded: use execute() and fetchall()")


class RecordedDbapiCursor:
    """A DB-API cursor that keeps a log."""

    def __init__(self, connection: RecordedDbapi, inner: Any) -> None:
        object.__setattr__(self, "connection", connection)
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_answer", Answered())
        object.__setattr__(self, "_set", 0)
        object.__setattr__(self, "_place", 0)

    connection: RecordedDbapi
    _inner: Any
    _answer: Answered
    _set: int
    _place: int

    def __getattr__(self, name: str) -> Any:
        if name in _UNSEEN:
            _refuse(name)
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_answer", "_set", "_place"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)

    def execute(self, sql: str, params: Any = None) -> Any:
        """Run one statement, and fetch what it answers."""
        recording = self.connection.recording
        arguments = (sql,) if params is None else (sql, params)

        def send() -> Answered:
            self._inner.execute(*arguments)
            return self._fetched(sql)

        self._answer = recording.statement(sql, params, send) or Answered()
        self._set = self._place = 0
        return self if recording.driver.name != "PyMySQL" else self._answer.rowcount

    def executemany(self, sql: str, params: Any) -> Any:
        """Run one statement for each of the parameters, one after the other."""
        total = 0
        for one in params:
            self.execute(sql, one)
            total += max(self._answer.rowcount, 0)
        self._answer.rowcount = total
        return self if self.connection.recording.driver.name != "PyMySQL" else total

    def _fetched(self, sql: str) -> Answered:
        answered = Answered()
        inner, driver = self._inner, self.connection.recording.driver
        text = read_text(sql, driver.dialect)
        if driver.name == "sqlite3":
            factory, inner.row_factory = inner.row_factory, None
            raw = inner.fetchall() if inner.description is not None else []
            inner.row_factory = factory
            if inner.description is not None:
                made = [factory(inner, row) for row in raw] if factory is not None else list(raw)
                answered.results.append((inner.description, made, raw))
        elif driver.cursors_are_connections:
            description = inner.description
            rows = inner.fetchall() if description else []
            names = [column[0] for column in description or ()]
            if names == ["Count"] and driver.counts(self._inner, sql):
                answered.counts = True
                answered.rowcount = rows[0][0] if rows else -1
            if names and names != ["Success"]:
                answered.results.append((description, list(rows), list(rows)))
            if not answered.counts and text.word in WRITES:
                answered.rowcount = len(rows)
            return answered
        else:
            while True:
                if inner.description is not None:
                    rows = list(inner.fetchall())
                    plain = [list(row.values()) if isinstance(row, Mapping) else row for row in rows]
                    answered.results.append((inner.description, rows, plain))
                if not inner.nextset():
                    break
        answered.rowcount, answered.lastrowid = inner.rowcount, inner.lastrowid
        return answered

    @property
    def description(self) -> Any:
        """The columns of the current result set."""
        return self._answer.results[self._set][0] if self._set < len(self._answer.results) else None

    @property
    def rowcount(self) -> int:
        """As the driver gave it."""
        return self._answer.rowcount

    @property
    def lastrowid(self) -> Any:
        """As the driver gave it."""
        return self._answer.lastrowid

    def _rows(self) -> list[Any]:
        return self._answer.results[self._set][1] if self._set < len(self._answer.results) else []

    def fetchone(self) -> Any:
        """The next row, or None."""
        rows = self._rows()
        if self._place >= len(rows):
            return None
        self._place += 1
        return rows[self._place - 1]

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows."""
        size = self._inner.arraysize if size is None else size
        found = self._rows()[self._place : self._place + size]
        self._place += len(found)
        return found

    def fetchall(self) -> list[Any]:
        """All other rows."""
        found = self._rows()[self._place :]
        self._place += len(found)
        return found

    def nextset(self) -> bool | None:
        """On to the next result set."""
        if self._set + 1 >= len(self._answer.results):
            return None
        self._set, self._place = self._set + 1, 0
        return True

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the cursor."""
        self._inner.close()
