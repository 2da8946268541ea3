"""What one transaction's own answers prove of the rows that it met and wrote, whatever the order.

A transaction is run by itself, on rows of which nothing is known but their keys. What its answers say at once (it read
5 there, so that ``v + 1`` wrote 6) holds in every execution that explains them, if all its reads are of one state. What
it may have written and cannot be told is said to be unknown. Does not know the other transactions, nor any order.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Final, Literal

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import ChangeTables, CreateTable, DropTable
from sql_semantics.ir.queries import BaseTable, Identified
from sql_semantics.ir.statements import Insert, Release, RollbackTo, Savepoint, Update
from sql_semantics.ir.walks.effects import columns_set, written_tables
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.records import dataclass, field, replace
from sql_semantics.terms import FALSE, Guard, Scalar, Term, conj, evaluate, is_concrete, items_of, metered
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from sql_semantics.view import GuardedRow, Row
from troubadour.execution.initial.discovery import Discovery
from troubadour.execution.initial.naming import name_kept_rows, name_rows
from troubadour.execution.prepared import PreparedStatement
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, Version, alternatives_of
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.guarded import GuardedStates
from troubadour.facts.sql.observations import Answers, may_write
from troubadour.facts.sql.propagation import Facts
from troubadour.isolation.levels import Conflict, Level, Scope
from troubadour.problem.budget import AT_ONCE, FEW, MANY, OutOfUnits
from troubadour.problem.problem import Problem

EXACT_KINDS: Final = INTEGER_KINDS | {Kind.NUMERIC, Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.UUID}
"""Kinds whose values are equal in SQL where they are in Python; text too, where it is compared by code points."""


class Unknown(Enum):
    """What is not told: one column's value, or everything of a row, even whether it is there."""

    VALUE = "a value"
    ROW = "a row"


Known = tuple[Value | Literal[Unknown.VALUE], ...] | Literal[Unknown.ROW] | None
"""What is known of a row: some of its values; None: that it is not there."""

Place = tuple[str, tuple[Value, ...]]
"""A table and the values of its key: at most one row of a state is there."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a transaction leaves at a place, if it writes there; `certain`: it does. `added`: by column, how much more
    than before it leaves there, whatever that was but NULL; None where that is not told."""

    certain: bool
    after: Known
    added: tuple[int | None, ...] = ()


@dataclass(slots=True)
class Account:
    """What a transaction `met` in the state that it read, what it `wrote`, where it `inserted` a row that the state
    before it cannot have had, and the tables in which it may have written anything (`wild`). `contradicts`: no one
    state gives its answers, whatever it holds. Where its statements read `views` of their own (`view_accounts`), it is
    told of each what was met there, by the name of its moment. `named`: all places that were looked at, where at most
    one row of a state is; None where those are not all told."""

    met: dict[Place, Known] = field(default_factory=dict)
    wrote: dict[Place, Written] = field(default_factory=dict)
    inserted: set[Place] = field(default_factory=set)
    wild: frozenset[str] = frozenset()
    contradicts: bool = False
    views: dict[str, dict[Place, Known]] = field(default_factory=dict)
    named: frozenset[Place] | None = None

    def met_at(self, moment: str) -> Mapping[Place, Known]:
        """What it met at a moment of its own; where it has no views, in the one state that it read."""
        return self.views.get(moment, {}) if self.views else self.met


def may_agree(one: Known, other: Known) -> bool:
    """Whether one row may be as both say."""
    if one is Unknown.ROW or other is Unknown.ROW:
        return True
    if one is None or other is None:
        return one is other
    return all(
        left is Unknown.VALUE or right is Unknown.VALUE or left == right for left, right in zip(one, other, strict=True)
    )


