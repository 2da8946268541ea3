"""One logged statement run on a view and compared with what was observed (paper §3.3, S1 and S2).

Does not know which states the view reads, nor any isolation level.
"""

from __future__ import annotations

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call
from sql_semantics.library import Program
from sql_semantics.products import PRODUCTS
from sql_semantics.run import may_fail_freely
from sql_semantics.run.queries.existence import tells_existence
from sql_semantics.run.writes.rows.constraints import may_clash
from sql_semantics.view import View
from troubadour.execution.observations.locked_rows import claims
from troubadour.execution.observations.observation import mismatch
from troubadour.execution.observations.raising import may_raise
from troubadour.execution.prepared import PreparedStatement
from troubadour.replay.view import WitnessView

ANY_TIME_CLASSES = frozenset({"08", "26", "40", "53", "54", "55", "57", "58", "70", "72", "F0", "XX"})
"""SQLSTATE classes of errors that need no reason in the data: connection, prepared statements, rollback,
resources, limits, operator, system, old snapshots, configuration, internal ones."""


OF_PARAMETERS = frozenset({"22003", "22007", "22008", "22021", "22P02", "22P03"})
"""Errors that a driver's choice of a parameter's type can cause."""

TEXT_CLASSES = frozenset({"0A", "42"})
"""SQLSTATE classes of errors that lie in the text: not supported, syntax, names, types."""


def run_succeeded(prepared: PreparedStatement, view: WitnessView) -> str | None:
    """None where the statement's outcome explains what was observed, else what differs. Raises SqlError where it
    would have failed, Unsupported."""
    if prepared.program is None:
        assert prepared.failure is not None
        raise prepared.failure
    outcome = prepared.program.run(view, prepared.arguments)
    text = mismatch(prepared.observation, outcome)
    if text is None and view.locks:
        view.lock(claims(prepared.observation, outcome))
    return text


def run_failed(prepared: PreparedStatement, view: View, catalog: Catalog, dialect: str) -> str | None:
    """None where a statement of a living transaction may have failed as observed, else why not. It has no effect, but
    for what a CALL did before it failed where the dialect undoes single statements.

    Raises Unsupported where that is not modelled.
    """
    assert prepared.statement.error is not None
    if prepared.statement.unjudged:
        return None
    observed = prepared.statement.error.sqlstate
    program = prepared.program
    rules = PRODUCTS[dialect].running
    partial = rules.undoes_statements and program is not None and _may_write_and_fail(program)
    untold = observed[:2] in ANY_TIME_CLASSES or observed in rules.untold_states
    if untold or _hangs_on_others(prepared, catalog, dialect):
        if partial:
            raise Unsupported("a CALL that failed, it is not known where")
        return None
    if program is None:
        if isinstance(prepared.failure, Unsupported) and observed[:2] not in TEXT_CLASSES:
            raise prepared.failure
        return None
    saved = view.savepoint()
    undone = True
    try:
        program.run(view, prepared.arguments)
    except SqlError as error:
        if error.sqlstate[:2] == observed[:2]:
            undone = not partial
            return None
        data = {observed[:2], error.sqlstate[:2]} <= {"21", "22", "23"}
        if data and may_raise(program.statement, catalog, observed):
            # it fails all the same; which of several errors comes first is not promised
            return None
        if error.may:
            raise Unsupported(f"an error that may happen ({error.sqlstate}) beside an observed one") from error
        _refuse_unknown(program, catalog, observed)
        return f"observed error {observed}, expected error {error.sqlstate}"
    finally:
        if undone:
            view.rollback(saved)
    _refuse_unknown(program, catalog, observed)
    return f"observed error {observed}, expected success"


def _refuse_unknown(program: Program, catalog: Catalog, observed: str) -> None:
    """Raises Unsupported where the text was refused that is right as far as is known here."""
    if observed[:2] in TEXT_CLASSES and not tells_existence(program.statement, catalog, observed):
        raise Unsupported(f"error {observed} of a text in which nothing wrong was found")


def _may_write_and_fail(program: Program) -> bool:
    return isinstance(program.statement, Call) and not program.read_only


def _hangs_on_others(prepared: PreparedStatement, catalog: Catalog, dialect: str) -> bool:
    """Whether the error may come from rows, parameters or evaluation orders that a run of it does not show."""
    assert prepared.statement.error is not None
    if prepared.program is None:
        return False
    observed, statement = prepared.statement.error.sqlstate, prepared.program.statement
    if prepared.arguments and (observed in OF_PARAMETERS or observed[:2] in TEXT_CLASSES):
        return True
    return may_clash(statement, catalog, observed) or may_fail_freely(statement, catalog, dialect, observed)
