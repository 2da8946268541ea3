"""psycopg connections that keep a log: everything that psycopg sends goes through a few generators, which are
overridden here, for the synchronous and the asynchronous classes alike (issue 5).

Does not know the application; its results, errors, row factories and adapters are psycopg's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from time import monotonic_ns
from typing import Any, Self, cast

import psycopg
from psycopg import errors, pq
from psycopg.abc import PQGen
from psycopg.generators import execute
from psycopg.sql import Composable

from sql_semantics.records import dataclass
from troubadour.record.core.journal import STOP, Journal
from troubadour.record.core.segments import log_of
from troubadour.record.core.tape import NOTHING, UNKNOWN, Tape, Transcript, fields
from troubadour.record.errors import NotRecorded, RecordError, Unwritable
from troubadour.record.postgres.cursors import (
    LIKELY,
    NONE,
    POSSIBLE,
    RecordedAsyncCursor,
    RecordedAsyncServerCursor,
    RecordedCursor,
    RecordedServerCursor,
    error_field,
    error_json,
    record_all_cursors,
    recorded_class,
)
from troubadour.record.postgres.log import Opened, lifetime, open_log
from troubadour.record.postgres.wire import Taker, says_aborted
from troubadour.record.settings import POSTGRES, Told, begun_with, postgres_settings, tell
from troubadour.record.statements.secrets import administers
from troubadour.record.statements.texts import POSTGRES_LEVELS, Text, Verb, read_text

IDLE = pq.TransactionStatus.IDLE
INTRANS = pq.TransactionStatus.INTRANS
TEXT = pq.Format.TEXT

XID = b"SELECT pg_catalog.pg_current_xact_id_if_assigned();"
SEEN = (
    b"SELECT pg_catalog.pg_current_xact_id_if_assigned(),"
    b" CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_current_snapshot() END;"
)
"""A standby names no transaction that was running when its snapshot was taken: it is not what was seen."""
ONE_SNAPSHOT = frozenset({"REPEATABLE READ", "SERIALIZABLE"})
"""Levels of SQL's at which a transaction has one snapshot, whenever it is asked for."""
Ids = tuple[str | None, bytes]
"""What a server knows a transaction by, if its commit time is wanted; and what the log says of it, as JSON."""
NO_IDS: Ids = (None, NOTHING)


DIALECT = "postgres"
_COMMANDS = {command: read_text(command.decode(), DIALECT) for command in (b"BEGIN", b"COMMIT", b"ROLLBACK")}


def _settings(pgconn: Any) -> Told:
    """What a connection that was just made is set to. Raises psycopg.Error. (Asked for past psycopg, which may be
    asynchronous.)"""
    result = pgconn.exec_(POSTGRES.encode())
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise errors.error_from_result(result)
    rows = [[(result.get_value(n, m) or b"").decode() for m in (0, 1)] for n in range(result.ntuples)]
    return postgres_settings(rows)


