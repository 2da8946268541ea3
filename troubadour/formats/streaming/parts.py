"""A log that is cut behind some of its checkpoints: where each part begins and ends, and which checkpoints these are.

Does not know whether what is read there is all that there is.
"""

from __future__ import annotations

import io
import mmap
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from troubadour.formats.entries import BadEntry, RawTransaction, read_transaction
from troubadour.formats.text import is_packed

_CHECKPOINT = re.compile(rb'"kind"\s*:\s*"checkpoint"')


class Part(msgspec.Struct, frozen=True):
    """The bytes of a part, from `start` to before `end`. `opening` is the checkpoint before it (None: it begins with
    the header), `closing` the one that is its last line (None: it ends with the log)."""

    start: int
    end: int
    opening: RawTransaction | None
    closing: RawTransaction | None


class Piece(io.RawIOBase):
    """Some bytes of a file."""

    def __init__(self, path: Path, start: int, end: int) -> None:
        """Raises OSError."""
        self._file = path.open("rb", buffering=0)
        self._file.seek(start)
        self._left = end - start

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """As of every stream."""
        view = memoryview(buffer)[: self._left]  # type: ignore[arg-type]
        count = self._file.readinto(view) or 0
        self._left -= count
        return count

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
        super().close()


def parts_of(path: Path, most: int) -> list[Part]:
    """The parts of a log, of about one size and not more than so many; one where it has no checkpoint, or is no plain
    file. Raises OSError."""
    size = path.stat().st_size
    cuts: list[tuple[int, RawTransaction]] = []
    if size:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if not is_packed(text[:2]):
                cuts = _cuts(text, size, most)
    begins = [0, *(at for at, _ in cuts)]
    lines: Sequence[RawTransaction | None] = [None, *(line for _, line in cuts), None]
    ends = [*begins[1:], size]
    return [
        Part(begin, end, opening, closing)
        for begin, end, opening, closing in zip(begins, ends, lines[:-1], lines[1:], strict=True)
    ]


def _cuts(text: mmap.mmap, size: int, most: int) -> list[tuple[int, RawTransaction]]:
    """Where the log is cut, behind which lines."""
    found: list[tuple[int, RawTransaction]] = []
    wanted = size // most
    for match in _CHECKPOINT.finditer(text):
        start, end = text.rfind(b"\n", 0, match.start()) + 1, text.find(b"\n", match.end()) + 1
        if (end and end < wanted) or end in (0, size):
            continue
        try:
            line = read_transaction(text[start:end])
        except BadEntry:
            return []
        if isinstance(line, RawTransaction) and line.kind == "checkpoint":
            found.append((end, line))
            wanted = end + (size - end) // max(most - len(found), 1)
    return found
