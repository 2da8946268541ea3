"""INSERT, UPDATE and DELETE against a concrete view (paper §3.1).

Matches are materialized and every new row is computed and checked (NOT NULL, CHECK) before the first write, so a
failing statement leaves the view as it was. Uniqueness is not checked here: that hangs on the newest state, which
only the caller knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Conflict, Delete, Insert, Update
from sql_semantics.ir.walks.effects import triggers_of
from sql_semantics.ir.walks.own_target import OWN_TARGET, computes_before
from sql_semantics.ir.walks.traverse import can_raise, has_queries
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Frame,
    Row,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.frames import query_frame
from sql_semantics.run.queries.join import compile_matches
from sql_semantics.run.queries.locking import compile_retest, rechecked
from sql_semantics.run.queries.order import limit_value, sort_rows
from sql_semantics.run.queries.queries import compile_query
from sql_semantics.run.queries.ties import Choose, cut, some_of
from sql_semantics.run.writes.conflict import Progress, compile_conflict, refuse_internal_conflicts
from sql_semantics.run.writes.listed import compile_values
from sql_semantics.run.writes.plain_update import NotPlain, compile_plain_update
from sql_semantics.run.writes.rows.references import Enforce
from sql_semantics.run.writes.rows.returning import compile_row_returning
from sql_semantics.run.writes.rows.stored import compile_stored, open_key_columns
from sql_semantics.run.writes.rows.triggers import compile_before, compile_consequences, refuse_before
from sql_semantics.run.writes.rows.writer import Writer
from sql_semantics.run.writes.rowwise import RowByRow, computed, refuse_functions
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Value
from sql_semantics.view import RowId, View

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


def compile_insert(statement: Insert, catalog: Catalog, dialect: Dialect, *, enforce: Enforce | None = None) -> Write:
    """INSERT ... VALUES or INSERT ... SELECT. `enforce` takes the place of the foreign keys and triggers."""
    table = table_of(catalog, statement.table)
    stored_row = compile_stored(table, dialect)
    enforce = enforce or compile_consequences(statement, catalog, dialect)
    project, result = compile_row_returning(statement.returning, len(table.columns), dialect)
    name = table.name
    values = compile_values(statement, dialect)
    query = None if statement.query is None else compile_query(statement.query, dialect)
    convert = compile_row(statement.from_query, dialect)
    strict = bool(open_key_columns(table, dialect)) or any(column.not_null for column in table.columns)
    constrained = bool(table.checks) or strict or any(column.generated is not None for column in table.columns)
    can_fail = constrained or any(can_raise(expr) for expr in statement.from_query)

    def source_rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        assert query is not None
        try:
            return cut(query(view, args, frame), view.choose)
        except SqlError as error:
            if can_fail:  # the DBMS stores each row before it computes the next
                raise Unsupported(f"INSERT from a query that fails with {error.sqlstate}") from error
            raise

    def new_rows(view: View, args: Arguments, frame: Frame) -> list[tuple[Row, Row]]:
        def stored(row: Row) -> tuple[Row, Row]:
            row = stored_row(row)
            return row, project(None, row, args, frame)

        if query is None:
            return each(values, lambda evaluate: stored(evaluate((), args, frame)))
        return each(source_rows(view, args, frame), lambda row: stored(convert(row, args, frame)))

    if statement.conflict is not None:
        refuse_before(statement, catalog)

        def proposed(view: View, args: Arguments, frame: Frame) -> Iterable[Row]:
            """One after the other where their order is known: each is stored before the next is computed."""
            if query is None:
                return (stored_row(evaluate((), args, frame)) for evaluate in values)
            return each(source_rows(view, args, frame), lambda row: stored_row(convert(row, args, frame)))

        return _compile_upsert(statement, statement.conflict, table, proposed, catalog, dialect, enforce)

    before = compile_before(statement, name, "insert", catalog, dialect)
    if before is not None:
        refuse_functions(statement)
        stored_behind = _unnumbered(table, stored_row)
        rowwise = RowByRow(name, before, stored_behind, enforce, project, result)

        def insert_each(view: View, args: Arguments, frame: Frame) -> Written:
            if query is None:
                given = computed(values, lambda evaluate: evaluate((), args, frame))
            else:
                given = computed(source_rows(view, args, frame), lambda row: convert(row, args, frame))
            return rowwise.write(view, [(None, None, row) for row in given], args, frame, ordered=query is None)

        return insert_each

    def insert(view: View, args: Arguments, frame: Frame) -> Written:
        rows = new_rows(view, args, frame)
        writer = Writer(view, enforce)
        for row, _ in rows:
            writer.insert(name, row)
        writer.finish()
        return len(rows), None, result([returned for _, returned in rows])

    return insert


def _unnumbered(table: Table, stored: Callable[[Row], Row]) -> Callable[[Row], Row]:
    """`stored` of rows that triggers have given back. Raises Unsupported where these ask for a number by it."""
    places = [place for place, column in enumerate(table.columns) if column.identity in ("null", "zero")]

    def checked(row: Row) -> Row:
        if any(not row[place] for place in places):
            raise Unsupported("a trigger that has a row numbered")
        return stored(row)

    return checked if places else stored


def _compile_upsert(
    statement: Insert,
    conflict: Conflict,
    table: Table,
    new_rows: Callable[[View, Arguments, Frame], Iterable[Row]],
    catalog: Catalog,
    dialect: Dialect,
    enforce: Enforce | None,
) -> Write:
    """An INSERT with a conflict clause: rows go in one by one, and nothing is left of a statement that fails."""
    place = compile_conflict(conflict, table, compile_stored(table, dialect), catalog, dialect)
    project, result = compile_row_returning(statement.returning, len(table.columns), dialect)
    rules = dialect.rules.running
    batches = rules.upserts_in_batches
    disordered = statement.query is not None or batches
    refuse = refuse_internal_conflicts(conflict, table, dialect) if disordered else None

    answers = rules.counts_answered_rows and statement.returning is not None
    reads = has_queries(statement.rows)  # subqueries see the table as it was before the statement
    replaces_null = conflict.action == "replace" and rules.replace_fills_nulls

    def beyond(error: SqlError, single: bool) -> SqlError | Unsupported:
        """IGNORE stores something else, or nothing; SQLite's REPLACE takes a default for NULL; DuckDB looks at keys
        before it looks at constraints; and of a query's rows, unless it is a `single` one, it is not known which comes
        first. A row in the way that DuckDB's snapshot has not is never skipped: the statement or its COMMIT fails."""
        if rules.rivals_fail_upserts and error.sqlstate == "40001":
            return error
        if conflict.ignore or replaces_null or batches:
            return Unsupported(f"a row that fails with {error.sqlstate} in an INSERT that skips rows")
        if disordered and not single and conflict.action != "nothing":
            return Unsupported(f"a row that fails with {error.sqlstate} in an INSERT ... SELECT with a conflict clause")
        return error

    def upsert(view: View, args: Arguments, frame: Frame) -> Written:
        progress = Progress(0, set(), Writer(view, enforce))
        mark = view.savepoint()
        returned: list[Row] = []
        single = False
        try:
            proposed = new_rows(view, args, frame)
            if refuse is not None or reads:
                proposed = rows = list(proposed)
                single = len(rows) == 1
                if refuse is not None:
                    refuse(rows)
            for row in proposed:
                written = place(view, args, frame, progress, row)
                if written is not None:
                    returned.append(project(*written, args, frame))
            progress.writer.finish()
        except SqlError as error:
            view.rollback(mark)
            raise beyond(error, single) from error
        # a MariaDB that answers rows tells no count, so that clients count these
        return len(returned) if answers else progress.affected, None, result(returned)

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
    return compile_row(_new_values(statement, table), dialect.in_write("value"))


