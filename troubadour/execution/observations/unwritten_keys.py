"""Errors that name a key of which the whole log knows: a key that was taken though nothing ever writes it, and a parent
that was missing though it always is there.

Goes by constants alone: what a query, a default, a sequence, a routine or a trigger gives may be any key. What was
rolled back counts as written, so it does not matter whether a product shows others what is not committed (a server
makes the second of two inserts wait, DuckDB refuses it). Does not know any order, nor what a transaction sees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import Definition
from sql_semantics.ir.expressions import Binary, Cast, Column, Const, Expr, Function, Param, Unary
from sql_semantics.ir.schema import ForeignKey, Table, Unique
from sql_semantics.ir.statements import Delete, Insert, Update
from sql_semantics.ir.walks.effects import reached, written_tables
from sql_semantics.ir.walks.traverse import conjuncts, walk
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.records import dataclass, field
from sql_semantics.run.expressions.expressions import Arguments, compile_row
from sql_semantics.run.writes.rows.keys import compile_equality
from sql_semantics.values.types import INTEGER_KINDS, Value
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import PreparedStatement, PreparedTransaction, UnsupportedStatement

Key = tuple[object, ...]
Rows = Mapping[str, Iterable[Sequence[Value] | None]]
"""Of tables; None for a row that is there or not."""

TAKEN, MISSING, EITHER = "23505", "23503", "23000"
"""A key is taken; a parent is missing; MySQL's and SQLite's for any constraint."""
UNKNOWN = object()
"""A value that no constant of the log gives."""
_KNOWN = (Const, Param, Cast, Unary, Binary, Function)


@dataclass(slots=True)
class _Written:
    """What the log's statements do to a table: the keys that they give, by the key's place among the table's (None:
    any), whether any row may go or have its keys changed, and else which do: those with a value in a column."""

    keys: list[set[Key] | None]
    loses: bool = False
    lost: set[tuple[int, object]] = field(default_factory=set)

    def anything(self) -> None:
        """Its rows may become any."""
        self.keys = [None] * len(self.keys)
        self.loses = True


class UnwrittenKeys:
    """What a log says of keys, worked out table by table when it is asked for."""

    def __init__(
        self,
        transactions: Callable[[], Iterable[PreparedTransaction]],
        initial: Callable[[], Rows],
        unknown: Callable[[], Collection[str]],
        library: SqlLibrary,
    ) -> None:
        """`transactions` gives all of the log, again and again, and may raise UnsupportedStatement; `initial` the rows
        of the tables, but of those in `unknown`."""
        self._transactions = transactions
        self._initial = cache(initial)
        self._unknown = cache(unknown)
        self._catalog = library.catalog
        self._dialect = library.dialect
        self._tables: dict[str, _Written] = {}

    def refutes(self, statement: PreparedStatement) -> str | None:
        """Why an INSERT cannot have failed with the error observed; None where it may have."""
        error, program = statement.statement.error, statement.program
        if error is None or program is None or statement.statement.unjudged or statement.statement.references != "kept":
            return None
        bound = program.statement
        if (
            error.sqlstate not in (TAKEN, MISSING, EITHER)
            or not isinstance(bound, Insert)
            or bound.conflict is not None
        ):
            return None
        table = self._catalog.tables[bound.table]
        unsure = table.refusing or table.fires or table.checks or table.leans_on or table.unwritable
        rows = None if unsure or reached([bound], self._catalog) else self._rows(bound, statement.arguments)
        if rows is None:
            return None
        # of the products that tell every constraint by one state a value that is not known may be NULL
        null = (None, UNKNOWN) if error.sqlstate == EITHER else (None,)
        if any(row[n] in null for row in rows for n, one in enumerate(table.columns) if one.not_null):
            return None
        told: list[str] = []
        if error.sqlstate in (TAKEN, EITHER):
            for place, key in enumerate(table.keys):
                why = self._never_taken(table, place, key, rows)
                if why is None:
                    return None
                told.append(why)
        if error.sqlstate in (MISSING, EITHER):
            for reference in table.foreign_keys:
                why = self._always_there(reference, rows)
                if why is None:
                    return None
                told.append(why)
        told = [why for why in dict.fromkeys(told) if why] or [f"no constraint of {table.name} binds the row"]
        return f"answered error {error.sqlstate}, but {', and '.join(told)}"

    def _never_taken(self, table: Table, place: int, key: Unique, rows: Sequence[Key]) -> str | None:
        """That no transaction ever gives a row's key, nor do the rows twice; empty where the key binds none of them,
        None where it is not so."""
        taken = self._written(table).keys[place]
        mine = _keys(rows, key.columns)
        if taken is None or mine is None or len(set(mine)) < len(mine) or not taken.isdisjoint(mine):
            return None
        if not mine:
            return ""
        shown = " or ".join(_shown(table, key.columns, one) for one in mine[:3])
        return f"{shown} is no initial row, and no transaction of the log writes it"

    def _always_there(self, reference: ForeignKey, rows: Sequence[Key]) -> str | None:
        """That a row's parent is initial and stays; empty where the rows refer to none, None where it is not so."""
        parent = self._catalog.tables.get(reference.parent)
        mine = _keys(rows, reference.columns)
        if parent is None or mine is None or reference.parent in self._unknown():
            return None
        if not mine:
            return ""
        columns = reference.parent_columns
        types = [parent.columns[column].type for column in columns]
        written = self._written(parent)
        given = [row for row in self._initial().get(parent.name, ()) if row is not None]
        staying = [row for row in given if all(row[column] != value for column, value in written.lost)]
        there = {tuple(row[column] for column in columns) for row in staying}
        if not compile_equality(types, self._dialect)[1] or written.loses or not there.issuperset(mine):
            return None
        shown = " and ".join(_shown(parent, columns, one) for one in dict.fromkeys(mine[:3]))
        return f"{shown} is initial, and no transaction of the log deletes it or changes its key"

    def _written(self, table: Table) -> _Written:
        found = self._tables.get(table.name)
        if found is None:
            found = self._tables[table.name] = self._look(table)
        return found

    def _look(self, table: Table) -> _Written:
        given = self._initial().get(table.name, ())
        rows = [row for row in given if row is not None]
        known = table.name not in self._unknown() and len(rows) == len(list(given))
        keys: list[set[Key] | None] = []
        for key in table.keys:
            types = [table.columns[column].type for column in key.columns]
            exact = known and key.plain and compile_equality(types, self._dialect)[1]
            keys.append({tuple(row[column] for column in key.columns) for row in rows} if exact else None)
        written = _Written(keys)
        try:
            for transaction in self._transactions():
                for statement in transaction.statements:
                    self._add(table, written, statement)
        except UnsupportedStatement:
            written.anything()
        return written

    def _add(self, table: Table, written: _Written, statement: PreparedStatement) -> None:
        """What a statement does to a table; one that failed did nothing, whatever its error tells."""
        if statement.judged.fate in (Fate.FAILED, Fate.REFUSED) and statement.statement.error is not None:
            return
        if statement.statement.unjudged or statement.program is None:
            written.anything()
            return
        bound = statement.program.statement
        if isinstance(bound, Definition) or table.fires:
            written.anything()
            return
        writes, calls = _written_by(statement.program)
        done = {action for name, action in writes if name == table.name}
        if not done:
            return
        plain = not calls
        if plain and isinstance(bound, Insert) and bound.conflict is None and done == {"insert"}:
            rows = self._rows(bound, statement.arguments)
            for place, key in enumerate(table.keys):
                mine, taken = None if rows is None else _keys(rows, key.columns), written.keys[place]
                written.keys[place] = None if mine is None or taken is None else taken.union(mine)
        elif plain and isinstance(bound, Update) and bound.table == table.name and done == {"update"}:
            assigned = {column for column, _ in bound.assignments}
            touched = [not assigned.isdisjoint(key.columns) for key in table.keys]
            written.keys = [None if moved else keys for moved, keys in zip(touched, written.keys, strict=True)]
            written.loses |= any(touched) or self._dialect.rules.running.updates_replace_rows
        elif plain and isinstance(bound, Delete) and bound.table == table.name and done <= {"delete"}:
            which = self._which(table, bound, statement.arguments)
            written.loses |= which is None
            written.lost |= set() if which is None else {which}
        else:
            written.anything()

    def _rows(self, insert: Insert, arguments: Arguments) -> list[Key] | None:
        """The rows that are inserted, with UNKNOWN for what no constant gives; None where these are not listed."""
        if insert.query is not None or insert.listed is not None:
            return None
        return [tuple(self._value(expression, arguments) for expression in row) for row in insert.rows]

    def _which(self, table: Table, delete: Delete, arguments: Arguments) -> tuple[int, object] | None:
        """A column and the value in it that a row must have to be deleted; None where the condition tells none."""
        for part in conjuncts(delete.where):
            if isinstance(part, Binary) and part.op == "=" and isinstance(part.left, Column):
                value, type_ = self._value(part.right, arguments), table.columns[part.left.index].type
                kinds = {part.right.type.kind, type_.kind}
                alike = len(kinds) == 1 or kinds <= INTEGER_KINDS
                exact = alike and compile_equality([type_], self._dialect)[1]
                if exact and value is not UNKNOWN and value is not None:
                    return part.left.index, value
        return None

    def _value(self, expression: Expr, arguments: Arguments) -> object:
        if not all(isinstance(part, _KNOWN) for part in walk(expression)):
            return UNKNOWN
        try:
            return compile_row([expression], self._dialect)((), arguments, [])[0]
        except (SqlError, Unsupported):
            return UNKNOWN


def _written_by(program: Program) -> tuple[frozenset[tuple[str, str]], bool]:
    """What it may do to which tables, and whether routines may do so; worked out once."""
    written, catalog = [program.statement], program.catalog
    return program.remember(
        "written by", lambda: (frozenset(written_tables(written, catalog)), bool(reached(written, catalog)))
    )


def _keys(rows: Sequence[Key], columns: Sequence[int]) -> list[Key] | None:
    """The rows' values in some columns, without those that have a NULL among them; None where some is not known."""
    found = [tuple(row[column] for column in columns) for row in rows]
    found = [values for values in found if None not in values]
    return None if any(UNKNOWN in values for values in found) else found


def _shown(table: Table, columns: Sequence[int], values: Key) -> str:
    named = ", ".join(f"{table.columns[column].name}={value}" for column, value in zip(columns, values, strict=True))
    return f"{table.name}({named})"
