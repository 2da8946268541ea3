"""What the statements of each transaction do to which rows, and what their answers say.

What cannot be followed costs the rows that it may touch, and no more: a transaction may leave anything in them. Does
not know which was before which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cached_property

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Delete, Insert, RollbackTo, Update
from sql_semantics.ir.walks.effects import acting_of, columns_moved, draws, written_tables
from sql_semantics.records import dataclass, field, replace
from sql_semantics.run import Arguments, MemoryView
from sql_semantics.view import Row
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.prepared import PreparedStatement, tables_touched
from troubadour.facts.rows.answers import changes_too_many, contradicts_itself
from troubadour.facts.rows.local import (
    Cascade,
    Does,
    Effect,
    Part,
    Untold,
    cascade_of,
    effect_of,
    keys_of,
    local_of,
    looks_of,
    rekeyed,
)
from troubadour.facts.rows.tables import Key, Tables, tables_of
from troubadour.facts.rows.told import Share, Told, told_by, told_of_group
from troubadour.problem.budget import STATEMENT
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A part of a statement (its number) with its arguments; `places`: those of the only rows that it may touch (None:
    any of its table), which its own answer tells if it `answers` so; `told`: what the statement's answer says of all
    its parts together. `idle`: it changed no row, as it was answered. `alone`: the answer is about one row.
    `asks`: the query of the group that it inserts."""

    statement: int
    part: Part
    arguments: Arguments
    shape: int
    places: frozenset[Key] | None
    told: Told
    idle: bool = False
    alone: bool = False
    answers: bool = False
    asks: Step | None = None
    _fitting: dict[Share, bool] = field(default_factory=dict)

    def fits(self, share: Share) -> bool:
        """Whether its row may have a share in the answer, as far as that is about one row."""
        if not self.alone:
            return True
        found = self._fitting.get(share)
        if found is None:
            found = self._fitting[share] = self.told.fits(share)
        return found

    @property
    def writes(self) -> bool:
        """Whether it may change a row."""
        return self.part.does in (Does.CHANGES, Does.INSERTS) and not self.idle


@dataclass(slots=True)
class RowProgram:
    """The steps of a transaction, in turn, and the tables in which it may leave anything in any row (`changes`) or add
    rows of which nothing is known (`adds`). `writes`: it certainly wrote something; `wrong`: the statements whose
    answers no rows give, with why."""

    steps: list[Step] = field(default_factory=list)
    changes: set[str] = field(default_factory=set)
    adds: set[str] = field(default_factory=set)
    writes: bool = False
    queries: list[WholeQuery] = field(default_factory=list)
    wrong: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class WholeQuery:
    """A query that was answered, with all tables that it looks at: where each of their rows is told, it can be run.
    `looks`: queries of the rows that it can see (None: it may see any)."""

    prepared: PreparedStatement
    tables: frozenset[str]
    looks: tuple[Step, ...] | None

    def refutes(self, rows: Mapping[str, Sequence[Row]]) -> bool:
        """Whether its answer is another one where its tables hold these rows."""
        program = self.prepared.program
        assert program is not None
        view = MemoryView(rows)
        try:
            outcome = program.run(view, self.prepared.arguments)
            return not view.choices and mismatch(self.prepared.observation, outcome) is not None
        except (SqlError, Unsupported):
            return False


