"""What running a statement may do beyond answering: write, call routines (DESIGN §2). Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sql_semantics.ir.expressions import Invoke
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.nesting import nested
from sql_semantics.ir.statements import (
    Call,
    Delete,
    FunctionScan,
    Insert,
    Release,
    RollbackTo,
    Savepoint,
    Statement,
    Update,
)


def routines_in(node: object) -> Iterator[Routine]:
    """The user-defined functions that a statement or expression calls in its expressions, subqueries included."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending.extend(current)
        elif is_dataclass(current):
            if isinstance(current, Invoke | FunctionScan):
                yield current.routine
            pending.extend(getattr(current, field.name) for field in fields(current))


def routine_writes(routine: Routine) -> bool:
    """Whether a call can write."""
    return _writes(routine, set())


def can_write(statement: Statement, catalog: Catalog) -> bool:
    """Whether an execution of the statement can write, looking into routines and control flow."""
    return _statement_writes(statement, catalog, set())


def _writes(routine: Routine, seen: set[int]) -> bool:
    if id(routine) in seen:
        return False
    seen.add(id(routine))
    if routine.procedure is None:
        return True
    return any(_statement_writes(item, routine.catalog, seen) for item in routine.procedure.body)


def _statement_writes(statement: Statement, catalog: Catalog, seen: set[int]) -> bool:
    if isinstance(statement, Write | Savepoint | RollbackTo | Release):
        return True
    if isinstance(statement, Call):
        procedure = catalog.procedures.get(statement.procedure)
        if procedure is None or procedure.routine is None or _writes(procedure.routine, seen):
            return True
    if any(_statement_writes(item, catalog, seen) for item in nested(statement)):
        return True
    return any(_writes(routine, seen) for routine in routines_in(statement))
