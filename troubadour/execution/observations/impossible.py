"""Errors that a statement cannot raise in any state at all: the judgement on aborted transactions.

Does not know what any transaction read.
"""

from __future__ import annotations

from sql_semantics.ir.schema import Catalog
from sql_semantics.products import PRODUCTS
from troubadour.execution.observations.errors import DATA_ERRORS, possible_anyway
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.raising import may_raise
from troubadour.execution.observations.unwritten_keys import UnwrittenKeys
from troubadour.execution.prepared import PreparedStatement, PreparedTransaction


def refuted_by_keys(transaction: PreparedTransaction, keys: UnwrittenKeys) -> tuple[int, str] | None:
    """The first statement of a transaction, committed or not, that failed for a key as it cannot have by all that the
    log knows of keys, and why; None for none."""
    for statement in transaction.statements:
        why = keys.refutes(statement) if statement.judged.fate is Fate.FAILED else None
        if why is not None:
            return statement.index, why
    return None


def refuted(transaction: PreparedTransaction, catalog: Catalog, dialect: str) -> tuple[int, str] | None:
    """The first statement of an aborted transaction whose answer no state explains, and why; None for none."""
    for statement in transaction.statements:
        if statement.judged.fate is Fate.IMPOSSIBLE:
            return statement.index, statement.judged.text
        if statement.judged.fate is Fate.FAILED and _cannot_raise(statement, catalog, dialect):
            assert statement.statement.error is not None
            observed = statement.statement.error.sqlstate
            return statement.index, f"answered error {observed}, which this statement cannot raise in any state"
    return None


def _cannot_raise(statement: PreparedStatement, catalog: Catalog, dialect: str) -> bool:
    observed = statement.statement.error
    program = statement.program
    if observed is None or program is None or program.left_out or not PRODUCTS[dialect].running.errors_are_known:
        return False
    if possible_anyway(statement, catalog, dialect):
        return False
    return observed.sqlstate[:2] in DATA_ERRORS and not may_raise(program.statement, catalog, observed.sqlstate)
