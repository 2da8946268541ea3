"""What one PostgreSQL session did, from the bytes that passed: requests and their answers are brought together, and
statements and transactions come of it.

The server's ReadyForQuery is the truth about transactions. Where the answers are not those of the requests nothing is
guessed: that is a gap, until nothing is open any more. Does not know where the bytes come from.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from troubadour.record.core.journal import encode
from troubadour.record.core.tape import NOTHING, UNKNOWN, Transcript
from troubadour.record.postgres import wire
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.postgres import messages
from troubadour.record.proxy.postgres.answers import Answer, Reading, error_json
from troubadour.record.proxy.postgres.asking import STARTED
from troubadour.record.proxy.postgres.copying import Copy
from troubadour.record.proxy.postgres.cursors import Cursors
from troubadour.record.proxy.postgres.defaults import Defaults
from troubadour.record.proxy.postgres.framing import Framing
from troubadour.record.proxy.postgres.messages import BROKEN, Column
from troubadour.record.proxy.postgres.texts import DIALECT, Piece, pieces
from troubadour.record.proxy.postgres.values import text_of
from troubadour.record.secrets import masked
from troubadour.record.settings import differing, postgres_settings
from troubadour.record.texts import POSTGRES_LEVELS, Verb

CERTAINLY_ABORTED = ("23", "40", "25P02", "P0")
"""SQLSTATEs in answer to COMMIT that say that it was rolled back, but 40003; after any other that is not known."""
_FATAL = frozenset({"FATAL", "PANIC"})
_QUEUED = frozenset(b"QPBDECSF")
"""Messages of clients that are answered."""
Made = Callable[[str], bytes]
"""From a text to the fields of a statement."""
_NO_COMMAND = Piece("", None, False)  # type: ignore[arg-type]


@dataclass(slots=True)
class Prepared:
    """A statement as Parse made it, None if it is empty; `columns`: None where they are not known, or there are none."""

    piece: Piece | None
    types: tuple[int, ...]
    columns: tuple[Column, ...] | None = None


@dataclass(slots=True)
class Portal:
    """A statement with its parameters, `bound` at that time. `answer`: what came so far, where it is executed in parts;
    `place`: where the transaction has it."""

    prepared: Prepared
    bind: messages.Bind
    bound: int
    answer: Answer
    place: tuple[Transcript, int] | None = None


@dataclass(slots=True)
class Request:
    """A message that is answered; `own`: the proxy's. `pieces`: of a Query; `done` of them are answered."""

    kind: int
    time: int
    body: bytes | None
    own: bool
    pieces: tuple[Piece, ...] = ()
    done: int = 0
    begun: bool = False
    ended: bool = False
    """An error came, and only ReadyForQuery is to come."""
    answer: Answer = field(default_factory=Answer)
    own_rows: list[messages.Values] = field(default_factory=list)


