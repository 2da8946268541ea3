"""Guessing the initial rows that the log does not give.

One walk along the hint order: what a transaction looks at is run on symbolic rows, and what its answers say at once,
such as ``u + 10 = 310``, is taken over; rows that are known run concretely. A guess proves nothing: it is what the
search is started from, and where that fails the solver is asked with all rows open again. Does not know which order
is right.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column, Outer
from sql_semantics.ir.queries import Select
from sql_semantics.ir.walks.traverse import fields_of
from sql_semantics.terms import Cases, Guard, Term, atom, compare, evaluate, evaluate_guard, neg
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.initial.discovery import InitialRows, row_in_model
from troubadour.execution.prepared import PreparedStatement
from troubadour.execution.states.history import Guarded, RowHistory, Version, alternatives_of
from troubadour.execution.views.guarded import GuardedStates
from troubadour.facts.sql.observations import Answers
from troubadour.facts.sql.propagation import Facts, keys_of, unknowns_of
from troubadour.problem.budget import LONGER, MANY, SOME
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.solver import Answer, Session


def guess_initial_rows(problem: Problem) -> InitialRows:
    """Initial rows of the tables where the log gives none. Raises OutOfTime."""
    return _Walk(problem).run()


class _Walk:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._trace = Trace(problem)
        self._answers = Answers(problem)
        self._facts = Facts()
        self._pending: list[Guard] = []
        self._unsure: deque[tuple[int, Guard]] = deque()
        self._waiting: dict[tuple[str, Hashable], set[RowHistory]] = {}
        self._rows: set[RowHistory] = set()
        self._used = _names_used(problem)

    def run(self) -> InitialRows:
        problem = self._problem
        for item, status in enumerate(problem.statuses):
            if status != "committed":
                continue
            problem.budget.left()
            while self._unsure and self._unsure[0][0] < item - SOME:
                self._learn(self._unsure.popleft()[1])
            try:
                self._place(item)
            except (Unsupported, SqlError):
                self._trace.states.place({})
                self._trace.timeline.append(problem.times[item])
                self._trace.place_symbolic(item)
        while self._unsure:
            self._learn(self._unsure.popleft()[1])
        self._solve()
        found = {}
        for name in problem.discovery.unknown:
            table = self._trace.states.tables[name]
            table.take_discovered()
            rows = sorted((row for row in table.rows if row.author is None), key=lambda row: row.ordinal)
            found[name] = [
                row_in_model(problem.discovery.version(name, row.ordinal), self._facts, table.schema, row.ordinal)
                for row in rows
            ]
        return found

    def _place(self, item: int) -> None:
        trace, problem = self._trace, self._problem
        newest = trace.states.length
        low, high = trace.timeline.start_interval(problem.times[item])
        if problem.levels[item].own_states:
            high = newest
        high = max(low, high)
        self._take_discovered()
        try:
            candidate = trace.run(item, Choices(newest))
            if candidate.failure is not None and high < newest:
                candidate = trace.run(item, Choices(high))
            trace.keep(candidate)
            return
        except OpenRead:
            pass
        view, guards = self._symbolic(item, min(high, newest))
        writes = view.writes()
        trace.states.place(writes)
        trace.timeline.append(problem.times[item])
        trace.place_symbolic(item)
        self._watch(writes)
        for guard in guards:
            for part in guard.args if guard.kind == "and" else (guard,):
                if self._is_sure(part, low, newest):
                    self._learn(part)
                else:
                    self._unsure.append((item, part))

    def _is_sure(self, guard: Guard, low: int, newest: int) -> bool:
        """Whether no row that it tells of changed while the transaction may have taken its snapshot."""
        rows = (row for key in keys_of(guard) for row in self._waiting.get(key, ()))
        return all(not low < row.changed_at(newest) <= newest for row in rows)

    def _symbolic(self, item: int, state: int) -> tuple[GuardedStates, list[Guard]]:
        """A run on symbolic rows and what its answers say, read statement by statement."""
        problem = self._problem
        view = GuardedStates(
            self._trace.states,
            problem.transaction(item).id,
            item,
            state,
            state,
            row_scope=problem.levels[item].own_states,
            by_key=problem.levels[item].acts,
            use_index=problem.heuristics.index,
        )
        view.told = problem.free.told(item)
        guards: list[Guard] = []
        for statement in problem.prepared(item).statements:
            if not _is_summary(statement):
                guards += self._answers.guards(item, statement, view)
        return view, guards

    def _learn(self, guard: Guard) -> None:
        before = len(self._facts.atoms) + len(self._facts.values)
        if not self._facts.learn(guard) and len(self._pending) < MANY:
            self._pending.append(guard)
        if len(self._facts.atoms) + len(self._facts.values) > before:
            self._pending = [other for other in self._pending if not self._is_known(other)]
            self._settle()

    def _is_known(self, guard: Guard) -> bool:
        """Whether a guard says nothing new any more."""
        return self._facts.learn(guard) or all(map(self._facts.knows, keys_of(guard)))

    def _solve(self) -> None:
        """Ask the solver for what the answers say only together, such as that a value is not above 9."""
        facts, session = self._facts, Session()
        unknowns: dict[Hashable, Term] = {}
        for guard in self._pending:
            unknowns |= unknowns_of(guard)
        told = [compare("=", term, facts.values[key]) for key, term in unknowns.items() if key in facts.values]
        atoms = {key for guard in self._pending for kind, key in keys_of(guard) if kind == "atom"}
        told += [atom(key) if facts.atoms[key] else neg(atom(key)) for key in atoms if key in facts.atoms]
        session.add(0, told)
        kept = dict(enumerate(self._pending, 1))
        for number, guard in kept.items():
            session.add(number, [guard])
        answer, core = session.check([0, *kept], LONGER)
        while answer is Answer.UNSATISFIABLE and max(core, default=0) > 0:
            # what came last is most likely of another state than it was compared with
            del kept[max(core)]
            answer, core = session.check([0, *kept], LONGER)
        if answer is not Answer.SATISFIABLE:
            return
        model = session.model()
        for key in unknowns:
            value = model.value(key)
            if value is not None:
                facts.values.setdefault(key, value)
        for key in atoms:
            facts.atoms.setdefault(key, model.holds(key))

    def _take_discovered(self) -> None:
        for name in self._problem.discovery.unknown:
            table = self._trace.states.tables[name]
            table.take_discovered()
        self._watch_new()

    def _watch_new(self) -> None:
        """Rows met for the first time; columns that no statement names hold anything."""
        for name in self._problem.discovery.unknown:
            table = self._trace.states.tables[name]
            for row in reversed(table.rows):
                if row in self._rows:
                    break
                self._rows.add(row)
                if row.author is None:
                    self._default(row)
                    self._watch([row])

    def _default(self, row: RowHistory) -> None:
        schema = self._trace.states.tables[row.table].schema
        name = ("initial", row.table, row.ordinal)
        filled = row_in_model(row.versions[0], _Everything(), schema, row.ordinal)
        assert filled is not None
        for place, column in enumerate(schema.columns):
            if column.name not in self._used:
                key = ("value", *name, place)
                self._facts.values.setdefault(key, filled[place])
                self._facts.atoms.setdefault(("null", *name, place), not column.not_null)

    def _watch(self, rows: Iterable[RowHistory]) -> None:
        """Note what the symbolic versions of rows hang on."""
        for row in rows:
            for version in row.versions:
                for key in _keys_of_version(version):
                    self._waiting.setdefault(key, set()).add(row)

    def _settle(self) -> None:
        """Rows whose versions are known by now become plain."""
        known = [key for key in self._waiting if self._facts.knows(key)]
        for row in {row for key in known for row in self._waiting.pop(key)}:
            for position, version in zip(list(row.positions), list(row.versions), strict=True):
                if isinstance(version, Guarded) and all(map(self._facts.knows, _keys_of_version(version))):
                    self._trace.states.replace(row, position, self._plain(version))

    def _plain(self, version: Guarded) -> Version:
        for guard, values in version.alternatives:
            if evaluate_guard(guard, self._facts):
                return None if values is None else tuple(evaluate(value, self._facts) for value in values)
        return Guarded(())


class _Everything(Facts):
    """Every row is there."""

    def holds(self, key: Hashable) -> bool:
        """See `Assignment`."""
        return isinstance(key, tuple) and key[0] == "initial"


def _keys_of_version(version: Version) -> set[tuple[str, Hashable]]:
    found: set[tuple[str, Hashable]] = set()
    if isinstance(version, Guarded):
        for guard, values in alternatives_of(version):
            found |= keys_of(guard)
            for value in values or ():
                if isinstance(value, Cases):
                    for inner, leaf in value.items:
                        found |= keys_of(inner) | keys_of(leaf)
                elif isinstance(value, Term):
                    found |= keys_of(value)
    return found


def _is_summary(statement: PreparedStatement) -> bool:
    """Whether it only adds rows up: on open rows that costs much and tells little."""
    program = statement.program
    return program is not None and isinstance(program.statement, Select) and program.statement.groups is not None


def _names_used(problem: Problem) -> set[str]:
    """The names of all columns that a statement or a routine reads."""
    found: set[str] = set()
    seen: set[int] = set()
    pending: list[object] = [program.statement for program in problem.library.programs()]
    pending += problem.library.catalog.procedures.values()
    for table in problem.library.catalog.tables.values():
        pending += [table.checks, table.keys]
        found.update(table.columns[place].name for key in table.keys for place in key.columns)
        found.update(table.columns[place].name for key in table.foreign_keys for place in key.columns)
        found.update(column.name for column in table.columns if column.generated is not None)
    while pending:
        node = pending.pop()
        if isinstance(node, Column | Outer):
            found.add(node.name)
        if id(node) not in seen:
            seen.add(id(node))
            pending += list(fields_of(node))
    return found