class RowPrograms:
    """The programs of a problem's transactions, each made once, and what steps do to rows."""

    def __init__(self, problem: Problem, *, strict: bool = False, newer: bool = False, mixed: bool = False) -> None:
        """`strict`: a row that a write changes is as the write's subqueries saw it; `newer`: what foreign keys do about
        other rows meets newer ones than the statement, which then may be left as anything; `mixed`: as `tables_of`."""
        self.problem = problem
        self._strict, self._newer, self._mixed = strict, newer, mixed
        self.tables: Tables = tables_of(problem, mixed=mixed)
        self._known: dict[int, RowProgram] = {}
        self._effects: dict[tuple[int, Row | None], Effect | Untold] = {}
        self._met: dict[tuple[str, Row], Row] = {}
        self._shapes: dict[tuple[Part, object], int] = {}
        self._cascades: dict[object, tuple[Part, int]] = {}
        self._whole: dict[tuple[str, Key | None], set[Row]] | None = None
        self._groups: dict[tuple[int, Row], tuple[Step, Told]] = {}
        self._passed: dict[int, frozenset[Key]] = {}
        self.statements = self.local = 0
        """How many statements were looked at, and how many of them are followed."""

    def initial(self) -> Mapping[tuple[str, Key], Row]:
        """The initial rows by table and place. Raises Unsupported where one has a place that is not told."""
        found: dict[tuple[str, Key], Row] = {}
        for table in self.tables.keys:
            for row in self.problem.initial.get(table, ()):
                place = None if row is None else self.tables.place_of(table, row)
                if place is None or row is None or (table, place) in found or self._is_another(table, row):
                    raise Unsupported("initial rows that are not told apart")
                found[table, place] = row
        return found

    def of(self, item: int) -> RowProgram:
        """The program of a transaction."""
        found = self._known.get(item)
        if found is None:
            found = self._known[item] = self._made(item)
        return found

    def effect(self, step: Step, row: Row | None) -> Effect | Untold:
        """What a step does to a row."""
        key = step.shape, row
        found = self._effects.get(key)
        if found is None:
            self.problem.budget.note(STATEMENT)
            found = effect_of(step.part, step.arguments, row)
            if isinstance(found, Effect) and found.after is not None and self._is_another(step.part.table, found.after):
                found = Untold.ANYTHING
            self._effects[key] = found
        return found

    def passed(self, step: Step) -> frozenset[Key]:
        """The places of whose rows a step meets none, whatever else becomes of them: by what it asks of columns that
        have what a row began with. Raises Unsupported."""
        found = self._passed.get(step.shape)
        if found is None:
            steady = self._steady[step.part.table]
            looks = [self.beside(step, look) for columns, look in step.part.conditions if columns <= steady]
            begun = self._begun.get(step.part.table, {}) if looks else {}
            found = self._passed[step.shape] = frozenset(
                place
                for place, rows in begun.items()
                if any(all(self.effect(look, row) == Effect(row, 0, None) for row in rows) for look in looks)
            )
        return found

    @cached_property
    def _begun(self) -> dict[str, dict[Key, set[Row]]]:
        """The rows by table and place as they may have begun, of the tables of which that is told."""
        found: dict[str, dict[Key, set[Row]]] = {table: defaultdict(set) for table in self.tables.keys}
        for (table, place), row in self.initial().items():
            found[table][place].add(row)
        for program in map(self.of, (*self.problem.committed, *self.problem.unknown)):
            untold = program.changes | program.adds
            for step in program.steps:
                if step.part.does is not Does.INSERTS or step.part.table not in found:
                    continue
                effect = self.effect(step, None)
                if step.part.blurs or step.places is None or effect is Untold.ANYTHING:
                    untold.add(step.part.table)
                elif isinstance(effect, Effect) and effect.after is not None:
                    for place in step.places:
                        found[step.part.table][place].add(effect.after)
            for table in untold:
                found.pop(table, None)
        return found

    @cached_property
    def _steady(self) -> dict[str, frozenset[int]]:
        """The columns of each table that no statement of the log sets in a row that is there."""
        catalog = self.problem.library.catalog
        moved: dict[str, set[int]] = defaultdict(set)
        for statement in self.problem.writing():
            for table, columns in columns_moved(statement, catalog):
                moved[table] |= columns
        return {
            table: frozenset(
                place
                for place, column in enumerate(catalog.tables[table].columns)
                if place not in moved[table] and column.generated is None and not column.on_update
            )
            for table in self.tables.keys
        }

    def _is_another(self, table: str, row: Row) -> bool:
        """Whether a row equals another that was met, and may be read otherwise: 1.00 and 1.0. One alone is followed."""
        return repr(self._met.setdefault((table, row), row)) != repr(row)

    def can_see(self, query: WholeQuery, table: str, row: Row) -> bool:
        """Whether a query may see a row; one that it cannot see might as well not be there."""
        if query.looks is None:
            return True
        for look in query.looks:
            if look.part.table == table:
                effect = self.effect(look, row)
                if isinstance(effect, Untold) or effect.shown is not None:
                    return True
        return False

    def beside(self, step: Step, part: Part) -> Step:
        """Another part with the arguments of a step."""
        return Step(step.statement, part, step.arguments, self._shape(part, step.arguments), None, Told())

    def shown(self, table: str, place: Key) -> Set[Row] | None:
        """The rows at a place that answers show with all their columns; None where that is not told."""
        if self._whole is None:
            self._whole = defaultdict(set)
            for item in sorted([*self.problem.committed, *self.problem.unknown]):
                for step in self.of(item).steps:
                    for shown in step.told.shown if step.part.whole else ():
                        row = tuple([shown[column] for column in step.part.whole])
                        self._whole[step.part.table, self.tables.place_of(step.part.table, row)].add(row)
        return None if (table, None) in self._whole else self._whole.get((table, place), frozenset())

    def giving(self, step: Step, row: Row) -> tuple[Step, Told]:
        """The INSERT of a group as one of a row, and what that says of the rows that the group is of."""
        group = step.part.group
        assert group is not None
        found = self._groups.get((step.shape, row))
        if found is None:
            shape = self._shape(group.gives, row)
            asked = group.asks.grouped
            assert asked is not None
            told = told_of_group(asked, tuple([row[column] for column in group.answers]), self.tables)
            given = Step(step.statement, group.gives, row, shape, step.places, step.told)
            found = self._groups[step.shape, row] = given, told
        return found

    def _made(self, item: int) -> RowProgram:
        statements = self.problem.prepared(item).statements
        program = RowProgram()
        loose = self.problem.looked_up_once(item)
        undoes = any(s.program is not None and isinstance(s.program.statement, RollbackTo) for s in statements)
        for statement in statements:
            if statement.program is None or not _has_run(statement):
                continue
            if statement.index in loose and statement.program.read_only:
                continue
            unfollowed = undoes or statement.index in loose or statement.statement.unjudged
            if unfollowed or statement.judged.fate is not Fate.RUN:
                self._give_up(program, statement)
                continue
            self._add(program, statement)
        # what it may have left itself it reads first
        blind = program.changes | program.adds
        program.adds |= {s.part.table for s in program.steps if s.part.table in blind and s.part.does is Does.INSERTS}
        program.steps = [step for step in program.steps if step.part.table not in blind]
        return program

    def _give_up(self, program: RowProgram, statement: PreparedStatement) -> None:
        assert statement.program is not None
        bound, catalog = statement.program.statement, statement.program.catalog
        for table, action in written_tables([bound], catalog):
            program.changes.add(table)
            if action == "insert":
                program.adds.add(table)
        program.adds |= rekeyed(bound, catalog, self.tables.keys)

    def _add(self, program: RowProgram, statement: PreparedStatement) -> None:
        assert statement.program is not None
        self.statements += 1
        bound = statement.program.statement
        wrote = {step.part.table for step in program.steps if step.writes} | program.changes | program.adds
        wrong = contradicts_itself(statement)
        if isinstance(bound, Update | Delete) and bound.table not in wrote:
            wrong = wrong or changes_too_many(statement)
        if wrong is not None:
            program.wrong[statement.index] = wrong
        tables = self.tables
        found = local_of(statement.program, tables.keys, tables.untaken, self.problem.library.dialect)
        program.changes |= found.changes
        program.adds |= found.adds
        if not any(part.grouped is None and not part.cut and not part.maybe for part in found.parts):
            self._ask(program, statement)
        for part in found.joined:
            told = told_by(statement, (part,), self.tables)
            shape = self._shape(part, statement.arguments)
            places = self.places(part, statement.arguments)
            step = Step(statement.index, part, statement.arguments, shape, places, told)
            program.steps.append(step)
        self.local += bool(found.joined)
        if found.joined:
            return
        if not found.parts:
            self._give_up(program, statement)
            return
        told = told_by(statement, found.parts, self.tables)
        affected = statement.statement.affected
        shown = statement.observation.results
        idle = affected == 0 and not (shown and shown[0].rows)
        steps: list[Step] = []
        for whole in found.parts:
            part = whole.strict if self._strict and whole.strict is not None else whole
            try:
                places = self.places(part, statement.arguments)
            except Unsupported:
                self._give_up(program, statement)
                return
            answers = places is None and part.maybe and part.least is None and part.does is Does.CHANGES
            if answers:
                # that such a write passed a row over tells nothing of that row
                places = self._shown(part, statement)
            shape = self._shape(part, statement.arguments)
            rests = idle and part.does is not Does.READS
            alone = len(found.parts) == 1 and places is not None and len(places) == 1
            answers = answers and places is not None
            asks = None
            if part.group is not None and not rests:
                asked = part.group.locks if self._mixed else part.group.asks
                number, there = self._shape(asked, statement.arguments), self.places(asked, statement.arguments)
                asks = Step(statement.index, asked, statement.arguments, number, there, Told())
                steps.append(asks)
            steps.append(
                Step(statement.index, part, statement.arguments, shape, places, told, rests, alone, answers, asks)
            )
        self.local += 1
        program.steps += steps
        for cascade in found.cascades if affected != 0 else ():
            if self._newer:
                program.changes.add(cascade.table)
            else:
                program.steps.append(self._cascading(statement, steps[0], cascade, certain=affected == 1))
        plain = any(part.does is Does.INSERTS and not part.conditional for part in found.parts)
        if found.parts[0].does in (Does.CHANGES, Does.INSERTS) and (affected or plain):
            program.writes = program.writes or plain or not self.problem.library.dialect.found_rows

    def _shown(self, part: Part, statement: PreparedStatement) -> frozenset[Key] | None:
        """The places of the rows that a write shows, as it shows each that it changes; None where that is not told."""
        results = statement.observation.results
        if not part.shows or not part.keyed or results is None or len(results) != 1 or not results[0].plain:
            return None
        shown: Sequence[Row] = results[0].rows or ()  # type: ignore[assignment]  # nothing is redacted in plain ones
        places = [self.tables.place(tuple([row[column] for column in part.keyed])) for row in shown]
        if not places or None in places or statement.statement.affected not in (None, len(places)):
            return None
        return frozenset(place for place in places if place is not None)

    def _ask(self, program: RowProgram, statement: PreparedStatement) -> None:
        assert statement.program is not None
        bound, catalog = statement.program.statement, statement.program.catalog
        if not isinstance(bound, Query) or acting_of(bound) != "reads" or statement.observation.nothing:
            return
        tables = tables_touched(statement.program, catalog)
        if tables and tables <= self.tables.keys.keys() and not draws(bound, catalog) and not statement.program.calls:
            looks = looks_of(statement.program, self.problem.library.dialect)
            arguments = statement.arguments
            seen = (
                None
                if looks is None
                else tuple(
                    Step(statement.index, part, arguments, self._shape(part, arguments), None, Told()) for part in looks
                )
            )
            program.queries.append(WholeQuery(statement, tables, seen))

    def _cascading(self, statement: PreparedStatement, step: Step, cascade: Cascade, *, certain: bool) -> Step:
        """What foreign keys do about the rows that a step deletes; `certain`: it deleted one."""
        places, columns = step.places, cascade.key.columns
        parent = step.part.table
        turn = [
            cascade.key.parent_columns.index(c) for c in self.tables.keys[parent] if c in cascade.key.parent_columns
        ]
        by_key = len(turn) == len(columns) == len(self.tables.keys[parent])

        def refers(row: Row) -> bool:
            values = [row[column] for column in columns]
            if None in values:
                return False
            return places is None or not by_key or self.tables.place(tuple([values[n] for n in turn])) in places

        sure = certain and by_key and places is not None and len(places) == 1 and not step.part.maybe
        name = parent, cascade.table, cascade.key.name, places, sure
        if name not in self._cascades:
            part = replace(cascade_of(cascade, refers), maybe=not sure)
            self._cascades[name] = part, self._shape(part, ())
        part, shape = self._cascades[name]
        return Step(statement.index, part, (), shape, None, Told())

    def places(self, part: Part, arguments: Arguments) -> frozenset[Key] | None:
        """The places of the rows that a part may touch; None for any. Raises Unsupported where that of a new row is not
        told."""
        keys = keys_of(part, arguments, self.tables.keys[part.table])
        if keys is None:
            return None
        places = [self.tables.place(key) for key in keys]
        if None in places and part.does is Does.INSERTS:
            raise Unsupported("an INSERT of a key that is not told")
        return None if None in places else frozenset(place for place in places if place is not None)

    def _shape(self, part: Part, arguments: Arguments) -> int:
        """A number for a part with its arguments, the same for equal ones."""
        named = sorted(arguments.items()) if isinstance(arguments, Mapping) else enumerate(arguments)
        exact = tuple([(name, repr(value)) for name, value in named])
        return self._shapes.setdefault((part, exact), len(self._shapes))


def _has_run(statement: PreparedStatement) -> bool:
    """Whether it may have had an effect, or told anything."""
    assert statement.program is not None
    alone = isinstance(statement.program.statement, Query | Update | Delete | Insert)
    return statement.judged.fate not in (Fate.REFUSED, Fate.FAILED) or not alone
