"""Whether a witness explains a log: run the transactions by it and make every commit test (paper Def. 3.1, 3.4, §6.2).

Concrete and in the witness's order, one transaction at a time; written apart from the encodings that search uses.
Does not know how the witness was found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.impossible import refuted
from troubadour.execution.initial import initial_state
from troubadour.execution.lifecycle import Fate
from troubadour.execution.prepared import (
    Preparations,
    PreparedTransaction,
    UnsupportedStatement,
)
from troubadour.model.log import Log, LogError, Transaction, TransactionId
from troubadour.model.witness import Witness
from troubadour.replay.levels import Level, level_of, parts_of
from troubadour.replay.listed import (
    ListedReads,
    choices_of,
    exceptions_of,
    hidden_of,
    initial_of,
    newest_of,
    reads_of,
    statements_of,
)
from troubadour.replay.statements import run_failed, run_succeeded
from troubadour.replay.store import Store, Writes, rows_of
from troubadour.replay.tables import dropped_by, refused_tables
from troubadour.replay.times import Timeline, Times, comes_before, times_of
from troubadour.replay.view import (
    BadChoice,
    Exceptions,
    Execution,
    FreeChoices,
    LateRead,
    StatementReads,
    WitnessView,
)

Prepare = Callable[[Transaction], PreparedTransaction]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a witness does not explain the log. `condition` is one of RMR, ROS, NFR, NWC, keys, real-time, session,
    visibility, time, observation, error, free, order, initial, completeness; `statement` the 0-based index where one is
    to blame."""

    transaction: TransactionId | None
    statement: int | None
    condition: str
    text: str


Seen = tuple[int, frozenset[int]]
"""What a transaction saw: everything up to a state, but for some positions."""