def _new_values(statement: Update, table: Table) -> list[Expr]:
    """The expressions of a new row over the old one, where no assignment sees another."""
    by_position = dict(statement.assignments)
    return [by_position.get(i) or _own(i, table) for i in range(len(table.columns))]


def _own(position: int, table: Table) -> Expr:
    column = table.columns[position]
    return Column(position, column.type, column.name)


def compile_update(statement: Update, catalog: Catalog, dialect: Dialect, *, enforce: Enforce | None = None) -> Write:
    """UPDATE. MySQL writes and counts changed rows only (unless found-rows is set, for the count). `enforce` as in
    `compile_insert`."""
    table = table_of(catalog, statement.table)
    name = table.name
    matches = compile_matches(name, statement.where, dialect)
    pick = compile_pick(statement, dialect)
    test = None if statement.where is None else compile_predicate(statement.where, dialect)
    retest = compile_retest([statement.where], dialect)
    assign = compile_assignments(statement, table, dialect)
    stored_row = compile_stored(table, dialect)
    enforce = enforce or compile_consequences(statement, catalog, dialect)
    before = compile_before(statement, name, "update", catalog, dialect)
    assigned = frozenset(position for position, _ in statement.assignments)
    project, result = compile_row_returning(statement.returning, len(table.columns), dialect)
    only_changed = dialect.rules.running.strict_counts
    count_matched = not only_changed or dialect.found_rows
    rowwise = (
        None if before is None
        else RowByRow(name, before, stored_row, enforce, project, result, assigned, only_changed, count_matched)
    )  # fmt: skip
    if rowwise is not None:
        refuse_functions(statement)
    keeps = bool(triggers_of(statement, catalog))
    alone = sees_own_changes(statement, dialect)

    def change(view: View, changes: list[tuple[RowId, Row, Row]]) -> Written:
        changed = 0
        writer = Writer(view, enforce)
        for identity, old, row in changes:
            if not only_changed or row != old:
                writer.update(name, identity, old, row, assigned)
                changed += 1
            elif keeps:
                writer.keep(name, identity, old, assigned)
        writer.finish()
        return len(changes) if count_matched else changed, len(changes), None

    plain = None
    plainly = statement.returning is None and not statement.sequential and not has_queries(statement)
    if pick is None and rowwise is None and plainly:
        plain = compile_plain_update(table, statement.where, _new_values(statement, table), change, dialect)

    queried = has_queries(statement)

    def update(view: View, args: Arguments, frame: Frame) -> Written:
        if queried and view.rechecks:
            query_frame(frame).view = view.aside()
        if plain is not None and not view.rechecks:
            try:
                return plain(view, args, frame)
            except NotPlain:
                pass  # the way below tells which error it is

        def new_row(old: Row) -> tuple[Row, Row]:
            row = stored_row(assign(old, args, frame))
            return row, project(old, row, args, frame)

        def matched_row(old: Row) -> tuple[Row, Row]:
            return new_row(old) if test is None or test(old, args, frame) else (old, ())

        try:
            found = matches(view, args, frame)
        except SqlError as error:
            # The DBMS writes a matching row before it tests the next one.
            if rowwise is not None:
                raise Unsupported(f"a condition that fails with {error.sqlstate} beside triggers") from error
            each([row for _, row in view.scan(name)], matched_row)
            raise
        if pick is not None:
            found = pick(found, args, frame, view.choose)
        if view.rechecks:
            found = rechecked(view, name, found, retest, args, frame)
        if alone and len(found) > 1:
            raise Unsupported(OWN_TARGET)
        if rowwise is not None:
            made = computed(found, lambda item: assign(item[1], args, frame))
            given = [(identity, old, row) for (identity, old), row in zip(found, made, strict=True)]
            return rowwise.write(view, given, args, frame)
        new = each([row for _, row in found], new_row)
        affected, matched, _ = change(
            view, [(identity, old, row) for (identity, old), (row, _) in zip(found, new, strict=True)]
        )
        return affected, matched, result([returned for _, returned in new])

    return update


