"""A file that is appended to: what was appended is with the operating system, and survives the death of the process; if
it is `durable`, that of the machine too.

Room is reserved in pieces, so that a full disk is met before anything of a record is written, and so that a file which
others have cut is shorter than it should be. A process that is killed leaves zeros behind what it wrote last;
`troubadour log repair` takes them off. Does not know what is written.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from time import monotonic_ns
from typing import IO

CHUNK = 1 << 20
LOOKED = 10_000_000
"""Nanoseconds for which a file is taken to be as it was. What is written meanwhile is in it, whatever its name, and
behind what others have cut off; it is lost only where the process dies as well before it looks again."""
RESERVE = 4096
"""Bytes that are kept free for what must be said when there is no more room."""
PRIVATE = 0o600
"""Rights of every file that holds what an application's clients saw."""


class Gone(OSError):
    """The file is not what was written any more. `cut`: others have shortened it; else it has another name, or none:
    what was written can be had as long as it is open. `removed`: it has none."""

    def __init__(self, text: str, *, cut: bool, removed: bool = False) -> None:
        super().__init__(errno.EIO if cut else errno.ENOENT, text)
        self.cut = cut
        self.removed = removed


class AppendedFile:
    """One thread at a time appends to it, and closes it; its owner sees to that. Raises OSError where the disk is full,
    and Gone where it finds that the file was removed, renamed or cut by others, before anything of that append is
    written. Later appends try again."""

    def __init__(self, path: Path, durable: bool = False) -> None:
        self.path = str(path)
        self.durable = durable
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        self._size = self._end = os.fstat(self._file).st_size
        """Where the next record goes; and how far room is reserved."""
        self._synced = self._size
        self._looked = 0
        self._syncing = threading.Lock()
        self._closed = False

    def append(self, data: bytes, reserve: int = RESERVE) -> None:
        """When it returns the operating system has the data, and `reserve` bytes more have room; without any the room
        that was kept by others is used. Raises ValueError after `close`."""
        if self._closed:
            raise ValueError("the file is closed")
        now, size = monotonic_ns(), self._size
        end = size + len(data)
        if now - self._looked >= LOOKED or end + reserve > self._end:
            self.check()
            self._looked = now
            if end + reserve > self._end:
                self._grow(end + reserve)
        written = os.pwrite(self._file, data, size)
        while size + written < end:
            written += os.pwrite(self._file, data[written:], size + written)
        self._size = end

    def check(self) -> None:
        """Raises Gone unless the file can be found by its name, and is as long as it was made."""
        found = os.fstat(self._file)
        if not found.st_nlink:
            raise Gone("it was removed while it was written", cut=False, removed=True)
        if found.st_size < self._end:
            raise Gone("it was cut while it was written", cut=True)
        try:
            named = os.stat(self.path)
        except OSError:
            named = None
        if named is None or (named.st_dev, named.st_ino) != (found.st_dev, found.st_ino):
            raise Gone("it was renamed while it was written", cut=False)

    @property
    def appended(self) -> int:
        """Where the next record goes."""
        return self._size

    def read(self, length: int, place: int) -> bytes:
        """What stands there, as far as it goes."""
        return os.pread(self._file, length, place)

    def _grow(self, wanted: int) -> None:
        """Reserve room as far as `wanted`, and more. Raises OSError, with nothing changed."""
        length = max(CHUNK, -(-(wanted - self._end) // CHUNK) * CHUNK)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file, self._end, length)
        else:
            os.ftruncate(self._file, self._end + length)
        self._end += length

    def sync(self) -> None:
        """When it returns the disk has what was appended; any thread may call it, and one call goes to the disk for all
        that wait. Raises OSError."""
        end = self._size
        with self._syncing:
            if self._synced < end:
                size = self._size
                os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)
                self._synced = size

    def close(self) -> int:
        """Cut the file to what was appended. Gives a descriptor of it that can be read from the beginning, removed or
        not, and is the caller's to close. Raises ValueError where it was closed before."""
        if self._closed:
            raise ValueError("the file is closed")
        self._closed = True
        if os.fstat(self._file).st_size > self._size:
            os.ftruncate(self._file, self._size)
        os.lseek(self._file, 0, os.SEEK_SET)
        return self._file

    def abandon(self) -> None:
        """Close without touching the file: it is another process's. One that was closed is left: its number may be
        another file's by now."""
        if not self._closed:
            self._closed = True
            os.close(self._file)


def to_disk(file: IO[bytes]) -> None:
    """Wait until the disk has all that was written."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(path: Path) -> None:
    """Wait until the disk has the name of a file."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
