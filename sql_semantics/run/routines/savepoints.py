"""SAVEPOINT, ROLLBACK TO and RELEASE on a view (sources in `frontend.routines.savepoints`).

The names live in the view, since they outlast the statement. Does not know how a view undoes writes.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import SqlError
from sql_semantics.ir.statements import Release, RollbackTo, Savepoint
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Mark

Named = list[tuple[str, Mark]]


def apply_savepoint(
    statement: Savepoint | RollbackTo | Release,
    named: Named,
    dialect: Dialect,
    make: Callable[[], Mark],
    rollback: Callable[[Mark], None],
) -> None:
    """Run the statement on the savepoints `named` so far, oldest first; raises SqlError for an unknown name."""
    if isinstance(statement, Savepoint):
        if dialect.rules.running.savepoints_replace:
            # the manual: if there is one with the same name, the old one is deleted
            named[:] = [item for item in named if item[0] != statement.name]
        named.append((statement.name, make()))
        return
    place = next((n for n in range(len(named) - 1, -1, -1) if named[n][0] == statement.name), None)
    if place is None:
        raise SqlError(dialect.rules.running.unknown_savepoint_state, f"savepoint {statement.name!r} does not exist")
    if isinstance(statement, RollbackTo):
        rollback(named[place][1])
        del named[place + 1 :]
    else:
        del named[place:]