class Recording:
    """What the recorded connection classes have in common. `tape` is None while the recorder itself is at work."""

    pgconn: Any
    tape: Tape | None = None
    opened: Opened | None = None
    muted = False
    """Whether statements go by unrecorded; an adapter sets it around a driver's own questions to the catalogs."""
    starting = False
    """Whether a BEGIN is one that psycopg sends for the statement that a cursor was given."""
    levels: Mapping[str, str] = POSTGRES_LEVELS
    """What the log calls SQL's levels."""
    snapshots = False
    """Whether transactions are logged with their ids, and those that have one snapshot with it."""
    plain_texts: dict[bytes, tuple[int, int]]
    """Texts that are nothing but a statement: their number in the journal, and their `effect`."""
    _prepared_ids: Ids = NO_IDS
    _doubtful: Transcript | None = None
    """The transaction that was prepared last, while it is not finished; others may follow it on the connection."""

    def begin_recording(
        self, opened: Opened, snapshots: bool, compatible: int | None = None, checkpoints: int | None = None
    ) -> None:
        """From now on statements are logged, with the options as `recorder.connect` has them."""
        self.snapshots = snapshots
        taker = Taker(opened.journal)
        tape = Tape(opened.journal, opened.level, raw=taker, compatible=compatible, checkpoints=checkpoints)
        if opened.asks_tickets:
            tape.lifetime = lifetime(self.pgconn)
        tell(tape, _settings(self.pgconn), begun_with(opened.journal), DIALECT)
        self.opened, self.tape = opened, tape

    # -- what psycopg sends for itself: BEGIN, COMMIT, savepoints, FETCH

    def _exec_command(self, command: Any, result_format: pq.Format = TEXT) -> PQGen[Any]:
        tape = self.tape
        if tape is None or self.muted:
            return self._plain(command, result_format)
        if isinstance(command, Composable):
            command = command.as_bytes(self)  # type: ignore[arg-type]
        elif isinstance(command, str):
            command = command.encode()
        text = _COMMANDS.get(command) or read_text(command.decode(), DIALECT)
        verb = text.verb
        if verb is Verb.COMMIT:
            return self._commit(command)
        if verb is Verb.BEGIN:
            if command not in _COMMANDS and len(_COMMANDS) < 100:
                _COMMANDS[command] = text
            if self.starting:  # the cursor knows when it was answered
                assert self.tape is not None
                self.tape.begin(monotonic_ns(), self.level_of(text), text.read_only)
                return self._plain(command, result_format)
            return self._begin(command, text, result_format)
        if verb is Verb.ROLLBACK:
            return self._rollback(command)
        if verb is Verb.SAVEPOINT:
            return self._savepoint(command)
        if verb is Verb.PREPARED:
            return self._prepare_transaction(command)
        if verb is Verb.REFUSED and b" PREPARED " in command:
            return self._finish_prepared(command)
        return self._plain(command, result_format)

    def _plain(self, command: bytes, result_format: pq.Format = TEXT) -> PQGen[Any]:
        parent: Any = super()
        sent: PQGen[Any] = parent._exec_command(command, result_format)
        return sent

    def _begin(self, command: bytes, text: Text, result_format: pq.Format) -> PQGen[Any]:
        tape = self.tape
        assert tape is not None
        invoked = monotonic_ns()
        # a transaction that could not begin has no statements and harms nobody
        tape.begin(invoked, self.level_of(text), text.read_only)
        result = yield from self._plain(command, result_format)
        tape.begun(invoked)
        return result

    def _commit(self, command: bytes) -> PQGen[Any]:
        parent: Any = super()
        tape, transcript = self.tape, self.tape.current if self.tape is not None else None
        assert tape is not None
        if transcript is None:
            return (yield from parent._exec_command(command))
        ids = NO_IDS
        alive = self.pgconn.transaction_status == INTRANS
        question = self._question(transcript) if alive else None
        if transcript.needs_intent and alive:
            yield from self._intend(transcript)
        invoked = monotonic_ns()
        try:
            if question is not None:
                ids, result = yield from self._ask_and_commit(question, command)
            else:
                result = yield from parent._exec_command(command)
        except psycopg.Error as error:
            self.commit_failed(error, invoked)
            raise
        except BaseException:
            tape.end("unknown", invoked, None)
            raise
        committed = result.command_status == b"COMMIT"
        tape.end(
            "committed" if committed else "aborted", invoked, monotonic_ns(), None, *(ids if committed else NO_IDS)
        )
        if committed and transcript.checkpoint is None:
            yield from self._checkpoint(transcript.level)
        return result

    def _checkpoint(self, level: str | None) -> PQGen[None]:
        """Read all rows, where that is due: behind a COMMIT, at the level of what has committed, so that the log says
        no other. Nothing has to be aborted for what only reads while no other transaction is under way. What the server
        answers to it is not the application's."""
        tape = self.tape
        assert tape is not None
        due = tape.due()
        if due is None:
            return
        named = next((name for name, known in self.levels.items() if known == level), None)
        begin = "BEGIN READ ONLY" if named is None else f"BEGIN ISOLATION LEVEL {named} READ ONLY"
        try:
            yield from self._begin(begin.encode(), read_text(begin, DIALECT), TEXT)
            yield from self._copy(tape.copying(due), due.queries)
            yield from self._commit(b"COMMIT")
        except BaseException as error:
            tape.uncopied()
            if not isinstance(error, psycopg.Error):
                raise
            if tape.current is not None and self.pgconn.status == pq.ConnStatus.OK:
                yield from self._rollback(b"ROLLBACK")

    def _copy(self, transcript: Transcript, queries: Sequence[str]) -> PQGen[None]:
        for query in map(str.encode, queries):
            invoked = monotonic_ns()
            self.pgconn.send_query(query)
            (result,) = yield from execute(self.pgconn)
            if result.status != pq.ExecStatus.TUPLES_OK:
                error = errors.error_from_result(result)
                self.failed(fields({"sql": query.decode()}), invoked, error)
                raise error
            number = self.journal.text(query)
            transcript.statements.append((number, None, (), None, invoked, monotonic_ns(), result))

    def _intend(self, transcript: Transcript) -> PQGen[None]:
        """COMMIT is about to be sent. Raises Unwritable, with the transaction rolled back."""
        assert self.tape is not None
        try:
            self.tape.intend(transcript, monotonic_ns())
        except Unwritable as error:
            yield from self._rollback(b"ROLLBACK")
            raise Unwritable(f"{error} (this transaction was rolled back)") from error

    def _question(self, transcript: Transcript) -> bytes | None:
        """What to ask before a transaction that is about to commit is forgotten."""
        assert self.tape is not None
        if self.snapshots and any(self.levels.get(name) == transcript.level for name in ONE_SNAPSHOT):
            return SEEN
        if not transcript.needs_intent:
            return None
        # a commit time is a hint: it is not asked for where only something unusual would have written
        return XID if self.snapshots or (transcript.changes and self.tape.lifetime is not None) else None

    def _ids(self, answer: Any) -> Ids:
        """Of the answer to such a question: the ticket, where a commit time is wanted, and what the log says."""
        assert self.tape is not None
        xid, snapshot = (
            value.decode() if answer.nfields > place and (value := answer.get_value(0, place)) is not None else None
            for place in (0, 1)
        )
        said = NOTHING
        if self.snapshots:
            said += b"" if xid is None else b',"xid":"%b"' % xid.encode()
            said += b"" if snapshot is None else b',"snapshot":"%b"' % snapshot.encode()
        return xid if self.tape.lifetime is not None else None, said

    def commit_failed(self, error: psycopg.Error, invoked: int) -> None:
        """End the transaction after an error in answer to COMMIT: unknown, unless the server says otherwise."""
        assert self.tape is not None
        state = error.sqlstate
        if state is not None and says_aborted(state) and self.pgconn.transaction_status == IDLE:
            self.tape.end("aborted", invoked, monotonic_ns(), error_json(error))
        else:
            self.tape.end("unknown", invoked, None)

    def _ask_and_commit(self, question: bytes, command: bytes) -> PQGen[tuple[Ids, Any]]:
        """Both in one message and one answer."""
        self.pgconn.send_query(question + command)
        results = yield from execute(self.pgconn)
        for result in results:
            if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
                raise psycopg.errors.error_from_result(result)
        asked, ended = results
        return self._ids(asked), ended

    def _rollback(self, command: bytes) -> PQGen[Any]:
        parent: Any = super()
        assert self.tape is not None
        invoked = monotonic_ns()
        try:
            result = yield from parent._exec_command(command)
        except BaseException:
            self.tape.end("aborted", invoked, None)
            raise
        self.tape.end("aborted", invoked, monotonic_ns())
        return result

    def _savepoint(self, command: bytes) -> PQGen[Any]:
        parent: Any = super()
        transcript = self.tape.current if self.tape is not None else None
        if transcript is None:
            return (yield from parent._exec_command(command))
        statement = fields({"sql": command.decode()})
        invoked = monotonic_ns()
        try:
            result = yield from parent._exec_command(command)
        except psycopg.Error as error:
            self.failed(statement, invoked, error)
            raise
        transcript.add(statement, invoked, monotonic_ns(), NOTHING)
        return result

    def failed(self, statement: Any, invoked: int, error: BaseException, secret: bool = False) -> None:
        """Log a statement of the open transaction that brought an error, and the end of the transaction if the
        connection broke. `secret`: its message may tell a password."""
        assert self.tape is not None
        transcript = self.tape.current
        if transcript is None:
            return
        if isinstance(error, psycopg.Error) and error.sqlstate is not None:
            transcript.add(statement, invoked, monotonic_ns(), error_field(error, secret))
        else:
            transcript.add(statement, invoked, None, UNKNOWN)
        if self.pgconn.status != pq.ConnStatus.OK:
            self.tape.end("aborted", None, None)

    # -- two-phase commit

    def _prepare_transaction(self, command: bytes) -> PQGen[Any]:
        parent: Any = super()
        tape, transcript = self.tape, self.tape.current if self.tape is not None else None
        assert tape is not None
        if transcript is None:
            return (yield from parent._exec_command(command))
        question = self._question(transcript) if self.pgconn.transaction_status == INTRANS else None
        self._prepared_ids = NO_IDS if question is None else self._ids((yield from parent._exec_command(question)))
        # from here on somebody else may commit it
        yield from self._intend(transcript)
        invoked = monotonic_ns()
        try:
            result = yield from parent._exec_command(command)
        except psycopg.Error as error:
            self.commit_failed(error, invoked)
            raise
        if result.command_status == b"ROLLBACK":
            tape.end("aborted", invoked, monotonic_ns())
        else:
            self._end_doubtful("unknown", None, None)  # only the last one can be finished here
            self._doubtful, tape.current = transcript, None
        return result

    def _end_doubtful(self, status: str, invoked: int | None, returned: int | None, ids: Ids = NO_IDS) -> None:
        """The prepared transaction, if there is one, has ended."""
        doubtful, self._doubtful = self._doubtful, None
        if doubtful is not None:
            self.end_beside(doubtful, status, invoked, returned, ids)

    def end_beside(
        self, transcript: Transcript, status: str, invoked: int | None, returned: int | None, ids: Ids = NO_IDS
    ) -> None:
        """A transaction has ended that is not the open one."""
        tape = self.tape
        assert tape is not None
        following, tape.current = tape.current, transcript
        tape.end(status, invoked, returned, None, *ids)
        tape.current = following

    def _finish_prepared(self, command: bytes) -> PQGen[Any]:
        parent: Any = super()
        if self._doubtful is None:
            raise NotRecorded(
                "a transaction that another connection prepared cannot be finished on a recorded one: its line in the "
                "log says already that it may have committed; finish it on a connection that is not recorded"
            )
        invoked = monotonic_ns()
        try:
            result = yield from parent._exec_command(command)
        except BaseException:
            self._end_doubtful("unknown", invoked, None)
            raise
        if command.startswith(b"COMMIT"):
            self._end_doubtful("committed", invoked, monotonic_ns(), self._prepared_ids)
        else:
            self._end_doubtful("aborted", invoked, monotonic_ns())
        return result

    # -- what the cursors ask

    def level_of(self, text: Text) -> str | None:
        """The level that a text names, as the log calls it."""
        return None if text.level is None else self.levels[text.level]

    def text_of(self, query: bytes) -> Text:
        """What the recorder knows of a text. Raises NotRecorded for what has no form in the log."""
        text = read_text(query.decode(), DIALECT)
        if text.verb is Verb.REFUSED:
            raise NotRecorded(text.reason)
        if text.verb in (Verb.READ, Verb.WRITE) and not administers(query.decode()):
            if len(self.plain_texts) > 10_000:
                self.plain_texts.clear()
            self.plain_texts[query] = (self.journal.text(query), self.effect(text))
        return text

    @property
    def journal(self) -> Journal:
        """Where the lines go."""
        assert self.opened is not None
        return self.opened.journal

    def effect(self, text: Text) -> int:
        """Whether a statement writes, by its text: NONE, POSSIBLE or LIKELY (see `cursors`)."""
        if text.harmless:
            return NONE
        if text.verb is Verb.WRITE:
            return LIKELY
        known = self.opened is not None and not self.opened.writers.isdisjoint(text.calls)
        return LIKELY if known else POSSIBLE

    def ended_by_closing(self) -> None:
        """The connection is being closed: what was open is rolled back, what was prepared stays so."""
        if self.tape is None or self.journal.closed:
            return
        self._end_doubtful("unknown", None, None)
        if self.tape.current is not None:
            self.tape.closed("aborted")


