"""psycopg cursors that keep a log, synchronous and asynchronous, client-side and server-side.

A recorded class is the recording of one kind of cursor mixed into the class that the application uses. Does not know
when a transaction ends, unless the application says so in a text of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import lru_cache, partial
from time import monotonic_ns
from typing import Any, NoReturn

import psycopg
from psycopg import pq
from psycopg._cursor_base import BaseCursor
from psycopg._queries import PostgresClientQuery
from psycopg.abc import Params, PQGen, Query

from troubadour.record.core.journal import encode
from troubadour.record.core.tape import NOTHING, UNKNOWN, Later, Transcript, fields
from troubadour.record.errors import NotRecorded
from troubadour.record.postgres import wire
from troubadour.record.servers.server import one_line
from troubadour.record.statements.secrets import administers
from troubadour.record.statements.texts import Text, Verb

IDLE = pq.TransactionStatus.IDLE
NONE, POSSIBLE, LIKELY = range(3)
"""Whether a statement writes: certainly not; not as far as is known; as far as is known."""


class _Singles:
    """What all cursors do with a statement under autocommit, which is a transaction of its own."""

    _conn: Any
    _pgconn: Any

    def _single(self, pgq: Any, statement: Later, text: Text) -> Transcript:
        """A transaction of one statement, under autocommit: the statement is its COMMIT."""
        conn = self._conn
        invoked = monotonic_ns()
        transcript: Transcript = conn.tape.begin(invoked)
        known = conn.plain_texts.get(pgq.query)
        if known is None:
            transcript.add(statement, invoked, None, UNKNOWN)
        else:
            transcript.statements.append((known[0], *_given(pgq), invoked, None, UNKNOWN))
        transcript.wrote = not text.harmless
        if transcript.needs_intent:
            try:
                conn.tape.intend(transcript, None)
            except BaseException:
                conn.tape.drop()
                raise
        return transcript

    def _single_failed(self, transcript: Transcript, invoked: int, error: BaseException, secret: bool) -> None:
        conn = self._conn
        if (
            isinstance(error, psycopg.Error)
            and error.sqlstate is not None
            and self._pgconn.status == pq.ConnStatus.OK
            and self._pgconn.transaction_status == IDLE
        ):
            returned = monotonic_ns()
            transcript.failed(error_field(error, secret), returned)
            conn.tape.end("aborted", None, returned)
        else:
            conn.tape.end("unknown", None, None)


class CursorRecording(_Singles):
    """Client-side cursors: `execute`, `executemany`."""

    answered: Any
    """What the last statement of an `executemany` was answered, which psycopg need not keep."""

    def _execute_gen(
        self,
        query: Query,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> PQGen[None]:
        conn = self._conn
        tape = conn.tape
        me: Any = self
        if tape is None or conn.muted:
            parent: Any = super()
            yield from parent._execute_gen(query, params, prepare=prepare, binary=binary)
            return
        if conn.piped and conn.autocommit and conn.pgconn.transaction_status == IDLE:
            yield from conn.begin_implied_gen()
        if tape.current is None:
            conn.starting = True
            try:
                yield from me._start_query(query)
            finally:
                conn.starting = False
            tape.begun()
        else:
            yield from me._start_query(query)
        pgq = me._convert_query(query, params)
        transcript = tape.current
        text = conn.plain_texts.get(pgq.query)
        if transcript is None or text is None:
            yield from self._recorded(pgq, prepare, binary)
        else:
            # the way that nearly every statement takes: no more than keeping what there is anyway
            number, effect = text
            if effect:
                transcript.wrote = True
                if effect == LIKELY:
                    transcript.changes = True
            invoked = monotonic_ns()
            try:
                yield from me._maybe_prepare_gen(pgq, prepare=prepare, binary=binary)
            except BaseException as error:
                conn.failed(_statement(pgq), invoked, error)
                raise
            transcript.statements.append((number, *_given(pgq), invoked, monotonic_ns(), me.pgresult))
        me._last_query = query
        yield from conn._prepared.maintain_gen(conn)

    def _recorded(self, pgq: Any, prepare: bool | None, binary: bool | None) -> PQGen[None]:
        """Send one statement, and log it."""
        conn, me = self._conn, _any(self)
        text = conn.text_of(pgq.query)
        verb = text.verb
        if verb is not Verb.READ and verb is not Verb.WRITE and (yield from self._control(pgq, text)):
            return
        tape = conn.tape
        transcript = tape.current
        alone = transcript is None
        secret = administers(pgq.query.decode())
        statement: Later = _statement(pgq)
        if transcript is None:
            if self._pgconn.transaction_status != IDLE:
                raise NotRecorded("the open transaction was begun while recording was off: end it first")
            transcript = self._single(pgq, statement, text)
        elif not text.harmless:
            transcript.wrote = True
            transcript.changes = transcript.changes or conn.effect(text) == LIKELY
        invoked = monotonic_ns()
        try:
            yield from me._maybe_prepare_gen(pgq, prepare=prepare, binary=binary)
        except BaseException as error:
            if alone:
                self._single_failed(transcript, invoked, error, secret)
            else:
                conn.failed(statement, invoked, error, secret)
            raise
        returned = monotonic_ns()
        if secret:  # what it answered is not told, as it is not known what of it is one
            if alone:
                transcript.clear()
            transcript.add(statement, invoked, returned, NOTHING)
            if alone:
                tape.end("committed", None, returned)
            return
        answer = me.pgresult if me._execmany_returning is None else self.answered
        number, _ = conn.plain_texts.get(pgq.query) or (conn.journal.text(pgq.query), True)
        raw = (number, *_given(pgq), invoked, returned, answer)
        if not alone:
            transcript.statements.append(raw)
        else:
            transcript.answered(raw)
            tape.end("committed", None, returned)

    def _control(self, pgq: Any, text: Text) -> PQGen[bool]:
        """Run a statement that is about transactions. False if it is to be logged like any other."""
        conn, me = self._conn, _any(self)
        tape = conn.tape
        match text.verb:
            case Verb.COMMIT | Verb.ROLLBACK | Verb.PREPARED:
                if conn._num_transactions:
                    raise NotRecorded("COMMIT and ROLLBACK as texts inside connection.transaction() are not recorded")
                result = yield from conn._exec_command(pgq.query)
                me._query = pgq
                me._set_results([result])
                return True
            case Verb.BEGIN:
                invoked = monotonic_ns()
                yield from me._maybe_prepare_gen(pgq, prepare=False)
                if tape.current is None:
                    tape.begin(invoked, conn.level_of(text), text.read_only)
                    tape.begun(invoked)
                else:
                    tape.current.characterize(conn.level_of(text), text.read_only)
                return True
            case Verb.CHARACTERIZE:
                yield from me._maybe_prepare_gen(pgq, prepare=False)
                if tape.current is not None:
                    tape.current.characterize(conn.level_of(text), text.read_only)
                    tape.current.snapshot_at = text.snapshot_at or tape.current.snapshot_at
                return True
            case Verb.DEFAULT:
                yield from me._maybe_prepare_gen(pgq, prepare=False)
                tape.level = conn.level_of(text) or tape.level
                return True
            case Verb.NEUTRAL:
                yield from me._maybe_prepare_gen(pgq, prepare=False)
                return True
        return False

    def _executemany_gen_no_pipeline(self, query: Query, params_seq: Iterable[Params], returning: bool) -> PQGen[None]:
        """One statement after the other: the log says of each when it was sent and answered."""
        conn, me = self._conn, _any(self)
        yield from me._start_query(query)
        if not returning:
            me._rowcount = 0
        me._execmany_returning = returning
        # under autocommit psycopg's executemany is one transaction, as all goes in one pipeline
        alone = self._pgconn.transaction_status == IDLE
        if alone:
            yield from conn._exec_command(b"BEGIN")
        pgq: Any = None

        def keeping(results: list[Any]) -> None:
            self.answered = results[0]
            set_results(results)

        set_results, me._set_results = me._set_results, keeping
        try:
            for params in params_seq:
                if pgq is None:
                    pgq = me._query = me._convert_query(query, params)
                else:
                    pgq.dump(params)
                yield from self._recorded(pgq, True, None)
        except BaseException:
            if alone and self._pgconn.status == pq.ConnStatus.OK:
                yield from conn._exec_command(b"ROLLBACK")
            raise
        finally:
            del me._set_results
        if alone:
            yield from conn._exec_command(b"COMMIT")
        me._last_query = query
        yield from conn._prepared.maintain_gen(conn)

    def _start_copy_gen(self, statement: Query, params: Params | None = None) -> PQGen[None]:
        if self._conn.tape is None or self._conn.muted:
            parent: Any = super()
            yield from parent._start_copy_gen(statement, params)
        else:
            _refuse_copy()


def _given(pgq: Any) -> tuple[Any, tuple[int, ...], Any]:
    """The parameters that are sent with a statement, their types and formats: none where psycopg writes them into the
    text (`ClientCursor`)."""
    return (None, (), None) if isinstance(pgq, PostgresClientQuery) else (pgq.params, pgq.types, pgq.formats)


def _statement(pgq: Any) -> Later:
    """What makes the fields of a statement that psycopg has converted."""
    return partial(wire.statement, pgq.query, *_given(pgq))


def error_json(error: psycopg.Error) -> dict[str, object]:
    """A server's error as the log writes it."""
    return {"sqlstate": error.sqlstate, "message": one_line(error)}


