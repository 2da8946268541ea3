"""The library's front door: SQL text in, compiled programs out (paper §5.4; DESIGN §3).

A statement is bound and compiled once per text and parameter shape. Does not know what the parameters' or the
results' values look like outside SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sql_semantics.frontend import (
    ParamShape,
    add_trigger,
    bind,
    is_trigger,
    read_definitions,
    read_procedures,
    read_schema,
    refuse_altered,
    refuse_writes,
)
from sql_semantics.guarded import compile_guarded
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Statement
from sql_semantics.ir.traverse import has_free
from sql_semantics.outcome import GuardedOutcome, Outcome
from sql_semantics.run import Arguments, compile_statement
from sql_semantics.run.writes.keys import compile_keys
from sql_semantics.terms import Guard
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType
from sql_semantics.view import GuardedView, View

GuardedRun = Callable[[GuardedView, Arguments, Guard], GuardedOutcome]


@dataclass(slots=True)
class Program:
    """One compiled statement. `run` raises SqlError where the DBMS would answer with an error; the symbolic twin is
    compiled when first asked for. `remembered`: what users of the program work out of it once."""

    statement: Statement
    parameters: Mapping[int | str, SqlType]
    read_only: bool
    run: Callable[[View, Arguments], Outcome]
    _library: SqlLibrary = field(repr=False)
    _guarded: GuardedRun | None = None
    remembered: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def run_guarded(self, view: GuardedView, arguments: Arguments, path: Guard) -> GuardedOutcome:
        """Run on guarded rows under a path condition; raises Unsupported where that is not modelled."""
        if self._guarded is None:
            self._guarded = compile_guarded(self.statement, self._library.catalog, self._library.dialect)
        return self._guarded(view, arguments, path)


class SqlLibrary:
    """Compiled programs over one schema. Raises SchemaError, Unsupported or UnknownTable from the definitions;
    definitions that are read but not modelled are Unsupported only when a program uses them, wherever that can be told.

    `definitions`: the statements to come that `frontend.defines_table`, in order, or runs of them with what
    `frontend.completes_table`; `altered`: those that change a table otherwise. `chooses`: some program so far holds
    a value that the DBMS chooses.
    """

    def __init__(
        self,
        dialect: Dialect,
        schema: Sequence[str],
        procedures: Sequence[str] = (),
        definitions: Sequence[str | Sequence[str]] = (),
        altered: Sequence[str] = (),
    ) -> None:
        self.dialect = dialect
        of_schema = read_schema(schema, dialect, lenient=True)
        for text in filter(is_trigger, procedures):
            add_trigger(text, of_schema, dialect)
        tables, transient = read_definitions(definitions, of_schema, dialect)
        for text in altered:
            refuse_altered(text, tables, dialect)
        refused: dict[str, str] = {}
        routines = [text for text in procedures if not is_trigger(text)]
        self.catalog = Catalog(tables, read_procedures(routines, tables, dialect, refused), transient, refused)
        self.keys = {name: compile_keys(table, dialect) for name, table in tables.items()}
        self.has_references = any(table.foreign_keys for table in tables.values())
        self.chooses = False
        self._programs: dict[tuple[str, ParamShape], Program] = {}

    def programs(self) -> list[Program]:
        """Those asked for so far."""
        return list(self._programs.values())

    def program(self, sql: str, shape: ParamShape = None) -> Program:
        """The program of a statement; raises Unsupported, UnknownTable, or SqlError where the DBMS would certainly
        refuse the text."""
        key = (sql, shape)
        program = self._programs.get(key)
        if program is None:
            bound = bind(sql, shape, self.catalog, self.dialect)
            refuse_writes((bound.statement,), self.catalog)
            run = compile_statement(bound.statement, self.catalog, self.dialect, rounds=True)
            program = Program(bound.statement, bound.parameters, bound.read_only, run, self)
            self._programs[key] = program
            self.chooses = self.chooses or has_free(bound.statement)
        return program
