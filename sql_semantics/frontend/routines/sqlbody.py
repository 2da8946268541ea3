"""Bodies of LANGUAGE SQL: statements one after the other, the last of which is the result (PostgreSQL manual 36.5).

A name that is a column and a parameter is the column. Does not know how a program is run.
"""

from __future__ import annotations

from dataclasses import replace

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.binding import bind_call, bind_text
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.routines.bodies import Frame, Names, converted, query_outputs
from sql_semantics.frontend.routines.skeleton import Block, Piece, Simple
from sql_semantics.ir.expressions import Variable
from sql_semantics.ir.programs import Perform, Return, ReturnQuery
from sql_semantics.ir.queries import Query
from sql_semantics.ir.routines import Signature
from sql_semantics.ir.statements import Insert, Statement, Write


def bind_sql_body(
    body: Block, context: Context, frame: Frame, signature: Signature, names: Names
) -> tuple[Statement, ...]:
    """The program of such a body."""
    context = replace(context, variables=names.variables, qualified=names.qualified)
    if not signature.function and signature.answered:
        raise Unsupported("OUT parameter of a procedure in LANGUAGE SQL")
    statements: list[Statement] = []
    pieces = [item.piece for item in body.items if isinstance(item, Simple)]
    for place, piece in enumerate(pieces):
        if piece.words()[0] == "RETURN":
            piece = replace(piece, text=f"SELECT {piece.slice(1).text}")
        last = place == len(pieces) - 1
        statements += _statement(piece, context, frame, signature if last and signature.results else None)
    if signature.results and not pieces:
        raise SchemaError(f"function {signature.name!r} without a result")
    return tuple(statements)


def _statement(piece: Piece, context: Context, frame: Frame, signature: Signature | None) -> list[Statement]:
    """One statement; with `signature` its rows are the result."""
    if piece.words()[0] == "CALL":
        return [bind_call(piece.text, context)]
    statement = bind_text(piece.text, context)
    if not isinstance(statement, Query | Write):
        raise Unsupported(f"{piece.words()[0]} in a function")
    if signature is None:
        return [Perform(statement)]
    columns = query_outputs(statement)
    if columns is None or len(columns) != len(signature.results):
        raise Unsupported("a last statement that does not fit the function's result")
    if (
        isinstance(statement, Write)
        and not signature.rows
        and (not isinstance(statement, Insert) or len(statement.rows) != 1)
    ):
        raise Unsupported("a write of several rows that gives a function's single result")
    targets = tuple(Variable(-1, kind, name) for name, kind in signature.results)
    row = converted(columns, targets, context)
    if signature.rows:
        return [ReturnQuery(statement, row)]
    slots = tuple(frame.slot(name, kind) for name, kind in signature.results)
    return [Perform(statement, row, tuple(slot.slot for slot in slots)), Return(slots)]
