"""What several triggers and rows of one statement have to do with one another.

Does not know how triggers are run, nor what they compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column, Variable
from sql_semantics.ir.programs import Handled
from sql_semantics.ir.queries import BaseTable, Identified
from sql_semantics.ir.schema import Catalog, Table, Trigger
from sql_semantics.ir.statements import Conflict, Delete, Insert, Statement, Update
from sql_semantics.ir.walks.effects import changed_tables, reached, written_tables
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.values.dialect import Dialect


def commute(fired: Sequence[Trigger], catalog: Catalog, between: str | None) -> bool:
    """Whether it makes no difference in which order the triggers of several rows are run: they insert rows into tables
    that they do not read, and do nothing else. `between`: the table to which a row is written after those of each."""
    statements = _run_by(fired, catalog)
    read = _read(statements)
    conflicts = any(isinstance(part, Insert) and part.conflict is not None for part in walk_parts(tuple(statements)))
    return (
        not conflicts
        and between not in read
        and all(action == "insert" and name not in read for name, action in written_tables(statements, catalog))
    )


def numbered(fired: Sequence[Trigger], catalog: Catalog) -> bool:
    """Whether the triggers insert rows into tables that number them, in the order in which they come."""
    written = {name for name, _ in written_tables(_run_by(fired, catalog), catalog)}
    return any(column.identity for name in written for column in catalog.tables[name].columns)


def apart(statement: Statement, fired: Sequence[Trigger], catalog: Catalog) -> bool:
    """Whether triggers each of which is run before or behind its row might as well be run when all rows are written:
    they do not read what the statement writes, nor write what it reads or writes."""
    statements = _run_by(fired, catalog)
    written = {name for name, _ in written_tables(statements, catalog)}
    changed = changed_tables(statement, catalog)
    return written.isdisjoint(changed | _read([statement])) and changed.isdisjoint(_read(statements))


def refuse_at_once(statement: Statement, fired: Sequence[Trigger], catalog: Catalog, dialect: Dialect) -> None:
    """Raise Unsupported for what is not modelled beside triggers each of which is run before or behind its row."""
    if not fired:
        return
    rules, first = dialect.rules.running, fired[0].construct
    if not isinstance(statement, Insert | Update | Delete):
        raise Unsupported(f"{first}, beside such a write")
    if isinstance(statement, Insert) and statement.conflict is not None:
        _refuse_conflicts(statement.conflict, fired, catalog, dialect)
    if statement.returning is not None and has_queries(statement.returning):
        raise Unsupported("a query in RETURNING beside triggers")
    for trigger in fired:
        if isinstance(statement, Insert) and trigger.before and _sees_number(trigger, statement, catalog):
            raise Unsupported(f"{trigger.construct}, which sees a number that the row gets behind it")
        statements = _run_by([trigger], catalog)
        if any(isinstance(part, Handled) for part in walk_parts(tuple(statements))):
            # within a trigger MariaDB keeps what a statement that fails has done before
            raise Unsupported(f"{trigger.construct}, a HANDLER in it")
        if any(procedure.name == trigger.construct for procedure in reached(statements, trigger.routine.catalog)):
            raise Unsupported(f"{trigger.construct}, which may fire itself")
        written = {name for name, _ in written_tables(statements, catalog)}
        if rules.triggers_spare_used_tables and written & (changed_tables(statement, catalog) | _read([statement])):
            raise Unsupported(f"{trigger.construct}, which writes to a table of the statement")


def _refuse_conflicts(conflict: Conflict, fired: Sequence[Trigger], catalog: Catalog, dialect: Dialect) -> None:
    """Rules for conflicts that hold for what triggers do as well (SQLite), and a REPLACE that may overwrite a row."""
    first = fired[0].construct
    replaces = conflict.action == "replace"
    fires = dialect.rules.running.replacing_fires and any("delete" in trigger.events for trigger in fired)
    if conflict.ignore or (replaces and not fires):
        raise Unsupported(f"{first}, beside such a rule for conflicts")
    parts = walk_parts(tuple(_run_by(fired, catalog)))
    if any(isinstance(part, Insert) and part.conflict is not None for part in parts):
        raise Unsupported(f"{first}, a rule for conflicts in it beside another")


def _sees_number(trigger: Trigger, statement: Insert, catalog: Catalog) -> bool:
    """Whether a trigger reads a column whose value is drawn when the row is written."""
    columns = catalog.tables[statement.table].columns
    given = statement.from_query if statement.query is not None else ()
    rows = [given] if statement.query is not None else statement.rows
    drawn = {
        place
        for place, column in enumerate(columns)
        if column.identity and any(part is column.default for row in rows for part in walk_parts(row[place]))
    }
    procedure = trigger.routine.procedure
    body = () if procedure is None else procedure.body[:-1]  # at its end the row is given back
    read = {part.slot - len(columns) for part in walk_parts(body) if isinstance(part, Variable)}
    read |= {part.index - len(columns) for part in walk_parts(trigger.condition) if isinstance(part, Column)}
    return not drawn.isdisjoint(read)


def beside_references(statement: Statement, fired: Sequence[Trigger], catalog: Catalog, dialect: Dialect) -> bool:
    """Whether foreign keys that are checked when all triggers have been run may be in the way."""
    if not dialect.rules.running.references_wait:
        return False
    written = {name for name, _ in written_tables(_run_by(fired, catalog), catalog)}
    return any(_refers(catalog.tables[name], catalog) for name in written | changed_tables(statement, catalog))


def _refers(table: Table, catalog: Catalog) -> bool:
    return bool(table.foreign_keys) or any(True for _ in catalog.references_to(table.name))


def _run_by(fired: Sequence[Trigger], catalog: Catalog) -> list[Statement]:
    bodies = [trigger.routine.procedure.body for trigger in fired if trigger.routine.procedure is not None]
    statements = [inner for body in bodies for inner in body]
    return [*statements, *(inner for procedure in reached(statements, catalog) for inner in procedure.body)]


def _read(statements: Sequence[Statement]) -> frozenset[str]:
    parts = walk_parts(tuple(statements))
    return frozenset(part.name for part in parts if isinstance(part, BaseTable | Identified))
