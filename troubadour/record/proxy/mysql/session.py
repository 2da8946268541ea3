"""What one MySQL or MariaDB session did, from the bytes that passed: commands and their answers are brought together,
and statements and transactions come of it (`execution`).

Where an answer is not that of its command nothing is guessed: that is a gap. Does not know where the bytes come from.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.record.core.tape import fields
from troubadour.record.errors import NotRecorded
from troubadour.record.proxy.bodies import BROKEN
from troubadour.record.proxy.decode import session as decode
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.mysql import packets
from troubadour.record.proxy.mysql.execution import AUTOCOMMIT, FOUND_ROWS, Execution, Made, Result
from troubadour.record.proxy.mysql.packets import Column, Framing, Ok
from troubadour.record.proxy.mysql.texts import DIALECT, pieces
from troubadour.record.proxy.mysql.values import binary_row, codec, parameters, placed, text_row
from troubadour.record.statements.lexing import PLACE, tokens

QUIT, INIT_DB, QUERY, FIELD_LIST, STATISTICS, PING, CHANGE_USER = 1, 2, 3, 4, 9, 14, 17
PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET, SET_OPTION, FETCH, RESET_CONNECTION = 22, 23, 24, 25, 26, 27, 28, 31
_SIMPLE = frozenset({INIT_DB, PING, RESET, SET_OPTION, 8, 13})
"""Answered by one packet."""
_ROWS = frozenset({QUERY, EXECUTE})
MULTI_STATEMENTS, DEPRECATE_EOF = 1 << 16, 1 << 24
MORE, CURSOR, LAST_ROW = 8, 0x40, 0x80
_ERROR, _EOF = b"\xff", b"\xfe"
LAST = 0xFFFFFFFF
"""As a statement's number: the one that was prepared last (MariaDB)."""
MOST = 1 << 26
"""Of one result so many bytes of rows are kept."""


@dataclass(slots=True)
class Prepared:
    """A statement as PREPARE made it; `types` of its parameters, as EXECUTE told them last; `long`: those that were
    sent by themselves."""

    piece: Piece
    count: int
    types: list[tuple[int, bool]] = field(default_factory=list)
    long: dict[int, bytes] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)


@dataclass(slots=True)
class Command:
    """A command, and how far its answer has come. `long`: of an EXECUTE. `state`: what the next packet is."""

    kind: int
    time: int
    body: bytes | None
    own: bool
    long: dict[int, bytes] = field(default_factory=dict)
    state: str = "first"
    left: int = 0
    columns: list[Column] = field(default_factory=list)
    size: int = 0
    results: list[Result] = field(default_factory=list)
    pieces: tuple[Piece, ...] = ()
    read: bool = False
    done: int = 0
    number: int = 0
    parameters: int = 0


