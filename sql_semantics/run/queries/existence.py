"""Tables that exist in some states only: CREATE, DROP, and the check before every use (paper §3.1).

Whether a table exists is read like any row. PostgreSQL's catalog is of no snapshot (its manual, 13.6): the newest state
tells which tables there are, and of one that is newer than the snapshot no row is seen but one's own. So it is in
MySQL, but that most uses of a newer table fail. SQLite's and DuckDB's catalogs are part of the snapshot. Does not know
definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import EXISTING, ChangeIndex, ChangeTables, CreateTable, Definition, DropTable
from sql_semantics.ir.queries import BaseTable, Derived, Identified
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, Statement, Target, Truncate, Update
from sql_semantics.ir.walks.effects import reached
from sql_semantics.outcome import Outcome
from sql_semantics.products.rules import RunRules
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Arguments
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import Row, RowId, View

Filling = Callable[[View, Arguments, list[Value]], tuple[int, int | None, object]]
"""Runs an INSERT; the first it answers is how many rows there were."""
Check = Callable[[View], View]
"""Raises SqlError where a table does not exist; gives the view with which the statement goes on."""
ANOTHER = "XXDEF"
"""The error, which no product knows, of a statement that is read by a definition which does not hold where it stands.
"""


def needed(statement: Statement, catalog: Catalog) -> tuple[tuple[str, int], ...]:
    """The tables by name and number that a statement uses and that exist in some states only. Raises Unsupported for
    a routine that uses one."""
    transient = catalog.transient
    if isinstance(statement, CreateTable):
        return statement.reads
    if isinstance(statement, ChangeTables):
        gone = [move.source for move in statement.moves if move.source is not None]
        return tuple((name, transient[name].number) for name in dict.fromkeys(gone) if name in transient)
    if not transient or isinstance(statement, DropTable):
        return ()
    if any(name in transient for procedure in reached([statement], catalog) for name in _tables(procedure.body)):
        raise Unsupported("a routine that uses a table which transactions create or drop")
    return tuple((name, transient[name].number) for name in dict.fromkeys(_tables(statement)) if name in transient)


def tells_existence(statement: Statement, catalog: Catalog, sqlstate: str) -> bool:
    """Whether an error of this statement says of a table that it exists or does not, which a state decides."""
    if sqlstate not in ("42P01", "42P07", "42S01", "42S02"):
        return False
    return isinstance(statement, CreateTable | DropTable) or bool(needed(statement, catalog))


def _tables(node: object) -> Iterator[str]:
    if isinstance(node, tuple | list):
        for item in node:
            yield from _tables(item)
    elif isinstance(node, Mapping):
        yield from _tables(tuple(node.values()))
    elif is_dataclass(node):
        match node:
            case BaseTable(name) | Identified(name):
                yield name
            case Derived(view=name) if name:
                yield name
            case Insert(table=name) | Update(table=name) | Delete(table=name) | Target(table=name):
                yield name
            case Truncate(tables=names):
                yield from names
            case ChangeIndex(table=str(name), reads=names):
                yield name
                yield from names
        for field in fields(node):
            yield from _tables(getattr(node, field.name))


def compile_check(statement: Statement, catalog: Catalog, dialect: Dialect) -> Check | None:
    """The check of the tables that a statement uses; None where all of them always exist. To be called once the
    execution has begun."""
    required = needed(statement, catalog)
    if not required:
        return None
    refused = [catalog.transient[name].refused for name, _ in required if catalog.transient[name].refused]
    if refused:
        raise Unsupported(refused[0])
    rules = dialect.rules.running

    def check(view: View) -> View:
        unseen: list[str] = []
        for name, number in required:
            row = _row(view, number, rules)
            if catalog.transient[name].followed:
                # the rows are as old as the tables that they were moved out of
                if row is None or _seen(view, number) != row:
                    raise SqlError(ANOTHER, f"another definition of {name} holds")
                continue
            if row is None:
                raise SqlError(rules.absent_table_state, f"no table {name}")
            if rules.newest_definitions and _seen(view, number) != row:
                if not rules.meets_newer_tables:
                    raise Unsupported("a use of a table that is newer than the snapshot in mysql")
                unseen.append(name)
        return _Unseen(view, frozenset(unseen)) if unseen else view

    return check


class _Unseen(DelegatingView):
    """A view in which some tables are newer than what it sees."""

    def __init__(self, view: View, tables: frozenset[str]) -> None:
        super().__init__(view)
        self._tables = tables

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Of such a table, own rows."""
        return self._view.own(table) if table in self._tables else self._view.scan(table)

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Of such a table, own rows."""
        return self._view.own(table) if table in self._tables else self._view.lookup(table, columns, key)


def compile_definition(
    statement: Definition, catalog: Catalog, dialect: Dialect, fill: Filling | None
) -> Callable[[View, Arguments], Outcome]:
    """f(view, args): CREATE and DROP. What is dropped takes its rows along; `fill` runs a CREATE TABLE's `filling`."""
    check = compile_check(statement, catalog, dialect)
    rules = dialect.rules.running
    affected = 0 if rules.counts_definitions == "always" else None

    def define(view: View, args: Arguments) -> Outcome:
        view.begin("acts")
        match statement:
            case CreateTable():
                # all but SQLite look for the tables of the query before they look for the new one
                if rules.looks_for_new_table_first and not _is_new(view, statement, rules):
                    return Outcome([])
                seen = view if check is None else check(view)
                if not _is_new(view, statement, rules):
                    return Outcome([], affected)
                view.insert(EXISTING, (statement.number,))
                if fill is not None:
                    rows = fill(seen, args, [])[0]
                    return Outcome([], None if rules.counts_definitions is None else rows)
            case DropTable():
                _drop(view, statement, rules)
            case _ if check is not None:
                check(view)
        return Outcome([], affected)

    return define


