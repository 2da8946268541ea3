"""SQL text to a bound statement (paper §3.1, §5.4). Does not know how statements are run, nor who caches them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.coerce import assign
from sql_semantics.frontend.compound import bind_query
from sql_semantics.frontend.dialects import check_dialect, fold_table
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.placeholders import rewrite
from sql_semantics.frontend.savepoints import bind_savepoint
from sql_semantics.frontend.scope import Context, Parameters, ParamShape, Scope
from sql_semantics.frontend.syntax import Node, only, parse_one, unsupported
from sql_semantics.frontend.targets import below_with, check_reads
from sql_semantics.frontend.write import bind_delete, bind_insert, bind_truncate, bind_update
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    If,
    Procedure,
    Select,
    SelectInto,
    Series,
    SetOperation,
    SetVariable,
    Statement,
    Values,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound statement, the type of each of its parameters, and whether it can write at all."""

    statement: Statement
    parameters: Mapping[int | str, SqlType]
    read_only: bool


_BINDERS: Mapping[type[Node], Callable[[Node, Context], Statement]] = {
    **dict.fromkeys((exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Subquery), bind_query),
    exp.Insert: bind_insert,
    exp.Update: bind_update,
    exp.Delete: bind_delete,
    exp.TruncateTable: bind_truncate,
}
_REPLACE = re.compile(r"\s*REPLACE\b", re.IGNORECASE)
_CALL = re.compile(r"\s*CALL\b", re.IGNORECASE)


def bind(sql: str, shape: ParamShape, catalog: Catalog, dialect: Dialect) -> Bound:
    """Bind one logged statement.

    Raises Unsupported for what is not modelled, UnknownTable for a table that no schema statement creates, SqlError
    where the DBMS would certainly refuse the text.
    """
    check_dialect(dialect)
    parameters = Parameters.of(shape)
    named = any(isinstance(key, str) for key in parameters.kinds)
    rewritten = rewrite(sql, dialect.name, positional=shape is not None and not named, named=named)
    parameters.keys = rewritten.keys
    context = Context(catalog, dialect, parameters)
    statement = bind_text(rewritten.text, context)
    return Bound(statement, parameters.final(), read_only(statement, catalog))


def bind_text(text: str, context: Context) -> Statement:
    """Bind a text whose placeholders are rewritten already."""
    if _CALL.match(text):
        return bind_call(text, context)
    savepoint = bind_savepoint(text, context.dialect)
    if savepoint is not None:
        if context.in_procedure and context.dialect.name != "mysql":
            raise Unsupported("a savepoint in a procedure")
        return savepoint
    replaced = _REPLACE.match(text) if context.dialect.name in ("mysql", "sqlite") else None
    if replaced:
        # The parser knows no REPLACE, which has the form of INSERT.
        tree = parse_one(f"INSERT{text[replaced.end() :]}", context.dialect.name)
        if not isinstance(tree, exp.Insert):
            raise unsupported(tree)
        return bind_insert(tree, context, replace=True)
    tree = parse_one(text, context.dialect.name)
    binder = _BINDERS.get(type(tree))
    if binder is None and isinstance(tree, (exp.Alias, exp.Column, exp.Condition)):
        raise Unsupported("text that is no statement to the parser")
    if binder is None:
        raise unsupported(tree)
    try:
        tree, context = below_with(tree, context)
        statement = binder(tree, context)
        check_reads(statement, context)
        return statement
    except RecursionError as error:
        raise Unsupported("an expression nested too deeply") from error


def bind_call(text: str, context: Context, signatures: Mapping[str, tuple[SqlType, ...]] | None = None) -> Call:
    """``CALL name(arguments)``. `signatures` are parameter types by name, by default the catalog's procedures'.

    The parser knows no CALL, but reads the rest as what it looks like: a function call.
    """
    rest = text[_CALL.match(text).end() :] if _CALL.match(text) else text  # type: ignore[union-attr]
    tree = parse_one(f"SELECT {rest}", context.dialect.name)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise Unsupported("CALL of something else than a procedure with arguments")
    only(tree, "expressions")
    called = tree.expressions[0]
    name, arguments = _called(called, context)
    if signatures is None:
        signatures = {key: signature(item) for key, item in context.catalog.procedures.items()}
    types = signatures.get(name)
    if types is None:
        raise Unsupported(f"procedure {name}, which the log does not define")
    if len(types) != len(arguments):
        state = {"postgres": "42883", "mysql": "42000"}.get(context.dialect.name)
        if state is None:
            raise Unsupported(f"wrong number of arguments for {name}")
        raise SqlError(state, f"procedure {name} takes {len(types)} arguments, not {len(arguments)}")
    binder = Binder(context, Scope(), "CALL")
    return Call(
        name,
        tuple(
            assign(binder.value(node), target, context, f"argument {place + 1} of {name}")
            for place, (node, target) in enumerate(zip(arguments, types, strict=True))
        ),
    )


def _called(node: Node, context: Context) -> tuple[str, list[Node]]:
    if isinstance(node, exp.Dot):
        raise Unsupported("qualified procedure name")
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        given = node.this
        if isinstance(given, exp.Identifier):
            return procedure_key(fold_table(given, context.dialect), context.dialect), list(node.expressions)
        return procedure_key(str(given), context.dialect), list(node.expressions)
    if isinstance(node, exp.Column) and context.dialect.name == "mysql" and not node.args.get("table"):
        return procedure_key(node.name, context.dialect), []
    raise Unsupported(f"CALL of {node.key.upper()}, a name that the parser reads as a function")


def procedure_key(name: str, dialect: Dialect) -> str:
    """A procedure's name as it is compared: without regard to case, everywhere."""
    return name.lower()


def signature(procedure: Procedure) -> tuple[SqlType, ...]:
    """The types of a procedure's parameters."""
    return procedure.frame_types[: len(procedure.parameters)]


def read_only(statement: Statement, catalog: Catalog) -> bool:
    """Whether no execution of the statement can write, looking into procedures and branches."""
    seen: set[str] = set()

    def harmless(item: Statement) -> bool:
        match item:
            case Select() | SetOperation() | Values() | Series() | SelectInto() | SetVariable():
                return True
            case Call(name):
                if name in seen:
                    return True
                seen.add(name)
                return name in catalog.procedures and all_harmless(catalog.procedures[name].body)
            case If(branches, otherwise):
                return all(all_harmless(body) for _, body in branches) and all_harmless(otherwise)
        return False

    def all_harmless(items: Iterable[Statement]) -> bool:
        return all(harmless(item) for item in items)

    return harmless(statement)
