"""Where transactions wait until all are read and the hint order is known (logs need not fit in memory).

Small logs are kept as objects. Of large ones the lines go to a temporary file and are decoded again whenever a
transaction is asked for; only a few numbers per transaction stay in memory. Does not know which log is large.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from troubadour.formats.convert import Texts, outline_of, transaction_of
from troubadour.formats.entries import RawTransaction, decode_again, status_again
from troubadour.formats.order import Times, hint_order
from troubadour.model.log import Outline, Transaction, TransactionId
from troubadour.model.objects import MISSING

_UNWRITTEN = 1 << 20
_STATUSES = {"committed": 0, "aborted": 1, "unknown": 2}
_DROPPED = 3


class Spill:
    """Lines in a temporary file, which vanishes with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the log does
        weakref.finalize(self, self._file.close)
        self._start = array("q", [0])
        self._end = 0
        self._written = 0
        self._waiting: list[bytes] = []

    def append(self, line: bytes) -> None:
        """Keep a line; its number is the count of those before it. Raises OSError where the disk is full."""
        self._waiting.append(line)
        self._end += len(line)
        self._start.append(self._end)
        if self._end - self._written > _UNWRITTEN:
            self.flush()

    def flush(self) -> None:
        """Make every line readable."""
        data = memoryview(b"".join(self._waiting))
        while data:
            data = data[self._file.write(data) :]
        self._waiting.clear()
        self._written = self._end

    def read(self, number: int) -> bytes:
        """A line, after `flush`. Two threads or processes may read at once: no file position is used."""
        start, end = self._start[number], self._start[number + 1]
        return os.pread(self._file.fileno(), end - start, start)


class SpilledTransactions(Sequence[Transaction]):
    """Transactions in an order, the first few in memory, the others decoded on each access."""

    def __init__(
        self, order: array[int], kept: list[Transaction], spill: Spill, clocks: list[str | None], clock: array[int]
    ) -> None:
        self._order = order
        self._kept = kept
        self._spill = spill
        self._clocks = clocks
        self._clock = clock
        self._texts: Texts = {}

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Transaction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Transaction]: ...
    def __getitem__(self, index: int | slice) -> Transaction | Sequence[Transaction]:
        if isinstance(index, slice):
            return SpilledTransactions(self._order[index], self._kept, self._spill, self._clocks, self._clock)
        return self._at(self._order[index])

    def __iter__(self) -> Iterator[Transaction]:
        return map(self._at, self._order)

    def statuses(self) -> Iterator[tuple[TransactionId, str]]:
        """The id and the status of each."""
        kept = len(self._kept)
        for place in self._order:
            if place < kept:
                yield self._kept[place].id, self._kept[place].status
            else:
                yield status_again(self._spill.read(place - kept))

    def outlines(self, first: int) -> Iterator[Outline | Transaction]:
        """When each ran, from the one at place `first` on."""
        kept = len(self._kept)
        for place in self._order[first:]:
            if place < kept:
                yield self._kept[place]
            else:
                yield outline_of(self._spill.read(place - kept), self._clocks[self._clock[place]])

    def _at(self, place: int) -> Transaction:
        kept = len(self._kept)
        if place < kept:
            return self._kept[place]
        raw = decode_again(self._spill.read(place - kept))
        return transaction_of(raw, place, self._clocks[self._clock[place]], self._texts)


class Store:
    """All transaction lines and intents read so far, by place."""

    def __init__(self) -> None:
        self.kept: list[Transaction] = []
        self.spill: Spill | None = None
        self._status = bytearray()
        self._times = Times(*(array("q") for _ in range(6)))
        self._clocks: list[str | None] = []
        self._numbers: dict[str | None, int] = {}
        self._sessions: dict[str, int] = {}
        """Numbers of the sessions whose transactions are numbered."""

    def __len__(self) -> int:
        return len(self._status)

    def spill_from_now(self) -> None:
        """Further lines go to a file. Raises OSError where none can be made."""
        if self.spill is None:
            self.spill = Spill()

    def append(self, transaction: Transaction, line: bytes) -> None:
        """Take the transaction whose place is `len(self)`, read from `line`."""
        if self.spill is None:
            self.kept.append(transaction)
        else:
            self.spill.append(line)
        clock = self._numbers.get(transaction.clock)
        if clock is None:
            clock = self._numbers[transaction.clock] = len(self._clocks)
            self._clocks.append(transaction.clock)
        commit, returned, sent = transaction.commit, transaction.returned, transaction.invoked
        if transaction.status == "aborted":
            sent = returned = _last_answer(transaction)
        elif sent is None or commit is None:
            sent = _sent(transaction)
        times = self._times
        times.commit.append(MISSING if commit is None else commit)
        times.returned.append(MISSING if returned is None else returned)
        times.sent.append(MISSING if sent is None else sent)
        times.clock.append(clock)
        session, number = transaction.session, transaction.sno
        if session is None or number is None:
            times.session.append(MISSING)
            times.number.append(MISSING)
        else:
            times.session.append(self._sessions.setdefault(session, len(self._sessions)))
            times.number.append(number)
        self._status.append(_STATUSES[transaction.status])

    def at(self, place: int) -> RawTransaction | Transaction:
        """One that was taken before."""
        if place < len(self.kept):
            return self.kept[place]
        assert self.spill is not None
        self.spill.flush()
        return decode_again(self.spill.read(place - len(self.kept)))

    def drop(self, place: int, instead: Transaction | None) -> None:
        """Forget an intent, as a transaction line (`instead`, where it was read after the intent) replaces it."""
        self._status[place] = _DROPPED
        if instead is not None and place < len(self.kept):
            self.kept[place] = instead

    def order(self) -> array[int]:
        """The places in hint order, without what was dropped."""
        alive: Sequence[int] = range(len(self))
        if _DROPPED in self._status:
            alive = [place for place in alive if self._status[place] != _DROPPED]
        return hint_order(self._times, alive)

    def finish(self) -> tuple[Sequence[Transaction], tuple[int, int, int]]:
        """The transactions in hint order, and how many are committed, aborted and unknown."""
        committed, aborted, unknown = (self._status.count(number) for number in range(3))
        order = self.order()
        sequence: Sequence[Transaction]
        if self.spill is None:
            sequence = tuple(map(self.kept.__getitem__, order))
        else:
            self.spill.flush()
            clock = array("q", self._times.clock)
            sequence = SpilledTransactions(order, self.kept, self.spill, self._clocks, clock)
        return sequence, (committed, aborted, unknown)


def _sent(transaction: Transaction) -> int | None:
    """See `Times.sent`; the best that is known where the client did not note it."""
    if transaction.commit is None:
        if transaction.end is not None and transaction.end.invoked is not None:
            return transaction.end.invoked
        for statement in reversed(transaction.statements):
            if statement.returned is not None:
                return statement.returned
            if statement.invoked is not None:
                return statement.invoked
    if transaction.invoked is not None:
        return transaction.invoked
    for statement in transaction.statements:
        if statement.invoked is not None:
            return statement.invoked
    return transaction.returned


def _last_answer(transaction: Transaction) -> int | None:
    """When the last statement was answered that came about in an aborted transaction: what it saw and locked was so
    then, and from the next statement on it may have been over."""
    for statement in reversed(transaction.statements):
        if statement.error is None and statement.returned is not None:
            return statement.returned
    return transaction.invoked
