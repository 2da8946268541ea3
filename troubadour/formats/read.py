"""Reading a log (CONTRACT §1; bad input: §2, exit 2).

Goes through the lines once, checks each by itself and against those before, and leaves transactions to the `Store`.
Does not know SQL: that a value fits its column is found where the columns are known.
"""

from __future__ import annotations

import gc
import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from troubadour.formats.convert import Texts, transaction_of
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
    read_transactions,
    shorten,
)
from troubadour.formats.segments import InitialRows, Segments
from troubadour.formats.store import Store
from troubadour.formats.text import STDIN, Torn, blocks, likely_size, lines, opened, shown, stored_size
from troubadour.model.ids import Hashes
from troubadour.model.log import Gap, Log, LogError, Transaction, TransactionId

Progress = Callable[[int, int | None], None]

SPILL_BYTES = 128 << 20
"""A log of more uncompressed bytes keeps its transactions in a temporary file."""

STREAMED_BYTES = 4 << 20
"""As `SPILL_BYTES`, where each transaction is asked for a few times only."""


def read_log(paths: Sequence[str | Path], *, progress: Progress | None = None, spill_bytes: int = SPILL_BYTES) -> Log:
    """Read a log from its segments; ``-`` is standard input, gzip is told by content.

    The transactions come in hint order (`troubadour.formats.order.hint_order`), numbers with a fraction or an
    exponent as Decimal, redacted values as `REDACTED`. `Log.digest` is the SHA-256, in hexadecimal, of the
    uncompressed bytes of all segments in the order given. `progress` is called now and then with the bytes read of
    the files, and their total where it is known. Beyond `spill_bytes` of text the transactions are not held in memory.

    Raises LogError, one line that names file and line, where the log cannot be used.
    """
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
            reader.segment(path)
        return reader.finish()
    finally:
        if collecting:
            gc.enable()


class _Reader:
    """What is known after the lines read so far."""

    def __init__(self, progress: Progress | None, total: int | None, spill_bytes: int) -> None:
        self._progress = progress
        self._total = total
        self._spill_bytes = spill_bytes
        self._digest = hashlib.sha256()
        self._text_bytes = 0
        self._stored_bytes = 0
        self._segments = Segments()
        self._store = Store()
        self._texts: Texts = {}
        self._names: list[str] = []
        self._begins: list[int] = []
        """First place of each segment."""
        self._lines = array("q")
        self._hashes = array("q")
        self._seen = Hashes()
        self._earlier: dict[int, int] = {}
        """Places by hash in the segments before this one, once they were needed."""
        self._gaps: list[Gap] = []
        self._intents: dict[TransactionId, int] = {}
        """Places of intents that no transaction line has replaced yet."""

    def spill(self, path: str | Path) -> None:
        try:
            self._store.spill_from_now()
        except OSError as error:
            raise LogError(f"{shown(path)}: too large for memory, and no temporary file: {error.strerror}") from error

    def segment(self, path: str | Path) -> None:
        self._names.append(shown(path))
        self._begins.append(len(self._store))
        self._earlier = {}
        with opened(path) as stream:
            _Segment(self, path).read(lines(self._counted(blocks(stream, self._read), path)))

    def finish(self) -> Log:
        transactions, counts = self._store.finish()
        header = msgspec.structs.replace(self._segments.header(), gaps=tuple(self._gaps))
        return Log(header, transactions, self._digest.hexdigest(), counts)

    def add_header(self, header: RawHeader) -> None:
        self._segments.add_header(header)

    def add_initial(self, initial: InitialRows) -> None:
        self._segments.add_initial(initial)

    def add_gap(self, raw: RawGap, header_clock: str | None) -> None:
        """Take a gap. Raises BadEntry."""
        if raw.since is not None and raw.until is not None and raw.until < raw.since:
            raise BadEntry(f"the gap ends at {raw.until}, before it begins at {raw.since}")
        self._gaps.append(Gap(raw.reason, raw.since, raw.until, raw.transactions, raw.clock or header_clock))

    def add(self, raw: RawTransaction, line: bytes, number: int, header_clock: str | None) -> None:
        """Take a transaction line or an intent. Raises BadEntry."""
        place = len(self._store)
        try:
            transaction = transaction_of(raw, place, header_clock, self._texts)
        except BadEntry as error:
            raise BadEntry(error.text, statement=error.statement, transaction=raw.id) from error
        hashed = hash(raw.id)
        dropped = not self._seen.add(hashed) and self._settle(raw, hashed, transaction)
        self._hashes.append(hashed)
        self._lines.append(number)
        self._store.append(transaction, line)
        if raw.kind == "intent":
            if dropped:
                self._store.drop(place, None)
            else:
                self._intents[raw.id] = place

    def _settle(self, raw: RawTransaction, hashed: int, transaction: Transaction) -> bool:
        """What to do of an entry whose id may have been seen: replace the intent, refuse the repetition, or (True)
        drop an intent that an earlier segment's transaction line has replaced already."""
        pending = self._intents.get(raw.id)
        if raw.kind != "intent":
            if pending is not None:
                self._store.drop(self._intents.pop(raw.id), transaction)
                return False
            what = "a repeated id:"
        else:
            what = "an intent after"
        place = self._place_of(raw.id, hashed)
        if place is None:
            return False
        if raw.kind == "intent" and pending is None and place < self._begins[-1]:
            return True
        raise BadEntry(f"{what} {self._position(place)} with the same id", transaction=raw.id)

    def _place_of(self, id: TransactionId, hashed: int) -> int | None:
        """The last entry with this id; a hash alone proves nothing."""
        if not self._earlier:
            # Segments given out of order ask for many: one dictionary then, and no search.
            self._earlier = {other: place for place, other in enumerate(self._hashes[: self._begins[-1]])}
        place = self._earlier.get(hashed)
        if place is not None and self._has_id(place, id):
            return place
        for place in range(len(self._hashes) - 1, -1, -1):
            if self._hashes[place] == hashed and self._has_id(place, id):
                return place
        return None

    def _has_id(self, place: int, id: TransactionId) -> bool:
        earlier = self._store.at(place).id
        return earlier == id and type(earlier) is type(id)

    def _position(self, place: int) -> str:
        segment = max(number for number, begin in enumerate(self._begins) if begin <= place)
        return f"{self._names[segment]}:{self._lines[place]}"

    def _read(self, size: int) -> None:
        self._stored_bytes += size
        if self._progress is not None:
            self._progress(self._stored_bytes, self._total)

    def _counted(self, text: Iterator[bytes], path: str | Path) -> Iterator[bytes]:
        for block in text:
            self._digest.update(block)
            self._text_bytes += len(block)
            if self._text_bytes > self._spill_bytes:
                self.spill(path)
            yield block


