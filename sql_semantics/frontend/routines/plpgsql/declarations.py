"""DECLARE of PL/pgSQL: variables, rows, cursors, aliases (PostgreSQL manual 41.3). Does not know statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.rows import row_type
from sql_semantics.frontend.names.tables import find_table
from sql_semantics.frontend.routines.bodies import (
    Cursor,
    Names,
    Record,
    late,
    read_type,
    stored,
)
from sql_semantics.frontend.routines.plpgsql.body import PLPGSQL, Body, name_of
from sql_semantics.frontend.routines.skeleton import Piece
from sql_semantics.ir.expressions import Const, Variable
from sql_semantics.ir.statements import SetVariable, Statement
from sql_semantics.values.identifiers import folded_written_table
from sql_semantics.values.types import NULL, Kind, SqlType


def declare(routine: Body, piece: Piece, names: Names, own: set[str], label: str) -> tuple[Names, Sequence[Statement]]:
    """One declaration."""
    words = piece.words()
    name = name_of(piece.tokens[0])
    if name in own:
        raise SchemaError(f"variable {name!r} is declared twice")
    own.add(name)
    if words[1:2] == ["CURSOR"] or words[1:3] == ["SCROLL", "CURSOR"] or words[1:4] == ["NO", "SCROLL", "CURSOR"]:
        return declare_cursor(routine, piece, name, names)
    if words[1:3] == ["ALIAS", "FOR"]:
        meant = names.variables.get(name_of(piece.tokens[3]))
        record = names.records.get(name_of(piece.tokens[3]))
        if meant is None and record is not None and len(words) == 4:
            variables = {key: item for key, item in names.variables.items() if key != name}
            return replace(names, variables=variables, records={**names.records, name: record}), []
        if meant is None:
            raise SchemaError(f"DECLARE {piece.text}")
        return names.with_variable(name, meant, label), []
    constant = words[1:2] == ["CONSTANT"]
    end = piece.find("DEFAULT", ":=", "=")
    value = None if end < 0 else piece.slice(end + 1)
    written = piece.slice(1 + constant, None if end < 0 else end)
    required = written.words()[-2:] == ["NOT", "NULL"]
    if required:
        written = written.slice(0, -2)
        if value is None:
            raise SchemaError(f"variable {name!r}, which is NOT NULL, has no default")
    if written.find("COLLATE") >= 0:
        raise Unsupported("COLLATE of a variable")
    kinds = written.words()
    if kinds == ["RECORD"]:
        if value is not None:
            raise Unsupported("a record with a default")
        hidden = names.with_variable(name, Variable(-1, NULL, name))
        variables = {key: item for key, item in hidden.variables.items() if key != name}
        return replace(hidden, variables=variables, records={**hidden.records, name: Record(name)}), []
    if kinds == ["REFCURSOR"]:
        raise Unsupported("REFCURSOR variable")
    if kinds[-2:] == ["%", "ROWTYPE"]:
        return declare_row(routine, written.slice(0, -2).text, name, names, value)
    if len(kinds) == 1 and name_of(written.tokens[0]) in routine.context.catalog.tables:
        return declare_row(routine, written.text, name, names, value)
    copied = kinds[-2:] == ["%", "TYPE"]
    kind = copied_type(routine, written, names) if copied else read_type(written.text, routine.context.dialect)
    variable = routine.frame.slot(name, kind)
    if required:
        if kind.kind is Kind.COMPOSITE:
            raise Unsupported("a NOT NULL variable of a composite type")
        routine.required.add(variable.slot)
    statements: Sequence[Statement] = []
    if value is not None:
        context, text = routine.within(names), value
        statements = late(lambda: routine.assign(variable, stored(routine.value(text, context), variable, context)))
    elif names.loops:
        statements = [SetVariable(variable.slot, Const(None, kind))]
    return names.with_variable(name, variable, label), statements


def copied_type(routine: Body, piece: Piece, names: Names) -> SqlType:
    """``table.column%TYPE`` or ``variable%TYPE``."""
    parts = [name_of(token) for token in piece.tokens[:-2] if token[0] in ("NAME", "QUOTED")]
    if len(parts) == 1 and parts[0] in names.variables:
        return names.variables[parts[0]].type
    if len(parts) == 3 and parts[0] == "public":
        parts = parts[1:]
    if len(parts) == 2:
        table = find_table(parts[0], routine.context.catalog.tables, routine.context.dialect)
        for column in table.columns:
            if column.name == parts[1]:
                return column.type
    raise Unsupported(f"type {piece.text}")


def declare_row(
    routine: Body, written: str, name: str, names: Names, value: Piece | None
) -> tuple[Names, Sequence[Statement]]:
    """A variable with a table's columns as fields, all NULL at first."""
    if value is not None:
        raise Unsupported("a record with a default")
    table = find_table(folded_written_table(written, PLPGSQL), routine.context.catalog.tables, routine.context.dialect)
    fields = tuple(routine.frame.slot(column.name, column.type) for column in table.columns)
    record = Record(name, [fields], True, row_type(table))
    routine.flow.take(record, fields)
    reset = [SetVariable(field.slot, Const(None, field.type)) for field in fields] if names.loops else []
    variables = {key: item for key, item in names.variables.items() if key != name}
    return replace(names, variables=variables, records={**names.records, name: record}), reset


def declare_cursor(routine: Body, piece: Piece, name: str, names: Names) -> tuple[Names, Sequence[Statement]]:
    """``name CURSOR [(parameters)] FOR query``."""
    start = piece.find("FOR", "IS")
    if start < 0:
        raise SchemaError(f"DECLARE {piece.text}")
    parameters: list[Variable] = []
    inner = names
    opening = next((i for i, token in enumerate(piece.tokens[:start]) if token[0] == "LPAR"), None)
    if opening is not None:
        for part in piece.slice(opening + 1, start - 1).split():
            kind = read_type(part.slice(1).text, routine.context.dialect)
            parameters.append(routine.frame.slot(name_of(part.tokens[0]), kind))
            inner = inner.with_variable(parameters[-1].name, parameters[-1], name)
    slot = routine.frame.slot(name, NULL).slot
    query = routine.query(piece.slice(start + 1), inner)
    cursor = Cursor(slot, query, tuple(parameters))
    reset: list[Statement] = [SetVariable(slot, Const(None, NULL))] if names.loops else []
    variables = {key: item for key, item in names.variables.items() if key != name}
    return replace(names, variables=variables, cursors={**names.cursors, name: cursor}), reset
