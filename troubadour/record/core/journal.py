"""One segment of a log while it is recorded: the file that one process appends to (CONTRACT §1, *intent*, *end*).

Whatever was appended is with the operating system, and survives the death of the process; how transactions ended waits
for the next record. Appending is all that is done during a run; `close` makes the log of it. A forked child has no part
in its parent's journals. Does not know what the records say, nor any DBMS.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from troubadour.record.core.appending import AppendedFile
from troubadour.record.core.frames import frame
from troubadour.record.errors import RecordError

TEXT, COLUMNS = 0, 4
"""Kinds of records: the number of a statement's text; the names of the columns of its answers, of one width."""
CROWDED = 32
"""Records that may wait."""
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

    def __init__(self, path: Path, prefix: str, lookup: Lookup | None = None) -> None:
        self.path = path
        self.prefix = prefix
        self.plain = path.with_suffix("") if path.suffix == ".gz" else path
        self._file = AppendedFile(self.plain)
        self._lookup = lookup
        self._waiting: deque[Any] = deque()
        self._texts: dict[bytes, int] = {}
        self._numbered = 0
        self._columns: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        self._sessions = 0
        self.source: object = None
        """What the log is of, where its recorder says so: one log is of one database."""
        self.closed = False
        """Whether nothing more can be written."""
        self.forked = False
        """Whether this is a child of the process that opened it."""
        _OPEN.add(self)
        # the children of multiprocessing leave without atexit
        self._at_exit = multiprocessing.util.Finalize(None, self.close, exitpriority=10)

    def check_process(self) -> None:
        """Raises RecordError in a child of the process that opened this."""
        if self.forked:
            raise RecordError(
                "this connection was opened before the process was forked: it is neither safe to use nor recorded "
                "here; open one in the child"
            )

    def session_name(self) -> str:
        """A name that no other session of the log has."""
        with self._lock:
            self._sessions += 1
            return f"{self.prefix}c{self._sessions}"

    def append(self, record: Any) -> None:
        """Hand a record to the operating system, and with it those that wait."""
        if self.closed:
            self._refuse()
        waiting = self._waiting
        records = [record]
        while waiting:
            try:
                records.append(waiting.popleft())
            except IndexError:  # another thread took it
                break
        self._file.append(frame(records))

    def later(self, record: Any) -> None:
        """Take a record that can wait for the next one: if the process dies before, nothing that happened is lost, but
        how it ended may be."""
        if self.closed:
            self._refuse()
        self._waiting.append(record)
        if len(self._waiting) > CROWDED:
            self.append(self._waiting.popleft())

    def text(self, text: bytes) -> int:
        """The number that stands for a statement's text in later records."""
        with self._lock:
            number = self._texts.get(text)
            if number is None:
                if len(self._texts) >= KNOWN:
                    self._texts.clear()
                    self._columns = set()
                number = self._numbered
                self.append((TEXT, number, text))
                self._numbered += 1
                self._texts[text] = number
            return number

    def columns(self, text: int, width: int, names: Callable[[], list[str]]) -> None:
        """See to it that the log has the names of the columns that a text gives, `width` of them."""
        if (text, width) not in self._columns:
            self.append((COLUMNS, text, width, names()))
            self._columns.add((text, width))

    def close(self) -> None:
        """Make the log of what was recorded; closing again, or in a forked child, does nothing. Raises RecordError as
        the lookup of commit times did, with everything written."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        try:
            if self._waiting:
                self._file.append(frame(list(self._waiting)))
            self._file.close()
            from troubadour.record.core.unroll import unroll  # it knows the recorders, and they know this

            try:
                unroll(self.plain, self.path, self._lookup)
            finally:
                if self.path != self.plain and self.path.exists():
                    self.plain.unlink()
        finally:
            if self._lookup is not None:
                self._lookup.close()
            _OPEN.discard(self)
            self._at_exit.cancel()
            _BY_PATH.pop(self.path, None)

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
    """Close every journal of this process; runs at exit by itself."""
    for journal in list(_OPEN):
        journal.close()
    _BY_PATH.clear()


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


atexit.register(close_all)
os.register_at_fork(after_in_child=_after_fork)
