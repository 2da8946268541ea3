"""A log of statements as a stream: each line is read once, checked and handed on, and only what is near is held.

A window of transactions is put in hint order; one that should have come before the window stands where it is read.
What is no stream (a gap, an unknown outcome, a line that cannot be used) is left to `read_log`, which says what it is.
Does not know whether ids are unique: `troubadour.formats.streaming.settled` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, islice
from operator import le, lt
from typing import BinaryIO

import msgspec

from troubadour.formats.convert import Texts, transaction_of
from troubadour.formats.entries import (
    BadEntry,
    RawEnd,
    RawRows,
    RawTransaction,
    read_header,
    read_rows,
    read_transaction,
    read_transactions,
)
from troubadour.formats.segments import InitialRows, Segments
from troubadour.formats.store import Store
from troubadour.formats.streaming.ascent import Ascent
from troubadour.formats.streaming.places import Places
from troubadour.formats.text import Torn, blocks
from troubadour.model.log import Header, Transaction, TransactionId

WINDOW = 512
"""Transactions that are held back, as an earlier one may still come."""
_LONGEST = 1 << 24
"""Bytes of a line."""
_SESSIONS = 1 << 16
"""Sessions whose transactions are numbered."""


Numbered = tuple[str | None, int]
"""A session and a number in it."""
Near = tuple[Transaction, bytes, int]
"""A transaction, its line, and where that begins in the text."""


class Unstreamed(Exception):
    """The log is no stream: the text says why."""


class Unresumable(Exception):
    """What an audit noted is not what it can go on with: the text says why, in one line."""


class AnotherLog(Unresumable):
    """The log does not begin with what was read before."""

    def __init__(self) -> None:
        super().__init__("the log does not begin with what was audited then")


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a stream was read, between two batches: the first `read` bytes of text, with their SHA-256; what of them
    no newline ends yet; the lines of transactions that are held back; the intents that stand, with their numbers; the
    last numbers of the sessions that number theirs; the entries and the transaction lines so far, and what the `end`
    among them counts; what is known of the order of those handed on."""

    read: int
    digest: str
    rest: bytes
    held: tuple[bytes, ...]
    intents: tuple[tuple[TransactionId, Numbered | None], ...]
    numbers: dict[str, int]
    entries: int
    transactions: int
    ended: int | None
    ascent: Ascent


