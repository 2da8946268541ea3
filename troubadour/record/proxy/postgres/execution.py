"""What the statements of a PostgreSQL session come to, one after the other as they were executed: what its transactions
did, how they ended, and what they are set to. Does not know messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from troubadour.record.core.journal import encode
from troubadour.record.core.tape import NOTHING, UNKNOWN
from troubadour.record.postgres.wire import says_aborted
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.postgres.answers import Answer, Reading, error_json
from troubadour.record.proxy.postgres.carried.asking import STARTED
from troubadour.record.proxy.postgres.statements.copying import Copy
from troubadour.record.proxy.postgres.statements.cursors import Cursors
from troubadour.record.proxy.postgres.statements.defaults import Defaults
from troubadour.record.proxy.postgres.statements.defined import Defined
from troubadour.record.proxy.postgres.statements.texts import DIALECT
from troubadour.record.settings import differing, postgres_settings
from troubadour.record.statements.secrets import masked
from troubadour.record.statements.texts import POSTGRES_LEVELS, Verb

Made = Callable[[str], bytes]
"""From a text to the fields of a statement."""
_TOLD = frozenset({Verb.READ, Verb.WRITE, Verb.REFUSED})
Times = tuple[int, int]
"""When a statement was sent and answered."""


class Execution:
    """Of one session. `begun`: the settings of the log's header; `defined`: what the log's
    database has."""

    def __init__(
        self, transactions: Transactions, reading: Reading, begun: Mapping[str, Any], defined: Defined
    ) -> None:
        self._begun = begun
        self._transactions = transactions
        self._reading = reading
        self._defined = defined
        self._defaults = Defaults(transactions, str(begun.get("timezone", "UTC")), defined)
        self._cursors = Cursors(transactions, reading)

    def done(self, piece: Piece, made: Made, times: Times, tag: bytes, answer: Answer, copy: Copy | None) -> None:
        """A statement was answered by its tag; `copy`: the rows that it moved."""
        transactions, text = self._transactions, piece.text
        if transactions.is_lost or self._defaults.styled(piece, times):
            return
        if text.verb in _TOLD:
            self._defaults.style_first(piece.sql)
        match text.verb:
            case Verb.READ | Verb.WRITE:
                if self._defaults.done(piece):
                    return
                if piece.secret:
                    transactions.add(plain(masked(piece.sql)), *times, NOTHING)
                else:
                    transactions.add(made(piece.sql), *times, answer.observation(self._reading, tag))
                if text.word in ("ALTER", "CREATE", "DROP"):
                    self._defined.executed(piece.sql)
            case Verb.SAVEPOINT:
                transactions.failed = False
                transactions.add(made(piece.sql), *times, NOTHING)
            case Verb.BEGIN:
                self._begin(piece, times)
            case Verb.COMMIT | Verb.ROLLBACK:
                self._end(tag, times)
            case Verb.CHARACTERIZE:
                if transactions.current is not None:
                    transactions.current.characterize(_level(text.level), text.read_only)
                    transactions.current.snapshot_at = text.snapshot_at or transactions.current.snapshot_at
            case Verb.DEFAULT:
                self._defaults.characterize(_level(text.level), text.read_only)
            case Verb.NEUTRAL:
                self._defaults.done(piece)
            case Verb.PREPARED:
                # from now on any session may commit it
                prepared = tag == b"PREPARE TRANSACTION"
                invoked, returned = times
                transactions.end("unknown" if prepared else "aborted", invoked, None if prepared else returned)
            case _:
                self._unusual(piece, made, times, tag, answer, copy)

    def _begin(self, piece: Piece, times: Times) -> None:
        transactions, text = self._transactions, piece.text
        current = transactions.current
        if current is None:
            current = transactions.begin(times[0], explicit=True)
            current.begin = (*times, False)
        transactions.explicit = True
        current.characterize(_level(text.level), text.read_only)

    def _end(self, tag: bytes, times: Times, *, chain: bool = False) -> None:
        transactions = self._transactions
        current = transactions.current
        transactions.end("committed" if tag == b"COMMIT" else "aborted", *times)
        if chain:
            begun = transactions.begin(times[0], explicit=True)
            if current is not None:
                begun.characterize(current.level, current.read_only)

    def _unusual(self, piece: Piece, made: Made, times: Times, tag: bytes, answer: Answer, copy: Copy | None) -> None:
        """What the other recorders refuse."""
        transactions, word = self._transactions, piece.text.word
        if tag in (b"COMMIT", b"ROLLBACK"):
            self._end(tag, times, chain=True)
        elif tag in (b"COMMIT PREPARED", b"ROLLBACK PREPARED"):
            pass  # its line says that it may have committed
        elif word == "SET":
            self._defaults.done(piece)
        elif word == "COPY" and copy is not None and not piece.secret:
            self._copied(piece, copy, times, tag)
        elif piece.secret or not self._cursors.done(piece, made, times, tag, answer):
            transactions.add(plain(masked(piece.sql)), *times, NOTHING)

    def _copied(self, piece: Piece, copy: Copy, times: Times, tag: bytes) -> None:
        told = copy.statements(piece.sql, self._reading.codec, self._defined.tables)
        if told is None:
            self._transactions.add(plain(piece.sql), *times, NOTHING)
            return
        whole = sum(count or 0 for _, count in told) == int(tag.rpartition(b" ")[2])
        for sql, count in told:
            observed = b',"affected":%d' % count if count is not None and whole else NOTHING
            self._transactions.add(plain(sql), *times, observed)

    # -- errors

    def failed(self, piece: Piece, statement: bytes, times: Times, fields: Mapping[str, str]) -> None:
        """A statement brought an error."""
        transactions, verb = self._transactions, piece.text.verb
        current = transactions.current
        if verb is Verb.COMMIT or verb is Verb.PREPARED:
            if current is not None:
                transactions.end(_fate(fields), *times, error_json(fields))
        elif verb is not Verb.BEGIN or current is not None:
            statement = plain(masked(piece.sql)) if piece.secret else statement
            self._defaults.style_first(piece.sql)
            self.fail_with(statement, times, fields, secret=piece.secret)

    def fail_with(self, statement: bytes, times: Times, fields: Mapping[str, str], *, secret: bool = False) -> None:
        """An error, and with it the failure of the open transaction."""
        self._transactions.add(statement, *times, b',"error":' + encode(error_json(fields, secret)))
        self._transactions.failed = True

    def commit_failed(self, times: Times, fields: Mapping[str, str]) -> None:
        """All statements were answered, and then came an error: of the implicit COMMIT."""
        transactions = self._transactions
        current = transactions.current
        if current is None or transactions.explicit:
            transactions.failed = current is not None
            return
        status, (invoked, returned) = _fate(fields), times
        if len(current) == 1 and status == "aborted":
            current.failed(b',"error":' + encode(error_json(fields)), returned)
            transactions.end(status, None, returned)
        else:
            transactions.end(status, invoked, returned, error_json(fields))

    # -- the truth about transactions

    def ready(self, status: bytes, times: Times) -> None:
        """The server says how the transaction stands: ``I`` none is open, ``T`` one is, ``E`` it has failed."""
        transactions = self._transactions
        current = transactions.current
        invoked, returned = times
        if status == b"I":
            if current is not None and transactions.explicit:
                transactions.lose("a transaction ended that nothing has ended", invoked)
            elif current is not None:
                # several statements were ended by something of its own, Sync or the end of the text
                end = invoked if len(current) > 1 else None
                transactions.end("aborted" if transactions.failed else "committed", end, returned)
            transactions.found(returned)
        elif current is None or not transactions.explicit:
            transactions.lose("a transaction is open that nothing has begun", invoked)
        elif status == b"E" and not transactions.failed:
            transactions.lose("a transaction failed, and nothing says why", invoked)
        else:
            transactions.failed = status == b"E"

    def may_have_ended(self, invoked: int | None) -> None:
        """The end of an implicit transaction was sent, at `invoked` if by itself, and no answer came."""
        transactions = self._transactions
        current = transactions.current
        if current is not None and not transactions.explicit:
            transactions.end("unknown", None if len(current) == 1 else invoked or current.invoked, None)

    def unanswered(self, piece: Piece, statement: bytes, invoked: int) -> None:
        """A statement was sent, and no answer came."""
        transactions = self._transactions
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
                statement = plain(masked(piece.sql)) if piece.secret else statement
                self._defaults.style_first(piece.sql)
                transactions.add(statement, invoked, None, UNKNOWN)

    # -- what the proxy asked for

    def told_of_session(self, told: dict[str, str], time: int) -> bool:
        """How the session was set as it began. False where that is not known."""
        if STARTED not in told:
            return False
        self._transactions.lifetime = told.pop(STARTED)
        self._defaults.begin(told.get("default_transaction_isolation"), told.get("default_transaction_read_only"))
        settings = postgres_settings([[name, value] for name, value in told.items()])
        self._transactions.told(differing(settings, self._begun, DIALECT), time)
        return True

    def told_of_transaction(self, xid: bytes | None, level: bytes | None) -> None:
        """The id of the transaction whose COMMIT comes next, and its level."""
        self._transactions.ticket = None if xid is None else xid.decode()
        current = self._transactions.current
        if current is not None and level is not None:
            current.level = _level(level.decode().upper()) or current.level


def plain(sql: str) -> bytes:
    """The fields of a statement without parameters."""
    return b'"sql":' + encode(sql)


def _level(name: str | None) -> str | None:
    return None if name is None else POSTGRES_LEVELS.get(name)


def _fate(fields: Mapping[str, str]) -> str:
    """What became of a transaction whose COMMIT brought an error."""
    return "aborted" if says_aborted(fields.get("C", "")) else "unknown"
