"""Triggers whose statements stand in their own text (SQLite CREATE TRIGGER, MySQL 27.3).

One that is read here is run like a routine; of any other `frontend.triggers` tells what it may write. Does not know
when triggers are run.
"""

from __future__ import annotations

import re

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.binding import bind_text
from sql_semantics.frontend.names.refusals import read_trigger
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.routines.bodies import Frame, Names, bind_condition
from sql_semantics.frontend.routines.headers import read_header
from sql_semantics.frontend.routines.psm.reader import PsmBinder
from sql_semantics.frontend.routines.skeleton import Piece, Simple, tokens
from sql_semantics.frontend.routines.triggers import RowTrigger
from sql_semantics.ir.expressions import Variable
from sql_semantics.ir.programs import Raise, Return
from sql_semantics.ir.queries import BaseTable
from sql_semantics.ir.routines import Signature
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import If, Statement
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written

_RAISED = "23000"
"""What clients make of SQLITE_CONSTRAINT_TRIGGER."""
_COMPOUND = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_EACH_ROW = ["FOR", "EACH", "ROW"]
_ROWS = pattern(r"\b(?:OLD|NEW)\b", re.IGNORECASE)


def own_trigger(text: str, dialect: Dialect) -> RowTrigger:
    """The trigger of a text. Raises Unsupported for one that is not run."""
    trigger = read_trigger(text, dialect)
    refusal = Unsupported(trigger.construct)
    try:
        piece = tokens(text, dialect.rules.definitions.psm_spelling)
    except SchemaError:
        raise refusal from None
    words = piece.words()
    if words[-1:] == [";"]:
        piece, words = piece.slice(0, len(words) - 1), words[:-1]
    start = words.index("TRIGGER")
    if words[1:start] not in ([], ["OR", "REPLACE"]) or words[start + 1 : start + 3] == ["IF", "NOT"]:
        raise refusal
    place = start + 2
    before = words[place] == "BEFORE" or words[place] in ("INSERT", "UPDATE", "DELETE")
    place += words[place] in ("BEFORE", "AFTER")
    on = piece.find("ON", start=place)
    happening = words[place:on]
    columns = None
    if happening[1:2] == ["OF"]:
        columns = tuple(folded_written(part.text, dialect) for part in piece.slice(place + 2, on).split())
        happening = happening[:1]
    if happening not in (["INSERT"], ["UPDATE"], ["DELETE"]):
        raise refusal
    rest = on + 2
    if words[rest : rest + 3] == _EACH_ROW:
        rest += 3
    if rest >= len(words) or words[rest] in (".", "FOLLOWS", "PRECEDES"):
        raise refusal
    condition = None
    if words[rest] == "WHEN":
        begin = piece.find("BEGIN", start=rest)
        if begin < 0:
            raise refusal
        condition, rest = piece.slice(rest + 1, begin), begin
    try:
        header = read_header(f"CREATE PROCEDURE p() {piece.slice(rest).text}", dialect)
    except SchemaError:
        raise refusal from None
    name = folded_written(piece.tokens[start + 1][1], dialect)
    language = "psm" if dialect.rules.definitions.psm_conditions else "statements"
    return RowTrigger(
        text, name, trigger.table, before, frozenset(trigger.events), columns, condition, language, header.body,
        trigger.construct,
    )  # fmt: skip


def own_body(
    trigger: RowTrigger, context: Context, frame: Frame, signature: Signature, table: Table
) -> tuple[Statement, ...]:
    """What a trigger does whose `signature` is that of `signature_of`. Raises Unsupported."""
    if any(column.on_update is not None for column in table.columns):
        raise Unsupported(f"{trigger.construct}, a column that gets the time of a change")
    variables = [frame.slot(parameter.name, parameter.type) for parameter in signature.parameters]
    width = len(table.columns)
    old, new = variables[:width], variables[width : 2 * width]
    fields: dict[tuple[str, str], Variable] = {}
    for spelled in set(_ROWS.findall(trigger.text)):  # whatever names of tables are, these are compared without case
        if spelled.lower() == "old" and "insert" not in trigger.events:
            fields |= {(spelled, variable.name): variable for variable in old}
        if spelled.lower() == "new" and "delete" not in trigger.events:
            fields |= {(spelled, variable.name): variable for variable in new}
    names = Names(qualified=fields | {(name.lower(), field): variable for (name, field), variable in fields.items()})
    if trigger.language == "psm":
        body = PsmBinder(context, frame, None).body(trigger.body, names)
        _refuse_reads(trigger, body)
    else:
        body = _statements(trigger, PsmBinder(context, frame, None).within(names))
    kept = () if not trigger.before else tuple(old if "delete" in trigger.events else new)
    return (*body, Return(kept))


def _refuse_reads(trigger: RowTrigger, body: tuple[Statement, ...]) -> None:
    """MySQL's triggers read the newest rows or those of a snapshot, which is not modelled but of what a write meets."""
    if any(isinstance(part, BaseTable) for part in walk_parts(body)):
        raise Unsupported(f"{trigger.construct}, which reads tables")


# --- the statements of SQLite -----------------------------------------------------------------------------------


def _statements(trigger: RowTrigger, context: Context) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for item in trigger.body.items:
        if not isinstance(item, Simple):
            raise Unsupported(trigger.construct)
        word = item.piece.words()[0]
        if word == "SELECT":
            found.append(_raised(trigger, item.piece, context))
        elif word in ("INSERT", "UPDATE", "DELETE", "REPLACE"):
            found.append(bind_text(item.piece.text, context))
        else:
            raise Unsupported(f"{trigger.construct}, {word} in it")
    return tuple(found)


def _raised(trigger: RowTrigger, piece: Piece, context: Context) -> Statement:
    """``SELECT RAISE(...)`` with its condition, or the same as the one branch of a CASE."""
    words = piece.words()
    refusal = Unsupported(f"{trigger.construct}, a SELECT in it")
    if words[1:3] == ["CASE", "WHEN"] and words[-1] == "END":
        then = next((place for place, word in enumerate(words) if word == "THEN" and piece.tokens[place][4] == 1), 0)
        if not then:
            raise refusal
        return _branch(trigger, piece.slice(then + 1, len(words) - 1), piece.slice(3, then), context)
    if not _COMPOUND.isdisjoint(words):
        raise refusal
    end = words.index(")") + 1 if ")" in words else 0
    call, rest = piece.slice(1, end), piece.slice(end)
    if not rest.tokens:
        return _action(trigger, call)
    if rest.words()[0] == "WHERE":
        return _branch(trigger, call, rest.slice(1), context)
    if rest.words()[0] != "FROM":
        raise refusal
    spelling = context.dialect.rules.definitions.psm_spelling
    return _branch(trigger, call, tokens(f"EXISTS (SELECT 1 {rest.text})", spelling), context)


def _branch(trigger: RowTrigger, call: Piece, condition: Piece, context: Context) -> Statement:
    return If(((bind_condition(condition, context, "WHERE"), (_action(trigger, call),)),), ())


def _action(trigger: RowTrigger, call: Piece) -> Statement:
    """What RAISE does: ABORT ends the statement, IGNORE leaves the row out that is about to be written."""
    words = call.words()
    if words[:3] == ["RAISE", "(", "ABORT"] and words[3:4] == [","] and words[5:] == [")"]:
        return Raise(_RAISED, "raised by a trigger")
    if words == ["RAISE", "(", "IGNORE", ")"] and trigger.before:
        return Return(())
    raise Unsupported(f"{trigger.construct}, RAISE of it")
