"""The transactions of an explained log, run again on other versions of single rows (Adya 1999, §4.2; Emme §3).

Whether a transaction depends on a version that it looked at is told by one question: with the row as another state has
it, does it answer and write the same? So predicates, aggregates and whole programs need no rules of their own. Does not
know anomalies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.rendering import render_row
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass, field
from sql_semantics.run.memory import MemoryView
from sql_semantics.view import Row
from troubadour.execution.free.values import json_of
from troubadour.execution.initial.rows import initial_state
from troubadour.execution.prepared import Preparations, PreparedTransaction
from troubadour.model.log import InitialTable, Log, Transaction, TransactionId
from troubadour.model.witness import TransactionView, Witness
from troubadour.proof.wording import key_text
from troubadour.replay.checker import Replay
from troubadour.replay.commit_tests.levels import level_of
from troubadour.replay.commit_tests.times import times_of
from troubadour.replay.refusal import Refusal
from troubadour.replay.step import Step
from troubadour.replay.store import Versions, Writes, rows_of
from troubadour.replay.witness.listed import choices_of, exceptions_of, hidden_of, initial_of, newest_of, statements_of
from troubadour.replay.witness.reads import Exceptions, RowStates

Looked = tuple[int, str]
"""A row looked at by a statement: its 0-based index and the row's name."""


class Unexplained(Exception):
    """The witness does not explain the log: nothing can be read from it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run went: why it does not fit, where it does not, and what it wrote."""

    refusal: Refusal | None
    writes: Writes

    def differs(self, other: Ran) -> bool:
        """Whether answers or writes are others."""
        return self.refusal != other.refusal or _content(self.writes) != _content(other.writes)


@dataclass(slots=True)
class _Reading:
    """Reads of one run: `base`, but for rows that are taken from other states (of one `statement`, None: of each).
    Notes each row that is asked for."""

    base: Exceptions | None
    states: Mapping[str, int]
    statement: int | None = None
    looked: dict[Looked, None] = field(default_factory=dict)

    def get(self, execution: tuple[int, int], /) -> _Rows:
        """See `Exceptions`."""
        listed = None if self.base is None else self.base.get(execution)
        moved = self.states if self.statement in (None, execution[0]) else {}
        return _Rows(execution[0], listed, moved, self.looked)


class _Rows:
    """See `RowStates`."""

    __slots__ = ("_listed", "_looked", "_moved", "_statement")

    def __init__(
        self, statement: int, listed: RowStates | None, moved: Mapping[str, int], looked: dict[Looked, None]
    ) -> None:
        self._statement, self._listed, self._moved, self._looked = statement, listed, moved, looked

    def get(self, row: str, default: int, /) -> int:
        """See `RowStates`."""
        self._looked[self._statement, row] = None
        if row in self._moved:
            return self._moved[row]
        return default if self._listed is None else self._listed.get(row, default)


