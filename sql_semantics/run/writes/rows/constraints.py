"""Constraint errors that hang on rows which a statement need not have read.

Keys are enforced against rows that other transactions wrote meanwhile, so a clash can seldom be excluded. Does not know
any row.
"""

from __future__ import annotations

from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Statement, Write
from sql_semantics.ir.walks.effects import executions
from sql_semantics.run.writes.rows.references import meets_other_rows

_OF_ONE_ROW = frozenset({"23502", "23514"})
"""NOT NULL and CHECK: the row alone decides."""


def may_clash(statement: Statement, catalog: Catalog, sqlstate: str) -> bool:
    """Whether the statement may fail with this class 23 error because of rows that it did not read."""
    if sqlstate[:2] != "23":
        return False
    if isinstance(statement, Call):
        return True
    if sqlstate in _OF_ONE_ROW:
        return False
    return any(isinstance(part, Write) and meets_other_rows(part, catalog) for part in executions(statement, catalog))
