"""Many transaction ids, or their hashes, in few bytes each: texts one after another, and a table of places by hash.
Does not know the transactions."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import overload

from troubadour.model.log import TransactionId

_LEAST = 1 << 10


class Ids(Sequence[TransactionId]):
    """Ids in the order in which they were appended."""

    __slots__ = ("_ends", "_texts")

    def __init__(self) -> None:
        self._texts = bytearray()
        self._ends = array("q", [0])

    def append(self, id: TransactionId) -> None:
        """Take the next one."""
        self._texts += _text(id)
        self._ends.append(len(self._texts))

    def text(self, place: int) -> bytearray:
        """What is kept of the one at a place, from 0."""
        return self._texts[self._ends[place] : self._ends[place + 1]]

    def truncate(self, length: int) -> None:
        """Keep the first `length`."""
        del self._ends[length + 1 :], self._texts[self._ends[length] :]

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> TransactionId: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TransactionId]: ...
    def __getitem__(self, index: int | slice) -> TransactionId | Sequence[TransactionId]:
        places = range(len(self))[index]
        return _id(self.text(places)) if isinstance(places, int) else [_id(self.text(one)) for one in places]

    def copy(self) -> Ids:
        """An independent copy."""
        twin = Ids()
        twin._texts, twin._ends = self._texts[:], self._ends[:]
        return twin


class Places(Mapping[TransactionId, int]):
    """The place of each id among those that were added, from 0."""

    __slots__ = ("_slots", "ids")

    def __init__(self) -> None:
        self.ids = Ids()
        self._slots = array("q", [0]) * _LEAST
        """Place + 1 by hash, or 0; collisions go to the next free one. A third of them is free at least."""

    def add(self, id: TransactionId) -> bool:
        """Give an id the next place; False where it has one."""
        slot = self._slot(id)
        if self._slots[slot]:
            return False
        self.ids.append(id)
        self._slots[slot] = len(self.ids)
        if 3 * len(self.ids) > 2 * len(self._slots):
            self._widen()
        return True

    def _slot(self, id: TransactionId) -> int:
        slots, text = self._slots, _text(id)
        mask = len(slots) - 1
        slot = hash(text) & mask
        while slots[slot] and self.ids.text(slots[slot] - 1) != text:
            slot = (slot + 1) & mask
        return slot

    def _widen(self) -> None:
        mask = 2 * len(self._slots) - 1
        self._slots = slots = array("q", [0]) * (mask + 1)
        for place in range(len(self.ids)):
            slot = hash(bytes(self.ids.text(place))) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = place + 1

    def __getitem__(self, id: TransactionId) -> int:
        place = self._slots[self._slot(id)]
        if not place:
            raise KeyError(id)
        return place - 1

    def get(self, id: TransactionId, default: int | None = None) -> int | None:  # type: ignore[override]
        """The place of an id, else the default."""
        place = self._slots[self._slot(id)]
        return place - 1 if place else default

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and self._slots[self._slot(id)] != 0

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[TransactionId]:
        return iter(self.ids)


class Hashes:
    """A set of hashes, eight bytes a slot, a third of them free at least."""

    __slots__ = ("_count", "_slots")

    def __init__(self) -> None:
        self._slots = array("q", [0]) * _LEAST
        self._count = 0

    def add(self, hashed: int) -> bool:
        """Take one; False where it is there already."""
        hashed = hashed or -1  # 0 is a free slot, and no hash is -1
        slots = self._slots
        mask = len(slots) - 1
        slot = _spread(hashed) & mask
        while slots[slot]:
            if slots[slot] == hashed:
                return False
            slot = (slot + 1) & mask
        slots[slot] = hashed
        self._count += 1
        if 3 * self._count > 2 * len(slots):
            self._widen()
        return True

    def _widen(self) -> None:
        mask = 2 * len(self._slots) - 1
        slots = array("q", [0]) * (mask + 1)
        for hashed in self._slots:
            if hashed:
                slot = _spread(hashed) & mask
                while slots[slot]:
                    slot = (slot + 1) & mask
                slots[slot] = hashed
        self._slots = slots


class Chosen(Sequence[TransactionId]):
    """Some of the ids that have places, in an order of their own, as a witness names them. `at`: the id at a place."""

    __slots__ = ("_at", "_places")

    def __init__(self, at: Callable[[int], TransactionId], places: Sequence[int]) -> None:
        self._at, self._places = at, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> TransactionId: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TransactionId]: ...
    def __getitem__(self, index: int | slice) -> TransactionId | Sequence[TransactionId]:
        if isinstance(index, slice):
            return Chosen(self._at, self._places[index])
        return self._at(self._places[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]


def _spread(hashed: int) -> int:
    """So that numbers at regular distances do not share a slot, as hashes of integers are these."""
    return (hashed ^ hashed >> 31) * 0x9E3779B97F4A7C15 >> 24


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _text(id: TransactionId) -> bytes:
    return b"s" + id.encode("utf-8", "surrogatepass") if isinstance(id, str) else b"%d" % id


def _id(text: bytes | bytearray) -> TransactionId:
    return text[1:].decode("utf-8", "surrogatepass") if text.startswith(b"s") else int(text)