class Replay:
    """The transactions placed so far, in order, each checked against those before it.

    What makes a beginning of an order wrong makes every longer one wrong. Raises LogError and Unsupported where the
    log cannot be used or modelled.
    """

    __slots__ = (
        "_drawn",
        "_exact",
        "_last_commit",
        "_last_rank",
        "_log",
        "_passed_on",
        "_prepare",
        "_ranks",
        "_recorded",
        "_tables",
        "_version_commit",
        "catalog",
        "dialect",
        "idle",
        "order",
        "store",
        "timeline",
        "written",
    )

    def __init__(
        self,
        log: Log,
        library: SqlLibrary,
        *,
        order_recorded: bool = False,
        prepare: Prepare | None = None,
        initial: Mapping[str, Sequence[Row]] | None = None,
        ranks: Mapping[TransactionId, int] | None = None,
    ) -> None:
        """`ranks`: the place of each transaction in hint order, where that is known already."""
        self._log = log
        self.dialect = library.dialect.name
        self.catalog = library.catalog
        self._tables = frozenset(name.lower() for name in library.catalog.tables)
        self._prepare = prepare or Preparations(library, capacity=16)
        self.store = Store(library, initial_state(log, library) if initial is None else initial)
        self.timeline = Timeline()
        self.order: list[TransactionId] = []
        self.written: Writes = {}
        self.idle: set[int] = set()
        self._passed_on: list[Seen | None] = []
        self._exact = log.header.order == "exact"
        self._recorded = order_recorded
        self._ranks = ranks or {t.id: rank for rank, t in enumerate(log.transactions)}
        self._last_rank = -1
        self._last_commit: int | None = None
        self._version_commit: dict[str, int] = {}
        self._drawn: set[tuple[str, Value]] = set()

    def copy(self) -> Replay:
        """An independent copy; what was prepared is shared."""
        twin = Replay.__new__(Replay)
        twin._log, twin._prepare = self._log, self._prepare
        twin.dialect, twin.catalog, twin._tables = self.dialect, self.catalog, self._tables
        twin.store, twin.timeline, twin.order = self.store.copy(), self.timeline.copy(), self.order.copy()
        twin._exact, twin._recorded, twin._ranks = self._exact, self._recorded, self._ranks
        twin._last_rank, twin._last_commit = self._last_rank, self._last_commit
        twin._drawn, twin.idle, twin._passed_on = self._drawn.copy(), self.idle.copy(), self._passed_on.copy()
        twin._version_commit, twin.written = self._version_commit.copy(), self.written
        return twin

    def append(
        self,
        transaction: Transaction,
        state: int,
        exceptions: Exceptions | None,
        isolation: str | None,
        newest: int | None = None,
        choices: FreeChoices | None = None,
        statements: StatementReads | None = None,
        hidden: frozenset[int] = frozenset(),
    ) -> Refusal | None:
        """Place the next transaction, which read `state` but for the `exceptions` and the `hidden` positions, and whose
        constraints met the rows of `newest` (None: those of `state`), and check it. `choices` are the values that the
        DBMS chose, `statements` what single executions read instead. After a refusal the replay is of no further
        use."""
        level = level_of(transaction, self._log, isolation)
        if level.sets and self.catalog.transient:
            raise UnsupportedStatement(f"tables that come and go at {level.name}", transaction.id, 0)
        times = times_of(transaction, self._log.header.clock, self._ranks[transaction.id], self.dialect, self._tables)
        step = _Step(self, transaction, self._prepare(transaction), level, times, state, exceptions, newest, choices,
                     statements, hidden)  # fmt: skip
        refusal = (
            step.check_reads()
            or self._check_place(transaction, level, times)
            or step.check_snapshot()
            or step.run()
            or step.check_statements()
            or step.check_write_conflict()
            or self._check_version_order(step)
            or self._check_choices(step)
        )
        if refusal is not None:
            return refusal
        # a row that it inserted and deleted again was never there
        idle = all(v is None and name not in self.store.tables[t].rows for t, name, v in rows_of(step.writes))
        clash = self.store.append(step.writes)
        if clash is not None:
            return step.refuse("keys", clash)
        self.timeline.append(times, level.real_time, level.at_start, level.session, level.per_statement)
        self.order.append(transaction.id)
        self._passed_on.append((state, hidden) if level.one_snapshot else None)
        if idle:
            self.idle.add(len(self.order))
        self.written = step.writes
        return None

    def _check_place(self, transaction: Transaction, level: Level, times: Times) -> Refusal | None:
        """The order: real time at strict levels, the recorded or the exact commit order where it binds."""
        found = self.timeline.overtaken(times)
        if found is not None:
            text = f"it was over before {self.order[found - 1]!r} began, but comes after it"
            return Refusal(transaction.id, None, "real-time", text)
        found = self.timeline.session_after(times)
        if found is not None:
            text = f"its session committed it before {self.order[found - 1]!r}, but it comes after it"
            return Refusal(transaction.id, None, "session", text)
        if self._recorded:
            rank = self._ranks[transaction.id]
            if rank < self._last_rank:
                text = f"it comes after {self.order[-1]!r}, against the recorded order"
                return Refusal(transaction.id, None, "order", text)
            self._last_rank = rank
        if self._exact and not level.latest and times.commit is not None:
            if self._last_commit is not None and times.commit < self._last_commit:
                text = f"commit {times.commit} comes after commit {self._last_commit}, and the log's order is exact"
                return Refusal(transaction.id, None, "order", text)
            self._last_commit = times.commit
        return None

    def unclosed(self, state: int, hidden: frozenset[int]) -> int | None:
        """The position of a transaction that is seen though it saw a hidden one; None where there is none. One whose
        reads are single rows passes nothing on."""
        if not hidden:
            return None
        for position in range(min(hidden) + 1, state + 1):
            seen = self._passed_on[position - 1]
            if position in hidden or seen is None:
                continue
            if any(one <= seen[0] and one not in seen[1] for one in hidden):
                return position
        return None

    def check_aborted(self) -> Refusal | None:
        """What no state explains cannot have been answered in an aborted transaction either."""
        if not self._log.aborted:
            return None
        for transaction in self._log.transactions:
            if transaction.status == "aborted":
                found = refuted(self._prepare(transaction), self.catalog, self.dialect)
                if found is not None:
                    return Refusal(transaction.id, found[0], "error", found[1])
        return None

    def _check_version_order(self, step: _Step) -> Refusal | None:
        """With an exact commit order, the versions of each row come in it at every level."""
        commit = step.times.commit
        if not self._exact or commit is None:
            return None
        for table, name, values in rows_of(step.writes):
            versions = self.store.tables[table].rows.get(name)
            if values == (versions.at(self.store.newest) if versions is not None else None):
                continue
            last = self._version_commit.get(name)
            if last is not None and commit < last:
                return step.refuse("order", f"its version of {name} follows one with a later commit, {last}")
            self._version_commit[name] = commit
        return None

    def _check_choices(self, step: _Step) -> Refusal | None:
        """No value of a sequence comes twice."""
        for source, name, value in step.drawn:
            if source != "nextval":
                continue
            if (name, value) in self._drawn:
                return step.refuse("free", f"sequence {name} would give {value!s} twice")
            self._drawn.add((name, value))
        return None


