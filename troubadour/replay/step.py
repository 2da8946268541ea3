"""One transaction on its way into a witness's order: its reads, its run, its writes (paper Def. 3.1, §6.2).

Does not know which transactions come after it, nor whether the order has all that it must have.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.products import PRODUCTS
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.observations.errors import explains_error
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import (
    PreparedTransaction,
    UnsupportedStatement,
)
from troubadour.model.log import Transaction
from troubadour.replay.commit_tests.levels import Level
from troubadour.replay.commit_tests.tables import dropped_by, refused_tables
from troubadour.replay.commit_tests.times import Times, comes_before
from troubadour.replay.refusal import Refusal
from troubadour.replay.statements import run_failed, run_succeeded
from troubadour.replay.store import RowName, Versions, Writes, rows_of
from troubadour.replay.view import WitnessView
from troubadour.replay.witness.listed import ListedReads
from troubadour.replay.witness.reads import BadChoice, Exceptions, Execution, FreeChoices, LateRead, StatementReads

if TYPE_CHECKING:
    from troubadour.replay.checker import Replay


class Step:
    """One transaction on its way into the order."""

    __slots__ = (
        "choices",
        "choices_used",
        "drawn",
        "exceptions",
        "hidden",
        "kept",
        "level",
        "newest",
        "order",
        "prepared",
        "replay",
        "state",
        "statements",
        "taken",
        "times",
        "transaction",
        "writes",
    )

    def __init__(
        self,
        replay: Replay,
        transaction: Transaction,
        prepared: PreparedTransaction,
        level: Level,
        times: Times,
        state: int,
        exceptions: Exceptions | None,
        newest: int | None,
        choices: FreeChoices | None,
        statements: StatementReads | None,
        hidden: frozenset[int],
    ) -> None:
        self.hidden = hidden
        self.newest = newest
        # at statement scope what each execution reads is noted, listed or not
        self.statements = ListedReads(()) if statements is None and level.per_statement else statements
        self.taken: dict[Execution, tuple[int, int | None]] = {}
        self.kept: dict[Execution, int] = {}
        self.choices = choices
        self.choices_used: FreeChoices = {}
        self.drawn: list[tuple[str, str, Value]] = []
        self.replay = replay
        self.transaction = transaction
        self.prepared = prepared
        self.level = level
        self.times = times
        self.state = state
        self.exceptions = exceptions
        self.writes: Writes = {}

    def refuse(self, condition: str, text: str, statement: int | None = None) -> Refusal:
        """A refusal of this transaction."""
        return Refusal(self.transaction.id, statement, condition, text)

    def check_reads(self) -> Refusal | None:
        """RMR, ROS, NFR: the states read are among those that the level allows."""
        newest = self.replay.store.newest
        if self.state > newest:
            return self.refuse("NFR", f"it reads state {self.state}, its own is {newest + 1}")
        one_state = self.level.one_snapshot or (self.level.per_statement and not self.level.by_row)
        if self.exceptions is not None and one_state:
            return self.refuse("ROS", f"it reads single rows from other states than {self.state}")
        if self.hidden:
            if not self.level.sets:
                return self.refuse(
                    "ROS", f"state {self.state} has what {min(self.hidden)} wrote, but it does not see it"
                )
            if not min(self.hidden) > 0 or not max(self.hidden) < self.state:
                return self.refuse("NFR", f"what is hidden is not before state {self.state}")
            found = self.replay.unclosed(self.state, self.hidden) if self.level.closed else None
            if found is not None:
                text = f"it sees {self.replay.order[found - 1]!r} without something that this one saw"
                return self.refuse("visibility", text)
        if self.newest is not None:
            if not self.level.one_snapshot or self.level.latest:
                return self.refuse("ROS", "its constraints meet other rows than it reads")
            if not self.state <= self.newest <= newest:
                return self.refuse("NFR", f"its constraints meet state {self.newest}, its own is {newest + 1}")
        if self.level.latest and self.state != newest:
            return self.refuse("RMR", f"it reads state {self.state}, the most recent one is {newest}")
        return None

    def check_snapshot(self) -> Refusal | None:
        """The state has what the session had committed; a strict snapshot is the state at the transaction's start.
        Where rows are of states of their own the session's order is that of the places alone."""
        if self.level.session and self.level.one_snapshot:
            timeline = self.replay.timeline
            found = timeline.session_before(self.times)
            if found is None or found <= self.state:
                found = next((p for p in self.hidden if comes_before(timeline.at(p), self.times)), None)
            if found is not None:
                text = f"it does not see {self.replay.order[found - 1]!r}, which its session committed before"
                return self.refuse("session", text)
        if not self.level.at_start:
            return None
        timeline, order = self.replay.timeline, self.replay.order
        if self.level.ordered and self.level.session:
            found = timeline.not_yet_in_session(self.times)
            if found is not None:
                return self.refuse("session", f"it started before {order[found - 1]!r} of its session committed")
        found = timeline.misses(self.times, self.state)
        if found is not None:
            return self.refuse("real-time", f"its snapshot lacks {order[found - 1]!r}, which was over before it began")
        # those that wrote nothing stand in nobody's way
        found = timeline.foresees(self.times, self.state, self.replay.idle)
        if found is not None:
            return self.refuse("real-time", f"its snapshot has {order[found - 1]!r}, which committed after it began")
        return None

    def run(self) -> Refusal | None:
        """Run the statements on the view; at transaction scope a second time without what came after an answer."""
        late = self._late()
        if not self.level.one_snapshot:
            return self._run(late)
        refusal = self._run(None)
        if refusal is not None or late is None:
            return refusal
        writes = self.writes
        refusal = self._run(late)
        if refusal is not None:
            text = f"only a commit sent after the answer explains it: without, {refusal.text}"
            return self.refuse("time", text, refusal.statement)
        if without_empty(self.writes) != without_empty(writes):
            return self.refuse("time", "what it wrote depends on a commit sent after its statement was answered")
        return None

    def run_untimed(self) -> Refusal | None:
        """Run the statements on the view, whatever was sent after their answers: what they say, and nothing else."""
        return self._run(None)

    def again(self) -> Step:
        """The same transaction, to be run by itself."""
        return Step(
            self.replay, self.transaction, self.prepared, self.level, self.times, self.state, None, None, None, None,
            self.hidden,
        )  # fmt: skip

    def run_again(self, view: WitnessView) -> Refusal | None:
        """Run the statements on another view, whatever was sent after their answers; `writes` are those of that run."""
        try:
            return self._run_statements(view)
        except BadChoice as error:
            return self.refuse("free", str(error))

    def _late(self) -> list[frozenset[int]] | None:
        """Per statement, the states made by writers whose commit was sent after its answer; None for none at all."""
        snapshot = self.state if self.newest is None else max(self.state, self.newest)
        # what acts meets the newest state
        whole = self.level.one_snapshot and self.statements is None and not self.level.acts
        highest = snapshot if whole else self.replay.store.newest
        timeline = self.replay.timeline
        found = [frozenset(timeline.sent_after(self.times, got, highest)) for got in self.times.got]
        return found if any(found) else None

    def _run(self, late: Sequence[Collection[int]] | None) -> Refusal | None:
        view = WitnessView(
            self.replay.store,
            self.transaction.id,
            self.state,
            self.exceptions,
            late,
            self.newest,
            self.choices,
            self.statements,
            self.hidden,
            released=self.prepared.released,
            rechecks=self.level.rechecks,
            acts=self.level.acts,
            by_row=self.level.by_row,
            locks=self.level.locks,
            apart=not (self.level.one_snapshot or self.level.per_statement),
            once=self.prepared.looked_up_once(self.replay.catalog) if self.level.acts else None,
        )
        try:
            refusal = self._run_statements(view)
        except BadChoice as error:
            return self.refuse("free", str(error))
        self.taken = view.taken
        self.kept = view.kept
        self.drawn = view.drawn
        self.choices_used = view.used
        if refusal is None and view.outdated:
            statement, row = view.outdated[0]
            return self.refuse("RMR", f"it locks {row} in another version than the newest", statement)
        return refusal

    def _run_statements(self, view: WitnessView) -> Refusal | None:
        for prepared in self.prepared.statements:
            view.statement(prepared.index)
            fate = prepared.judged.fate
            if fate in (Fate.REFUSED, Fate.UNKNOWN):
                view.failed()
                continue
            try:
                if fate is Fate.IMPOSSIBLE:
                    text: str | None = prepared.judged.text
                elif fate is Fate.FAILED:
                    text = self.replay.keys.refutes(prepared)
                    if self.replay.alone:
                        mark = view.savepoint()
                        text = text or explains_error(prepared, view, self.replay.catalog, self.replay.dialect)
                        view.rollback(mark)
                    text = text or run_failed(prepared, view, self.replay.catalog, self.replay.dialect)
                    view.failed()
                else:
                    text = run_succeeded(prepared, view)
            except LateRead as error:
                return self.refuse("time", str(error), prepared.index)
            except SqlError as error:
                if error.may:
                    construct = f"an error that may happen ({error.sqlstate}: {error.message})"
                    raise UnsupportedStatement(construct, self.transaction.id, prepared.index) from error
                text = f"observed success, expected error {error.sqlstate} ({error.message})"
                return self.refuse("error", text, prepared.index)
            except UnsupportedStatement:
                raise
            except Unsupported as error:
                raise UnsupportedStatement(error.construct, self.transaction.id, prepared.index) from error
            if text is not None:
                return self.refuse("observation" if fate is Fate.RUN else "error", text, prepared.index)
        self.writes = view.writes
        return None

    def check_statements(self) -> Refusal | None:
        """What single executions read is what the level allows."""
        own = self.replay.store.newest + 1
        if self.level.per_statement:
            return self._check_own_states(own)
        for (statement, _), (state, newest) in self.taken.items():
            if state != self.state:
                return self.refuse("ROS", f"it reads state {state} beside {self.state}", statement)
            if newest is None:
                continue
            if not self.level.one_snapshot or self.level.latest:
                return self.refuse("ROS", "its constraints meet other rows than it reads", statement)
            if not state <= newest < own:
                return self.refuse("NFR", f"its constraints meet state {newest}, its own is {own}", statement)
        return None

    def _check_own_states(self, own: int) -> Refusal | None:
        """Each execution's state is one at a moment between the statement's sending and its answer, none is older than
        the one before."""
        before = 0
        timeline, order = self.replay.timeline, self.replay.order
        for (statement, execution), (state, newest) in self.taken.items():
            last = state if newest is None else newest
            if not state <= last < own:
                return self.refuse("NFR", f"it reads states {state} and {last}, its own is {own}", statement)
            if state < before:
                return self.refuse("ROS", f"it reads state {state} after state {before}", statement)
            before = max(state, self.kept.get((statement, execution), 0))
            found = timeline.missed(self.times, self.times.put[statement], state, self.replay.idle)
            if found is not None:
                text = f"it reads state {state} without {order[found - 1]!r}, which was over before it was sent"
                return self.refuse("real-time", text, statement)
            sent = timeline.sent_after(self.times, self.times.got[statement], last)
            if sent:
                text = f"it reads state {last} with {order[sent[0] - 1]!r}, which was sent after its answer"
                return self.refuse("time", text, statement)
        return None

    def check_write_conflict(self) -> Refusal | None:
        """NWC (paper Fig. 7): a row that the transaction changed did not change between its snapshot and its commit.
        DROP conflicts with no row, but what it meets must be all."""
        store = self.replay.store
        if self.state == store.newest and not self.hidden:
            return None
        if self.level.one_snapshot and not self.level.latest:
            met = self.state
            if PRODUCTS[self.replay.dialect].running.meets_newer_tables:
                met = max([met, *(newest for _, newest in self.taken.values() if newest is not None), self.newest or 0])
            text = refused_tables(self.writes, store, self.replay.catalog, met)
            if text is not None:
                return self.refuse("keys", text)
        if not self.level.write_conflict:
            return None
        dropped = dropped_by(self.writes, store, self.replay.catalog)
        for table, name, values in rows_of(self.writes):
            stored = store.tables[table]
            versions = stored.rows.get(name)
            if versions is None or table in dropped:
                continue
            if self.level.by_version:
                made = versions.made_at(store.newest)
                if made is not None and made > self.state and self.level.acts:
                    # what is set to the value that it had makes no version there
                    states = range(self.state, store.newest)
                    if all(versions.at(state) == versions.at(state + 1) for state in states):
                        continue
                if made is not None and (made > self.state or made in self.hidden):
                    return self.refuse("NWC", f"it writes {name}, which was written after its snapshot, {self.state}")
                continue
            if self.level.by_column:
                refusal = self._merge(stored.schema, name, values, versions)
                if refusal is not None:
                    return refusal
                continue
            seen = versions.skipping(self.state, self.hidden)
            if values != seen and seen != versions.at(store.newest):
                return self.refuse("NWC", f"it changes {name}, which changed after its snapshot, state {self.state}")
        return None

    def _merge(self, table: Table, name: RowName, mine: Row | None, versions: Versions) -> Refusal | None:
        """Two that change one column of a row, or delete it, may not be concurrent; else the row has the columns that
        each changed, or is gone. A key that changes is not modelled."""
        old, theirs = versions.at(self.state), versions.at(self.replay.store.newest)
        if old == theirs:
            return None
        changed = [
            {n for n, value in enumerate(row) if value != old[n]} if old is not None and row is not None else set()
            for row in (mine, theirs)
        ]
        if any(not columns.isdisjoint(key.columns) for key in table.keys for columns in changed):
            raise Unsupported("a concurrent write of a row whose key changes")
        if old is None or (mine is None and theirs is None) or changed[0] & changed[1]:
            return self.refuse("NWC", f"it changes {name}, which changed after its snapshot, state {self.state}")
        both = None
        if mine is not None and theirs is not None:
            both = tuple(mine[n] if n in changed[0] else value for n, value in enumerate(theirs))
        self.writes = {**self.writes, table.name: {**self.writes[table.name], name: both}}
        return None


def without_empty(writes: Writes) -> Writes:
    """The writes of the tables of which rows were written."""
    return {table: rows for table, rows in writes.items() if rows}
