"""MERGE against a concrete view (PostgreSQL MERGE).

The joined rows are found and every new row is computed and checked before the first write. A row of the target that two
joined rows would change is an error, whatever the order. Does not know which kind of join the clauses need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Merge, When
from sql_semantics.run.expressions.expressions import Arguments, Frame, Predicate, Row, compile_predicate, compile_row
from sql_semantics.run.queries.join import compile_sources
from sql_semantics.run.writes.rows.references import Enforce
from sql_semantics.run.writes.rows.returning import compile_returning
from sql_semantics.run.writes.rows.stored import compile_stored
from sql_semantics.run.writes.rows.triggers import compile_consequences, refuse_before
from sql_semantics.run.writes.rows.writer import Writer
from sql_semantics.run.writes.write import Write, Written, each, table_of
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

_Make = Callable[[Row, Arguments, Frame], Row]


class _Change(NamedTuple):
    """What a clause does: the row's identity and old values (None: inserted), its new ones (None: deleted), and what
    RETURNING makes of it."""

    identity: RowId | None
    old: Row | None
    new: Row | None
    returned: Row


def compile_merge(statement: Merge, catalog: Catalog, dialect: Dialect, *, enforce: Enforce | None = None) -> Write:
    """f(view, args, frame). `enforce` takes the place of the foreign keys. Raises Unsupported, when run, for a row that
    is newer than what the statement reads: which clause it then falls under is not modelled."""
    table = table_of(catalog, statement.table)
    name, width = table.name, len(table.columns)
    rows_of = compile_sources(statement.sources, None, dialect)
    whens = [_compile_when(when, table, dialect) for when in statement.whens]
    project, result = compile_returning(statement.returning, dialect)
    refuse_before(statement, catalog)
    enforce = enforce or compile_consequences(statement, catalog, dialect)
    nulls: Row = (None,) * width

    def merge(view: View, args: Arguments, frame: Frame) -> Written:
        def change(row: Row) -> _Change | None:
            kind = "source" if row[width] is None else "target" if row[-1] is None else "both"
            when, make = next(
                ((w, m) for w, test, m in whens if w.kind == kind and (test is None or test(row, args, frame))),
                (None, None),
            )
            if when is None or when.action == "nothing":
                return None
            new = None if make is None else make(row, args, frame)
            old = None if kind == "source" else row[:width]
            shown = new if new is not None else old
            assert shown is not None
            versions = (old or nulls) + (new or nulls) + (when.action.upper(),)
            return _Change(row[width], old, new, project(shown + row[width:] + versions, args, frame))

        changes = [made for made in each(rows_of(view, args, frame), change) if made is not None]
        changed = [item.identity for item in changes if item.identity is not None]
        if len(set(changed)) < len(changed):
            raise SqlError("21000", "MERGE command cannot affect row a second time")
        if view.rechecks and any(
            view.current(name, item.identity, item.old) is not item.old for item in changes if item.old is not None
        ):
            raise Unsupported("MERGE into a row that is newer than the snapshot")
        writer = Writer(view, enforce)
        for identity, old, new, _ in changes:
            if old is None:
                assert new is not None
                writer.insert(name, new)
            elif new is None:
                writer.delete(name, identity, old)
            else:
                writer.update(name, identity, old, new)
        writer.finish()
        return len(changes), None, result([item.returned for item in changes])

    return merge


def _compile_when(when: When, table: Table, dialect: Dialect) -> tuple[When, Predicate | None, _Make | None]:
    """The clause, its test, and f(environment row, args, frame) -> the row that it stores."""
    test = None if when.condition is None else compile_predicate(when.condition, dialect)
    if when.action not in ("insert", "update"):
        return when, test, None
    own = [Column(place, column.type, column.name) for place, column in enumerate(table.columns)]
    assigned = dict(when.assignments)
    row = when.row or [assigned.get(place, column) for place, column in enumerate(own)]
    values, stored = compile_row(row, dialect), compile_stored(table, dialect)
    return when, test, lambda row, args, frame: stored(values(row, args, frame))
