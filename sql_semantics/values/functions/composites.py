"""Functions of rows: one of values, a field of one, and whether one IS NULL (PostgreSQL 4.2.13, 8.16.3, 9.2). Does not
know where the values come from.
"""

from __future__ import annotations

from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.families.composites import Composite, composite
from sql_semantics.values.functions.rule import Rule, Slot, Table, any_of, exactly, plainly
from sql_semantics.values.types import BOOLEAN, INT, Kind

ROW, FIELD, IS_NULL, IS_NOT_NULL = "row of", "row field", "row is null", "row is not null"
PERHAPS_NULL = "row, perhaps null"
"""A row that is told from NULL by its fields alone."""

_COMPOSITE = Slot(frozenset({Kind.COMPOSITE}))
_ANY = any_of(frozenset(Kind))


def _field(row: Composite, place: int) -> Any:
    return row.fields[place]


def _is_null(row: Composite | None) -> bool:
    return row is None or all(field is None for field in row.fields)


def _is_not_null(row: Composite | None) -> bool:
    return row is not None and all(field is not None for field in row.fields)


def _perhaps_null(*fields: Any) -> Composite:
    if all(field is None for field in fields):
        raise Unsupported("a row that is NULL, or of NULLs, it is not known which")
    return composite(fields)


POSTGRES: Table = {
    ROW: (
        Rule((), INT, plainly(lambda: composite(())), strict=False),
        Rule((_ANY,), INT, plainly(lambda *fields: composite(fields)), variadic=True, strict=False),
    ),
    PERHAPS_NULL: (Rule((_ANY,), INT, plainly(_perhaps_null), variadic=True, strict=False),),
    FIELD: (Rule((_COMPOSITE, *exactly(INT)), INT, plainly(_field)),),
    IS_NULL: (Rule((_COMPOSITE,), BOOLEAN, plainly(_is_null), strict=False),),
    IS_NOT_NULL: (Rule((_COMPOSITE,), BOOLEAN, plainly(_is_not_null), strict=False),),
}
"""Those whose result hangs on the fields have INT here; the front end gives the type with the call."""
