"""Whether the transactions of an order that are to be serializable are so among themselves, in that very execution
(Adya 1999, *Weak Consistency*, direct serialization graphs; Cahill, Röhm and Fekete 2008; Ports and Grittner 2012).

Of two of them one comes before the other where what the one read, or wrote, has a row as it was before the other one
wrote it, or after. That a transaction read a row is told by running it again with that row alone changed: what it
answered or wrote is then another. No circle may come of that, and along an order without one each transaction, run
after those before it, answers and writes what it did. Others, at whatever level, are watched by nobody. Does not know
how the order of the commits was found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.values.types import Value
from sql_semantics.view import Row, RowId
from troubadour.model.log import TransactionId
from troubadour.model.witness import StatementRead
from troubadour.replay.store import RowName, Store, Versions, Writes, rows_of
from troubadour.replay.view import Found, WitnessView
from troubadour.replay.witness.listed import ListedReads
from troubadour.replay.witness.reads import FreeChoices

if TYPE_CHECKING:
    from troubadour.replay.step import Step

Changed = Mapping[str, Mapping[RowName, "Row | None"]]
"""Per table, rows as they are taken to have been; None for none."""

Look = tuple[str, tuple[int, ...], tuple[Value, ...]]
"""A table, and the columns and values by which rows were looked for; none where all were looked at."""


class _Supposing(WitnessView):
    """The view of a transaction run once more, in which queries find some rows `changed`. What its constraints meet is
    what they met. `looks` are the places at which it looked for rows."""

    def __init__(self, one: _One, store: Store, changed: Changed) -> None:
        super().__init__(store, one.id, one.state, None, None, one.newest, one.choices, one.statements)
        self._place = one.position - 1
        self._changed = changed
        self._meets = False
        self.looks: set[Look] = set()

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row that is there, as it is supposed to be."""
        return self._supposed((table, (), ()), super().scan(table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """The rows with these values, and perhaps others, as they are supposed to be."""
        return self._supposed((table, tuple(columns), tuple(key)), super().lookup(table, columns, key))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """What a constraint met."""
        self._meets = True
        try:
            return super().rivals(table, columns, key)
        finally:
            self._meets = False

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """The newest rows as they were then."""
        own = self.writes.get(table, {})
        found: Found = []
        for name, versions in self._store.tables[table].rows.items():
            values = versions.at(self._place)
            if values is not None and name not in own and _has(values, columns, key):
                found.append((name, values))
        return found + [(name, values) for name, values in own.items() if values is not None]

    def _supposed(self, look: Look, found: Iterable[tuple[RowId, Row]]) -> Iterable[tuple[RowId, Row]]:
        if self._meets:
            return found
        self.looks.add(look)
        changed = self._changed.get(look[0])
        if not changed:
            return found
        own = self.writes.get(look[0], {})
        others = {name: values for name, values in changed.items() if name not in own}
        kept = [pair for pair in found if pair[0] not in others]
        return kept + [(name, values) for name, values in others.items() if values is not None]


@dataclass(slots=True)
class _One:
    """A transaction in the order that is to be serializable. `step` runs it again. `missed`: the positions of those
    before it that it missed, ascending. What is asked for is kept: `looks`, where it looked, and `found`, by the
    positions of earlier ones, whether it saw or overwrote what they wrote, and whether it comes after them."""

    id: TransactionId
    position: int
    state: int
    newest: int | None
    choices: FreeChoices
    statements: ListedReads | None
    writes: Writes
    step: Step
    missed: Sequence[int] = ()
    looks: Collection[Look] | None = None
    found: dict[int, tuple[bool, bool]] = field(default_factory=dict)


class Serial:
    """The serializable transactions of an order, oldest first."""

    __slots__ = ("_all", "_behind", "_watched")

    def __init__(self) -> None:
        self._all: list[_One] = []
        self._watched: dict[int, _One] = {}
        """All, by position."""
        self._behind: dict[int, list[_One]] = {}
        """By position those that missed what the one there wrote, though they stand behind it."""

    def copy(self) -> Serial:
        """An independent copy."""
        twin = Serial()
        twin._all, twin._watched = self._all.copy(), self._watched.copy()
        twin._behind = {position: ones.copy() for position, ones in self._behind.items()}
        return twin

    def truncate(self, length: int) -> None:
        """Take back those at positions above `length`."""
        while self._all and self._all[-1].position > length:
            del self._watched[self._all.pop().position]
        self._behind = {
            position: [one for one in ones if one.position <= length]
            for position, ones in self._behind.items()
            if position <= length
        }

    def append(self, step: Step, store: Store) -> str | None:
        """The next transaction, which is about to be stored; where that closes a circle, what is wrong."""
        one = _One(
            step.transaction.id,
            store.newest + 1,
            step.state,
            step.newest,
            step.choices_used,
            _as_taken(step),
            step.writes,
            step.again(),
        )
        missed = [other for other in self._between(one) if self._depends(store, one, other)]
        if missed:
            circle = self._circle(store, one, missed)
            if circle is not None:
                names = " before ".join(repr(other.id) for other in (one, *circle, one))
                return f"what they read of one another puts {names}"
        self._all.append(one)
        self._watched[one.position] = one
        one.missed = sorted(other.position for other in missed)
        for other in missed:
            self._behind.setdefault(other.position, []).append(one)
        return None

    def finished(self, store: Store) -> tuple[TransactionId, str] | None:
        """The order is whole: None where in some serial order all answer and write what they did, else the last
        transaction, and what is wrong."""
        before: dict[int, set[int]] = {}
        while True:
            order = self._in_a_row(store, before)
            failing = None if order is None else next(self._otherwise(store, order), None)
            if failing is None:
                break
            one, late, gone = failing
            # it comes before those that it must not see, and after those that it must
            pairs = [(one.position, other) for other in late] + [(other, one.position) for other in gone]
            if all(second in before.get(first, ()) for first, second in pairs):
                order = None
                break
            for first, second in pairs:
                before.setdefault(first, set()).add(second)
        if order is not None:
            return None
        return self._all[-1].id, "one after another they do not answer and write what they did, in any order tried"

    def _between(self, one: _One) -> Iterator[_One]:
        """Those that committed after a transaction's snapshot, and before it."""
        for other in reversed(self._all):
            if other.position <= one.state:
                return
            if other.position < one.position:
                yield other

    def _circle(self, store: Store, last: _One, missed: Sequence[_One]) -> list[_One] | None:
        """A way from one of those that the last transaction missed back to it; None where there is none."""
        ways: list[list[_One]] = [[one] for one in missed]
        seen = {one.position for one in missed}
        while ways:
            way = ways.pop()
            one = way[-1]
            if self._follows(store, one, last):
                return way
            for other in self._after(one):
                if other.position not in seen and (other.position < one.position or self._follows(store, one, other)):
                    seen.add(other.position)
                    ways.append([*way, other])
        return None

    def _after(self, one: _One) -> Iterator[_One]:
        """Those that a transaction missed, and those that committed after it."""
        yield from (self._watched[position] for position in one.missed)
        for number in range(bisect_right(self._all, one.position, key=_POSITION), len(self._all)):
            yield self._all[number]

    def _follows(self, store: Store, earlier: _One, later: _One) -> bool:
        """Whether the one that committed earlier comes before the later one: it missed what that one wrote, or that one
        saw, or wrote over, what it wrote."""
        found = later.found.get(earlier.position)
        if found is None:
            sees = earlier.position <= later.state
            saw = sees and self._depends(store, later, earlier)
            found = later.found[earlier.position] = saw, saw or self._depends(store, earlier, later)
        return found[1]

    def _depends(self, store: Store, reader: _One, writer: _One) -> bool:
        """Whether what a transaction answered or wrote hangs on a row that another one wrote."""
        for table, name, made in rows_of(writer.writes):
            versions = store.tables[table].rows.get(name)
            if versions is not None and not self._is_next(versions, reader, writer):
                continue
            if name in reader.writes.get(table, ()):
                return True
            seen = None if versions is None else versions.at(reader.state)
            sees = writer.position <= reader.state
            supposed = _before(versions, writer.position) if sees else made
            others = [values for values in dict.fromkeys((supposed, None)) if values != seen]
            if not any(self._looked_at(store, reader, table, values) for values in (seen, *others)):
                continue
            if any(self._differs(store, reader, {table: {name: values}}) for values in others):
                return True
        return False

    def _is_next(self, versions: Versions, reader: _One, writer: _One) -> bool:
        """Whether no other made a version of a row, between the one that a transaction has in its snapshot and that of
        another, but those that are watched: else it is that other's whose version was missed, or overwritten."""
        low, high = sorted((reader.state, writer.position))
        between = range(low + 1, high if writer.position > reader.state else high + 1)
        return all(state in self._watched for state in versions.states if state in between)

    def _looked_at(self, store: Store, one: _One, table: str, values: Row | None) -> bool:
        if values is None:
            return False
        if one.looks is None:
            view = _Supposing(one, store, {})
            one.step.run_again(view)
            one.looks = view.looks
        folded = store.tables[table].folded
        return any(
            where == table and (folded or not columns or _has(values, columns, key))
            for where, columns, key in one.looks
        )

    def _differs(self, store: Store, one: _One, changed: Changed) -> bool:
        """Whether a transaction would have answered or written otherwise. Where the product might have chosen, or where
        that is not modelled, it would not."""
        try:
            refusal = one.step.run_again(_Supposing(one, store, changed))
        except Unsupported:
            return False
        if refusal is not None:
            return refusal.condition != "free"
        return _without_nothing(one.step.writes, store) != _without_nothing(one.writes, store)

    def _in_a_row(self, store: Store, first: Mapping[int, set[int]]) -> list[_One] | None:
        """A serial order, that of the commits but for those that missed one; `first`: by position those before whom one
        is to stand besides. None where there is none."""
        at = self._watched
        behind: dict[int, list[int]] = {n: [one.position for one in ones] for n, ones in self._behind.items()}
        for position, others in first.items():
            for other in others:
                behind.setdefault(other, []).append(position)
        placed: dict[int, None] = {}
        for number, one in enumerate(self._all):
            pending = [(one.position, False)]
            under_way: set[int] = set()
            while pending:
                position, ready = pending.pop()
                if position in placed:
                    continue
                if ready:
                    placed[position] = None
                    continue
                if position in under_way:
                    return None
                under_way.add(position)
                pending.append((position, True))
                before = [other for other in behind.get(position, ()) if other not in placed]
                for later in range(number, len(self._all)):  # those before are placed
                    earlier = self._all[later]
                    if earlier.position >= position:
                        break
                    if earlier.position not in placed and self._follows(store, earlier, at[position]):
                        before.append(earlier.position)
                if any(other in under_way for other in before):
                    return None
                pending += [(other, False) for other in before]
        return [at[position] for position in placed]

    def _otherwise(self, store: Store, order: Sequence[_One]) -> Iterator[tuple[_One, set[int], set[int]]]:
        """Those that answer or write otherwise in a serial order, with the positions of those that they see in it only,
        and of those that only their snapshots have."""
        positions = [one.position for one in self._all]
        before: set[int] = set()
        first = end = 0
        # all of the first positions are in `before`, and none from the end on
        for one in order:
            seen = bisect_right(positions, one.state)
            late = {position for position in positions[seen:end] if position in before}
            gone = {position for position in positions[first:seen] if position not in before}
            changed: dict[str, dict[RowName, Row | None]] = {}
            for other in map(self._watched.__getitem__, sorted(late | gone)):
                for table, name, _ in rows_of(other.writes):
                    changed.setdefault(table, {})[name] = self._as_if(store, one, table, name, before)
            touched = any(
                self._looked_at(store, one, table, values)
                for table, rows in changed.items()
                for name, now in rows.items()
                for values in (now, _at(store, table, name, one.state))
            )
            if touched and self._differs(store, one, changed):
                yield one, late, gone
            before.add(one.position)
            end = max(end, bisect_right(positions, one.position))
            while first < len(positions) and positions[first] in before:
                first += 1

    def _as_if(self, store: Store, one: _One, table: str, name: RowName, before: Collection[int]) -> Row | None:
        """A row as it is for a transaction that is run in the serial order: from the version in its snapshot on, back
        and forth over those of watched ones, as the last of these left it that come before."""
        versions = store.tables[table].rows.get(name)
        if versions is None or name in one.writes.get(table, ()):
            return _at(store, table, name, one.state)
        pairs = list(zip(versions.states, versions.values, strict=True))
        found: Row | None = None
        for state, values in reversed(pairs):
            if state <= one.state and (state not in self._watched or state in before):
                found = values
                break
        for state, values in pairs:
            if state > one.state and state not in self._watched:
                break
            if state > one.state and state in before:
                found = values
        return found


_POSITION = attrgetter("position")


def _as_taken(step: Step) -> ListedReads | None:
    """What the executions read, as a list, whoever chose it."""
    if step.statements is None:
        return None
    return ListedReads([StatementRead(*address, *read) for address, read in step.taken.items()])


def _at(store: Store, table: str, name: RowName, state: int) -> Row | None:
    versions = store.tables[table].rows.get(name)
    return None if versions is None else versions.at(state)


def _before(versions: Versions | None, position: int) -> Row | None:
    return None if versions is None else versions.at(position - 1)


def _has(values: Row, columns: Sequence[int], key: Sequence[Value]) -> bool:
    return tuple([values[column] for column in columns]) == tuple(key)


def _without_nothing(writes: Writes, store: Store) -> dict[tuple[str, RowName], Row | None]:
    """The rows written, but for those that were never there."""
    return {
        (table, name): values
        for table, name, values in rows_of(writes)
        if values is not None or name in store.tables[table].rows
    }