class Session(decode.Session):
    """One connection."""

    broken = (*BROKEN, KeyError)
    messages = "command"

    def __init__(
        self, name: str, level: str | None, begun: Mapping[str, Any], opened: Mapping[str, Any], database: str
    ) -> None:
        """`level`: of the header, until the server says another; `begun`: its settings; `opened`: what was told as the
        connection was made; `database`: the one that is recorded."""
        super().__init__(Transactions(name, level), Framing)
        capabilities = int(opened.get("capabilities", 0))
        current = str(opened.get("database", ""))
        found_rows = bool(capabilities & FOUND_ROWS)
        self._execution = Execution(self.transactions, begun, database, current, found_rows=found_rows)
        self._deprecates_eof = bool(capabilities & DEPRECATE_EOF)
        self._several = bool(capabilities & MULTI_STATEMENTS)
        self._codec = codec(int(opened.get("charset", 45)))
        self._version = str(opened.get("version", ""))
        self._status = int(opened.get("status", AUTOCOMMIT))
        self._queue: deque[Command] = deque()
        self._prepared: dict[int, Prepared] = {}
        self._last = 0
        """The number of the statement that was prepared last."""

    # -- what was sent

    def _asked(self, number: int, body: bytes | None, time: int, own: bool) -> None:
        if number == 0 and body != b"":
            self._command(Command(QUERY if body is None else body[0], time, body, own))

    def _command(self, command: Command) -> None:
        body = command.body
        if command.kind in (CHANGE_USER, RESET_CONNECTION) or body is None:
            self.lose("a session began anew, or a command was too long to be kept", command.time)
        elif command.kind == LONG_DATA:
            number, place = struct.unpack_from("<IH", body, 1)
            if number in self._prepared:
                long = self._prepared[number].long
                long[place] = long.get(place, b"") + body[7:]
        elif command.kind == CLOSE:
            # what is executed before it has its statement
            self._queue.append(command)
            self._close_in_turn()
        elif command.kind != QUIT:
            if command.kind == EXECUTE:
                (number,) = struct.unpack_from("<I", body, 1)
                if number in self._prepared:
                    command.long, self._prepared[number].long = self._prepared[number].long, {}
            self._queue.append(command)

    def _close_in_turn(self) -> None:
        """Statements are closed without an answer, once that is their turn."""
        while self._queue and self._queue[0].kind == CLOSE:
            self._prepared.pop(self._named(self._queue.popleft()), None)

    # -- what was answered

    def _answered(self, number: int, body: bytes | None) -> None:
        if not self._queue:
            raise ValueError("an answer that nothing asked for")
        self._answer(self._queue[0], body)
        self._close_in_turn()

    def _answer(self, command: Command, payload: bytes | None) -> None:
        if command.kind in _ROWS or command.kind == FETCH:
            self._rows(command, payload)
            return
        if payload is None:
            raise ValueError("a packet that is too long")
        if command.kind == PREPARE:
            self._preparing(command, payload)
        elif command.kind == STATISTICS:
            self._queue.popleft()
        elif command.kind == FIELD_LIST:
            if payload[:1] == _ERROR or self._is_end(payload):
                self._queue.popleft()
        elif command.kind in _SIMPLE:
            self._queue.popleft()
            if command.kind == SET_OPTION and payload[:1] in (b"\0", _EOF) and command.body is not None:
                self._several = command.body[1:3] == b"\0\0"
            if payload[:1] == b"\0":
                if command.kind == INIT_DB and command.body is not None:
                    self._execution.use(command.body[1:].decode("utf-8", "replace"))
                self._execution.settle(self._flags(packets.ok(payload)), (command.time, self._time))
        else:
            raise ValueError(f"a command, {command.kind}, that is not known")

    def _named(self, command: Command) -> int:
        """The number of the prepared statement that a command is about, now that it is its turn."""
        (number,) = struct.unpack_from("<I", command.body or b"", 1)
        return self._last if number == LAST else int(number)

    def _flags(self, ok: Ok) -> int:
        self._status = ok.status
        return ok.status

    def _is_end(self, payload: bytes) -> bool:
        """Whether a packet ends rows or columns."""
        if payload[:1] != _EOF:
            return False
        return len(payload) < (0xFFFFFF if self._deprecates_eof else 9)

    def _end(self, payload: bytes) -> Ok:
        return packets.ok(payload) if self._deprecates_eof and len(payload) > 5 else packets.end_of_rows(payload)

    # preparing

    def _preparing(self, command: Command, payload: bytes) -> None:
        if command.state == "first":
            if payload[:1] == _ERROR:
                self._queue.popleft()
                (piece, *_) = self._read(command) or (None,)
                if piece is not None:
                    times = (command.time, self._time)
                    self._execution.failed(piece, _plain, times, packets.error(payload), self._status)
                return
            number, columns, count = struct.unpack_from("<IHH", payload, 1)
            found = self._read(command)
            if len(found) != 1:
                raise ValueError("several statements in one that is prepared")
            self._prepared[number] = Prepared(found[0], count)
            self._last = number
            command.number, command.parameters, command.left = number, count, columns
            command.state = "parameters" if count else "columns"
        elif command.state == "parameters":
            if command.parameters:
                command.parameters -= 1
            elif not self._is_end(payload):
                raise ValueError("more parameters than were told")
            if not command.parameters and (self._deprecates_eof or self._is_end(payload)):
                command.state = "columns"
                if command.left:
                    return
        elif command.left:
            self._prepared[command.number].columns.append(packets.column(payload))
            command.left -= 1
            if command.left or not self._deprecates_eof:
                return
        if command.state == "columns" and not command.left:
            self._queue.popleft()

    # rows

    def _rows(self, command: Command, payload: bytes | None) -> None:
        if command.state == "rows" or command.kind == FETCH:
            self._row(command, payload)
            return
        if payload is None:
            raise ValueError("a packet that is too long")
        if command.state == "first":
            self._first(command, payload)
        elif command.left:
            command.columns.append(packets.column(payload))
            command.left -= 1
            if not command.left and self._deprecates_eof:
                command.state = "rows"
        elif self._is_end(payload):
            command.state = "rows"
            if packets.end_of_rows(payload).status & CURSOR:
                self._finished(command, packets.end_of_rows(payload), known=False)
        else:
            raise ValueError("columns without an end")

    def _first(self, command: Command, payload: bytes) -> None:
        if payload[:1] == b"\0":
            ok = packets.ok(payload)
            command.results.append(Result(affected=ok.affected))
            self._one_done(command, ok, ends_call=True)
        elif payload[:1] == _ERROR:
            self._failed(command, payload)
        elif payload[:1] == b"\xfb":
            raise ValueError("LOCAL INFILE")
        else:
            command.left, _ = packets.integer(payload, 0)
            command.columns = []
            command.size = 0
            command.state = "columns"
            command.results.append(Result(columns=[]))

    def _row(self, command: Command, payload: bytes | None) -> None:
        if payload is not None and payload[:1] == _ERROR:
            self._failed(command, payload)
            return
        if payload is not None and self._is_end(payload):
            self._finished(command, self._end(payload), known=True)
            return
        if command.kind == FETCH or (command.own and payload is None):
            return
        result = command.results[-1]
        command.size += len(payload or b"") + 50
        if payload is None or command.size > MOST:
            result.known, result.rows = False, []
        elif result.known:
            read = binary_row if command.kind == EXECUTE else text_row
            result.rows.append(read(command.columns, payload))

    def _finished(self, command: Command, end: Ok, *, known: bool) -> None:
        """A result has ended, or is to be fetched."""
        if command.kind == FETCH:
            self._queue.popleft()
            self._flags(end)
            return
        result = command.results[-1]
        result.columns = [column.name for column in command.columns]
        result.known = result.known and known
        command.state = "first"
        self._one_done(command, end, ends_call=False)

    def _one_done(self, command: Command, end: Ok, *, ends_call: bool) -> None:
        """A result is whole: with it a statement is, but for CALL, which an OK ends."""
        status = self._flags(end)
        if command.own:
            if not status & MORE:
                self._queue.popleft()
                self._told_of_session(command)
            return
        found = self._read(command)
        if command.done >= len(found):
            raise ValueError("more answers than a text has statements")
        piece = found[command.done]
        if piece.text.word == "CALL" and not ends_call:
            if not status & MORE:
                raise ValueError("a CALL without an end")
            return
        command.done += 1
        results, command.results = command.results, []
        self._execution.done(piece, self._made(command), (command.time, self._time), results, status)
        if not status & MORE:
            self._queue.popleft()
            if command.done != len(found):
                self.transactions.lose("a text was answered by fewer statements than it has", command.time)

    def _failed(self, command: Command, payload: bytes) -> None:
        self._queue.popleft()
        error = packets.error(payload)
        if command.own:
            self.lose("how a session is set is not known", command.time)
            return
        if command.kind == FETCH:
            self.transactions.lose("rows could not be fetched", command.time)
            return
        found = self._read(command)
        if command.done < len(found):
            piece = found[command.done]
            times = (command.time, self._time)
            self._execution.failed(piece, self._made(command), times, error, self._status)

    # statements

    def _read(self, command: Command) -> tuple[Piece, ...]:
        """The statements of a command, read once."""
        if not command.read:
            command.read = True
            body = command.body or b""
            if command.kind == EXECUTE:
                command.pieces = (self._prepared[self._named(command)].piece,)
            elif self._codec is None:
                raise ValueError("an unknown encoding")
            else:
                text = body[1:].decode(self._codec)
                command.pieces = tuple(pieces(text, several=self._several and command.kind == QUERY))
        return command.pieces

    def _made(self, command: Command) -> Made:
        """What makes the fields of a command's statements."""
        return partial(self._with_parameters, command) if command.kind == EXECUTE else _plain

    def _with_parameters(self, command: Command, piece: Piece) -> bytes:
        body = command.body or b""
        prepared = self._prepared[self._named(command)]
        values, prepared.types = parameters(body, prepared.count, prepared.types, command.long)
        text, kept, begin = "", [], 0
        given = iter(values)
        for token in tokens(piece.sql, DIALECT):
            if token.kind != PLACE or token.text != "?":
                continue
            try:
                around, value = placed(next(given))
            except NotRecorded:
                around, value = "{}", {"redacted": True}
            text += piece.sql[begin : token.start]
            if "{}" in around:
                text += around.format("?")
                kept.append(value)
            else:
                text += around
            begin = token.end
        text += piece.sql[begin:]
        return fields({"sql": text, "params": kept} if kept else {"sql": text})

    def _told_of_session(self, command: Command) -> None:
        told = {str(row[0]).lower(): str(row[1]) for result in command.results for row in result.rows}
        self._execution.told_of_session(told, self._version, command.time)

    # -- the end

    def _left(self) -> None:
        for command in self._queue:
            if command.own or self.transactions.is_lost or command.kind not in _ROWS:
                continue
            for piece in self._read(command)[command.done :]:
                self._execution.unanswered(piece, self._made(command), command.time, self._status)


def _plain(piece: Piece) -> bytes:
    """The fields of a statement without parameters."""
    return fields({"sql": piece.sql})
