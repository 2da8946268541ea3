"""UPDATE of one table as one generated function, where nothing but the row itself is at stake.

Foreign keys, RETURNING, ORDER BY, subqueries and generated columns are left to `run.writes.write`, and so is
every statement that fails: which error is reported is its business. Does not know how many rows count as affected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.schema import Table
from sql_semantics.plan.access import access_path
from sql_semantics.run.expressions.expressions import Arguments, Emitter, Frame
from sql_semantics.run.queries.join import compile_access
from sql_semantics.run.writes.rows.stored import compile_generated, open_key_columns
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import View

Result = TypeVar("Result")


class NotPlain(Exception):
    """The statement fails, or may: nothing was written."""


def compile_plain_update(
    table: Table, where: Expr | None, new: list[Expr], changes: Callable[[View, Any], Result], dialect: Dialect
) -> Callable[[View, Arguments, Frame], Result] | None:
    """f(view, args, frame) -> what `changes` makes of [(identity, old row, new row)]. Raises NotPlain.

    None where the table has generated columns.
    """
    if compile_generated(table, dialect) is not None:
        return None
    emitter = Emitter(dialect)
    test = "True" if where is None else emitter.truth(where)
    bind, _ = compile_access(emitter, table.name, access_path(where, dialect))
    emitter.dialect = dialect.in_write("value")
    values = "".join(f"{emitter.value(expr)}, " for expr in new)
    emitter.dialect = dialect
    required = {place for place, column in enumerate(table.columns) if column.refuses_null}
    emitter.row = "new"
    tests = [f"new[{place}] is None" for place in sorted(required | set(open_key_columns(table, dialect)))]
    tests += [f"({emitter.value(check.condition)}) is False" for check in table.checks]
    refuse = f"            if {' or '.join(tests)}: raise {emitter.name(NotPlain)}\n" if tests else ""
    source = (
        "def update(view, args, frame):\n"
        "    found = []\n"
        "    try:\n"
        f"        {bind}\n"
        "        for identity, row in pairs:\n"
        f"            if not ({test}): continue\n"
        f"            new = ({values})\n"
        f"{refuse}"
        "            found.append((identity, row, new))\n"
        f"    except {emitter.name((SqlError, Unsupported))} as error:\n"
        f"        raise {emitter.name(NotPlain)} from error\n"
        f"    return {emitter.name(changes)}(view, found)\n"
    )
    return emitter.define(source, "update")
