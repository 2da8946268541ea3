"""What one connection does, transaction by transaction, on its way into a journal (CONTRACT §1; paper §3.1, *o*).

Statements are kept as they come and encoded when a line is due: at COMMIT for those who wrote, whose intent must be on
disk before it is sent, else in the journal's thread. Does not know the DBMS: its recorder says what begins and ends a
transaction, and who writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from troubadour.record.journal import Journal, encode

Json = Mapping[str, Any]
Later = Callable[[], bytes] | bytes
"""Fields of a statement as JSON, or what makes them when they are needed. An observation's begin
with a comma."""

Raw = Callable[[Any, Sequence[Any] | None], tuple[bytes, bytes]]
"""From what a driver has of a statement and its answer to their fields; without the answer to the statement's alone."""

UNKNOWN = b',"outcome":"unknown"'
NOTHING = b""


def no_raw(statement: Any, answer: Sequence[Any] | None) -> tuple[bytes, bytes]:
    """For recorders that give fields only."""
    raise TypeError(f"{statement!r} has no fields")


def fields(json: Json) -> bytes:
    """The fields of an object, without the braces."""
    return encode(json)[1:-1]


class Transcript:
    """One transaction. All times are nanoseconds of the monotonic clock. `level` and `read_only` where it says them;
    `ticket`: see `journal.Finished`."""

    __slots__ = (
        "_end",
        "_raw",
        "_status",
        "id",
        "intended",
        "invoked",
        "level",
        "read_only",
        "session",
        "statements",
        "ticket",
        "wrote",
    )  # fmt: skip

    def __init__(
        self, session: str, id: str, invoked: int, level: str | None, read_only: bool | None, raw: Raw
    ) -> None:
        self.session = session
        self.id = id
        self.invoked = invoked
        self.level = level
        self.read_only = read_only
        self.wrote = False
        """Whether it may have changed anything: its COMMIT needs an intent."""
        self.intended = False
        """Whether its intent is written."""
        self.ticket: str | None = None
        self._raw = raw
        self.statements: list[tuple[Any, int, int | None, Any]] = []
        """As given to `add`; or what the driver has of statement and answer, appended by itself: the answer a list, or
        a tuple where the statement cannot have written."""
        self._status = "unknown"
        self._end: tuple[int | None, int | None, Json | None] = (None, None, None)

    def add(self, statement: Later, invoked: int, returned: int | None, observed: Later) -> None:
        """A statement (`sql`, `params`) and its observation; without `returned` no answer came."""
        self.statements.append((statement, invoked, returned, observed))

    def observe(self, place: int, observed: Later, returned: int | None = None) -> None:
        """The observation of a statement, and when it came, if that is not what `add` said."""
        statement, invoked, earlier, _ = self.statements[place]
        self.statements[place] = (statement, invoked, earlier if returned is None else returned, observed)

    def characterize(self, level: str | None, read_only: bool | None) -> None:
        """The transaction says of what kind it is (SET TRANSACTION)."""
        self.level = level or self.level
        self.read_only = read_only if read_only is not None else self.read_only

    def clear(self) -> None:
        """Nothing was done after all."""
        self.statements = []

    def __len__(self) -> int:
        return len(self.statements)

    def intent(self, invoked: int | None) -> bytes:
        """The line to be written before COMMIT is sent, at `invoked`; None: a statement that commits by itself, which
        may take effect before it is answered. It has what the transaction may have written, and not what it saw, as
        far as that would cost time: the transaction's own line has all, and follows soon."""
        self.intended = True
        end = b"" if invoked is None else b',"end":{"invoked":%d}' % (invoked // 1000)
        return b'{"kind":"intent",%b%b}\n' % (self._common("unknown", self._encode(brief=True)), end)

    def ended(self, status: str, invoked: int | None, returned: int | None, error: Json | None) -> None:
        """How it ended: see `Tape.end`."""
        self._status = status
        self._end = (invoked, returned, error)

    def line(self, commit: int | None) -> bytes:
        """The line of the transaction, without line feed."""
        invoked, returned, error = self._end
        line = self._common(self._status, self._encode(brief=False))
        if returned is not None:
            line += b',"returned":%d' % (returned // 1000)
        if commit is not None:
            line += b',"commit":%d' % commit
        if invoked is not None:
            line += b',"end":{"invoked":%d' % (invoked // 1000)
            if returned is not None:
                line += b',"returned":%d' % (returned // 1000)
            if error is not None:
                line += b',"error":' + encode(error)
            line += b"}"
        return b"{" + line + b"}"

    def _encode(self, brief: bool) -> bytes:
        entries = []
        for statement, invoked, returned, observed in self.statements:
            if isinstance(observed, (list, tuple)):
                if brief and isinstance(observed, tuple):
                    continue
                statement, observed = self._raw(statement, None if brief else observed)
            if not isinstance(statement, bytes):
                statement = statement()
            if not isinstance(observed, bytes):
                observed = observed()
            if returned is None:
                entries.append(b'{%b,"invoked":%d%b}' % (statement, invoked // 1000, observed))
            else:
                times = (statement, invoked // 1000, returned // 1000, observed)
                entries.append(b'{%b,"invoked":%d,"returned":%d%b}' % times)
        return b"[%b]" % b",".join(entries)

    def _common(self, status: str, statements: bytes) -> bytes:
        extra = b""
        if self.level is not None:
            extra = b',"isolation":' + encode(self.level)
        if self.read_only is not None:
            extra += b',"read_only":true' if self.read_only else b',"read_only":false'
        head = f'"id":"{self.id}","session":"{self.session}","status":"{status}"'.encode()
        return b'%b%b,"invoked":%d,"statements":%b' % (head, extra, self.invoked // 1000, statements)


class Tape:
    """The transactions of one session, one at a time: `current` while one is open. No more thread-safe than
    connections are. `level`: of transactions that name none; None: the header's."""

    __slots__ = ("_count", "_journal", "_raw", "current", "level", "session")

    def __init__(
        self, journal: Journal, level: str | None = None, session: str | None = None, raw: Raw = no_raw
    ) -> None:
        self._raw = raw
        self._journal = journal
        self.session = session if session is not None else journal.session_name()
        self.level = level
        self._count = 0
        self.current: Transcript | None = None

    def another(self) -> Tape:
        """A tape of one more session of the same log."""
        return Tape(self._journal, self.level, raw=self._raw)

    def begin(self, invoked: int, level: str | None = None, read_only: bool | None = None) -> Transcript:
        """A transaction begins; `invoked` is when BEGIN, or its first statement, was sent. Raises RecordError in a
        forked child."""
        self._journal.check_process()
        self._count += 1
        id = f"{self.session}-{self._count}"
        transcript = Transcript(self.session, id, invoked, level or self.level, read_only, self._raw)
        self.current = transcript
        return transcript

    def intend(self, transcript: Transcript, invoked: int | None) -> None:
        """COMMIT is about to be sent: the transaction is with the operating system when this returns."""
        self._journal.intent(transcript.intent(invoked))

    def closed(self, status: str) -> None:
        """The connection was closed, which ended the open transaction."""
        if not self._journal.closed:
            self.end(status, None, None)

    def drop(self) -> None:
        """The open transaction, of one statement, came to nothing: the driver refused it."""
        if self.current is not None:
            self.current.clear()
            self.end("aborted", None, None)

    def end(
        self,
        status: str,
        invoked: int | None,
        returned: int | None,
        error: Json | None = None,
        ticket: str | None = None,
    ) -> None:
        """The open transaction has ended. `invoked` of its COMMIT or ROLLBACK, None where none was sent; without
        `returned` no answer came."""
        transcript, self.current = self.current, None
        if transcript is None or not (transcript.statements or transcript.intended):
            return  # who did nothing has seen nothing
        transcript.ended(status, invoked, returned, error)
        transcript.ticket = ticket
        self._journal.put(transcript)
