"""What each version of a register, a counter or a list holds, and whether answers are what their views give.

A register's version is what was written last; a counter's and a list's are the version that its writer saw and what
that one added. Does not know levels, nor why a view is what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from troubadour.model.objects import LEAST_TEXT, NOTHING, READ, UNREAD, ObjectLog
from troubadour.replay.objects.places import Flags, Ints, Whole, column
from troubadour.replay.objects.versions import Cells, Operations, Versions

Content = int | tuple[int, ...]
"""A register's code, a counter's number, a list's codes."""


class Given:
    """An order's operations and versions, as far as they are not on sets.

    `before` is the last change before each operation, -1 for none (`last_change`). `base` is the version that an
    operation is about: the one that its transaction's first change of the cell saw, or, where there is none before it,
    the one that it sees itself. `version` is the one that its transaction makes of the cell, -1 for none. `parent[v]`
    is the version that the writer of version v saw, v itself where no transaction made it.
    """

    def __init__(
        self,
        log: ObjectLog,
        cells: Cells,
        operations: Operations,
        versions: Versions,
        before: Whole,
        base: Ints,
        parent: Ints,
        version: Ints,
    ) -> None:
        self.log, self.cells, self.operations, self.versions = log, cells, operations, versions
        self.before, self.base, self.parent, self.version = before, base, parent, version
        types = np.array([_TYPES[one.type] for one in log.objects], np.uint8)
        self.type = types[cells.subject]
        """Of each cell."""
        self.type_of = self.type[operations.cell]
        self.changes = operations.kind != READ
        self.initial = np.empty(len(cells.key), np.int64)
        """Codes of what the cells hold at first."""
        for number, definition in enumerate(log.objects):
            mine = np.flatnonzero(cells.subject == number)
            self.initial[mine] = definition.default
            for at in mine[np.isin(cells.key[mine], np.array([*definition.rows], np.int64))].tolist():
                self.initial[at] = definition.rows[int(cells.key[at])]

    def on(self, kind: int) -> Ints:
        """The operations on objects of a type."""
        return np.flatnonzero(self.type_of == kind)

    def reads(self, kind: int) -> Ints:
        """The reads of objects of a type whose answers are known."""
        return np.flatnonzero((self.type_of == kind) & ~self.changes & (self.operations.value != UNREAD))

    def starts(self, chosen: Ints) -> Ints:
        """For whole runs of operations (of one transaction on one cell): where in `chosen` each one's run begins."""
        begins = self.operations.begins[chosen]
        found: Ints = np.flatnonzero(begins)[np.cumsum(begins) - 1]
        return found


