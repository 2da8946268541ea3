"""What running a statement may do beyond answering: write, call routines (DESIGN §2). Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sql_semantics.ir.definitions import CreateTable, DropTable
from sql_semantics.ir.expressions import Invoke
from sql_semantics.ir.nesting import nested
from sql_semantics.ir.parts import part_names
from sql_semantics.ir.queries import FunctionScan
from sql_semantics.ir.routines import Routine
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    Insert,
    JoinedWrite,
    Procedure,
    Release,
    RollbackTo,
    Savepoint,
    Statement,
    Truncate,
    Update,
    Write,
)


def routines_in(node: object) -> Iterator[Routine]:
    """The user-defined functions that a statement or expression calls in its expressions, subqueries included."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending.extend(current)
        elif names := part_names(current):
            if isinstance(current, Invoke | FunctionScan):
                yield current.routine
            pending.extend(getattr(current, name) for name in names)


def reached(statements: Iterable[Statement], catalog: Catalog) -> list[Procedure]:
    """Every routine that the statements call, and those that these call, each once."""
    found: dict[str, Procedure] = {}
    pending = [called(statement, catalog) for statement in statements]
    while pending:
        for procedure in pending.pop():
            if procedure.name not in found:
                found[procedure.name] = procedure
                inner = catalog if procedure.routine is None else procedure.routine.catalog
                pending += [called(statement, inner) for statement in procedure.body]
    return list(found.values())


def called(statement: Statement, catalog: Catalog) -> list[Procedure]:
    """The routines that a statement calls itself."""
    found = [routine.procedure for routine in routines_in(statement) if routine.procedure is not None]
    if isinstance(statement, Call) and statement.procedure in catalog.procedures:
        found.append(catalog.procedures[statement.procedure])
    for inner in nested(statement):
        found += called(inner, catalog)
    return found


def writes_itself(statement: Statement) -> bool:
    """Whether a statement writes by itself, not by what it calls."""
    if isinstance(statement, Write | CreateTable | DropTable | Savepoint | RollbackTo | Release):
        return True
    return any(writes_itself(inner) for inner in nested(statement))


def can_write(statement: Statement, catalog: Catalog) -> bool:
    """Whether an execution of the statement can write, looking into routines and control flow."""
    if writes_itself(statement):
        return True
    return any(writes_itself(item) for procedure in reached([statement], catalog) for item in procedure.body)


def routine_writes(routine: Routine) -> bool:
    """Whether a call can write."""
    procedure = routine.procedure
    return procedure is None or any(can_write(statement, routine.catalog) for statement in procedure.body)


def written_tables(statements: Iterable[Statement], catalog: Catalog) -> set[tuple[str, str]]:
    """The tables with what executions of the statements may do to their rows (insert, update, delete, truncate): by
    themselves, by the routines that they call, and by the actions of foreign keys."""
    found: set[tuple[str, str]] = set()
    pending = list(statements)
    pending += [item for procedure in reached(pending, catalog) for item in procedure.body]
    while pending:
        statement = pending.pop()
        pending += nested(statement)
        match statement:
            case Insert(table=name, conflict=conflict):
                found.add((name, "insert"))
                if conflict is not None and conflict.action in ("update", "replace"):
                    found.update(((name, "update"), (name, "delete")))
            case Update(table=name):
                found.add((name, "update"))
            case Delete(table=name):
                found.add((name, "delete"))
            case JoinedWrite(targets=targets, deletes=deletes):
                found.update((target.table, "delete" if deletes else "update") for target in targets)
            case Truncate(tables=names):
                found.update((name, "truncate") for name in names)
    open_ = [name for name, action in found if action in ("update", "delete")]
    while open_:
        for child, key in catalog.references_to(open_.pop()):
            acts = {key.on_delete, key.on_update} - {"no action", "restrict"}
            if acts and (child.name, "cascade") not in found:
                found.update((child.name, action) for action in ("update", "delete", "cascade"))
                open_.append(child.name)
    return {(name, action) for name, action in found if action != "cascade"}
