"""INSERT, UPDATE and DELETE against a concrete view (paper §3.1; DESIGN §5, affected rows).

Matches are materialized and every new row is computed and checked (NOT NULL, CHECK) before the first write, so a
failing statement leaves the view as it was. Uniqueness is not checked here: that hangs on the newest state, which
only the caller knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Conflict, Delete, Insert, OutputColumn, Update
from sql_semantics.outcome import ResultSet
from sql_semantics.run.conflict import Progress, compile_conflict, refuse_internal_conflicts
from sql_semantics.run.expressions import (
    Arguments,
    EvaluateRow,
    Frame,
    Row,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.join import compile_matches
from sql_semantics.run.order import cut
from sql_semantics.run.queries import compile_query
from sql_semantics.run.select import compile_output, output_types
from sql_semantics.run.traverse import can_raise
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

Written = tuple[int, int | None, ResultSet[Value] | None]
"""(affected, matched, rows of RETURNING)."""

Write = Callable[[View, Arguments, Frame], Written]
T = TypeVar("T")
R = TypeVar("R")


def table_of(catalog: Catalog, name: str) -> Table:
    """The table; raises UnknownTable."""
    table = catalog.tables.get(name)
    if table is None:
        raise UnknownTable(name)
    return table


def compile_constraints(table: Table, dialect: Dialect) -> Callable[[Row], None]:
    """f(new row): raises SqlError for NULL in a NOT NULL column (23502) or a false CHECK (23514); MySQL: 23000."""
    mysql = dialect.name == "mysql"
    required = [(i, column.name) for i, column in enumerate(table.columns) if column.not_null]
    positions = [i for i, _ in required]
    checks = [(check.name, compile_expression(check.condition, dialect)) for check in table.checks]
    null_state = "23000" if mysql else "23502"
    check_state = "23000" if mysql else "23514"

    def check_row(row: Row) -> None:
        for position in positions:
            if row[position] is None:
                name = dict(required)[position]
                raise SqlError(null_state, f"null value in column {name!r} of {table.name!r}")
        for name, condition in checks:
            if condition(row, (), []) is False:
                raise SqlError(
                    check_state,
                    f"new row of {table.name!r} violates check constraint {name!r}",
                )

    return check_row


def each(items: Sequence[T], compute: Callable[[T], R]) -> list[R]:
    """`compute` of every item. Where several rows fail with different errors, which one is reported depends on the
    order of the rows: Unsupported."""
    try:
        return [compute(item) for item in items]
    except SqlError as first:
        for item in items:
            try:
                compute(item)
            except SqlError as error:
                if error.sqlstate != first.sqlstate:
                    raise Unsupported(f"rows that fail with {first.sqlstate} and {error.sqlstate}") from error
        raise


def _no_returning(row: Row, args: Arguments, frame: Frame) -> Row:
    return ()


def _compile_returning(
    returning: tuple[OutputColumn, ...] | None, dialect: Dialect
) -> tuple[EvaluateRow, Callable[[list[Row]], ResultSet[Value] | None]]:
    """What RETURNING makes of one row (evaluated right after the row is written, so its errors are that row's), and
    the result set of all of them."""
    if returning is None:
        return _no_returning, lambda rows: None
    project = compile_row([output.expression for output in returning], dialect)
    types = output_types([output.expression for output in returning], dialect)
    finish = compile_output(types, dialect)

    def result(rows: list[Row]) -> ResultSet[Value]:
        return ResultSet(types, rows if finish is None else [finish(row) for row in rows])

    return project, result


def compile_insert(statement: Insert, catalog: Catalog, dialect: Dialect) -> Write:
    """INSERT ... VALUES or INSERT ... SELECT."""
    table = table_of(catalog, statement.table)
    check_row = compile_constraints(table, dialect)
    project, result = _compile_returning(statement.returning, dialect)
    name = table.name
    values = [compile_row(row, dialect.in_write("value")) for row in statement.rows]
    query = None if statement.query is None else compile_query(statement.query, dialect)
    convert = compile_row(statement.from_query, dialect)
    in_order = statement.conflict is None
    constrained = bool(table.checks) or any(column.not_null for column in table.columns)
    can_fail = constrained or any(can_raise(expr) for expr in statement.from_query)

    def new_rows(view: View, args: Arguments, frame: Frame) -> list[tuple[Row, Row]]:
        def stored(row: Row) -> tuple[Row, Row]:
            check_row(row)
            return row, project(row, args, frame) if in_order else ()

        if query is None:
            return each(values, lambda evaluate: stored(evaluate((), args, frame)))
        try:
            source = cut(query(view, args, frame))
        except SqlError as error:
            if can_fail:  # the DBMS stores each row before it computes the next
                raise Unsupported(f"INSERT from a query that fails with {error.sqlstate}") from error
            raise
        return each(source, lambda row: stored(convert(row, args, frame)))

    if statement.conflict is not None:
        return _compile_upsert(statement, statement.conflict, table, check_row, new_rows, dialect)

    def insert(view: View, args: Arguments, frame: Frame) -> Written:
        rows = new_rows(view, args, frame)
        for row, _ in rows:
            view.insert(name, row)
        return len(rows), None, result([returned for _, returned in rows])

    return insert


def _compile_upsert(
    statement: Insert,
    conflict: Conflict,
    table: Table,
    check_row: Callable[[Row], None],
    new_rows: Callable[[View, Arguments, Frame], list[tuple[Row, Row]]],
    dialect: Dialect,
) -> Write:
    """An INSERT with a conflict clause: rows go in one by one, and nothing is left of a statement that fails."""
    place = compile_conflict(conflict, table, check_row, dialect)
    project, result = _compile_returning(statement.returning, dialect)
    disordered = statement.query is not None or dialect.name == "duckdb"
    refuse = refuse_internal_conflicts(conflict, table, dialect) if disordered else None

    def upsert(view: View, args: Arguments, frame: Frame) -> Written:
        try:
            rows = [row for row, _ in new_rows(view, args, frame)]
        except SqlError as error:
            if conflict.ignore or dialect.name == "duckdb":
                # IGNORE stores something else, or nothing; DuckDB looks at keys before it looks at constraints
                raise Unsupported(f"a row that fails with {error.sqlstate} in an INSERT that skips rows") from error
            raise
        if refuse is not None:
            refuse(rows)
        progress = Progress(0, set())
        mark = view.savepoint()
        returned: list[Row] = []
        try:
            for row in rows:
                written = place(view, args, frame, progress, row)
                if written is not None:
                    returned.append(project(written, args, frame))
        except SqlError:
            view.rollback(mark)
            raise
        return progress.affected, None, result(returned)

    return upsert


def compile_assignments(statement: Update, table: Table, dialect: Dialect) -> Callable[[Row, Arguments, Frame], Row]:
    """f(old row, args, frame) -> new row, constraints not checked yet."""
    if statement.sequential:
        steps = [
            (position, compile_expression(expr, dialect.in_write("value"))) for position, expr in statement.assignments
        ]

        def assign(row: Row, args: Arguments, frame: Frame) -> Row:
            for position, evaluate in steps:
                row = (
                    *row[:position],
                    evaluate(row, args, frame),
                    *row[position + 1 :],
                )
            return row

        return assign
    by_position = dict(statement.assignments)
    new: list[Expr] = [by_position.get(i) or _own(i, table) for i in range(len(table.columns))]
    return compile_row(new, dialect.in_write("value"))


def _own(position: int, table: Table) -> Expr:
    column = table.columns[position]
    return Column(position, column.type, column.name)


def compile_update(statement: Update, catalog: Catalog, dialect: Dialect) -> Write:
    """UPDATE. MySQL writes and counts changed rows only (unless found-rows is set, for the count)."""
    table = table_of(catalog, statement.table)
    name = table.name
    matches = compile_matches(name, statement.where, dialect)
    test = None if statement.where is None else compile_predicate(statement.where, dialect)
    assign = compile_assignments(statement, table, dialect)
    check_row = compile_constraints(table, dialect)
    project, result = _compile_returning(statement.returning, dialect)
    only_changed = dialect.name == "mysql"
    count_matched = not only_changed or dialect.found_rows

    def update(view: View, args: Arguments, frame: Frame) -> Written:
        def new_row(old: Row) -> tuple[Row, Row]:
            row = assign(old, args, frame)
            check_row(row)
            return row, project(row, args, frame)

        def matched_row(old: Row) -> tuple[Row, Row]:
            return new_row(old) if test is None or test(old, args, frame) else (old, ())

        try:
            found = matches(view, args, frame)
        except SqlError:
            # The DBMS writes a matching row before it tests the next one.
            each([row for _, row in view.scan(name)], matched_row)
            raise
        new = each([row for _, row in found], new_row)
        changed = 0
        for (identity, old), (row, _) in zip(found, new, strict=True):
            if not only_changed or row != old:
                view.update(name, identity, row)
                changed += 1
        return (len(found) if count_matched else changed), len(found), result([returned for _, returned in new])

    return update


def compile_delete(statement: Delete, catalog: Catalog, dialect: Dialect) -> Write:
    """DELETE; RETURNING reads the old rows."""
    name = table_of(catalog, statement.table).name
    matches = compile_matches(name, statement.where, dialect)
    project, result = _compile_returning(statement.returning, dialect)

    def delete(view: View, args: Arguments, frame: Frame) -> Written:
        found = matches(view, args, frame)
        returned = each([row for _, row in found], lambda row: project(row, args, frame))
        for identity, _ in found:
            view.delete(name, identity)
        return len(found), None, result(returned)

    return delete
