"""The run itself: every transaction that is judged, in hint order, on the newest state.

Does not know what is to be done about a log that is not explained so.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import Outcome
from sql_semantics.records import dataclass
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.view import Row
from troubadour.execution.initial.rows import initial_state, known_rows, unknown_tables
from troubadour.execution.observations.errors import explains_error
from troubadour.execution.observations.impossible import refuted, refuted_by_keys
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.observations.unwritten_keys import UnwrittenKeys
from troubadour.execution.prepared import Preparations, PreparedStatement, PreparedTransaction, prepare_statement
from troubadour.model.log import Log, Statement, Transaction
from troubadour.replay.commit_tests.levels import LEVELS, Level, is_judged, level_of
from troubadour.replay.newest.course import Course
from troubadour.replay.newest.kept import KeptRun
from troubadour.replay.newest.plans import Misread, Plan, Shape, is_narrow, shape_of
from troubadour.replay.newest.rows import NewestRows, NotPlain
from troubadour.replay.newest.writers import LastWriters
from troubadour.replay.statements import run_failed

Progress = Callable[[int], None]

_OFTEN = 256
"""Transactions after which it is told how many are done."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The log is explained: the places in hint order of those that are judged, one after another, each of which reads
    all that those before it left; and the names of their levels."""

    places: array[int]
    levels: tuple[str, ...]


class Unexplained(NotPlain):
    """The newest state is not what the transaction at `place` read, or times do not say that it is: then it may be
    `untimed` only. The state before it is in `rows`, its rows' last `writers` are known, and `run` runs the statements
    of a transaction on it, or raises NotPlain."""

    def __init__(
        self,
        reason: str,
        place: int,
        rows: NewestRows,
        writers: LastWriters,
        run: Callable[[Transaction], None],
        *,
        untimed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.untimed = untimed
        self.place = place
        self.rows = rows
        self.writers = writers
        self.run = run


class _Untimed(NotPlain):
    """Times do not say that a transaction read the newest state."""


class _Differs(NotPlain):
    """An answer is another one than the newest state gives, or a constraint is broken there."""


def explained_by_newest(
    log: Log,
    library: SqlLibrary,
    *,
    isolation: str | None,
    order_recorded: bool = False,
    progress: Progress | None = None,
) -> Explained:
    """That each transaction of a log, held to `isolation` (None: its own level), reads the newest state at its turn in
    hint order. `progress` is called now and then with the transactions done; what it raises ends the run.

    Raises NotPlain where that is not so, or cannot be told here, Unexplained where a transaction read something else;
    LogError and Unsupported say no more than that.
    """
    places = array("q")
    run = Run(log, library, isolation, lambda: log.transactions, order_recorded=order_recorded)
    for place, one in enumerate(log.transactions):
        if progress is not None and not place % _OFTEN:
            progress(place)
        if run.take(place, one):
            places.append(place)
    return Explained(places, run.levels)


class Run:
    """One run over a log, transaction by transaction."""

    def __init__(
        self,
        log: Log,
        library: SqlLibrary,
        isolation: str | None,
        transactions: Callable[[], Iterable[Transaction]],
        *,
        order_recorded: bool = False,
    ) -> None:
        """Of the log only the header is asked for. `transactions` gives all of them, where an error has to be held
        against them, or raises NotPlain. Raises NotPlain."""
        refuse_moving(log, library)
        self._log, self._library, self._isolation = log, library, isolation
        self._recorded = order_recorded
        self._clock = log.header.clock
        self._dialect = library.dialect.name
        self._references = library.has_references
        self._rows = NewestRows(initial_state(log, library))
        self._writers = LastWriters()
        self._course = Course()
        self._plans: dict[tuple[str, Shape], Plan | None] = {}
        self._levels: dict[str | None, Level] = {}
        self._before: tuple[str, ...] = ()
        self._is_free = False
        """Whether one of those before may have read something else, too, as its level or its times allow it."""
        self._prepare = Preparations(library, capacity=16)
        self._keys = UnwrittenKeys(
            lambda: map(self._prepare, transactions()),
            lambda: known_rows(log, library),
            lambda: unknown_tables(log, library),
            library,
        )

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels so far."""
        return tuple(sorted({*self._before, *(level.name for level in self._levels.values())}))

    @property
    def rows(self) -> dict[str, list[Row]]:
        """The rows as they are, by tables."""
        return {table: [row for _, row in self._rows.found(table, None, ())] for table in self._rows.tables}

    def kept(self) -> KeptRun:
        """What another run needs in order to go on from here. Raises Unkept."""
        tables, following = self._rows.kept()
        return KeptRun(tables, following, self._course.kept(), self.levels)

    def restore(self, kept: KeptRun) -> None:
        """Go on from there; which transaction wrote what before is not known. Raises ValueError and its kin for what is
        none of a run of this log."""
        self._rows.restore(kept.tables, kept.next)
        self._course.restore(kept.course)
        self._before = kept.levels
        before = [LEVELS.get(name) for name in kept.levels]
        self._is_free = not all(one and (one.latest or one.at_start) and one.one_snapshot for one in before)

    def take(self, place: int, one: Transaction) -> bool:
        """Run the next transaction, which is so far behind the first; whether it is judged. Raises NotPlain, and
        Unexplained where it read something else."""
        level = self._level(one)
        if not is_judged(one, level, order_recorded=self._recorded):
            if one.status != "aborted":
                raise NotPlain("an unknown outcome")
            self._check_aborted(one)
            return False
        try:
            self._take(one, level, one.clock if one.clock is not None else self._clock)
        except (_Differs, _Untimed) as error:
            self._rows.rollback(0)
            if self._is_free:
                raise NotPlain(error.reason) from error
            untimed = isinstance(error, _Untimed)
            raise Unexplained(
                error.reason, place, self._rows, self._writers, self._run_statements, untimed=untimed
            ) from error
        self._writers.note(place, self._rows.journal)
        return True

    def _level(self, one: Transaction) -> Level:
        level = self._levels.get(one.isolation)
        if level is None:
            level = level_of(one, self._log, self._isolation)
            if level.per_statement or level.sets:
                raise NotPlain(f"several states at {level.name}")
            if level.ordered:
                raise NotPlain("timestamps that have to be right")
            self._levels[one.isolation] = level
        return level

    def _check_aborted(self, one: Transaction) -> None:
        """Raises NotPlain for an aborted transaction that no state explains, as what it read is not judged."""
        prepared = self._prepare(one)
        if refuted(prepared, self._library.catalog, self._dialect) or refuted_by_keys(prepared, self._keys):
            raise NotPlain("an aborted transaction that no state explains")

    def _take(self, one: Transaction, level: Level, clock: str | None) -> None:
        """Run the next transaction. Raises NotPlain."""
        rows, course = self._rows, self._course
        rows.journal = []
        overlaps = self._follows(one, level, clock)
        rows.looks = [] if overlaps else None
        if rows.savepoints:
            rows.savepoints = []
        self._run_statements(one)
        if rows.looks and not course.independent(one, clock, rows.looks):
            raise _Untimed("an answer that hangs on a commit which was sent after it")
        if one.status == "aborted":
            rows.rollback(0)
        elif rows.journal:
            broken = rows.broken(self._library.keys, self._library.catalog, references=self._references)
            if broken is not None:
                raise _Differs(broken)
        course.place(one, clock, rows.journal)

    def _follows(self, one: Transaction, level: Level, clock: str | None) -> bool:
        """Whether the next transaction overlaps one of those before it. Raises NotPlain where it may not come next."""
        # one that lets no lock go before its end takes its turn in the order of ends
        alone = level.latest and level.commits
        at_start = level.at_start or not level.latest
        self._is_free |= not level.one_snapshot
        try:
            return self._course.follows(one, clock, at_start=at_start, alone=alone)
        except NotPlain as error:
            if level.at_start or level.latest:
                raise _Untimed(error.reason) from error
        self._is_free = True
        try:
            return self._course.follows(one, clock, at_start=False, alone=alone)
        except NotPlain as error:
            raise _Untimed(error.reason) from error

    def _run_statements(self, one: Transaction) -> None:
        """Run what a transaction sent, as it stands or with a closer look. Raises NotPlain."""
        rows = self._rows
        if self._run_plainly(one):
            return
        rows.rollback(0)
        rows.savepoints = []
        if rows.looks is not None:
            rows.looks = []
        prepared = self._prepare(one)
        self._run_prepared(prepared)
        if prepared.references != "kept" and self._references:
            raise NotPlain("references that are not all kept")

    def _run_plainly(self, one: Transaction) -> bool:
        """Run the statements of a transaction as they stand; False where one needs a closer look."""
        plans, rows = self._plans, self._rows
        for place, statement in enumerate(one.statements):
            if (
                statement.error is not None
                or statement.outcome_unknown
                or statement.unjudged
                or statement.scope
                or statement.references != "kept"
            ):
                return False
            try:
                key = statement.sql, shape_of(statement)
                plan = plans[key] if key in plans else self._plan(key, statement, place, one)
                if plan is None:
                    return False
                arguments = plan.arguments(statement.params)
            except ValueError:
                return False
            rows.statement = place
            try:
                outcome = plan.run(rows, arguments)
            except SqlError as error:
                raise _Differs(f"it must fail with {error}") from error
            try:
                agrees = plan.agrees(statement, outcome)
            except ValueError:
                agrees = False
            if not agrees:
                self._compare(statement, place, one, outcome)
        return True

    def _plan(self, key: tuple[str, Shape], statement: Statement, place: int, one: Transaction) -> Plan | None:
        """The plan of a text with such parameters; None where each of its statements needs a closer look."""
        program = prepare_statement(statement, place, one, self._library).program
        try:
            plan = None if program is None else Plan(program, self._library, key[1])
        except Misread:
            plan = None
        if statement.params is None or all(map(is_narrow, statement.params)):
            self._plans[key] = plan
            return plan
        return None

    def _compare(self, statement: Statement, place: int, one: Transaction, outcome: Outcome) -> None:
        """Whether an answer is what was observed, by all that the DBMS may leave open. Raises NotPlain."""
        prepared = prepare_statement(statement, place, one, self._library)
        different = mismatch(prepared.observation, outcome)
        if different is not None:
            raise _Differs(different)

    def _run_prepared(self, prepared: PreparedTransaction) -> None:
        """Run the statements of a transaction one by one, errors and all. Raises NotPlain."""
        rows = self._rows
        for one in prepared.statements:
            if one.statement.unjudged or one.statement.references != "kept":
                raise NotPlain("statements that are not judged")
            rows.statement = one.index
            fate = one.judged.fate
            if fate in (Fate.REFUSED, Fate.UNKNOWN):
                continue
            try:
                if fate is Fate.IMPOSSIBLE:
                    text: str | None = one.judged.text
                elif fate is Fate.FAILED:
                    text = self._keys.refutes(one) or self._fails(one)
                else:
                    text = _succeeds(one, rows)
            except SqlError as error:
                raise _Differs(f"it must fail with {error}") from error
            if text is not None:
                raise _Differs(text)

    def _fails(self, one: PreparedStatement) -> str | None:
        """Why a statement cannot have failed as observed, by either reading of errors; None where it may have. Raises
        NotPlain for one that left something behind."""
        rows, library = self._rows, self._library
        before = rows.savepoint()
        for explains in (explains_error, run_failed):
            text = explains(one, rows, library.catalog, self._dialect)
            if text is not None:
                return text
            if rows.savepoint() != before:
                raise NotPlain("a statement that failed and left something behind")
        return None


def _succeeds(one: PreparedStatement, rows: NewestRows) -> str | None:
    """How the outcome of a statement differs from what was observed. Raises SqlError."""
    if one.program is None:
        assert one.failure is not None
        raise one.failure
    return mismatch(one.observation, one.program.run(rows, one.arguments))


def refuse_moving(log: Log, library: SqlLibrary) -> None:
    """Raises NotPlain for logs of which more has to be known than rows."""
    catalog, running = library.catalog, library.dialect.rules.running
    if log.header.initial_unknown or log.header.gaps:
        raise NotPlain("initial rows or transactions that are not known")
    if catalog.transient or library.changing or library.standing or library.stepwise or library.unread:
        raise NotPlain("definitions that change")
    if not library.has_references:
        return
    if running.overlooks_references or not running.changes_check_references or running.counts_dangling:
        raise NotPlain("references that are not looked up")
    if not equal_by_code_points(text_rule(library.dialect)):
        raise NotPlain("references under a collation")
