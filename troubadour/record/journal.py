"""One segment of a log: the file that one process appends to (CONTRACT §1, *intent*, *end*).

What must survive the death of the process, the intents, is with the operating system before `intent` returns; all
else waits for a thread that encodes and writes in batches, so that the application does not. A forked child has no part
in its parent's journals. Does not know what the lines say, nor any DBMS.
"""

from __future__ import annotations

import atexit
import gzip
import multiprocessing.util
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from troubadour.record.appending import AppendedFile
from troubadour.record.errors import RecordError

Line = Mapping[str, Any]
PERIOD = 0.1
"""Seconds that a finished transaction waits for the writing thread at most, while nobody asks for a flush."""
CROWDED = 20_000
"""Finished transactions that may wait; who adds one more writes them all first."""
LOOKUP = 256
"""Commit times are asked for so many at a time."""

encode = msgspec.json.Encoder(decimal_format="number").encode


class Finished(Protocol):
    """A transaction that has ended."""

    @property
    def ticket(self) -> str | None:
        """What the DBMS knows it by, if it committed writes and a commit time is wanted."""

    def line(self, commit: int | None) -> bytes:
        """Its line, without the line feed."""


class Lookup(Protocol):
    """Tells when transactions committed, or in which order."""

    def __call__(self, tickets: Sequence[str], /) -> Sequence[int | None]:
        """By tickets. May raise RecordError, whereupon the lines are written without."""

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
        self._forked = False
        self._waiting: deque[Finished] = deque()
        self._ready: list[bytes] = []
        """Lines that are not in the file yet."""
        self._unsure: deque[Finished] = deque()
        """Those whose commit time is not known yet."""
        self._drain_lock = threading.Lock()
        self._wake = threading.Event()
        self._sessions = 0
        self.source: object = None
        """What the log is of, where its recorder says so: one log is of one database."""
        self._written = 0
        self._closed = False
        self._problem: RecordError | None = None
        self._thread = threading.Thread(target=self._run, name="troubadour-journal", daemon=True)
        self._thread.start()
        _OPEN.add(self)
        # the children of multiprocessing leave without atexit
        self._at_exit = multiprocessing.util.Finalize(None, self.close, exitpriority=10)

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._closed

    def check_process(self) -> None:
        """Raises RecordError in a child of the process that opened this."""
        if self._forked:
            raise RecordError(
                "this connection was opened before the process was forked: it is neither safe to use nor recorded "
                "here; open one in the child"
            )

    def session_name(self) -> str:
        """A name that no other session of the log has."""
        with self._drain_lock:
            self._sessions += 1
            return f"{self.prefix}c{self._sessions}"

    def intent(self, line: bytes) -> None:
        """Hand the line of a transaction whose COMMIT is about to be sent to the operating system."""
        if self._closed:
            self._refuse()
        self._file.append(line)

    def put(self, finished: Finished) -> None:
        """Take a transaction that has ended; it is written soon."""
        if self._closed:
            self._refuse()
        self._waiting.append(finished)
        if len(self._waiting) > CROWDED:
            self.flush()

    def flush(self) -> None:
        """Write what waits, commit times included. Raises RecordError as the lookup did, with everything written."""
        self._drain(last=True)
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    def close(self) -> None:
        """Write what waits and the `end` line; closing again, or in a forked child, does nothing."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._closed = True
            self._wake.set()
            with self._drain_lock:
                self._file.append(encode({"kind": "end", "transactions": self._written}) + b"\n")
                self._file.close()
            if self._lookup is not None:
                self._lookup.close()
            if self.plain != self.path:
                _pack(self.plain, self.path)
            _OPEN.discard(self)
            self._at_exit.cancel()
            _BY_PATH.pop(self.path, None)

    def _run(self) -> None:
        period = 0
        while not self._wake.wait(PERIOD):
            period += 1
            try:
                self._drain(last=period % 10 == 0)  # nobody waits for a full batch longer than a second
            except OSError as error:  # a full disk: tried again, and told to whoever closes or flushes
                self._problem = RecordError(f"{self.plain}: {error.strerror}")

    def _drain(self, last: bool) -> None:
        with self._drain_lock:
            if self._closed:
                return
            ready = self._ready
            while self._waiting:
                finished = self._waiting.popleft()
                if self._lookup is not None and finished.ticket is not None:
                    self._unsure.append(finished)
                else:
                    ready.append(finished.line(None))
            while self._unsure and (last or len(self._unsure) >= LOOKUP):
                batch = [self._unsure.popleft() for _ in range(min(LOOKUP, len(self._unsure)))]
                ready.extend(one.line(time) for one, time in zip(batch, self._times(batch), strict=True))
            if ready:
                self._file.append(b"\n".join(ready) + b"\n")
                self._written += len(ready)
                self._ready = []

    def _times(self, batch: Sequence[Finished]) -> Sequence[int | None]:
        assert self._lookup is not None
        try:
            return self._lookup([one.ticket for one in batch if one.ticket is not None])
        except RecordError as error:
            self._problem = error
            return [None] * len(batch)

    def _abandon(self) -> None:
        """In a forked child: the file is the parent's."""
        self._closed = self._forked = True
        self._file.abandon()

    def _refuse(self) -> NoReturn:
        self.check_process()
        raise RecordError(f"{self.path}: the log is closed")


def _pack(plain: Path, packed: Path) -> None:
    # no name and no time: equal logs are equal files
    with (
        plain.open("rb") as source,
        packed.open("wb") as target,
        gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as stream,
    ):
        while block := source.read(1 << 20):
            stream.write(block)
    plain.unlink()


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


def monotonic_us() -> int:
    """The monotonic clock in whole microseconds."""
    return time.monotonic_ns() // 1000


atexit.register(close_all)
os.register_at_fork(after_in_child=_after_fork)