class Session:
    """One connection. `records`: what is known so far, for the caller to take out."""

    def __init__(
        self,
        name: str,
        level: str | None,
        begun: Mapping[str, Any],
        parameters: Mapping[str, str],
        labels: frozenset[int] = frozenset(),
        tables: frozenset[str] = frozenset(),
    ) -> None:
        """`level`: of the header, until the server says another; `begun`: its settings; `parameters`: what the server
        told as the connection was made; `labels`: oids of enums; `tables`: those that COPY writes to as INSERT does."""
        self._tables = tables
        self.transactions = Transactions(name, level)
        self._begun = begun
        self._reading = Reading(labels)
        for key, value in parameters.items():
            self._reading.parameter(key, value)
        self._defaults = Defaults(self.transactions)
        self._cursors = Cursors()
        self._client, self._own, self._server = Framing(), Framing(), Framing()
        self._queue: deque[Request] = deque()
        self._statements: dict[bytes, Prepared] = {}
        self._portals: dict[bytes, Portal] = {}
        self._copy: Copy | None = None
        self._waiting_copy: Copy | None = None
        self._broken = False
        self._skipping = False
        self._time = 0
        self._handlers: dict[int, Callable[[bytes | None], None]] = {
            ord("1"): self._parsed, ord("2"): self._was_bound, ord("3"): self._pop, ord("t"): self._described_types,
            ord("T"): self._described, ord("n"): self._no_data, ord("D"): self._row, ord("C"): self._completed,
            ord("I"): self._empty, ord("s"): self._suspended, ord("E"): self._error, ord("Z"): self._ready,
            ord("S"): self._parameter, ord("G"): self._copies, ord("H"): self._copies, ord("W"): self._copies,
            ord("d"): self._copied, ord("c"): self._ignored, ord("N"): self._ignored, ord("A"): self._ignored,
            ord("V"): self._function_result, ord("K"): self._ignored,
        }  # fmt: skip

    @property
    def records(self) -> list[Any]:
        """What is known so far."""
        return self.transactions.records

    # -- what was sent

    def sent(self, time: int, data: bytes, *, own: bool = False) -> None:
        """The client sent this, or the proxy its `own`."""
        if self._broken:
            return
        try:
            for kind, body in (self._own if own else self._client).feed(data):
                if kind in _QUEUED:
                    self._queue.append(Request(kind, time, body, own))
                elif kind == 100 and self._copy is not None:  # CopyData
                    self._copy.given(body)
                elif kind == 100 and self._queue:
                    self._early_copy(body)
        except ValueError:
            self.lose("what a client sent is no message of the protocol", time)

    def _early_copy(self, body: bytes | None) -> None:
        """Rows of COPY that the server has not asked for yet."""
        if self._waiting_copy is None:
            self._waiting_copy = Copy()
        self._waiting_copy.given(body)

    # -- what was answered

    def got(self, time: int, data: bytes) -> None:
        """The server sent this."""
        if self._broken:
            return
        self._time = time
        handlers = self._handlers
        try:
            for kind, body in self._server.feed(data):
                handler = handlers.get(kind)
                if handler is None:
                    raise ValueError("an unknown message")
                handler(body)
        except BROKEN as error:
            self.lose(f"what a server sent was not understood: {error}", time)

    def lose(self, reason: str, time: int) -> None:
        """From here on something is missing, or not understood."""
        self.transactions.lose(reason, time)
        self._broken = True

    def _head(self) -> Request:
        if not self._queue:
            raise ValueError("an answer that nothing asked for")
        return self._queue[0]

    def _pop(self, body: bytes | None = None) -> None:
        self._head()
        self._queue.popleft()

    def _ignored(self, body: bytes | None) -> None:
        pass

    def _parameter(self, body: bytes | None) -> None:
        if body is not None:
            self._reading.parameter(*messages.parameter_status(body))

    # preparing

    def _parsed(self, body: bytes | None) -> None:
        request = self._head()
        self._queue.popleft()
        if request.own:
            return
        if request.body is None:
            self._lose("a statement was too long to be kept", request.time)
            return
        parse = messages.parse(request.body)
        self._statements[parse.name] = self._prepared(parse)

    def _prepared(self, parse: messages.Parse) -> Prepared:
        found = pieces(self._reading.text(parse.text))
        if len(found) > 1:
            raise ValueError("several statements in one that is prepared")
        return Prepared(found[0] if found else None, parse.types)

    def _was_bound(self, body: bytes | None) -> None:
        request = self._head()
        self._queue.popleft()
        if request.own:
            return
        if request.body is None:
            self._lose("the parameters of a statement were too long to be kept", request.time)
            return
        bind = messages.bind(request.body)
        prepared = self._statements.get(bind.statement)
        if prepared is None:
            raise ValueError("a statement that was not prepared")
        self._portals[bind.portal] = Portal(prepared, bind, request.time, Answer(_formatted(prepared.columns, bind)))

    def _described_types(self, body: bytes | None) -> None:
        request = self._head()
        if not request.own and body is not None and request.body is not None:
            prepared = self._statements.get(messages.named(request.body)[1])
            if prepared is not None:
                prepared.types = messages.parameter_description(body)

    def _described(self, body: bytes | None) -> None:
        request = self._head()
        if request.kind == ord("D"):
            columns = None if body is None else messages.row_description(body)
            self._describe(request, columns)
        elif request.kind == ord("Q"):
            if body is None:
                request.answer.strange = True
            elif not request.own:
                request.answer.described(_columns(body))
        else:
            raise ValueError("columns that nothing asked for")

    def _no_data(self, body: bytes | None) -> None:
        self._describe(self._head(), None)

    def _describe(self, request: Request, columns: tuple[Column, ...] | None) -> None:
        self._queue.popleft()
        if request.own or request.body is None:
            return
        kind, name = messages.named(request.body)
        if kind == b"S":
            if name in self._statements:
                self._statements[name].columns = columns
        elif name in self._portals:
            self._portals[name].answer.columns = columns
            if not self._portals[name].bind.results:
                self._portals[name].prepared.columns = columns

    # executing

    def _row(self, body: bytes | None) -> None:
        request = self._head()
        if request.own:
            if body is not None:
                request.own_rows.append(messages.data_row(body))
            return
        self._answer(request).add(body)

    def _answer(self, request: Request) -> Answer:
        if request.kind == ord("E"):
            return self._portal(request).answer
        if request.kind != ord("Q"):
            raise ValueError("rows that nothing asked for")
        return request.answer

    def _portal(self, request: Request) -> Portal:
        if request.body is None:
            raise ValueError("an Execute that is too long")
        portal = self._portals.get(messages.execute(request.body)[0])
        if portal is None:
            raise ValueError("a portal that was not bound")
        return portal

    def _completed(self, body: bytes | None) -> None:
        request = self._head()
        if body is None:
            raise ValueError("a tag that is too long")
        tag = body[:-1]
        if request.own:
            if request.kind == ord("E"):
                self._queue.popleft()
                self._told_of_transaction(request)
            return
        if request.kind == ord("E"):
            portal = self._portal(request)
            self._queue.popleft()
            self._executed(portal, tag)
            return
        if request.kind != ord("Q") or request.ended:
            raise ValueError("a completion that nothing asked for")
        self._open_query(request)
        if request.done >= len(request.pieces):
            self._lose("a text was answered by more statements than it has", request.time)
            request.ended = True
            return
        piece = request.pieces[request.done]
        request.done += 1
        answer, request.answer = request.answer, Answer()
        if not _fits(piece, tag, alone=len(request.pieces) == 1):
            self._lose("what a statement was answered is not what it asked for", request.time)
            request.ended = True
            return
        self._done(piece, _plain, request.time, tag, answer)

    def _open_query(self, request: Request) -> None:
        """Read the text of a Query, once."""
        if not request.begun:
            request.begun = True
            if request.body is None:
                self._lose("a text was too long to be kept", request.time)
                request.ended = True
            else:
                request.pieces = tuple(pieces(self._reading.text(request.body[:-1])))

    def _executed(self, portal: Portal, tag: bytes) -> None:
        piece = portal.prepared.piece
        if piece is None:
            raise ValueError("an empty statement was completed")
        if portal.place is not None:
            transcript, place = portal.place
            portal.place = None
            transcript.observe(place, portal.answer.observation(self._reading, tag))
            return
        if not _fits(piece, tag, alone=True):
            self._lose("what a statement was answered is not what it asked for", portal.bound)
            return
        answer, portal.answer = portal.answer, Answer(portal.answer.columns)
        self._done(piece, partial(self._with_parameters, portal), portal.bound, tag, answer)

    def _suspended(self, body: bytes | None) -> None:
        """A portal has given some of its rows."""
        request = self._head()
        self._queue.popleft()
        portal = self._portal(request)
        piece = portal.prepared.piece
        if piece is None or self.transactions.is_lost:
            return
        observed = portal.answer.observation(self._reading, b"", truncated=True)
        if portal.place is None:
            if _is_logged(piece):
                portal.place = self.transactions.add(self._fields(portal), portal.bound, self._time, observed)
        else:
            transcript, place = portal.place
            transcript.observe(place, observed)

    def _fields(self, portal: Portal) -> bytes:
        """The statement that a portal is of, with its parameters."""
        return self._statement(portal.prepared, portal.bind)

    def _with_parameters(self, portal: Portal, sql: str) -> bytes:
        """A statement of another text, with the parameters of a portal."""
        return self._statement(portal.prepared, portal.bind, sql)

    def _statement(self, prepared: Prepared, bind: messages.Bind | None, sql: str | None = None) -> bytes:
        piece = prepared.piece
        assert piece is not None
        sql = piece.sql if sql is None else sql
        if bind is None or not bind.values or piece.secret:
            return _plain(masked(sql) if piece.secret else sql)
        count = len(bind.values)
        types = prepared.types + (0,) * (count - len(prepared.types))
        formats = _each(bind.formats, count)
        texts: list[bytes | None] = []
        for type, format, value in zip(types, formats, bind.values, strict=True):
            texts.append(self._parameter_text(type, format, value))
        return wire.statement(sql.encode(), texts, types, [0] * count)

    def _parameter_text(self, type: int, format: int, value: bytes | None) -> bytes | None:
        if value is None:
            return None
        text = text_of(type, value, self._reading.labels) if format else self._reading.text(value)
        if text is None:
            raise ValueError(f"a parameter in binary of a type, {type}, that is not known")
        return text.encode()

    def _empty(self, body: bytes | None) -> None:
        """An empty text was answered."""
        request = self._head()
        if request.kind == ord("E"):
            self._queue.popleft()

    # what a statement comes to

    def _done(self, piece: Piece, made: Made, invoked: int, tag: bytes, answer: Answer) -> None:
        """A statement was answered by its tag, in the order of execution."""
        transactions, returned = self.transactions, self._time
        if transactions.is_lost:
            return
        text = piece.text
        copy, self._copy = self._copy, None
        self._waiting_copy = None
        match text.verb:
            case Verb.READ | Verb.WRITE:
                self._defaults.done(piece)
                if piece.secret:
                    transactions.add(b'"sql":' + encode(masked(piece.sql)), invoked, returned, NOTHING)
                else:
                    transactions.add(made(piece.sql), invoked, returned, answer.observation(self._reading, tag))
            case Verb.SAVEPOINT:
                transactions.failed = False
                transactions.add(made(piece.sql), invoked, returned, NOTHING)
            case Verb.BEGIN:
                self._begun_block(piece, invoked)
            case Verb.COMMIT | Verb.ROLLBACK:
                self._ended_block(tag, invoked)
            case Verb.CHARACTERIZE:
                if transactions.current is not None:
                    transactions.current.characterize(_level(text.level), text.read_only)
                    transactions.current.snapshot_at = text.snapshot_at or transactions.current.snapshot_at
            case Verb.DEFAULT:
                self._defaults.characterize(_level(text.level), text.read_only)
            case Verb.NEUTRAL:
                self._defaults.done(piece)
            case Verb.PREPARED:
                self._prepared_block(piece, tag, invoked)
            case _:
                self._unusual(piece, made, invoked, tag, answer, copy)

    def _begun_block(self, piece: Piece, invoked: int) -> None:
        transactions, text = self.transactions, piece.text
        current = transactions.current
        if current is None:
            current = transactions.begin(invoked, explicit=True)
            current.begin = (invoked, self._time, False)
        transactions.explicit = True
        current.characterize(_level(text.level), text.read_only)

    def _ended_block(self, tag: bytes, invoked: int, *, chain: bool = False) -> None:
        transactions = self.transactions
        current = transactions.current
        transactions.end("committed" if tag == b"COMMIT" else "aborted", invoked, self._time)
        self._portals.clear()
        if chain:
            begun = transactions.begin(invoked, explicit=True)
            if current is not None:
                begun.characterize(current.level, current.read_only)

    def _prepared_block(self, piece: Piece, tag: bytes, invoked: int) -> None:
        """PREPARE TRANSACTION: from now on any session may commit it."""
        prepared = tag == b"PREPARE TRANSACTION"
        self.transactions.end("unknown" if prepared else "aborted", invoked, None if prepared else self._time)

    def _unusual(self, piece: Piece, made: Made, invoked: int, tag: bytes, answer: Answer, copy: Copy | None) -> None:
        transactions, times = self.transactions, (invoked, self._time)
        word = piece.text.word
        if tag in (b"COMMIT", b"ROLLBACK"):
            self._ended_block(tag, invoked, chain=True)
        elif word == "SET" or tag in (b"COMMIT PREPARED", b"ROLLBACK PREPARED"):
            self._defaults.done(piece)
        elif word == "COPY" and copy is not None and not piece.secret:
            self._copied_rows(piece, copy, times, tag)
        elif piece.secret or not self._cursors.done(piece, made, times, tag, answer, transactions, self._reading):
            transactions.add(b'"sql":' + encode(masked(piece.sql)), *times, NOTHING)

    def _copied_rows(self, piece: Piece, copy: Copy, times: tuple[int, int], tag: bytes) -> None:
        told = copy.statements(piece.sql, self._reading.codec, self._tables)
        if told is None:
            self.transactions.add(b'"sql":' + encode(piece.sql), *times, NOTHING)
            return
        whole = sum(count or 0 for _, count in told) == int(tag.rpartition(b" ")[2])
        for sql, count in told:
            observed = b',"affected":%d' % count if count is not None and whole else NOTHING
            self.transactions.add(b'"sql":' + encode(sql), *times, observed)

    # errors

    def _error(self, body: bytes | None) -> None:
        fields = {} if body is None else messages.fields(body)
        if fields.get("V", fields.get("S")) in _FATAL or not self._queue:
            return  # the connection is about to end, and what became of the statement is not known
        request = self._queue[0]
        if request.own:
            self._own_failed(request)
            return
        if self.transactions.is_lost:
            request.ended = True
            self._skip(request)
            return
        if request.kind == ord("Q"):
            self._open_query(request)
            if not request.ended:
                request.ended = True
                self._query_failed(request, fields)
            return
        if request.kind == ord("S"):
            self._commit_failed(None, fields)
            request.ended = True
            return
        piece, statement, invoked = self._failing(request)
        self._skip(request)
        if piece is not None:
            self._failed(piece, statement, invoked, fields)
        elif self.transactions.current is not None:
            self.transactions.failed = True

    def _skip(self, request: Request) -> None:
        """The server passes over all up to the next Sync."""
        if request.kind in (ord("Q"), ord("S"), ord("F")):
            return
        while self._queue and self._queue[0].kind != ord("S"):
            self._queue.popleft()
        self._skipping = not self._queue

    def _failing(self, request: Request) -> tuple[Piece | None, bytes, int]:
        """The statement that a failed message is of."""
        if request.kind == ord("E"):
            portal = self._portal(request)
            if portal.prepared.piece is None:
                return None, b"", request.time
            if portal.place is not None:
                return _NO_COMMAND, b"", request.time
            return portal.prepared.piece, self._fields(portal), portal.bound
        if request.body is None:
            return None, b"", request.time
        if request.kind == ord("B"):
            bind = messages.bind(request.body)
            prepared = self._statements.get(bind.statement)
            if prepared is None or prepared.piece is None:
                return None, b"", request.time
            return prepared.piece, self._statement(prepared, bind), request.time
        if request.kind != ord("P"):
            return None, b"", request.time
        parse = messages.parse(request.body)
        prepared = self._prepared(parse)
        if prepared.piece is None:
            return None, b"", request.time
        return prepared.piece, self._statement(prepared, self._bind_behind(parse.name)), request.time

    def _bind_behind(self, name: bytes) -> messages.Bind | None:
        """The parameters that were sent for a statement that could not be prepared."""
        for request in self._queue:
            if request.kind == ord("B") and request.body is not None:
                bind = messages.bind(request.body)
                if bind.statement == name and not any(bind.formats):
                    return bind
            elif request.kind == ord("S"):
                break
        return None

    def _query_failed(self, request: Request, fields: Mapping[str, str]) -> None:
        if request.done >= len(request.pieces):
            self._commit_failed(request, fields)
            return
        if len(request.pieces) > 1 and request.done == 0 and fields.get("C") == "42601":
            # it may be of the whole text, of which nothing was executed then
            if self.transactions.current is not None:
                text = "\n".join(piece.sql for piece in request.pieces)
                self._fail_with(b'"sql":' + encode(masked(text)), request.time, fields, secret=True)
            return
        piece = request.pieces[request.done]
        self._failed(piece, b'"sql":' + encode(piece.sql), request.time, fields)

    def _failed(self, piece: Piece, statement: bytes, invoked: int, fields: Mapping[str, str]) -> None:
        """A statement brought an error."""
        transactions = self.transactions
        if piece is _NO_COMMAND:  # a part of a query that stands already
            transactions.failed = True
            return
        verb = piece.text.verb
        current = transactions.current
        if verb is Verb.COMMIT or verb is Verb.PREPARED:
            if current is not None:
                transactions.end(_fate(fields), invoked, self._time, error_json(fields))
            return
        if verb is Verb.BEGIN and current is None:
            return
        if piece.secret:
            statement = b'"sql":' + encode(masked(piece.sql))
        self._fail_with(statement, invoked, fields, secret=piece.secret)

    def _fail_with(self, statement: bytes, invoked: int, fields: Mapping[str, str], *, secret: bool) -> None:
        error = b',"error":' + encode(error_json(fields, secret))
        self.transactions.add(statement, invoked, self._time, error)
        self.transactions.failed = True

    def _commit_failed(self, request: Request | None, fields: Mapping[str, str]) -> None:
        """All statements were answered, and then came an error: of the implicit COMMIT."""
        transactions = self.transactions
        current = transactions.current
        if current is None or transactions.explicit:
            transactions.failed = current is not None
            return
        status = _fate(fields)
        if len(current) == 1 and status == "aborted":
            current.failed(b',"error":' + encode(error_json(fields)), self._time)
            transactions.end(status, None, self._time)
            return
        invoked = self._head().time if request is None else current.invoked
        transactions.end(status, invoked, self._time, error_json(fields))

    # the truth about transactions

    def _ready(self, body: bytes | None) -> None:
        request = self._head()
        if request.kind not in (ord("Q"), ord("S"), ord("F")):
            raise ValueError("the server is ready while something is outstanding")
        status = (body or b"?")[:1]
        self._queue.popleft()
        self._skipping = False
        if request.own:
            if request.kind == ord("Q"):
                self._told_of_session(request)
            return
        transactions = self.transactions
        if transactions.is_lost:
            if status == b"I":
                transactions.found(self._time)
                self._portals.clear()
            return
        if request.kind == ord("F"):
            self._lose("a function was called by its number", request.time)
            if status == b"I":
                transactions.found(self._time)
            return
        if request.kind == ord("Q") and not request.ended:
            self._open_query(request)
            if request.done != len(request.pieces):
                self._lose("a text was answered by fewer statements than it has", request.time)
        self._settle(status, request)

    def _settle(self, status: bytes, request: Request) -> None:
        """The server says how the transaction stands."""
        transactions = self.transactions
        current = transactions.current
        if status == b"I":
            if current is not None and transactions.explicit:
                self._lose("a transaction ended that nothing has ended", request.time)
            elif current is not None:
                self._end_implicit(request)
            transactions.found(self._time)
            self._portals.clear()
        elif current is None or not transactions.explicit:
            self._lose("a transaction is open that nothing has begun", request.time)
        elif (status == b"E") != transactions.failed:
            if status == b"E":
                self._lose("a transaction failed, and nothing says why", request.time)
            transactions.failed = False

    def _end_implicit(self, request: Request) -> None:
        transactions = self.transactions
        transactions.end("aborted" if transactions.failed else "committed", None, self._time)

    def _lose(self, reason: str, since: int) -> None:
        self.transactions.lose(reason, since)

    # COPY, functions

    def _copies(self, body: bytes | None) -> None:
        self._copy = self._waiting_copy or Copy()
        self._waiting_copy = None
        request = self._head()
        if request.kind == ord("E") and body is not None:
            # a Sync that was sent together with it is passed over by the server
            for place, later in enumerate(self._queue):
                if later.kind == ord("S"):
                    del self._queue[place]
                    break

    def _copied(self, body: bytes | None) -> None:
        pass

    def _function_result(self, body: bytes | None) -> None:
        if self._head().kind != ord("F"):
            raise ValueError("the result of a function that was not called")

    # the proxy's own questions

    def _own_failed(self, request: Request) -> None:
        if request.kind == ord("Q"):
            request.ended = True
            return
        self._skip(request)
        self.transactions.failed = True

    def _told_of_session(self, request: Request) -> None:
        """How the session was set as it began."""
        told = {}
        for name, value in request.own_rows:
            told[(name or b"").decode()] = (value or b"").decode("utf-8", "replace")
        if request.ended or STARTED not in told:
            self._lose("how a session is set is not known", request.time)
            self._broken = True
            return
        self.transactions.lifetime = told.pop(STARTED)
        self._defaults.begin(told.get("default_transaction_isolation"), told.get("default_transaction_read_only"))
        settings = postgres_settings([[name, value] for name, value in told.items()])
        self.transactions.told(differing(settings, self._begun, DIALECT), request.time)

    def _told_of_transaction(self, request: Request) -> None:
        """The id of the transaction whose COMMIT comes next, and its level."""
        for xid, level in request.own_rows:
            self.transactions.ticket = None if xid is None else xid.decode()
            current = self.transactions.current
            if current is not None and level is not None:
                current.level = _level(level.decode().upper()) or current.level

    # the end

    def closed(self, time: int | None) -> None:
        """The connection is closed: what was open is rolled back, unless it may have been committed before."""
        transactions = self.transactions
        if transactions.is_lost:
            if time is not None:
                transactions.found(time)
            return
        for request in list(self._queue):
            if not request.own and not request.ended:
                self._unanswered(request)
        if transactions.is_lost:
            if time is not None:
                transactions.found(time)
            return
        transactions.end("aborted", None, None)

    def _unanswered(self, request: Request) -> None:
        """A message was sent, and nothing is known of what came of it."""
        transactions = self.transactions
        if self._skipping or transactions.failed:
            if request.kind == ord("S"):
                self._skipping = False
            return
        try:
            if request.kind == ord("Q"):
                self._open_query(request)
                for piece in request.pieces[request.done :]:
                    if not self._sent_without_answer(piece, b'"sql":' + encode(piece.sql), request.time):
                        return
                self._may_have_committed(None)
            elif request.kind == ord("E"):
                portal = self._portal(request)
                if portal.prepared.piece is not None and portal.place is None:
                    self._sent_without_answer(portal.prepared.piece, self._fields(portal), portal.bound)
            elif request.kind == ord("P"):
                parse = messages.parse(request.body or b"")
                self._statements[parse.name] = self._prepared(parse)
            elif request.kind == ord("B"):
                bind = messages.bind(request.body or b"")
                self._portals[bind.portal] = Portal(self._statements[bind.statement], bind, request.time, Answer())
            elif request.kind == ord("S"):
                self._may_have_committed(request.time)
            elif request.kind == ord("F"):
                self._lose("a function was called by its number", request.time)
        except (*BROKEN, KeyError):
            self._lose("what was sent last was not understood", request.time)

    def _may_have_committed(self, invoked: int | None) -> None:
        """The end of an implicit transaction was sent."""
        transactions = self.transactions
        current = transactions.current
        if current is not None and not transactions.explicit:
            transactions.end("unknown", None if len(current) == 1 else invoked or current.invoked, None)

    def _sent_without_answer(self, piece: Piece, statement: bytes, invoked: int) -> bool:
        """Whether more of the same text can be told."""
        transactions = self.transactions
        match piece.text.verb:
            case Verb.COMMIT | Verb.PREPARED:
                transactions.end("unknown", invoked, None)
            case Verb.ROLLBACK:
                transactions.end("aborted", invoked, None)
            case Verb.BEGIN:
                if transactions.current is None:
                    transactions.begin(invoked, explicit=True)
                transactions.explicit = True
            case Verb.NEUTRAL | Verb.CHARACTERIZE | Verb.DEFAULT:
                pass
            case Verb.REFUSED if piece.text.word in ("COMMIT", "END", "ROLLBACK", "ABORT"):
                transactions.end("unknown", invoked, None)
            case _:
                if piece.secret:
                    statement = b'"sql":' + encode(masked(piece.sql))
                transactions.add(statement, invoked, None, UNKNOWN)
        return True


