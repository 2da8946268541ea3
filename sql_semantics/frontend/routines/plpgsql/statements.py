"""PL/pgSQL statements without statements inside, but for SQL: jumps, results, errors, cursors (PostgreSQL 41.5).

Does not know blocks and loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.rows import row_of
from sql_semantics.frontend.routines.bodies import (
    Names,
    bind_condition,
    converted,
    query_outputs,
    stored,
)
from sql_semantics.frontend.routines.conditions import checked_state, state_of
from sql_semantics.frontend.routines.plpgsql.body import SQLERRM, Body, name_of
from sql_semantics.frontend.routines.skeleton import Piece
from sql_semantics.frontend.types.coerce import settle_alone
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, Variable
from sql_semantics.ir.programs import (
    Fetch,
    Iterate,
    Leave,
    OpenCursor,
    Raise,
    Reraise,
    Return,
    ReturnNext,
    ReturnQuery,
)
from sql_semantics.ir.queries import OutputColumn
from sql_semantics.ir.statements import If, SetVariable, Statement
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.types import BOOLEAN, INTEGER_KINDS, TEXT, Kind, SqlType

_LEVELS = frozenset({"DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "EXCEPTION"})


def jump(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """``EXIT | CONTINUE [label] [WHEN condition]``."""
    words = piece.words()
    condition = None
    when = piece.find("WHEN")
    if when > 0:
        condition = bind_condition(piece.slice(when + 1), routine.within(names), "EXIT")
        words = words[:when]
    leave = words[0] == "EXIT"
    if len(words) == 1:
        if not names.loops:
            raise SchemaError(f"{words[0]} outside a loop")
        number = names.loops[-1]
    else:
        found = names.labels.get(name_of(piece.tokens[1]))
        if found is None or not (found[1] or leave):
            raise SchemaError(f"{piece.text}: no such label")
        number = found[0]
    jump: Statement = Leave(number) if leave else Iterate(number)
    return [jump] if condition is None else [If(((condition, (jump,)),), ())]


def return_(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """RETURN, RETURN NEXT and RETURN QUERY."""
    signature, context = routine.signature, routine.within(names)
    words = piece.words()
    results = tuple(Variable(-1, kind, name) for name, kind in signature.results)
    if words[1:2] == ["QUERY"]:
        if words[2:3] == ["EXECUTE"]:
            raise Unsupported("EXECUTE (dynamic SQL)")
        query = routine.rows(piece.slice(2), names)
        columns = query_outputs(query)
        if columns is None:
            raise SchemaError(piece.text)
        row = returned(routine, columns)
        if row is None:
            return [Raise("42804", "structure of query does not match function result type")]
        return [ReturnQuery(query, row, routine.found, routine.count)]
    if words[1:2] == ["NEXT"]:
        rest = piece.slice(2)
        if not rest.tokens:
            return [ReturnNext(routine.answers)]
        return [ReturnNext(returned_row(routine, rest, results, names))]
    rest = piece.slice(1)
    if signature.trigger:
        return _given_back(routine, rest, results, names)
    if not rest.tokens:
        if routine.signature.rows or not routine.signature.function or not results:
            return [Return(())]
        if not routine.answers:
            raise SchemaError("RETURN without a value")
        return [Return(routine.answers)]
    if not results or routine.answers or signature.rows:
        raise SchemaError(f"{piece.text} in a routine that returns no such value")
    if signature.record:
        return [Return(returned_row(routine, rest, results, names))]
    value = routine.value(rest, context)
    if results[0].type.kind is Kind.COMPOSITE and value.type != results[0].type:
        raise Unsupported("RETURN of a row of another type")  # whose fields are not converted
    return [Return((stored(value, results[0], context),))]


def _given_back(routine: Body, piece: Piece, results: tuple[Variable, ...], names: Names) -> Sequence[Statement]:
    """What a trigger's routine returns: the fields of a row, none for no row. After the write it makes no
    difference."""
    record = names.records.get(name_of(piece.tokens[0])) if len(piece.tokens) == 1 else None
    if piece.words() == ["NULL"] or (record is not None and not results):
        return [Return(())]
    versions = routine.versions
    missing_at = None if versions is None else versions.missing_at(record)
    if versions is None or missing_at is None:
        raise Unsupported(f"RETURN {piece.text} of a trigger")
    missing = Binary("=", versions.event, Const(missing_at, TEXT), BOOLEAN)
    return [If(((missing, (Return(()),)),), (Return(returned_row(routine, piece, results, names)),))]


def returned_row(routine: Body, piece: Piece, results: tuple[Variable, ...], names: Names) -> tuple[Expr, ...]:
    """What RETURN [NEXT] gives: a record's fields, or one value."""
    context = routine.within(names)
    if len(piece.tokens) == 1:
        record = names.records.get(name_of(piece.tokens[0]))
        if record is not None:
            fields = routine.flow.shape(record)
            if fields is None:
                raise Unsupported(f"record {record.name}, of which the shape is not certain")
            if [field.type for field in fields] != [result.type for result in results]:
                raise Unsupported("RETURN of a record of another shape")
            return fields
    if len(results) != 1:
        raise Unsupported(f"RETURN {piece.text}")
    return (stored(routine.value(piece, context), results[0], context),)


def returned(routine: Body, columns: Sequence[OutputColumn]) -> tuple[Expr, ...] | None:
    """A query's row as the function's result, the fields of it where that is of a composite type; None where the types
    differ (no conversion is tried)."""
    results = tuple(kind for _, kind in routine.signature.results)
    whole = results[0] if len(results) == 1 else None
    if whole is not None and isinstance(whole.family, CompositeFamily):
        fields = _fitting(columns, [kind for _, kind in whole.family.fields])
        return None if fields is None else (row_of(fields, type_=whole),)
    return _fitting(columns, results)