def places_of(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The tables whose rows are told apart by their one key, with the columns of that: several rows may be NULL there
    where a column may."""
    found: dict[str, tuple[int, ...]] = {}
    dialect = problem.library.dialect
    folds = dialect.rules.running.folds_texts_of_keys
    text = {Kind.TEXT} if equal_by_code_points(text_rule(dialect)) and not folds else set()
    for name, table in problem.library.catalog.tables.items():
        keys = [key for key in table.keys if key.plain]
        known = name not in problem.discovery.unknown
        types = [column.type for column in table.columns]
        plain = all(item.kind in EXACT_KINDS | text and not item.padded and not item.collation for item in types)
        plain = plain and not any(column.generated is not None for column in table.columns)
        told = len(keys) == len(table.keys) == 1 and all(table.columns[place].not_null for place in keys[0].columns)
        if known and plain and told:
            found[name] = keys[0].columns
    return found


def reads_once(problem: Problem, level: Level) -> bool:
    """Whether a transaction finds each row as it is in what it sees from its start, state or not, and rows are all that
    it meets."""
    return (
        level.scope is Scope.TRANSACTION
        and not level.acts
        and not level.dirty
        and level.conflict is not Conflict.COLUMNS  # updates of one row's different columns are merged
        and not problem.library.has_references
        and not problem.library.catalog.transient
    )


class Accounts:
    """The accounts of a problem's transactions, each made once. All of them must read one state each.

    `latest`: that is the state just before the transaction's place, which is also what constraints meet.
    """

    def __init__(self, problem: Problem, *, latest: bool) -> None:
        self.places = places_of(problem)
        self._problem = problem
        self._latest = latest
        self._known: dict[int, Account] = {}
        self._untold: Counter[str] = Counter()

    @cached_property
    def initial(self) -> dict[Place, Row]:
        """The rows of the initial state by their places."""
        return {
            (name, tuple([row[column] for column in columns])): row
            for name, columns in self.places.items()
            for row in self._problem.initial.get(name, ())
            if row is not None
        }

    @cached_property
    def _lasting(self) -> dict[str, list[tuple[Value, ...]]]:
        """The keys of the tables with few rows into which no transaction of the log inserts and from which none
        deletes, and whose keys none updates: every state has the rows of the initial one there."""
        changed, catalog = set[str](), self._problem.library.catalog
        for bound in self._problem.writing():
            if isinstance(bound, CreateTable | DropTable | ChangeTables):
                return {}
            changed |= {table for table, action in written_tables([bound], catalog) if action != "update"}
            for table, columns in columns_set(bound, catalog):
                changed |= {table} if columns & set(self.places.get(table, ())) else set()
        found: dict[str, list[tuple[Value, ...]]] = {name: [] for name in self.places if name not in changed}
        for name, values in self.initial:
            if name in found:
                found[name].append(values)
        return {name: keys for name, keys in found.items() if len(keys) <= MANY}

    @cached_property
    def _keys(self) -> dict[str, list[Value]]:
        """Of the tables with a key of one column, what the initial rows have there; of those with few rows."""
        found: dict[str, list[Value]] = defaultdict(list)
        for name, values in self.initial:
            if len(values) == 1:
                found[name].append(values[0])
        return {name: values for name, values in found.items() if len(values) <= MANY}

    def of(self, item: int) -> Account:
        """The account of an item. Raises Unsupported where a statement of it is not modelled."""
        found = self._known.get(item)
        if found is None:
            found = self._known[item] = self._made(item)
        return found

    def _made(self, item: int) -> Account:
        return self.of_statements(item, self._problem.prepared(item).statements)

    def of_statements(self, item: int, statements: Sequence[PreparedStatement]) -> Account:
        """What statements of an item tell that read one state: nothing where telling takes too much, as a join of
        thousands of rows of which nothing is known does."""
        problem, budget = copy.copy(self._problem), self._problem.budget
        try:
            with budget.within(effort=AT_ONCE), metered(budget.spend_operands):
                return self._run_alone(problem, item, statements)
        except (Unsupported, SqlError):
            return Account(wild=self._written(statements))
        except OutOfUnits:
            budget.left()
            return Account(wild=self._written(statements))

    def _run_alone(self, problem: Problem, item: int, statements: Sequence[PreparedStatement]) -> Account:
        tables = problem.library.catalog.tables
        problem.discovery = Discovery(tables, [name for name in tables if name in self.places])
        problem.closed_world = False
        lasting: dict[str, list[tuple[Value, ...]]] = {}
        for statement in statements:
            named = name_rows(statement, problem.discovery, problem.library.dialect)
            name_kept_rows(statement, problem.discovery, problem.library.dialect, self._keys)
            read = _tables_of(statement) - named
            lasting.update((table, self._lasting[table]) for table in read & self._lasting.keys())
        for table, keys in lasting.items():
            for key in keys:
                problem.discovery.find(table, self.places[table], key)
        return _Alone(problem, item, self.places, lasting, latest=self._latest).account(statements, self._untold)

    def _written(self, statements: Sequence[PreparedStatement]) -> frozenset[str]:
        return _written(statements, self._problem)


_RANGES: Final = (BaseTable, Identified, Update)


def _tables_of(statement: PreparedStatement) -> frozenset[str]:
    """The stored tables whose rows a statement looks for by its own text."""
    if statement.program is None:
        return frozenset()
    found: frozenset[str] | None = statement.program.remembered.get("tables read")
    if found is None:
        parts = walk_parts(statement.program.statement)
        names = [part.table if isinstance(part, Update) else part.name for part in parts if isinstance(part, _RANGES)]
        found = statement.program.remembered["tables read"] = frozenset(names)
    return found


def _written(statements: Sequence[PreparedStatement], problem: Problem) -> frozenset[str]:
    bound = [s.program.statement for s in statements if s.program is not None and may_write(s)]
    return frozenset(table for table, _ in written_tables(bound, problem.library.catalog))


class _View(GuardedStates):
    """Rows of which nothing is known; only those of tables with a key to tell them apart."""

    places: Mapping[str, tuple[int, ...]]
    latest: bool
    plain_insert = False

    def scan(self, table: str) -> list[GuardedRow]:
        """See `GuardedView`."""
        self._check(table)
        return super().scan(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        """See `GuardedView`."""
        self._check(table)
        return super().lookup(table, columns, key)

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        """See `GuardedView`. Constraints meet the newest rows: where others are read, a plain insert that succeeded
        met none."""
        self._check(table)
        if self.latest:
            return super().rivals(table, columns, key)
        if not self.plain_insert:
            raise Unsupported("a constraint that meets newer rows than are read")
        return []

    def insert(self, table: str, guard: Guard, values: SymbolicRow) -> RowHistory:
        """See `GuardedView`."""
        self._check(table)
        return super().insert(table, guard, values)

    def _check(self, table: str) -> None:
        if table not in self.places:
            raise Unsupported(f"rows of {table} that no one key tells apart")


class _Alone:
    """One transaction by itself on the one state that it reads. `lasting`: tables of which it is known which rows there
    are, with the keys of these."""

    def __init__(
        self,
        problem: Problem,
        item: int,
        places: Mapping[str, tuple[int, ...]],
        lasting: Mapping[str, Sequence[tuple[Value, ...]]],
        *,
        latest: bool,
    ) -> None:
        self._problem = problem
        self._lasting = lasting
        self._item = item
        self._places = places
        self._states = StateMap(
            problem.library.catalog.tables,
            {},
            folds_text=problem.library.dialect.rules.running.folds_texts_of_keys,
            undiscovered=(problem.discovery, problem.discovery.unknown),
        )
        self._view = _View(self._states, problem.transaction(item).id, item, 0, 0, row_scope=False, use_index=True)
        self._view.places = places
        self._view.latest = latest
        self._facts = Facts()

    def account(self, statements: Sequence[PreparedStatement], untold: Counter[str]) -> Account:
        """What the answers tell. `untold`: how often more statements of a text told nothing than something; some times
        more, and they are asked no more, as that costs most where it tells least. Raises Unsupported."""
        answers = Answers(self._problem, self._lasting)
        guards: list[Guard] = []
        wild: frozenset[str] = frozenset()
        for number, statement in enumerate(statements):
            bound = None if statement.program is None else statement.program.statement
            self._view.plain_insert = isinstance(bound, Insert) and bound.conflict is None
            text, missed = self._problem.transaction(self._item).statements[statement.index].sql, may_write(statement)
            if untold[text] < FEW:
                try:
                    guards.extend(answers.guards(self._item, statement, self._view))
                    missed = missed and answers.tells_nothing(self._item, statement, self._view)
                    untold[text] -= 1
                except Unsupported:
                    untold[text] += 1
            if missed:
                # what comes after may meet what this wrote
                if any(_moves_back(other) for other in statements[number:]):
                    raise Unsupported("savepoints beside writes to rows that are not named")
                wild = _written(statements[number:], self._problem)
                break
        self._take_lasting()
        self._learn(guards)
        contradicts = conj(*guards) is FALSE or any(self._truth(guard) is False for guard in guards)
        found = Account(self._met(), {}, set(), wild, contradicts=contradicts, named=self._named())
        self._write(found)
        return found

    def _take_lasting(self) -> None:
        """Of a table whose rows are those of the initial state it is known which there are."""
        for name, keys in self._lasting.items():
            table, there = self._states.tables[name], set(keys)
            table.take_discovered()
            for row in table.rows:
                if row.author is None:
                    key = _key(self._initial(name, row.ordinal), self._places[name])
                    self._facts.atoms["initial", name, row.ordinal] = key in there

    def _learn(self, guards: Sequence[Guard]) -> None:
        facts = self._facts
        size = -1
        while size != len(facts.atoms) + len(facts.values):
            size = len(facts.atoms) + len(facts.values)
            for guard in guards:
                facts.learn(guard)

    def _met(self) -> dict[Place, Known]:
        found: dict[Place, Known] = {}
        for name, columns in self._places.items():
            table = self._states.tables[name]
            table.take_discovered()
            for row in table.rows:
                exists = self._facts.atoms.get(("initial", name, row.ordinal))
                if row.author is not None or exists is None:
                    continue
                values = next(values for _, values in alternatives_of(row.versions[0]) if values is not None)
                known = tuple([self._value(value) for value in values])
                found[name, _key(known, columns)] = known if exists else None
        return found

    def _named(self) -> frozenset[Place] | None:
        """All places of which a row was looked at; None where the key of one is not known."""
        found: set[Place] = set()
        for name, columns in self._places.items():
            for row in self._states.tables[name].rows:
                if row.author is None:
                    try:
                        found.add((name, _key(self._initial(name, row.ordinal), columns)))
                    except Unsupported:
                        return None
        return frozenset(found)

    def _write(self, account: Account) -> None:
        inserted: dict[Place, Written] = {}
        for row, version in self._view.writes().items():
            columns = self._places[row.table]
            written = self._written(version)
            if written is None:
                continue
            if row.author is None:
                place = row.table, _key(self._initial(row.table, row.ordinal), columns)
                if any(_key(after, columns) != place[1] for after in self._left(version)):
                    raise Unsupported("a row whose key may have been changed")
                account.wrote[place] = replace(written, added=self._added(row, version))
            elif not isinstance(written.after, tuple):
                raise Unsupported("an insert of which nothing is known")
            else:
                place = row.table, _key(written.after, columns)
                if place in inserted:
                    raise Unsupported("several inserts of one key")
                inserted[place] = written
        for place, written in inserted.items():
            before = account.wrote.get(place)
            if before is None:
                account.inserted |= {place} if written.certain else set()
            elif not (before.certain and before.after is None and written.certain):
                raise Unsupported("an insert over a row of the same key")
            account.wrote[place] = written

    def _initial(self, table: str, number: int) -> Known:
        version = self._problem.discovery.version(table, number)
        values = next(values for _, values in version.alternatives if values is not None)
        return tuple([self._value(value) for value in values])

    def _written(self, version: Version) -> Written | None:
        """What a version leaves; None where it writes nothing."""
        alternatives = [(self._truth(guard), values) for guard, values in alternatives_of(version)]
        open_ = [(truth, values) for truth, values in alternatives if truth is not False]
        if not open_:
            return None
        certain = not isinstance(version, Guarded) or self._truth(version.written) is True
        sure = [values for truth, values in open_ if truth is True]
        if len(sure) == 1:
            open_, certain = [(True, sure[0])], True
        if len(open_) > 1:
            return Written(certain, Unknown.ROW)
        values = open_[0][1]
        return Written(certain, None if values is None else tuple([self._value(value) for value in values]))

    def _left(self, version: Version) -> Iterator[Known]:
        """The rows that a version may leave."""
        for guard, values in alternatives_of(version):
            if values is not None and self._truth(guard) is not False:
                yield tuple([self._value(value) for value in values])

    def _added(self, row: RowHistory, version: Version) -> tuple[int | None, ...]:
        """How much more than before a version has in each column; nothing where that is not one row."""
        left = [values for guard, values in alternatives_of(version) if self._truth(guard) is not False]
        if len(left) != 1 or left[0] is None:
            return ()
        first = self._problem.discovery.version(row.table, row.ordinal)
        before = next(values for _, values in first.alternatives if values is not None)
        return tuple([self._difference(*pair) for pair in zip(before, left[0], strict=True)])

    def _difference(self, before: Scalar, after: Scalar) -> int | None:
        """How much more than `before`, an unknown, a scalar is where that is not NULL; None where it is not told."""
        unknown = next((leaf for _, leaf in items_of(before) if isinstance(leaf, Term)), None)
        if before is after:
            return 0
        if unknown is None or unknown.kind not in INTEGER_KINDS:
            return 0 if is_concrete(before) and is_concrete(after) and before == after else None
        # the cases of a scalar are all that there are
        leaves = [leaf for guard, leaf in items_of(after) if self._truth_beside(before, guard) is not False]
        if len(leaves) != 1 or not isinstance(leaves[0], Term):
            return None
        if leaves[0] is unknown:
            return 0
        inner, more = leaves[0].args[:2] if leaves[0].op == "add" else (None, None)
        return more if inner is unknown and isinstance(more, int) else None

    def _truth_beside(self, scalar: Scalar, guard: Guard) -> bool | None:
        """Whether a guard holds where a scalar is not NULL; None where the answers do not tell."""
        nulls = [case.args[0] for case, leaf in items_of(scalar) if leaf is None and case.kind == "atom"]
        atoms = self._facts.atoms
        self._facts.atoms = {**atoms, **dict.fromkeys(nulls, False)}
        try:
            return self._truth(guard)
        finally:
            self._facts.atoms = atoms

    def _truth(self, guard: Guard) -> bool | None:
        """Whether a guard holds; None where the answers do not tell."""
        return self._told(guard, {})

    def _told(self, guard: Guard, known: dict[Guard, bool | None]) -> bool | None:
        """`known`: the guards that were looked at: one may be part of many."""
        if guard in known:
            return known[guard]
        found = known[guard] = self._told_of_parts(guard, known)
        return found

    def _told_of_parts(self, guard: Guard, known: dict[Guard, bool | None]) -> bool | None:
        match guard.kind:
            case "true" | "false":
                return guard.kind == "true"
            case "atom":
                return self._facts.atoms.get(guard.args[0])
            case "not":
                inner = self._told(guard.args[0], known)
                return None if inner is None else not inner
            case "and" | "or":
                parts = {self._told(part, known) for part in guard.args}
                decisive = guard.kind == "or"
                return decisive if decisive in parts else None if None in parts else not decisive
        operator, *leaves = guard.args
        left, right = (self._leaf(leaf) for leaf in leaves)
        if left is Unknown.VALUE or right is Unknown.VALUE:
            return self._facts.comparisons.get(guard)
        if operator == "=":
            return bool(left == right)
        # binding has brought both to one type
        return bool(left < right) if operator == "<" else bool(left <= right)  # type: ignore[operator]

    def _value(self, scalar: Scalar) -> Value | Literal[Unknown.VALUE]:
        for guard, leaf in items_of(scalar):
            truth = self._truth(guard)
            if truth is None:
                return Unknown.VALUE
            if truth:
                return self._leaf(leaf)
        return Unknown.VALUE

    def _leaf(self, leaf: object) -> Value | Literal[Unknown.VALUE]:
        if not isinstance(leaf, Term):
            return leaf  # type: ignore[return-value]  # what is no term is a value
        return evaluate(leaf, self._facts) if self._facts.mentions(leaf) else Unknown.VALUE


def _moves_back(statement: PreparedStatement) -> bool:
    bound = None if statement.program is None else statement.program.statement
    return isinstance(bound, Savepoint | Release | RollbackTo)


def _key(row: Known, columns: Sequence[int]) -> tuple[Value, ...]:
    """The key of a row of which it is known. Raises Unsupported where it is not."""
    found: list[Value] = []
    for column in columns:
        value = row[column] if isinstance(row, tuple) else Unknown.VALUE
        if value is Unknown.VALUE or value is None:
            raise Unsupported("a row whose key is not known")
        found.append(value)
    return tuple(found)