class _Segment:
    """One file, line by line."""

    def __init__(self, reader: _Reader, path: str | Path) -> None:
        self._reader = reader
        self._name = shown(path)
        self._number = 0
        self._clock: str | None = None
        self._initial: InitialRows | None = InitialRows()
        """None once a transaction was read."""
        self._began = False
        self._transactions = 0
        self._ended_at = 0
        self._unfinished = False

    def read(self, batches: Iterator[tuple[list[bytes], bool]]) -> None:
        """Raises LogError."""
        try:
            for batch, self._unfinished in batches:
                entries = read_transactions(batch) if self._initial is None and not self._ended_at else None
                if entries is not None:
                    self._add_all(entries, batch)
                    continue
                for line in batch:
                    self._number += 1
                    if line and not line.isspace():
                        self._entry(line)
        except BadEntry as error:
            where = f"{self._name}:{self._number}"
            if error.transaction is not None:
                where += f": transaction {shorten(error.transaction)}"
                if error.statement is not None:
                    where += f", statement {error.statement}"
            elif error.statement is not None:
                where += f": statement {error.statement}"
            torn = self._unfinished and error.text.startswith("not valid JSON")
            text = f"the last line is torn: {error.text} (troubadour log repair)" if torn else error.text
            raise LogError(f"{where}: {text}") from error
        except Torn as error:
            raise LogError(f"{self._name}:{self._number + 1}: {error}") from error
        if not self._began:
            raise LogError(f"{self._name}:1: empty, without even a header")
        self._close_initial()

    def _entry(self, line: bytes) -> None:
        if self._ended_at:
            raise BadEntry(f"nothing may follow the end on line {self._ended_at}")
        if not self._began:
            header = read_header(line)
            self._reader.add_header(header)
            self._clock = header.clock
            assert self._initial is not None
            self._initial.add_header(header)
            self._began = True
            return
        entry = read_transaction(line) if self._initial is None else read_rows(line)
        if isinstance(entry, RawTransaction):
            self._close_initial()
            self._reader.add(entry, line, self._number, self._clock)
            self._transactions += entry.kind != "intent"
        elif isinstance(entry, RawRows):
            if self._initial is None:
                raise BadEntry("rows after the first transaction")
            self._initial.add_line(entry)
        elif isinstance(entry, RawGap):
            self._reader.add_gap(entry, self._clock)
        else:
            self._end(entry)

    def _add_all(self, entries: list[RawTransaction], batch: list[bytes]) -> None:
        add, clock = self._reader.add, self._clock
        for entry, line in zip(entries, batch, strict=True):
            self._number += 1
            add(entry, line, self._number, clock)
            self._transactions += entry.kind != "intent"

    def _end(self, entry: RawEnd) -> None:
        if entry.transactions != self._transactions:
            raise BadEntry(f"the end counts {entry.transactions} transactions, but there are {self._transactions}")
        self._ended_at = self._number

    def _close_initial(self) -> None:
        if self._initial is not None:
            self._reader.add_initial(self._initial)
            self._initial = None
