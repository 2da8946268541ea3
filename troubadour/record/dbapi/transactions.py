"""The transactions of one DB-API connection: when they begin, how they end. Does not know what the
statements answer."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from sql_semantics.products import PRODUCTS
from troubadour.record.core.checkpoints import Due
from troubadour.record.core.journal import encode
from troubadour.record.core.tape import UNKNOWN, Tape, Transcript
from troubadour.record.dbapi.statements import Answered, statement_fields
from troubadour.record.drivers.detection import Driver
from troubadour.record.errors import NotRecorded, Unwritable
from troubadour.record.statements.lexing import TEXT, name_of, tokens
from troubadour.record.statements.secrets import administers
from troubadour.record.statements.texts import Text, Verb, end_of_failed, read_text

ENDING = ("CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME", "LOCK")
"""First words of what commits an open transaction in MySQL."""

SNAPSHOT_LEVELS = ("mysql:repeatable-read", "snapshot")
"""What logs call REPEATABLE READ of MySQL and MariaDB: at other levels WITH CONSISTENT SNAPSHOT is passed over."""


class Recording:
    """The transactions of one connection."""

    def __init__(self, connection: Any, driver: Driver, tape: Tape) -> None:
        self.connection = connection
        self.driver = driver
        self.tape = tape
        self.muted = False
        """Whether statements go by unrecorded; an adapter sets it around a driver's own questions."""
        self._explicit = False
        """BEGIN was sent and nothing ended it."""
        self._failed = False
        self._next: tuple[str | None, bool | None] = (None, None)
        """Level and access that SET TRANSACTION asked for, for the next transaction alone."""
        self._set: list[str] = []
        """The savepoints of a transaction that SAVEPOINT has begun, the outermost first: RELEASE of that commits."""
        self._locks = False
        """LOCK TABLES (MySQL): a BEGIN would give these locks back."""
        self._tried: int | None = None
        """How many statements the transaction had when a COMMIT failed and left it open."""

    def is_open(self) -> bool:
        """Whether a transaction is open on the connection."""
        return self.driver.is_open(self.connection, self._explicit)

    def statement(self, sql: str, params: Any, send: Callable[[], Answered]) -> Answered:
        """Send one statement and log it. Raises what sending raises, NotRecorded before anything is sent."""
        text = read_text(sql, self.driver.dialect)
        if self.muted:
            answered = send()
            if text.verb is Verb.DEFAULT:
                self.tape.level = self.driver.level(self.connection)
            return answered
        if text.verb is Verb.REFUSED:
            raise NotRecorded(text.reason)
        if text.verb is Verb.COMMIT:
            committed: Answered = self.commit(send)
            return committed
        if text.verb is Verb.ROLLBACK:
            rolled_back: Answered = self.rollback(send)
            return rolled_back
        if text.verb in (Verb.BEGIN, Verb.CHARACTERIZE, Verb.DEFAULT, Verb.NEUTRAL, Verb.PREPARED):
            return self._about(text, send)
        word = text.word
        self._locks = word == "LOCK" or (self._locks and word != "UNLOCK")
        entry = statement_fields(sql, params, self.driver)
        if self._tried is not None:
            raise NotRecorded("after a COMMIT that failed only COMMIT again, or ROLLBACK, is recorded")
        transcript = self.tape.current
        alone = transcript is None and self.driver.is_alone(self.connection, text, word)
        if transcript is not None and word in ENDING and PRODUCTS[self.driver.dialect].running.definitions_commit:
            raise NotRecorded(f"{word} ends the open transaction in {self.driver.name}: COMMIT before it")
        invoked = monotonic_ns()
        if transcript is None:
            transcript = self.begin(invoked)
        set_ = self._savepoints(text, sql, len(transcript) == 0 and not self._explicit)
        if self._set and not set_ and transcript.needs_intent:
            self.tape.intend(transcript, None)
        if not text.harmless:
            transcript.wrote = True
        if alone:
            transcript.add(entry, invoked, None, UNKNOWN)
            if transcript.needs_intent:
                try:
                    self.tape.intend(transcript, None)
                except BaseException:
                    self.tape.drop()
                    raise
        try:
            answered = send()
        except BaseException as error:
            end = end_of_failed(word, self.driver.dialect) if alone else None
            self._failed_statement(transcript, entry, end, invoked, error, administers(sql))
            raise
        returned = monotonic_ns()
        observed = answered.fields(word, self.driver.value)
        if alone:
            transcript.observe(len(transcript) - 1, observed, returned)
            self.tape.end("committed", None, returned)
        else:
            transcript.add(entry, invoked, returned, observed)
            is_open = self.is_open()
            self._set = self._set if is_open and not set_ else set_
            if not is_open:  # nothing was begun after all, and it read no table; or a RELEASE has committed it
                self.tape.end("committed", None, returned)
        return answered

    def _savepoints(self, text: Text, sql: str, first: bool) -> list[str]:
        """The savepoints behind a statement; none where the transaction did not begin with one."""
        if text.verb is not Verb.SAVEPOINT or not (first or self._set):
            return self._set
        found = [token for token in tokens(sql, self.driver.dialect) if token.text != ";"]
        name = found[-1].text.strip("'").lower() if found[-1].kind == TEXT else name_of(found[-1]).lower()
        if text.word == "SAVEPOINT":
            return [*self._set, name]
        if text.word != "RELEASE":
            return self._set
        if name not in self._set:
            return []  # it may be the outermost all the same
        return self._set[: len(self._set) - 1 - self._set[::-1].index(name)]

    def _about(self, text: Text, send: Callable[[], Answered]) -> Answered:
        invoked = monotonic_ns()
        answered = send()
        if text.verb is Verb.BEGIN:
            self.begun(invoked, text)
        elif text.verb is Verb.CHARACTERIZE and self.tape.current is not None:
            self.tape.current.characterize(self._level(text), text.read_only)
        elif text.verb is Verb.CHARACTERIZE:
            self._next = (self._level(text), text.read_only)
        elif text.verb is Verb.DEFAULT:
            self.tape.level = self.driver.level(self.connection)
        return answered

    def begun(self, invoked: int, text: Text) -> None:
        """A BEGIN, sent at `invoked`, was answered."""
        self._explicit, self._failed = True, False
        transcript = self.begin(invoked, self._level(text), text.read_only)
        running = PRODUCTS[self.driver.dialect].running
        taken = text.snapshot_at
        if running.begin_takes_snapshot:
            if transcript.level not in SNAPSHOT_LEVELS:
                taken = "statement"
            transcript.snapshot_at = taken
        self.tape.begun(invoked, taken == "begin" or (running.begins_immediate and text.locks))

    def _level(self, text: Text) -> str | None:
        return None if text.level is None else self.driver.level_named(self.connection, text.level)

    def begin(self, invoked: int, level: str | None = None, read_only: bool | None = None) -> Transcript:
        """A transaction begins."""
        (next_level, next_read_only), self._next = self._next, (None, None)
        self._set = []
        return self.tape.begin(invoked, level or next_level, next_read_only if read_only is None else read_only)

    def _failed_statement(
        self, transcript: Transcript, entry: bytes, end: str | None, invoked: int, error: BaseException, secret: bool
    ) -> None:
        """`end`: what became of one that is a transaction by itself; None for another."""
        alone = end is not None
        try:
            state = self.driver.sqlstate(self.connection, error)
        except BaseException as refusal:
            if refusal is not error:
                raise
            # the driver refused it, and nothing was sent; or it was interrupted, and that is not known
            if isinstance(error, Exception):
                if alone:
                    self.tape.drop()
                elif not self.is_open():
                    self.tape.current = None
                return
            state = None
        self._failed = True
        returned = monotonic_ns()
        if state is None:
            if not alone:
                transcript.add(entry, invoked, None, UNKNOWN)
            self.tape.end("unknown" if alone else "aborted", None, None)
            return
        message = "" if secret else " ".join(str(error).split())[:300]
        observed = b',"error":' + encode({"sqlstate": state, "message": message})
        if end is not None:
            transcript.observe(len(transcript) - 1, observed, returned)
            self.tape.end(end, None, returned)
            return
        transcript.add(entry, invoked, returned, observed)
        if self.driver.ends(error) or not self.is_open():
            self._explicit = False
            self.tape.end("aborted", None, returned)  # the DBMS has rolled it back

    def commit(self, send: Callable[[], Any]) -> Any:
        """Send a COMMIT."""
        transcript = self.tape.current
        if transcript is None or self.muted:
            self._explicit = False
            return send()
        if transcript.needs_intent and self._tried is None:
            try:
                self.tape.intend(transcript, monotonic_ns())
            except Unwritable as error:
                self.rollback(lambda: self.driver.roll_back(self.connection))
                raise Unwritable(f"{error} (this transaction was rolled back)") from error
        invoked = monotonic_ns()
        try:
            answer = send()
        except BaseException as error:
            self._commit_failed(transcript, error, invoked)
            raise
        self._tried = None
        # DuckDB answers so although it has rolled back
        happened = self.driver.lasts or not self._failed
        self._explicit = self._failed = False
        self.tape.end("committed" if happened else "aborted", invoked, monotonic_ns())
        if happened:
            self._checkpoint()
        return answer

    def _checkpoint(self) -> None:
        """Read all rows, where that is due: behind a COMMIT. What the DBMS answers to it is not the application's."""
        due = None if self._locks else self.tape.due()
        if due is None:
            return
        self.muted = True
        try:
            self._copy(due)
        except BaseException as error:
            self.tape.uncopied()
            self._leave()
            # what the driver, or a converter of the application's, makes of a row: its COMMIT has happened
            if not isinstance(error, Exception):
                raise
        finally:
            self.muted = False

    def _leave(self) -> None:
        """Roll back a checkpoint that failed, if it was begun, and is not over with the connection."""
        is_open = self.tape.current is not None and self.is_open()
        self._explicit = False
        try:
            if is_open:
                self.driver.roll_back(self.connection)
        except BaseException as error:
            if not self._answered(error)[0]:
                raise
        finally:
            self.tape.end("aborted", None, monotonic_ns())

    def _answered(self, error: BaseException) -> tuple[bool, str | None]:
        """Whether an error is an answer of the DBMS, or the end of the connection to it; its SQLSTATE."""
        try:
            return True, self.driver.sqlstate(self.connection, error)
        except BaseException as refusal:
            if refusal is not error:
                raise
            return False, None

    def _copy(self, due: Due) -> None:
        driver = self.driver
        cursor = self.connection if driver.cursors_are_connections else driver.plain_cursor(self.connection)
        invoked = monotonic_ns()
        cursor.execute("BEGIN")
        self.begun(invoked, read_text("BEGIN", driver.dialect))
        transcript = self.tape.copying(due)
        for query in due.queries:
            invoked = monotonic_ns()
            cursor.execute(query)
            description, rows = cursor.description, cursor.fetchall()
            answered = Answered()
            answered.results.append((description, rows, rows))
            observed = answered.fields("SELECT", driver.value)
            transcript.add(statement_fields(query, None, driver), invoked, monotonic_ns(), observed)
        invoked = monotonic_ns()
        cursor.execute("COMMIT")
        self._explicit = False
        self.tape.end("committed", invoked, monotonic_ns())

    def _commit_failed(self, transcript: Transcript, error: BaseException, invoked: int) -> None:
        _, state = self._answered(error)
        if state is not None and self.driver.retries_commit and self.is_open():
            self._tried = len(transcript)  # SQLite: somebody reads; try again
            return
        self._explicit = False
        if state is not None and self.driver.rolled_back(error):
            self.tape.end("aborted", invoked, monotonic_ns(), {"sqlstate": state, "message": str(error)[:300]})
        else:
            self.tape.end("unknown", invoked, None)

    def rollback(self, send: Callable[[], Any]) -> Any:
        """Send a ROLLBACK."""
        if self.tape.current is None or self.muted:
            self._explicit = False
            return send()
        invoked = monotonic_ns()
        self._explicit, self._tried = False, None
        try:
            answer = send()
        except BaseException:
            self.tape.end("aborted", invoked, None)
            raise
        self._failed = False
        self.tape.end("aborted", invoked, monotonic_ns())
        return answer

    def closed(self) -> None:
        """The connection is gone: what was open is rolled back."""
        if self.tape.current is not None:
            self.tape.closed("aborted" if self._tried is None else "unknown")
