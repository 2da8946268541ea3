"""Concrete runs in which every execution reads a state of its own.

What writes or locks takes the newest version of each row that it found, or (InnoDB's READ COMMITTED) reads row by row.
Does not know which states a level allows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from sql_semantics.ir.walks.effects import within
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.values.types import Value
from sql_semantics.view import Acting, Mark, Row, RowId, View
from troubadour.execution.free.choices import Choices, Execution, Looked, Reading, concrete
from troubadour.execution.given import PLAIN, Given
from troubadour.execution.states.history import RowHistory
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.writing import Found
from troubadour.model.log import TransactionId


class StatementView(ConcreteView):
    """A view in which each execution reads the state that the choices give it, and `reading` tells what it met."""

    __slots__ = ("_address", "_caller", "_kind", "_plain", "_reading")

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        reading: Reading,
        given: Given = PLAIN,
    ) -> None:
        """See `ConcreteView`."""
        super().__init__(states, author, choices, given)
        self._reading = reading
        self._address: Execution = (0, -1)
        self._plain = True
        self._kind: Acting = "reads"
        self._caller: Acting | None = None
        self.rechecks = reading.rechecks

    def enter_statement(self, index: int) -> None:
        """See `ConcreteView`."""
        super().enter_statement(index)
        self._reading.owned[index] = self._own.copy()

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""
        super().begin(acting)
        self._kind = within(acting, self._caller)
        address = self.statement, self.execution
        if self._reading.by_row and self._kind not in ("reads", "inserts"):
            self._reading.moments.add(address)
        self._enter(address)

    def _enter(self, execution: Execution) -> None:
        """What is read from now on, this execution reads."""
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
        mark = self._address, self._kind, self._caller
        self._caller = self._kind
        return mark

    def resume(self, mark: Mark) -> None:
        """See `View`."""
        address, self._kind, self._caller = mark
        self._enter(address)

    def aside(self) -> View:
        """See `View`."""
        return _Aside(self) if self._address in self._reading.moments else self

    @contextmanager
    def looking_aside(self) -> Iterator[None]:
        """What is read in this block, a subquery of the execution reads: one state."""
        before = self._state, self._plain, self.footprint, self.scanned
        self._state, looked = self._reading.asides.setdefault(self._address, (self._aside_state(), Looked([], set())))
        self._plain, self.footprint, self.scanned = True, looked.rows, looked.tables
        try:
            yield
        finally:
            self._state, self._plain, self.footprint, self.scanned = before

    def _aside_state(self) -> int:
        choices = self._choices
        if choices.asides is None:
            return self._state
        default = choices.state if choices.defaults is None else choices.defaults[self._address[0]]
        return choices.asides.get(self._address, default)

    def current(self, table: str, row: RowHistory, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`. Rows that were written or locked stay so until the commit, if nothing undoes that: the newest
        version is the one."""
        if row in self._own:
            return values
        newest = row.changed_at(self._states.length)
        if self._reading.by_row:
            if locks and self._address in self._reading.moments and not self._may_release():
                self._keep(row, newest)
            return values
        if newest <= self._state:
            return values
        if self._may_release():
            newest_met = self._newest()
            assert newest_met is not None
            self._meets().rows.append(row)
            position = row.changed_at(max(newest_met, self._state))
            if position < newest and locks:
                self._reading.older.append((self.statement, newest))
            return values if position <= self._state else concrete(row, row.at(position))
        if not locks and self._is_late(newest):
            return None
        if locks:
            self._hold(newest)
        return concrete(row, row.at(newest))

    def _keep(self, row: RowHistory, newest: int) -> None:
        """The row is written or locked as it was read: nobody writes it any more before the commit."""
        if row.changed_at(self._moment(row)) != newest:
            self._reading.older.append((self.statement, newest))
        else:
            self._reading.kept[self._address] = max(newest, self._reading.kept.get(self._address, 0))

    def _moment(self, row: RowHistory) -> int:
        """The state that an execution which reads row by row takes a row from."""
        return (self._choices.exceptions or {}).get((*self._address, row.address), self._state)

    def _may_release(self) -> bool:
        """Whether what the statement locks may be free again before the end."""
        return self._blocks > 0 or self.statement in self._reading.released

    def _hold(self, position: int) -> None:
        if self._is_late(position):
            self._reading.overtaken.append((self.statement, position))

    def _is_late(self, position: int) -> bool:
        """Whether that commit was sent after the statement's answer."""
        late = self._choices.masked
        return late is not None and position in late[self.statement]

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        if self._may_release():
            found = self.rivals(table, columns, key)
            self._note_older(found)
            return found
        positions = tuple(columns)
        usable = bool(columns) and self._use_index and self._states.is_indexable(table, positions)
        newest = self._states.length
        rows: Collection[RowHistory]
        if usable:
            rows, _ = self._tables[table].lately(positions, tuple(key), newest, newest)
        else:
            rows = self._tables[table].all_lately(newest, newest)
        found = []
        for row in rows:
            version = None if row in self._own else concrete(row, row.at(self._states.length))
            if version is not None:
                if usable and tuple([version[column] for column in positions]) == tuple(key):
                    self._hold(row.changed_at(self._states.length))
                found.append((row, version))
        return found + self.own(table)

    def _note_older(self, found: Iterable[tuple[RowHistory, Row]]) -> None:
        for row, values in found:
            if row not in self._own:
                newest = row.changed_at(self._states.length)
                if concrete(row, row.at(newest)) != values:
                    self._reading.older.append((self.statement, newest))

    def _place(self) -> Execution:
        return self._address

    def _newest(self) -> int | None:
        newest, choices = super()._newest(), self._choices
        if newest is not None or choices.defaults is None:
            return newest
        in_moments = self._address in self._reading.moments
        return (choices.acting if in_moments and choices.acting else choices.defaults)[self._address[0]]

    def contents(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """See `ConcreteView`."""
        return super().contents(tables) if self._plain else None

    def contents_ahead(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """See `ConcreteView`."""
        choices, execution = self._choices, (self.statement, self.execution + 1)
        state = choices.state if choices.defaults is None else choices.defaults[self.statement]
        if choices.statements is not None:
            state = choices.statements.get(execution, state)
        return self._contents_at(tables, state)

    def _present(self, table: str) -> Found | None:
        return super()._present(table) if self._plain else None

    def _collect(self, table: str, rows: Collection[RowHistory]) -> Found:
        if self._plain:
            return super()._collect(table, rows)
        return self._collect_apart(table, rows, lambda row: row.at(self._moment(row)))

    def savepoint(self) -> Mark:
        """See `View`."""
        return super().savepoint(), len(self._reading.older)

    def rollback(self, mark: Mark) -> None:
        """See `View`."""
        whole, older = mark
        super().rollback(whole)
        del self._reading.older[older:]

    def states_read(self) -> Iterator[tuple[Execution, int]]:
        """Each execution begun and the state that it reads, in the order in which they began."""
        choices = self._choices
        for execution in self._reading.looked:
            by_default = choices.acting if execution in self._reading.moments else choices.defaults
            state = choices.state if by_default is None else by_default[execution[0]]
            yield execution, (choices.statements or {}).get(execution, state)

    def is_by_row(self, execution: Execution) -> bool:
        """Whether it reads each row at a moment of its own."""
        return execution in self._reading.moments

    def kept_until(self, execution: Execution) -> int:
        """The newest position of a row that an execution which reads row by row writes or locks; 0 for none."""
        return self._reading.kept.get(execution, 0)

    def written_before(self, statement: int) -> object:
        """What tells apart what the transaction had written before a statement that was begun."""
        owned = self._reading.owned[statement]
        return frozenset(((row.table, row.author, row.ordinal), values) for row, values in owned.items())

    def looked_at(self, execution: Execution) -> Looked:
        """What an execution looked at."""
        return self._reading.looked[execution]

    def aside_since(self, execution: Execution) -> tuple[int, int] | None:
        """The state that subqueries of an UPDATE read beside its rows, and the lowest from which on they look at the
        same; None where there are none."""
        found = self._reading.asides.get(execution)
        return None if found is None else (found[0], self._unchanged_since(found[1], found[0]))

    def _all_looked(self) -> Iterator[Looked]:
        yield from super()._all_looked()
        yield from self._reading.looked.values()
        yield from (looked for _, looked in self._reading.asides.values())

    @property
    def overtaken(self) -> int | None:
        """The first statement that holds a row which it cannot have met; None for none."""
        return min((statement for statement, _ in (*self._reading.overtaken, *self._reading.older)), default=None)

    def same_since(self, execution: Execution, state: int) -> int:
        """The lowest state from which on, up to `state`, everything that an execution looked at is unchanged."""
        return self._unchanged_since(self._reading.looked[execution], state)


class _Aside(DelegatingView):
    """What the subqueries of an UPDATE see that takes its rows one by one."""

    def __init__(self, view: StatementView) -> None:
        super().__init__(view)
        self._whole = view

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """See `View`."""
        with self._whole.looking_aside():
            return list(self._whole.scan(table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """See `View`."""
        with self._whole.looking_aside():
            return list(self._whole.lookup(table, columns, key))
