"""A file that is appended to through memory: what was appended survives the death of the process, at the price of
no system call. (Not that of the machine: for that a log would have to be synchronized at every commit.)

A process that is killed leaves zeros behind what it wrote last; `troubadour log repair` takes them off. Does not know
what is written.
"""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path

CHUNK = 1 << 20


class AppendedFile:
    """Thread-safe. Raises OSError where the disk is full, before anything of that append is written."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._size = os.fstat(self._file).st_size
        self._lock = threading.Lock()
        self._closed = False
        self._map: mmap.mmap | None = None
        self._start = 0
        """Where the window begins in the file."""

    def append(self, data: bytes) -> None:
        """When it returns the operating system has the data. Raises ValueError after `close`."""
        with self._lock:
            if self._closed:
                raise ValueError("the file is closed")
            begin = self._size - self._start
            end = begin + len(data)
            window = self._map
            if window is None or end > len(window):
                window = self._move(len(data))
                begin = self._size - self._start
                end = begin + len(data)
            window[begin:end] = data
            self._size += len(data)

    def _move(self, wanted: int) -> mmap.mmap:
        """A window that has room for so many bytes."""
        start = self._size - self._size % mmap.ALLOCATIONGRANULARITY
        length = max(CHUNK, -(-(self._size - start + wanted) // CHUNK) * CHUNK)
        # reserved, not only named: writing to memory that the disk has no room for would kill the process
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file, start, length)
        else:
            os.ftruncate(self._file, start + length)
        if self._map is not None:
            self._map.close()
        self._map = mmap.mmap(self._file, length, offset=start)
        self._start = start
        return self._map

    def close(self) -> None:
        """Cut the file to what was appended."""
        with self._lock:
            self._closed = True
            self._drop()
            os.ftruncate(self._file, self._size)
            os.close(self._file)

    def abandon(self) -> None:
        """Close without touching the file: it is another process's."""
        self._drop()
        os.close(self._file)

    def _drop(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
