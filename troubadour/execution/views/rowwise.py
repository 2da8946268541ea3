"""Concrete runs in which single rows come from other states, and those that act on the newest rows.

At row scope each row may come from a state of its own; where times or visibility hide commits, the next older version
of a row stands. At MySQL's repeatable read what writes or locks looks at the newest rows, and plain queries at the
snapshot. Does not know which states a level allows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.walks.effects import within
from sql_semantics.values.text import differ_for_certain
from sql_semantics.values.types import Value
from sql_semantics.view import Acting, Mark, Row
from troubadour.execution.free.choices import Choices, Execution, Looked, concrete
from troubadour.execution.free.tagged import plain
from troubadour.execution.given import PLAIN, Given
from troubadour.execution.states.history import RowHistory, Version
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.first_of_key import Sought, by_one_key, shown_of_each_key
from troubadour.execution.views.writing import Found
from troubadour.model.log import TransactionId


class RowView(ConcreteView):
    """A view in which a row's version is chosen row by row; with `wanted` it tells in `reads` which it took. `acting`:
    the executions that write or lock."""

    __slots__ = ("_queries", "_wanted", "_whole", "acting", "changed", "reads")

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        given: Given = PLAIN,
        *,
        wanted: bool = False,
    ) -> None:
        """See `ConcreteView`."""
        super().__init__(states, author, choices, given)
        self._wanted = wanted
        self._queries = True
        self._whole = not wanted and not takes_rows_apart(choices)
        self.reads: dict[tuple[int, int, RowHistory], int] = {}
        self.changed: set[tuple[int, int, RowHistory]] = set()
        self.acting: set[Execution] = set()

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""
        super().begin(acting)
        self._queries = acting not in ("acts", "locks", "mixed")
        if not self._queries:
            self.acting.add((self.statement, self.execution))

    def suspend(self) -> Mark:
        """See `View`."""
        return self._queries

    def resume(self, mark: Mark) -> None:
        """See `View`."""
        self._queries = mark

    def contents(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """See `ConcreteView`."""
        return super().contents(tables) if self._whole else None

    def contents_ahead(self, tables: Collection[str]) -> tuple[int, ...] | None:
        """See `ConcreteView`."""
        return self._contents_at(tables, self._choices.state) if self._whole else None

    def _present(self, table: str) -> Found | None:
        return super()._present(table) if self._whole else None

    def _collect(self, table: str, rows: Collection[RowHistory]) -> Found:
        if self._whole:
            return super()._collect(table, rows)
        return self._collect_apart(table, rows, self._read)

    def _read(self, row: RowHistory) -> Version:
        choices = self._choices
        state, cuts = self._state, choices.cuts if self._queries else None
        if choices.statements is not None:
            state = choices.statements.get((self.statement, self.execution), state)
        if choices.exceptions is not None:
            excepted = choices.exceptions.get((self.statement, self.execution, row.address))
            if excepted is not None:
                state, cuts = excepted, None
        position = row.changed_at(state)
        masked = choices.masked[self.statement] if choices.masked is not None else ()
        hidden = choices.hidden or ()
        while position in masked or position in hidden:
            position = row.changed_at(position - 1)
        if cuts is not None:
            place = self.statement, self.execution
            while position in masked or (position in cuts and place <= cuts[position]):
                position = row.changed_at(position - 1)
        if self._wanted:
            self.reads[self.statement, self.execution, row] = position
        return row.at(position)

    def _newest(self) -> int | None:
        newest = super()._newest()
        return self._choices.state if newest is None and self._choices.hidden else newest

    def _masked(self) -> Collection[int]:
        masked = self._choices.masked
        return () if masked is None else masked[self.statement]

    def update(self, table: str, row: RowHistory, values: Row) -> None:
        """See `View`."""
        super().update(table, row, values)
        if self._wanted:
            self.changed.add((self.statement, self.execution, row))

    def delete(self, table: str, row: RowHistory) -> None:
        """See `View`."""
        super().delete(table, row)
        if self._wanted:
            self.changed.add((self.statement, self.execution, row))


def takes_rows_apart(choices: Choices) -> bool:
    """Whether some row may come from another state than the rest."""
    apart = (choices.exceptions, choices.statements, choices.masked, choices.cuts)
    return bool(choices.hidden) or any(part is not None for part in apart)


class OwnStateView(RowView):
    """A view whose constraints, too, meet what it reads: nothing that is hidden from it is in its way. `by_columns`:
    the rows that lookups found, and by which columns."""

    __slots__ = ("by_columns",)

    def __init__(self, states: StateMap, author: TransactionId, choices: Choices, given: Given = PLAIN) -> None:
        """See `ConcreteView`."""
        super().__init__(states, author, choices, given)
        self.by_columns: list[tuple[frozenset[int], RowHistory]] = []

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        found = super().lookup(table, columns, key)
        positions = frozenset(columns)
        self.by_columns += [(positions, row) for row, _ in found]
        return found

    def _newest(self) -> int | None:
        return None


class ActingView(RowView):
    """A view in which what writes or locks looks at the newest state (`acted`), the rest at that of the choices
    (`plainly`). InnoDB keeps versions by clustered key: the snapshot's row gives way to one's own with the same key,
    though that may be a new row, and not to one's own version of the same row under another key."""

    __slots__ = ("_caller", "_kind", "_newly", "_older", "_once", "_sought", "_touched")

    def __init__(
        self,
        states: StateMap,
        author: TransactionId,
        choices: Choices,
        given: Given = PLAIN,
        *,
        wanted: bool = False,
    ) -> None:
        """See `ConcreteView`."""
        super().__init__(states, author, choices, given, wanted=wanted)
        self._kind: Acting = "reads"
        self._caller: Acting | None = None
        self._newly = Looked([], set())
        self._older = Looked(self.footprint, self.scanned)
        self._touched: dict[str, set[Row]] = {}
        self._once = given.once or {}
        self._sought: Sought = None

    @property
    def plainly(self) -> Looked:
        """See `ConcreteView`."""
        return self._older

    @property
    def acted(self) -> Looked:
        """See `ConcreteView`."""
        return self._newly

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""
        super().begin(acting)
        self._kind = within(acting, self._caller)
        if self._kind == "mixed":
            raise Unsupported("a locking read of which parts do not lock")
        self._turn()

    def _turn(self) -> None:
        """What is read from now on is of the newest state, or of the snapshot."""
        acting = self._kind != "reads"
        self._state = self._states.length if acting else self._choices.state
        looked = self._newly if acting else self._older
        self.footprint, self.scanned = looked.rows, looked.tables

    def scan(self, table: str) -> Found:
        """See `View`."""
        if self._kind == "reads" and table in self._touched:
            self.scanned.add(table)
            return self._collect(table, self._all(table, self._reading_state()))
        return super().scan(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        if self._kind == "reads" and table in self._once.get(self.statement, ()):
            columns, key = by_one_key(self._tables[table].schema, columns, key)
        self._sought = columns, key
        try:
            return super().lookup(table, columns, key)
        finally:
            self._sought = None

    def _collect(self, table: str, rows: Collection[RowHistory]) -> Found:
        if self._kind != "reads" or table not in self._touched:
            return super()._collect(table, rows)
        columns = self._tables[table].schema.clustered
        touched, exact = self._touched[table], self._states.is_indexable(table, columns)
        found: Found = []
        for row in rows:
            version = concrete(row, self._read(row))
            if version is None:
                continue
            key = tuple([version[column] for column in columns])
            if key in touched:
                continue
            unsure = not exact and (row in self._own or row.at(self._states.length) is None)
            if unsure and not all(differ_for_certain(key, other) for other in touched):
                raise Unsupported("the snapshot's version of a row, where another text may be the same key")
            found.append((row, version))
        found, once = self._completed(table, found), self._once.get(self.statement, {})
        if table not in once:
            return found
        return shown_of_each_key(self, self._tables[table].schema, found, self._sought, loose=once[table])

    def update(self, table: str, row: RowHistory, values: Row) -> None:
        """See `View`."""
        self._touch(table, row, values)
        super().update(table, row, values)

    def delete(self, table: str, row: RowHistory) -> None:
        """See `View`."""
        self._touch(table, row, None)
        super().delete(table, row)

    def insert(self, table: str, values: Row) -> RowHistory:
        """See `View`."""
        self._touch(table, None, values)
        return super().insert(table, values)

    def _touch(self, table: str, row: RowHistory | None, values: Row | None) -> None:
        """Note the clustered keys of a row that is written, before and after."""
        columns = self._tables[table].schema.clustered
        if not columns:
            return
        before = None
        if row is not None:
            before = self._own[row] if row in self._own else concrete(row, row.at(self._states.length))
        touched = self._touched.setdefault(table, set())
        for version in (before, values):
            if version is not None:
                touched.add(tuple([plain(version[column]) for column in columns]))

    def savepoint(self) -> Mark:
        """See `View`."""
        return super().savepoint(), {table: set(keys) for table, keys in self._touched.items()}

    def rollback(self, mark: Mark) -> None:
        """See `View`."""
        whole, touched = mark
        super().rollback(whole)
        self._touched = {table: set(keys) for table, keys in touched.items()}

    def suspend(self) -> Mark:
        """See `View`."""
        mark = self._kind, self._caller
        self._caller = self._kind
        return mark

    def resume(self, mark: Mark) -> None:
        """See `View`."""
        self._kind, self._caller = mark
        self._turn()

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Found:
        """See `View`."""
        return self.lookup(table, columns, key) if columns else self.scan(table)
