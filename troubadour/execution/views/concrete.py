"""One transaction run concretely on a chosen state (paper §3.2 VA-TDL).

The view records what was looked at, rows that did not match included, so that a run's validity can be carried over to
other states. What it writes is in `writing`; views in which not every read takes one state are in `rowwise` and
`statementwise`. Does not know which states a level allows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sql_semantics.values.types import Value
from sql_semantics.view import Mark, Row, View
from troubadour.execution.free.choices import Choices, Execution, Looked, OpenRead, concrete
from troubadour.execution.free.tagged import tag_row
from troubadour.execution.given import PLAIN, Given
from troubadour.execution.observations.locked_rows import Claim
from troubadour.execution.states.history import RowHistory, Version, sought
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.writing import Found, Writing
from troubadour.model.log import TransactionId

_COUNTED = 5000
"""Rows of a table up to which the highest number among them is looked for."""


class ConcreteView(Writing):
    """A `View` of the state map in which every read takes the state of the choices; collects the write map and the
    footprint.

    `footprint` are the rows looked at in states, `scanned` the tables scanned whole, `lookups` how often rows were
    looked for by their values, found or not. `met` are, by execution, the rows and whole tables that constraints met in
    state `newest`. `locked` are the rows that queries locked, where that is asked for, and `claims` what is known
    beside of rows of which some were locked.
    """

    __slots__ = (
        "_blocks",
        "_keyed",
        "_lately",
        "_oldest",
        "_released",
        "_state",
        "_states",
        "_tables",
        "_use_index",
        "apart",
        "claims",
        "footprint",
        "keys",
        "locked",
        "locks",
        "lookups",
        "met",
        "rechecks",
        "scanned",
    )

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        given: Given = PLAIN,
    ) -> None:
        """A fresh view of the states for one run of a transaction."""
        super().__init__(author, choices, given)
        self.rechecks = False
        self.locks = given.released is not None
        self.apart = given.keyed
        self._released = given.released or frozenset()
        self._blocks = 0
        self._states = states
        self._tables = states.tables
        self._state = choices.state
        self._use_index = given.use_index
        self._lately = given.lately
        self._oldest = choices.oldest_apart() if given.lately else 0
        self.locked: list[RowHistory] = []
        self.claims: list[Claim] = []
        self.footprint: list[RowHistory] = []
        self._keyed = given.keyed
        self.keys: list[int] = []
        self.scanned: set[str] = set()
        self.lookups = 0
        self.met: dict[Execution, Looked] = {}

    def suspend(self) -> Mark:
        """See `View`."""
        return None

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def current(self, table: str, row: RowHistory, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`."""
        if self.locks and locks and not self._blocks and self.statement not in self._released and row not in self._own:
            self.locked.append(row)
        return values

    def claim(self, claims: Sequence[Claim]) -> None:
        """What the answer of the statement under way says of rows that it locked."""
        if self.locks and self.statement not in self._released:
            self.claims += claims

    def aside(self) -> View:
        """See `View`."""
        return self

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        return self.rivals(table, columns, key)

    def scan(self, table: str) -> Found:
        """See `View`."""
        self.scanned.add(table)
        present = self._present(table)
        if present is None:
            return self._collect(table, self._all(table, self._reading_state()))
        own = self._own
        if not own:
            return present
        found = [pair for pair in present if pair[0] not in own]
        found += [(row, values) for row, values in own.items() if values is not None and row.table == table]
        return found

    def _highest(self, table: str) -> int | None:
        """As of `Writing`; what it looks at is no read, for the number that was given shows by itself."""
        place = None if self._free is None else self._free[0].numbered.get(table)
        present = None if place is None else self._states.rows_at(table, self._reading_state())
        if present is None or place is None or len(present) > _COUNTED:
            return None
        numbers = [values[place] for row, values in present if row not in self._own]
        numbers += [values[place] for row, values in self._own.items() if values is not None and row.table == table]
        return max((number for number in numbers if isinstance(number, int)), default=0)

    def _present(self, table: str) -> Found | None:
        """The table's rows in the state, where they are kept as a whole."""
        return None if self._tags else self._states.rows_at(table, self._state)

    def contents(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """Digests of what these tables hold as the execution under way reads them; None where they are not read whole
        and from one state."""
        return self._contents_at(tables, self._state)

    def contents_ahead(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """The same for a query that would begin next."""
        return self._contents_at(tables, self._state)

    def _contents_at(self, tables: Collection[str], state: int) -> tuple[int, ...] | None:
        if self._tags or any(row.table in tables for row in self._own):
            return None
        found: list[int] = []
        for table in tables:
            digest = self._states.contents_at(table, state)
            if digest is None:
                return None
            found.append(digest)
        return tuple(found)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        positions = tuple(columns)
        if not self._use_index or not self._states.is_indexable(table, positions):
            return self.scan(table)
        self.lookups += 1
        if self._keyed:
            self.keys.append(sought(table, positions, tuple(key)))
        if not self._lately:
            bucket = self._tables[table].bucket(positions, tuple(key))
            self.footprint.extend(bucket)
            return self._collect(table, bucket)
        rows, aside = self._having(table, positions, tuple(key), self._reading_state())
        self.footprint.extend(rows)
        if aside is not None:
            self.footprint.append(aside)
        return self._collect(table, rows)

    def _having(
        self, table: str, columns: tuple[int, ...], key: Row, state: int
    ) -> tuple[Collection[RowHistory], RowHistory | None]:
        """The rows that may have these values in a state, and what stands for others in a footprint."""
        if not self._lately:
            return self._tables[table].bucket(columns, key), None
        return self._tables[table].lately(columns, key, min(state, self._oldest), self._states.length)

    def _all(self, table: str, state: int) -> Collection[RowHistory]:
        """The rows that may be there in a state."""
        if not self._lately:
            return self._tables[table].rows
        return self._tables[table].all_lately(min(state, self._oldest), self._states.length)

    def _reading_state(self) -> int:
        """The state that is read now, but for single rows."""
        statements = self._choices.statements
        return self._state if statements is None else statements.get(self._place(), self._state)

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        newest = self._newest()
        if newest is None:
            return self.lookup(table, columns, key) if columns else self.scan(table)
        met = self._meets()
        positions = tuple(columns)
        rows: Collection[RowHistory]
        if columns and self._use_index and self._states.is_indexable(table, positions):
            rows, aside = self._having(table, positions, tuple(key), newest)
            met.rows.extend(rows)
            if aside is not None:
                met.rows.append(aside)
        else:
            rows = self._all(table, newest)
            met.tables.add(table)
        masked = self._masked()
        found: Found = []
        for row in rows:
            if row in self._own:
                continue
            position = row.changed_at(newest)
            while position in masked:
                position = row.changed_at(position - 1)
            version = row.at(position)
            if version is None:
                continue
            if version.__class__ is not tuple:
                raise OpenRead(row)
            found.append((row, version))
        return found + self.own(table)

    def _newest(self) -> int | None:
        """The state whose rows the constraints of this execution meet; None for the one that it reads."""
        newests = self._choices.newests
        return self._choices.newest if newests is None else newests.get(self._place(), self._choices.newest)

    def _masked(self) -> Collection[int]:
        """The positions whose versions constraints do not meet."""
        return ()

    def _meets(self) -> Looked:
        place = self._place()
        met = self.met.get(place)
        if met is None:
            met = self.met[place] = Looked([], set())
        return met

    def _collect(self, table: str, rows: Collection[RowHistory]) -> Found:
        own, state = self._own, self._state
        found: Found = []
        for row in rows:
            if own and row in own:
                continue
            positions = row.positions
            # mostly the newest version is the one
            version = row.versions[-1] if positions and positions[-1] <= state else row.at(state)
            if version is None:
                continue
            if version.__class__ is not tuple:
                raise OpenRead(row)
            found.append((row, version))
        return found if not own and not self._tags else self._completed(table, found)

    def _collect_apart(
        self, table: str, rows: Collection[RowHistory], version_of: Callable[[RowHistory], Version]
    ) -> Found:
        """As `_collect`, where each row's version is told by itself."""
        own = self._own
        versions = ((row, concrete(row, version_of(row))) for row in rows if row not in own)
        return self._completed(table, [(row, version) for row, version in versions if version is not None])

    def _completed(self, table: str, found: Found) -> Found:
        """Rows of states with what is known of their values, and those of the transaction's own."""
        if self._tags:
            found = [(row, tag_row(values, self._tags.get(row, {}))) for row, values in found]
        return found + self.own(table) if self._own else found

    def attempting(self, step: int) -> None:
        """See `View`."""
        self._blocks += step

    def all_rows(self) -> Iterator[RowHistory]:
        """The rows looked at, in whichever states."""
        for looked in self._all_looked():
            yield from looked.rows

    def tables_scanned(self) -> Iterator[str]:
        """The tables scanned, in whichever states."""
        for looked in self._all_looked():
            yield from looked.tables

    def _all_looked(self) -> Iterator[Looked]:
        yield from (self.plainly, self.acted, *self.met.values())

    @property
    def reads(self) -> Mapping[tuple[int, int, RowHistory], int]:
        """By (statement, execution, row) the position whose version was taken, -1 for no row; here the state tells."""
        return {}

    @property
    def changed(self) -> Collection[tuple[int, int, RowHistory]]:
        """Which of the `reads` the execution updated or deleted."""
        return ()

    @property
    def acting(self) -> Collection[Execution]:
        """The executions that write or lock, where `reads` are told."""
        return ()

    @property
    def plainly(self) -> Looked:
        """What was looked at in the state of the choices."""
        return Looked(self.footprint, self.scanned)

    @property
    def acted(self) -> Looked:
        """What was looked at in the newest state."""
        return Looked([], set())

    @property
    def overtaken(self) -> int | None:
        """The first statement that holds a row which it cannot have met; None for none."""
        return None

    def valid_since(self, state: int) -> int:
        """The lowest state from which on, up to `state`, everything looked at is unchanged."""
        return self._unchanged_since(self.plainly, state)

    def met_since(self, execution: Execution, newest: int) -> int:
        """The lowest state from which on, up to `newest`, everything that an execution's constraints met is
        unchanged."""
        return self._unchanged_since(self.met[execution], newest)

    def _unchanged_since(self, looked: Looked, state: int) -> int:
        newest = 0
        for table in looked.tables:
            changes = self._tables[table].changes
            later = bisect_right(changes, state)
            newest = max(newest, changes[later - 1] if later else 0)
        for row in looked.rows:
            positions = row.positions
            # mostly the newest version is the one
            changed = positions[-1] if positions and positions[-1] <= state else row.changed_at(state)
            if changed > newest:
                newest = changed
        return newest
