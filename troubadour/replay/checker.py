"""Whether a witness explains a log: run the transactions by it and make every commit test (paper Def. 3.1, 3.4, §6.2).

Concrete and in the witness's order, one transaction at a time; written apart from the encodings that search uses.
Does not know how the witness was found.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.products import PRODUCTS
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.definitions import PASSING, first_passing
from troubadour.execution.initial.rows import initial_state, known_rows, unknown_tables
from troubadour.execution.observations.impossible import refuted, refuted_by_keys
from troubadour.execution.observations.unwritten_keys import UnwrittenKeys
from troubadour.execution.prepared import (
    Preparations,
    PreparedTransaction,
    UnsupportedStatement,
)
from troubadour.model.ids import Ids, Places
from troubadour.model.log import Log, LogError, Transaction, TransactionId
from troubadour.model.witness import Witness
from troubadour.replay.commit_tests.levels import Level, is_judged, level_of
from troubadour.replay.commit_tests.references import DANGLING, dangling, mends
from troubadour.replay.commit_tests.times import Timeline, Times, times_of
from troubadour.replay.forgetting import EVERY, Bounds, Horizon, by_server, earliest
from troubadour.replay.refusal import Refusal
from troubadour.replay.serial import Serial
from troubadour.replay.step import Step
from troubadour.replay.store import Store, Writes, rows_of
from troubadour.replay.witness.listed import (
    choices_of,
    exceptions_of,
    hidden_of,
    initial_of,
    newest_of,
    reads_of,
    statements_of,
)
from troubadour.replay.witness.reads import Exceptions, FreeChoices, StatementReads

Prepare = Callable[[Transaction], PreparedTransaction]
Progress = Callable[[int], None]
Placed = Callable[[Transaction, "Replay"], None]


Seen = tuple[int, frozenset[int]]
"""What a transaction saw: everything up to a state, but for some positions."""


_REFUSED, _ALLOWED, _REQUIRED = 0, 1, 2
"""What an order may make of a transaction."""


class Replay:
    """The transactions placed so far, in order, each checked against those before it.

    What makes a beginning of an order wrong makes every longer one wrong. Raises LogError and Unsupported where the
    log cannot be used or modelled.
    """

    __slots__ = (
        "_asks",
        "_closes",
        "_drawn",
        "_exact",
        "_last_commit",
        "_last_rank",
        "_library",
        "_log",
        "_passed_on",
        "_prepare",
        "_ranks",
        "_recorded",
        "_serial",
        "_tables",
        "_timed",
        "_version_commit",
        "alone",
        "catalog",
        "dialect",
        "idle",
        "keys",
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
        levels: Iterable[Level] | None = None,
        alone: bool = False,
    ) -> None:
        """`ranks`: the place of each transaction in hint order, `levels` those of all transactions, where that is known
        already: what none of them asks for is not kept. `alone`: no search explains the log besides, so that errors
        have to be explained as the search does, too."""
        self.alone = alone
        levels = None if levels is None else tuple(levels)
        self._asks = levels is None or any(one.asks_times for one in levels)
        self._closes = levels is None or any(one.closed for one in levels)
        self._log = log
        self.dialect = library.dialect.name
        self.catalog = library.catalog
        self._library = library
        self._tables = frozenset(name.lower() for name in library.catalog.tables)
        self._prepare = prepare or Preparations(library, capacity=16)
        self.store = Store(library, initial_state(log, library) if initial is None else initial)
        self.timeline = Timeline(asks=self._asks)
        self.order = Ids()
        self.written: Writes = {}
        self.idle: set[int] = set()
        self._passed_on: list[Seen | None] = []
        self._exact = log.header.order == "exact"
        self._recorded = order_recorded
        self._ranks = ranks or {t.id: rank for rank, t in enumerate(log.transactions)}
        self._last_rank = -1
        self._last_commit: int | None = None
        self._version_commit: dict[str, int] = {}
        self._timed: tuple[Transaction, Times] | None = None
        """Those asked for last."""
        self._drawn: set[tuple[str, Value]] = set()
        self._serial = Serial()
        self.keys = UnwrittenKeys(
            lambda: map(self._prepare, log.transactions),
            lambda: known_rows(log, library),
            lambda: unknown_tables(log, library),
            library,
        )

    def copy(self) -> Replay:
        """An independent copy; what was prepared is shared."""
        twin = Replay.__new__(Replay)
        twin._log, twin._prepare, twin._library = self._log, self._prepare, self._library
        twin.dialect, twin.catalog, twin._tables = self.dialect, self.catalog, self._tables
        twin.store, twin.timeline, twin.order = self.store.copy(), self.timeline.copy(), self.order.copy()
        twin._asks, twin._closes = self._asks, self._closes
        twin._exact, twin._recorded, twin._ranks = self._exact, self._recorded, self._ranks
        twin._last_rank, twin._last_commit = self._last_rank, self._last_commit
        twin._drawn, twin.idle, twin._passed_on = self._drawn.copy(), self.idle.copy(), self._passed_on.copy()
        twin._version_commit, twin.written = self._version_commit.copy(), self.written
        twin._timed, twin.alone = self._timed, self.alone
        twin._serial, twin.keys = self._serial.copy(), self.keys
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
        step = self.attempt(transaction, state, exceptions, isolation, newest, choices, statements, hidden)
        return step if isinstance(step, Refusal) else self.settle(step)

    def attempt(
        self,
        transaction: Transaction,
        state: int,
        exceptions: Exceptions | None,
        isolation: str | None,
        newest: int | None = None,
        choices: FreeChoices | None = None,
        statements: StatementReads | None = None,
        hidden: frozenset[int] = frozenset(),
    ) -> Step | Refusal:
        """As `append`, but nothing is placed: the step that `settle` places next, or why it is refused. After a
        refusal other readings may be tried."""
        level = level_of(transaction, self._log, isolation)
        if level.sets or not level.real_time:
            prepared = self._prepare(transaction)
            passing = first_passing(prepared.statements, self._library, moving=level.sets, real_time=level.real_time)
            if passing is not None:
                raise UnsupportedStatement(f"{PASSING} at {level.name}", transaction.id, passing)
        step = Step(self, transaction, self._prepare(transaction), level, self.times_of(transaction), state, exceptions,
                    newest, choices, statements, hidden)  # fmt: skip
        refusal = (
            step.check_reads()
            or self._check_place(step)
            or step.check_snapshot()
            or step.run()
            or step.check_statements()
            or step.check_write_conflict()
        )
        return step if refusal is None else refusal

    def settle(self, step: Step) -> Refusal | None:
        """Place a step next that nothing speaks against but what it wrote, and check that. After a refusal the replay
        is of no further use."""
        refusal = self._check_version_order(step) or self._check_choices(step)
        if refusal is not None:
            return refusal
        transaction, level, times = step.transaction, step.level, step.times
        self._note_place(step)
        if transaction.status == "aborted":
            step.writes = {}  # nothing of it remains
        # a row that it inserted and deleted again was never there
        idle = all(v is None and name not in self.store.tables[t].rows for t, name, v in rows_of(step.writes))
        circle = self._serial.append(step, self.store) if self._is_watched(transaction, level) else None
        if circle is not None:
            return step.refuse("serial", circle)
        clash = self._write(step)
        if clash is not None:
            return step.refuse("keys", clash)
        keeps_locks = level.by_version and level.dialect is not None
        self.timeline.append(
            times, level.real_time, level.at_start, level.session, level.commits, keeps_locks, level.ordered, idle
        )
        self.order.append(transaction.id)
        if self._closes:
            self._passed_on.append((step.state, step.hidden) if level.one_snapshot else None)
        if idle and self._asks:
            self.idle.add(len(self.order))
        self.written = step.writes
        return None

    def prepared(self, transaction: Transaction) -> PreparedTransaction:
        """The transaction as it is run."""
        return self._prepare(transaction)

    def is_overtaken(self, transaction: Transaction) -> bool:
        """Whether one is placed that must come after it."""
        times = self.times_of(transaction)
        return self.timeline.overtaken(times) is not None or self.timeline.session_after(times) is not None

    def times_of(self, transaction: Transaction) -> Times:
        """The bounds that its times give."""
        known = self._timed
        if known is None or known[0] is not transaction:
            clock, rank = self._log.header.clock, self._ranks[transaction.id]
            known = self._timed = transaction, times_of(transaction, clock, rank, self.dialect, self._tables)
        return known[1]

    def take_back(self, length: int) -> None:
        """Take back all but the first `length`, where no order is bound and no value was chosen; the states from
        `length` on are not forgotten."""
        self.store.truncate(length)
        self.timeline.truncate(length)
        self.order.truncate(length)
        del self._passed_on[length:]
        self.idle = {position for position in self.idle if position <= length}
        self._serial.truncate(length)

    def _is_watched(self, transaction: Transaction, level: Level) -> bool:
        """Whether a transaction has to have a place in the serial order: what an aborted one read is not to be relied
        upon there (PostgreSQL manual, 13.2.3)."""
        return level.serial and transaction.status != "aborted"

    def finished(self) -> Refusal | None:
        """The order is whole: whether those that are to be serializable have a serial order."""
        found = self._serial.finished(self.store)
        return None if found is None else Refusal(found[0], None, "serial", found[1])

    def _write(self, step: Step) -> str | None:
        """Make the next state; what is wrong with it."""
        clash, gone = self.store.append(step.writes)
        references = step.prepared.references
        if clash is not None or references == "ignored":
            return clash
        tables = self.store.tables
        found = dangling(tables, self.catalog, gone, step.writes)
        if found is None:
            return None
        counts = PRODUCTS[self.dialect].running.counts_dangling
        if references == "loose" or (counts and mends(tables, self.catalog, gone, step.writes)):
            raise step.prepared.unsupported(DANGLING)
        table, row, parent = found
        return f"{row} of {table} would refer to no row of {parent}"

    def forget(self, horizon: Bounds) -> None:
        """Drop what nothing asks for that is placed from now on."""
        place = len(self.order)
        answered = horizon.answered(place)
        oldest = horizon.oldest(place, self.timeline)
        self.store.forget(oldest)
        self.idle.difference_update(self.timeline.forget(oldest, answered, horizon.began(place), horizon.rank(place)))

    def oldest(self, transaction: Transaction) -> list[int]:
        """The oldest states that the statements of a transaction to be placed next can have read in real time."""
        times = self.times_of(transaction)
        newest, missed = self.store.newest, self.timeline.missed
        return [
            next(state for state in range(newest + 1) if missed(times, put, state, self.idle) is None)
            for put in times.put
        ]

    def _check_place(self, step: Step) -> Refusal | None:
        """The order: real time at strict levels, the recorded or the exact commit order where it binds."""
        transaction, times = step.transaction, step.times
        found = self.timeline.overtaken(times)
        if found is not None:
            text = f"it was over before {self.order[found - 1]!r} began, but comes after it"
            return Refusal(transaction.id, None, "real-time", text)
        found = self.timeline.session_after(times)
        if found is not None:
            text = f"its session committed it before {self.order[found - 1]!r}, but it comes after it"
            return Refusal(transaction.id, None, "session", text)
        if self._recorded and times.rank < self._last_rank:
            text = f"it comes after {self.order[-1]!r}, against the recorded order"
            return Refusal(transaction.id, None, "order", text)
        bound = self._is_bound(step)
        if bound and times.commit is not None and self._last_commit is not None and times.commit < self._last_commit:
            text = f"commit {times.commit} comes after commit {self._last_commit}, and their order is bound"
            return Refusal(transaction.id, None, "order", text)
        return None

    def _is_bound(self, step: Step) -> bool:
        """Whether its commit time says where it comes."""
        return step.level.ordered or (self._exact and not step.level.latest)

    def _note_place(self, step: Step) -> None:
        self._last_rank = step.times.rank
        if self._is_bound(step) and step.times.commit is not None:
            self._last_commit = step.times.commit

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
                prepared = self._prepare(transaction)
                found = refuted(prepared, self.catalog, self.dialect) or refuted_by_keys(prepared, self.keys)
                if found is not None:
                    return Refusal(transaction.id, found[0], "error", found[1])
        return None

    def _check_version_order(self, step: Step) -> Refusal | None:
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

    def _check_choices(self, step: Step) -> Refusal | None:
        """No value of a sequence comes twice."""
        for source, name, value in step.drawn:
            if source != "nextval":
                continue
            if (name, value) in self._drawn:
                return step.refuse("free", f"sequence {name} would give {value!s} twice")
            self._drawn.add((name, value))
        return None


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
    placed: Placed | None = None,
) -> Refusal | None:
    """None where the witness explains the log at `isolation` (None: each transaction's own level), else why not.

    `covering`: the transactions that must be in the order (default: all that are judged). `progress` is called with
    the number of transactions checked, `placed` with each transaction and the replay that it was placed in. Raises
    LogError and Unsupported where the log cannot be used or modelled.
    """
    if not isinstance(witness.also, msgspec.UnsetType):
        text = "it has several orders, as earlier versions wrote for postgres:serializable: audit the log again"
        return Refusal(None, None, "completeness", text)
    ranks, places = Places(), bytearray()
    since, began = array("q"), array("q")
    levels: dict[str, Level] = {}
    for transaction in log.transactions:
        ranks.add(transaction.id)
        level = level_of(transaction, log, isolation)
        levels[level.name] = level
        since.append(earliest(transaction))
        began.append(by_server(transaction))
        if is_judged(transaction, level, order_recorded=order_recorded):
            places.append(_REQUIRED)
        else:
            places.append(_REFUSED if transaction.status == "aborted" else _ALLOWED)
    refusal = _check_completeness(log, witness, isolation, covering, ranks, places)
    if refusal is not None:
        return refusal
    if not any(level.asks_times for level in levels.values()):
        began = array("q")
    assumed = initial_of(witness)
    try:
        initial = initial_state(log, library, assumed)
    except LogError as error:
        if not assumed:
            raise
        return Refusal(None, None, "initial", str(error))
    replay = Replay(log, library, order_recorded=order_recorded, prepare=prepare, initial=initial, ranks=ranks,
                    levels=levels.values())  # fmt: skip
    horizon = Horizon(witness, ranks, since, began)
    # who is to be serializable may be run again, however late
    watched = any(level.serial for level in levels.values())
    del since, began, places
    for place, (id, view) in enumerate(zip(witness.order, witness.views, strict=True), 1):
        for read in view.exceptions:
            if read.state >= place:
                text = f"it reads {read.row} from state {read.state}, its own is {place}"
                return Refusal(id, read.statement, "NFR", text)
        transaction = log.transactions[ranks[id]]
        refusal = replay.append(transaction, view.state, exceptions_of(view), isolation, newest_of(view),
                                choices_of(view), statements_of(view), hidden_of(view))  # fmt: skip
        if refusal is not None:
            return refusal
        if placed is not None:
            placed(transaction, replay)
        if place % EVERY == 0 and not watched:
            replay.forget(horizon)
        if progress is not None:
            progress(place)
    return replay.finished() or (replay.check_aborted() if covering is None else None)


def _check_completeness(
    log: Log,
    witness: Witness,
    isolation: str | None,
    covering: Collection[TransactionId] | None,
    ranks: Mapping[TransactionId, int],
    places: bytearray,
) -> Refusal | None:
    """The witness is one for this log, and its order has everything that must be in it (the `covering`, else what
    `places` has by rank), once, and nothing that may not be."""

    def refuse(text: str, id: TransactionId | None = None) -> Refusal:
        return Refusal(id, None, "completeness", text)

    if witness.log != log.digest:
        return refuse("the witness is of another log")
    if witness.by is not msgspec.UNSET:
        return refuse("only a witness of a log of operations on objects goes by the timestamps")
    if witness.isolation != isolation:
        return refuse(f"the witness is for {witness.isolation or 'the recorded levels'}, not {isolation}")
    if len(witness.views) != len(witness.order):
        return refuse(f"{len(witness.order)} transactions, but {len(witness.views)} views")
    placed = bytearray(len(places))
    strange: TransactionId | None = None
    twice = False
    for id in witness.order:
        rank = ranks.get(id)
        if rank is None or places[rank] == _REFUSED:
            strange = id if strange is None else strange
        else:
            twice = twice or placed[rank] == 1
            placed[rank] = 1
    if covering is None:
        left = (rank for rank, place in enumerate(places) if place == _REQUIRED and not placed[rank])
        missing = next((log.transactions[rank].id for rank in left), None)
    else:
        missing = next((id for id in covering if id not in ranks or not placed[ranks[id]]), None)
    if missing is not None:
        return refuse("it is not in the order", missing)
    if twice:
        return refuse("the order has a transaction twice")
    if strange is not None:
        return refuse("the log has no such transaction, or it was aborted and its reads are not judged", strange)
    for id, view in zip(witness.order, witness.views, strict=True):
        numbers = [(read.state, read.statement, read.execution) for read in view.exceptions]
        numbers += [(read.state, read.statement, read.execution) for read in reads_of(view)]
        if view.state < 0 or any(min(some) < 0 for some in numbers):
            return refuse("its view has a negative number", id)
    return None