class Contents:
    """What the versions hold."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._codes = self._written()
        self._numbers = self._counted()
        self._lists = _Lists(given)

    # registers

    def _written(self) -> Ints:
        given = self._given
        codes = np.full(len(given.versions), NOTHING, np.int64)
        codes[given.versions.initial] = given.initial
        chosen = np.flatnonzero((given.type_of == _REGISTER) & given.changes)
        # later ones of a transaction overwrite earlier ones
        codes[given.version[chosen]] = given.operations.value[chosen]
        return codes

    def wrong_registers(self) -> Ints:
        """The reads of registers whose answers are not what they see."""
        given = self._given
        values, chosen = given.operations.value, given.reads(_REGISTER)
        before = given.before[chosen]
        own, seen = values[np.maximum(before, 0)], self._codes[given.base[chosen]]
        wrong: Ints = chosen[values[chosen] != np.where(before >= 0, own, seen)]
        return wrong

    # counters

    def _counted(self) -> Any:
        """What each version of a counter holds, 0 for others; `_own` is what each operation's transaction had added to
        its counter before it."""
        given = self._given
        chosen, versions = given.on(_COUNTER), given.versions
        cells = np.flatnonzero(given.type == _COUNTER)
        values, start = (self._integers(one) for one in (given.operations.value[chosen], given.initial[cells]))
        deltas = np.where(given.changes[chosen], values, 0)
        if object in (values.dtype, start.dtype) or _may_overflow(deltas, start):
            deltas, start = deltas.astype(object), start.astype(object)
        numbers = np.zeros(len(versions), deltas.dtype)
        total = np.cumsum(deltas) - deltas
        self._own = total - total[given.starts(chosen)]
        adds = given.changes[chosen]
        np.add.at(numbers, given.version[chosen[adds]], deltas[adds])
        numbers[versions.initial[cells]] = start
        self._add_up(numbers, given.type[versions.cell] == _COUNTER)
        return numbers

    def _add_up(self, numbers: Any, counted: Flags) -> None:
        """Each version is what its writer saw and what that one added: sums along the way to the initial one, of which
        each round goes twice as far."""
        ancestor, done = self._given.parent.copy(), np.zeros(len(numbers), np.bool_)
        done[self._given.versions.initial] = True
        open_ = np.flatnonzero(counted & ~done)
        while len(open_):
            up = ancestor[open_]
            grown, further, over = numbers[open_] + numbers[up], ancestor[up], done[up]
            numbers[open_], ancestor[open_] = grown, further
            done[open_] = over
            open_ = open_[~over]

    def _integers(self, codes: Ints) -> Any:
        """The integers that codes stand for: small ones as they are, else all as Python's."""
        if len(codes) and (codes >= LEAST_TEXT).any():
            found = np.empty(len(codes), object)
            found[:] = [self._given.log.codes.value(code) if code != UNREAD else code for code in codes.tolist()]
            return found
        return codes

    def wrong_counters(self) -> Ints:
        """The reads of counters whose answers are not what they see."""
        given = self._given
        chosen, values = given.on(_COUNTER), given.operations.value
        reads = ~given.changes[chosen] & (values[chosen] != UNREAD)
        expected = self._numbers[given.base[chosen[reads]]] + self._own[reads]
        wrong: Ints = chosen[reads][np.asarray(self._integers(values[chosen[reads]]) != expected, np.bool_)]
        return wrong

    # lists

    def wrong_lists(self) -> Ints:
        """The reads of lists whose answers are not what they see."""
        return self._lists.wrong()

    # single transactions and versions

    def told(self, operation: int) -> Content:
        """What the answer to a read says."""
        code = int(self._given.operations.value[operation])
        kind = self._given.type_of[operation]
        if kind == _LIST:
            return tuple(self._given.log.sequences.at(code))
        return self._value(code) if kind == _COUNTER else code

    def changed(self, operation: int, content: Content) -> Content:
        """What a change makes of what is there."""
        code = int(self._given.operations.value[operation])
        if isinstance(content, tuple):
            return (*content, code)
        return content + self._value(code) if self._given.type_of[operation] == _COUNTER else code

    def _value(self, code: int) -> int:
        value = self._given.log.codes.value(code)
        assert isinstance(value, int)
        return value

    def content(self, version: int) -> Content:
        """What a version holds."""
        kind = self._given.type[self._given.versions.cell[version]]
        if kind == _LIST:
            return self._lists.items(version)
        return int(self._codes[version] if kind == _REGISTER else self._numbers[version])

    def equal(self, ones: Ints, others: Ints) -> Flags:
        """Whether two versions of one cell hold the same."""
        if not len(ones):
            return np.zeros(0, np.bool_)
        kind = self._given.type[self._given.versions.cell[ones]]
        same: Flags = ones == others
        registers = self._codes[ones] == self._codes[others]
        counters = np.asarray(self._numbers[ones] == self._numbers[others], np.bool_)
        same |= ((kind == _REGISTER) & registers) | ((kind == _COUNTER) & counters)
        for place in self._lists.open_pairs(np.flatnonzero((kind == _LIST) & ~same), ones).tolist():
            same[place] = self._lists.items(int(ones[place])) == self._lists.items(int(others[place]))
        return same


