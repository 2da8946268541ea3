"""Writes that join several tables, on guarded rows. Does not know how the tables are joined.

Every new row is computed before the first write. A row that is found with several matches is written where any of them
is; where two that may hold together would make it different rows, the statement is left to path exploration.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows
from sql_semantics.guarded.native.expressions import compile_scalar
from sql_semantics.guarded.native.join import compile_sources
from sql_semantics.guarded.native.write import Write, Written, _compile_constraints, _unchanged
from sql_semantics.ir.expressions import Column
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import JoinedWrite, Target
from sql_semantics.records import dataclass
from sql_semantics.run.writes.rows.references import NO_ACTIONS
from sql_semantics.run.writes.write import table_of
from sql_semantics.terms import FALSE, Guard, Scalar, choose, conj, disj, neg
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId


@dataclass(slots=True)
class _Change:
    """What happens to one row: where, and its new values (None: deleted); `changed` is where they differ."""

    guard: Guard
    changed: Guard
    values: tuple[Scalar, ...] | None


Changes = Callable[[Execution, GuardedRows], dict[RowId, _Change]]


def compile_joined_write(statement: JoinedWrite, catalog: Catalog, dialect: Dialect) -> Write:
    """UPDATE ... FROM, DELETE ... USING, UPDATE and DELETE of several tables. Raises Unsupported, also when it runs."""
    if statement.returning is not None:
        raise Unsupported("RETURNING of a write with a join on symbolic rows")
    if len({target.table for target in statement.targets}) < len(statement.targets):
        raise Unsupported("a table twice among the targets of one statement")
    condition = dialect.in_write("condition")
    produce = compile_sources(statement.sources, statement.where, condition)
    targets = [(target.table, _compile_changes(target, statement, catalog, condition)) for target in statement.targets]
    only_changed = dialect.rules.running.strict_counts and not statement.deletes
    count_matched = not only_changed or dialect.found_rows

    def write(execution: Execution) -> Written:
        rows = produce(execution)
        found = [(table, changes(execution, rows)) for table, changes in targets]
        every = [change for _, changes in found for change in changes.values()]
        matched = execution.count([change.guard for change in every])
        changed = execution.count([change.changed for change in every])
        for table, changes in found:
            for identity, change in changes.items():
                where = conj(execution.path, change.changed if only_changed else change.guard)
                if change.values is None:
                    execution.view.delete(table, identity, where)
                elif where is not FALSE:
                    execution.view.update(table, identity, where, change.values)
        affected = matched if statement.deletes or count_matched else changed
        return affected, None if statement.deletes else matched, None

    return write


def _compile_changes(target: Target, statement: JoinedWrite, catalog: Catalog, dialect: Dialect) -> Changes:
    table = table_of(catalog, target.table)
    if any(column.generated is not None for column in table.columns):
        raise Unsupported("a generated column on symbolic rows")
    written = {place for place, _ in target.assignments}
    for _, key in catalog.references_to(table.name):
        if statement.deletes and key.on_delete not in NO_ACTIONS:
            raise Unsupported("the action of a foreign key on symbolic rows")
        if written & set(key.parent_columns) and key.on_update not in NO_ACTIONS:
            raise Unsupported("the action of a foreign key on symbolic rows")
    start, end = target.offset, target.offset + len(table.columns)
    check_row = _compile_constraints(table, dialect)
    by_position = dict(target.assignments)
    assign = [
        compile_scalar(
            by_position.get(place) or Column(start + place, column.type, column.name), dialect.in_write("value")
        )
        for place, column in enumerate(table.columns)
    ]

    def changes(execution: Execution, rows: GuardedRows) -> dict[RowId, _Change]:
        args, frame = execution.arguments, execution.frame
        found: dict[RowId, list[_Change]] = {}
        for guard, row in rows:
            identity = row[end]
            if identity is None:
                continue  # an outer join has no row there
            if statement.deletes:
                found.setdefault(identity, []).append(_Change(guard, guard, None))
                continue
            new, sound = execution.settled(guard, [evaluate(row, args, frame) for evaluate in assign])
            new = execution.narrowed(guard, new)
            check_row(execution, sound, new)
            changed = conj(guard, neg(_unchanged(row[start:end], new)))
            found.setdefault(identity, []).append(_Change(guard, changed, new))
        return {identity: _united(execution, alternatives) for identity, alternatives in found.items()}

    return changes


def _united(execution: Execution, alternatives: list[_Change]) -> _Change:
    first = alternatives[0]
    if len(alternatives) == 1:
        return first
    guard = disj(*(change.guard for change in alternatives))
    changed = disj(*(change.changed for change in alternatives))
    if first.values is None:
        return _Change(guard, changed, None)
    for place, one in enumerate(alternatives):
        for other in alternatives[:place]:
            together = conj(execution.path, one.guard, other.guard)
            if together is not FALSE and one.values != other.values:
                raise Unsupported("UPDATE of a row with several matches that make a difference")
    width = range(len(first.values))
    values = tuple(
        choose(_exclusive([(change.guard, change.values[column]) for change in alternatives if change.values]))
        for column in width
    )
    return _Change(guard, changed, values)


def _exclusive(items: list[tuple[Guard, Scalar]]) -> list[tuple[Guard, Scalar]]:
    """The same items, each where none before it holds: those that hold together are equal."""
    found: list[tuple[Guard, Scalar]] = []
    before: Guard = FALSE
    for guard, value in items:
        found.append((conj(guard, neg(before)), value))
        before = disj(before, guard)
    return found
