"""What a transaction wrote is written again in the scope in which its table has its name."""

from __future__ import annotations

from sql_semantics.frontend.definitions.changes import Change
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.execution.rewritten import writing_only
from troubadour.model.log import Transaction
from troubadour.model.values import param_shape

ANEW = "CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)"
CHANGES = (Change(0, "DROP TABLE t"), Change(1, ANEW), Change(2, "CREATE TABLE late (k INTEGER PRIMARY KEY)"))


def test_tables_that_are_defined_later_can_be_written_to() -> None:
    library = SqlLibrary(Dialect("sqlite"), ["CREATE TABLE t (k INTEGER PRIMARY KEY)"], changes=CHANGES)
    assert [library.scope_of(name) for name in ("t", "t (definition 2)", "late", "none")] == [0, 2, 3, None]
    changes = (
        ("t", (1,), None),
        ("t (definition 2)", (1, 2), (1, 3)),
        ("t (definition 2)", None, (4, 5)),
        ("late", None, (6,)),
    )
    made = writing_only(Transaction("t1", "committed", (), 0), library, changes)
    assert [one.scope for one in made.statements] == [0, 2, 2, 3]
    for one in made.statements:
        statement = library.program(one.sql, param_shape(one.params), one.scope).statement
        assert getattr(statement, "table", None) in ("t", "t (definition 2)", "late")
