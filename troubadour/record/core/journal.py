"""One segment of a log while it is recorded: the file that one process appends to.

Whatever was appended is with the operating system, and survives the death of the process; how transactions ended waits
for the next record. Appending is all that is done during a run; `close` makes the log of it. Where the file cannot be
written, no transaction commits that it would lack, or, if the application says so, the file has a *gap*. A forked child
has no part in its parent's journals. Does not know what the records say, nor any DBMS.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import secrets
import sys
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Any, NoReturn, Protocol

import msgspec

from troubadour.model.visible import one_line
from troubadour.record.core.appending import AppendedFile, Gone
from troubadour.record.core.checkpoints import Checkpoints
from troubadour.record.core.frames import frame
from troubadour.record.core.losing import LOST_NAME, Beginning, Beside, beside
from troubadour.record.errors import RecordError, Unwritable
from troubadour.record.statements.secrets import masked_bytes

TEXT, COLUMNS, GAP, RESUMED = 0, 4, 5, 6
"""Kinds of records: the number of a statement's text; the names of the columns of its answers, of one width; from when
on transactions commit that are not recorded, and why; until when they did, and how many."""
CROWDED = 32
"""Records that may wait."""
STRANDED = 200
"""Records that may wait while the file cannot be written. The oldest of more are given up: how transactions ended whose
intents are written, and what those saw that wrote nothing."""
STOP, GO_ON = "stop", "go-on"
"""What becomes of the application where the log cannot be written: its commits are rolled back; or they are made, and
the log has a gap."""
KNOWN = 10_000
"""Texts that a journal remembers to have written."""

encode = msgspec.json.Encoder(decimal_format="number").encode


class Lookup(Protocol):
    """Tells when transactions committed, or in which order."""

    def __call__(self, tickets: Sequence[tuple[str, str | None]], /) -> Sequence[int | None]:
        """By tickets and the lifetimes of the server that they are of. May raise RecordError, whereupon the lines are
        written without."""

    def close(self) -> None:
        """There is nothing more to ask."""


class Journal:
    """Thread-safe. Header and initial rows are in the file already; see `segments`.

    With a name that ends in ``.gz`` the file is written as plain text beside it (without ``.gz``), which is what a
    killed process leaves, and packed at `close`. `prefix` makes session names of this segment unique in the log.
    """

    def __init__(
        self,
        path: Path,
        prefix: str,
        lookup: Lookup | None = None,
        unwritable: str = STOP,
        durable: bool = False,
        tables: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`tables`: those whose initial rows the file has, with their columns. `durable`: what is appended is on the
        disk."""
        self.path = path
        self.prefix = prefix
        self.plain = path.with_suffix("") if path.suffix == ".gz" else path
        self.unwritable = unwritable
        self._file = AppendedFile(self.plain, durable)
        self._beginning = Beginning(self._file, list(tables or ()))
        self.checkpoints = Checkpoints(tables or {}, str(self._beginning.header.get("dialect", "")))
        self._began = monotonic_ns()
        self._numbers: dict[str, bytearray] = defaultdict(bytearray)
        """Of each session, for each of its transactions that was written or waits: whether it may have changed
        anything, 1 or 0."""
        self._beside: Beside | None = None
        self._lookup = lookup
        self._owed: list[Any] = []
        """Texts and columns that could not be written yet; records that wait name them."""
        self._waiting: deque[Any] = deque()
        self._texts: dict[bytes, int] = {}
        self._numbered = 0
        self._columns: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._frames = 0
        self._gap: Any = None
        """The record of a gap that has not ended."""
        self._gap_told = False
        """Whether the file has it."""
        self._missing = 0
        """Transactions of the gap that may have written."""
        self._passed = 0
        """Those that were to commit in it, whatever became of them."""
        self._sessions = 0
        self.source: object = None
        """What the log is of, where its recorder says so: one log is of one database."""
        self.closed = False
        """Whether nothing more can be written."""
        self.forked = False
        """Whether this is a child of the process that opened it."""
        _OPEN.add(self)
        # the children of multiprocessing leave without atexit
        self._at_exit = multiprocessing.util.Finalize(None, self._leave, exitpriority=10)

    @property
    def header(self) -> Mapping[str, Any]:
        """The log's, as it was begun."""
        return self._beginning.header

    def check_process(self) -> None:
        """Raises RecordError in a child of the process that opened this."""
        if self.forked:
            raise RecordError(
                "this connection was opened before the process was forked: it is neither safe to use nor recorded "
                "here; open one in the child"
            )

    def check_source(self, source: object) -> None:
        """Take down what database the log is of. Raises RecordError where it is another one's; None is any."""
        if source is not None and self.source not in (None, source):
            raise RecordError(
                f"{self.path} is the log of another database: {{database}} in the path of a log stands for a name"
            )
        self.source = source or self.source

    def session_name(self) -> str:
        """A name that no other session of the log has."""
        with self._lock:
            self._sessions += 1
            return f"{self.prefix}c{self._sessions}"

    def append(self, record: Any) -> bool:
        """Hand a record to the operating system, and with it those that wait. False where it cannot be written and the
        application goes on, in a gap. Raises Unwritable where it does not, with nothing written."""
        if self.closed:
            self._refuse()
        try:
            self._write([record])
            if self._file.durable:
                self._file.sync()
        except OSError as error:
            if self.unwritable != STOP:
                self._begin_gap(error)
                self._passed += 1
            if isinstance(error, Gone):
                self._tell_beside(error)
            if self.unwritable == STOP:
                raise Unwritable(
                    f"{self.plain}: the log cannot be written ({_reason(error)}): nothing is committed that it would "
                    "lack; make room, or connect with unwritable='go-on' to have a log with a gap"
                ) from error
            return False
        return True

    @property
    def durable(self) -> bool:
        """Whether what is appended is on the disk before `append` returns."""
        return self._file.durable

    @durable.setter
    def durable(self, durable: bool) -> None:
        self._file.durable = durable

    def numbers_of(self, session: str) -> bytearray:
        """What is known of a session's transactions, for its tape to keep: a byte for each that is written or waits,
        1 where it may have changed anything, else 0."""
        return self._numbers[session]

    def _tell_beside(self, error: Gone) -> None:
        """What was recorded may be lost with this process: say so in a segment beside the log, as of now."""
        kept = not (error.cut or error.removed)  # it has another name only
        if kept and self.unwritable == STOP:
            return
        with self._writing, suppress(OSError):
            if self._beside is None:
                self._beside = Beside(self.plain, self._beginning)
            count = self._passed
            if not kept:
                count += sum(sum(numbers) for numbers in self._numbers.values())
            since = self._began if not kept else self._gap[1] if self._gap is not None else monotonic_ns()
            rows = kept or (error.cut and self._beginning.is_whole())
            self._beside.tell(f"the log was lost: {_reason(error)}", since // 1000, count, rows)

    def later(self, record: Any) -> None:
        """Take a record that can wait for the next one: if the process dies before, nothing that happened is lost, but
        how it ended may be."""
        if self.closed:
            self._refuse()
        self._waiting.append(record)
        if len(self._waiting) > CROWDED:
            with suppress(OSError):  # it waits on
                self._write([])
            while len(self._waiting) > STRANDED:
                self._waiting.popleft()

    def missed(self) -> None:
        """A transaction of the gap has ended, which is not recorded and may have written."""
        self._missing += 1

    def _write(self, records: list[Any]) -> None:
        """Append what waits, and `records`. Raises OSError, with nothing written, and what waits waits on."""
        with self._writing:
            owed = len(self._owed)
            resumed = self._resumed() if self._gap is not None else ()
            popleft = self._waiting.popleft
            waiting = [popleft() for _ in range(len(self._waiting))]
            written = waiting + records
            if owed or resumed:
                written = [*self._owed[:owed], *resumed, *written]
            if not written:
                return
            try:
                self._file.append(frame(written, self._frames + 1))
            except OSError:
                self._waiting.extendleft(reversed(waiting))
                raise
            self._frames += 1
            if owed:
                del self._owed[:owed]
            if resumed:
                self._gap, self._gap_told, self._missing, self._passed = None, False, 0, 0

    def _resumed(self) -> list[Any]:
        """What the file is to be told of a gap that ends now."""
        if self._gap is None:
            return []
        return [*([] if self._gap_told else [self._gap]), (RESUMED, monotonic_ns(), self._missing)]

    def _begin_gap(self, error: OSError) -> None:
        """Say in the room that was kept for it that from now on something is missing."""
        with self._writing:
            if self._gap is None:
                self._gap = (GAP, monotonic_ns(), f"the log could not be written: {_reason(error)}")
                with suppress(OSError):  # the file is gone, or others have cut it
                    self._file.append(frame([self._gap], self._frames + 1), 0)
                    self._frames += 1
                    self._gap_told = True

    def _note(self, record: Any) -> None:
        """Write what later records name, or keep it for them."""
        self._owed.append(record)
        with suppress(OSError):
            self._write([])

    def text(self, text: bytes) -> int:
        """The number that stands for a statement's text in later records."""
        if self.closed:
            self._refuse()
        with self._lock:
            number = self._texts.get(text)
            if number is None:
                if len(self._texts) >= KNOWN:
                    self._texts.clear()
                    self._columns = set()
                number = self._numbered
                self._note((TEXT, number, masked_bytes(text)))
                self._numbered += 1
                self._texts[text] = number
            return number

    def columns(self, text: int, width: int, names: Callable[[], list[str]]) -> None:
        """See to it that the log has the names of the columns that a text gives, `width` of them."""
        if (text, width) not in self._columns:
            self._note((COLUMNS, text, width, names()))
            self._columns.add((text, width))

    def close(self) -> None:
        """Make the log of what was recorded; closing again, or in a forked child, does nothing. Raises RecordError as
        the lookup of commit times did, with everything written; or where the log cannot be written, with what was
        recorded kept as it is."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        try:
            self._finish()
        except OSError as error:
            raise RecordError(
                f"{self.path}: the log cannot be finished ({_reason(error)}): what was recorded is in {self.plain}, "
                "and `troubadour log repair` makes the log of it"
            ) from error
        finally:
            if self._lookup is not None:
                self._lookup.close()
            _OPEN.discard(self)
            self._at_exit.cancel()
            _BY_PATH.pop(self.path, None)

    def _finish(self) -> None:
        # it knows the recorders, and they know this
        from troubadour.record.core.unroll import Expected, complete, unroll

        with suppress(OSError):  # then it is told from memory
            self._write([])
        untold = [*self._owed, *self._resumed(), *self._waiting]
        renamed = False
        try:
            self._file.check()
        except Gone as error:
            renamed = not error.cut
        path = self._free_path() if renamed else self.path
        whole = self._beginning.is_whole()
        with self._writing:
            left = self._file.close()
        with os.fdopen(left, "rb") as source:
            expected = Expected(self._numbers, self._began, None if whole else self._beginning.made_anew())
            try:
                complete(unroll(source, path, self._lookup, untold, expected, durable=self.durable), path)
            finally:
                if self._beside is not None and path.exists():
                    self._beside.remove()
                if self.path != self.plain and path.exists() and not renamed:
                    self.plain.unlink(missing_ok=True)

    def _free_path(self) -> Path:
        """Where the log goes that lost its name: the same, unless others have put something there."""
        for path in {self.path, self.plain}:
            with suppress(OSError):
                if path.stat().st_size:
                    return beside(self.path, f"{LOST_NAME}{secrets.token_hex(2)}")
        return self.path

    def _leave(self) -> None:
        """`close` where no caller is left that could be told what went wrong."""
        try:
            self.close()
        except RecordError as error:
            sys.stderr.write(f"troubadour: {one_line(str(error))}\n")

    def _abandon(self) -> None:
        """In a forked child: the file is the parent's."""
        self.closed = self.forked = True
        self._file.abandon()

    def _refuse(self) -> NoReturn:
        self.check_process()
        raise RecordError(f"{self.path}: the log is closed")


_OPEN: weakref.WeakSet[Journal] = weakref.WeakSet()
_BY_PATH: dict[Path, Journal] = {}
_REGISTRY_LOCK = threading.Lock()


def shared(path: Path, open_one: Callable[[Path], Journal]) -> Journal:
    """The journal that this process writes for the log at `path`; `open_one` makes it the first time."""
    path = Path(os.path.abspath(path))
    with _REGISTRY_LOCK:
        journal = _BY_PATH.get(path)
        if journal is None:
            journal = _BY_PATH[path] = open_one(path)
        return journal


def close_all() -> None:
    """Close every journal of this process; runs at exit by itself. Raises the first RecordError, with all closed."""
    problems = []
    for journal in list(_OPEN):
        try:
            journal.close()
        except RecordError as error:
            problems.append(error)
    _BY_PATH.clear()
    if problems:
        raise problems[0]


def _close_at_exit() -> None:
    for journal in list(_OPEN):
        journal._leave()


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _after_fork() -> None:
    global _REGISTRY_LOCK
    _REGISTRY_LOCK = threading.Lock()
    for journal in list(_OPEN):
        journal._abandon()
    _OPEN.clear()
    _BY_PATH.clear()


def clock_name() -> str:
    """The name of this machine's monotonic clock: the same in all its processes, until it is booted again."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"monotonic-{boot}-{os.readlink('/proc/self/ns/time').strip('time:[]')}"
    except OSError:
        return f"monotonic-{os.getpid()}-{os.urandom(4).hex()}"


atexit.register(_close_at_exit)
os.register_at_fork(after_in_child=_after_fork)
