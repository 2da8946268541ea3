"""Whether answers and changes are what the views give, and whether changes conflict, for some cells of a log.

Cells have nothing to do with one another here, so that a large log is gone through part by part. Does not know where
the order comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sql_semantics.records import dataclass
from troubadour.model.objects import MISSING, READ, UNREAD, ObjectLog
from troubadour.replay.objects.contents import Content, Contents, Given
from troubadour.replay.objects.places import Asks, Found, Ints, Times, Whole, first_of
from troubadour.replay.objects.sets import Rows, Sets
from troubadour.replay.objects.versions import Cells, Operations, Versions, last_change

_NOBODY: frozenset[int] = frozenset()
_OTHERWISE = "it answers otherwise than what it sees"
_LATE = "only a commit sent after the answer explains it"


@dataclass(frozen=True, slots=True)
class Seen:
    """What the transactions of an order see, by position: `states`, without what is `hidden`, by reader; `pairs` say
    the same as two columns. `late` are, of those that have any, the positions that they may see and whose commit was
    sent after their answers. `moved` are the states that operations of the log's columns read instead, -1 for none;
    None: none does."""

    log: ObjectLog
    asks: Asks
    times: Times
    states: Ints
    pairs: tuple[Ints, Ints]
    hidden: Mapping[int, frozenset[int]]
    late: Mapping[int, frozenset[int]]
    moved: Whole | None

    def by_row(self) -> dict[int, frozenset[int]]:
        """`late` of those that read single rows."""
        return {one: late for one, late in self.late.items() if not self.asks.one_snapshot[one - 1]}


def wrong_sets(
    seen: Seen, order: Ints, cells: Cells, operations: Operations, rows: Mapping[int, Mapping[int, Rows]]
) -> Iterator[Found]:
    """Reads of sets that do not show what they see. `rows`: states of single rows, by position and by the number of the
    operation."""
    sets = Sets(seen.log, cells, operations, order)
    by_row = seen.by_row()
    alone = {*by_row, *seen.hidden, *rows}
    yield from first_of(sets.wrong(seen.states[operations.position - 1], alone), "observation", _OTHERWISE)
    for one in sorted(alone):
        state, unseen = int(seen.states[one - 1]), seen.hidden.get(one, _NOBODY)
        if sets.misreads(one, state, unseen, rows.get(one, {}), by_row.get(one, _NOBODY)):
            yield one, "observation", _OTHERWISE
    for one, late in seen.late.items():
        unseen = seen.hidden.get(one, _NOBODY) | late
        if one not in by_row and sets.misreads(one, int(seen.states[one - 1]), unseen, {}, _NOBODY):
            yield one, "time", _LATE


class Part:
    """Some cells, none of a set, with all operations on them."""

    def __init__(self, seen: Seen, cells: Cells, operations: Operations) -> None:
        self._seen, self._operations = seen, operations
        state = seen.states[operations.position - 1]
        self._listed = None
        if seen.moved is not None:
            other = seen.moved[operations.index]
            self._listed = other >= 0
            state = np.where(self._listed, other, state)
        changes = operations.kind != READ
        before, first = last_change(operations)
        firsts = np.flatnonzero(changes & (before < 0))
        versions = Versions(len(cells.key), operations.cell[firsts], operations.position[firsts])
        of_group = np.full(int(operations.begins.sum()), -1, np.int64)
        of_group[operations.group[firsts]] = versions.made
        # what reads or changes first sees a version of somebody else's
        outer = np.flatnonzero(before < 0)
        found = versions.seen(operations.cell[outer], state[outer])
        found = versions.skipping(found, operations.position[outer], seen.pairs)
        base = np.full(len(before), -1, np.int64)
        base[outer] = self._without_late_rows(versions, found, outer)
        parent = np.arange(len(versions))
        parent[versions.made] = base[firsts]
        inner = np.flatnonzero(before >= 0)
        base[inner] = base[first[inner]]
        self._versions, self._parent = versions, parent
        self._version = of_group[operations.group]
        self._contents = Contents(Given(seen.log, cells, operations, versions, before, base, parent, self._version))
        self._reader = operations.position[firsts]

    def _without_late_rows(self, versions: Versions, found: Ints, outer: Ints) -> Ints:
        """Rows that are read from no state of their own, one by one, are without what was sent after the answer."""
        self._too_late: Whole = np.zeros(0, np.int32)
        apart = self._seen.by_row()
        if not apart:
            return found
        readers = np.concatenate([np.full(len(late), one, np.int64) for one, late in apart.items()])
        unseen = np.concatenate([np.array(sorted(late), np.int64) for late in apart.values()])
        position = self._operations.position[outer]
        without = versions.skipping(found, position, (readers, unseen))
        if self._listed is None:
            return without
        listed = self._listed[outer]
        self._too_late = position[listed & (without != found)]
        return np.where(listed, found, without)

    def wrong(self) -> Iterator[Found]:
        """The first of each kind of thing that is wrong."""
        contents, position = self._contents, self._operations.position
        for found in (contents.wrong_registers(), contents.wrong_counters(), contents.wrong_lists()):
            yield from first_of(position[found], "observation", _OTHERWISE)
        yield from first_of(self._too_late, "time", "it reads a version whose commit was sent after the answer")
        for one in self._seen.late:
            refused = self._without_late(one) if self._seen.asks.one_snapshot[one - 1] else None
            if refused is not None:
                yield one, "time", refused
        yield from self._conflicts()
        if self._seen.log.header.order == "exact":
            yield from self._wrong_version_order()

    def _without_late(self, position: int) -> str | None:
        """What is wrong with a transaction that does not see commits sent after its answers; None for nothing."""
        state = int(self._seen.states[position - 1])
        unseen = self._seen.hidden.get(position, _NOBODY) | self._seen.late[position]
        operations, contents, versions = self._operations, self._contents, self._versions
        begin = int(np.searchsorted(operations.position, position))
        end = int(np.searchsorted(operations.position, position, side="right"))
        own: dict[int, Content] = {}
        written: dict[int, int] = {}
        for at in sorted(range(begin, end), key=lambda one: int(operations.number[one])):
            cell = int(operations.cell[at])
            content = own[cell] if cell in own else contents.content(versions.seen_without(cell, state, unseen))
            if operations.kind[at] != READ:
                own[cell] = contents.changed(at, content)
                written[cell] = int(self._version[at])
            elif int(operations.value[at]) != UNREAD and contents.told(at) != content:
                return _LATE
        if any(contents.content(version) != own[cell] for cell, version in written.items()):
            return "what it wrote depends on a commit sent after its statement was answered"
        return None

    def _conflicts(self) -> Iterator[Found]:
        """A key that a transaction changes has, just before its place, the value that it sees."""
        own, readers = self._versions.made, self._reader
        seen = self._parent[own]
        # nearly all see the version before their own
        asked = self._seen.asks.write_conflict[readers - 1] & (seen != own - 1)
        if asked.any():
            own, seen, readers = own[asked], seen[asked], readers[asked]
            changed = ~self._contents.equal(own, seen) & ~self._contents.equal(seen, own - 1)
            clash = self._seen.asks.by_version[readers - 1] | changed
            yield from first_of(readers[clash], "NWC", "it changes a key that changed after its snapshot")

    def _wrong_version_order(self) -> Iterator[Found]:
        versions = self._versions
        made = np.sort(versions.made)
        position = versions.position[made]
        commit = self._seen.times.commit[position - 1]
        changed = (commit != MISSING) & ~self._contents.equal(made, made - 1)
        made, position, commit = made[changed], position[changed], commit[changed]
        cell = versions.cell[made]
        wrong = (cell[1:] == cell[:-1]) & (commit[1:] < commit[:-1])
        yield from first_of(position[1:][wrong], "order", "its version follows one with a later commit")