class _Classes:
    """What the connection classes set up alike: their cursors are recorded ones, whatever the application asks for."""

    client_cursor: type[Any]
    server_cursor: type[Any]

    def __init__(self, *arguments: Any, **kwargs: Any) -> None:
        super().__init__(*arguments, **kwargs)
        me: Any = self
        me.plain_texts = {}
        me.piped = 0
        me.implied = False
        me.cursor_factory = self.client_cursor
        me.server_cursor_factory = self.server_cursor

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("cursor_factory", "server_cursor_factory") and isinstance(value, type):
            value = recorded_class(value)
        super().__setattr__(name, value)

    def begin_implied_gen(self) -> PQGen[None]:
        """Begin the transaction that a pipeline's statements are in."""
        me: Any = self
        yield from me._exec_command(b"BEGIN")
        me.implied = True

    def end_implied_gen(self, failed: bool) -> PQGen[None]:
        """End it, if there is one."""
        me: Any = self
        if not me.implied:
            return
        me.implied = False
        status = me.pgconn.transaction_status
        if status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            committed = not failed and status == pq.TransactionStatus.INTRANS
            yield from me._exec_command(b"COMMIT" if committed else b"ROLLBACK")

    def pipeline(self) -> Any:
        """A pipeline whose statements are sent one by one, so that each has its own answer and times. Under autocommit
        those outside of ``transaction()`` are one transaction, up to the next sync (libpq, Pipeline Mode)."""
        me: Any = self
        return _AsyncDirect(me) if isinstance(self, psycopg.AsyncConnection) else _Direct(me)


