"""The second half of a long file of operations, read on another core while the first one is read.

Only lines of the usual shape are taken so; where there are others, the asker reads the half by itself. Does not know
what came before.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from troubadour.formats.entries import BadEntry, read_header
from troubadour.formats.objects.read import COLUMNS, ObjectLogReader
from troubadour.formats.text import BLOCK, is_packed, lines
from troubadour.model.beside import Beside, is_allowed
from troubadour.model.objects import LEAST_TEXT, READ, UNREAD, ObjectLog

_FIRST = 0.45
"""What of a file the asker reads: it also joins both."""

_TAIL = 1 << 16
"""Bytes at the end of a file that are not read ahead: the last lines may be of other kinds."""

_NUMBERS = tuple(name for name in COLUMNS if name not in ("ids", "statuses"))


class Ahead:
    """What is read ahead of a file: the bytes from `first` to `last`, whole lines."""

    def __init__(self, path: Path, first: int, last: int) -> None:
        """Raises OSError."""
        self.first, self.last = first, last
        self._work = Beside(lambda: _columns(path, first, last))

    def found(self) -> ObjectLog | None:
        """The transactions, as of a log that has nothing else; None where the lines have to be read one by one."""
        blocks = self._work.found()
        return None if not blocks else _log(blocks)

    def end(self) -> None:
        """Let go of it."""
        self._work.end()


def ahead(path: str | Path) -> Ahead | None:
    """The second half of a file of operations; None where it cannot be read ahead."""
    file = Path(path)
    try:
        size = file.stat().st_size if file.is_file() else 0
        if not is_allowed():
            return None
        with file.open("rb") as text:
            header = text.readline(BLOCK)
            if b'"objects"' not in header or is_packed(header):
                return None
            first, last = (_next_line(text, at) for at in (int(size * _FIRST), size - min(_TAIL, size // 4)))
        return Ahead(file, first, last) if first < last else None
    except OSError:
        return None


def _next_line(text: BinaryIO, at: int) -> int:
    text.seek(at)
    text.readline()
    return text.tell()


def _columns(path: Path, first: int, last: int) -> Iterator[bytes]:
    """The columns of the transactions; nothing where a line is of another shape."""
    with path.open("rb") as text:
        try:
            header = read_header(text.readline())
        except BadEntry:
            return
        if header.objects is None:
            return
        reader = ObjectLogReader(header)
        reader.begin("")
        text.seek(first)
        number = 0
        for batch, unfinished in lines(_blocks(text, last - first)):
            size = reader.several(batch)
            for at in range(0, len(batch), size):
                several = batch[at : at + size]
                if unfinished or reader.add_all(several, number, header.clock) is None:
                    return
                number += len(several)
    log = reader.log
    about = log.ids, log.session_names, log.clock_names, log.level_names, log.codes.texts
    yield marshal.dumps(about)
    for column in _bytes_of(log):
        yield bytes(column)


def _blocks(text: BinaryIO, size: int) -> Iterator[bytes]:
    while size and (block := text.read(min(BLOCK, size))):
        size -= len(block)
        yield block


def _bytes_of(log: ObjectLog) -> Iterator[bytearray | array[int]]:
    yield log.statuses
    yield log.kinds
    for name in (*_NUMBERS, "first", "subjects", "keys", "values"):
        yield getattr(log, name)
    yield log.sequences.first
    yield log.sequences.items


def _log(blocks: list[bytes]) -> ObjectLog:
    log = ObjectLog()
    log.ids, log.session_names, log.clock_names, log.level_names, texts = marshal.loads(blocks[0])
    for text in texts:
        log.codes.code(text)
    for column, block in zip(_bytes_of(log), blocks[1:], strict=True):
        del column[:]
        if isinstance(column, array):
            column.frombytes(block)
        else:
            column += block
    return log


def add(reader: ObjectLogReader, other: ObjectLog, number: int) -> bool:
    """Have a reader take what was read ahead, the first line of which has this number; False, with nothing taken, where
    an id came before."""
    log = reader.log
    table = np.array([log.codes.code(one) for one in other.codes.texts], np.int64)
    if len(table):
        for column in (other.keys, other.values, other.sequences.items):
            codes = np.frombuffer(column, np.int64) if len(column) else table[:0]
            texts = np.flatnonzero(codes >= LEAST_TEXT)
            codes[texts] = table[codes[texts] - LEAST_TEXT]
    if len(other.sequences):
        collections = np.array([one in ("list", "set") for one in reader.types])
        subjects, kinds = np.frombuffer(other.subjects, np.uint16), np.frombuffer(other.kinds, np.uint8)
        values = np.frombuffer(other.values, np.int64)
        values[collections[subjects] & (kinds == READ) & (values != UNREAD)] += len(log.sequences)
    return reader.add_log(other, number)
