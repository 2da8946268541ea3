"""What the statements of a MySQL or MariaDB session come to, one after the other as they were executed. The flags that
the server sends with each answer are the truth about transactions. Does not know packets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.record.core.tape import NOTHING, UNKNOWN, Transcript, fields
from troubadour.record.dbapi.statements import WRITES
from troubadour.record.dbapi.transactions import ENDING, SNAPSHOT_LEVELS
from troubadour.record.drivers.detection import DDL, MYSQL_LEVELS, MYSQL_ROLLED_BACK
from troubadour.record.proxy.decode.session import Piece
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.proxy.mysql.modes import Modes
from troubadour.record.proxy.mysql.packets import Error
from troubadour.record.proxy.mysql.texts import DIALECT
from troubadour.record.settings import differing, mysql_settings
from troubadour.record.statements.lexing import name_of, tokens
from troubadour.record.statements.secrets import masked
from troubadour.record.statements.texts import Verb, end_of_failed

IN_TRANSACTION, AUTOCOMMIT = 1, 2
FOUND_ROWS = 2
"""A client's capability: counts are of rows found."""
DEADLOCK = 1213
_LEVEL = re.compile(
    r"SET\s+(?:@@)?(?P<scope>SESSION\s*[.\s]|LOCAL\s*[.\s]|GLOBAL\s*[.\s])?\s*(?:tx|transaction)_isolation\s*:?=\s*"
    r"['\"]?(?P<level>[A-Z]+(?:-[A-Z]+)?)['\"]?\s*$",
    re.IGNORECASE,
)
_AUTOCOMMIT = re.compile(r"SET\s+(?:@@)?(?:(?:SESSION|LOCAL)\s*[.\s]\s*)?AUTOCOMMIT\s*:?=\s*\w+\s*$", re.IGNORECASE)

Times = tuple[int, int]
Made = Callable[[Piece], bytes]
"""From a statement to its fields."""


@dataclass(slots=True)
class Result:
    """One answer: `columns` and rows, or how many rows were affected."""

    columns: list[str] | None = None
    rows: list[list[Any]] = field(default_factory=list)
    affected: int = 0
    known: bool = True
    """Whether all rows were kept, and could be read."""