class _Step:
    """One transaction on its way into the order."""

    __slots__ = (
        "choices",
        "drawn",
        "exceptions",
        "hidden",
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
        self.choices = choices
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
        return Refusal(self.transaction.id, statement, condition, text)

    def check_reads(self) -> Refusal | None:
        """RMR, ROS, NFR: the states read are among those that the level allows."""
        newest = self.replay.store.newest
        if self.state > newest:
            return self.refuse("NFR", f"it reads state {self.state}, its own is {newest + 1}")
        if self.exceptions is not None and (self.level.one_snapshot or self.level.per_statement):
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
        """The state has what the session had committed; a strict snapshot is the state at the transaction's start."""
        if self.level.session:
            timeline = self.replay.timeline
            found = timeline.session_before(self.times)
            if found is None or found <= self.state:
                found = next((p for p in self.hidden if comes_before(timeline.times[p - 1], self.times)), None)
            if found is not None:
                text = f"it does not see {self.replay.order[found - 1]!r}, which its session committed before"
                return self.refuse("session", text)
        if not self.level.at_start:
            return None
        timeline, order = self.replay.timeline, self.replay.order
        found = timeline.misses(self.times, self.state)
        if found is not None:
            return self.refuse("real-time", f"its snapshot lacks {order[found - 1]!r}, which was over before it began")
        # on the newest state those that wrote nothing stand in nobody's way
        found = timeline.foresees(self.times, self.state, self.replay.idle if self.level.latest else ())
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
        if _without_empty(self.writes) != _without_empty(writes):
            return self.refuse("time", "what it wrote depends on a commit sent after its statement was answered")
        return None

    def _late(self) -> list[frozenset[int]] | None:
        """Per statement, the states made by writers whose commit was sent after its answer; None for none at all."""
        snapshot = self.state if self.newest is None else max(self.state, self.newest)
        whole = self.level.one_snapshot and self.statements is None
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
        )
        try:
            refusal = self._run_statements(view)
        except BadChoice as error:
            return self.refuse("free", str(error))
        self.taken = view.taken
        self.drawn = view.drawn
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
                    text = run_failed(prepared, view, self.replay.catalog, self.replay.dialect)
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
        for (statement, _), (state, newest) in self.taken.items():
            last = state if newest is None else newest
            if not state <= last < own:
                return self.refuse("NFR", f"it reads states {state} and {last}, its own is {own}", statement)
            if state < before:
                return self.refuse("ROS", f"it reads state {state} after state {before}", statement)
            before = state
            found = timeline.missed(self.times, self.times.put[statement], state, self.replay.idle)
            if found is not None:
                text = f"it reads state {state} without {order[found - 1]!r}, which was over before it was sent"
                return self.refuse("real-time", text, statement)
            late = timeline.sent_after(self.times, self.times.got[statement], last)
            if late:
                text = f"it reads state {last} with {order[late[0] - 1]!r}, which was sent after its answer"
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
            if self.replay.dialect == "postgres":
                met = max([met, *(newest for _, newest in self.taken.values() if newest is not None), self.newest or 0])
            text = refused_tables(self.writes, store, self.replay.catalog, met)
            if text is not None:
                return self.refuse("keys", text)
        if not self.level.write_conflict:
            return None
        dropped = dropped_by(self.writes, store, self.replay.catalog)
        for table, name, values in rows_of(self.writes):
            versions = store.tables[table].rows.get(name)
            if versions is None or table in dropped:
                continue
            if self.level.by_version:
                made = versions.made_at(store.newest)
                if made is not None and (made > self.state or made in self.hidden):
                    return self.refuse("NWC", f"it writes {name}, which was written after its snapshot, {self.state}")
                continue
            seen = versions.skipping(self.state, self.hidden)
            if values != seen and seen != versions.at(store.newest):
                return self.refuse("NWC", f"it changes {name}, which changed after its snapshot, state {self.state}")
        return None


