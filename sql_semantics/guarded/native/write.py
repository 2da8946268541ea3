"""INSERT, UPDATE and DELETE against a guarded view (paper §3.1, §5.4).

Every match and every new row is computed before the first write. A write happens under the path and its row's guard.
Uniqueness is not checked here: that hangs on the newest state, which only the caller knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows
from sql_semantics.guarded.lifting import Failure
from sql_semantics.guarded.native.expressions import compile_scalar, compile_test
from sql_semantics.guarded.native.join import compile_matches
from sql_semantics.guarded.native.select import compile_query, compile_returning, feed
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Delete, Insert, Update
from sql_semantics.ir.walks.own_target import OWN_TARGET
from sql_semantics.outcome import GuardedResult
from sql_semantics.run.writes.rows.references import NO_ACTIONS
from sql_semantics.run.writes.rows.returning import reads_old_and_new
from sql_semantics.run.writes.rows.stored import open_key_columns
from sql_semantics.run.writes.write import sees_own_changes, table_of
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, conj, disj, items_of, neg, same
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId

Written = tuple[Scalar, Scalar, GuardedResult | None]
"""(affected, matched, rows of RETURNING)."""

NOTHING_WRITTEN: Written = (None, None, None)

Write = Callable[[Execution], Written]
Constraints = Callable[[Execution, Guard, tuple[Scalar, ...]], None]


def compile_write(statement: Insert | Update | Delete, catalog: Catalog, dialect: Dialect) -> Write:
    """f(execution) -> what was written; does not call `view.begin`. Raises Unsupported and UnknownTable."""
    dialect = dialect.in_write("condition")
    if reads_old_and_new(statement.returning, len(table_of(catalog, statement.table).columns)):
        raise Unsupported("OLD and NEW in RETURNING on symbolic rows")
    if not isinstance(statement, Insert) and statement.limit is not None:
        raise Unsupported("LIMIT of a write on symbolic rows")
    _refuse_what_others_must_follow(statement, catalog)
    if isinstance(statement, Update) and sees_own_changes(statement, dialect):
        raise Unsupported(f"{OWN_TARGET} on symbolic rows")
    match statement:
        case Insert():
            return _compile_insert(statement, catalog, dialect)
        case Update():
            return _compile_update(statement, catalog, dialect)
    return _compile_delete(statement, catalog, dialect)


def _refuse_what_others_must_follow(statement: Insert | Update | Delete, catalog: Catalog) -> None:
    """Generated columns, and foreign keys with an action. That the other foreign keys hold is asked of the states."""
    table = table_of(catalog, statement.table)
    if any(column.generated is not None for column in table.columns):
        raise Unsupported("a generated column on symbolic rows")
    changed = {place for place, _ in statement.assignments} if isinstance(statement, Update) else set()
    for _, key in catalog.references_to(table.name):
        if isinstance(statement, Delete) and key.on_delete not in NO_ACTIONS:
            raise Unsupported("the action of a foreign key on symbolic rows")
        if changed & set(key.parent_columns) and key.on_update not in NO_ACTIONS:
            raise Unsupported("the action of a foreign key on symbolic rows")


def _compile_constraints(table: Table, dialect: Dialect) -> Constraints:
    """f(execution, guard, new row): NOT NULL (23502; MySQL 23000), then CHECK (23514; its own), as errors under guards.

    As in the concrete runtime only the first constraint that fails counts.
    """
    null_state = dialect.rules.running.null_state
    open_keys = open_key_columns(table, dialect)
    required = [
        (i, Failure(null_state, f"null value in column {column.name!r} of {table.name!r}", False))
        for i, column in enumerate(table.columns)
        if column.refuses_null
    ]
    checks = [
        (
            compile_test(check.condition, dialect),
            Failure(
                dialect.check_error[0],
                f"new row of {table.name!r} violates check constraint {check.name!r}",
                False,
            ),
        )
        for check in table.checks
    ]
    if required and any(check.first for check in table.checks):
        raise Unsupported("a domain with a check on symbolic rows")

    def check_row(execution: Execution, guard: Guard, row: tuple[Scalar, ...]) -> None:
        for position, failure in required:
            null = disj(*(case for case, leaf in items_of(row[position]) if leaf is None))
            if null is not FALSE:
                execution.fail(conj(guard, null), failure)
                guard = conj(guard, neg(null))
        for position in open_keys:
            if any(leaf is None and conj(guard, case) is not FALSE for case, leaf in items_of(row[position])):
                raise Unsupported("NULL in a primary key in sqlite")
        for test, failure in checks:
            if guard is FALSE:
                return
            tested = test(row, (), [])
            passed = execution.holds(guard, tested)
            if tested.false is not FALSE:
                execution.fail(conj(guard, tested.false), failure)
                guard = disj(passed, conj(guard, tested.null))

    return check_row


def _compile_insert(statement: Insert, catalog: Catalog, dialect: Dialect) -> Write:
    if statement.conflict is not None:
        raise Unsupported("INSERT with a conflict clause on symbolic rows")
    table = table_of(catalog, statement.table)
    check_row = _compile_constraints(table, dialect)
    returning = compile_returning(statement.returning, dialect)
    literal = [[compile_scalar(expr, dialect.in_write("value")) for expr in row] for row in statement.rows]
    query = None if statement.query is None else compile_query(statement.query, dialect)
    convert = [compile_scalar(expr, dialect) for expr in statement.from_query]

    def insert(execution: Execution) -> Written:
        args, frame = execution.arguments, execution.frame
        rows: GuardedRows = []
        if query is None:
            sources = [(TRUE, cast("tuple[Scalar, ...]", ()), values) for values in literal]
        else:
            sources = [(guard, row, convert) for guard, row in feed(execution, query(execution))]
        for guard, row, expressions in sources:
            new, sound = execution.settled(guard, [evaluate(row, args, frame) for evaluate in expressions])
            check_row(execution, sound, new)
            rows.append((guard, execution.narrowed(guard, new)))
        result = None if returning is None else returning(execution, rows)
        for guard, new in rows:
            full = conj(execution.path, guard)
            if full is not FALSE:
                execution.view.insert(table.name, full, new)
        return execution.count([guard for guard, _ in rows]), None, result

    return insert


def _compile_assignments(
    statement: Update, dialect: Dialect
) -> Callable[[Execution, Guard, tuple[Scalar, ...]], tuple[tuple[Scalar, ...], Guard]]:
    """f(execution, guard, old row) -> new row (untouched columns as they are), and the guard where nothing failed."""
    steps = [(position, compile_scalar(expr, dialect.in_write("value"))) for position, expr in statement.assignments]

    def assign(execution: Execution, guard: Guard, old: tuple[Scalar, ...]) -> tuple[tuple[Scalar, ...], Guard]:
        args, frame = execution.arguments, execution.frame
        new = list(old)
        sound = guard
        for position, evaluate in steps:
            value = evaluate(new if statement.sequential else old, args, frame)
            (settled,), sound = execution.settled(sound, (value,))
            (new[position],) = execution.narrowed(guard, (settled,))
        return tuple(new), sound

    return assign


def _compile_update(statement: Update, catalog: Catalog, dialect: Dialect) -> Write:
    """MySQL writes and counts changed rows only (unless found-rows is set, for the count)."""
    table = table_of(catalog, statement.table)
    matches = compile_matches(table.name, statement.where, dialect)
    assign = _compile_assignments(statement, dialect)
    check_row = _compile_constraints(table, dialect)
    returning = compile_returning(statement.returning, dialect)
    only_changed = dialect.rules.running.strict_counts
    count_matched = not only_changed or dialect.found_rows

    def update(execution: Execution) -> Written:
        writes: list[tuple[RowId, Guard, tuple[Scalar, ...]]] = []
        matched: GuardedRows = []
        for identity, guard, old in matches(execution):
            new, sound = assign(execution, guard, old)
            check_row(execution, sound, new)
            matched.append((guard, new))
            changed = conj(guard, neg(_unchanged(old, new))) if only_changed else guard
            if conj(execution.path, changed) is not FALSE:
                writes.append((identity, changed, new))
        result = None if returning is None else returning(execution, matched)
        for identity, guard, new in writes:
            execution.view.update(table.name, identity, conj(execution.path, guard), new)
        found = execution.count([guard for guard, _ in matched])
        affected = found if count_matched else execution.count([guard for _, guard, _ in writes])
        return affected, found, result

    return update


def _unchanged(old: tuple[Scalar, ...], new: tuple[Scalar, ...]) -> Guard:
    return conj(*(same(before, after) for before, after in zip(old, new, strict=True) if before is not after))


def _compile_delete(statement: Delete, catalog: Catalog, dialect: Dialect) -> Write:
    name = table_of(catalog, statement.table).name
    matches = compile_matches(name, statement.where, dialect)
    returning = compile_returning(statement.returning, dialect)

    def delete(execution: Execution) -> Written:
        found = matches(execution)
        result = None
        if returning is not None:
            result = returning(execution, [(guard, row) for _, guard, row in found])
        for identity, guard, _ in found:
            execution.view.delete(name, identity, conj(execution.path, guard))
        return execution.count([guard for _, guard, _ in found]), None, result

    return delete
