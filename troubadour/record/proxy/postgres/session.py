"""What one PostgreSQL session did, from the bytes that passed: requests and their answers are brought together, and
statements and transactions come of it (`execution`).

The server's ReadyForQuery is the truth about transactions. Where the answers are not those of the requests nothing is
guessed: that is a gap, until nothing is open any more. Does not know where the bytes come from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.record.proxy.decode import session as decode
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.postgres.answers import Answer, Reading
from troubadour.record.proxy.postgres.execution import Execution, plain
from troubadour.record.proxy.postgres.portals import Portal, Portals
from troubadour.record.proxy.postgres.protocol import messages
from troubadour.record.proxy.postgres.protocol.framing import Framing
from troubadour.record.proxy.postgres.protocol.messages import Column
from troubadour.record.proxy.postgres.statements.copying import Copy
from troubadour.record.proxy.postgres.statements.defined import Defined
from troubadour.record.proxy.postgres.statements.tags import fits
from troubadour.record.proxy.postgres.statements.texts import pieces
from troubadour.record.statements.secrets import masked
from troubadour.record.statements.texts import Verb

_FATAL = frozenset({"FATAL", "PANIC"})
_QUERY, _PARSE, _BIND, _DESCRIBE, _EXECUTE, _SYNC, _FUNCTION = b"QPBDESF"
_QUEUED = frozenset(b"QPBDECSF")
"""Messages of clients that are answered."""
_UNTIL_READY = frozenset({_QUERY, _SYNC, _FUNCTION})
_DATA = ord("d")
_columns = lru_cache(maxsize=1000)(messages.row_description)
"""Of RowDescription; the same come again and again."""
_LONG = "a message was too long to be kept"
_STRANGE = "what a statement was answered is not what it asked for"


@dataclass(slots=True)
class Request:
    """A message that is answered; `own`: the proxy's. `pieces`: of a Query, once it was `read`; `done` of them are
    answered; `ended`: an error came, and only ReadyForQuery is to come."""

    kind: int
    time: int
    body: bytes | None
    own: bool
    pieces: Sequence[Piece] = ()
    read: bool = False
    done: int = 0
    ended: bool = False
    answer: Answer = field(default_factory=Answer)
    own_rows: list[messages.Values] = field(default_factory=list)

    def whole(self) -> bytes:
        """The body. Raises ValueError where it was too long."""
        if self.body is None:
            raise ValueError(_LONG)
        return self.body


class Session(decode.Session):
    """One connection."""

    def __init__(
        self,
        name: str,
        level: str | None,
        begun: Mapping[str, Any],
        parameters: Mapping[str, str],
        labels: frozenset[int] = frozenset(),
        defined: Defined | None = None,
    ) -> None:
        """`level`: of the header, until the server says another; `begun`: its settings; `parameters`: what the server
        told as the connection was made; `labels`: oids of enums; `defined`: of the log."""
        super().__init__(Transactions(name, level), Framing)
        self._reading = Reading(labels)
        for key, value in parameters.items():
            self._reading.parameter(key, value)
        self._execution = Execution(self.transactions, self._reading, begun, defined or Defined())
        self._portals = Portals(self._reading)
        self._queue: deque[Request] = deque()
        self._copy: Copy | None = None
        self._early: Copy | None = None
        """Rows of a COPY that the server has not asked for yet."""
        self._skipping = False
        """Whether the server passes over all up to a Sync that has not been sent yet."""
        self._prepared: int | None = None
        """When the first message was sent since the last statement at which the server may have looked at the
        database: preparing a statement takes the snapshot of a transaction that has none yet."""
        self._handlers: dict[int, Callable[[bytes | None], None]] = {
            ord("1"): self._parsed, ord("2"): self._bound, ord("3"): self._closed, ord("t"): self._described_types,
            ord("T"): self._described, ord("n"): self._no_data, ord("D"): self._row, ord("C"): self._completed,
            ord("I"): self._empty, ord("s"): self._suspended, ord("E"): self._error, ord("Z"): self._ready,
            ord("S"): self._parameter, ord("G"): self._copies, ord("H"): self._copies, ord("W"): self._copies,
            ord("d"): self._ignored, ord("c"): self._ignored, ord("N"): self._ignored, ord("A"): self._ignored,
            ord("V"): self._ignored, ord("K"): self._ignored,
        }  # fmt: skip

    # -- what was sent

    def _asked(self, number: int, body: bytes | None, time: int, own: bool) -> None:
        if number in _QUEUED:
            if not self._skipping or number == _SYNC:
                self._skipping = False
                self._queue.append(Request(number, time, body, own))
        elif number == _DATA:
            self._rows_sent(body)

    def _rows_sent(self, body: bytes | None) -> None:
        if self._copy is not None:
            self._copy.given(body)
        elif self._queue:
            self._early = self._early or Copy()
            self._early.given(body)

    # -- what was answered

    def _answered(self, number: int, body: bytes | None) -> None:
        handler = self._handlers.get(number)
        if handler is None:
            raise ValueError("an unknown message")
        handler(body)

    def _head(self) -> Request:
        if not self._queue:
            raise ValueError("an answer that nothing asked for")
        return self._queue[0]

    def _closed(self, body: bytes | None) -> None:
        self._pop()

    def _pop(self) -> Request:
        found = self._head()
        self._queue.popleft()
        return found

    def _ignored(self, body: bytes | None) -> None:
        pass

    def _parameter(self, body: bytes | None) -> None:
        if body is not None:
            self._reading.parameter(*messages.parameter_status(body))

    # preparing

    def _parsed(self, body: bytes | None) -> None:
        request = self._pop()
        if request.body is None:
            self.transactions.lose(_LONG, request.time)
        elif not request.own:
            self._looked(request.time)
            self._portals.prepare(messages.parse(request.body))

    def _bound(self, body: bytes | None) -> None:
        request = self._pop()
        if request.body is None:
            self.transactions.lose(_LONG, request.time)
        elif not request.own:
            self._looked(request.time)
            bind = messages.bind(request.body)
            if not self.transactions.is_lost or self._portals.has_statement(bind.statement):
                self._portals.bind(bind, request.time)

    def _looked(self, time: int) -> None:
        self._prepared = time if self._prepared is None else self._prepared

    def _invoked(self, time: int) -> int:
        """When a statement that was sent at `time` may have looked at the database first."""
        found, self._prepared = self._prepared, None
        return time if found is None else min(found, time)

    def _described_types(self, body: bytes | None) -> None:
        request = self._head()
        if not request.own and body is not None:
            _, name = messages.named(request.whole())
            if self._portals.has_statement(name):
                self._portals.statement(name).types = messages.parameter_description(body)

    def _described(self, body: bytes | None) -> None:
        request = self._head()
        columns = None if body is None else _columns(body)
        if request.kind == _DESCRIBE:
            self._describe(columns)
        elif request.kind != _QUERY:
            raise ValueError("columns that nothing asked for")
        elif columns is None:
            request.answer.strange = True
        elif not request.own:
            request.answer.described(columns)

    def _no_data(self, body: bytes | None) -> None:
        self._describe(None)

    def _describe(self, columns: tuple[Column, ...] | None) -> None:
        request = self._pop()
        if not request.own:
            self._looked(request.time)
            self._portals.describe(*messages.named(request.whole()), columns)

    # executing

    def _portal(self, request: Request) -> Portal:
        return self._portals.portal(messages.execute(request.whole())[0])

    def _row(self, body: bytes | None) -> None:
        request = self._head()
        if request.own:
            if body is not None:
                request.own_rows.append(messages.data_row(body))
        elif self.transactions.is_lost:
            pass
        elif request.kind == _EXECUTE:
            self._portal(request).answer.add(body)
        elif request.kind == _QUERY:
            request.answer.add(body)
        else:
            raise ValueError("rows that nothing asked for")

    def _completed(self, body: bytes | None) -> None:
        request = self._head()
        if body is None:
            raise ValueError("a tag that is too long")
        if request.own:
            if request.kind == _EXECUTE:
                self._queue.popleft()
                for xid, level in request.own_rows:
                    self._execution.told_of_transaction(xid, level)
        elif request.kind == _EXECUTE:
            self._queue.popleft()
            if not self.transactions.is_lost:
                self._executed(self._portal(request), body[:-1])
        elif request.kind != _QUERY:
            raise ValueError("a completion that nothing asked for")
        elif not request.ended:
            self._query_answered(request, body[:-1])

    def _read(self, request: Request) -> None:
        """Read the text of a Query, once."""
        if not request.read:
            request.read = True
            if request.body is None:
                self.transactions.lose(_LONG, request.time)
                request.ended = True
                return
            request.pieces = pieces(self._reading.text(request.whole()[:-1]))

    def _query_answered(self, request: Request, tag: bytes) -> None:
        """One of the statements of a Query."""
        self._read(request)
        if request.ended:
            return
        piece = request.pieces[request.done] if request.done < len(request.pieces) else None
        request.done += 1
        answer, request.answer = request.answer, Answer()
        if piece is None or not fits(piece, tag, alone=len(request.pieces) == 1):
            self.transactions.lose(_STRANGE, request.time)
            request.ended = True
            return
        self._done(piece, plain, request.time, tag, answer)

    def _executed(self, portal: Portal, tag: bytes) -> None:
        piece = portal.prepared.piece
        if piece is None or not fits(piece, tag, alone=True):
            self.transactions.lose(_STRANGE, portal.bound)
            return
        answer, portal.answer = portal.answer, Answer(portal.answer.columns)
        if portal.place is not None:
            transcript, place = portal.place
            portal.place = None
            transcript.observe(place, answer.observation(self._reading, tag))
            return
        self._done(piece, partial(self._portals.fields, portal.prepared, portal.bind), portal.bound, tag, answer)

    def _done(self, piece: Piece, made: Callable[[str], bytes], invoked: int, tag: bytes, answer: Answer) -> None:
        copy, self._copy, self._early = self._copy, None, None
        self._execution.done(piece, made, (self._invoked(invoked), self._time), tag, answer, copy)

    def _suspended(self, body: bytes | None) -> None:
        """A portal has given some of its rows."""
        request = self._pop()
        if self.transactions.is_lost:
            return
        portal = self._portal(request)
        piece = portal.prepared.piece
        if piece is None:
            return
        observed = portal.answer.observation(self._reading, b"", truncated=True)
        if portal.place is not None:
            transcript, place = portal.place
            transcript.observe(place, observed)
        elif piece.text.verb in (Verb.READ, Verb.WRITE):
            statement = self._portals.fields(portal.prepared, portal.bind)
            portal.place = self.transactions.add(statement, self._invoked(portal.bound), self._time, observed)

    def _empty(self, body: bytes | None) -> None:
        """An empty text was answered."""
        if self._head().kind == _EXECUTE:
            self._queue.popleft()

    def _copies(self, body: bytes | None) -> None:
        self._copy, self._early = self._early or Copy(), None
        if self._head().kind == _EXECUTE:
            # a Sync that was sent together with it is passed over by the server
            for place, later in enumerate(self._queue):
                if later.kind == _SYNC:
                    del self._queue[place]
                    break

    # errors

    def _error(self, body: bytes | None) -> None:
        fields = {} if body is None else messages.fields(body)
        if fields.get("V", fields.get("S")) in _FATAL or not self._queue:
            return  # the connection is about to end, and what became of the statement is not known
        request = self._queue[0]
        self._copy = self._early = None
        if request.kind in _UNTIL_READY:
            if not request.ended and not request.own and not self.transactions.is_lost:
                self._query_failed(request, fields)
            request.ended = True
            return
        if request.own:
            self.transactions.failed = True
        elif not self.transactions.is_lost:
            self._message_failed(request, fields)
        while self._queue and self._queue[0].kind != _SYNC:
            self._queue.popleft()
        self._skipping = not self._queue

    def _query_failed(self, request: Request, fields: Mapping[str, str]) -> None:
        times = (self._invoked(request.time), self._time)
        if request.kind == _QUERY:
            self._read(request)
        if request.ended:
            return
        if request.done >= len(request.pieces):
            self._execution.commit_failed(times, fields)
        elif len(request.pieces) > 1 and request.done == 0 and fields.get("C") == "42601":
            # it may be of the whole text, of which nothing was executed then
            if self.transactions.current is not None:
                text = "\n".join(piece.sql for piece in request.pieces)
                self._execution.fail_with(plain(masked(text)), times, fields, secret=True)
        else:
            piece = request.pieces[request.done]
            self._execution.failed(piece, plain(piece.sql), times, fields)

    def _message_failed(self, request: Request, fields: Mapping[str, str]) -> None:
        """What was to prepare, bind or execute a statement brought an error."""
        prepared, bind, invoked = None, None, request.time
        if request.kind == _EXECUTE:
            name, _ = messages.execute(request.whole())
            if self._portals.has_portal(name):  # else that was the error
                portal = self._portals.portal(name)
                if portal.place is None:  # else it is a part of a query that stands already
                    prepared, bind, invoked = portal.prepared, portal.bind, portal.bound
        elif request.kind == _BIND:
            bind = messages.bind(request.whole())
            if self._portals.has_statement(bind.statement):
                prepared = self._portals.statement(bind.statement)
        elif request.kind == _PARSE:
            parse = messages.parse(request.whole())
            prepared, bind = self._portals.read(parse), self._bind_behind(parse.name)
        if prepared is not None and prepared.piece is not None:
            statement = self._portals.fields(prepared, bind)
            self._execution.failed(prepared.piece, statement, (self._invoked(invoked), self._time), fields)
        elif self.transactions.current is not None:
            self.transactions.failed = True

    def _bind_behind(self, name: bytes) -> messages.Bind | None:
        """The parameters that were sent for a statement that could not be prepared, where their types do not matter."""
        for request in self._queue:
            if request.kind == _BIND and request.body is not None:
                bind = messages.bind(request.body)
                if bind.statement == name and not any(bind.formats):
                    return bind
            elif request.kind == _SYNC:
                break
        return None

    # the truth about transactions

    def _ready(self, body: bytes | None) -> None:
        request = self._pop()
        if request.kind not in _UNTIL_READY:
            raise ValueError("the server is ready while something is outstanding")
        status = (body or b"?")[:1]
        self._skipping = False
        if request.own:
            if request.kind == _QUERY:
                self._told_of_session(request)
            return
        if request.kind == _FUNCTION:
            self.transactions.lose("a function was called by its number", request.time)
        elif request.kind == _QUERY and not request.ended and not self.transactions.is_lost:
            self._read(request)
            if not request.ended and request.done != len(request.pieces):
                self.transactions.lose("a text was answered by fewer statements than it has", request.time)
        if not self.transactions.is_lost:
            self._execution.ready(status, (request.time, self._time))
        if status == b"I":
            self.transactions.found(self._time)
            self._portals.clear()
            self._prepared = None

    def _told_of_session(self, request: Request) -> None:
        told = {(name or b"").decode(): (value or b"").decode("utf-8", "replace") for name, value in request.own_rows}
        if request.ended or not self._execution.told_of_session(told, request.time):
            self.lose("how a session is set is not known", request.time)

    # -- the end

    def _left(self) -> None:
        if self.transactions.is_lost or self.transactions.failed:
            return
        for request in self._queue:
            if not request.own and not request.ended:
                self._unanswered(request)

    def _unanswered(self, request: Request) -> None:
        """A message was sent, and nothing is known of what came of it."""
        execution = self._execution
        if request.kind == _QUERY:
            self._read(request)
            for piece in request.pieces[request.done :]:
                execution.unanswered(piece, plain(piece.sql), self._invoked(request.time))
            execution.may_have_ended(None)
        elif request.kind == _PARSE:
            self._looked(request.time)
            self._portals.prepare(messages.parse(request.whole()))
        elif request.kind == _BIND:
            self._looked(request.time)
            self._portals.bind(messages.bind(request.whole()), request.time)
        elif request.kind == _EXECUTE:
            portal = self._portal(request)
            if portal.prepared.piece is not None and portal.place is None:
                statement = self._portals.fields(portal.prepared, portal.bind)
                execution.unanswered(portal.prepared.piece, statement, self._invoked(portal.bound))
        elif request.kind == _SYNC:
            execution.may_have_ended(request.time)
        elif request.kind == _FUNCTION:
            self.transactions.lose("a function was called by its number", request.time)