def _without_empty(writes: Writes) -> Writes:
    return {table: rows for table, rows in writes.items() if rows}


def check(
    log: Log,
    witness: Witness,
    library: SqlLibrary,
    *,
    isolation: str | None,
    order_recorded: bool = False,
    progress: Progress | None = None,
    covering: Collection[TransactionId] | None = None,
    prepare: Prepare | None = None,
) -> Refusal | None:
    """None where the witness explains the log at `isolation` (None: each transaction's own level), else why not.

    `covering`: the transactions that must be in the order (default: all committed ones). `progress` is called with
    the number of transactions checked. Raises LogError and Unsupported where the log cannot be used or modelled.
    """
    parts = parts_of(log, isolation)
    if parts:
        witnesses = [witness, *(() if isinstance(witness.also, msgspec.UnsetType) else witness.also)]
        if witness.log != log.digest or witness.isolation != isolation or len(witnesses) != len(parts):
            return Refusal(None, None, "completeness", "it is not a witness for each part of the level")
        for names, part in zip(parts, witnesses, strict=True):
            name = None if isolation is None else names[isolation]
            alone = msgspec.structs.replace(part, isolation=name, also=msgspec.UNSET)
            refusal = check(log.with_levels(names), alone, library, isolation=name, order_recorded=order_recorded,
                            progress=progress, covering=covering, prepare=prepare)  # fmt: skip
            if refusal is not None:
                return refusal
        return None
    places = {transaction.id: (place, transaction.status) for place, transaction in enumerate(log.transactions)}
    refusal = _check_completeness(log, witness, isolation, covering, places)
    if refusal is not None:
        return refusal
    ranks = {id: place for id, (place, _) in places.items()}
    assumed = initial_of(witness)
    try:
        initial = initial_state(log, library, assumed)
    except LogError as error:
        if not assumed:
            raise
        return Refusal(None, None, "initial", str(error))
    replay = Replay(log, library, order_recorded=order_recorded, prepare=prepare, initial=initial, ranks=ranks)
    for place, (id, view) in enumerate(zip(witness.order, witness.views, strict=True), 1):
        for read in view.exceptions:
            if read.state >= place:
                text = f"it reads {read.row} from state {read.state}, its own is {place}"
                return Refusal(id, read.statement, "NFR", text)
        refusal = replay.append(log.transactions[places[id][0]], view.state, exceptions_of(view), isolation,
                                newest_of(view), choices_of(view), statements_of(view), hidden_of(view))  # fmt: skip
        if refusal is not None:
            return refusal
        if progress is not None:
            progress(place)
    return replay.check_aborted() if covering is None else None


def _check_completeness(
    log: Log,
    witness: Witness,
    isolation: str | None,
    covering: Collection[TransactionId] | None,
    places: Mapping[TransactionId, tuple[int, str]],
) -> Refusal | None:
    """The witness is one for this log, and its order has everything that must be in it, once."""

    def refuse(text: str, id: TransactionId | None = None) -> Refusal:
        return Refusal(id, None, "completeness", text)

    if witness.log != log.digest:
        return refuse("the witness is of another log")
    if witness.isolation != isolation:
        return refuse(f"the witness is for {witness.isolation or 'the recorded levels'}, not {isolation}")
    if len(witness.views) != len(witness.order):
        return refuse(f"{len(witness.order)} transactions, but {len(witness.views)} views")
    required = covering if covering is not None else [id for id, (_, s) in places.items() if s == "committed"]
    placed = set(witness.order)
    for id in required:
        if id not in placed:
            return refuse("it is not in the order", id)
    if len(placed) != len(witness.order):
        return refuse("the order has a transaction twice")
    for id, view in zip(witness.order, witness.views, strict=True):
        if id not in places:
            return refuse("the log has no such transaction", id)
        if places[id][1] == "aborted":
            return refuse("it is in the order, but was aborted", id)
        numbers = [(read.state, read.statement, read.execution) for read in view.exceptions]
        numbers += [(read.state, read.statement, read.execution) for read in reads_of(view)]
        if view.state < 0 or any(min(some) < 0 for some in numbers):
            return refuse("its view has a negative number", id)
    return None
