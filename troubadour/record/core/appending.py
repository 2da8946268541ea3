"""A file that is appended to through memory: what was appended survives the death of the process, at the price of
no system call. (Not that of the machine: for that a log would have to be synchronized at every commit.)

A process that is killed leaves zeros behind what it wrote last; `troubadour log repair` takes them off. Does not know
what is written.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
from pathlib import Path

CHUNK = 1 << 20
RESERVE = 4096
"""Bytes that are kept free for what must be said when there is no more room."""
PRIVATE = 0o600
"""Rights of every file that holds what an application's clients saw."""


class AppendedFile:
    """Thread-safe. Raises OSError where the disk is full, or where the file was removed or cut by others, before
    anything of that append is written. Later appends try again."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        self._size = os.fstat(self._file).st_size
        self._lock = threading.Lock()
        self._closed = False
        self._map: mmap.mmap | None = None
        self._start = 0
        """Where the window begins in the file."""

    def append(self, data: bytes, reserve: int = RESERVE) -> None:
        """When it returns the operating system has the data, and `reserve` bytes more have room; without any the room
        that was kept by others is used. Raises ValueError after `close`."""
        with self._lock:
            if self._closed:
                raise ValueError("the file is closed")
            begin = self._size - self._start
            end = begin + len(data)
            window = self._map
            if window is not None:
                self._check(self._start + len(window))
            if window is None or end + reserve > len(window):
                window = self._move(len(data) + reserve)
                begin = self._size - self._start
                end = begin + len(data)
            window[begin:end] = data
            self._size += len(data)

    def _check(self, end: int) -> None:
        """Raises OSError unless the file can be found by its name, and is as long as the window needs: writing to
        memory behind its end would kill the process."""
        found = os.fstat(self._file)
        if not found.st_nlink:
            raise OSError(errno.ENOENT, "it was removed while it was written")
        if found.st_size < end:
            raise OSError(errno.EIO, "it was cut while it was written")

    def _move(self, wanted: int) -> mmap.mmap:
        """A window that has room for so many bytes. Raises OSError, and the old window stays."""
        start = self._size - self._size % mmap.ALLOCATIONGRANULARITY
        length = max(CHUNK, -(-(self._size - start + wanted) // CHUNK) * CHUNK)
        # reserved, not only named: writing to memory that the disk has no room for would kill the process
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file, start, length)
        else:
            os.ftruncate(self._file, start + length)
        window = mmap.mmap(self._file, length, offset=start)
        self._drop()
        self._map, self._start = window, start
        return window

    def close(self) -> int:
        """Cut the file to what was appended. Gives a descriptor of it that can be read from the beginning, removed or
        not, and is the caller's to close. Raises ValueError where it was closed before."""
        with self._lock:
            if self._closed:
                raise ValueError("the file is closed")
            self._closed = True
            self._drop()
            if os.fstat(self._file).st_size > self._size:
                os.ftruncate(self._file, self._size)
            os.lseek(self._file, 0, os.SEEK_SET)
            return self._file

    def abandon(self) -> None:
        """Close without touching the file: it is another process's. One that was closed is left: its number may be
        another file's by now."""
        self._drop()
        if not self._closed:
            self._closed = True
            os.close(self._file)

    def _drop(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
