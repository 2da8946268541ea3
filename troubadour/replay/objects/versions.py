"""The versions that an order of transactions makes of each key, and which of them a view has.

A *cell* is a key of an object. Its versions are its initial one, at position 0, and one for each transaction that
changes it, at that one's position. Does not know levels, nor which answers the log has.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from troubadour.model.objects import READ, ObjectLog
from troubadour.replay.objects.places import Flags, Ints, Small, Whole, column

_KEY_BITS = 62


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of the transactions in an order, those of one transaction on one cell beside one another.

    Sorted by position, then cell, then program order; `group` numbers these runs. `index` is an operation's position in
    the log's columns, `number` its place in its transaction, from 0.
    """

    position: Whole
    cell: Whole
    kind: Small
    value: Ints
    index: Ints
    number: Whole
    group: Whole
    begins: Flags


@dataclass(frozen=True, slots=True)
class Cells:
    """Which cell each operation of the log is on: `of` by position in its columns. `subject` and `key` by cell. Where
    these are some of all cells, each is numbered by what `of` has for it, divided by `stride`."""

    of: Whole
    subject: Ints
    key: Ints
    stride: int = 1

    def at(self, chosen: Ints) -> Whole:
        """The cells of some operations."""
        return self.of[chosen] if self.stride == 1 else self.of[chosen] // np.int32(self.stride)

    def part(self, number: int, count: int) -> Cells:
        """Every `count`-th cell from `number` on."""
        return Cells(self.of, self.subject[number::count], self.key[number::count], count)

    def parts(self, chosen: Ints | None, count: int) -> list[Ints]:
        """For each such part which operations are on its cells, of those `chosen` (ascending; None: all)."""
        numbers = (self.of % np.int32(count)).astype(np.uint8)
        if chosen is not None:
            numbers = numbers[chosen]
        # of small numbers a stable sort takes one look at each
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=count))
        return np.split(order if chosen is None else chosen[order], ends[:-1])


def cells_of(log: ObjectLog) -> Cells:
    """Number the cells."""
    subjects, keys = np.frombuffer(log.subjects, np.uint16), column(log.keys)
    if not len(keys):
        return Cells(keys.astype(np.int32), keys, keys)
    least, greatest = int(keys.min()), int(keys.max())
    width = greatest - least + 1
    if width <= 2 * len(keys) + 1000:
        numbered, values = keys - least, None
    else:
        values, numbered = np.unique(keys, return_inverse=True)
        width = len(values)
    both = subjects.astype(np.int64) * width + numbered if len(log.objects) > 1 else numbered
    there = np.zeros(int(both.max()) + 1, np.bool_)
    there[both] = True
    pairs = np.flatnonzero(there)
    dense = np.cumsum(there, dtype=np.int32) - 1
    subject, key = np.divmod(pairs, width)
    return Cells(dense[both], subject, key + least if values is None else values[key])


