"""Whether reads of sets show what their views have. An added element is there for everybody who sees one of those that
added it, and for its own transaction from then on; it never goes. Does not know levels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from troubadour.formats.objects.expand import text_of
from troubadour.model.objects import READ, UNREAD, ObjectLog
from troubadour.replay.objects.contents import ranges
from troubadour.replay.objects.places import Ints, column
from troubadour.replay.objects.versions import Cells, Operations

Rows = Mapping[str, int]
"""States of single rows read, by the row's name in a witness."""


class Sets:
    """The sets of a log, with the transactions of an order that added to them."""

    def __init__(self, log: ObjectLog, cells: Cells, operations: Operations, order: Ints) -> None:
        """`operations`: those on sets; `order`: the places of the transactions."""
        self._log, self._cells, self._operations, self._order = log, cells, operations, order
        # keys of pairs are made of these
        self._position, self._cell = operations.position.astype(np.int64), operations.cell.astype(np.int64)
        self._first = column(log.sequences.first)
        self._items = column(log.sequences.items)
        self._adds = operations.kind != READ
        initial_cell: list[int] = []
        initial_item: list[int] = []
        for cell in np.unique(operations.cell).tolist():
            found = log.objects[int(cells.subject[cell])].initial(int(cells.key[cell]))
            items = dict.fromkeys(log.sequences.at(found))
            initial_cell += [cell] * len(items)
            initial_item += items
        chosen = np.flatnonzero(self._adds)
        reads = np.flatnonzero(~self._adds & (operations.value != UNREAD))
        told = operations.value[reads]
        self._shown = self._first[told + 1] - self._first[told]
        shown = self._items[ranges(self._first[told], self._shown)]
        # an element is a number: of its cell and its value
        cell = np.concatenate(
            (np.array(initial_cell, np.int64), self._cell[chosen], np.repeat(self._cell[reads], self._shown))
        )
        item = np.concatenate((np.array(initial_item, np.int64), operations.value[chosen], shown))
        values, numbered = np.unique(item, return_inverse=True)
        pairs, element = np.unique(cell * max(1, len(values)) + numbered, return_inverse=True)
        self._count = len(pairs)
        self._element_cell = pairs // max(1, len(values))
        self._initial = element[: len(initial_cell)]
        self._added = element[len(initial_cell) : len(initial_cell) + len(chosen)]
        self._told = element[len(initial_cell) + len(chosen) :]
        self._chosen, self._reads, self._reads_at = chosen, reads, operations.position[reads]
        order = np.argsort(self._cell[chosen], kind="stable")
        self._by_cell, self._cells_added = chosen[order], self._cell[chosen[order]]

    def wrong(self, state: Ints, apart: Collection[int]) -> Ints:
        """The positions of reads whose answers are not what states have and their own transactions added; `state` by
        operation. Positions `apart` are left out."""
        operations, count = self._operations, self._count
        never = np.int64(2**62)
        first = np.full(count, never)
        np.minimum.at(first, self._added, operations.position[self._chosen])
        first[self._initial] = 0
        # own elements, each by its first add in the transaction: (position, element) -> place in `operations`
        keys = self._position[self._chosen] * (count + 1) + self._added
        own_keys, own_at = np.unique(keys, return_index=True)
        own_place = self._chosen[own_at]
        new = np.zeros(len(operations.kind) + 1, np.int64)
        of = self._added[own_at]
        new[own_place + 1] = first[of] > state[own_place]
        fresh = np.cumsum(new)
        here = np.arange(len(operations.kind))
        starts = here[operations.begins][np.cumsum(operations.begins) - 1] if len(here) else here
        reads = self._reads
        # how many elements of a cell a state has
        width = int(operations.position.max(initial=0)) + 2
        there = np.sort(self._element_cell * width + np.minimum(first, width - 1))
        lowest = np.searchsorted(there, self._cell[reads] * width)
        seen = (
            np.searchsorted(there, self._cell[reads] * width + np.minimum(state[reads], width - 2), side="right")
            - lowest
        )
        expected = seen + fresh[reads] - fresh[starts[reads]]
        wrong = self._shown != expected
        # which elements were told that it does not have, or twice
        owner = np.repeat(np.arange(len(reads)), self._shown)
        by_state = first[self._told] <= state[reads[owner]]
        if len(own_keys):
            asked = self._position[reads[owner]] * (count + 1) + self._told
            at = np.minimum(np.searchsorted(own_keys, asked), len(own_keys) - 1)
            by_itself = (own_keys[at] == asked) & (own_place[at] < reads[owner])
        else:
            by_itself = np.zeros(len(owner), np.bool_)
        wrong[owner[~(by_state | by_itself)]] = True
        both = np.sort(owner * (count + 1) + self._told)
        twice = both[1:][both[1:] == both[:-1]] // (count + 1)
        wrong[twice] = True
        found: Ints = operations.position[reads[wrong]]
        return found[~np.isin(found, np.array(sorted(apart), np.int64))] if apart else found

    def misreads(
        self, position: int, state: int, unseen: Collection[int], rows: Mapping[int, Rows], late: Collection[int]
    ) -> bool:
        """Whether a read of a transaction does not show what a state has without the `unseen` and the `late`; `rows`
        are states of single rows, by the number of the operation, of which none may be a version of the `late`."""
        operations = self._operations
        begin, end = np.searchsorted(self._reads_at, (position, position + 1))
        for read in self._reads[begin:end].tolist():
            told, number = int(operations.value[read]), int(operations.number[read])
            shown = self._items[self._first[told] : self._first[told + 1]].tolist()
            seen = self._visible(read, state, unseen, rows.get(number, {}), late)
            if seen is None or len(shown) != len(set(shown)) or set(shown) != seen:
                return True
        return False

    def _visible(
        self, read: int, state: int, unseen: Collection[int], listed: Rows, late: Collection[int]
    ) -> set[int] | None:
        operations = self._operations
        cell, position, number = (int(one[read]) for one in (operations.cell, operations.position, operations.number))
        definition = self._log.objects[int(self._cells.subject[cell])]
        seen = set(self._log.sequences.at(definition.initial(int(self._cells.key[cell]))))
        begin, end = np.searchsorted(self._cells_added, (cell, cell + 1))
        for add in self._by_cell[begin:end].tolist():
            by, item = int(operations.position[add]), int(operations.value[add])
            if by == position:
                if int(operations.number[add]) < number:
                    seen.add(item)
                continue
            at = listed.get(f"{definition.name}:{self._author(by)}:{self._ordinal(add)}", -1) if listed else -1
            if at >= 0 and by <= at:
                if by in late:
                    return None
                seen.add(item)
            elif at < 0 and by <= state and by not in unseen and by not in late:
                seen.add(item)
        return seen

    def _author(self, position: int) -> str:
        return text_of(self._log.ids[int(self._order[position - 1])])

    def _ordinal(self, add: int) -> int:
        """Which of the rows that its transaction adds to its object an add is."""
        operations, subject = self._operations, self._cells.subject
        mine = self._adds & (operations.position == operations.position[add])
        mine &= subject[operations.cell] == subject[operations.cell[add]]
        return int((operations.number[mine] < operations.number[add]).sum())
