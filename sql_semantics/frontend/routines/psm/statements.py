"""SQL/PSM statements without statements inside: jumps, FETCH, SIGNAL, SELECT INTO (MySQL manual 15.6).

Does not know blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.routines.bodies import (
    Names,
    converted,
    query_outputs,
)
from sql_semantics.frontend.routines.conditions import checked_state
from sql_semantics.frontend.routines.skeleton import (
    Piece,
)
from sql_semantics.frontend.types.coerce import assign
from sql_semantics.ir.expressions import Variable
from sql_semantics.ir.programs import (
    Fetch,
    Iterate,
    Leave,
    Raise,
    Reraise,
)
from sql_semantics.ir.queries import OrderKey, OutputColumn, Select
from sql_semantics.ir.statements import SelectInto, Statement
from sql_semantics.values.identifiers import folded_written

if TYPE_CHECKING:
    from sql_semantics.frontend.routines.psm.reader import PsmBinder


def signal(binder: PsmBinder, piece: Piece, names: Names) -> Statement:
    """SIGNAL and RESIGNAL; messages are never compared."""
    words = piece.words()
    resignal = words[0] == "RESIGNAL"
    if not binder.context.dialect.rules.definitions.psm_conditions:
        raise Unsupported("SIGNAL in a procedure")
    if resignal and not names.in_handler:
        raise Unsupported("RESIGNAL outside a handler")
    place, number = 1, None
    state = None
    if words[1:2] == ["SQLSTATE"]:
        place = 3 if words[2] == "VALUE" else 2
        state = checked_state(words[place])
        place += 1
    elif len(words) > 1 and words[1] != "SET":
        conditions = names.conditions.get(folded_written(piece.tokens[1][1], binder.context.dialect))
        if conditions is None or not conditions.states:
            raise SchemaError(f"condition {piece.tokens[1][1]} is not declared for an SQLSTATE")
        state = next(iter(conditions.states))
        place = 2
    if words[place : place + 1] == ["SET"]:
        for part in piece.slice(place + 1).split():
            item = part.words()
            if item[0] == "MYSQL_ERRNO" and len(item) == 3 and item[2].isdigit():
                number = int(item[2])
            elif item[0] != "MESSAGE_TEXT":
                raise Unsupported(f"{item[0]} in SIGNAL")
    if resignal and state is None:
        if number is not None:
            raise Unsupported("MYSQL_ERRNO in RESIGNAL")
        return Reraise()
    if state is None:
        raise SchemaError(piece.text)
    if state[:2] == "01":
        raise Unsupported("SIGNAL of a warning")
    return Raise(state, "signalled", number or (1643 if state[:2] == "02" else 1644))


def fetch_(binder: PsmBinder, piece: Piece, names: Names) -> Statement:
    """``FETCH [[NEXT] FROM] cursor INTO variables``."""
    into = piece.find("INTO")
    words = piece.words()
    start = 1 + (words[1] == "NEXT") if into > 2 else 1
    start += words[start] == "FROM"
    cursor = binder.cursor(piece.slice(start, into), names)
    targets = [binder.target(part, names.variables, "FETCH INTO") for part in piece.slice(into + 1).split()]
    assert cursor.query is not None
    columns = query_outputs(cursor.query) or ()
    if len(columns) != len(targets):
        return Raise("HY000", "incorrect number of FETCH variables", 1328)
    row = converted(columns, targets, binder.within(names))
    return Fetch(cursor.slot, row, tuple(target.slot for target in targets), True)


def jump(binder: PsmBinder, piece: Piece, names: Names) -> Statement:
    """LEAVE and ITERATE."""
    found = names.labels.get(folded_written(piece.slice(1).text, binder.context.dialect))
    word = piece.words()[0]
    if found is None or (word == "ITERATE" and not found[1]):
        raise SchemaError(f"{piece.text}: no such label")
    return Leave(found[0]) if word == "LEAVE" else Iterate(found[0])


def select_into(query: Select, targets: Sequence[Variable], context: Context) -> Statement:
    """The outputs converted to the variables' types; what is ordered by stays unconverted."""
    if len(targets) != len(query.outputs):
        error = context.dialect.rules.definitions.into_width_error
        if error is not None:
            return Raise(error[0], "the used SELECT statements have a different number of columns", error[1])
        raise Unsupported("SELECT INTO with another number of variables than columns")
    outputs = tuple(
        OutputColumn(output.name, assign(output.expression, target.type, context, target.name))
        for output, target in zip(query.outputs, targets, strict=True)
    )
    order = query.order
    if outputs != query.outputs:
        if query.distinct:
            raise Unsupported("SELECT DISTINCT ... INTO with a conversion")
        order = tuple(
            key if key.output is None
            else OrderKey(query.outputs[key.output].expression, None, key.descending, key.nulls_first)
            for key in query.order
        )  # fmt: skip
    return SelectInto(replace(query, outputs=outputs, order=order), tuple(target.slot for target in targets))
