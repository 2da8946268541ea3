"""The ids of the transactions that a stream has settled: in a file, as each is asked for once more at most.

Does not know the transactions.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import lt
from pathlib import Path
from typing import BinaryIO, overload

import msgspec

from troubadour.model.log import TransactionId

_BUCKETS = 64
_WAITING = 1 << 17
"""Hashes that wait in memory."""

_Batch = tuple[list[TransactionId], list[TransactionId]]
"""Ids of transactions that are judged, and of others."""
_decoder: msgspec.json.Decoder[_Batch] = msgspec.json.Decoder(_Batch)
_decode = _decoder.decode


class Settled:
    """Ids in the order in which they were settled, those of transactions that are judged apart from others; in a file
    of the user's, or one that vanishes with this object."""

    def __init__(self, path: Path | None = None, size: int = 0) -> None:
        """Go on behind the first `size` bytes of the file. Raises OSError, and ValueError where these are none of
        ours."""
        self._file: BinaryIO
        if path is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this
        else:
            self._file = path.open("r+b" if size else "w+b")
        weakref.finalize(self, self._file.close)
        self._starts, self._counts = array("q"), array("q", [0])
        """Of each batch, where it begins, and how many judged ones are before it."""
        self._ascends, self._last = True, -(1 << 63)
        self.size = self.total = 0
        if self._file.seek(0, 2) < size:
            raise ValueError(f"{path} is shorter than it was")
        self._file.truncate(size)
        self._file.seek(0)
        for line in self._file:
            self._note(_decode(line))
            self.size += len(line)

    def add(self, judged: list[TransactionId], others: list[TransactionId]) -> None:
        """Take some more. Raises OSError."""
        if judged or others:
            self._note((judged, others))
            self.size += self._file.write(msgspec.json.encode((judged, others)) + b"\n")

    def _note(self, batch: _Batch) -> None:
        judged, others = batch
        self.total += len(judged) + len(others)
        self._starts.append(self.size)
        self._counts.append(self._counts[-1] + len(judged))
        if self._ascends:
            ids = [self._last, *judged, *others]
            self._ascends = set(map(type, ids)) == {int} and all(map(lt, ids, islice(ids, 1, None)))
            self._last = ids[-1]  # type: ignore[assignment]

    def flush(self, *, durably: bool = False) -> None:
        """Let the file have them all, and the disk, where that is asked. Raises OSError."""
        self._file.flush()
        if durably:
            os.fsync(self._file.fileno())

    def may_repeat(self) -> bool:
        """Whether an id may be there twice; now and then where none is."""
        return not self._ascends and _may_repeat(map(hash, chain.from_iterable(chain.from_iterable(self._batches()))))

    def _batches(self) -> Iterator[_Batch]:
        self._file.seek(0)
        return map(_decode, self._file)

    def batch(self, number: int) -> list[TransactionId]:
        """The judged ones of a batch."""
        self._file.seek(self._starts[number])
        judged, _ = _decode(self._file.readline())
        return judged

    def judged(self) -> Judged:
        """Those of judged transactions until now."""
        return Judged(self, self._counts[:])


class Judged(Sequence[TransactionId]):
    """The ids of judged transactions, read when they are asked for, best one after the other."""

    def __init__(self, settled: Settled, counts: array[int]) -> None:
        self._settled, self._counts = settled, counts
        self._number, self._batch = -1, list[TransactionId]()

    def __len__(self) -> int:
        return self._counts[-1]

    @overload
    def __getitem__(self, index: int) -> TransactionId: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TransactionId]: ...
    def __getitem__(self, index: int | slice) -> TransactionId | Sequence[TransactionId]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(len(self))[index]]
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[TransactionId]:
        for number in range(len(self._counts) - 1):
            yield from self._settled.batch(number)

    def _at(self, place: int) -> TransactionId:
        number = bisect_right(self._counts, place) - 1
        if number != self._number:
            self._number, self._batch = number, self._settled.batch(number)
        return self._batch[place - self._counts[number]]


def _may_repeat(hashes: Iterable[int]) -> bool:
    """Whether one of many numbers comes twice; in little memory, as they are spread over a file first."""
    first = [*islice(hashes := iter(hashes), _WAITING)]
    if len(first) < _WAITING:
        return len(set(first)) < len(first)
    with tempfile.TemporaryFile() as file:
        written: list[list[tuple[int, int]]] = [[] for _ in range(_BUCKETS)]
        while first:
            waiting = [array("q") for _ in range(_BUCKETS)]
            for one in first:
                waiting[one % _BUCKETS].append(one)
            for places, bucket in zip(written, waiting, strict=True):
                places.append((file.tell(), file.write(bucket.tobytes())))
            first = [*islice(hashes, _WAITING)]
        for places in written:
            bucket = array("q")
            for start, size in places:
                file.seek(start)
                bucket.frombytes(file.read(size))
            if len(set(bucket)) < len(bucket):
                return True
    return False
