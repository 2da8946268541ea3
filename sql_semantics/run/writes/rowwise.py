"""A write of rows that triggers see before they are written: one row after the other (PostgreSQL 37.2).

Does not know which rows are written, nor what triggers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.statements import Delete, Insert, Update
from sql_semantics.ir.walks.effects import routines_in
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.outcome import ResultSet
from sql_semantics.records import dataclass
from sql_semantics.run.expressions.expressions import Arguments, Frame
from sql_semantics.run.writes.rows.references import Enforce
from sql_semantics.run.writes.rows.returning import Project, Result
from sql_semantics.run.writes.rows.triggers import ORDER, Before
from sql_semantics.run.writes.rows.writer import Writer
from sql_semantics.values.types import Value
from sql_semantics.view import Row, RowId, View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowByRow:
    """`stored` completes and tests a row that the triggers have given back; `assigned` as in `Change`. `only_changed`:
    a row that stays as it is is not written, and counted only where `count_matched`."""

    table: str
    before: Before
    stored: Callable[[Row], Row]
    enforce: Enforce | None
    project: Project
    result: Result
    assigned: frozenset[int] | None = None
    only_changed: bool = False
    count_matched: bool = True

    def write(
        self,
        view: View,
        rows: Sequence[tuple[RowId | None, Row | None, Row | None]],
        args: Arguments,
        frame: Frame,
        *,
        ordered: bool = False,
    ) -> tuple[int, int | None, ResultSet[Value] | None]:
        """Each (identity, old row, new row). Nothing is left of a statement that fails. `ordered`: this is the order in
        which the DBMS takes them."""
        mark = view.savepoint()
        writer = Writer(view, self.enforce)
        returned: list[Row] = []
        several = len(rows) > 1 and not ordered
        kept = 0
        if len(rows) > 1 and not self.before.apart:
            raise Unsupported("triggers of several rows, each of which sees what those before it left")
        if several and not self.before.commute:
            view.arbitrary(ORDER)
        try:
            for identity, old, new in rows:
                found = self.before.run(view, old, new)
                if found is None:
                    continue
                row = None if new is None else self.stored(found)
                if row is None:
                    assert old is not None
                    writer.delete(self.table, identity, old)
                elif old is None:
                    writer.insert(self.table, row)
                elif self.only_changed and row == old:
                    assert identity is not None
                    writer.keep(self.table, identity, old, self.assigned)
                    kept += 1
                else:
                    writer.update(self.table, identity, old, row, self.assigned)
                returned.append(self.project(old, row, args, frame))
        except SqlError:
            if several:  # another may fail first, and with another error
                view.arbitrary(ORDER)
            view.rollback(mark)
            raise
        try:
            writer.finish()
        except SqlError:
            view.rollback(mark)
            raise
        affected = len(returned) if self.count_matched else len(returned) - kept
        return affected, len(returned) if self.only_changed else None, self.result(returned)


def computed(items: Sequence[T], compute: Callable[[T], Row]) -> list[Row]:
    """`compute` of every item. Raises Unsupported for one that fails beside others: the DBMS runs triggers for these
    before it computes it."""
    try:
        return [compute(item) for item in items]
    except SqlError as error:
        if len(items) > 1:
            raise Unsupported(f"a row that fails with {error.sqlstate} beside others that triggers see") from error
        raise


def refuse_functions(statement: Insert | Update | Delete) -> None:
    """Raise Unsupported for a statement that calls functions for several rows, between which triggers are run, or that
    has queries in RETURNING, which see what is written by then."""
    single = isinstance(statement, Insert) and statement.query is None and len(statement.rows) == 1
    if not single and any(True for _ in routines_in(statement)):
        raise Unsupported("a function beside triggers that are run before each row")
    if statement.returning is not None and has_queries(statement.returning):
        raise Unsupported("a query in RETURNING beside triggers that are run before each row")