def error_field(error: psycopg.Error, secret: bool = False) -> bytes:
    """A server's error as an observation, without its message if that may be `secret`."""
    return b',"error":' + encode({"sqlstate": error.sqlstate} if secret else error_json(error))


def _refuse_copy() -> NoReturn:
    raise NotRecorded(
        "COPY is not recorded, as its rows are not in the statement: use executemany, or load before the log begins"
    )


def _any(self: Any) -> Any:
    """The cursor that a mixin is part of."""
    return self


class SyncRecording(CursorRecording):
    """What synchronous cursors do in their own way."""

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """As psycopg's; statement by statement instead of in a pipeline."""
        me = _any(self)
        with self._conn.lock:
            self._conn.wait(me._executemany_gen_no_pipeline(query, params_seq, returning))

    def stream(
        self, query: Query, params: Params | None = None, *, binary: bool | None = None, size: int = 1
    ) -> Iterator[Any]:
        """As psycopg's, but all rows are fetched before the first is given."""
        me = _any(self)
        me.execute(query, params, binary=binary)
        yield from me


class AsyncRecording(CursorRecording):
    """What asynchronous cursors do in their own way."""

    async def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """As psycopg's; statement by statement instead of in a pipeline."""
        me = _any(self)
        async with self._conn.lock:
            await self._conn.wait(me._executemany_gen_no_pipeline(query, params_seq, returning))

    async def stream(
        self, query: Query, params: Params | None = None, *, binary: bool | None = None, size: int = 1
    ) -> AsyncIterator[Any]:
        """As psycopg's, but all rows are fetched before the first is given."""
        me = _any(self)
        await me.execute(query, params, binary=binary)
        async for row in me:
            yield row