def _fitting(columns: Sequence[OutputColumn], types: Sequence[SqlType]) -> tuple[Expr, ...] | None:
    if len(columns) != len(types):
        return None
    row: list[Expr] = []
    for place, (column, kind) in enumerate(zip(columns, types, strict=True)):
        found = column.expression.type
        if found.kind is not kind.kind:
            return None
        if found.kind is Kind.TEXT and found != kind:
            raise Unsupported(f"RETURN QUERY of {found} where {kind} is declared")
        row.append(Column(place, kind, column.name))
    return tuple(row)


def raise_(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """RAISE. Below EXCEPTION it has no effect but that its arguments are evaluated."""
    words = piece.words()
    if len(words) == 1:
        if not names.in_handler:
            return [Raise("0Z002", "RAISE without parameters outside a handler")]
        return [Reraise()]
    level, place = "EXCEPTION", 1
    if words[1] in _LEVELS:
        level, place = words[1], 2
    using = piece.find("USING", start=place)
    main = piece.slice(place, None if using < 0 else using)
    state = "P0001"
    arguments: list[Piece] = []
    specified = ["ERRCODE"] if main.tokens else []
    if main.tokens and main.tokens[0][0] in ("STRING", "DOLLAR"):
        arguments, specified = main.split()[1:], ["MESSAGE"]
    elif main.words()[:1] == ["SQLSTATE"]:
        state = checked_state(main.tokens[1][1])
    elif main.tokens:
        state = state_of(main.tokens[0][1])
    if using > 0:
        for option in piece.slice(using + 1).split():
            equals = option.find("=", ":=")
            if equals != 1:
                raise SchemaError(f"RAISE ... USING {option.text}")
            given = option.slice(2)
            specified.append(option.words()[0])
            if option.words()[0] != "ERRCODE":
                arguments.append(given)
            elif len(given.tokens) == 1 and given.tokens[0][0] == "STRING":
                text = given.text[1:-1]
                code = len(text) == 5 and text.isalnum() and text.upper() == text
                state = text if code else state_of(text)
            else:
                raise Unsupported("ERRCODE that is no literal")
    told = names.with_variable(SQLERRM, routine.frame.slot(SQLERRM, TEXT))
    evaluated: list[Statement] = []
    for part in arguments:
        context = routine.within(told)
        value = settle_alone(routine.value(part, context), context)
        if not isinstance(value, Const | Variable):
            evaluated.append(SetVariable(routine.frame.slot("", value.type).slot, value))
    if len(set(specified)) < len(specified):
        return [*evaluated, Raise("42601", "RAISE option already specified")]
    if level != "EXCEPTION":
        return evaluated
    return [*evaluated, Raise(state, "raised")]


def assert_(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """``ASSERT condition [, message]``: P0004 where it is not true; the message is evaluated then only."""
    context = routine.within(names)
    condition, *message = piece.slice(1).split()
    if len(message) > 1:
        raise SchemaError(piece.text)
    failed: list[Statement] = []
    for part in message:
        value = settle_alone(routine.value(part, context), context)
        failed.append(SetVariable(routine.frame.slot("", value.type).slot, value))
    failed.append(Raise("P0004", "assertion failed"))
    return [If(((bind_condition(condition, context, "ASSERT"), ()),), tuple(failed))]


def diagnostics(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """``GET [CURRENT] DIAGNOSTICS variable = ROW_COUNT``."""
    start = piece.find("DIAGNOSTICS")
    if start < 0 or piece.words()[1] == "STACKED":
        raise Unsupported("GET STACKED DIAGNOSTICS")
    statements: list[Statement] = []
    for part in piece.slice(start + 1).split():
        equals = part.find("=", ":=")
        if part.words()[equals + 1 :] != ["ROW_COUNT"] or routine.count is None:
            raise Unsupported(f"{part.slice(equals + 1).text} in GET DIAGNOSTICS")
        target = routine.target(part.slice(0, equals), names)
        if target.type.kind not in INTEGER_KINDS:
            raise Unsupported(f"ROW_COUNT in a variable of type {target.type}")
        statements.append(SetVariable(target.slot, Variable(routine.count, target.type, "row_count")))
    return statements


def open_(routine: Body, piece: Piece, names: Names) -> Statement:
    """OPEN of a bound cursor."""
    cursor = routine.cursor(piece.tokens[1], names)
    assert cursor.query is not None
    return OpenCursor(cursor.slot, cursor.query, routine.cursor_arguments(cursor, piece.slice(2), names))


def fetch_(routine: Body, piece: Piece, names: Names) -> Statement:
    """``FETCH [NEXT] [FROM | IN] cursor INTO targets``."""
    into = piece.find("INTO")
    words = piece.words()[1:into]
    if len(words) > 1 and words[0] == "NEXT":
        words = words[1:]
    if len(words) > 1 and words[0] in ("FROM", "IN"):
        words = words[1:]
    if len(words) != 1:
        raise Unsupported(f"{piece.text}: another direction than NEXT")
    cursor = routine.cursor(piece.tokens[into - 1], names)
    assert cursor.query is not None
    targets = routine.targets(piece.slice(into + 1), names, cursor.query)
    columns = query_outputs(cursor.query) or ()
    if len(columns) != len(targets):
        raise Unsupported("a row of another number of columns than variables")
    row = converted(columns, targets, routine.within(names))
    return Fetch(cursor.slot, row, tuple(target.slot for target in targets), False, routine.found, routine.count)