def operations_of(log: ObjectLog, cells: Cells, places: Ints, position_of: Whole, chosen: Ints) -> Operations:
    """The operations `chosen` (positions in the log's columns, ascending), in the order of the transactions at
    `places`. `position_of` tells the position of each operation's transaction, 0 for none: these are left out.

    Raises Unsupported where they are too many to be numbered.
    """
    first = column(log.first)
    chosen = chosen[position_of[chosen] > 0]
    total, longest = len(chosen), int((first[1:] - first[:-1]).max(initial=0))
    by_cell, by_number = max(1, len(cells.key).bit_length()), max(1, longest.bit_length())
    if by_cell + by_number + len(places).bit_length() > _KEY_BITS:
        raise Unsupported("a log of so many operations, in columns")
    # one number for position, cell and place in the transaction: sorted by it, they are sorted by all three
    keys = position_of[chosen].astype(np.int64)
    number = chosen - first[places[keys - 1]]
    keys <<= by_cell
    keys |= cells.at(chosen)
    keys <<= by_number
    keys |= number
    del number, chosen
    keys.sort()
    number = keys & ((1 << by_number) - 1)
    keys >>= by_number
    begins = np.ones(total, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    position = (keys >> by_cell).astype(np.int32)
    keys &= (1 << by_cell) - 1
    index = first[places[position - 1]] + number
    return Operations(
        position=position,
        cell=keys.astype(np.int32),
        kind=np.frombuffer(log.kinds, np.uint8)[index],
        value=column(log.values)[index],
        index=index,
        number=number.astype(np.int32),
        group=np.cumsum(begins, dtype=np.int32) - 1,
        begins=begins,
    )


def last_change(operations: Operations) -> tuple[Whole, Whole]:
    """Of each operation the change before it and the first change, of its transaction on its cell: their indices in
    `operations`, -1 for none before it. The first one is given where one is before it, else the operation itself."""
    count = len(operations.kind)
    here = np.arange(count, dtype=np.int32)
    if not count:
        return here, here
    changes = operations.kind != READ
    starts = here[operations.begins][operations.group]
    before = np.full(count, -1, np.int32)
    np.maximum.accumulate(np.where(changes, here, np.int32(-1))[:-1], out=before[1:])
    before[before < starts] = -1
    has = before >= 0
    following = np.minimum.accumulate(np.where(changes, here, np.int32(count))[::-1])[::-1]
    first = here.copy()
    first[has] = following[starts[has]]
    return before, first


class Versions:
    """Versions of cells, sorted by cell and position; version n of them made `cell[n]` at `position[n]`."""

    def __init__(self, cells: int, cell: Whole, position: Whole) -> None:
        """`cell` and `position`: those that transactions made, each pair once."""
        self._width = int(position.max()) + 2 if len(position) else 2
        keys = cell.astype(np.int64) * self._width + position
        order = np.argsort(keys)
        made = keys[order]
        firsts = np.arange(cells) * self._width
        places = np.searchsorted(made, firsts) + np.arange(cells)
        self.initial = places
        """The initial version of each cell."""
        total = cells + len(made)
        is_initial = np.zeros(total, np.bool_)
        is_initial[places] = True
        self._keys = np.empty(total, np.int64)
        self._keys[is_initial] = firsts
        self._keys[~is_initial] = made
        self.cell, self.position = np.divmod(self._keys, self._width)
        self.made = np.empty(len(made), np.int64)
        """The version that each of the pairs is."""
        self.made[order] = np.flatnonzero(~is_initial)

    def __len__(self) -> int:
        return len(self.cell)

    def seen(self, cell: Whole, state: Ints) -> Ints:
        """The version of each cell that a state has."""
        keys = cell.astype(np.int64) * self._width + np.minimum(state, self._width - 1)
        order = np.argsort(keys)
        found = np.empty(len(keys), np.int64)
        found[order] = np.searchsorted(self._keys, keys[order], side="right") - 1
        return found

    def skipping(self, found: Ints, reader: Whole, hidden: tuple[Ints, Ints]) -> Ints:
        """Instead of versions that readers (positions) do not see, the next older ones. `hidden`: positions of readers,
        and of what each does not see."""
        if not len(hidden[0]):
            return found
        width = np.int64(1 + max(int(one.max(initial=0)) for one in (*hidden, self.position)))
        unseen = np.unique(hidden[0] * width + hidden[1])
        found = found.copy()
        open_ = np.flatnonzero(np.isin(reader, hidden[0]))
        while len(open_):
            keys = reader[open_].astype(np.int64) * width + self.position[found[open_]]
            at = np.searchsorted(unseen, keys)
            open_ = open_[unseen[np.minimum(at, len(unseen) - 1)] == keys]
            found[open_] -= 1
        return found

    def seen_without(self, cell: int, state: int, unseen: Collection[int]) -> int:
        """The version of a cell that a state has, but for those that the `unseen` positions made."""
        found = int(np.searchsorted(self._keys, cell * self._width + min(state, self._width - 1), side="right")) - 1
        while int(self.position[found]) in unseen:
            found -= 1
        return found
