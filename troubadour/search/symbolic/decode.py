"""What a model says of the kept transactions: their reads, addressed as a concrete run addresses them (paper §6.3).

Does not know whether the model is the one that is wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sql_semantics.terms import evaluate_guard
from sql_semantics.view import Row
from troubadour.execution.free.choices import Choices
from troubadour.execution.free.tagged import Address
from troubadour.execution.initial.discovery import InitialRows, Supplemented, row_in_model
from troubadour.execution.states.history import Guarded, RowHistory, Version
from troubadour.execution.views.guarded import GuardedStates, Picked, ReadId, Sees
from troubadour.search.schedule.trace import Trace
from troubadour.search.schedule.visible_sets import sees_a_set
from troubadour.search.symbolic.encoded import Encoded
from troubadour.solver import Model


class Modelled:
    """Transactions placed in a trace, `encoded` by position, in one model."""

    __slots__ = ("_encoded", "_model", "_problem", "_trace")

    def __init__(self, trace: Trace, encoded: Mapping[int, Encoded], model: Model) -> None:
        self._trace = trace
        self._problem = trace.problem
        self._encoded = encoded
        self._model = model

    def chosen(self, encoded: Encoded) -> Choices:
        """The reads of a kept transaction, addressed as a concrete run addresses them."""
        return self._reads(encoded).picking(self._picks(encoded))

    def _picks(self, encoded: Encoded) -> dict[Address, int]:
        """Which ways the DBMS went."""
        view = encoded.view
        found: dict[Address, int] = {}
        for (statement, execution, ordinal), count in view.options.items():
            options = (Picked(encoded.item, statement, execution, ordinal, number) for number in range(count))
            number = next((option.number for option in options if self._model.holds(option)), count)
            executed = self._executed(view, statement, execution)
            if executed is not None:
                found[statement, executed, ordinal] = number
        return found

    def _reads(self, encoded: Encoded) -> Choices:
        view = encoded.view
        if sees_a_set(self._problem, encoded.item):
            return Choices(encoded.high, hidden=self._unseen(encoded))
        if not self._problem.levels[encoded.item].own_states:
            state = self._state(encoded)
            newests: dict[tuple[int, int], int] = {}
            for read in encoded.view.sees:
                if read.statement is None or read.execution is None:
                    continue
                executed = self._executed(view, read.statement, read.execution)
                if executed is not None:
                    newests[read.statement, executed] = self._met_state(encoded, read)
            return Choices(state, newests=newests)
        exceptions: dict[tuple[int, int, str], int] = {}
        for read, row in view.row_reads.items():
            assert read.statement is not None and read.execution is not None
            execution = self._executed(view, read.statement, read.execution)
            if execution is None:
                continue
            position = self._taken(encoded, row, read)
            exceptions[read.statement, execution, self._address(row)] = max(position, 0)
        return Choices(encoded.high, exceptions)

    def _state(self, encoded: Encoded) -> int:
        read = ReadId(encoded.item)
        seen = [p for p in encoded.view.sees.get(read, ()) if self._model.holds(Sees(read, p))]
        return max(seen, default=encoded.low)

    def _met_state(self, encoded: Encoded, read: ReadId) -> int:
        """The state whose rows an execution's constraints met."""
        state = self._state(encoded)
        return max([state, *(p for p in encoded.view.sees[read] if p > state and self._model.holds(Sees(read, p)))])

    def _unseen(self, encoded: Encoded) -> frozenset[int]:
        seen = encoded.view.sees.get(ReadId(encoded.item), set())
        return frozenset(
            position
            for position in range(encoded.low + 1, encoded.high + 1)
            if position not in seen or not evaluate_guard(encoded.view.sees_position(position), self._model)
        )

    def positions_taken(self, encoded: Encoded, row: RowHistory) -> set[int]:
        """The positions whose versions of a row a kept transaction's reads take; -1 for no row."""
        if not self._problem.levels[encoded.item].own_states:
            met = [read for read in encoded.view.sees if read.statement is not None]
            states = [self._met_state(encoded, read) for read in met]
            return {self._taken(encoded, row, None), *(self.written_last(row, state) for state in states)}
        reads = [read for read, other in encoded.view.row_reads.items() if other is row]
        return {self._taken(encoded, row, read) for read in reads}

    def _taken(self, encoded: Encoded, row: RowHistory, read: ReadId | None) -> int:
        masked: Collection[int] = encoded.view.masked_for(read) if read is not None else ()
        if sees_a_set(self._problem, encoded.item):
            masked, newest_state = self._unseen(encoded), encoded.high
        else:
            newest_state = encoded.high if read is not None else self._state(encoded)
        for position, version in zip(reversed(row.positions), reversed(row.versions), strict=True):
            if position > newest_state or position in masked:
                continue
            if read is not None and position > encoded.low and not self._model.holds(Sees(read, position)):
                continue
            if self._is_written(version):
                return position
        return -1

    def initial_rows(self) -> InitialRows:
        """The initial rows, of the tables where these are not known; as they were guessed where it says
        nothing."""
        told = Supplemented(self._model, self._problem.guessed)
        found: dict[str, list[Row | None]] = {}
        for name in self._problem.discovery.unknown:
            table = self._trace.states.tables[name]
            rows = sorted((row for row in table.rows if row.author is None), key=lambda row: row.ordinal)
            found[name] = [row_in_model(row.versions[0], told, table.schema, row.ordinal) for row in rows]
        return found

    def _address(self, row: RowHistory) -> str:
        """A row's address when only the inserts that the model executes are counted."""
        if row.author is None:
            return row.address
        author = next((e for e in self._encoded.values() if self._problem.transaction(e.item).id == row.author), None)
        if author is None:
            return row.address
        ordinal = sum(
            evaluate_guard(guard, self._model)
            for other, guard in author.view.inserted
            if other.table == row.table and other.ordinal < row.ordinal
        )
        return RowHistory(row.table, row.author, ordinal).address

    def _executed(self, view: GuardedStates, statement: int, execution: int) -> int | None:
        """The ordinal of an execution when only those on the path of the model are counted; None where it is not on
        it."""
        paths = view.paths[statement]
        if execution >= 0 and not evaluate_guard(paths[execution], self._model):
            return None
        return sum(evaluate_guard(path, self._model) for path in paths[:execution])

    def written_last(self, row: RowHistory, state: int) -> int:
        """The newest position up to a state at which a row was written; -1 for none."""
        for position, version in zip(reversed(row.positions), reversed(row.versions), strict=True):
            if position <= state and self._is_written(version):
                return position
        return -1

    def _is_written(self, version: Version) -> bool:
        return not isinstance(version, Guarded) or evaluate_guard(version.written, self._model)
