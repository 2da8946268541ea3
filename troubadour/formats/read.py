"""Reading a log (bad input: exit 2).

Goes through the lines once, checks each by itself and against those before, and leaves transactions to the `Store`.
Does not know SQL: that a value fits its column is found where the columns are known.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from troubadour.formats.entries import (
    BadEntry,
    RawEnd,
    RawGap,
    RawHeader,
    RawRows,
    RawTransaction,
    read_header,
    read_rows,
    read_transaction,
)
from troubadour.formats.objects.expand import expanded
from troubadour.formats.objects.initial import ObjectInitial
from troubadour.formats.objects.read import ObjectLogReader
from troubadour.formats.segments import InitialRows, Segments
from troubadour.formats.statements import StatementLog
from troubadour.formats.text import STDIN, Torn, blocks, likely_size, lines, opened, shown, stored_size
from troubadour.model.log import Gap, Log, LogError
from troubadour.model.objects import ObjectLog

if TYPE_CHECKING:
    from troubadour.formats.objects.ahead import Ahead

Progress = Callable[[int, int | None], None]

SPILL_BYTES = 128 << 20
"""A log of more uncompressed bytes keeps its transactions in a temporary file."""

LONG = 1 << 25
"""Bytes of a file of operations from which on a part of it is read on another core."""

STREAMED_BYTES = 4 << 20
"""As `SPILL_BYTES`, where each transaction is asked for a few times only."""


def read_log(paths: Sequence[str | Path], *, progress: Progress | None = None, spill_bytes: int = SPILL_BYTES) -> Log:
    """Read a log from its segments; ``-`` is standard input, gzip is told by content.

    The transactions come in hint order (`troubadour.formats.order.hint_order`), numbers with a fraction or an
    exponent as Decimal, redacted values as `REDACTED`. `Log.digest` is the SHA-256, in hexadecimal, of the
    uncompressed bytes of all segments in the order given. `progress` is called now and then with the bytes read of
    the files, and their total where it is known. Beyond `spill_bytes` of text the transactions are not held in memory.

    A log of operations on objects is given as the SQL that these stand for (`troubadour.formats.objects.expand`).

    Raises LogError, one line that names file and line, where the log cannot be used.
    """
    found = read_either(paths, progress=progress, spill_bytes=spill_bytes)
    return expanded(found) if isinstance(found, ObjectLog) else found


def read_either(
    paths: Sequence[str | Path], *, progress: Progress | None = None, spill_bytes: int = SPILL_BYTES
) -> Log | ObjectLog:
    """The same, with a log of operations on objects in columns. Raises LogError."""
    if not paths:
        raise LogError("no log is given")
    if sum(str(path) == STDIN for path in paths) > 1:
        raise LogError("standard input can be one segment only")
    sizes = [stored_size(path) for path in paths]
    known = [size for size in sizes if size is not None]
    reader = _Reader(progress, sum(known) if len(known) == len(sizes) else None, spill_bytes)
    if sum(map(likely_size, paths)) > spill_bytes:
        reader.spill(paths[0])
    # Millions of objects are made here and none in a cycle: the collector would only look at them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        for path in paths:
            reader.segment(path, alone=len(paths) == 1)
        return reader.finish()
    finally:
        if collecting:
            gc.enable()


class _Reader:
    """What is known after the lines read so far, but for the transactions."""

    def __init__(self, progress: Progress | None, total: int | None, spill_bytes: int) -> None:
        self._progress = progress
        self._total = total
        self._spill_bytes = spill_bytes
        self._digest = hashlib.sha256()
        self._text_bytes = 0
        self._stored_bytes = 0
        self._segments = Segments()
        self._transactions: StatementLog | ObjectLogReader | None = None
        """None before the first header."""
        self._spilled: str | Path | None = None
        self._gaps: list[Gap] = []

    def spill(self, path: str | Path) -> None:
        """Keep further transactions in a file, as far as they can be."""
        self._spilled = path
        if isinstance(self._transactions, StatementLog):
            try:
                self._transactions.spill()
            except OSError as error:
                text = f"{shown(path)}: too large for memory, and no temporary file: {error.strerror}"
                raise LogError(text) from error

    def segment(self, path: str | Path, *, alone: bool) -> None:
        """Read one file; `alone`: it is the whole log. Raises LogError."""
        segment = _Segment(self, path)
        with opened(path) as stream:
            text = self._counted(blocks(stream, self._read), path)
            second = _ahead(path) if alone else None
            if second is None:
                segment.read(lines(text))
                return
            try:
                segment.read(segment.around(_Pieces(text), second))
            finally:
                second.end()

    def finish(self) -> Log | ObjectLog:
        assert self._transactions is not None
        header = msgspec.structs.replace(self._segments.header(), gaps=tuple(self._gaps))
        return self._transactions.finish(header, self._digest.hexdigest())

    def begin(self, name: str, header: RawHeader) -> StatementLog | ObjectLogReader:
        """Take the header of the next segment; what its other lines go to. Raises BadEntry."""
        self._segments.add_header(header)
        if self._transactions is None:
            self._transactions = StatementLog() if header.objects is None else ObjectLogReader(header)
            if self._spilled is not None:
                self.spill(self._spilled)
        self._transactions.begin(name)
        return self._transactions

    def add_initial(self, initial: InitialRows) -> None:
        """Raises BadEntry."""
        self._segments.add_initial(initial)

    def add_gap(self, raw: RawGap, header_clock: str | None) -> None:
        """Take a gap. Raises BadEntry."""
        if raw.since is not None and raw.until is not None and raw.until < raw.since:
            raise BadEntry(f"the gap ends at {raw.until}, before it begins at {raw.since}")
        self._gaps.append(Gap(raw.reason, raw.since, raw.until, raw.transactions, raw.clock or header_clock))

    def _read(self, size: int) -> None:
        self._stored_bytes += size
        if self._progress is not None:
            self._progress(self._stored_bytes, self._total)

    def _counted(self, text: Iterator[bytes], path: str | Path) -> Iterator[bytes]:
        for block in text:
            self._digest.update(block)
            self._text_bytes += len(block)
            if self._text_bytes > self._spill_bytes and self._spilled is None:
                self.spill(path)
            yield block


def _ahead(path: str | Path) -> Ahead | None:
    """What of a long file of operations is read on another core."""
    if str(path) == STDIN or likely_size(path) < LONG:
        return None
    # numpy, which short logs of SQL start without
    from troubadour.formats.objects.ahead import ahead

    return ahead(path)


class _Pieces:
    """Text in blocks, cut at some places."""

    def __init__(self, text: Iterator[bytes]) -> None:
        self._text, self._rest, self._at = text, b"", 0

    def until(self, end: int | None) -> Iterator[bytes]:
        """What comes before so many bytes from the beginning (None: all), in blocks."""
        while end is None or self._at < end:
            block = self._rest or next(self._text, b"")
            if not block:
                return
            cut = len(block) if end is None else min(len(block), end - self._at)
            self._rest = block[cut:]
            self._at += cut
            yield block[:cut]


class _Segment:
    """One file, line by line."""

    def __init__(self, reader: _Reader, path: str | Path) -> None:
        self._reader = reader
        self._name = shown(path)
        self._number = 0
        self._clock: str | None = None
        self._log: StatementLog | ObjectLogReader | None = None
        """None before the header."""
        self._initial: InitialRows | ObjectInitial | None = None
        """None before the header, and once a transaction was read."""
        self._transactions = 0
        self._ended_at = 0
        self._unfinished = False

    def read(self, batches: Iterator[tuple[list[bytes], bool]]) -> None:
        """Raises LogError."""
        try:
            for batch, self._unfinished in batches:
                self._read_batch(batch)
        except BadEntry as error:
            where = f"{self._name}:{error.line or self._number}"
            if error.where:
                where += f": {error.where}"
            torn = self._unfinished and error.text.startswith("not valid JSON")
            remedy = "; it can be mended: troubadour log repair FILE --out LOG"
            text = f"the last line is torn: {error.text}{remedy}" if torn else error.text
            raise LogError(f"{where}: {text}") from error
        except Torn as error:
            raise LogError(f"{self._name}:{self._number + 1}: {error}") from error
        if self._log is None:
            header = '{"format": "troubadour-log", ...}'
            raise LogError(f"{self._name}:1: empty; line 1 must be the log's header, {header}")
        self._close_initial()

    def around(self, text: _Pieces, second: Ahead) -> Iterator[tuple[list[bytes], bool]]:
        """The lines before what is read ahead, and those behind it; all of them where it cannot be taken."""
        yield from lines(text.until(second.first))
        if self._take(second):
            for _ in text.until(second.last):
                pass
        yield from lines(text.until(None))

    def _take(self, second: Ahead) -> bool:
        from troubadour.formats.objects.ahead import add

        found = second.found()
        log = self._log
        if found is None or not isinstance(log, ObjectLogReader) or self._initial is not None or self._ended_at:
            return False
        if not add(log, found, self._number + 1):
            return False
        self._number += len(found)
        self._transactions += len(found)
        return True

    def _read_batch(self, batch: list[bytes]) -> None:
        done = size = 0
        while done < len(batch):
            log = self._log
            if log is not None and self._initial is None and not self._ended_at:
                # transactions come one after another as a rule: many at once, where nothing is wrong with any
                size = size or log.several(batch)
                several = batch[done : done + size]
                added = log.add_all(several, self._number + 1, self._clock)
                if added is not None:
                    self._transactions += added
                    self._number += len(several)
                    done += len(several)
                    continue
            else:
                several = batch[done : done + 1]
            for line in several:
                self._number += 1
                if line and not line.isspace():
                    self._entry(line)
            done += len(several)

    def _entry(self, line: bytes) -> None:
        if self._ended_at:
            raise BadEntry(f"nothing may follow the end on line {self._ended_at}")
        if self._log is None:
            header = read_header(line)
            self._log = self._reader.begin(self._name, header)
            self._clock = header.clock
            self._initial = self._log.initial(header)
            return
        entry = read_transaction(line) if self._initial is None else read_rows(line)
        if isinstance(entry, RawTransaction):
            self._close_initial()
            self._log.add(entry, line, self._number, self._clock)
            self._transactions += entry.kind != "intent"
        elif isinstance(entry, RawRows):
            if self._initial is None:
                raise BadEntry("rows after the first transaction")
            self._initial.add_line(entry)
        elif isinstance(entry, RawGap):
            self._reader.add_gap(entry, self._clock)
        else:
            self._end(entry)

    def _end(self, entry: RawEnd) -> None:
        if entry.transactions != self._transactions:
            raise BadEntry(
                f"the end line counts {entry.transactions:,} transactions, but the log has {self._transactions:,}"
            )
        self._ended_at = self._number

    def _close_initial(self) -> None:
        if isinstance(self._initial, InitialRows):
            self._reader.add_initial(self._initial)
        elif self._initial is not None:
            assert isinstance(self._log, ObjectLogReader)
            self._log.add_initial(self._initial)
        self._initial = None
