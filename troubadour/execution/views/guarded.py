"""One transaction run symbolically on all states of its horizon at once (paper §5.4 READ, *at*, *expr*).

Which state a read takes is left to opaque atoms ``Sees(read, position)``: "the read takes state `position` or a later
one". What ties the atoms together is isolation's business; this module only assumes that the atoms of one read form a
chain (a read that sees a position sees every older one), and says so with `Sees`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sql_semantics.errors import Unsupported
from sql_semantics.ir.definitions import EXISTING
from sql_semantics.terms import (
    FALSE,
    TRUE,
    Guard,
    Scalar,
    atom,
    choose,
    compact,
    conj,
    disj,
    neg,
)
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import GuardedRow, Mark
from troubadour.execution.free.tagged import Address
from troubadour.execution.free.values import DRAWN
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, WriteMap, alternatives_of, simplest
from troubadour.execution.states.state_map import StateMap
from troubadour.model.log import TransactionId


class ReadId(NamedTuple):
    """Which reads share a view: the whole transaction (all but `reader` None), or one row in one execution."""

    reader: int
    statement: int | None = None
    execution: int | None = None
    row: str | None = None


class Sees(NamedTuple):
    """The atom "read `read` takes state `position` or a later one"."""

    read: ReadId
    position: int

    def threshold(self) -> tuple[ReadId, int]:
        """A read that sees a position sees every older one (see `guarded.paths.knowledge`)."""
        return self.read, self.position


class Shown(NamedTuple):
    """The atom "read `read` sees what was placed at `position`", of sets that need be no states: nothing follows for
    other positions. `whole` tells it from `Sees`."""

    read: ReadId
    position: int
    whole: bool = True


class Picked(NamedTuple):
    """The atom "at this choice the DBMS went the way `number`, if none of those before it"."""

    reader: int
    statement: int
    execution: int
    ordinal: int
    number: int


Alternatives = list[tuple[Guard, SymbolicRow | None]]


class GuardedStates:
    """A `GuardedView` of the state map for one transaction.

    States in [low, high] are readable; with `sets` also those without some of the positions after `low`. `row_scope`
    gives every row read its own `ReadId`. `masked[n]` holds positions
    whose versions statement n may not take. With `by_key` own writes hide rows by their clustered keys (InnoDB), which
    is not modelled where a row's key changed. `paths` lists, per logged statement, the path conditions of the SQL
    statement executions in it.
    """

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        reader: int,
        low: int,
        high: int,
        *,
        row_scope: bool,
        masked: Mapping[int, frozenset[int]] | None = None,
        use_index: bool = True,
        sets: bool = False,
        by_key: bool = False,
    ) -> None:
        self._states = states
        self._sets = sets
        self._by_key = by_key
        self._author = author
        self._reader = reader
        self._low = low
        self._high = high
        self._row_scope = row_scope
        self._masked = masked or {}
        self._use_index = use_index
        self._own: dict[RowHistory, Alternatives] = {}
        self._insertions: dict[str, int] = {}
        self.savepoints: list[tuple[str, Mark]] = []
        self._cache: dict[tuple[ReadId, RowHistory, frozenset[int]], Alternatives] = {}
        self._execution = -1
        self.told: Mapping[Address, Value] = {}
        self.options: dict[Address, int] = {}
        self.statement = 0
        self.paths: dict[int, list[Guard]] = {}
        self.inserted: list[tuple[RowHistory, Guard]] = []
        self.looked_at: set[RowHistory] = set()
        self.sees: dict[ReadId, set[int]] = {}
        self.row_reads: dict[ReadId, RowHistory] = {}
        self.undiscovered: dict[int, set[str]] = {}
        """Per statement, tables with rows that nothing names but it may have met (`execution.initial.discovery`)."""

    def enter_statement(self, index: int) -> None:
        """The logged statement `index` begins."""
        self.statement = index
        self._execution = -1
        self.paths[index] = []

    def begin(self, path: Guard) -> int:
        """See `GuardedView`."""
        paths = self.paths[self.statement]
        paths.append(path)
        self._execution = len(paths) - 1
        return self._execution

    def resume(self, execution: int) -> None:
        """See `GuardedView`; a read's execution tells it apart at row scope."""
        self._execution = execution

    def scan(self, table: str) -> list[GuardedRow]:
        """See `GuardedView`."""
        history = self._states.tables[table]
        if history.undiscovered is not None:
            self.undiscovered.setdefault(self.statement, set()).add(table)
        return self._collect(table, history.rows)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        """See `GuardedView`."""
        positions = tuple(columns)
        if not self._use_index or not self._states.is_indexable(table, positions):
            return self.scan(table)
        history = self._states.tables[table]
        if history.undiscovered is not None and not history.undiscovered.covers(table, positions):
            self.undiscovered.setdefault(self.statement, set()).add(table)
        return self._collect(table, history.bucket(positions, tuple(key)))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        """See `GuardedView`. Each execution meets the rows of a state of its own, from the one that is read on. Raises
        Unsupported for newer rows than that where tables come and go, or where what is read need be no state."""
        if not self._row_scope and self._low < self._states.length:
            positions = tuple(columns)
            usable = columns and self._use_index and self._states.is_indexable(table, positions)
            history = self._states.tables[table]
            rows = history.bucket(positions, tuple(key)) if usable else history.rows
            if any(row.positions and row.positions[-1] > self._low for row in rows):
                self._refuse_newer()
                if history.undiscovered is None:
                    return self._collect(table, rows, ReadId(self._reader, self.statement, self._execution))
        return self.lookup(table, columns, key) if columns else self.scan(table)

    def _refuse_newer(self) -> None:
        if self._sets or self._low < self._high or EXISTING in self._states.tables:
            raise Unsupported("a constraint that meets rows newer than a snapshot, where these are symbolic")

    def _collect(self, table: str, rows: Collection[RowHistory], met: ReadId | None = None) -> list[GuardedRow]:
        found: list[GuardedRow] = []
        oldest = self._surely_seen()
        for row in rows:
            if row.positions and row.positions[-1] <= oldest and row not in self._own:
                version = row.versions[-1]
                if version.__class__ is tuple:
                    # whatever it sees, it sees this
                    self.looked_at.add(row)
                    found.append((row, TRUE, version))
                    continue
            if row not in self._own:
                self._add(found, row, self.in_states(row) if met is None else self._met(row, met))
        for row in list(self._own):
            if row.table == table:
                self._add(found, row, self._current(row, met))
        return found

    def _surely_seen(self) -> int:
        """The position up to which every version is seen that no newer one hides; -1 where reads are told apart."""
        return -1 if self._row_scope or self._masked.get(self.statement) else self._low

    def _met(self, row: RowHistory, read: ReadId) -> Alternatives:
        """The row as constraints of this execution meet it, own writes left out."""
        self.looked_at.add(row)
        return self._at(row, read, self._masked.get(self.statement, frozenset()), self._states.length)

    def _add(self, found: list[GuardedRow], row: RowHistory, alternatives: Alternatives) -> None:
        present = [(guard, values) for guard, values in alternatives if values is not None]
        exists = disj(*(guard for guard, _ in present))
        if exists is FALSE:
            return
        if len(present) == 1:
            found.append((row, exists, present[0][1]))
            return
        width = len(present[0][1])
        columns: list[Scalar] = [
            compact(choose((guard, values[column]) for guard, values in present)) for column in range(width)
        ]
        found.append((row, exists, tuple(columns)))

    def in_states(self, row: RowHistory) -> Alternatives:
        """The row as this transaction's states have it, own writes left out."""
        self.looked_at.add(row)
        masked = self._masked.get(self.statement, frozenset())
        if self._row_scope:
            read = ReadId(self._reader, self.statement, self._execution, row.address)
            self.row_reads[read] = row
        else:
            read = ReadId(self._reader)
        key = (read, row, masked)
        known = self._cache.get(key)
        if known is None:
            known = self._cache[key] = self._at(row, read, masked)
        return known

    def snapshot(self, row: RowHistory) -> Alternatives:
        """The row in the transaction's one snapshot, nothing masked (transaction scope only)."""
        return self._at(row, ReadId(self._reader), frozenset())

    def sees_position(self, position: int) -> Guard:
        """Whether the transaction's one snapshot has what was placed there (transaction scope only)."""
        return self._sees(ReadId(self._reader), position, self._high)

    def _sees(self, read: ReadId, position: int, high: int) -> Guard:
        if position <= self._low:
            return TRUE
        if position > high:
            return FALSE
        self.sees.setdefault(read, set()).add(position)
        return atom(Shown(read, position) if self._sets else Sees(read, position))

    def _at(self, row: RowHistory, read: ReadId, masked: frozenset[int], high: int | None = None) -> Alternatives:
        """The row as a read has it that takes a state up to `high` (None: the highest that may be read)."""
        high = self._high if high is None else high
        found: Alternatives = []
        pending = TRUE
        for index in range(len(row.positions) - 1, -1, -1):
            position = row.positions[index]
            if position > high or position in masked:
                continue
            sees = self._sees(read, position, high)
            version = row.versions[index]
            for guard, values in alternatives_of(version):
                found.append((conj(pending, sees, guard), values))
            if isinstance(version, Guarded):
                pending = conj(pending, neg(conj(sees, version.written)))
            elif self._sets:
                pending = conj(pending, neg(sees))
            else:
                # the chain: where this position is not seen, no newer one is
                pending = neg(sees)
            if pending is FALSE:
                break
        return [(guard, values) for guard, values in found if guard is not FALSE]

    def _current(self, row: RowHistory, met: ReadId | None = None) -> Alternatives:
        own = self._own[row]
        unwritten = neg(disj(*(guard for guard, _ in own)))
        if unwritten is FALSE or not row.positions:
            return own
        others = self.in_states(row) if met is None else self._met(row, met)
        return own + [(conj(unwritten, guard), values) for guard, values in others]

    def update(self, table: str, row: RowHistory, guard: Guard, values: SymbolicRow) -> None:
        """See `GuardedView`."""
        self._write(row, guard, values)

    def delete(self, table: str, row: RowHistory, guard: Guard) -> None:
        """See `GuardedView`."""
        self._write(row, guard, None)

    def insert(self, table: str, guard: Guard, values: SymbolicRow) -> RowHistory:
        """See `GuardedView`."""
        ordinal = self._insertions.get(table, 0)
        self._insertions[table] = ordinal + 1
        row = RowHistory(table, self._author, ordinal)
        self.inserted.append((row, guard))
        self._write(row, guard, values)
        return row

    def _write(self, row: RowHistory, guard: Guard, values: SymbolicRow | None) -> None:
        if self._by_key and _has_moved(row, self._states.tables[row.table].schema.clustered):
            raise Unsupported("a write of a row whose clustered key was another one, which older snapshots still have")
        older = [(conj(neg(guard), other), kept) for other, kept in self._own.get(row, ())]
        self._own[row] = [(guard, values), *(item for item in older if item[0] is not FALSE)]

    def free(self, source: str, name: str, type: SqlType, ordinal: int) -> Scalar:
        """See `GuardedView`: any value of the type, the same on every run of the transaction."""
        known = self.told.get((self.statement, self._execution, ordinal))
        if known is not None and source in DRAWN:
            return known
        place: tuple[object, ...] = (self.statement, self._execution, ordinal)
        moments = {"now": (), "statement_time": (self.statement,), "execution_time": (self.statement, self._execution)}
        if source in moments:
            place = (source, name, moments[source], type)
        return unknown_value(("free", self._reader, *place), type, not_null=True)

    def option(self, ordinal: int, number: int) -> Guard:
        """See `GuardedView`; the same on every run of the transaction."""
        address = self.statement, self._execution, ordinal
        self.options[address] = max(number + 1, self.options.get(address, 0))
        return atom(Picked(self._reader, *address, number))

    def savepoint(self) -> Mark:
        """See `GuardedView`."""
        return dict(self._own), len(self.inserted)

    def rollback(self, mark: Mark, guard: Guard) -> None:
        """See `GuardedView`; ordinals are not given again, `inserted` tells which rows count."""
        own, count = mark
        kept = neg(guard)
        for row, alternatives in self._own.items():
            before: Alternatives = own.get(row, [])
            if before is not alternatives:
                both = [(conj(guard, other), values) for other, values in before]
                both += [(conj(kept, other), values) for other, values in alternatives]
                self._own[row] = [item for item in both if item[0] is not FALSE]
        self.inserted[count:] = [(row, conj(kept, other)) for row, other in self.inserted[count:]]

    def checkpoint(self) -> Mark:
        """See `GuardedView`."""
        writes = self._own.copy(), self._insertions.copy(), self.inserted.copy(), self.savepoints.copy()
        return *writes, len(self.paths[self.statement]), self.row_reads.copy()

    def abandon(self, mark: Mark) -> None:
        """See `GuardedView`; what was looked at stays looked at."""
        self._own, self._insertions, self.inserted, self.savepoints, begun, self.row_reads = mark
        del self.paths[self.statement][begun:]

    def writes(self) -> WriteMap:
        """The write map; versions that are concrete are plain rows."""
        found: WriteMap = {}
        for row, alternatives in self._own.items():
            version = simplest(alternatives)
            if version is None and not row.positions:
                continue
            if isinstance(version, Guarded) and not version.alternatives:
                continue
            found[row] = version
        return found

    def masked_for(self, read: ReadId) -> frozenset[int]:
        """The positions that a row read may not take."""
        return frozenset() if read.statement is None else self._masked.get(read.statement, frozenset())


def _has_moved(row: RowHistory, columns: Sequence[int]) -> bool:
    """Whether the row's versions have, or may have, different values in these columns."""
    keys = {
        tuple([values[column] for column in columns])
        for version in row.versions
        for values in ([one for _, one in version.alternatives] if isinstance(version, Guarded) else [version])
        if values is not None
    }
    return len(keys) > 1