class Stream:
    """The transactions of one segment; `header` has its initial rows."""

    def __init__(
        self,
        stream: BinaryIO,
        position: Position | None = None,
        *,
        of: Header | None = None,
        places: Places | None = None,
    ) -> None:
        """Read as far as the first transaction, or go on from a `position`. `of`: it is a later part of the log with
        this header. `places` takes where each transaction stands in the text. Raises Unstreamed, AnotherLog."""
        self._blocks = blocks(stream, lambda count: None)
        self._sha = hashlib.sha256()
        self._block = b""
        """What of the last block is not taken yet."""
        self._read = self._entries = self._counted = 0
        self._rest = b""
        self._texts: Texts = {}
        self._intents: dict[TransactionId, Numbered | None] = {}
        self._numbers: dict[str, int] = {}
        self._held: list[Near] = []
        self._places = places
        self._begins = 0
        """Where the lines begin that are taken next."""
        self._clock: str | None = None
        self.ascent = Ascent()
        """What is known of the order of those that were handed on."""
        self._part = of is not None
        self._waiting: list[bytes] = []
        self.ended: int | None = None
        """How many transactions the `end` line counts, where there was one."""
        with _refusing():
            if of is not None:
                self.header, self._clock = of, of.clock
                return
            self.header, self._waiting = self._begin(None if position is None else position.read)
            if position is not None:
                self._go_on(position)

    @property
    def digest(self) -> str:
        """The SHA-256 of the text that was read."""
        return self._sha.hexdigest()

    @property
    def read(self) -> int:
        """Bytes of text read."""
        return self._read

    @property
    def numbered(self) -> bool:
        """Whether sessions number their transactions."""
        return bool(self._numbers)

    def position(self) -> Position:
        """How far it is, between two batches."""
        return Position(
            self._read,
            self.digest,
            self._rest,
            tuple(line for _, line, _ in self._held),
            tuple(self._intents.items()),
            dict(self._numbers),
            self._entries,
            self._counted,
            self.ended,
            msgspec.structs.replace(self.ascent),
        )

    def batches(self) -> Iterator[list[Transaction]]:
        """The transactions, many at a time. Raises Unstreamed, also at the end."""
        with _refusing():
            lines: list[bytes] | None
            lines, self._waiting = self._waiting, []
            while lines is not None:
                yield self._near(self._taken(lines), WINDOW)
                lines = self._lines(None)
            last, self._rest = self._rest, b""
            yield self._near(self._taken([last]) if last else [], 0)
            if self._intents:
                raise Unstreamed("an unknown outcome")

    # text

    def _begin(self, until: int | None) -> tuple[Header, list[bytes]]:
        """The header, and the lines of the last block behind the initial rows."""
        segments, initial = Segments(), InitialRows()
        begun = False
        while (lines := self._lines(until)) is not None:
            for place, line in enumerate(lines):
                if not line or line.isspace():
                    continue
                if not begun:
                    raw = read_header(line)
                    if raw.objects is not None:
                        raise Unstreamed("a log of operations on objects")
                    segments.add_header(raw)
                    initial.add_header(raw)
                    self._clock = raw.clock
                    begun = True
                    continue
                entry = read_rows(line) if line.startswith(b'{"kind"') else read_transaction(line)
                if not isinstance(entry, RawRows):
                    segments.add_initial(initial)
                    self._begins += sum(map(len, lines[:place])) + place
                    return segments.header(), lines[place:]
                initial.add_line(entry)
        raise Unstreamed("no transactions")

    def _go_on(self, position: Position) -> None:
        while self._text(position.read):
            pass
        if self._read != position.read or self.digest != position.digest:
            raise AnotherLog
        self._waiting, self.ascent = [], position.ascent
        self._rest = position.rest
        self._intents, self._numbers = dict(position.intents), dict(position.numbers)
        self._entries, self._counted, self.ended = position.entries, position.transactions, position.ended
        for line in position.held:
            raw = read_transaction(line)
            assert isinstance(raw, RawTransaction)
            self._held.append((transaction_of(raw, 0, self._clock, self._texts), line, 0))

    def _text(self, until: int | None) -> bytes:
        """The next block; empty where there is none, or so many bytes were read."""
        if not self._block:
            self._block = next(self._blocks, b"") if until is None or self._read < until else b""
        block = self._block
        if until is not None:
            block = block[: until - self._read]
        self._block = self._block[len(block) :]
        self._sha.update(block)
        self._read += len(block)
        return block

    def _lines(self, until: int | None) -> list[bytes] | None:
        """The lines that the next block ends; None where there is none, or so many bytes were read."""
        self._begins = self._read - len(self._rest)
        block = self._text(until)
        if not block:
            return None
        lines = (self._rest + block).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST:
            raise Unstreamed("a long line")
        return lines

    # entries

    def _taken(self, lines: list[bytes]) -> list[Near]:
        """The transactions on some lines."""
        found: list[Near] = []
        starts = accumulate(map(len, lines), lambda start, size: start + size + 1, initial=self._begins)
        raws = None if self.ended is not None else read_transactions(lines)
        if raws is not None:
            for raw, line, start in zip(raws, lines, starts, strict=False):
                self._take(raw, line, start, found)
            return found
        for line, start in zip(lines, starts, strict=False):
            if not line or line.isspace():
                continue
            if self.ended is not None:
                raise Unstreamed("something behind the end")
            entry = read_transaction(line)
            if isinstance(entry, RawTransaction):
                self._take(entry, line, start, found)
            elif isinstance(entry, RawEnd) and (self._part or entry.transactions == self._counted):
                self.ended = entry.transactions
            else:
                raise Unstreamed("a gap, rows behind a transaction, or an end that counts otherwise")
        return found

    def _take(self, raw: RawTransaction, line: bytes, start: int, found: list[Near]) -> None:
        one = transaction_of(raw, self._entries, self._clock, self._texts)
        self._entries += 1
        numbered = None if one.sno is None else (one.session, one.sno)
        if raw.kind == "intent":
            if raw.id in self._intents:
                raise Unstreamed("two intents")
            self._intents[raw.id] = numbered
            return
        self._counted += 1
        if (self._intents.pop(raw.id, None) or numbered) != numbered:
            raise Unstreamed("an intent with another number")
        if one.status == "unknown":
            raise Unstreamed("an unknown outcome")
        if one.sno is not None and one.session is not None:
            if self._numbers.get(one.session, -1) >= one.sno or len(self._numbers) > _SESSIONS:
                raise Unstreamed("numbers within sessions that do not ascend")
            self._numbers[one.session] = one.sno
        found.append((one, line, start))

    def _near(self, more: list[Near], keep: int) -> list[Transaction]:
        """The transactions held and some more, in hint order, but for the last ones."""
        near = self._held + more if self._held else more
        if not _is_sorted([one for one, _, _ in near]):
            store = Store()
            for one, line, _ in near:
                store.append(one, line)
            near = [near[place] for place in store.order()]
        until = max(len(near) - keep, 0)
        self._held = near[until:]
        settled = near[:until]
        found = [one for one, _, _ in settled]
        if self._places is not None:
            self._places.add([(start, len(line), one.place) for one, line, start in settled])
        self.ascent.note(found)
        return found


def _is_sorted(near: list[Transaction]) -> bool:
    """Whether transactions stand in hint order, where a look at their times alone says so."""
    commits = [one.commit for one in near]
    if None not in commits:
        return all(map(lt, commits, islice(commits, 1, None)))  # type: ignore[arg-type]
    if any(commit is not None for commit in commits):
        return False
    returned = [one.returned for one in near]
    if None in returned or any(one.clock != near[0].clock or one.status == "aborted" for one in near):
        return False
    return all(map(le, returned, islice(returned, 1, None)))  # type: ignore[arg-type]


@contextmanager
def _refusing() -> Iterator[None]:
    """What keeps a log from being read keeps it from being a stream."""
    try:
        yield
    except (BadEntry, Torn) as error:
        raise Unstreamed(str(error)) from error
