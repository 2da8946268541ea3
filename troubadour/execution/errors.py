"""Observed errors: which must, may or cannot happen (DESIGN §5). Does not know orders or levels.

What is judged here is conservative: an error counts as impossible only where nothing could have raised it.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import SqlError
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Insert, Statement, Update
from sql_semantics.run import free_errors
from troubadour.execution.prepared import PreparedStatement

ALWAYS_POSSIBLE = frozenset({"08", "40", "53", "55", "57", "58"})
"""SQLSTATE classes of connections, conflicts, resources, locks, operators and the system."""

REFUSED_TEXT = frozenset({"0A", "42"})
"""Classes with which a DBMS refuses a text; ours to believe where the text is beyond us too."""

STATEMENT_ONLY = frozenset({"mysql", "sqlite"})
"""Dialects in which a failed statement leaves its transaction alive."""


def explains_error(
    statement: PreparedStatement, run: Callable[[], object], catalog: Catalog, dialect: str
) -> str | None:
    """None where a transaction that goes on to commit may have had this error; else why not.

    `run` runs the statement's program on the view in question; it is called at most once.
    """
    observed = statement.statement.error
    assert observed is not None
    if dialect not in STATEMENT_ONLY:
        return f"answered error {observed.sqlstate}, which aborts the transaction, and yet it committed"
    kind = observed.sqlstate[:2]
    if kind in ALWAYS_POSSIBLE:
        return None
    if statement.program is None:
        if kind in REFUSED_TEXT or _class_of(statement.failure) == kind:
            return None
        return f"answered error {observed.sqlstate}, expected {statement.failure}"
    bound = statement.program.statement
    if kind == "23" and (isinstance(bound, Call) or _has_keys(bound, catalog)):
        return None
    if observed.sqlstate in free_errors(bound, catalog):
        return None
    try:
        run()
    except SqlError as error:
        if error.sqlstate[:2] == kind:
            return None
        return f"answered error {observed.sqlstate}, expected {error.sqlstate}"
    return f"answered error {observed.sqlstate}, which nothing could have raised"


def _class_of(failure: Exception | None) -> str | None:
    return failure.sqlstate[:2] if isinstance(failure, SqlError) else None


def _has_keys(bound: Statement, catalog: Catalog) -> bool:
    return isinstance(bound, Insert | Update) and bool(catalog.tables[bound.table].keys)
