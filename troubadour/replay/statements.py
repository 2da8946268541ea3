"""One logged statement run on a view and compared with what was observed (paper §3.3, S1 and S2; DESIGN §5).

Does not know which states the view reads, nor any isolation level.
"""

from __future__ import annotations

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Insert, Update
from troubadour.execution.observation import mismatch
from troubadour.execution.prepared import PreparedStatement
from troubadour.replay.view import WitnessView

ANY_TIME_CLASSES = frozenset({"08", "40", "53", "55", "57", "58"})
"""SQLSTATE classes of errors that need no reason in the data: connection, rollback, resources, operator, system."""

TEXT_CLASSES = frozenset({"0A", "42"})
"""SQLSTATE classes of errors that lie in the text: not supported, syntax, names, types."""


def run_succeeded(prepared: PreparedStatement, view: WitnessView) -> str | None:
    """None where the statement's outcome explains what was observed, else what differs. Raises SqlError where it
    would have failed, Unsupported."""
    if prepared.program is None:
        assert prepared.failure is not None
        raise prepared.failure
    return mismatch(prepared.observation, prepared.program.run(view, prepared.arguments))


def run_failed(prepared: PreparedStatement, view: WitnessView, catalog: Catalog, dialect: str) -> str | None:
    """None where a statement of a committed transaction may have failed as observed, else why not; it has no effect.

    Raises Unsupported where that is not modelled.
    """
    assert prepared.statement.error is not None
    observed = prepared.statement.error.sqlstate
    if dialect not in ("mysql", "sqlite"):
        return f"observed error {observed}, which aborts the transaction, but it committed"
    if observed[:2] in ANY_TIME_CLASSES:
        return None
    if prepared.program is None:
        if isinstance(prepared.failure, Unsupported) and observed[:2] not in TEXT_CLASSES:
            raise prepared.failure
        return None
    if observed[:2] == "23" and _may_clash(prepared, catalog):
        return None
    saved = view.savepoint()
    try:
        prepared.program.run(view, prepared.arguments)
    except SqlError as error:
        if error.sqlstate[:2] == observed[:2]:
            return None
        if error.may:
            raise Unsupported(f"an error that may happen ({error.sqlstate}) beside an observed one") from error
        return f"observed error {observed}, expected error {error.sqlstate}"
    finally:
        view.rollback(saved)
    return f"observed error {observed}, expected success"


def _may_clash(prepared: PreparedStatement, catalog: Catalog) -> bool:
    """Whether the statement can run into a key that another transaction holds, or held meanwhile."""
    assert prepared.program is not None
    statement = prepared.program.statement
    if isinstance(statement, Call):
        return True
    return isinstance(statement, Insert | Update) and bool(catalog.tables[statement.table].keys)
