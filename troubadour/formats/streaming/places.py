"""Where the transactions that a stream has read stand in its file, in a file that vanishes.

Does not know what a line says, nor in which order they stand: as they were noted.
"""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from troubadour.formats.text import is_packed
from troubadour.model.log import LogError

_FIELDS = 3
"""Of each transaction: where its line begins, its length, and the number of the entry."""
_BYTES = 8 * _FIELDS
_MANY = 4096
"""Places that are read at a time."""


class Places:
    """Where transactions stand in a file of text that is not compressed."""

    def __init__(self, source: int) -> None:
        """`source`: the number of the opened file. Raises OSError."""
        self._source = os.dup(source)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        weakref.finalize(self, os.close, self._source)
        weakref.finalize(self, self._file.close)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, some: Sequence[tuple[int, int, int]]) -> None:
        """The next ones: where each line begins, its length, the number of the entry. Raises OSError."""
        self._file.write(array("q", chain.from_iterable(some)).tobytes())
        self._count += len(some)

    def flush(self) -> None:
        """Let all of them be read."""
        self._file.flush()

    def lines(self, numbers: range) -> Iterator[tuple[bytes, int]]:
        """The lines of some of them, with the numbers of their entries. Raises LogError where the file has changed."""
        for first in range(0, len(numbers), _MANY):
            some = numbers[first : first + _MANY]
            least, most = min(some[0], some[-1]), max(some[0], some[-1])
            noted = array("q", os.pread(self._file.fileno(), (most - least + 1) * _BYTES, least * _BYTES))
            for number in some:
                start, length, entry = noted[(number - least) * _FIELDS : (number - least + 1) * _FIELDS]
                line = os.pread(self._source, length, start)
                if len(line) < length:
                    raise LogError("the log was cut while it was audited")
                yield line, entry


def places_in(source: BinaryIO) -> Places | None:
    """Of a file just opened; None where it is compressed, or cannot be read twice. Raises OSError."""
    try:
        number = source.fileno()
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(number).st_mode) or is_packed(os.pread(number, 2, 0)):
        return None
    return Places(number)