class ServerRecording(_Singles):
    """Server-side (named) cursors: one query, logged where it is declared, with the rows that are fetched of it."""

    _place: tuple[Transcript, int] | None = None
    _fetched: list[Any]
    _held: tuple[Transcript, int] | None = None
    """The transaction that a WITH HOLD cursor under autocommit is of, and when it was answered: over since then, but
    logged when no more rows can be fetched."""

    def _declare_gen(self, query: Query, params: Params | None = None, binary: bool | None = None) -> PQGen[None]:
        parent: Any = super()
        conn, me = self._conn, _any(self)
        if conn.tape is None or conn.muted:
            yield from parent._declare_gen(query, params, binary)
            return
        if me._scrollable:
            raise NotRecorded("SCROLL cursors are not recorded")
        self._place, self._fetched = None, []
        yield from me._start_query(query)
        plain = me._convert_query(query, params)
        text = conn.text_of(plain.query)
        if conn.effect(text) == LIKELY:
            raise NotRecorded("a server-side cursor over a function that may write is not recorded: it runs in pieces")
        statement = _statement(plain)
        transcript = conn.tape.current
        alone = transcript is None and me._withhold
        invoked = monotonic_ns()
        if alone:
            single = self._single(plain, statement, text)
        elif transcript is not None and not text.harmless:
            transcript.wrote = True
        try:
            yield from parent._declare_gen(query, params, binary)
        except BaseException as error:
            if alone:
                self._single_failed(single, invoked, error, False)
            elif transcript is not None:
                conn.failed(statement, invoked, error)
            raise
        returned = monotonic_ns()
        if alone:
            transcript = single
            transcript.clear()
            self._held, conn.tape.current = (transcript, returned), None
        if transcript is not None:
            self._place = (transcript, len(transcript))
            transcript.add(statement, invoked, returned, self._observed(end=False))

    def _fetch_gen(self, num: int | None) -> PQGen[list[Any]]:
        parent: Any = super()
        conn = self._conn
        if conn.tape is None or conn.muted:
            unrecorded: list[Any] = yield from parent._fetch_gen(num)
            return unrecorded
        if self._place is None or (conn.tape.current is not self._place[0] and not _any(self)._withhold):
            raise NotRecorded("this cursor was not declared in the open transaction by this object")
        transcript, place = self._place
        if conn.tape.current is not transcript and self._held is None:
            # held beyond its transaction, whose line says that not all rows were fetched
            beyond: list[Any] = yield from parent._fetch_gen(num)
            return beyond
        invoked = monotonic_ns()
        try:
            rows: list[Any] = yield from parent._fetch_gen(num)
        except BaseException as error:
            # what failed is a part of the query; the rows so far stay
            if self._held is None:
                conn.failed(fields({"sql": f"FETCH {num if num is not None else 'ALL'}"}), invoked, error)
            raise
        self._fetched.append(_any(self).pgresult)
        transcript.observe(place, self._observed(end=num is None or len(rows) < num))
        return rows

    def _close_gen(self) -> PQGen[None]:
        parent: Any = super()
        held, self._held = self._held, None
        if held is not None:
            self._conn.end_beside(held[0], "committed", None, held[1])
        yield from parent._close_gen()

    def _observed(self, end: bool) -> Later:
        """The rows so far, as of now; `end`: there are no more."""
        results = tuple(self._fetched)

        def observed() -> bytes:
            if not results:
                return NOTHING
            rows = b",".join(row for result in results for row in wire.result_rows(result))
            truncated = b"" if end else b',"truncated":true'
            return b',"result":{"columns":%b,"rows":[%b]%b}' % (encode(wire.names(results[0])), rows, truncated)

        return observed

    def _scroll_gen(self, value: int, mode: str) -> PQGen[None]:
        parent: Any = super()
        if self._conn.tape is not None and not self._conn.muted:
            raise NotRecorded("scroll() of a server-side cursor is not recorded")
        yield from parent._scroll_gen(value, mode)

    def stream(self, *arguments: Any, **kwargs: Any) -> NoReturn:
        """Refused. Raises NotRecorded."""
        raise NotRecorded("stream() of a server-side cursor is not recorded: iterate over it")

    def copy(self, *arguments: Any, **kwargs: Any) -> NoReturn:
        """Refused. Raises NotRecorded."""
        _refuse_copy()