class _Direct:
    """What stands for a pipeline: nothing waits in it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def __enter__(self) -> Self:
        self.connection.piped += 1
        return self

    def __exit__(self, error: object, *rest: object) -> None:
        self.connection.piped -= 1
        if not self.connection.piped:
            self._end(error is not None)

    def sync(self) -> None:
        """All was answered."""
        self._end(False)

    def _end(self, failed: bool) -> None:
        if self.connection.implied:
            with self.connection.lock:
                self.connection.wait(self.connection.end_implied_gen(failed))


class _AsyncDirect:
    """`_Direct` of a connection whose methods are awaited."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def __aenter__(self) -> Self:
        self.connection.piped += 1
        return self

    async def __aexit__(self, error: object, *rest: object) -> None:
        self.connection.piped -= 1
        if not self.connection.piped:
            await self._end(error is not None)

    async def sync(self) -> None:
        """All was answered."""
        await self._end(False)

    async def _end(self, failed: bool) -> None:
        if self.connection.implied:
            async with self.connection.lock:
                await self.connection.wait(self.connection.end_implied_gen(failed))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The recorder's own options among those of `connect`."""

    log: Path
    commit_order: str
    unwritable: str
    snapshots: bool
    certificate: Path | None
    compatible: int | None
    durable: bool
    checkpoints: int | None

    def begin(self, connection: Any) -> None:
        """Begin recording on a connection. Raises RecordError."""
        path = log_of(self.log, connection.info.dbname)
        connection.begin_recording(
            open_log(connection, path, self.commit_order, self.unwritable, self.certificate, self.durable),
            self.snapshots,
            self.compatible,
            self.checkpoints,
        )


