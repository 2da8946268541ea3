"""Work that is done beside this process on another core, where there is one. What it finds is a help: where it ends
otherwise, its asker does the work by itself. Does not know what the work is.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import BinaryIO, NoReturn

from troubadour.model.bounds import end_with_parent, fork

Work = Callable[[], Iterable[bytes]]
"""What gives its findings block by block."""

_LENGTH = 8
_END = b"\xff" * _LENGTH
_PIPE = 1 << 20
"""Bytes that wait between the two, where the system allows that."""


def is_allowed() -> bool:
    """Whether there is a core for it: not where memory is bounded, which is that of one process, nor beside threads,
    which a copy of this process would not have."""
    bounded = any(
        resource.getrlimit(one)[0] != resource.RLIM_INFINITY for one in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    )
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return cores > 1 and not bounded and threading.active_count() == 1


class Beside:
    """A process that does some work, on what this one has in memory."""

    def __init__(self, work: Work) -> None:
        """Raises OSError."""
        reading, writing = os.pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            # the threads of libraries, which sleep: none of them is asked for anything there
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = fork()
        if not self._process:
            _do(work, parent, reading, writing)
        os.close(writing)
        if sys.platform == "linux":
            import fcntl

            with contextlib.suppress(OSError):
                fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, _PIPE)
        self._found = os.fdopen(reading, "rb", _PIPE)

    def fileno(self) -> int:
        """What can be read, to wait for, once it gave something or is over."""
        return self._found.fileno()

    def found(self) -> list[bytes] | None:
        """The blocks that the work gave; None where it did not come to its end. It is over then."""
        try:
            return _blocks(self._found)
        finally:
            self.end()

    def end(self) -> None:
        """End it, if it is not over."""
        if self._found.closed:
            return
        self._found.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)


def _do(work: Work, parent: int, reading: int, writing: int) -> NoReturn:
    try:
        end_with_parent(parent)
        os.close(reading)
        with os.fdopen(writing, "wb", _PIPE) as out:
            for block in work():
                out.write(len(block).to_bytes(_LENGTH, "big"))
                out.write(block)
            out.write(_END)
    finally:
        # whatever it was: its asker finds that by itself
        os._exit(0)


def _blocks(file: BinaryIO) -> list[bytes] | None:
    found = list[bytes]()
    while len(length := file.read(_LENGTH)) == _LENGTH:
        if length == _END:
            return found
        found.append(file.read(int.from_bytes(length, "big")))
    return None