def sees_own_changes(statement: Update, dialect: Dialect) -> bool:
    """Whether an assignment to a row may see what was written to the rows before it."""
    if not dialect.rules.running.updates_see_themselves:
        return False
    return not all(computes_before(value, statement.table) for _, value in statement.assignments)


def compile_delete(statement: Delete, catalog: Catalog, dialect: Dialect, *, enforce: Enforce | None = None) -> Write:
    """DELETE; RETURNING reads the old rows. `enforce` as in `compile_insert`."""
    table = table_of(catalog, statement.table)
    name = table.name
    matches = compile_matches(name, statement.where, dialect)
    pick = compile_pick(statement, dialect)
    retest = compile_retest([statement.where], dialect)
    project, result = compile_row_returning(statement.returning, len(table.columns), dialect)
    enforce = enforce or compile_consequences(statement, catalog, dialect)
    before = compile_before(statement, name, "delete", catalog, dialect)
    stored_row = compile_stored(table, dialect)
    rowwise = None if before is None else RowByRow(name, before, stored_row, enforce, project, result)
    if rowwise is not None:
        refuse_functions(statement)

    def delete(view: View, args: Arguments, frame: Frame) -> Written:
        try:
            found = matches(view, args, frame)
        except SqlError as error:
            if rowwise is not None:
                raise Unsupported(f"a condition that fails with {error.sqlstate} beside triggers") from error
            raise
        if pick is not None:
            found = pick(found, args, frame, view.choose)
        if view.rechecks:
            found = rechecked(view, name, found, retest, args, frame)
        if rowwise is not None:
            return rowwise.write(view, [(identity, row, None) for identity, row in found], args, frame)
        returned = each([row for _, row in found], lambda row: project(row, None, args, frame))
        writer = Writer(view, enforce)
        for identity, row in found:
            writer.delete(name, identity, row)
        writer.finish()
        return len(found), None, result(returned)

    return delete


Pick = Callable[[list[tuple[RowId, Row]], Arguments, Frame, Choose], list[tuple[RowId, Row]]]


def compile_pick(statement: Update | Delete, dialect: Dialect) -> Pick | None:
    """MySQL's ORDER BY and LIMIT: which of the matching rows are written; None where all are."""
    if statement.limit is None:
        return None
    limit = compile_expression(statement.limit, dialect)
    limit_type = statement.limit.type
    keys = [key.expression for key in statement.order if key.expression is not None]
    evaluate, types, rule = compile_row(keys, dialect), [key.type for key in keys], text_rule(dialect)

    def pick(found: list[tuple[RowId, Row]], args: Arguments, frame: Frame, choose: Choose) -> list[tuple[RowId, Row]]:
        count = limit_value(limit((), args, frame), limit_type, "42000", "LIMIT", dialect)
        if count is None or count >= len(found):
            return found
        rows: list[Row] = [row for _, row in found]
        numbered: list[Row] = [(number,) for number in range(len(rows))]
        ordered, tied = sort_rows(numbered, [evaluate(row, args, frame) for row in rows], statement.order, types, rule)
        places = [int(number) for (number,) in ordered]  # type: ignore[arg-type]
        sure = next((n for n, key in enumerate(tied) if key == tied[count]), count)
        edge = [found[place] for place, key in zip(places, tied, strict=True) if key == tied[count]]
        what = "LIMIT with ties that feeds a write or a variable"
        chosen = some_of(edge, lambda item: item[1], count - sure, choose, what) if sure < count else []
        return [*(found[place] for place in places[:sure]), *chosen]

    return pick
