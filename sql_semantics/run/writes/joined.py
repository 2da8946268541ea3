"""Writes that join several tables, and TRUNCATE, against a concrete view.

Environment rows are found and every new row is computed and checked before the first write. A row that is found
several times is written once, and the DBMS chooses for which of its matches. Does not know guarded rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import JoinedWrite, Target, Truncate
from sql_semantics.run.expressions.expressions import Arguments, Frame, Row, compile_row
from sql_semantics.run.queries.join import compile_sources
from sql_semantics.run.queries.locking import compile_recheck
from sql_semantics.run.queries.ties import MOST, Choose, canonical
from sql_semantics.run.writes.rows.references import Enforce
from sql_semantics.run.writes.rows.returning import compile_returning
from sql_semantics.run.writes.rows.stored import compile_stored
from sql_semantics.run.writes.rows.triggers import compile_consequences, refuse_before
from sql_semantics.run.writes.rows.writer import Writer
from sql_semantics.run.writes.write import Write, Written, each, table_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

Change = tuple[RowId, Row, Row | None, Row]
"""A row's identity, its old values, its new ones (None: deleted) and what RETURNING makes of it."""


def compile_joined_write(
    statement: JoinedWrite, catalog: Catalog, dialect: Dialect, *, enforce: Enforce | None = None
) -> Write:
    """UPDATE ... FROM, DELETE ... USING, UPDATE and DELETE of several tables. `enforce` as in `compile_insert`."""
    rows_of = compile_sources(statement.sources, statement.where, dialect)
    recheck = compile_recheck(statement, dialect)
    project, result = compile_returning(statement.returning, dialect)
    changes = [_compile_changes(target, statement, catalog, dialect) for target in statement.targets]
    refuse_before(statement, catalog)
    enforce = enforce or compile_consequences(statement, catalog, dialect)
    only_changed = dialect.rules.running.strict_counts and not statement.deletes
    count_matched = not only_changed or dialect.found_rows
    repeats = len({target.table for target in statement.targets}) < len(statement.targets)

    def write(view: View, args: Arguments, frame: Frame) -> Written:
        rows = rows_of(view, args, frame)
        if view.rechecks:
            rows = recheck(view, rows, args, frame)
        found = [change(rows, args, frame, project, view.choose) for change in changes]
        if repeats:  # a row goes once, by whichever of the items (MySQL 15.2.2; tried on MariaDB 10.11)
            gone: set[tuple[str, RowId]] = set()
            for place, target in enumerate(statement.targets):
                found[place] = [one for one in found[place] if (target.table, one[0]) not in gone]
                gone |= {(target.table, one[0]) for one in found[place]}
        matched = sum(len(items) for items in found)
        written = 0
        writer = Writer(view, enforce)
        for target, items in zip(statement.targets, found, strict=True):
            assigned = frozenset(place for place, _ in target.assignments)
            for identity, old, new, _ in items:
                if new is None:
                    writer.delete(target.table, identity, old)
                elif not only_changed or new != old:
                    writer.update(target.table, identity, old, new, assigned)
                    written += 1
        writer.finish()
        affected = matched if statement.deletes or count_matched else written
        return affected, None if statement.deletes else matched, result([item[3] for item in found[0]])

    return write


def _compile_changes(
    target: Target, statement: JoinedWrite, catalog: Catalog, dialect: Dialect
) -> Callable[[list[Row], Arguments, Frame, Callable[[Row, Arguments, Frame], Row], Choose], list[Change]]:
    """f(environment rows, args, frame, RETURNING, choose) -> each row of the target that is found, once."""
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
        rows: list[Row], args: Arguments, frame: Frame, project: Callable[[Row, Arguments, Frame], Row], choose: Choose
    ) -> list[Change]:
        def change(row: Row) -> Change:
            old = row[start:end]
            if statement.deletes:
                return row[end], old, None, project(row, args, frame)
            new = stored_row(assign(row, args, frame))
            return row[end], old, new, project(row[:start] + new + row[end:], args, frame)

        found: dict[RowId, list[Change]] = {}
        for item in each([row for row in rows if row[end] is not None], change):
            ways = found.setdefault(item[0], [])
            if item not in ways:
                ways.append(item)
        several = [ways for ways in found.values() if len(ways) > 1]
        if several and len(statement.targets) > 1:
            raise Unsupported(f"{what} of several tables, of rows with several matches that make a difference")
        for ways in several:
            ways.sort(key=_order)
        for ways in sorted(several, key=lambda ways: [_order(way) for way in ways]):
            if len(ways) > MOST:
                raise Unsupported(f"{what} of a row with several matches that make a difference")
            ways[:] = [ways[choose(len(ways), f"{what} of a row with several matches")]]
        return [ways[0] for ways in found.values()]

    return changes


def _order(change: Change) -> tuple[Any, ...]:
    """By what matches and changes are sorted, whatever order the view has its rows in."""
    _, old, new, returned = change
    return canonical(old), canonical(new or ()), canonical(returned)


def compile_truncate(statement: Truncate, catalog: Catalog, dialect: Dialect) -> Write:
    """TRUNCATE removes the newest rows, seen or not."""
    names = [table_of(catalog, name).name for name in statement.tables]
    counts = dialect.rules.running.counts_truncated_rows

    def truncate(view: View, args: Arguments, frame: Frame) -> Written:
        count = 0
        for name in names:
            meet = view.held if view.rechecks else view.rivals
            for identity, _ in list(meet(name, (), ())):
                view.delete(name, identity)
                count += 1
        return count if counts else 0, None, None

    return truncate
