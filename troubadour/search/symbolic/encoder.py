"""Symbolic placement (paper Alg. 1, §6.3): a transaction's constraints under its literal, its writes into the states.

A transaction is *kept* (its observations and commit tests are asserted) or *left open* (it may have written anything
to the rows that it can have written). Leaving transactions open only ever admits more executions, so what is
unsatisfiable stays so. Does not know which transactions ought to be kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.walks.effects import looks_again, looks_once, meets_twice
from sql_semantics.terms import (
    FALSE,
    TRUE,
    Guard,
    atom,
    conj,
    disj,
    is_concrete,
    neg,
)
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.merging import MERGED, may_merge
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, Version, WriteMap, alternatives_of
from troubadour.execution.views.guarded import GuardedStates, ReadId, Sees
from troubadour.execution.views.open_states import OpenStates
from troubadour.facts.sql.observations import Answers, may_write
from troubadour.isolation.encoding import (
    chains,
    equal,
    keys_hold,
    newest,
    newest_of,
    no_newer_version,
    no_write_conflict,
    nothing_merged,
    references_hold,
)
from troubadour.isolation.levels import Conflict, Scope, Visible
from troubadour.problem.budget import CHECK, SOLVER_STEPS, Budget
from troubadour.search.schedule.trace import Trace
from troubadour.search.schedule.visible_sets import NOTHING, Needs, sees_a_set
from troubadour.search.symbolic.decode import Modelled
from troubadour.search.symbolic.encoded import Encoded, merge
from troubadour.search.symbolic.versions import is_certain, or_else, same_writes
from troubadour.solver import Answer, Model, Session


def asked(session: Session, literals: Sequence[int], budget: Budget) -> tuple[Answer, list[int]]:
    """What `Session.check` says within a budget, to which the solver's steps are noted. Raises OutOfTime."""
    seconds, units = budget.left(), budget.units_left()
    if units is None:
        budget.note(CHECK)
        return session.check(literals, seconds)
    session.steps()
    answer = session.check(literals, seconds, units * SOLVER_STEPS)
    budget.note(CHECK + session.steps() // SOLVER_STEPS)
    return answer


class Encoder:
    """Places transactions into a trace symbolically and asserts what they observed.

    All raises of Unsupported carry the statement. `session` may be shared by several encoders as long as their
    literals differ. `lenient`: a query that cannot run on symbolic rows says nothing, instead of refusing all: what
    is contradictory without its answer is so with it.
    """

    def __init__(self, trace: Trace, session: Session, *, lenient: bool = False) -> None:
        self._lenient = lenient
        self.trace = trace
        self.problem = trace.problem
        self.session = session
        self.encoded: dict[int, Encoded] = {}
        self._literals = itertools.count()
        self.answers = Answers(self.problem)
        self._known_keys: dict[RowHistory, tuple[int, SymbolicRow | None, bool]] = {}

    def check(self, also: Sequence[Guard] = ()) -> Answer:
        """Decide everything kept, and these guards, within the budget."""
        literals = [e.literal for e in self.encoded.values() if e.literal is not None]
        if also:
            extra = next(self._literals)
            self.session.add(extra, also)
            literals.append(extra)
        return asked(self.session, literals, self.problem.budget)[0]

    def next_literal(self) -> int:
        """A literal of the session's that nothing else has."""
        return next(self._literals)

    def keep(self, item: int, *, window: int | None = None) -> Encoded:
        """Place and assert; with `window` only the newest states of the horizon may be read (H2)."""
        low, high = self.trace.horizon(item)
        if window is not None:
            low = max(low, high - window)
        if self.problem.levels[item].acts and low <= high:
            # what acts does so on the newest state; that the others share one is not asked
            high = self.trace.states.length
        masked = self.trace.masked(item)
        if self.problem.levels[item].own_states:
            encoded = self._checked_run(item, low, high, masked)
            encoded.guards.extend(chains(encoded.view.sees))
        elif sees_a_set(self.problem, item):
            # what its session committed before is seen, and not all that stands before that (see `closed`)
            low = self.problem.oldest(self.trace.states.length)
            if window is not None:
                low = max(low, high - window)
            encoded = self._checked_run(item, low, high, masked)
            encoded.guards.extend(_closed(self, encoded))
        else:
            encoded = self._by_cases(item, low, high, masked)
        encoded.literal = next(self._literals)
        self.session.add(encoded.literal, encoded.guards)
        self._place(encoded, self._needs(encoded))
        return encoded

    def _needs(self, encoded: Encoded) -> Needs | None:
        """What must be seen with a transaction that is kept; None where that is open."""
        problem, level = self.problem, self.problem.levels[encoded.item]
        if sees_a_set(problem, encoded.item):
            return None
        if not problem.closes or level.scope is not Scope.TRANSACTION:
            return NOTHING
        return Needs(encoded.low, frozenset()) if encoded.low == encoded.high else None

    def forget(self, length: int) -> None:
        """The trace was truncated to this length."""
        for position in [position for position in self.encoded if position > length]:
            del self.encoded[position]

    def take_back(self, length: int) -> None:
        """Take back all but the first `length` placements, also from the trace."""
        self.trace.truncate(length)
        self.forget(length)
        self._known_keys.clear()

    def _checked_run(self, item: int, low: int, high: int, masked: list[frozenset[int]] | None) -> Encoded:
        """A run with the commit tests of its level; low > high leaves no state to read."""
        encoded = self._run(item, low, high, masked)
        if low > high:
            encoded.guards.append(FALSE)
        for position, _, version in self._foreseen(item, high):
            written = version.written if isinstance(version, Guarded) else TRUE
            encoded.guards.append(neg(conj(encoded.view.sees_position(position), written)))
        states = self.trace.states
        match self.problem.levels[item].conflict:
            case Conflict.VALUES:
                encoded.guards.extend(no_write_conflict(states, encoded.view, encoded.writes))
            case Conflict.VERSIONS if self.problem.levels[item].acts:
                # of what its snapshot did not have, too little is said here: the concrete runs find it
                pass
            case Conflict.VERSIONS:
                encoded.guards.extend(no_newer_version(states, encoded.view, encoded.writes))
            case Conflict.COLUMNS:
                # nothing is merged: where it is, the concrete runs find it
                encoded.guards.extend(nothing_merged(states, encoded.view, encoded.writes))
                if any(
                    may_merge(states.tables[row.table].schema, row, new, low) for row, new in encoded.writes.items()
                ):
                    self.problem.free.choices[item] = MERGED
        if item in self.problem.aborted:
            # what its COMMIT would have checked may be why it aborted
            return encoded
        encoded.guards.extend(keys_hold(states, encoded.writes))
        if self.problem.checks_references(item):
            encoded.guards.extend(references_hold(states, encoded.writes, self.problem.library.catalog))
        encoded.guards.extend(self._version_order(item, encoded.writes))
        return encoded

    def _foreseen(self, item: int, state: int) -> list[tuple[int, RowHistory, Version]]:
        """What came after the item's start, up to a state, and must have written nothing where it is seen."""
        # what acts does so on the newest state
        return [] if self.problem.levels[item].acts else self.trace.foreseen(item, state)

    def _by_cases(self, item: int, low: int, high: int, masked: list[frozenset[int]] | None) -> Encoded:
        """One run per distinct footprint; states whose run folds to a contradiction are left out, so that
        what has one possible reading left needs no symbol."""
        cases: list[tuple[int, Encoded, Guard]] = []
        looked_at: set[RowHistory] = set()
        state = high
        encoded = None
        while state >= low:
            self.problem.budget.left()
            encoded = self._checked_run(item, state, state, masked)
            looked_at |= encoded.view.looked_at
            since = max(low, *(row.changed_at(state) for row in encoded.view.looked_at), 0)
            # what must have written nothing to be in this state is not in the way of older ones
            since = max(since, *(position for position, _, _ in self._foreseen(item, state)), 0)
            guard = conj(*encoded.guards)
            if guard is not FALSE:
                cases.append((since, encoded, guard))
            state = since - 1
        if not cases:
            encoded = encoded or self._checked_run(item, low, high, masked)
            encoded.guards = [FALSE]
            encoded.view.looked_at = looked_at
            return encoded
        first = cases[0][1]
        first.low, first.high = cases[-1][0], cases[0][0]
        first.view.looked_at = looked_at
        if len(cases) > 1:
            merge(item, cases)
        return first

    def leave_open(self, item: int) -> None:
        """Place with unknown writes to every row that it can have written."""
        low, high = self.trace.horizon(item)
        row_scope = self.problem.levels[item].own_states
        if row_scope or sees_a_set(self.problem, item) or low > high:
            low, high = 0, self.trace.states.length
        view = OpenStates(
            self.trace.states,
            self.problem.transaction(item).id,
            item,
            low,
            high,
            row_scope=row_scope,
            use_index=self.problem.heuristics.index,
        )
        view.known_keys = self._known_keys
        for statement in self.problem.prepared(item).statements:
            view.enter_statement(statement.index)
            if may_write(statement):
                self.answers.outcome(item, statement, view)
        writes: WriteMap = {}
        for row, version in view.writes().items():
            writes[row] = self.open_version(item, row, version)
        self._place(Encoded(item, 0, None, low, high, view, writes))

    def _place(self, encoded: Encoded, needs: Needs | None = NOTHING) -> None:
        trace = self.trace
        if encoded.item in self.problem.aborted:
            encoded.writes = {}
        trace.states.place(encoded.writes)
        idle = all(isinstance(v, Guarded) and v.written is not TRUE for v in encoded.writes.values())
        trace.timeline.append(self.problem.times[encoded.item], idle=idle)
        trace.place_symbolic(encoded.item, needs)
        encoded.position = trace.states.length
        self.encoded[encoded.position] = encoded

    def _view(self, item: int, low: int, high: int, masked: list[frozenset[int]] | None) -> GuardedStates:
        view = GuardedStates(
            self.trace.states,
            self.problem.transaction(item).id,
            item,
            low,
            high,
            row_scope=self.problem.levels[item].own_states,
            by_key=self.problem.levels[item].acts,
            masked=None if masked is None else dict(enumerate(masked)),
            use_index=self.problem.heuristics.index,
            sets=sees_a_set(self.problem, item),
        )
        view.told = self.problem.free.told(item)
        return view

    def _run(self, item: int, low: int, high: int, masked: list[frozenset[int]] | None) -> Encoded:
        row_scope = self.problem.levels[item].own_states
        if self.problem.levels[item].scope is Scope.STATEMENT:
            self._refuse_two_versions(item)
        view = self._view(item, low, high, masked if row_scope else None)
        guards = list(self._statements(item, view))
        writes = view.writes()
        if masked is not None and not row_scope and self._touches(view, masked):
            again = self._view(item, low, high, masked)
            guards.extend(self._statements(item, again))
            guards.extend(same_writes(writes, again.writes()))
            view.looked_at |= again.looked_at
            if sees_a_set(self.problem, item):
                for read, positions in again.sees.items():
                    view.sees.setdefault(read, set()).update(positions)
            else:
                guards.extend(chains(again.sees))
        if not row_scope:
            # what constraints met, execution by execution
            guards.extend(chains({read: seen for read, seen in view.sees.items() if read.statement is not None}))
        return Encoded(item, 0, None, low, high, view, writes, guards)

    def _refuse_two_versions(self, item: int) -> None:
        """Where each execution reads a state of its own, every row of it is left free to come from any: that admits
        more, unless an execution meets one row in two versions. Raises Unsupported."""
        for statement in self.problem.prepared(item).statements:
            if statement.program is None:
                continue
            bound, catalog = statement.program.statement, self.problem.library.catalog
            level = self.problem.levels[item]
            if (
                meets_twice(bound, catalog)
                or (level.by_row and not looks_once(bound, catalog))
                or (level.rechecks and looks_again(bound, catalog))
            ):
                raise self.answers.unsupported(item, statement, "a row met in two versions, where rows are symbolic")

    def _touches(self, view: GuardedStates, masked: list[frozenset[int]]) -> bool:
        late = frozenset().union(*masked)
        return any(position in late for row in view.looked_at for position in row.positions)

    def _statements(self, item: int, view: GuardedStates) -> Iterator[Guard]:
        for statement in self.problem.prepared(item).statements:
            try:
                yield from self.answers.guards(item, statement, view)
            except Unsupported:
                program = statement.program
                if not self._lenient or self.problem.levels[item].acts or program is None or not program.read_only:
                    raise

    def _version_order(self, item: int, writes: WriteMap) -> Iterator[Guard]:
        """``order: exact``: no row's versions against commit order, where places do not see to that."""
        if not self.problem.orders_versions:
            return
        own = self.problem.times[item].commit
        if own is None:
            return
        for row, version in writes.items():
            last = newest(self.trace.states, row)
            changes = neg(equal(or_else(version, last), last))
            for index, position in enumerate(row.positions):
                other = self.trace.timeline.times[position - 1].commit if position else None
                if other is not None and other > own:
                    before = newest_of(row.versions[:index])
                    yield disj(neg(changes), equal(or_else(row.versions[index], before), before))

    def open_version(self, item: int, row: RowHistory, version: Version) -> Version:
        """An unknown write where `version` may be written: key columns that are certain stay, all else is unknown."""
        alternatives = list(alternatives_of(version))
        written = version.written if isinstance(version, Guarded) else TRUE
        present = [values for _, values in alternatives if values is not None]
        shapes = present or [v for _, v in newest(self.trace.states, row) if v is not None]
        schema = self.trace.states.tables[row.table].schema
        key_columns = {column for key in schema.keys for column in key.columns}
        name = (item, row.address)
        values = tuple(
            shapes[0][index]
            if shapes and index in key_columns and is_certain(shapes, index)
            else unknown_value((*name, index), column.type, column.not_null)
            for index, column in enumerate(schema.columns)
        )
        wrote = TRUE if written is TRUE else atom(("wrote", *name))
        keeps = len(present) == len(alternatives) and bool(row.positions)
        exists = TRUE if keeps else atom(("exists", *name))
        if wrote is TRUE and exists is TRUE and all(is_concrete(value) for value in values):
            return values  # type: ignore[return-value]
        return Guarded(
            tuple(
                (guard, kept)
                for guard, kept in ((conj(wrote, exists), values), (conj(wrote, neg(exists)), None))
                if guard is not FALSE
            )
        )

    def in_model(self, model: Model) -> Modelled:
        """What a model says of the transactions placed."""
        return Modelled(self.trace, self.encoded, model)


def _closed(encoder: Encoder, encoded: Encoded) -> Iterator[Guard]:
    """The conditions on which others a transaction, about to be placed, sees where that need be no state (Cerone et al.
    2015, TRANSVIS and SESSION). A transaction that stands open passes nothing on: that only admits more."""
    problem, trace = encoder.problem, encoder.trace
    level, view = problem.levels[encoded.item], encoded.view
    if level.session:
        for position in trace.timeline.session_positions(problem.times[encoded.item]):
            yield view.sees_position(position)
    if level.visible is not Visible.CLOSED:
        return
    wanted = {position for positions in view.sees.values() for position in positions}
    for position in range(len(trace), 0, -1):
        if position not in wanted:
            continue
        for older in range(1, position):
            passed = _sees(encoder, position, older)
            if passed is not FALSE:
                yield disj(neg(view.sees_position(position)), neg(passed), view.sees_position(older))
                wanted.add(older)


def _sees(encoder: Encoder, position: int, older: int) -> Guard:
    """Whether the transaction at `position` sees the one at `older`."""
    problem, placement = encoder.problem, encoder.trace.placements[position - 1]
    level = problem.levels[placement.item]
    encoded = encoder.encoded.get(position)
    if encoded is None:
        needs = placement.needs
        assert needs is not None
        seen = older <= needs.floor or older in needs.others
        return TRUE if seen or (level.session and encoder.trace.follows_in_session(older, position)) else FALSE
    if encoded.literal is None or level.own_states:
        return FALSE
    if older <= encoded.low:
        return TRUE
    positions = encoded.view.sees.get(ReadId(placement.item), set())
    if sees_a_set(problem, placement.item):
        return encoded.view.sees_position(older) if older in positions else FALSE
    threshold = min((one for one in positions if one >= older), default=None)
    return FALSE if threshold is None else atom(Sees(ReadId(placement.item), threshold))
