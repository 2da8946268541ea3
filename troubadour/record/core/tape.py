"""What one connection does, transaction by transaction, on its way into a journal (paper §3.1, *o*).

Statements are kept as they come. Before the COMMIT of those that wrote, and after the end of the others, they go into
the journal in one record, as raw as they are: nothing is made of them before the log is finished (`unroll`). Does not
know the DBMS: its recorder says what begins and ends a transaction, and what writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from time import monotonic_ns
from typing import Any

from troubadour.record.core.checkpoints import Due
from troubadour.record.core.journal import Journal, encode
from troubadour.record.errors import RecordError

Json = Mapping[str, Any]
Later = Callable[[], bytes] | bytes
"""Fields of a statement as JSON, or what makes them when they are needed. An observation's begin
with a comma."""

Raw = Callable[[Sequence[Any]], list[Any]]
"""From statements as a transcript has them to what a journal takes."""

UNKNOWN = b',"outcome":"unknown"'
NOTHING = b""

INTENT, ENDED, WHOLE = 1, 2, 3
"""Kinds of records: a transaction whose COMMIT is about to be sent; how one ended whose intent says the rest; one from
beginning to end."""


def made(statements: Sequence[Any]) -> list[Any]:
    """For recorders that give fields only."""
    return [
        (
            statement if isinstance(statement, bytes) else statement(),
            invoked,
            returned,
            observed if isinstance(observed, bytes) else observed(),
        )
        for statement, invoked, returned, observed in statements
    ]


Opening = str | tuple[str | None, int, int, bool] | None


def current_trace() -> str | None:
    """The id of the OpenTelemetry trace that this thread or task is in: 32 hexadecimal digits; None where it is in
    none, or the application has not loaded OpenTelemetry."""
    loaded = sys.modules.get("opentelemetry.trace")
    if loaded is None:
        return None
    span = loaded.get_current_span().get_span_context()
    return f"{span.trace_id:032x}" if span.is_valid else None


def fields(json: Json) -> bytes:
    """The fields of an object, without the braces."""
    return encode(json)[1:-1]


class Transcript:
    """One transaction, the `number`-th of its session that is recorded, from 1 on (0 before that). All times are
    nanoseconds of the monotonic clock. `level` and `read_only` where it says them."""

    __slots__ = (
        "begin",
        "changes",
        "checkpoint",
        "intended",
        "invoked",
        "level",
        "missed",
        "number",
        "read_only",
        "snapshot_at",
        "statements",
        "told",
        "trace",
        "wrote",
    )

    def __init__(self, invoked: int, level: str | None, read_only: bool | None) -> None:
        self.number = 0
        self.invoked = invoked
        self.level = level
        self.read_only = read_only
        self.snapshot_at: str | None = None
        """Where the client had the snapshot taken, if the log is to say so."""
        self.begin: tuple[int, int, bool] | None = None
        """When BEGIN itself was sent and answered, and whether it took the snapshot, if the log is to say so."""
        self.trace = current_trace()
        """The trace that the application was in when it began, if the log is to say so."""
        self.wrote = False
        """Whether anything was sent that is not certain to write nothing."""
        self.changes = False
        """Whether something was sent that writes, as far as its recorder knows."""
        self.checkpoint: int | None = None
        """Where it is a checkpoint, as long as no other begins: how many had begun with it."""
        self.intended = False
        """Whether its intent is written."""
        self.told = False
        """Whether its intent says all that is known of its statements."""
        self.missed = False
        """Whether its intent could not be written, and it commits all the same: it falls into a gap."""
        self.statements: list[Any] = []
        """As given to `add`; or what a recorder has of statement and answer, appended by itself, which its `Raw`
        understands."""

    @property
    def needs_intent(self) -> bool:
        """Whether its COMMIT may change anything: it did more than certainly read, and the server was not told to
        refuse writes."""
        return self.wrote and self.read_only is not True

    def add(self, statement: Later, invoked: int, returned: int | None, observed: Later) -> None:
        """A statement (`sql`, `params`) and its observation; without `returned` no answer came."""
        self.statements.append((statement, invoked, returned, observed))
        self.told = False

    def observe(self, place: int, observed: Later, returned: int | None = None) -> None:
        """The observation of a statement, and when it came, if that is not what `add` said."""
        statement, invoked, earlier, _ = self.statements[place]
        self.statements[place] = (statement, invoked, earlier if returned is None else returned, observed)
        self.told = False

    def failed(self, observed: bytes, returned: int) -> None:
        """The one statement there is has brought an error, in whichever form the recorder keeps it."""
        (statement,) = self.statements
        self.statements = [(*statement[:-2], returned, observed)]
        self.told = False

    def answered(self, statement: Any) -> None:
        """The one statement there is, with its answer, in place of what `add` said of it."""
        self.statements = [statement]
        self.told = False

    def characterize(self, level: str | None, read_only: bool | None) -> None:
        """The transaction says of what kind it is (SET TRANSACTION)."""
        self.level = level or self.level
        self.read_only = read_only if read_only is not None else self.read_only

    def opening(self) -> Opening | tuple[Opening, str]:
        """How it began, as records have it; with its trace, where it has one."""
        opening = self.snapshot_at if self.begin is None else (self.snapshot_at, *self.begin)
        return opening if self.trace is None else (opening, self.trace)

    def clear(self) -> None:
        """Nothing was done after all."""
        self.statements = []
        self.told = False

    def __len__(self) -> int:
        return len(self.statements)


class Tape:
    """The transactions of one session, one at a time: `current` while one is open. No more thread-safe than
    connections are. `level`: of transactions that name none. `lifetime`: of the server process that
    the session is of, where tickets are taken: no other can tell their commit times. `compatible`: 1 for a log that
    every version of this program can read, None for all that this one can say. `checkpoints`: take one after each so
    many transactions of the journal. Raises RecordError for others."""

    __slots__ = (
        "__weakref__",
        "_compatible",
        "_count",
        "_journal",
        "_numbers",
        "_raw",
        "current",
        "level",
        "lifetime",
        "session",
    )

    def __init__(
        self,
        journal: Journal,
        level: str | None = None,
        session: str | None = None,
        raw: Raw = made,
        compatible: int | None = None,
        checkpoints: int | None = None,
    ) -> None:
        if compatible not in (None, 1):
            raise RecordError(f"compatible={compatible!r} is neither 1 nor None")
        if checkpoints is not None:
            if compatible is not None:
                raise RecordError("checkpoints: compatible=1 leaves them out")
            journal.checkpoints.ask(checkpoints)
        self._compatible = compatible
        self._raw = raw
        self._journal = journal
        self.session = session if session is not None else journal.session_name()
        self._numbers = journal.numbers_of(self.session)
        self.level = level
        self.lifetime: str | None = None
        self._count = 0
        self.current: Transcript | None = None
        journal.checkpoints.join(self)

    def named(self, session: str) -> None:
        """The session is called so, from its first transaction on."""
        self.session = session
        self._numbers = self._journal.numbers_of(session)

    def another(self) -> Tape:
        """A tape of one more session of the same log."""
        return Tape(self._journal, self.level, raw=self._raw, compatible=self._compatible)

    def begin(self, invoked: int, level: str | None = None, read_only: bool | None = None) -> Transcript:
        """A transaction begins; `invoked` is when BEGIN, or its first statement, was sent. Raises RecordError in a
        forked child."""
        if self._journal.forked:
            self._journal.check_process()
        transcript = self.current = Transcript(invoked, level or self.level, read_only)
        self._journal.checkpoints.began()  # from here on it is counted, and was seen to be under way before
        if self._compatible is not None:
            transcript.trace = None
        return transcript

    def _number(self, transcript: Transcript) -> int:
        """The number that a transaction has, which is recorded now: those of a session have no holes."""
        if not transcript.number:
            self._count += 1
            transcript.number = self._count
        return transcript.number

    def _counts(self, number: int, may: int) -> None:
        """A transaction is written, or waits, or more is known of it: whether it may have changed anything."""
        missing = number - len(self._numbers)
        if missing > 0:
            if missing > 1:
                # those that could not be written, and are told as a gap
                self._numbers.extend(bytes(missing - 1))
            self._numbers.append(may)
        else:
            self._numbers[number - 1] = may

    def begun(self, invoked: int | None = None, snapshot: bool = False) -> None:
        """The BEGIN of the open transaction, if there is one, was answered just now; it was sent at `invoked`, by
        default when the transaction began. `snapshot`: it took the transaction's."""
        current = self.current
        if current is not None and self._compatible is None:
            current.begin = (current.invoked if invoked is None else invoked, monotonic_ns(), snapshot)

    def intend(self, transcript: Transcript, invoked: int | None) -> None:
        """COMMIT is about to be sent: the transaction is with the operating system when this returns. Without `invoked`
        a statement that commits by itself, and may take effect before it is answered. Raises Unwritable where the log
        cannot be written and nothing may be committed."""
        record = (
            INTENT,
            self.session,
            self._number(transcript),
            transcript.invoked,
            transcript.level,
            transcript.read_only,
            transcript.opening(),
            self._raw(transcript.statements),
            invoked,
        )
        written = False
        try:
            written = self._journal.append(record)
        finally:
            if not written:  # nothing has this number
                self._count -= 1
                transcript.number = 0
        transcript.intended = transcript.told = written
        transcript.missed = not written
        if written:
            self._counts(transcript.number, 1)

    def closed(self, status: str) -> None:
        """The connection was closed, which ended the open transaction."""
        if not self._journal.closed:
            self.end(status, None, None)

    def due(self) -> Due | None:
        """The checkpoint that is to be taken now by the connection that this is of."""
        return self._journal.checkpoints.due()

    def copying(self, due: Due) -> Transcript:
        """The transaction that was just begun is a checkpoint, unless another one begins before it has ended."""
        assert self.current is not None
        self.current.checkpoint = due.begun
        return self.current

    def uncopied(self) -> None:
        """A checkpoint failed: if it was begun, it is a transaction like any other; no more are taken."""
        if self.current is not None:
            self.current.checkpoint = None
        self._journal.checkpoints.failed()

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
        said: bytes = NOTHING,
    ) -> None:
        """The open transaction has ended. `invoked` of its COMMIT or ROLLBACK, None where none was sent; without
        `returned` no answer came. `ticket`: what the DBMS knows it by, if it committed writes and a commit time is
        wanted. `said`: what the DBMS told of it, as fields that begin with a comma."""
        transcript, self.current = self.current, None
        if transcript is None or not (transcript.statements or transcript.intended):
            return  # a transaction that did nothing has seen nothing
        if transcript.missed:
            if status != "aborted":
                self._journal.missed()
            return
        number = transcript.number or self._number(transcript)
        if status == "committed" and transcript.checkpoint == self._journal.checkpoints.begun:
            said += b',"kind":"checkpoint"'
        if status == "aborted" or not transcript.intended:
            self._counts(number, 0)
        lifetime = self.lifetime if ticket is not None else None
        if transcript.told:
            self._journal.later((ENDED, self.session, number, status, invoked, returned, error, ticket, lifetime, said))
        else:
            self._journal.later(
                (
                    WHOLE,
                    self.session,
                    number,
                    transcript.invoked,
                    transcript.level,
                    transcript.read_only,
                    transcript.opening(),
                    self._raw(transcript.statements),
                    status,
                    invoked,
                    returned,
                    error,
                    ticket,
                    lifetime,
                    said,
                )
            )