class RecordedCursor(SyncRecording, psycopg.Cursor[Any]):
    """A `psycopg.Cursor` that keeps a log."""


class RecordedServerCursor(ServerRecording, psycopg.ServerCursor[Any]):
    """A `psycopg.ServerCursor` that keeps a log."""


class RecordedAsyncCursor(AsyncRecording, psycopg.AsyncCursor[Any]):
    """A `psycopg.AsyncCursor` that keeps a log."""


class RecordedAsyncServerCursor(ServerRecording, psycopg.AsyncServerCursor[Any]):
    """A `psycopg.AsyncServerCursor` that keeps a log."""


@lru_cache(maxsize=100)
def recorded_class(cursor: type[Any]) -> type[Any]:
    """The recorded class of a cursor class that the application uses."""
    if issubclass(cursor, (CursorRecording, ServerRecording)):
        return cursor
    if issubclass(cursor, (psycopg.ServerCursor, psycopg.AsyncServerCursor)):
        return type(f"Recorded{cursor.__name__}", (ServerRecording, cursor), {})
    mixin = AsyncRecording if issubclass(cursor, psycopg.AsyncCursor) else SyncRecording
    return type(f"Recorded{cursor.__name__}", (mixin, cursor), {})


def record_all_cursors(connections: type[Any]) -> None:
    """From now on every cursor that is made on one of these connections is a recorded one, whichever way it is made,
    ``psycopg.ClientCursor(connection)`` for one."""

    def made(cls: Any, *arguments: Any, **options: Any) -> Any:
        connection = arguments[0] if arguments else options.get("connection")
        return object.__new__(recorded_class(cls) if isinstance(connection, connections) else cls)

    BaseCursor.__new__ = made  # type: ignore[method-assign]


__all__ = [
    "RecordedAsyncCursor",
    "RecordedAsyncServerCursor",
    "RecordedCursor",
    "RecordedServerCursor",
    "record_all_cursors",
    "recorded_class",
]
