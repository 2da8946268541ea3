"""INSERT of rows whose keys may be taken: ON CONFLICT, ON DUPLICATE KEY UPDATE, IGNORE, REPLACE.

Rows go in one by one, and each meets the newest rows (`View.rivals`), those of its own statement included. A row that
is newer than what the statement reads may be left alone; writing over it is a write conflict (40001). Does not know how
the rows to insert are made. Sources: PostgreSQL INSERT, MySQL 15.2.7.2 and 15.2.12, SQLite lang_upsert and
lang_conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Column, Expr, Invoke, Subquery
from sql_semantics.ir.queries import BaseTable, FunctionScan
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Conflict
from sql_semantics.ir.walks.traverse import fields_of, walk
from sql_semantics.records import dataclass
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Frame,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.writes.rows.keys import Key, compile_keys, is_visible, rivals
from sql_semantics.run.writes.rows.writer import Writer
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row, RowId, View

Place = Callable[[View, Arguments, Frame, "Progress", Row], "tuple[Row | None, Row] | None"]
"""f(view, args, frame, progress, row to insert) -> the old row (None: there was none) and the row written, None for
nothing."""
Stored = Callable[[Row], Row]


@dataclass(slots=True)
class Progress:
    """What a statement has done so far: the count that the DBMS reports, and the rows it wrote by `writer`."""

    affected: int
    written: set[RowId]
    writer: Writer


def compile_conflict(conflict: Conflict, table: Table, stored: Stored, catalog: Catalog, dialect: Dialect) -> Place:
    """How one row goes in. `stored` completes and tests a row that is changed."""
    keys = compile_keys(table, dialect)
    arbiters = [key for place, key in enumerate(keys) if conflict.keys is None or place in conflict.keys]
    match conflict.action:
        case "nothing":
            return _nothing(table.name, arbiters)
        case "replace":
            deleted = any("delete" in trigger.events for trigger in catalog.triggers.get(table.name, ()))
            removes = deleted or bool(catalog.references_to(table.name))
            return _replace(table.name, _in_index_order(keys, table), removes, dialect)
    return _update(conflict, table, _in_index_order(arbiters, table), stored, catalog, dialect)


def _in_index_order(keys: Sequence[Key], table: Table) -> list[Key]:
    """The order in which MySQL looks at keys: the primary one, those without nullable columns, the others."""

    def rank(key: Key) -> int:
        if key.unique.primary:
            return 0
        return 1 if all(table.columns[place].not_null for place in key.unique.columns) else 2

    return sorted(keys, key=rank)


def refuse_internal_conflicts(conflict: Conflict, table: Table, dialect: Dialect) -> Callable[[Sequence[Row]], None]:
    """f(rows to insert in no certain order): raises Unsupported where two of them have one key, so that the outcome
    hangs on their order."""
    keys = compile_keys(table, dialect)
    batches, nulls_clash = dialect.rules.running.upserts_in_batches, dialect.rules.running.null_keys_clash

    def check(rows: Sequence[Row]) -> None:
        for key in keys:
            if len(rows) < 2:
                return
            seen: list[tuple[Row, Row]] = []
            first: dict[Row, Row] = {}
            for row in rows:
                value = key.value(row)
                if value is None and nulls_clash and key.unique.plain:
                    # rows of one INSERT whose keys are NULL are taken for equal there
                    value = tuple([row[column] for column in key.unique.columns])
                if value is None:
                    continue
                if key.columns or key.unique.plain is False:
                    other = first.setdefault(value, row)
                    clash = other is not row
                else:
                    clash = any(key.equal(value, earlier) for earlier, _ in seen)
                    other = row if not clash else next(r for v, r in seen if key.equal(value, v))
                    seen.append((value, row))
                if clash and not (conflict.action == "nothing" and other == row and not batches):
                    raise Unsupported("rows of one INSERT that have the same key")

    return check


def _nothing(name: str, arbiters: Sequence[Key]) -> Place:
    def place(view: View, args: Arguments, frame: Frame, progress: Progress, row: Row) -> tuple[Row | None, Row] | None:
        for key in arbiters:
            for _ in rivals(view, name, key, row):
                return None
        progress.written.add(progress.writer.insert(name, row))
        progress.affected += 1
        return None, row

    return place


def _first_rival(
    view: View, name: str, arbiters: Sequence[Key], row: Row, of_first_key: bool
) -> tuple[Key, RowId, Row] | None:
    """The row in the way; MySQL takes the one of the first key. Raises Unsupported where several are, elsewhere, and
    SqlError 40001 where it is newer than what the statement reads."""
    found: tuple[Key, RowId, Row] | None = None
    for key in arbiters:
        for identity, other in rivals(view, name, key, row, writing=True):
            if found is not None and found[1] != identity:
                raise Unsupported("a row that conflicts with several rows at once")
            found = found or (key, identity, other)
        if found is not None and of_first_key:
            break
    if found is not None and not view.rechecks and not is_visible(view, name, *found):
        raise _too_new()
    return found


def _too_new() -> SqlError:
    return SqlError("40001", "the row in the way is newer than the snapshot")


def _update(
    conflict: Conflict, table: Table, arbiters: Sequence[Key], stored: Stored, catalog: Catalog, dialect: Dialect
) -> Place:
    for expr in (*(expr for _, expr in conflict.assignments), *(() if conflict.where is None else (conflict.where,))):
        for part in walk(expr):
            if isinstance(part, Subquery):
                _check_reads(part, table.name, dialect)
    name, width = table.name, len(table.columns)
    test = None if conflict.where is None else compile_predicate(conflict.where, dialect)
    assign = _assignments(conflict, table, dialect)
    rules = dialect.rules.running
    once, of_first_key, only_changed = rules.updates_once, rules.upserts_by_first_key, rules.strict_counts
    twice = rules.counts_replaced_rows
    fires = bool(catalog.triggers.get(name))
    # MariaDB 10.11 compares what is stored beneath the NULL as well, and may count such a row once.
    filled = [place for place, _ in conflict.assignments if table.columns[place].default is not None]

    def place(view: View, args: Arguments, frame: Frame, progress: Progress, row: Row) -> tuple[Row | None, Row] | None:
        found = _first_rival(view, name, arbiters, row, of_first_key)
        if found is None:
            progress.written.add(progress.writer.insert(name, row))
            progress.affected += 1
            return None, row
        _, identity, old = found
        if once and identity in progress.written:
            raise SqlError("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time")
        both = old + row
        if test is not None and not test(both, args, frame):
            return None
        new = stored(assign(both, args, frame)[:width])
        if twice:
            if new == old and any(old[place] is None for place in filled):
                raise Unsupported("an upsert in mysql that sets NULL to NULL in a column with a default")
            progress.affected += 2 if new != old else int(dialect.found_rows)
        else:
            progress.affected += 1
        if not only_changed or new != old:
            progress.writer.update(name, identity, old, new, frozenset(place for place, _ in conflict.assignments))
        elif fires:
            progress.writer.keep(name, identity, old, frozenset(place for place, _ in conflict.assignments))
        progress.written.add(identity)
        return old, new

    return place


def _check_reads(subquery: Subquery, target: str, dialect: Dialect) -> None:
    """A subquery must not see the rows that its statement has written before: Unsupported where it might."""
    if dialect.rules.running.upserts_in_batches:
        raise Unsupported("a subquery in the conflict clause of an INSERT")
    pending: list[object] = [subquery.query]
    while pending:
        node = pending.pop()
        if isinstance(node, Invoke | FunctionScan) or (isinstance(node, BaseTable) and node.name == target):
            raise Unsupported("a subquery on the table that is written to, or a function, in a conflict clause")
        pending.extend(fields_of(node))


def _assignments(conflict: Conflict, table: Table, dialect: Dialect) -> Callable[[Row, Arguments, Frame], Row]:
    """f(old row and row to insert) -> the same with the old row changed."""
    if not conflict.sequential:
        by_position = dict(conflict.assignments)
        own: list[Expr] = [Column(i, column.type, column.name) for i, column in enumerate(table.columns)]
        return compile_row([by_position.get(i, column) for i, column in enumerate(own)], dialect)
    steps = [(position, compile_expression(expr, dialect.in_write("value"))) for position, expr in conflict.assignments]

    def assign(row: Row, args: Arguments, frame: Frame) -> Row:
        for position, evaluate in steps:
            row = (*row[:position], evaluate(row, args, frame), *row[position + 1 :])
        return row

    return assign


def _replace(name: str, keys: Sequence[Key], removes: bool, dialect: Dialect) -> Place:
    """MySQL counts the rows deleted too; on its last key it overwrites in place, and counts 1 where nothing changes,
    unless foreign keys refer to the table or triggers wait for its deletion (`removes`)."""
    twice = dialect.rules.running.counts_replaced_rows

    def place(view: View, args: Arguments, frame: Frame, progress: Progress, row: Row) -> tuple[Row | None, Row] | None:
        for key in keys:
            for identity, other in list(rivals(view, name, key, row, writing=True)):
                if not view.rechecks and not is_visible(view, name, key, identity, other):
                    raise _too_new()
                if twice and key is keys[-1] and not removes:
                    progress.affected += 1 if other == row else 2
                    progress.writer.update(name, identity, other, row)
                    return other, row
                progress.writer.delete(name, identity, other)
                progress.affected += twice
        progress.written.add(progress.writer.insert(name, row))
        progress.affected += 1
        return None, row

    return place
