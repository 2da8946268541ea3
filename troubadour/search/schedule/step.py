"""One concrete run of the transaction to be placed next, and whether it may stand there (paper §6.2).

Observations, write conflicts, keys, and that nothing depends on what was sent after an answer. Does not know which
states are worth a run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import Locked
from sql_semantics.values.types import Value
from troubadour.execution.definitions import catalog_conflict, dropped_tables
from troubadour.execution.free.choices import Choices, Reading
from troubadour.execution.free.tagged import Key
from troubadour.execution.given import Given
from troubadour.execution.invariants import broken_invariant
from troubadour.execution.merging import MERGED, Clash, Unmergeable, merged
from troubadour.execution.prepared import PreparedTransaction, UnsupportedStatement
from troubadour.execution.states.history import RowHistory
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.rowwise import ActingView, RowView, takes_rows_apart
from troubadour.execution.views.statementwise import StatementView
from troubadour.isolation.levels import Conflict, Level, Scope
from troubadour.problem.problem import Problem
from troubadour.search.schedule.execute import Failure, execute
from troubadour.search.schedule.placement import UNSUPPORTED, Candidate, fingerprint
from troubadour.search.schedule.serial import closed_circle, watched
from troubadour.search.schedule.visible_sets import (
    seen_at,
)

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace


def run_on(
    trace: Trace,
    item: int,
    choices: Choices,
    low: int = 0,
    masked: list[frozenset[int]] | None = None,
    *,
    tolerant: bool = False,
) -> Candidate:
    """Run concretely and check the observations, the write rules and the keys. What is not modelled raises
    UnsupportedStatement; where the run is `tolerant` of it, it is a failure like others."""
    problem = trace.problem
    prepared = problem.prepared(item)
    level = problem.levels[item]
    asked = choices
    view, failure = _attempt(trace, item, prepared, choices, tolerant)
    again: ConcreteView | None = None
    since = low if level.scope is Scope.STATEMENT else max(low, view.valid_since(choices.state))
    if failure is None:
        try:
            failure = _check_writes(trace, item, level, view, choices)
        except Unsupported as error:
            found = prepared.unsupported(error.construct)
            if not tolerant:
                raise found from error
            failure = Failure(item, UNSUPPORTED, found.construct, found.index)
    if failure is None and masked is not None and level.scope is Scope.TRANSACTION:
        failure, again = _check_masked(trace, item, prepared, view, choices, masked)
        since = max(since, again.valid_since(choices.state) if again is not None else 0)
    if failure is None and view.overtaken is not None:
        text = "it writes or locks a row of a commit that was sent after its answer had arrived"
        failure = Failure(item, "time", text, view.overtaken)
    if failure is None and level.serial:
        failure = _check_serial(trace, item, choices, view)
    if choices.masked is not None and failure is None and level.scope is not Scope.STATEMENT:
        choices = _explicit(trace, choices, view)
    if choices.newest is not None and not view.met and level.scope is Scope.TRANSACTION:
        choices = Choices(choices.state, choices.exceptions, hidden=choices.hidden, picks=choices.picks)
    failure = failure or refused(trace, item, choices)
    return Candidate(item, choices, since, view, failure, again, asked)


def refused(trace: Trace, item: int, choices: Choices) -> Failure | None:
    """Why an item may not be placed next with a reading that explains it: replay refused that before."""
    known = trace.problem.refused
    if not known.count or not known.has([placement.item for placement in trace.placements], item, choices):
        return None
    return Failure(item, "replay", "replay refused this reading")


def _attempt(
    trace: Trace, item: int, prepared: PreparedTransaction, choices: Choices, tolerant: bool
) -> tuple[ConcreteView, Failure | None]:
    """A run; where the observations tell values that the DBMS chose, with these."""
    free = trace.problem.free
    complete = not tolerant and trace.problem.levels[item].scope is Scope.ROW
    while True:
        view = view_of(trace.problem, trace.states, item, prepared, choices, complete=complete)
        try:
            failure = execute(item, prepared, view, trace.problem)
        except UnsupportedStatement as error:
            if not tolerant:
                raise
            return view, Failure(item, UNSUPPORTED, error.construct, error.index)
        if failure is None or failure.condition != "observation" or free.any_guess() is None:
            return view, failure
        told: dict[Key, Value] = {}
        tagged = view_of(trace.problem, trace.states, item, prepared, choices, tagged=True, complete=complete)
        execute(item, prepared, tagged, trace.problem, told)
        if not free.learn(item, told):
            return view, failure


def _explicit(trace: Trace, choices: Choices, view: ConcreteView) -> Choices:
    """The same reads with every deviation from the one state named."""
    exceptions = dict(choices.exceptions or {})
    for (statement, execution, row), position in view.reads.items():
        if position != row.changed_at(choices.state):
            exceptions[statement, execution, row.address] = max(position, 0)
    return Choices(choices.state, exceptions, picks=choices.picks)


def _check_masked(
    trace: Trace,
    item: int,
    prepared: PreparedTransaction,
    view: ConcreteView,
    choices: Choices,
    masked: list[frozenset[int]],
) -> tuple[Failure | None, ConcreteView | None]:
    """No statement may depend on a commit that was sent after its answer. With it the run that tells, where one is
    needed."""
    late = frozenset().union(*masked)
    state, hidden = choices.state, choices.hidden
    met = view.met.values()
    apart = [row for looked in (view.acted, *met) for row in looked.rows]
    tables = trace.states.tables
    touched = (
        any(seen_at(row, state, hidden or ()) in late for row in view.plainly.rows)
        or any(_is_among(row.positions, late) for row in apart)
        or any(_is_among(tables[table].changes, late, state) for table in view.plainly.tables)
        or any(
            _is_among(tables[table].changes, late)
            for table in view.acted.tables.union(*(looked.tables for looked in met))
        )
    )
    if not touched:
        return None, None
    late_out = Choices(
        state, masked=masked, newest=choices.newest, newests=choices.newests, hidden=hidden, picks=choices.picks
    )
    again = view_of(trace.problem, trace.states, item, prepared, late_out)
    failure = execute(item, prepared, again, trace.problem)
    if failure is None and trace.problem.levels[item].conflict is Conflict.COLUMNS:
        failure = _merge(trace, item, again, state)
    if failure is None and fingerprint(again.writes()) == fingerprint(view.writes()):
        return None, again
    text = "it depends on a commit that was sent after its answer had arrived"
    return Failure(item, "time", text), again


def _check_serial(trace: Trace, item: int, choices: Choices, view: ConcreteView) -> Failure | None:
    """It closes no circle of what the serializable transactions read of one another."""
    node = watched(trace, item, choices, view, view.writes())
    return None if node is None else closed_circle(trace, node)


def _is_among(positions: Sequence[int], late: frozenset[int], last: int | None = None) -> bool:
    """Whether one of some ascending positions, up to the `last`, is among others, mostly new ones."""
    first = bisect_left(positions, min(late)) if late else len(positions)
    end = len(positions) if last is None else bisect_right(positions, last)
    return any(positions[place] in late for place in range(first, end))


def _check_locks(item: int, level: Level, view: ConcreteView, state: int) -> Failure | None:
    """What queries locked must not have been written since the snapshot."""
    for row in view.locked:
        if _is_newer(level, row, state):
            return _locked_newer(item, (row,), state)
    own = view.writes()
    for claim in view.claims:
        newer: list[RowHistory] = []
        kept = 0
        for locks in claim.choices:
            refused = [lock.rows[0] for lock in locks if not _is_lockable(level, lock, state, own)]
            newer += refused
            kept += not refused
        if kept < claim.count:
            return _locked_newer(item, tuple(newer), state)
    return None


def _locked_newer(item: int, rows: tuple[RowHistory, ...], state: int) -> Failure:
    which = " or ".join(str(row.address) for row in rows[:3]) + (" or others" if len(rows) > 3 else "")
    text = f"locks {which}, which had been changed since its snapshot"
    return Failure(item, "NWC", text, rows=rows, source=rows[0].at(state))


def _is_newer(level: Level, row: RowHistory, state: int) -> bool:
    """Whether a row has a version that was made after a state."""
    return row.positions[-1] > state and (not level.acts or _changed_after(row, state))


def _is_lockable(level: Level, lock: Locked, state: int, own: Collection[RowHistory]) -> bool:
    """Whether one of the rows that it may be can have been locked."""
    for row in lock.rows:
        if row in own or not row.positions or not _is_newer(level, row, state):
            return True
        if lock.keys is not None:
            now = row.at(row.positions[-1])
            if now is not None and (
                not isinstance(now, tuple) or all(now[column] == lock.values[column] for column in lock.keys)
            ):
                return True  # FOR KEY SHARE: its key is as it was, or may be
    return False


def _check_writes(trace: Trace, item: int, level: Level, view: ConcreteView, choices: Choices) -> Failure | None:
    failure = _check_locks(item, level, view, choices.state)
    if failure is not None:
        return failure
    if level.conflict is Conflict.COLUMNS:
        failure = _merge(trace, item, view, choices.state)
        if failure is not None:
            return failure
    writes = view.writes()
    if not writes:
        return None
    states, library = trace.states, trace.problem.library
    state, newest, hidden = choices.state, states.length, choices.hidden or ()
    dropped = dropped_tables(writes, library.catalog)
    for row, values in writes.items():
        if row.positions:
            last = row.at(newest)
            conflicts = level.conflict in (Conflict.VALUES, Conflict.VERSIONS) and row.table not in dropped
            if conflicts and (row.positions[-1] > state or row.positions[-1] in hidden):
                source = row.at(seen_at(row, state, hidden))
                if level.acts and not _changed_after(row, state):
                    # what is set to the value that it had makes no version there
                    continue
                if level.conflict is Conflict.VERSIONS or (values != source and source != last):
                    return Failure(
                        item,
                        "NWC",
                        f"changes {row.address}, which had been changed since its snapshot",
                        rows=(row,),
                        source=source,
                    )
            if trace.problem.orders_versions and values != last:
                other = _last_commit(trace, row)
                own = trace.problem.times[item].commit
                if other is not None and own is not None and other > own:
                    text = f"it would write {row.address} after a later commit"
                    return Failure(item, "order", text, rows=(row,))
    if item in trace.problem.aborted:
        # what its COMMIT would have checked may be why it aborted
        return None
    broken = None
    if level.scope is Scope.TRANSACTION and not level.horizon.latest:
        met = [state]
        if library.dialect.rules.running.meets_newer_tables:
            newests = ((choices.newests or {}).get(address, choices.newest) for address in view.met)
            met += [newest for newest in newests if newest is not None]
        broken = catalog_conflict(states, writes, library.catalog, max(met))
    references = trace.problem.prepared(item).references
    broken = broken or broken_invariant(states, writes, library, references)
    if broken is not None:
        row, text = broken
        return Failure(item, "keys", text, rows=(row,))
    return None


def _changed_after(row: RowHistory, state: int) -> bool:
    """Whether a row had another value some time after a state."""
    later = range(bisect_right(row.positions, state), len(row.positions))
    return any(row.versions[index] != (row.versions[index - 1] if index else None) for index in later)


def _last_commit(trace: Trace, row: RowHistory) -> int | None:
    """The commit time of the last transaction that changed a row."""
    for index in range(len(row.positions) - 1, -1, -1):
        before = row.versions[index - 1] if index else None
        commit = trace.timeline.times[row.positions[index] - 1].commit if row.positions[index] else None
        if commit is not None and row.versions[index] != before:
            return commit
    return None


def _merge(trace: Trace, item: int, view: ConcreteView, state: int) -> Failure | None:
    """Settle what becomes of rows that were written meanwhile."""
    for row, values in view.writes().items():
        if not row.positions or row.positions[-1] <= state:
            continue
        source = row.at(state)
        try:
            table = trace.states.tables[row.table].schema
            view.settle(row, merged(table, source, values, row.at(trace.states.length)))
            continue
        except Unmergeable:
            trace.problem.free.choices[item] = MERGED
        except Clash:
            pass
        text = f"changes {row.address}, which had been changed since its snapshot"
        return Failure(item, "NWC", text, rows=(row,), source=source)
    return None


def view_of(
    problem: Problem,
    states: StateMap,
    item: int,
    prepared: PreparedTransaction,
    choices: Choices,
    *,
    tagged: bool = False,
    complete: bool = False,
) -> ConcreteView:
    """A fresh view for the item. `tagged`: values that the DBMS chose tell where they come from, and no reads are kept.
    With `complete` the rows that it looks at are all that it can have looked at."""
    level, author = problem.levels[item], prepared.transaction.id
    given = Given(
        use_index=problem.heuristics.index,
        free=(problem.free, item),
        tags=problem.free.cells if tagged else None,
        released=prepared.released if level.locks else None,
        lately=not complete and not problem.has_sets,
        keyed=level.scope is Scope.ROW,
        once=prepared.looked_up_once(problem.library.catalog) if level.acts else None,
    )
    if level.scope is Scope.STATEMENT:
        reading = Reading(level.rechecks, prepared.released, by_row=level.by_row)
        return StatementView(states, author, choices, reading, given)
    wanted = (choices.masked is not None or choices.hidden is not None) and not tagged
    if level.acts:
        return ActingView(states, author, choices, given, wanted=wanted)
    if wanted or takes_rows_apart(choices):
        return RowView(states, author, choices, given, wanted=wanted)
    return ConcreteView(states, author, choices, given)