def compile_moves(statement: ChangeTables, catalog: Catalog, dialect: Dialect) -> Callable[[View], None]:
    """f(view): that definitions give way to others, where states tell which hold."""
    transient, rules = catalog.transient, dialect.rules.running
    check = compile_check(statement, catalog, dialect)
    gone = [number for _, number in needed(statement, catalog)]
    targets = [move.target for move in statement.moves if move.target is not None]
    made = [transient[name].number for name in dict.fromkeys(targets) if name in transient]

    def move(view: View) -> None:
        if check is not None:
            check(view)
        for number in gone:
            row = _row(view, number, rules)
            assert row is not None
            view.delete(EXISTING, row)
        for number in made:
            view.insert(EXISTING, (number,))

    return move


def _is_new(view: View, statement: CreateTable, rules: RunRules) -> bool:
    """Whether the table does not exist yet. Raises SqlError where that is an error."""
    number = statement.number
    if number is None or _row(view, number, rules) is not None:
        if not statement.optional:
            raise SqlError(rules.present_table_state, f"table {statement.table} exists already")
        return False
    return True


def _drop(view: View, statement: DropTable, rules: RunRules) -> None:
    found: list[tuple[str, RowId]] = []
    for name, number in statement.tables:
        row = None if number is None else _row(view, number, rules)
        if row is not None:
            found.append((name, row))
        elif not statement.optional:
            raise SqlError(rules.absent_table_state, f"no table {name}")
    dropped = {name for name, _ in found}
    for (name, _), dependents in zip(statement.tables, statement.dependents, strict=True):
        for dependent, number in dependents if name in dropped else ():
            if number is not None and _row(view, number, rules) is None:
                continue
            if statement.cascade:
                raise Unsupported(f"DROP ... CASCADE of {name}, on which {dependent} depends")
            raise SqlError("2BP01", f"{dependent} depends on table {name}")
    for name, row in found:
        if not statement.views:
            for identity, _ in list(view.rivals(name, (), ())):
                view.delete(name, identity)
        view.delete(EXISTING, row)


def _row(view: View, number: int, rules: RunRules) -> RowId | None:
    """The row which says that a table exists."""
    if not rules.newest_definitions:
        return _seen(view, number)
    met = [identity for identity, row in view.rivals(EXISTING, (0,), (number,)) if row[0] == number]
    return met[0] if met else None


def _seen(view: View, number: int) -> RowId | None:
    """That row in the snapshot."""
    seen = [identity for identity, row in view.lookup(EXISTING, (0,), (number,)) if row[0] == number]
    return seen[0] if seen else None
