"""The transactions that a stream has read, read once more from where they stand: a log of which little is held.

Does not know why they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from troubadour.formats.convert import Texts, outline_of, transaction_of
from troubadour.formats.entries import BadEntry, RawTransaction, read_transaction, status_again
from troubadour.formats.streaming.places import Places
from troubadour.formats.streaming.stream import Stream, Unstreamed
from troubadour.model.log import Log, LogError, Observed, Outline, Transaction, TransactionId


def log_at(
    places: Places,
    stream: Stream,
    counts: tuple[int, int, int],
    texts: frozenset[str],
    observed: Observed,
    *,
    kept: bool,
) -> Log:
    """The log that a stream has read to its end; `kept`: what is decoded once is held. Raises Unstreamed where its
    hint order is another one, for what is known."""
    if not stream.ascent.certain or stream.ascent.skipped:
        raise Unstreamed("an order that the whole log tells")
    transactions = Reread(places, stream.header.clock, kept=kept)
    return Log(stream.header, transactions, stream.digest, counts, texts=texts, observed=observed)


class Reread(Sequence[Transaction]):
    """The transactions at some places, decoded on each access, or once where they are `kept`."""

    def __init__(self, places: Places, clock: str | None, *, kept: bool, numbers: range | None = None) -> None:
        """`clock`: that of transactions which name none."""
        self._places = places
        self._clock = clock
        self._numbers = range(len(places)) if numbers is None else numbers
        self._kept: dict[int, Transaction] | None = {} if kept else None
        self._texts: Texts = {}
        places.flush()

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Transaction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Transaction]: ...
    def __getitem__(self, index: int | slice) -> Transaction | Sequence[Transaction]:
        if isinstance(index, slice):
            found = Reread(self._places, self._clock, kept=False, numbers=self._numbers[index])
            found._kept, found._texts = self._kept, self._texts
            return found
        number = self._numbers[index]
        if self._kept is not None and number in self._kept:
            return self._kept[number]
        return next(self._found(range(number, number + 1)))

    def __iter__(self) -> Iterator[Transaction]:
        kept, first = self._kept, 0
        while kept is not None and first < len(self._numbers) and self._numbers[first] in kept:
            yield kept[self._numbers[first]]
            first += 1
        yield from self._found(self._numbers[first:])

    def statuses(self) -> Iterator[tuple[TransactionId, str]]:
        """The id and the status of each."""
        for line, _ in self._places.lines(self._numbers):
            try:
                yield status_again(line)
            except BadEntry as error:
                raise _changed(error) from error

    def outlines(self, first: int) -> Iterator[Outline]:
        """When each ran, from the one at place `first` on."""
        for line, _ in self._places.lines(self._numbers[first:]):
            try:
                yield outline_of(line, self._clock)
            except BadEntry as error:
                raise _changed(error) from error

    def _found(self, numbers: range) -> Iterator[Transaction]:
        for number, (line, entry) in zip(numbers, self._places.lines(numbers), strict=True):
            try:
                raw = read_transaction(line)
                if not isinstance(raw, RawTransaction):
                    raise BadEntry("a line that is no transaction")
                one = transaction_of(raw, entry, self._clock, self._texts)
            except BadEntry as error:
                raise _changed(error) from error
            if self._kept is not None:
                self._kept[number] = one
            yield one


def _changed(error: Exception) -> LogError:
    return LogError(f"the log was changed while it was audited: {error}")
