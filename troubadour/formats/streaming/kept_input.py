"""Standard input that is read twice where it has to be: what comes is kept in a file meanwhile.

Does not know what is read.
"""

from __future__ import annotations

import io
import tempfile
from typing import IO, BinaryIO

from troubadour.formats.text import BLOCK


class KeptInput(io.RawIOBase):
    """A stream of which a copy is made as it is read."""

    def __init__(self, source: BinaryIO) -> None:
        """Raises OSError where there is no room for the copy; so do all others."""
        self._source = source
        self._copy = tempfile.SpooledTemporaryFile(4 * BLOCK)  # noqa: SIM115 - lives as long as this
        self._ready = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def begins_with(self, size: int) -> bool:
        """Whether so many bytes come."""
        while len(self._ready) < size and (block := self._next(BLOCK)):
            self._ready += block
        return len(self._ready) >= size

    def _next(self, most: int) -> bytes:
        block = self._source.read1(most) if isinstance(self._source, io.BufferedReader) else self._source.read(most)
        self._copy.write(block)
        return block

    def readinto(self, buffer: object) -> int:
        """As of every stream."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        block, self._ready = (self._ready or self._next(len(view))), b""
        self._ready = block[len(view) :]
        block = block[: len(view)]
        view[: len(block)] = block
        return len(block)

    def whole(self) -> IO[bytes]:
        """All of it, from the first byte on, the rest of the source included."""
        while self._next(BLOCK):
            pass
        self._copy.seek(0)
        return self._copy

    def forget(self) -> None:
        """The copy is not needed."""
        self._copy.close()