def _plain(sql: str) -> bytes:
    """The fields of a statement without parameters."""
    return b'"sql":' + encode(sql)


def _is_logged(piece: Piece) -> bool:
    return piece.text.verb in (Verb.READ, Verb.WRITE)


def _level(name: str | None) -> str | None:
    return None if name is None else POSTGRES_LEVELS.get(name)


def _fate(fields: Mapping[str, str]) -> str:
    """What became of a transaction whose COMMIT brought an error."""
    state = fields.get("C", "")
    return "aborted" if state.startswith(CERTAINLY_ABORTED) and state != "40003" else "unknown"


def _each(codes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The format of each of so many values."""
    if len(codes) == count:
        return codes
    return (codes[0] if codes else 0,) * count


def _formatted(columns: tuple[Column, ...] | None, bind: messages.Bind) -> tuple[Column, ...] | None:
    """The columns of a statement in the formats that Bind asks for."""
    if columns is None:
        return None
    formats = _each(bind.results, len(columns))
    return tuple(column._replace(format=format) for column, format in zip(columns, formats, strict=True))


_KNOWN: dict[bytes, tuple[Column, ...]] = {}


def _columns(body: bytes) -> tuple[Column, ...]:
    """Of RowDescription; the same come again and again."""
    found = _KNOWN.get(body)
    if found is None:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        found = _KNOWN[body] = messages.row_description(body)
    return found


_TAGS: Mapping[str, frozenset[bytes]] = {
    "BEGIN": frozenset({b"BEGIN"}),
    "START": frozenset({b"START TRANSACTION"}),
    "COMMIT": frozenset({b"COMMIT", b"ROLLBACK", b"COMMIT PREPARED"}),
    "END": frozenset({b"COMMIT", b"ROLLBACK"}),
    "ROLLBACK": frozenset({b"ROLLBACK", b"ROLLBACK PREPARED"}),
    "ABORT": frozenset({b"ROLLBACK"}),
    "PREPARE": frozenset({b"PREPARE", b"PREPARE TRANSACTION", b"ROLLBACK"}),
}
_ENDINGS = frozenset({b"BEGIN", b"START TRANSACTION", b"COMMIT", b"ROLLBACK", b"PREPARE TRANSACTION"})
_OWN_TAGS = re.compile(
    r"(?:INSERT|UPDATE|DELETE|MERGE|CREATE|DROP|ALTER|TRUNCATE|LOCK|SET|RESET|SAVEPOINT|RELEASE|COPY)"
)


def _fits(piece: Piece, tag: bytes, *, alone: bool) -> bool:
    """Whether a tag may be that of a statement. Of several in a text each is looked at, of one only whether it began or
    ended a transaction."""
    word = piece.text.word or _first_word(piece.sql)
    known = _TAGS.get(word)
    if known is not None:
        return tag in known
    if tag in _ENDINGS:
        return False
    return alone or _OWN_TAGS.fullmatch(word) is None or tag.split(b" ")[0] in (word.encode(), b"SELECT")


def _first_word(sql: str) -> str:
    match = re.match(r"[^A-Za-z]*([A-Za-z]+)", sql)
    return match[1].upper() if match else ""
