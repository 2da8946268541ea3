"""The library's front door: SQL text in, compiled programs out (paper §5.4).

A statement is bound and compiled once per text and parameter shape. Does not know what the parameters' or the
results' values look like outside SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import (
    Change,
    Forgotten,
    ParamShape,
    beginning,
    bind,
    hidden_reaches,
    is_definition,
    reach_of,
    read_changes,
    read_definitions,
    read_routines,
    read_schema,
    refuse_altered,
    refuse_dangling,
    refuse_parted,
    refuse_writes,
    standing_in_states,
    with_hidden,
    with_types,
)
from sql_semantics.ir.definitions import ChangeTables
from sql_semantics.ir.reach import Reach
from sql_semantics.ir.schema import Catalog, References
from sql_semantics.ir.statements import NoEffect, Statement
from sql_semantics.ir.walks.effects import can_write, changes_of, comes_apart, draws, meets_twice, reached
from sql_semantics.outcome import GuardedOutcome, Outcome
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, field
from sql_semantics.run import Arguments, compile_statement
from sql_semantics.run.writes.rows.keys import compile_keys
from sql_semantics.run.writes.rows.references import meets_references
from sql_semantics.terms import Guard
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType
from sql_semantics.values.unsettled import Unsettled
from sql_semantics.view import GuardedView, View

T = TypeVar("T")
GuardedRun = Callable[[GuardedView, Arguments, Guard], GuardedOutcome]


@dataclass(slots=True)
class Program:
    """One compiled statement. `run` raises SqlError where the DBMS would answer with an error; the symbolic twin is
    compiled when first asked for. `catalog`: the tables as it meets them, without foreign keys where these are ignored.
    `remembered`: what users of the program work out of it once. `left_out`: what of the values that it stores is not
    modelled. `calls`: it may run routines, triggers among them."""

    statement: Statement
    parameters: Mapping[int | str, SqlType]
    read_only: bool
    run: Callable[[View, Arguments], Outcome]
    _library: SqlLibrary = field(repr=False)
    catalog: Catalog = field(repr=False)
    _guarded: GuardedRun | None = None
    remembered: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    left_out: tuple[str, ...] = ()
    calls: bool = False

    def remember(self, what: str, work_out: Callable[[], T]) -> T:
        """What `work_out` gives, worked out once; `what` names it."""
        if what not in self.remembered:
            self.remembered[what] = work_out()
        found: T = self.remembered[what]
        return found

    def can_write(self) -> bool:
        """See `effects.can_write`."""
        return self.remember("can write", lambda: can_write(self.statement, self.catalog))

    def meets_twice(self) -> bool:
        """See `effects.meets_twice`."""
        return self.remember("meets twice", lambda: meets_twice(self.statement, self.catalog))

    def comes_apart(self) -> bool:
        """Whether it is several transactions outside one; see `effects.comes_apart`."""
        if not self._library.dialect.rules.running.calls_are_transactions:
            return False
        return self.remember("comes apart", lambda: comes_apart(self.statement, self.catalog))

    def run_guarded(self, view: GuardedView, arguments: Arguments, path: Guard) -> GuardedOutcome:
        """Run on guarded rows under a path condition; raises Unsupported where that is not modelled."""
        if self._guarded is None:
            from sql_semantics.guarded import compile_guarded  # what runs on rows alone needs none of it

            self._guarded = compile_guarded(self.statement, self.catalog, self._library.dialect)
        return self._guarded(view, arguments, path)


_SETS = pattern(
    r"(SET|RESET|PRAGMA|SHOW|SAVEPOINT|RELEASE|ROLLBACK|BEGIN|START|COMMIT|LOCK|UNLOCK|USE|DISCARD|ANALYZE)\b",
    re.IGNORECASE,
)
"""Statements that hang on no setting."""
_PLAIN = pattern(r"\s*CREATE\s+(UNIQUE\s+)?(TABLE|INDEX)\b(?!.*(DEFAULT|CHECK|GENERATED|\bAS\b))", re.I | re.S)
"""Definitions without an expression."""


_FAIL = pattern(r"\bFAIL\b", re.IGNORECASE)
_TRIGGER = pattern(r"\s*CREATE\s+(OR\s+REPLACE\s+)?(CONSTRAINT\s+)?TRIGGER\b", re.I)


class SqlLibrary:
    """Compiled programs over one schema. Raises SchemaError, Unsupported or UnknownTable from the definitions;
    definitions that are read but not modelled are Unsupported only when a program uses them, wherever that can be told.

    `definitions`: the statements to come that `frontend.defines_table`, in order, or runs of them with what
    `frontend.completes_table`; `altered`: those that change a table otherwise; `beside`: all that the log creates,
    alters or drops, followed or not; `failed`: what of that failed; `unsettled`: settings of the log that are not
    modelled. `partly`: as of `bind`. `changes`: those that change definitions one after the other, so that each
    statement stands in a known scope (`frontend.definitions.changes`); `changing`: the tables that they concern;
    `standing`: states tell which of these hold, and statements need those of their scope. `chooses`: some program so
    far holds a value that the DBMS chooses, `leaves_out`: one that is not modelled. `unknown`: columns, by table, of
    whose values nothing is to be told, with the reason. `spelled`: values of types that are not modelled are told apart
    by how they are written. `unread`: the definitions that cannot be read, with the reason; `unreached`: of one among
    them that may concern anything, empty for none.
    """

    def __init__(
        self,
        dialect: Dialect,
        schema: Sequence[str],
        procedures: Sequence[str] = (),
        definitions: Sequence[str | Sequence[str]] = (),
        altered: Sequence[str] = (),
        unknown: Mapping[tuple[str, str], str] | None = None,
        *,
        spelled: bool = False,
        changes: Sequence[Change] = (),
        standing: bool = False,
        beside: Sequence[str] = (),
        failed: Sequence[str] = (),
        unsettled: Sequence[Unsettled] = (),
        partly: bool = False,
    ) -> None:
        self.dialect = dialect = with_types(dialect, schema)
        self._given = (schema, procedures, definitions, altered)
        self._changes = tuple(changes)
        self._beside = tuple(beside)
        self._failed = tuple(failed)
        self._partly = partly
        self.unsettled = tuple(unsettled)
        texts = [text for text in (*schema, *procedures) if not _PLAIN.match(text)]
        self._deciding = [(setting, any(map(setting.decides.search, texts))) for setting in self.unsettled]
        """Settings that are not modelled, and whether some definition hangs on each."""
        self._fails = any(map(_FAIL.search, (*schema, *beside, *(change.text for change in changes))))
        self._unknown = dict(unknown or {})
        self.standing = standing
        self._nothing: Program | None = None
        try:
            self._read(schema, procedures, definitions, altered, unknown, spelled=spelled)
        except RecursionError as error:
            raise Unsupported("a definition nested too deeply") from error
        self.keys = {name: compile_keys(table, dialect) for name, table in self.catalog.tables.items()}
        self.has_references = any(table.foreign_keys for table in self.catalog.tables.values())
        self.chooses = False
        self.leaves_out = False
        self._without_references: Catalog | None = None
        self._programs: dict[tuple[str, ParamShape, int, References], Program] = {}

    def _read(
        self,
        schema: Sequence[str],
        procedures: Sequence[str],
        definitions: Sequence[str | Sequence[str]],
        altered: Sequence[str],
        unknown: Mapping[tuple[str, str], str] | None,
        *,
        spelled: bool,
    ) -> None:
        dialect = self.dialect
        self.unread: dict[str, str] = {}
        forgotten = Forgotten(unknown or {}, spelled=spelled)
        of_schema = read_schema(schema, dialect, lenient=True, unread=self.unread, forgotten=forgotten)
        tables, transient = read_definitions(definitions, forgotten.of_all(of_schema), dialect)
        tables = forgotten.of_all(tables)
        runs = [text for run in definitions for text in ((run,) if isinstance(run, str) else run)]
        refuse_parted([*altered, *runs, *(change.text for change in self._changes)], tables, dialect)
        for text in altered:
            refuse_altered(text, tables, dialect)
        reaches = hidden_reaches([*schema, *procedures, *runs, *altered, *self._beside], tables, dialect, of_schema)
        tables = with_hidden(tables, reaches.own, of_schema)
        repeats, changed = self._again([*schema, *procedures])
        routines = read_routines(schema, procedures, tables, dialect, reaches.hidden, self.unread, changed)
        strays = [text for text in self.unread if not is_definition(text)]
        self.unreached = f"a definition that cannot be read ({self.unread[strays[0]]})" if strays else ""
        tables, known, refused, triggers = routines.tables, routines.procedures, routines.refused, routines.triggers
        scopes = read_changes(self._changes, tables, dialect, forgotten.of)
        changing = frozenset(scopes.stored.keys() - tables.keys()) | scopes.moved()
        stored, telling = scopes.stored, transient
        if self.standing:
            stored, telling = standing_in_states(changing, scopes, transient)
        hidden = reaches.hidden
        self.catalog = Catalog(stored, known, telling, refused, triggers=triggers, hidden=hidden, repeats=repeats)
        self._scopes = [
            Catalog(names, known, transient, refused, among, triggers, hidden, repeats)
            for names, among in zip(scopes.names, scopes.changes, strict=True)
        ]
        self.changing = changing

    def _again(self, schema: Sequence[str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """See `Remade`: what the log defines that is there already, and the routines that it changes."""
        if not self._beside and not self._failed:
            return {}, {}
        from sql_semantics.frontend.definitions.remade import remade, repeated_types  # it reads bodies of routines

        found = remade(self._beside, schema, self.dialect)
        return {**found.repeats, **repeated_types(self._beside, self._failed, self.dialect)}, found.changed

    def forgetting(self, unknown: Mapping[tuple[str, str], str], *, spelled: bool = False) -> SqlLibrary:
        """The same library with `spelled` as given, in which nothing is told of `unknown` either."""
        unknown = {**self._unknown, **unknown}
        return self._like(self.dialect, *self._given, unknown, self._changes, spelled=spelled, standing=self.standing)

    def following(
        self,
        changes: Sequence[Change],
        definitions: Sequence[str | Sequence[str]],
        altered: Sequence[str],
        *,
        standing: bool,
    ) -> SqlLibrary:
        """The same library in which `changes` are followed, and the other `definitions` and what is `altered` beside
        them are as given."""
        schema, procedures, *_ = self._given
        return self._like(
            self.dialect, schema, procedures, definitions, altered, self._unknown, changes, standing=standing
        )

    def supposing(self, dialect: Dialect, *, fires: bool = True) -> SqlLibrary:
        """The same library by other rules of its product; `fires`: the triggers of its schema do."""
        schema, procedures, definitions, altered = self._given
        if not fires:
            schema = [text for text in schema if not _TRIGGER.match(text)]
        return self._like(
            dialect, schema, procedures, definitions, altered, self._unknown, self._changes, standing=self.standing
        )

    def _like(
        self,
        dialect: Dialect,
        schema: Sequence[str],
        procedures: Sequence[str],
        definitions: Sequence[str | Sequence[str]],
        altered: Sequence[str],
        unknown: Mapping[tuple[str, str], str],
        changes: Sequence[Change],
        *,
        standing: bool,
        spelled: bool = False,
    ) -> SqlLibrary:
        """A library of these, of a log that says the same beside them."""
        return SqlLibrary(
            dialect,
            schema,
            procedures,
            definitions,
            altered,
            unknown,
            spelled=spelled,
            changes=changes,
            standing=standing,
            beside=self._beside,
            failed=self._failed,
            partly=self._partly,
            unsettled=self.unsettled,
        )

    @property
    def definitions(self) -> tuple[str, ...]:
        """The definitions that hold when the log begins, of routines too."""
        schema, procedures, *_ = self._given
        return (*schema, *procedures)

    @property
    def stepwise(self) -> bool:
        """Whether definitions change one after the other, and each statement stands in a scope that they tell."""
        return bool(self._changes)

    def reach(self, sql: str, scope: int = 0) -> Reach:
        """What a statement may have changed that is not modelled."""
        if not self._changes:
            return reach_of(sql, self.catalog, self.dialect)
        names = self._scopes[scope]
        found = reach_of(sql, names, self.dialect).renamed({name: table.name for name, table in names.tables.items()})
        change = names.changes.get(sql.strip())
        return found | changes_of(change, self.catalog) if isinstance(change, ChangeTables) else found

    def fails_halfway(self, sql: str) -> bool:
        """Whether a statement that fails may keep what it did before, by itself or in what it fires."""
        return self.dialect.rules.running.fail_keeps and (self._fails or _FAIL.search(sql) is not None)

    def scope_of(self, table: str) -> int | None:
        """A scope in which a table is called by its own name; None for none."""
        scopes = (
            n for n, names in enumerate(self._scopes) if table in names.tables and names.tables[table].name == table
        )
        return next(scopes, None)

    def scope_after(self, sql: str, scope: int) -> int | None:
        """The scope that a change leaves which stands in one; None for a statement that is no such change."""
        return next(
            (n for n, change in enumerate(self._changes, 1) if change.scope == scope and change.text == sql), None
        )

    def nothing(self) -> Program:
        """The program of what is not run."""
        if self._nothing is None:
            statement = NoEffect("what is not judged")
            run = compile_statement(statement, self.catalog, self.dialect)
            self._nothing = Program(statement, {}, True, run, self, self.catalog)
        return self._nothing

    def programs(self) -> list[Program]:
        """Those asked for so far."""
        return list(self._programs.values())

    def texts(self) -> list[tuple[str, Program]]:
        """Those asked for so far, each with its text."""
        return [(sql, program) for (sql, *_), program in self._programs.items()]

    def program(self, sql: str, shape: ParamShape = None, scope: int = 0, references: References = "kept") -> Program:
        """The program of a statement that stands in a scope, where foreign keys are kept or not; raises Unsupported,
        UnknownTable, or SqlError where the DBMS would certainly refuse the text."""
        key = (sql, shape, scope, references)
        program = self._programs.get(key)
        if program is None:
            try:
                self._check_settings(sql)
                bound = bind(sql, shape, self._scopes[scope], self.dialect, partly=self._partly)
                refuse_writes((bound.statement,), self.catalog)
                catalog = self._kept(bound.statement, scope, references)
                run = compile_statement(bound.statement, catalog, self.dialect, rounds=True)
            except RecursionError as error:
                raise Unsupported("a statement nested too deeply") from error
            names = self._scopes[scope]
            program = Program(
                bound.statement, bound.parameters, bound.read_only, run, self, catalog, left_out=bound.left_out
            )
            program.calls = bool(reached([bound.statement], names))
            self._programs[key] = program
            self.leaves_out = self.leaves_out or bool(bound.left_out)
            self.chooses = self.chooses or draws(bound.statement, names)
        return program

    def _check_settings(self, sql: str) -> None:
        """Raise Unsupported for a statement that hangs on a setting which is not modelled; where a definition does,
        every statement may."""
        if not self._deciding:
            return
        text = beginning(sql)
        for setting, everywhere in self._deciding if not _SETS.match(text) else ():
            if everywhere or setting.decides.search(text):
                raise Unsupported(setting.shown)

    def _kept(self, statement: Statement, scope: int, references: References) -> Catalog:
        """The catalog that a statement is compiled with. Raises Unsupported where it hangs on foreign keys in a way
        that is not known."""
        if references == "ignored":
            if self._without_references is None:
                self._without_references = self.catalog.without_references()
            return self._without_references
        if not isinstance(statement, ChangeTables):  # it moves rows, which SQLite leaves where they are
            refuse_dangling((statement,), self._scopes[scope])
        if references == "unknown" and meets_references(statement, self.catalog):
            raise Unsupported("PRAGMA foreign_keys, of which the value is not known")
        return self.catalog
