"""Writes that join several tables, and TRUNCATE, against a concrete view (DESIGN §5).

Environment rows are found and every new row is computed and checked before the first write. A row that is found
several times is written once, and the DBMS chooses for which of its matches: where that makes a difference the
statement is Unsupported. Does not know guarded rows.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import JoinedWrite, Target, Truncate
from sql_semantics.run.expressions import Arguments, Frame, Row, compile_row
from sql_semantics.run.join import compile_sources
from sql_semantics.run.locking import compile_recheck
from sql_semantics.run.references import compile_references
from sql_semantics.run.returning import compile_returning
from sql_semantics.run.stored import compile_stored
from sql_semantics.run.write import Write, Written, each, table_of
from sql_semantics.run.writer import Writer
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

Change = tuple[RowId, Row, Row | None, Row]
"""A row's identity, its old values, its new ones (None: deleted) and what RETURNING makes of it."""


def compile_joined_write(statement: JoinedWrite, catalog: Catalog, dialect: Dialect) -> Write:
    """UPDATE ... FROM, DELETE ... USING, UPDATE and DELETE of several tables."""
    rows_of = compile_sources(statement.sources, statement.where, dialect)
    recheck = compile_recheck(statement, dialect)
    project, result = compile_returning(statement.returning, dialect)
    changes = [_compile_changes(target, statement, catalog, dialect) for target in statement.targets]
    enforce = compile_references(statement, catalog, dialect)
    only_changed = dialect.name == "mysql" and not statement.deletes
    count_matched = not only_changed or dialect.found_rows

    def write(view: View, args: Arguments, frame: Frame) -> Written:
        rows = rows_of(view, args, frame)
        if view.rechecks:
            rows = recheck(view, rows, args, frame)
        found = [change(rows, args, frame, project) for change in changes]
        matched = sum(len(items) for items in found)
        written = 0
        writer = Writer(view, enforce)
        for target, items in zip(statement.targets, found, strict=True):
            for identity, old, new, _ in items:
                if new is None:
                    writer.delete(target.table, identity, old)
                elif not only_changed or new != old:
                    writer.update(target.table, identity, old, new)
                    written += 1
        writer.finish()
        affected = matched if statement.deletes or count_matched else written
        return affected, None if statement.deletes else matched, result([item[3] for item in found[0]])

    return write


def _compile_changes(
    target: Target, statement: JoinedWrite, catalog: Catalog, dialect: Dialect
) -> Callable[[list[Row], Arguments, Frame, Callable[[Row, Arguments, Frame], Row]], list[Change]]:
    """f(environment rows, args, frame, RETURNING) -> each row of the target that is found, once."""
    table = table_of(catalog, target.table)
    start, end = target.offset, target.offset + len(table.columns)
    stored_row = compile_stored(table, dialect)
    by_position = dict(target.assignments)
    assign = compile_row(
        [
            by_position.get(place) or Column(start + place, column.type, column.name)
            for place, column in enumerate(table.columns)
        ],
        dialect.in_write("value"),
    )
    what = "DELETE" if statement.deletes else "UPDATE"

    def changes(
        rows: list[Row], args: Arguments, frame: Frame, project: Callable[[Row, Arguments, Frame], Row]
    ) -> list[Change]:
        def change(row: Row) -> Change:
            old = row[start:end]
            if statement.deletes:
                return row[end], old, None, project(row, args, frame)
            new = stored_row(assign(row, args, frame))
            return row[end], old, new, project(row[:start] + new + row[end:], args, frame)

        found: dict[RowId, Change] = {}
        for item in each([row for row in rows if row[end] is not None], change):
            if found.setdefault(item[0], item) != item:
                raise Unsupported(f"{what} of a row with several matches that make a difference")
        return list(found.values())

    return changes


def compile_truncate(statement: Truncate, catalog: Catalog, dialect: Dialect) -> Write:
    """TRUNCATE removes the newest rows, seen or not."""
    names = [table_of(catalog, name).name for name in statement.tables]

    def truncate(view: View, args: Arguments, frame: Frame) -> Written:
        count = 0
        for name in names:
            meet = view.held if view.rechecks else view.rivals
            for identity, _ in list(meet(name, (), ())):
                view.delete(name, identity)
                count += 1
        return count if dialect.name == "duckdb" else 0, None, None

    return truncate
