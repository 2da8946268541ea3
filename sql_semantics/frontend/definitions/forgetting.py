"""Tables as they are when nothing is to be told of some of their columns (what an unmodelled statement may
have written is not judged).

Such a column is of `Kind.UNKNOWN`: NULL for all that is known. Constraints and generated columns that hang on it go as
well, and are named. Does not know which columns are chosen, nor why.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.records import dataclass, replace
from sql_semantics.values.types import Kind, SqlType


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`columns`: by table and name, of whose values nothing is to be told, with the reason; `spelled`: whether values
    of types that are not modelled are told apart by how they are written."""

    columns: Mapping[tuple[str, str], str]
    spelled: bool = False

    def of_all(self, tables: Mapping[str, Table]) -> dict[str, Table]:
        """The tables without what is to be forgotten."""
        return {name: self.of(table) for name, table in tables.items()}

    def of(self, table: Table) -> Table:
        """A table without what is to be forgotten."""
        if self.spelled and any(column.type.kind is Kind.OPAQUE for column in table.columns):
            columns = [replace(column, type=_spelled(column.type)) for column in table.columns]
            table = replace(table, columns=tuple(columns))
        reasons = {
            place: self.columns[table.name, column.name]
            for place, column in enumerate(table.columns)
            if (table.name, column.name) in self.columns and column.type.kind is not Kind.UNKNOWN
        }
        if not reasons:
            return table
        for place, column in enumerate(table.columns):
            for other in () if column.generated is None else _read(column.generated):
                if other in reasons:
                    reasons[place] = reasons[other]
        columns = [_unknown(c, reasons[n]) if n in reasons else c for n, c in enumerate(table.columns)]
        keys = tuple(key for key in table.keys if reasons.keys().isdisjoint(key.columns))
        checks = tuple(check for check in table.checks if reasons.keys().isdisjoint(_read(check.condition)))
        loose = table.loose
        required = any(table.columns[place].not_null for place in reasons)
        if required or len(keys) < len(table.keys) or len(checks) < len(table.checks):
            loose = (*loose, *reasons.values())
        return replace(table, columns=tuple(columns), keys=keys, checks=checks, loose=tuple(dict.fromkeys(loose)))


NOTHING_FORGOTTEN = Forgotten({})


def _unknown(column: TableColumn, reason: str) -> TableColumn:
    return TableColumn(column.name, SqlType(Kind.UNKNOWN, name=reason), unread=reason)


def _spelled(type_: SqlType) -> SqlType:
    return replace(type_, spelled=True) if type_.kind is Kind.OPAQUE else type_


def _read(expression: Expr) -> set[int]:
    return {column.index for column in columns_of(expression)}
