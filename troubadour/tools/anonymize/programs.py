"""Which places of a log hold the same values: a walk over its schema, its statements and its routines' bodies (`flow`
has expressions and queries). Does not know any value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sql_semantics.ir.definitions import ChangeIndex, ChangeTables, CreateTable, DropTable
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.listed import in_full
from sql_semantics.ir.programs import (
    Attempt,
    CloseCursor,
    Fetch,
    Handled,
    Iterate,
    Labelled,
    Leave,
    Loop,
    OpenCursor,
    Perform,
    Raise,
    RangeLoop,
    Reraise,
    Return,
    ReturnNext,
    ReturnQuery,
    RowLoop,
)
from sql_semantics.ir.queries import OutputColumn, Query
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import (
    Call,
    Delete,
    If,
    Insert,
    JoinedWrite,
    Merge,
    NoEffect,
    Release,
    RollbackTo,
    RowWrite,
    Savepoint,
    SelectInto,
    SetVariable,
    Statement,
    Together,
    Truncate,
    Update,
)
from sql_semantics.ir.walks.nesting import expressions_of, nested
from sql_semantics.ir.walks.traverse import columns_read
from sql_semantics.records import dataclass
from troubadour.tools.anonymize.domains import Place
from troubadour.tools.anonymize.flow import Flow, Frame, Row, answer, column, variable

SILENT = (
    Truncate
    | DropTable
    | ChangeIndex
    | Savepoint
    | RollbackTo
    | Release
    | NoEffect
    | Leave
    | Iterate
    | Raise
    | Reraise
    | CloseCursor
)
"""Statements that move no values."""
Control = RowLoop | OpenCursor | Fetch | Perform | Return | ReturnNext | ReturnQuery | RangeLoop
Text = tuple[str, Any]
"""A statement's text, and the shape of its parameters."""


@dataclass(frozen=True, slots=True)
class TextFrame:
    """A statement of the log."""

    text: Text

    def param(self, key: int | str) -> Place:
        """A parameter of the text."""
        return param(self.text, key)

    def variable(self, slot: int) -> Place:
        """Not there: variables are a routine's."""
        raise AssertionError(f"variable {slot} outside of a routine")


@dataclass(frozen=True, slots=True)
class RoutineFrame:
    """A routine's body."""

    routine: Routine

    def param(self, key: int | str) -> Place:
        """Not there: parameters of a routine are variables."""
        raise AssertionError(f"parameter {key} inside of a routine")

    def variable(self, slot: int) -> Place:
        """A variable or parameter of the routine."""
        return variable(self.routine, slot)


def param(text: Text, key: int | str) -> Place:
    """A statement's parameter."""
    return ("param", text, key)


def result(text: Text, number: int, index: int) -> Place:
    """A column of a statement's result sets, counted from 0."""
    return ("result", text, number, index)