class Execution:
    """Of one session. `begun`: the settings of the log's header; `database`: the one that is recorded; `current`: the
    session's; `found_rows`: whether counts are of rows found."""

    def __init__(
        self, transactions: Transactions, begun: Mapping[str, Any], database: str, current: str, *, found_rows: bool
    ) -> None:
        self._transactions = transactions
        self._begun = begun
        self._database = database
        self._current = current
        self._counts_differ = found_rows != bool(begun.get("found_rows"))
        self._next: tuple[str | None, bool | None] = (None, None)
        """Level and access that SET TRANSACTION asked for, for the next transaction alone."""
        self._modes = Modes()
        self._refuses = False
        """Whether REPEATABLE READ is snapshot isolation."""

    # -- statements

    def done(self, piece: Piece, made: Made, times: Times, results: Sequence[Result], status: int) -> None:
        """A statement was answered; `status`: the server's flags after it."""
        transactions, text = self._transactions, piece.text
        if transactions.is_lost:
            self._found(status, times[1])
            return
        if text.word == "USE":
            self.use(piece.sql[3:].strip().strip("`"))
            return
        if self._is_elsewhere(piece, times):
            self._settle(status, times)
            return
        match text.verb:
            case Verb.BEGIN:
                self._commit_before(times)
                self._begin(piece, times)
            case Verb.COMMIT | Verb.ROLLBACK:
                transactions.end("committed" if text.verb is Verb.COMMIT else "aborted", *times)
            case Verb.CHARACTERIZE:
                self._next = (self._level(text.level), text.read_only)
            case Verb.DEFAULT:
                transactions.level = self._level(text.level) or transactions.level
                transactions.read_only = text.read_only if text.read_only is not None else transactions.read_only
            case Verb.NEUTRAL:
                pass
            case Verb.READ | Verb.WRITE | Verb.SAVEPOINT:
                self._statement(piece, made, times, results)
            case _:
                self._unusual(piece, made, times)
        self._settle(status, times)

    def _statement(self, piece: Piece, made: Made, times: Times, results: Sequence[Result]) -> None:
        transactions, word = self._transactions, piece.text.word
        if word == "SET" and _AUTOCOMMIT.match(piece.sql):
            self._commit_before(times)  # where it switches that on; else nothing is open that it would go on with
            return
        if word in ENDING or word in DDL:
            self._commit_before(times)
        self._opened(times[0])
        observed = NOTHING if piece.secret else self._observation(word, results)
        if word == "SET":
            piece = piece._replace(sql=self._modes.told(piece.sql))
        transactions.add(_told(piece, made), *times, observed)

    def _unusual(self, piece: Piece, made: Made, times: Times) -> None:
        """What the other recorders refuse."""
        transactions = self._transactions
        level = _LEVEL.match(piece.sql)
        if level is not None and level["level"].upper() in MYSQL_LEVELS:
            scope = (level["scope"] or "SESSION").strip(" .\n\t").upper()
            if scope in ("SESSION", "LOCAL"):
                transactions.level = self._named(MYSQL_LEVELS[level["level"].upper()])
            return
        if piece.text.word in ("COMMIT", "ROLLBACK") and " CHAIN" in piece.sql.upper():
            current = transactions.current
            transactions.end("committed" if piece.text.word == "COMMIT" else "aborted", *times)
            begun = transactions.begin(times[0], explicit=True)
            if current is not None:
                begun.characterize(current.level, current.read_only)
            return
        if piece.text.word == "XA":
            transactions.lose("an XA transaction", times[0])
            return
        self._opened(times[0])
        transactions.add(fields({"sql": masked(piece.sql)}), *times, NOTHING)

    def _opened(self, invoked: int) -> None:
        """The open transaction, or a new one, as SET TRANSACTION says."""
        if self._transactions.current is None:
            self._characterize(self._transactions.begin(invoked, explicit=False))

    def _characterize(self, begun: Transcript) -> None:
        begun.characterize(*self._next)
        self._next = (None, None)

    def _begin(self, piece: Piece, times: Times) -> None:
        begun = self._transactions.begin(times[0], explicit=True)
        self._characterize(begun)
        begun.characterize(self._level(piece.text.level), piece.text.read_only)
        taken = piece.text.snapshot_at if begun.level in SNAPSHOT_LEVELS else "statement"
        begun.snapshot_at = taken
        begun.begin = (*times, taken == "begin")

    def _commit_before(self, times: Times) -> None:
        """What is open is committed by the statement itself, before it does anything else."""
        if self._transactions.current is not None:
            self._transactions.end("committed", *times)

    def _observation(self, word: str, results: Sequence[Result]) -> bytes:
        sets = [{"columns": one.columns, "rows": one.rows} for one in results if one.columns is not None]
        known = all(one.known for one in results)
        found: dict[str, Any] = {}
        if word == "CALL":
            if sets and known:
                found["results"] = sets
        else:
            if sets and known:
                found["result"] = sets[0]
            counted = word in WRITES and (word != "WITH" or not sets) and not (self._counts_differ and word == "UPDATE")
            if counted and known and not sets:
                found["affected"] = results[-1].affected if results else 0
        return b"," + fields(found) if found else NOTHING

    # -- other databases

    def use(self, database: str) -> None:
        """The session's database is another one from now on."""
        self._current = database

    def _is_elsewhere(self, piece: Piece, times: Times) -> bool:
        """Whether a statement is one of another database; where it may be of this one all the same, that is a gap."""
        if self._current == self._database or piece.text.verb not in (Verb.READ, Verb.WRITE):
            return False
        if any(name_of(token) == self._database.lower() for token in tokens(piece.sql, DIALECT)):
            self._transactions.lose("a statement of another database names the one that is recorded", times[0])
        return True

    # -- errors

    def failed(self, piece: Piece, made: Made, times: Times, error: Error, status: int) -> None:
        """A statement brought an error; `status`: the server's flags before it, as an error has none."""
        transactions, verb = self._transactions, piece.text.verb
        if transactions.is_lost:
            return
        told = {"sqlstate": error.state, "message": "" if piece.secret else error.message[:300]}
        if verb is Verb.COMMIT:
            if transactions.current is not None:
                aborted = error.code in MYSQL_ROLLED_BACK
                transactions.end("aborted" if aborted else "unknown", *times, told)
            return
        if verb in (Verb.BEGIN, Verb.CHARACTERIZE, Verb.DEFAULT, Verb.ROLLBACK):
            return
        current = transactions.current
        if current is not None and (piece.text.word in ENDING or piece.text.word in DDL):
            transactions.lose("a definition failed, which may have committed before", times[0])
            return
        if verb is Verb.NEUTRAL and current is None:
            return
        self._opened(times[0])
        transactions.add(_told(piece, made), *times, b"," + fields({"error": told}))
        if current is None and status & AUTOCOMMIT:
            transactions.end(end_of_failed(piece.text.word, DIALECT), None, times[1])
        elif error.code == DEADLOCK:
            transactions.end("aborted", None, times[1])

    def unanswered(self, piece: Piece, made: Made, invoked: int, status: int) -> None:
        """A statement was sent, and no answer came."""
        transactions, verb = self._transactions, piece.text.verb
        if transactions.is_lost or self._is_elsewhere(piece, (invoked, invoked)):
            return
        current = transactions.current
        if verb is Verb.COMMIT:
            transactions.end("unknown", invoked, None)
        elif verb is Verb.ROLLBACK:
            transactions.end("aborted", invoked, None)
        elif current is not None and (piece.text.word in ENDING or verb in (Verb.BEGIN, Verb.REFUSED)):
            transactions.lose("what was sent last may have committed", current.invoked)
        elif verb in (Verb.READ, Verb.WRITE, Verb.REFUSED, Verb.SAVEPOINT):
            self._opened(invoked)
            transactions.add(_told(piece, made), invoked, None, UNKNOWN)
            if current is None and status & AUTOCOMMIT:
                transactions.end("unknown", None, None)

    # -- the truth about transactions

    def _settle(self, status: int, times: Times) -> None:
        transactions = self._transactions
        current = transactions.current
        is_open = bool(status & IN_TRANSACTION)
        if transactions.is_lost:
            self._found(status, times[1])
        elif is_open and status & AUTOCOMMIT and not transactions.explicit:
            transactions.lose("a transaction is open that nothing has begun", times[0])
        elif current is None and is_open:
            self._opened(times[0])
        elif current is not None and not is_open:
            if transactions.explicit:
                transactions.lose("a transaction ended that nothing has ended", times[0])
                transactions.found(times[1])
            else:
                transactions.end("committed", None, times[1])

    def settle(self, status: int, times: Times) -> None:
        """The server says how the transaction stands, in answer to something that is no statement."""
        self._settle(status, times)

    def _found(self, status: int, time: int) -> None:
        if not status & IN_TRANSACTION:
            self._transactions.found(time)

    # -- what the proxy asked for

    def told_of_session(self, told: Mapping[str, str], version: str, time: int) -> None:
        """How the session was set as it began."""
        level = told.get("tx_isolation") or told.get("transaction_isolation")
        self._refuses = told.get("innodb_snapshot_isolation") == "ON"
        if level in MYSQL_LEVELS:
            self._transactions.level = self._named(MYSQL_LEVELS[level])
        self._modes = Modes(told.get("sql_mode"))
        rows = [list(one) for one in told.items()]
        settings = mysql_settings(lambda text: [[version]] if "version()" in text else rows)
        for name in ("tx_isolation", "transaction_isolation"):
            settings.pop(name, None)
        self._transactions.told(differing(settings, self._begun, DIALECT), time)

    def _named(self, level: str) -> str:
        return "snapshot" if self._refuses and level == "mysql:repeatable-read" else level

    def _level(self, name: str | None) -> str | None:
        return None if name is None else self._named(MYSQL_LEVELS[name.replace(" ", "-")])


def _told(piece: Piece, made: Made) -> bytes:
    """The fields of a statement; of one that may hold passwords these are masked, and parameters left out."""
    return fields({"sql": masked(piece.sql)}) if piece.secret else made(piece)
