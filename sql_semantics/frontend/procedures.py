"""Stored procedures and functions into programs (paper §3.1, Fig. 2; §8). Does not know how a program is run.

Every routine gets its handle first, so that routines may call those defined later, and themselves where the product
allows it. Each language has a binder of its own; all of them end in the same IR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.bodies import Frame, Names, bind_value, read_type, stored
from sql_semantics.frontend.dialects import check_dialect
from sql_semantics.frontend.headers import Header, WrittenParameter, read_header, unquoted
from sql_semantics.frontend.plpgsql import bind_body
from sql_semantics.frontend.plpgsql_body import Body
from sql_semantics.frontend.psm import PsmBinder
from sql_semantics.frontend.scope import Context, Parameters
from sql_semantics.frontend.sqlbody import bind_sql_body
from sql_semantics.ir.effects import routines_in
from sql_semantics.ir.expressions import Expr, Variable
from sql_semantics.ir.nesting import nested
from sql_semantics.ir.programs import Return
from sql_semantics.ir.routines import Parameter, Routine, Signature
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Call, Procedure, Statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind, SqlType


def read_procedures(texts: Sequence[str], tables: Mapping[str, Table], dialect: Dialect) -> dict[str, Procedure]:
    """The procedures and functions, by lower-case name.

    Raises SchemaError for text that cannot be read, Unsupported for what is not modelled, UnknownTable.
    """
    check_dialect(dialect)
    procedures: dict[str, Procedure] = {}
    catalog = Catalog(tables, procedures)
    headers: dict[str, Header] = {}
    routines: dict[str, Routine] = {}
    for text in texts:
        header = read_header(text, dialect.name)
        key = unquoted(header.name).lower()
        if key in headers and not header.replace:
            if dialect.name == "postgres" and len(headers[key].parameters) != len(header.parameters):
                raise Unsupported(f"overloaded routine {key}")
            raise SchemaError(f"procedure {key!r} is created twice")
        headers[key] = header
        routines[key] = Routine(_signature(key, header, catalog, dialect), catalog)
    for key, header in headers.items():
        try:
            procedures[key] = _procedure(header, routines[key], routines, dialect)
        except SqlError as error:
            raise Unsupported(f"procedure {key}, a statement of which always fails: {error}") from error
        routines[key].procedure = procedures[key]
    if dialect.name != "postgres":
        _refuse_recursion(procedures)
    return procedures


# --- signatures ---------------------------------------------------------------------------------------------------


def _signature(key: str, header: Header, catalog: Catalog, dialect: Dialect) -> Signature:
    # PostgreSQL drops lengths and scales from the types of parameters and results.
    plain = header.language in ("plpgsql", "sql")

    def typed(text: str) -> SqlType:
        return _loosened(_read(text, catalog, dialect)) if plain else read_type(text, dialect)

    parameters: list[Parameter] = []
    seen: set[str] = set()
    for place, written in enumerate(header.parameters):
        name = (written.name or f"${place + 1}").lower()
        if name in seen:
            raise SchemaError(f"parameter {name!r} of procedure {key!r} is declared twice")
        seen.add(name)
        kind = typed(written.type)
        parameters.append(Parameter(name, kind, written.mode, _default(written, kind, catalog, dialect)))
    results, record = _results(key, header, parameters, typed, catalog)
    return Signature(
        key,
        tuple(parameters),
        header.function,
        results,
        header.rows,
        record,
        header.strict,
        header.stable,
        not plain,
    )


def _results(
    key: str, header: Header, parameters: Sequence[Parameter], typed: Callable[[str], SqlType], catalog: Catalog
) -> tuple[tuple[tuple[str, SqlType], ...], bool]:
    """The columns of a function's result, and whether it is a row rather than a value."""
    if not header.function:
        return (), False
    answered = [(item.name, item.type) for item in parameters if item.mode != "in"]
    if header.table is not None:
        return tuple((column.name, typed(column.type)) for column in header.table), len(header.table) > 1
    returns = (header.returns or "").strip()
    if answered:
        return tuple(answered), len(answered) > 1
    if not returns:
        raise SchemaError(f"function {key!r} without RETURNS")
    word = returns.upper()
    if word == "VOID":
        return (), False
    if word in ("TRIGGER", "EVENT_TRIGGER"):
        raise Unsupported("trigger function")
    if word in ("RECORD", "REFCURSOR"):
        raise Unsupported(f"function that returns {word.lower()}")
    table = catalog.tables.get(unquoted(returns).lower())
    if table is not None and header.language != "psm":
        return tuple((column.name, column.type) for column in table.columns), True
    return ((key, typed(returns)),), False