class _Lists:
    """What the versions of lists hold.

    Where each writer of a list saw the version before its own, all of its versions are beginnings of one sequence, and
    an answer is compared with that; the others are put together one by one.
    """

    def __init__(self, given: Given) -> None:
        self._given = given
        log, versions, operations = given.log, given.versions, given.operations
        self._first = column(log.sequences.first)
        self._items = column(log.sequences.items)
        cells = np.flatnonzero(given.type == _LIST)
        is_list = given.type[versions.cell] == _LIST if len(versions) else np.zeros(0, np.bool_)
        made = is_list & (given.parent != np.arange(len(versions)))
        broken = made & (given.parent != np.arange(len(versions)) - 1)
        self._in_line = np.ones(len(given.type), np.bool_)
        self._in_line[versions.cell[broken]] = False
        appends = np.flatnonzero((given.type_of == _LIST) & given.changes)
        appends = appends[np.argsort(given.version[appends], kind="stable")]
        lengths = np.zeros(len(versions), np.int64)
        np.add.at(lengths, given.version[appends], 1)
        initial = versions.initial[cells]
        sequences = given.initial[cells]
        lengths[initial] = self._first[sequences + 1] - self._first[sequences]
        self._ends = np.cumsum(lengths)
        """Where each version's own items end in `_flat`."""
        self._lengths = lengths
        self._flat = np.empty(int(lengths.sum()), np.int64)
        starts = self._ends - lengths
        at, of = ranges(starts[initial], lengths[initial]), ranges(self._first[sequences], lengths[initial])
        self._flat[at] = self._items[of]
        own = np.ones(len(self._flat), np.bool_)
        own[at] = False
        self._flat[own] = operations.value[appends]
        self._start = np.zeros(len(given.type), np.int64)
        self._start[cells] = starts[initial]

    def wrong(self) -> Ints:
        given = self._given
        operations = given.operations
        reads = given.reads(_LIST)
        line = self._in_line[operations.cell[reads]]
        wrong = [np.array([*self._wrong_apart(reads[~line].tolist())], np.int64)]
        reads = reads[line]
        chosen = given.on(_LIST)
        changes = given.changes[chosen].astype(np.int64)
        total = np.cumsum(changes) - changes
        earlier = np.zeros(len(operations.kind), np.int64)
        earlier[chosen] = total - total[given.starts(chosen)]
        start = self._start[operations.cell[reads]]
        length = self._ends[given.base[reads]] - start + earlier[reads]
        told = operations.value[reads]
        shown = self._first[told + 1] - self._first[told]
        fits = shown == length
        wrong.append(reads[~fits])
        reads, start, length, told = reads[fits], start[fits], length[fits], told[fits]
        for some in _portions(length):
            differs = (
                self._items[ranges(self._first[told[some]], length[some])]
                != self._flat[ranges(start[some], length[some])]
            )
            if differs.any():
                owner = np.repeat(reads[some], length[some])
                wrong.append(np.unique(owner[differs]))
        return np.sort(np.concatenate(wrong))

    def _wrong_apart(self, reads: list[int]) -> Iterator[int]:
        given = self._given
        operations = given.operations
        for read in reads:
            own = []
            at = int(given.before[read])
            while at >= 0:
                own.append(int(operations.value[at]))
                at = int(given.before[at])
            told = int(operations.value[read])
            shown = tuple(self._items[self._first[told] : self._first[told + 1]].tolist())
            if self.items(int(given.base[read])) + tuple(reversed(own)) != shown:
                yield read

    def items(self, version: int) -> tuple[int, ...]:
        """The codes of a list's items."""
        parts = []
        parent = self._given.parent
        while True:
            end = int(self._ends[version])
            parts.append(tuple(self._flat[end - int(self._lengths[version]) : end].tolist()))
            if parent[version] == version:
                break
            version = int(parent[version])
        return tuple(item for part in reversed(parts) for item in part)

    def open_pairs(self, places: Ints, versions: Ints) -> Ints:
        """Those places of pairs of different versions at which they may hold the same: in a line none do."""
        found: Ints = places[~self._in_line[self._given.versions.cell[versions[places]]]]
        return found


_REGISTER, _LIST, _SET, _COUNTER = range(4)
_TYPES = {"register": _REGISTER, "list": _LIST, "set": _SET, "counter": _COUNTER}

_PORTION = 1 << 22
"""Items of answers that are compared at once."""


def _may_overflow(deltas: Ints, start: Ints) -> bool:
    most = float(np.abs(deltas.astype(np.float64)).sum()) + float(np.abs(start.astype(np.float64)).max(initial=0))
    return most >= LEAST_TEXT


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers of ranges, one after another."""
    filled = lengths > 0
    begins, sizes = starts[filled], lengths[filled]
    steps = np.ones(int(sizes.sum()), np.int64)
    if len(steps):
        # from the last number of a range to the first of the next
        steps[0] = begins[0]
        steps[np.cumsum(sizes)[:-1]] = begins[1:] - (begins + sizes - 1)[:-1]
    found: Ints = np.cumsum(steps)
    return found


def _portions(lengths: Ints) -> Iterator[slice]:
    """Slices of about `_PORTION` items."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + _PORTION)))
        yield slice(first, last)
        first = last