class Rerun:
    """A log with a witness: positions count from 1 in the witness's order."""

    def __init__(self, log: Log, library: SqlLibrary, witness: Witness, isolation: str | None) -> None:
        """Raises Unexplained, Unsupported."""
        by_id = {transaction.id: rank for rank, transaction in enumerate(log.transactions)}
        self.log = log
        self.witness = witness
        self._dialect = library.dialect
        self._prepare = Preparations(library, capacity=256)
        self._isolation = isolation
        self._ranks = by_id
        self._replay = Replay(
            log, library, prepare=self._prepare, initial=initial_state(log, library, initial_of(witness)), ranks=by_id
        )
        self._tables = frozenset(name.lower() for name in library.catalog.tables)
        self.order: list[Transaction] = []
        self.views: Sequence[TransactionView] = witness.views
        self.writes: list[Writes] = [{}]
        for id_, view in zip(witness.order, witness.views, strict=True):
            transaction = log.transactions[by_id[id_]]
            refusal = self._replay.append(
                transaction, view.state, exceptions_of(view), isolation, newest_of(view), choices_of(view),
                statements_of(view), hidden_of(view),
            )  # fmt: skip
            if refusal is not None:
                raise Unexplained(refusal.text)
            self.order.append(transaction)
            self.writes.append(self._replay.written)
        self._base: dict[int, Ran] = {}
        self._looked: dict[int, list[Looked]] = {}

    def __len__(self) -> int:
        return len(self.order)

    def at(self, position: int) -> Transaction:
        """The transaction at a position."""
        return self.order[position - 1]

    def position_of(self, identifier: TransactionId) -> int | None:
        """Where a transaction stands; None where it is not in the order."""
        return next((place for place, one in enumerate(self.order, 1) if one.id == identifier), None)

    def rows_written(self, position: int) -> list[str]:
        """The names of the rows that a transaction wrote."""
        return [name for _, name, _ in rows_of(self.writes[position])]

    def versions(self, row: str) -> Versions | None:
        """All versions of a row."""
        table = self._replay.store.tables.get(row.partition(":")[0])
        return None if table is None else table.rows.get(row)

    def looked(self, position: int) -> list[Looked]:
        """The rows that a transaction's statements may have looked at, those that were not there included."""
        if position not in self._looked:
            reading = self._reading(position, {})
            self._base[position] = self._run(position, reading)
            self._looked[position] = list(reading.looked)
        return self._looked[position]

    def seen_from(self, position: int, statement: int, row: str) -> int | None:
        """The position that made the version of a row that a statement read, 0 for the initial rows; None where the row
        was not there yet."""
        versions = self.versions(row)
        if versions is None:
            return None
        view = self.views[position - 1]
        exceptions = exceptions_of(view)
        listed = None if exceptions is None else exceptions.get((statement, 0))
        state = -1 if listed is None else listed.get(row, -1)
        if state >= 0:
            return versions.made_at(state)
        hidden = hidden_of(view)
        made = versions.made_at(view.state)
        while made is not None and made in hidden:
            made = versions.made_at(made - 1)
        return made

    def depends(self, position: int, states: Mapping[str, int], statement: int | None = None) -> bool:
        """Whether a transaction answers or writes otherwise with these rows as other states have them (at one of its
        statements, None: at each)."""
        self.looked(position)
        return self._run(position, self._reading(position, states, statement)).differs(self._base[position])

    def needs(self, position: int, row: str) -> bool:
        """Whether a transaction answers or writes otherwise where a row was never there."""
        versions = self.versions(row)
        if versions is None:
            return False
        self.looked(position)
        values = versions.values
        versions.values = [None] * len(values)
        try:
            return self._run(position, self._reading(position, {})).differs(self._base[position])
        finally:
            versions.values = values

    def key_text(self, row: str, values: Row | None) -> str:
        """A row by its key: ``accounts(id=2)``."""
        table = self._replay.store.tables[row.partition(":")[0]].schema
        versions = self.versions(row)
        if values is None and versions is not None:
            values = next((one for one in versions.values if one is not None), None)
        if values is None:
            return row
        key = table.keys[0].columns if table.keys else range(min(2, len(table.columns)))
        return key_text(table, key, [values[column] for column in key])

    def columns(self, row: str) -> list[str]:
        """The names of a row's columns."""
        return [column.name for column in self._replay.store.tables[row.partition(":")[0]].schema.columns]

    def key_columns(self, row: str) -> set[int]:
        """The places of the columns of its table's first key."""
        keys = self._replay.store.tables[row.partition(":")[0]].schema.keys
        return set(keys[0].columns) if keys else set()

    def key_of(self, table: str, values: Row) -> str:
        """A row that no state has, by its key."""
        return self.key_text(f"{table}:", values)

    def keys(self, table: str) -> bool:
        """Whether a table has keys."""
        return bool(self._replay.store.tables[table].schema.keys)

    def holder(self, table: str, values: Row) -> tuple[str, Row, int] | None:
        """The row of the newest state that has a key of these values: its name, its values, the position that wrote
        it."""
        stored = self._replay.store.tables[table]
        for key in stored.schema.keys:
            wanted = tuple(values[column] for column in key.columns)
            for row, one in stored.newest.items():
                if None not in wanted and tuple(one[column] for column in key.columns) == wanted:
                    return row, one, stored.rows[row].made_at(len(self)) or 0
        return None

    def prepared(self, transaction: Transaction) -> PreparedTransaction:
        """A transaction of the log, in the order or not, ready to run."""
        return self._prepare(transaction)

    def run_alone(
        self, transaction: Transaction, state: Mapping[str, Sequence[Row]] | None = None
    ) -> dict[str, list[Row]]:
        """The rows that a transaction leaves in each table that are not those of the state that it runs on (None: the
        newest), as far as it runs."""
        rows = self.rows_at(len(self)) if state is None else state
        view = MemoryView({table: list(some) for table, some in rows.items()})
        with suppress(SqlError, Unsupported):
            for one in self._prepare(transaction).statements:
                if one.program is not None and one.statement.error is None:
                    view.begin()
                    one.program.run(view, one.arguments)
        left = {table: Counter(view.rows(table)) - Counter(some) for table, some in rows.items()}
        return {table: list(some.elements()) for table, some in left.items() if some}

    def rows_at(self, state: int) -> dict[str, list[Row]]:
        """The rows of every table in a state."""
        tables = self._replay.store.tables
        return {name: [row for _, row in stored.at(state, ())] for name, stored in tables.items()}

    def inserts(self, state: int) -> list[str]:
        """INSERTs for the rows of a state, referenced tables before those that refer to them."""
        tables = self._replay.store.tables
        rows = self.rows_at(state)
        ordered: dict[str, None] = {}

        def enter(name: str, above: frozenset[str]) -> None:
            for key in tables[name].schema.foreign_keys:
                if key.parent not in above and key.parent in tables:
                    enter(key.parent, above | {name})
            ordered[name] = None

        for name in tables:
            enter(name, frozenset({name}))
        return [render_row(tables[name].schema, row, self._dialect) for name in ordered for row in rows[name]]

    def tables(self, state: int) -> tuple[InitialTable, ...]:
        """The rows of a state, as a log has initial ones. Raises Unsupported for values that no log writes."""
        columns = {name: stored.schema.columns for name, stored in self._replay.store.tables.items()}
        return tuple(
            InitialTable(name, tuple(one.name for one in columns[name]), [tuple(map(json_of, row)) for row in rows])
            for name, rows in self.rows_at(state).items()
        )

    def _reading(self, position: int, states: Mapping[str, int], statement: int | None = None) -> _Reading:
        return _Reading(exceptions_of(self.views[position - 1]), states, statement)

    def _run(self, position: int, reading: _Reading) -> Ran:
        transaction, view = self.at(position), self.views[position - 1]
        level = level_of(transaction, self.log, self._isolation)
        times = times_of(
            transaction, self.log.header.clock, self._ranks[transaction.id], self._replay.dialect, self._tables
        )
        prepared = self._prepare(transaction)
        step = Step(self._replay, transaction, prepared, level, times, view.state, reading, newest_of(view),
                     choices_of(view), statements_of(view), hidden_of(view))  # fmt: skip
        try:
            refusal = step.run_untimed()
        except Unsupported as error:
            refusal = Refusal(transaction.id, None, "unsupported", str(error))
        return Ran(refusal, step.writes)


def _content(writes: Writes) -> dict[str, Row | None]:
    return {name: values for _, name, values in rows_of(writes)}
