"""Rows as values: of some expressions, of a table, of what stands in FROM (PostgreSQL 4.2.13, 8.16.5). Does not know
which names are in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.dialects import check_field
from sql_semantics.ir.expressions import Const, Expr, Function
from sql_semantics.ir.schema import Table
from sql_semantics.values.families.composites import RECORD, CompositeFamily
from sql_semantics.values.functions.composites import FIELD, ROW
from sql_semantics.values.types import INT, TEXT, Kind, SqlType


def row_of(
    values: Sequence[Expr], names: Sequence[str] = (), type_: SqlType | None = None, types: Sequence[SqlType] = ()
) -> Function:
    """A row of some values, of a composite type or of none; `types`: of the values, where these do not tell. Raises
    Unsupported for values that no row has here."""
    types = types or [TEXT if value.type.kind is Kind.NULL else value.type for value in values]
    for one in types:
        check_field(one)
    if type_ is None:
        names = names or [f"f{place + 1}" for place in range(len(values))]
        type_ = SqlType(Kind.COMPOSITE, family=CompositeFamily(RECORD, tuple(zip(names, types, strict=True))))
    return Function(ROW, tuple(values), type_)


def row_type(table: Table) -> SqlType | None:
    """The composite type of a table's rows; None where not all of its columns are modelled."""
    try:
        for column in table.columns:
            check_field(column.type)
    except Unsupported:
        return None
    fields = tuple((column.name, column.type) for column in table.columns)
    return SqlType(Kind.COMPOSITE, family=CompositeFamily(table.name, fields))


def converted_row(row: Expr, target: SqlType, convert: Callable[[Expr, SqlType], Expr]) -> Expr:
    """A row that is written out as one of a composite type, its values converted. Raises SqlError 42846 for a row of
    another length, Unsupported for any other row."""
    assert isinstance(target.family, CompositeFamily)
    types = [type_ for _, type_ in target.family.fields]
    if not isinstance(row, Function) or row.name != ROW:
        raise Unsupported(f"{row.type} where {target} is expected")
    if len(row.arguments) != len(types):
        raise SqlError("42846", f"cannot cast type record to {target}")
    values = [convert(value, type_) for value, type_ in zip(row.arguments, types, strict=True)]
    return Function(ROW, tuple(values), target)


def field_of(row: Expr, place: int) -> Expr:
    """A field of a row by its place."""
    family = row.type.family
    assert isinstance(family, CompositeFamily)
    if isinstance(row, Function) and row.name == ROW:
        return row.arguments[place]
    return Function(FIELD, (row, Const(place, INT)), family.fields[place][1])
