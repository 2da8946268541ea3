"""Observed errors: which must, may or cannot happen. Does not know orders or levels.

What is judged here is conservative: an error counts as impossible only where nothing could have raised it.
"""

from __future__ import annotations

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, NoEffect, Statement
from sql_semantics.products import PRODUCTS
from sql_semantics.run import may_fail_freely
from sql_semantics.run.queries.existence import tells_existence
from sql_semantics.run.writes.rows.constraints import may_clash
from sql_semantics.view import View
from troubadour.execution.observations.lifecycle import ALWAYS_POSSIBLE, GENERAL
from troubadour.execution.observations.raising import may_raise
from troubadour.execution.prepared import PreparedStatement

REFUSED_TEXT = frozenset({"0A", "42"})
"""Classes with which a DBMS refuses a text; ours to believe where the text is beyond us too."""

DATA_ERRORS = frozenset({"21", "22", "23"})
"""Classes of what is wrong with rows and values."""

PARAMETER_ERRORS = frozenset({"22003", "22007", "22008", "22021", "22P02", "22P03"})
"""Raised where a driver's choice of type does not take a parameter's value; those of texts are, too."""


def possible_anyway(statement: PreparedStatement, catalog: Catalog, dialect: str) -> bool:
    """Whether the error observed may happen whatever the state (as far as is known)."""
    observed = statement.statement.error
    assert observed is not None
    kind = observed.sqlstate[:2]
    if statement.statement.unjudged:
        return True
    if kind in ALWAYS_POSSIBLE or observed.sqlstate in PRODUCTS[dialect].running.untold_states:
        return True
    if statement.program is None:
        return kind in REFUSED_TEXT or _class_of(statement.failure) == kind
    if statement.arguments and (observed.sqlstate in PARAMETER_ERRORS or kind in REFUSED_TEXT):
        return True
    bound = statement.program.statement
    if isinstance(bound, NoEffect) and bound.opaque:
        return True
    state = observed.sqlstate
    return may_clash(bound, catalog, state) or may_fail_freely(bound, catalog, dialect, state)


def explains_error(statement: PreparedStatement, view: View, catalog: Catalog, dialect: str) -> str | None:
    """None where a statement of a living transaction may have had this error on `view`; else why not.

    The view is as before then, but for what a failing CALL did before it failed (MySQL undoes the statement in it that
    failed, and no other). Raises Unsupported where that is not known.
    """
    observed = statement.statement.error
    assert observed is not None
    program = statement.program
    parts = PRODUCTS[dialect].running.undoes_statements
    keeps = parts and program is not None and _keeps_effects(program.statement, program.read_only)
    if possible_anyway(statement, catalog, dialect):
        if keeps:
            raise Unsupported(f"a CALL that failed with {observed.sqlstate} nobody knows where")
        return None
    if program is None:
        return unbound_error(statement, dialect)
    mark = view.savepoint()
    kept = False
    try:
        program.run(view, statement.arguments)
    except SqlError as error:
        if error.sqlstate[:2] == observed.sqlstate[:2]:
            kept = keeps
            return None
        if error.may:
            raise Unsupported(f"an error that may happen ({error}) beside an observed one") from error
        if may_be_told_of(program.statement, catalog, observed.sqlstate, error.sqlstate):
            return None
        demand_known(program.statement, catalog, observed.sqlstate)
        return f"answered error {observed.sqlstate}, expected {error.sqlstate}"
    finally:
        if not kept:
            view.rollback(mark)
    demand_known(program.statement, catalog, observed.sqlstate)
    return f"answered error {observed.sqlstate}, which nothing could have raised"


def unbound_error(statement: PreparedStatement, dialect: str) -> str:
    """Why a statement that cannot be bound did not fail as observed; raises Unsupported where it is not modelled."""
    observed = statement.statement.error
    assert observed is not None
    if isinstance(statement.failure, Unsupported):
        raise statement.failure
    if {observed.sqlstate[:2], _class_of(statement.failure)} <= PRODUCTS[dialect].running.text_mistakes:
        raise Unsupported(f"error {observed.sqlstate} of a text that is refused, {statement.failure}")
    return f"answered error {observed.sqlstate}, expected {statement.failure}"


def may_be_told_of(bound: Statement, catalog: Catalog, observed: str, expected: str) -> bool:
    """Whether a DBMS may have met the one error before the other: both are data errors, and it tells the first."""
    return {observed[:2], expected[:2]} <= DATA_ERRORS and may_raise(bound, catalog, observed)


def demand_known(bound: Statement, catalog: Catalog, sqlstate: str) -> None:
    """Raises Unsupported for an error of which it is not known whether a living statement can have it."""
    if sqlstate in GENERAL:
        raise Unsupported(f"error {sqlstate}, which does not tell what it undid")
    if sqlstate[:2] in REFUSED_TEXT and not tells_existence(bound, catalog, sqlstate):
        raise Unsupported(f"error {sqlstate} of a text in which nothing wrong was found")


def _keeps_effects(bound: Statement, read_only: bool) -> bool:
    return isinstance(bound, Call) and not read_only


def _class_of(failure: Exception | None) -> str | None:
    return failure.sqlstate[:2] if isinstance(failure, SqlError) else None
