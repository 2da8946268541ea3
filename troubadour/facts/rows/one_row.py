"""The part of a log that is about one row: the statements that name it by its key, of the transactions that have any.

What is left out touches other rows or other tables, or only reads; and what a statement about several rows answered is
left open. So an execution of the log without that is one of the part, and a violation of the part is one of the log.
Does not know which row is worth a look, nor how the part is decided.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.ir.expressions import Binary, Column, Expr, Param
from sql_semantics.ir.queries import Select
from sql_semantics.ir.statements import Delete, Insert, NoEffect, Release, RollbackTo, Savepoint, Update
from sql_semantics.ir.walks.traverse import conjuncts
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from sql_semantics.values.types import INTEGER_KINDS
from troubadour.execution.free.values import json_of
from troubadour.execution.initial.rows import known_rows
from troubadour.execution.prepared import PreparedStatement, prepare_statement, tables_written
from troubadour.facts.rows.tables import Key
from troubadour.facts.rows.touched import Touching
from troubadour.isolation.levels import Level, Scope, Visible
from troubadour.model.log import InitialTable, Log, LogError, Statement, Transaction
from troubadour.model.opening import opening
from troubadour.problem.problem import Problem

_PLAIN_NAME = pattern(r"[a-z_][a-z0-9_]*\Z")


class _Untold(Exception):
    """Whether a statement touches the row is not told."""


@dataclass(frozen=True, slots=True)
class Part:
    """What of a log is about the row of a table whose `columns` are this `key`."""

    log: Log
    table: str
    columns: tuple[int, ...]
    key: Key


def about_one_row(log: Log, library: SqlLibrary, isolation: str | None, place: int, statement: int) -> Part | None:
    """The part of a log that is about the one row which a statement names, of the transaction at a place in hint order;
    None where it names none by its key, where others may touch it unnamed, or where that is all of the log."""
    try:
        return _OneRow(log, library, isolation, place, statement).part()
    except (_Untold, LogError, SqlSemanticsError):
        return None


def _keeps_parts(level: Level) -> bool:
    """Whether an execution without some reads and rows is one at the level, too, as far as is known here."""
    plain = level.visible is Visible.STATE and level.scope is Scope.TRANSACTION and not level.dirty
    return plain and not (level.serial or level.acts or level.by_row or level.ordered or level.holds)


class _OneRow:
    def __init__(self, log: Log, library: SqlLibrary, isolation: str | None, place: int, statement: int) -> None:
        self._log, self._library = log, library
        reader = log.transactions[place]
        self._initial = known_rows(log, library)
        alone = Problem(Log(log.header, [reader], log.digest), library, self._initial, isolation=isolation)
        self._level = alone.levels[0]
        own = isolation is None and any(one.isolation != reader.isolation for one in log.transactions)
        if own or not _keeps_parts(self._level):
            raise _Untold
        self._touching = Touching(alone, by_key=True)
        found = self._touching.rows(self._prepared(reader, statement))
        if found is None or len(found) != 1:
            raise _Untold
        (((self._table, key), _),) = found
        assert key is not None, "rows are told by their keys"
        self._key = key
        number = key[0] if len(key) == 1 else None
        self._number = number if type(number) is int else None
        """What the key is, where it is one integer."""
        self._params: dict[str, int | None] = {}
        """By text the parameter that is the key of the only row that it touches; None: it is to be looked at."""
        self._undoing: dict[str, bool] = {}
        self._dialect = log.header.dialect
        self._names = frozenset(name.lower() for name in library.catalog.tables)

    def part(self) -> Part | None:
        """The part; None where nothing is left out. Raises _Untold."""
        kept: list[Transaction] = []
        for one in self._log.transactions:
            found = None if one.status == "aborted" else self._shortened(one)
            if found is not None:
                kept.append(found)
        if len(kept) == len(self._log.transactions):
            return None
        tables, initial = self._touching.tables, self._initial.get(self._table, ())
        rows = [row for row in initial if row is not None and tables.place_of(self._table, row) == self._key]
        given = InitialTable(self._table, None, [[json_of(value) for value in row] for row in rows])
        header = msgspec.structs.replace(self._log.header, initial=(given,) if rows else ())
        part = Log(header, kept, self._log.digest)
        return Part(part, self._table, tables.keys[self._table], self._key)

    def _shortened(self, one: Transaction) -> Transaction | None:
        """A transaction with what is about the row; None where nothing is."""
        kept: dict[int, Statement] = {}
        for place, statement in enumerate(one.statements):
            about = self._about(one, place, statement)
            if about is not None:
                kept[place] = about
        if not kept:
            return None
        for place, statement in enumerate(one.statements):
            if self._undoes(one, place):
                kept[place] = statement
        if self._level.real_time or self._level.horizon.at_start or self._level.dialect:
            # its snapshot is as new as the statement that takes it, whatever that is about
            takes = opening(one, self._dialect, self._names)
            if takes is not None and takes not in kept:
                kept[takes] = self._asking_nothing(one.statements[takes])
        statements = [kept[place] for place in sorted(kept)]
        # and it may be as old as its first statement
        statements[0] = msgspec.structs.replace(statements[0], invoked=one.statements[0].invoked)
        return msgspec.structs.replace(one, statements=tuple(statements))

    def _asking_nothing(self, statement: Statement) -> Statement:
        """A query that was sent when a statement was, of whose answer nothing is told."""
        if not _PLAIN_NAME.match(self._table) or statement.error is not None:
            raise _Untold
        return Statement(f"SELECT 1 FROM {self._table}", invoked=statement.invoked, returned=statement.returned)

    def _about(self, one: Transaction, place: int, statement: Statement) -> Statement | None:
        """What of a statement is about the row; None where it does not touch it."""
        if statement.sql not in self._params:
            self._params[statement.sql] = self._keyed(self._prepared(one, place))
        index = self._params[statement.sql]
        plain = statement.error is None and not (statement.unjudged or statement.scope or statement.outcome_unknown)
        if index is not None and plain and isinstance(statement.params, tuple):
            value = statement.params[index]
            if type(value) is int:
                return statement if value == self._number else None
        return self._looked_at(self._prepared(one, place))

    def _looked_at(self, prepared: PreparedStatement) -> Statement | None:
        program, statement = prepared.program, prepared.statement
        if statement.unjudged or statement.scope or statement.references != "kept":
            raise _Untold
        if program is None or isinstance(program.statement, Savepoint | RollbackTo | Release):
            return None
        if isinstance(program.statement, NoEffect):
            if program.statement.alone:
                raise _Untold
            return None
        rows = self._touching.rows(prepared)
        if rows is None:
            if program.calls or self._table in tables_written(program, program.catalog):
                raise _Untold
            return None  # what it read is left open
        if all(place != (self._table, self._key) for place, _ in rows):
            return None
        if len(rows) == 1:
            return statement
        if isinstance(program.statement, Insert) or statement.error is not None:
            raise _Untold
        # what it answered is about others, too
        return msgspec.structs.replace(statement, results=None, affected=None)

    def _undoes(self, one: Transaction, place: int) -> bool:
        """Whether a statement sets a savepoint, or goes back to one."""
        sql = one.statements[place].sql
        if sql not in self._undoing:
            program = self._prepared(one, place).program
            sets = program is not None and isinstance(program.statement, Savepoint | RollbackTo | Release)
            self._undoing[sql] = sets
        return self._undoing[sql]

    def _prepared(self, one: Transaction, place: int) -> PreparedStatement:
        return prepare_statement(one.statements[place], place, one, self._library)

    def _keyed(self, prepared: PreparedStatement) -> int | None:
        """The parameter that a text compares the integer key of its only row with, if rows are found so."""
        program, columns = prepared.program, self._touching.tables.keys[self._table]
        if self._number is None or program is None:
            return None
        rows = self._touching.rows(prepared)
        if rows is None or any(table != self._table for (table, _), _ in rows):
            return None
        for left, right in _equal(program):
            if not (isinstance(left, Column) and isinstance(right, Param) and isinstance(right.key, int)):
                continue
            if (left.index,) == columns and left.type == right.type and left.type.kind in INTEGER_KINDS:
                return right.key
        return None


def _equal(program: Program) -> Iterator[tuple[Expr, Expr]]:
    """What is compared by = in the condition of a statement about rows of one table."""
    statement = program.statement
    if not isinstance(statement, Select | Update | Delete):
        return
    for part in conjuncts(statement.where):
        if isinstance(part, Binary) and part.op == "=":
            yield part.left, part.right
            yield part.right, part.left