class ProgramFlow(Flow):
    """The walk over a log's catalog, when it is made, and then over its statements."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._catalog = catalog
        for table in catalog.tables.values():
            self._table(table)
        for of_table in catalog.triggers.values():
            self.unknown = self.unknown or of_table[0].construct
        for procedure in catalog.procedures.values():
            if procedure.routine is None:
                self.unknown = self.unknown or f"routine {procedure.name}"
            else:
                self._body(procedure.body, RoutineFrame(procedure.routine))

    def text(self, text: Text, statement: Statement, told: bool) -> None:
        """A statement of the log. `told`: the columns of its result sets are known before it runs."""
        row = self._statement(statement, TextFrame(text))
        sets = [*self._sets(statement, frozenset())] if isinstance(statement, Call) else [row] if row else []
        for number, shown in enumerate(sets):
            for index, place in enumerate(shown):
                if told:
                    self.domains.join(result(text, number, index), place)
                else:
                    self.domains.keep(place, "results whose types depend on how a CALL runs")

    # -- the schema

    def _table(self, table: Table) -> None:
        frame = TextFrame((table.name, None))
        row = self._columns(table.name)
        for index, item in enumerate(table.columns):
            self.domains.of(row[index]).nonzero |= item.identity == "zero"
            for expression in (item.default, item.generated):
                if expression is not None:
                    self.domains.join(row[index], self.value(expression, (row,), frame))
        self.read((check.condition for check in table.checks), (row,), frame)
        for key in table.keys:
            self.read((*key.parts, key.where), (row,), frame)
        for reference in table.foreign_keys:
            for own, theirs in zip(reference.columns, reference.parent_columns, strict=True):
                self.domains.join(row[own], column(reference.parent, theirs))
        if table.query is not None:
            self._equal(row, self.query(table.query, (), frame))

    def _columns(self, table: str) -> list[Place]:
        return [column(table, index) for index in range(len(self._catalog.tables[table].columns))]

    def _equal(self, row: Sequence[Place], other: Sequence[Place]) -> None:
        for one, two in zip(row, other, strict=False):
            self.domains.join(one, two)

    # -- statements

    def _body(self, body: Iterable[Statement], frame: Frame) -> None:
        for statement in body:
            self._statement(statement, frame)

    def _statement(self, statement: Statement, frame: Frame) -> Row:
        """The places of the columns that it gives, () where it is no query and has no RETURNING."""
        if isinstance(statement, Query):
            return self.query(statement, (), frame)
        match statement:
            case Insert():
                return self._insert(statement, frame)
            case Update() | Delete():
                row = self._columns(statement.table)
                self.read((statement.where,), (row,), frame)
                if isinstance(statement, Update):
                    self._assign(row, statement.assignments, row, frame)
                for key in statement.order:
                    self.order(key, (row,), frame)
                if statement.limit is not None:
                    self._spent([self.value(statement.limit, ((),), frame)], "LIMIT")
                return self._returning(statement.returning, row * 3, frame)
            case JoinedWrite():
                joined = self.joined(statement.sources, (), frame)
                self.read((statement.where,), (joined,), frame)
                for target in statement.targets:
                    self._assign(self._columns(target.table), target.assignments, joined, frame)
                return self._returning(statement.returning, joined, frame)
            case Merge(name, sources, whens):
                joined = self.joined(sources, (), frame)
                row = self._columns(name)
                for when in whens:
                    self.read((when.condition,), (joined,), frame)
                    self._assign(row, when.assignments, joined, frame)
                    self._equal(row, self.values(when.row, (joined,), frame))
                action = self.domains.another("a literal")
                return self._returning(statement.returning, [*joined, *row, *row, action], frame)
            case Together(items, main):
                for item in items:
                    self.define(item, self._statement(item.write, frame))
                return self._statement(main, frame)
            case CreateTable() | ChangeTables():
                self._filled(statement, frame)
            case SelectInto(query, slots):
                self._equal([frame.variable(slot) for slot in slots], self.query(query, (), frame))
            case SetVariable(slot, expression):
                self.domains.join(frame.variable(slot), self.value(expression, (), frame))
            case Call():
                self._call(statement, frame)
            case RowLoop() | OpenCursor() | Fetch() | Perform() | Return() | ReturnNext() | ReturnQuery() | RangeLoop():
                self._control(statement, frame)
            case If() | Loop() | Labelled() | Attempt() | Handled():
                self.read(expressions_of(statement), (), frame)
                self._body(nested(statement), frame)
            case _:
                _: SILENT = statement  # every other kind has its case
        return ()

    def _filled(self, statement: CreateTable | ChangeTables, frame: Frame) -> None:
        fillings = [statement.filling] if isinstance(statement, CreateTable) else [m.filling for m in statement.moves]
        for filling in fillings:
            if filling is not None:
                self._insert(filling, frame)

    def _insert(self, statement: Insert, frame: Frame) -> Row:
        row = self._columns(statement.table)
        for given in in_full(statement).rows:
            self._equal(row, self.values(given, ((),), frame))
        if statement.query is not None:
            found = self.query(statement.query, (), frame)
            self._equal(row, self.values(statement.from_query, (found,), frame))
        if statement.conflict is not None:
            self._assign(row, statement.conflict.assignments, row * 2, frame)
            self.read((statement.conflict.where,), (row * 2,), frame)
        return self._returning(statement.returning, row * 3, frame)

    def _assign(self, row: Row, assignments: Iterable[tuple[int, Expr]], read: Row, frame: Frame) -> None:
        for index, expression in assignments:
            self.domains.join(row[index], self.value(expression, (read,), frame))

    def _returning(self, returning: tuple[OutputColumn, ...] | None, row: Row, frame: Frame) -> Row:
        return () if returning is None else self.outputs(returning, (row,), frame)

    def _call(self, statement: Call, frame: Frame) -> None:
        given = self.values(statement.arguments, (), frame)
        procedure = self._catalog.procedures.get(statement.procedure)
        if procedure is None or procedure.routine is None:
            self.unknown = self.unknown or f"routine {statement.procedure}"
            return
        self.called(procedure.routine, given)
        handed = [variable(procedure.routine, slot) for slot in procedure.answers]
        self._equal([frame.variable(slot) for slot in statement.targets or ()], handed)

    def _sets(self, statement: Statement, calls: frozenset[str]) -> Iterator[Row]:
        """The result sets that a CALL shows, in the order of its text."""
        match statement:
            case Call(procedure=name) if name not in calls and name in self._catalog.procedures:
                procedure = self._catalog.procedures[name]
                if procedure.routine is not None:
                    for inner in procedure.body:
                        yield from self._shown(inner, RoutineFrame(procedure.routine), calls | {name})
                    if procedure.answers and statement.targets is None:
                        yield [variable(procedure.routine, slot) for slot in procedure.answers]

    def _shown(self, statement: Statement, frame: Frame, calls: frozenset[str]) -> Iterator[Row]:
        if isinstance(statement, Call):
            yield from self._sets(statement, calls)
        elif isinstance(statement, Query | RowWrite | Together):
            row = self._statement(statement, frame)
            if row:
                yield row
        elif isinstance(statement, RowLoop):
            for inner in statement.body:
                yield from self._shown(inner, frame, calls)
        elif not isinstance(statement, SelectInto | Perform | OpenCursor | ReturnQuery):
            for inner in nested(statement):
                yield from self._shown(inner, frame, calls)

    # -- what moves values between variables

    def _control(self, statement: Control, frame: Frame) -> None:
        assert isinstance(frame, RoutineFrame)
        match statement:
            case RowLoop():
                found = self._statement(statement.query, frame)
                self._set(frame, statement.arguments)
                self._into(frame, statement.slots, statement.row, found)
                self._body(statement.body, frame)
            case OpenCursor(slot, query, arguments):
                self._set(frame, arguments)
                found = self._statement(query, frame)
                self._equal([("cursor", frame.routine, slot, index) for index in range(len(found))], found)
            case Fetch(slot, row, slots):
                width = 1 + max((index for each in row for index in columns_read(each)), default=0)
                self._into(frame, slots, row, [("cursor", frame.routine, slot, index) for index in range(width)])
            case Perform(inner, row, slots):
                self._into(frame, slots, row, self._statement(inner, frame))
            case ReturnQuery(query, row):
                returned = self.values(row, (self._statement(query, frame),), frame)
                self._equal([answer(frame.routine, index) for index in range(len(returned))], returned)
            case Return(values) | ReturnNext(values):
                returned = self.values(values, (), frame)
                self._equal([answer(frame.routine, index) for index in range(len(returned))], returned)
            case RangeLoop():
                self._spent([frame.variable(statement.slot)], "FOR over a range")
                self._spent(self.values(expressions_of(statement), (), frame), "FOR over a range")
                self._body(statement.body, frame)
        counted = getattr(statement, "count", None)
        if counted is not None:
            self.domains.keep(frame.variable(counted), "a number of rows")

    def _set(self, frame: Frame, arguments: Iterable[tuple[int, Expr]]) -> None:
        for slot, expression in arguments:
            self.domains.join(frame.variable(slot), self.value(expression, (), frame))

    def _into(self, frame: Frame, slots: Sequence[int], row: Iterable[Expr], found: Row) -> None:
        self._equal([frame.variable(slot) for slot in slots], self.values(row, (found,), frame))