def _read(text: str, catalog: Catalog, dialect: Dialect) -> SqlType:
    """A type, perhaps copied from a column."""
    if text.rstrip().upper().endswith("%TYPE"):
        parts = [unquoted(part.strip()).lower() for part in text.rstrip()[:-5].split(".")]
        table = catalog.tables.get(parts[-2]) if len(parts) > 1 else None
        if table is None:
            raise UnknownTable(parts[0])
        for column in table.columns:
            if column.name == parts[-1]:
                return column.type
        raise Unsupported(f"type {text}")
    return read_type(text, dialect)


def _loosened(kind: SqlType) -> SqlType:
    if kind.kind in (Kind.NUMERIC, Kind.TEXT):
        return replace(kind, precision=None, scale=None, length=None)
    return kind


def _default(written: WrittenParameter, kind: SqlType, catalog: Catalog, dialect: Dialect) -> Expr | None:
    if written.default is None:
        return None
    context = Context(catalog, dialect, Parameters({}))
    target = Variable(-1, kind, written.name)
    return stored(bind_value(written.default, context, "DEFAULT"), target, context)


# --- bodies -------------------------------------------------------------------------------------------------------


def _procedure(header: Header, routine: Routine, routines: Mapping[str, Routine], dialect: Dialect) -> Procedure:
    frame = Frame()
    signature = routine.signature
    variables = [frame.slot(parameter.name, parameter.type) for parameter in signature.parameters]
    answers = [variable for variable, item in zip(variables, signature.parameters, strict=True) if item.mode != "in"]
    if header.table is not None:
        answers = [frame.slot(name, kind) for name, kind in signature.results]
    named = {variable.name: variable for variable in [*variables, *(answers if header.table is not None else ())]}
    # A parameter without a name, and any other too, is $1, $2, ... in PostgreSQL's languages.
    numbered = {
        spelling: variable for place, variable in enumerate(variables) for spelling in (f"${place + 1}", str(place + 1))
    }
    qualified = {(signature.name, name): variable for name, variable in named.items()}
    psm = header.language == "psm"
    names = Names(variables=named if psm else {**numbered, **named}, qualified={} if psm else qualified)
    context = Context(
        routine.catalog, dialect, Parameters({}), in_procedure=True, routines=routines, invocation=frame.invocation,
        conflicts=header.language == "plpgsql", columns_first=header.language == "sql",
    )  # fmt: skip
    body: tuple[Statement, ...]
    if psm:
        if signature.function and dialect.name != "mysql":
            raise Unsupported("CREATE FUNCTION without a language")
        result = signature.results[0][1] if signature.results else None
        body = PsmBinder(context, frame, result).body(header.body, names)
        if signature.function and not _returns(body):
            raise SchemaError(f"function {signature.name!r} without RETURN")
    elif header.language == "plpgsql":
        routine_body = Body(context, frame, signature, tuple(answers))
        body = bind_body(routine_body, header.body, names)
        if signature.function and answers and not signature.rows:
            body = (*body, Return(tuple(answers)))
    else:
        body = bind_sql_body(header.body, context, frame, signature, names)
    handed = tuple(variable.slot for variable in answers) if not signature.function else ()
    return Procedure(
        signature.name, tuple(item.name for item in signature.parameters), tuple(frame.types), body, routine, handed,
        frame.own,
    )  # fmt: skip


def _returns(body: Sequence[Statement]) -> bool:
    return any(isinstance(item, Return) or _returns(tuple(nested(item))) for item in body)


def _refuse_recursion(procedures: Mapping[str, Procedure]) -> None:
    """MySQL's functions cannot call themselves, and its procedures only where a variable of the session says so."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise Unsupported(f"recursive procedure {name}")
        if name not in done:
            for callee in called(procedures[name].body):
                visit(callee, (*path, name))
            done.add(name)

    for name in procedures:
        visit(name, ())


def called(statements: Sequence[Statement]) -> set[str]:
    """The routines that statements call directly."""
    found = {routine.signature.name for routine in routines_in(tuple(statements))}
    pending = list(statements)
    while pending:
        item = pending.pop()
        if isinstance(item, Call):
            found.add(item.procedure)
        pending.extend(nested(item))
    return found
