"""One transaction run concretely on chosen states (paper §3.2 VA-TDL; DESIGN §7 *run concretely first*).

The view records what was looked at, rows that did not match included, so that a run's validity can be carried over to
other states. Does not know which states a level allows.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.effects import within
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row
from troubadour.execution.choices import Choices, Execution, Looked, OpenRead, Reading
from troubadour.execution.free import Drawn, FreeValues
from troubadour.execution.history import RowHistory, StateMap, TableHistory, Version
from troubadour.execution.tagged import Address, Key, keys_of, plain, tag_row
from troubadour.model.log import TransactionId


class ConcreteView:
    """A `View` of the state map under `Choices`; collects the write map and the footprint.

    `footprint` are the rows looked at in states and `scanned` the tables scanned whole; `reads`, kept on request, says
    for each (statement, execution, row) which position's version was taken, -1 for no row, and `changed` which of them
    the execution updated or deleted. `picked`: by address which of how many ways the run went. `met` are, by execution,
    the rows and whole tables that constraints met in state `newest`.
    """

    __slots__ = (
        "_acting",
        "_acts",
        "_address",
        "_author",
        "_blocks",
        "_caller",
        "_choices",
        "_drawn",
        "_free",
        "_insertions",
        "_kind",
        "_lately",
        "_oldest",
        "_own",
        "_plain",
        "_reading",
        "_reads_wanted",
        "_released",
        "_state",
        "_states",
        "_tables",
        "_tags",
        "_use_index",
        "acted",
        "changed",
        "execution",
        "footprint",
        "locked",
        "locks",
        "met",
        "picked",
        "plainly",
        "reads",
        "rechecks",
        "savepoints",
        "scanned",
        "statement",
    )

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        *,
        use_index: bool = True,
        reads: bool = False,
        free: tuple[FreeValues, int] | None = None,
        tags: Mapping[RowHistory, Mapping[int, Key]] | None = None,
        reading: Reading | None = None,
        acts: bool = False,
        released: frozenset[int] | None = None,
        lately: bool = False,
    ) -> None:
        """`free` are the values that the DBMS chose, and the item that they are for; with `tags` those in stored rows
        tell where they come from. `reading`: each execution reads a state of its own, and tells so.
        `acts`: those that write or lock read the newest state (`acted`), the others that of the choices (`plainly`).
        With `released` the rows that queries lock are `locked`, but for what these statements lock and blocks with
        exception handlers. `lately`: rows that nothing names may be left out where they were not there any more in the
        states read."""
        self._reading = reading
        self.locks = released is not None
        self._released = released or frozenset()
        self._blocks = 0
        self.locked: list[RowHistory] = []
        self.rechecks = reading is not None and reading.rechecks
        self._address: Execution = (0, -1)
        self._states = states
        self._tables = states.tables
        self._author = author
        self._choices = choices
        self._state = choices.state
        whole = choices.exceptions is None and choices.masked is None and not choices.hidden and not reads
        self._plain = reading is not None or whole
        self._use_index = use_index
        self._lately = lately
        self._oldest = _oldest(choices) if lately else 0
        self._own: dict[RowHistory, Row | None] = {}
        self._insertions: dict[str, int] = {}
        self.savepoints: list[tuple[str, Mark]] = []
        self._reads_wanted = reads
        self._free = free
        self._drawn: Drawn | None = None
        self._tags = tags
        self.reads: dict[tuple[int, int, RowHistory], int] = {}
        self.changed: set[tuple[int, int, RowHistory]] = set()
        self._acts = acts
        self._acting = False
        self._kind: Acting = "reads"
        self._caller: Acting | None = None
        self.acted = Looked([], set())
        self.plainly = Looked([], set())
        self.footprint, self.scanned = self.plainly.rows, self.plainly.tables
        self.met: dict[Execution, Looked] = {}
        self.picked: dict[Address, tuple[int, int]] = {}
        self.statement = 0
        self.execution = -1

    def enter_statement(self, index: int) -> None:
        """The logged statement `index` begins."""
        self.statement = index
        self.execution = -1

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""
        self.execution += 1
        self._kind = acting = within(acting, self._caller)
        if self._reading is not None:
            address = self.statement, self.execution
            if self._reading.by_row and acting not in ("reads", "inserts"):
                self._reading.moments.add(address)
            self._enter(address)
        if self._acts:
            if acting == "mixed":
                raise Unsupported("a locking read of which parts do not lock")
            self._turn(acting != "reads")

    def _turn(self, acting: bool) -> None:
        """What is read from now on is of the newest state, or of the snapshot."""
        self._acting = acting
        self._state = self._states.length if acting else self._choices.state
        looked = self.acted if acting else self.plainly
        self.footprint, self.scanned = looked.rows, looked.tables

    def _enter(self, execution: Execution) -> None:
        """What is read from now on, this execution reads."""
        assert self._reading is not None
        self._address = execution
        choices = self._choices
        self._state = choices.state if choices.defaults is None else choices.defaults[execution[0]]
        if self._reading.by_row:
            in_moments = execution in self._reading.moments
            if in_moments and choices.acting is not None:
                self._state = choices.acting[execution[0]]
            self._plain = not in_moments or choices.exceptions is None
        if choices.statements is not None:
            self._state = choices.statements.get(execution, self._state)
        looked = self._reading.looked.setdefault(execution, Looked([], set()))
        self.footprint, self.scanned = looked.rows, looked.tables

    def suspend(self) -> Mark:
        """See `View`."""
        mark = self._address, self._acting, self._kind, self._caller
        self._caller = self._kind
        return mark

    def resume(self, mark: Mark) -> None:
        """See `View`."""
        address, acting, self._kind, self._caller = mark
        if self._reading is not None:
            self._enter(address)
        if self._acts:
            self._turn(acting)

    def current(self, table: str, row: RowHistory, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`. Rows that were written or locked stay so until the commit, if nothing undoes that: the newest
        version is the one."""
        if row in self._own:
            return values
        if self._reading is None:
            if self.locks and locks and not self._blocks and self.statement not in self._released:
                self.locked.append(row)
            return values
        newest = row.changed_at(self._states.length)
        if self._reading.by_row:
            if locks and self._address in self._reading.moments and not self._may_release():
                self._keep(row, newest)
            return values
        if newest <= self._state:
            return values
        if self._may_release():
            state, met = self._meeting(self._address)
            met.rows.append(row)
            position = row.changed_at(max(state, self._state))
            if position < newest and locks:
                self._reading.older.append((self.statement, newest))
            return values if position <= self._state else self._concrete(row, position)
        if not locks and self._is_late(newest):
            return None
        if locks:
            self._hold(newest)
        return self._concrete(row, newest)

    def _keep(self, row: RowHistory, newest: int) -> None:
        """The row is written or locked as it was read: nobody writes it any more before the commit."""
        assert self._reading is not None
        if row.changed_at(self._moment(row)) != newest:
            self._reading.older.append((self.statement, newest))
        else:
            self._reading.kept[self._address] = max(newest, self._reading.kept.get(self._address, 0))

    def _moment(self, row: RowHistory) -> int:
        """The state that an execution which reads row by row takes a row from."""
        return (self._choices.exceptions or {}).get((*self._address, row.address), self._state)

    def _may_release(self) -> bool:
        """Whether what the statement locks may be free again before the end."""
        assert self._reading is not None
        return self._reading.blocks > 0 or self.statement in self._reading.released

    def _meeting(self, address: Execution) -> tuple[int, Looked]:
        """The state whose rows the constraints of an execution meet at statement scope, and what they met."""
        choices = self._choices
        state = None if choices.newests is None else choices.newests.get(address)
        if state is None:
            state = choices.newest if choices.defaults is None else self._last(address)
        met = self.met.get(address)
        if met is None:
            met = self.met[address] = Looked([], set())
        assert state is not None
        return state, met

    def _last(self, address: Execution) -> int:
        """The newest state of an execution of which nothing else is said."""
        choices, reading = self._choices, self._reading
        assert choices.defaults is not None
        if choices.acting is not None and reading is not None and address in reading.moments:
            return choices.acting[address[0]]
        return choices.defaults[address[0]]

    def _hold(self, position: int) -> None:
        assert self._reading is not None
        if self._is_late(position):
            self._reading.overtaken.append((self.statement, position))

    def _is_late(self, position: int) -> bool:
        """Whether that commit was sent after the statement's answer."""
        late = self._choices.masked
        return late is not None and position in late[self.statement]

    def _concrete(self, row: RowHistory, state: int) -> Row | None:
        version = row.at(state)
        if version is None or version.__class__ is tuple:
            return version
        raise OpenRead(row)

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowHistory, Row]]:
        """See `View`."""
        if self._may_release():
            found = self.rivals(table, columns, key)
            self._note_older(found)
            return found
        positions = tuple(columns)
        usable = bool(columns) and self._use_index and self._states.is_indexable(table, positions)
        newest = self._states.length
        if usable:
            rows, _ = self._tables[table].lately(positions, tuple(key), newest, newest)
        else:
            rows = self._tables[table].all_lately(newest, newest)
        found = []
        for row in rows:
            version = None if row in self._own else self._concrete(row, self._states.length)
            if version is not None:
                if usable and tuple([version[column] for column in positions]) == tuple(key):
                    self._hold(row.changed_at(self._states.length))
                found.append((row, version))
        return found + [(row, values) for row, values in self._own.items() if values is not None and row.table == table]

    def _note_older(self, found: Iterable[tuple[RowHistory, Row]]) -> None:
        assert self._reading is not None
        for row, values in found:
            if row not in self._own:
                newest = row.changed_at(self._states.length)
                if self._concrete(row, newest) != values:
                    self._reading.older.append((self.statement, newest))

    def scan(self, table: str) -> list[tuple[RowHistory, Row]]:
        """See `View`."""
        self.scanned.add(table)
        present = self._states.rows_at(table, self._state) if self._plain and not self._tags else None
        if present is None:
            return self._collect(table, self._all(table, self._reading_state()))
        own = self._own
        if not own:
            return present
        found = [pair for pair in present if pair[0] not in own]
        found += [(row, values) for row, values in own.items() if values is not None and row.table == table]
        return found

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowHistory, Row]]:
        """See `View`."""
        positions = tuple(columns)
        if not self._use_index or not self._states.is_indexable(table, positions):
            return self.scan(table)
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
        """The state that is read now, but for exceptions."""
        statements = self._choices.statements
        if statements is None:
            return self._state
        return statements.get((self.statement, self.execution) if self._reading is None else self._address, self._state)

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[RowHistory, Row]]:
        """See `View`."""
        if self._acts:
            return self.lookup(table, columns, key) if columns else self.scan(table)
        newest = self._choices.newest
        address = (self.statement, self.execution) if self._reading is None else self._address
        if self._choices.newests is not None:
            newest = self._choices.newests.get(address, newest)
        if newest is None and self._choices.hidden:
            newest = self._choices.state
        if newest is None and self._choices.defaults is not None:
            newest = self._last(address)
        if newest is None:
            return self.lookup(table, columns, key) if columns else self.scan(table)
        met = self.met.get(address)
        if met is None:
            met = self.met[address] = Looked([], set())
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
        masked: Collection[int] = ()
        if self._choices.masked is not None and self._reading is None:
            masked = self._choices.masked[self.statement]
        found: list[tuple[RowHistory, Row]] = []
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

    def own(self, table: str) -> list[tuple[RowHistory, Row]]:
        """See `View`."""
        return [(row, values) for row, values in self._own.items() if values is not None and row.table == table]

    def _collect(self, table: str, rows: Collection[RowHistory]) -> list[tuple[RowHistory, Row]]:
        own = self._own
        found: list[tuple[RowHistory, Row]] = []
        for row in rows:
            if own and row in own:
                continue
            version = row.at(self._state) if self._plain else self._read(row)
            if version is None:
                continue
            if version.__class__ is not tuple:
                raise OpenRead(row)
            found.append((row, version))
        if self._tags:
            found = [(row, tag_row(values, self._tags.get(row, {}))) for row, values in found]
        if own:
            for row, values in own.items():
                if values is not None and row.table == table:
                    found.append((row, values))
        return found

    def _read(self, row: RowHistory) -> Version:
        if self._reading is not None:
            return row.at(self._moment(row))
        choices = self._choices
        state = self._state
        if choices.statements is not None:
            state = choices.statements.get((self.statement, self.execution), state)
        if choices.exceptions is not None:
            state = choices.exceptions.get((self.statement, self.execution, row.address), state)
        position = row.changed_at(state)
        masked = choices.masked[self.statement] if choices.masked is not None else ()
        hidden = choices.hidden or ()
        while position in masked or position in hidden:
            position = row.changed_at(position - 1)
        if self._reads_wanted:
            self.reads[self.statement, self.execution, row] = position
        return row.at(position)

    def update(self, table: str, row: RowHistory, values: Row) -> None:
        """See `View`."""
        self._own[row] = values
        if self._reads_wanted:
            self.changed.add((self.statement, self.execution, row))

    def delete(self, table: str, row: RowHistory) -> None:
        """See `View`."""
        self._own[row] = None
        if self._reads_wanted:
            self.changed.add((self.statement, self.execution, row))

    def insert(self, table: str, values: Row) -> RowHistory:
        """See `View`."""
        ordinal = self._insertions.get(table, 0)
        self._insertions[table] = ordinal + 1
        row = RowHistory(table, self._author, ordinal)
        self._own[row] = values
        return row

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """See `View`. Raises Unsupported where nobody keeps the values."""
        drawn = self._drawing(f"a value that the DBMS chooses ({source})")
        return drawn.value(source, name, type, (self.statement, self.execution))

    def _drawing(self, what: str) -> Drawn:
        if self._drawn is None:
            if self._free is None:
                raise Unsupported(what)
            self._drawn = Drawn(*self._free)
        return self._drawn

    def failed(self) -> None:
        """A statement failed, so that what it drew is not known."""
        if self._drawn is not None:
            self._drawn.failed()

    def tell(self, keys: Iterable[Key]) -> None:
        """The observations show these values, whatever was read."""
        if self._drawn is not None:
            self._drawn.tell(keys)

    @property
    def drawn(self) -> Mapping[Address, tuple[str, str, Value]]:
        """The free values of this run."""
        return {} if self._drawn is None else self._drawn.made

    def choose(self, count: int, what: str) -> int:
        """See `View`. Raises Unsupported where nobody keeps the choice."""
        place = self.statement, self.execution
        address = (*place, self._drawing(what).ordinal(place))
        number = min((self._choices.picks or {}).get(address, 0), count - 1)
        self.picked[address] = number, count
        return number

    def arbitrary(self, what: str) -> None:
        """See `View`. Raises Unsupported where nobody keeps the choice."""
        self._drawing(what).arbitrary(what)

    def attempting(self, step: int) -> None:
        """See `View`."""
        self._blocks += step
        if self._reading is not None:
            self._reading.blocks += step

    def savepoint(self) -> Mark:
        """See `View`."""
        return self._own.copy(), self._insertions.copy(), 0 if self._reading is None else len(self._reading.older)

    def rollback(self, mark: Mark) -> None:
        """See `View`; ordinals are given again, so that replay names the rows alike."""
        own, insertions, older = mark
        self._own = own.copy()
        self._insertions = insertions.copy()
        if self._reading is not None:
            del self._reading.older[older:]

    def writes(self) -> dict[RowHistory, Row | None]:
        """The final write map; rows inserted and deleted again are left out."""
        found = {row: values for row, values in self._own.items() if values is not None or row.positions}
        if self.drawn or self._tags:
            return {row: None if row_ is None else tuple(map(plain, row_)) for row, row_ in found.items()}
        return found

    def cells(self) -> dict[RowHistory, dict[int, Key]]:
        """Which columns of the rows written hold a free value."""
        if not self.drawn:
            return {}
        return {row: keys for row, values in self._own.items() if values is not None and (keys := keys_of(values))}

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
        if self._reading is not None:
            yield from self._reading.looked.values()

    def states_read(self) -> Iterator[tuple[Execution, int]]:
        """Each execution begun and the state that it reads, in the order in which they began."""
        assert self._reading is not None
        choices = self._choices
        for execution in self._reading.looked:
            by_default = choices.acting if execution in self._reading.moments else choices.defaults
            state = choices.state if by_default is None else by_default[execution[0]]
            yield execution, (choices.statements or {}).get(execution, state)

    def is_by_row(self, execution: Execution) -> bool:
        """Whether it reads each row at a moment of its own."""
        assert self._reading is not None
        return execution in self._reading.moments

    def kept_until(self, execution: Execution) -> int:
        """The newest position of a row that an execution which reads row by row writes or locks; 0 for none."""
        assert self._reading is not None
        return self._reading.kept.get(execution, 0)

    def looked_at(self, execution: Execution) -> Looked:
        """What an execution looked at."""
        assert self._reading is not None
        return self._reading.looked[execution]

    @property
    def overtaken(self) -> int | None:
        """The first statement that holds a row which it cannot have met; None for none."""
        if self._reading is None:
            return None
        return min((statement for statement, _ in (*self._reading.overtaken, *self._reading.older)), default=None)

    def same_since(self, execution: Execution, state: int) -> int:
        """The lowest state from which on, up to `state`, everything that an execution looked at is unchanged."""
        assert self._reading is not None
        looked = self._reading.looked[execution]
        return self._unchanged_since(looked.tables, looked.rows, state)

    def valid_since(self, state: int) -> int:
        """The lowest state from which on, up to `state`, everything looked at is unchanged."""
        looked = self.plainly if self._acts else Looked(self.footprint, self.scanned)
        return self._unchanged_since(looked.tables, looked.rows, state)

    def met_since(self, execution: Execution, newest: int) -> int:
        """The lowest state from which on, up to `newest`, everything that an execution's constraints met is
        unchanged."""
        met = self.met[execution]
        return self._unchanged_since(met.tables, met.rows, newest)

    def _unchanged_since(self, tables: Iterable[str], rows: Iterable[RowHistory], state: int) -> int:
        newest = 0
        for table in tables:
            newest = max(newest, _newest_change(self._tables[table], state))
        for row in rows:
            changed = row.changed_at(state)
            if changed > newest:
                newest = changed
        return newest


def _oldest(choices: Choices) -> int:
    """The newest state at and before which single rows may be read from other states than is said for all."""
    odd = [*(choices.exceptions or {}).values()]
    odd += [position - 1 for late in choices.masked or () for position in late]
    odd += [position - 1 for position in choices.hidden or ()]
    return min(odd, default=sys.maxsize)


def _newest_change(table: TableHistory, state: int) -> int:
    changes = table.changes
    if changes and changes[-1] <= state:
        return changes[-1]
    low, high = 0, len(changes)
    while low < high:
        middle = (low + high) // 2
        if changes[middle] <= state:
            low = middle + 1
        else:
            high = middle
    return changes[low - 1] if low else 0