def _wanted(options: dict[str, Any]) -> _Wanted:
    """Takes the recorder's own options out of those of `connect`."""
    log = options.pop("log", "")
    if not log:
        raise RecordError("log=PATH is missing: where should the log go?")
    certificate = options.pop("certificate", None)
    return _Wanted(
        Path(log),
        options.pop("commit_order", "timestamps"),
        options.pop("unwritable", STOP),
        options.pop("snapshots", False) or certificate is not None,
        None if certificate is None else Path(certificate),
        options.pop("compatible", None),
        options.pop("durable", False),
        options.pop("checkpoints", None),
    )


class SyncRecording(_Classes, Recording):
    """What synchronous connection classes do in their own way."""

    client_cursor, server_cursor = RecordedCursor, RecordedServerCursor

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """As psycopg's, with the options of `recorder.connect`. Raises RecordError where nothing can be recorded."""
        wanted = _wanted(options)
        parent: Any = super()
        connection = parent.connect(conninfo, **options)
        try:
            wanted.begin(connection)
        except BaseException:
            connection.close()
            raise
        return cast(Self, connection)

    def close(self) -> None:
        """Close the connection; an open transaction is logged as aborted."""
        parent: Any = super()
        if not parent.closed:
            parent.close()
            self.ended_by_closing()


class RecordedConnection(SyncRecording, psycopg.Connection[Any]):
    """A `psycopg.Connection` that keeps a log. See `troubadour.record.recorder.connect`."""


class AsyncRecording(_Classes, Recording):
    """What asynchronous connection classes do in their own way."""

    client_cursor, server_cursor = RecordedAsyncCursor, RecordedAsyncServerCursor

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """As psycopg's, with the options of `recorder.connect`. Raises RecordError where nothing can be recorded."""
        wanted = _wanted(options)
        parent: Any = super()
        connection = await parent.connect(conninfo, **options)
        try:
            wanted.begin(connection)
        except BaseException:
            await connection.close()
            raise
        return cast(Self, connection)

    async def close(self) -> None:
        """Close the connection; an open transaction is logged as aborted."""
        parent: Any = super()
        if not parent.closed:
            await parent.close()
            self.ended_by_closing()


class RecordedAsyncConnection(AsyncRecording, psycopg.AsyncConnection[Any]):
    """A `psycopg.AsyncConnection` that keeps a log. See `troubadour.record.recorder.connect_async`."""


@lru_cache(maxsize=100)
def recorded_connection_class(connection: type[Any]) -> type[Any]:
    """The recorded class of a connection class that the application uses."""
    if issubclass(connection, Recording):
        return connection
    if connection in (psycopg.Connection, psycopg.AsyncConnection):
        return RecordedConnection if connection is psycopg.Connection else RecordedAsyncConnection
    mixin = AsyncRecording if issubclass(connection, psycopg.AsyncConnection) else SyncRecording
    return type(f"Recorded{connection.__name__}", (mixin, connection), {})


record_all_cursors(Recording)
