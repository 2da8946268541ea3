"""SQL text to a bound statement (paper §3.1, §5.4). Does not know how statements are run, nor where they are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain, count

from sqlglot import exp

from sql_semantics.errors import SqlError, SqlSemanticsError, Unsupported
from sql_semantics.frontend.definitions.transient import bind_definition
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.expressions.invocations import arguments, find_routine, positioned
from sql_semantics.frontend.names.schemas import without_schemas
from sql_semantics.frontend.names.scope import Context, Parameters, ParamShape, Scope
from sql_semantics.frontend.probing.queries import bind_query_probe
from sql_semantics.frontend.queries.compound import bind_query
from sql_semantics.frontend.routines.savepoints import bind_savepoint
from sql_semantics.frontend.sessions import bind_no_effect
from sql_semantics.frontend.text.dialects import check_dialect, fold_column
from sql_semantics.frontend.text.listing import Listing, listing
from sql_semantics.frontend.text.placeholders import check_parameters, rewrite
from sql_semantics.frontend.text.syntax import Node, only, parse_one, system_calls, unsupported
from sql_semantics.frontend.types.coerce import null
from sql_semantics.frontend.writes.listed import NotAlike
from sql_semantics.frontend.writes.merge import bind_merge
from sql_semantics.frontend.writes.targets import below_with, check_reads
from sql_semantics.frontend.writes.together import bind_together, has_writing_items
from sql_semantics.frontend.writes.write import bind_delete, bind_insert, bind_truncate, bind_update
from sql_semantics.ir.expressions import Expr, Variable
from sql_semantics.ir.routines import Parameter
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Insert, Statement
from sql_semantics.ir.walks.effects import NOT_STRICT, can_write, reached
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded
from sql_semantics.values.types import SqlType


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound statement, the type of each of its parameters, whether it can write at all, and what of its values was
    stored or shown without being modelled; `unshown`: what of those that it shows, settings that it asks for too."""

    statement: Statement
    parameters: Mapping[int | str, SqlType]
    read_only: bool
    left_out: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()


_BINDERS: Mapping[type[Node], Callable[[Node, Context], Statement]] = {
    **dict.fromkeys((exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Subquery), bind_query),
    exp.Insert: bind_insert,
    exp.Update: bind_update,
    exp.Delete: bind_delete,
    exp.Merge: bind_merge,
    exp.TruncateTable: bind_truncate,
}
_REPLACE = pattern(r"\s*REPLACE\b", re.IGNORECASE)
_OVERRIDING = pattern(
    r"(\s*INSERT\s+INTO\s+[\w.]+(?:\s+AS\s+\w+)?\s*(?:\([\w\s,]*\))?)\s*OVERRIDING\s+SYSTEM\s+VALUE\b", re.IGNORECASE
)
"""PostgreSQL's INSERT of given values for identity columns, which the parser does not know."""
_REMARKS = pattern(r"\s*(?:--[^\n]*\n\s*|/\*(?![!+M])(?:(?!/\*).)*?\*/\s*)+", re.DOTALL)
"""Comments before a statement, but for those that MySQL runs, hints, and such as hold others."""
_CALL = pattern(r"\s*CALL\b", re.IGNORECASE)


def bind(sql: str, shape: ParamShape, catalog: Catalog, dialect: Dialect, *, partly: bool = False) -> Bound:
    """Bind one logged statement. `partly`: values that it shows may be such as are not modelled, and are NULL then.

    Raises Unsupported for what is not modelled, UnknownTable for a table that no schema statement creates, SqlError
    where the DBMS would certainly refuse the text, MisfitParameters.
    """
    check_dialect(dialect)
    bound = _bind_laxly(sql, shape, catalog, dialect) if dialect.lax else _bind(sql, shape, catalog, dialect)
    if bound.unshown and not partly:
        raise Unsupported(bound.unshown[0])
    return bound


def _bind_laxly(sql: str, shape: ParamShape, catalog: Catalog, dialect: Dialect) -> Bound:
    """As `bind`, under a `sql_mode` that is not strict: what is stored without an error is the same there, and for what
    is stored in place of an error Unsupported is raised. A routine has the mode that it was made under."""
    try:
        bound = _bind(sql, shape, catalog, dialect)
    except SqlError as error:
        if error.sqlstate[:2] == "42":
            raise
        raise Unsupported(NOT_STRICT) from error
    if isinstance(bound.statement, Call) or reached([bound.statement], catalog):
        raise Unsupported("a routine beside a sql_mode that is not strict")
    return bound


def _bind(sql: str, shape: ParamShape, catalog: Catalog, dialect: Dialect) -> Bound:
    parameters = Parameters.of(shape)
    named = any(isinstance(key, str) for key in (*parameters.kinds, *parameters.arrays))
    positional = shape is not None and not named
    found = listing(sql, dialect.name, parameters.kinds, positional=positional, named=named)
    if found is not None:
        try:
            return _bind_listing(found, Context(catalog, dialect, Parameters.of(shape)), positional, named)
        except (NotAlike, SqlSemanticsError):
            pass  # the way below tells what is wrong, and with what
    rewritten = rewrite(sql, dialect.name, positional=positional, named=named)
    check_parameters(rewritten, [*range(len(shape or ()))] if not named else [*parameters.kinds, *parameters.arrays])
    parameters.keys = rewritten.keys
    context = Context(catalog, dialect, parameters)
    return _bound(bind_text(rewritten.text, context), context)


def _bound(statement: Statement, context: Context) -> Bound:
    parameters = context.parameters
    left_out = tuple(dict.fromkeys(parameters.left_out))
    read_only = not can_write(statement, context.catalog)
    return Bound(statement, parameters.final(), read_only, left_out, tuple(parameters.unshown))


def _bind_listing(found: Listing, context: Context, positional: bool, named: bool) -> Bound:
    """Bind a statement of which the text shows some rows. Raises NotAlike where these do not tell of the others."""
    parameters = context.parameters
    ordinals = chain((key for key in found.places if isinstance(key, int)), count(found.counted))
    rewritten = rewrite(found.text, context.dialect.name, positional, named, ordinals if found.counted else None)
    parameters.keys = rewritten.keys
    keys = list(rewritten.keys.values())
    listed = {key for column in found.columns for given in column.keys for key in given}
    others = keys[len(found.places) :]
    if keys[: len(found.places)] != found.places or not listed.isdisjoint(others) or parameters.arrays:
        raise NotAlike
    spare = parameters.kinds.keys() - listed.union(others)
    if not parameters.kinds.keys() >= listed.union(others) or any(isinstance(key, int) for key in spare):
        raise NotAlike
    statement = bind_text(rewritten.text, replace(context, listing=found))
    if not isinstance(statement, Insert) or statement.listed is None:
        raise NotAlike
    return _bound(statement, context)


def bind_text(text: str, context: Context) -> Statement:
    """Bind a text whose placeholders are rewritten already."""
    remarks = _REMARKS.match(text)
    if remarks is not None:
        text = text[remarks.end() :]
    if _CALL.match(text):
        return bind_call(text, context)
    savepoint = bind_savepoint(text, context.dialect)
    if savepoint is not None:
        if context.in_procedure and not context.dialect.rules.definitions.savepoints_in_routines:
            raise Unsupported("a savepoint in a procedure")
        return savepoint
    definition = bind_definition(text, context)
    if definition is not None:
        return definition
    idle = bind_no_effect(text, context.catalog, context.dialect)
    if idle is not None:
        return idle
    rules = context.dialect.rules
    replaced = _REPLACE.match(text) if rules.writes.replace else None
    if replaced:
        # The parser knows no REPLACE, which has the form of INSERT.
        tree = parse_one(f"INSERT{text[replaced.end() :]}", context.dialect.name)
        if not isinstance(tree, exp.Insert):
            raise unsupported(tree)
        return _checked(bind_insert(tree, context, replace=True), context)
    overriding = _OVERRIDING.match(text) if rules.writes.overriding else None
    if overriding:
        tree = parse_one(f"{overriding[1]} {text[overriding.end() :]}", context.dialect.name)
        if not isinstance(tree, exp.Insert):
            raise unsupported(tree)
        return _checked(bind_insert(tree, context, overriding=True), context)
    try:
        return _bind_tree(text, context)
    except Unsupported:
        probe = None if context.in_procedure else bind_query_probe(text, context)
        if probe is None:
            raise
        return probe


def _bind_tree(text: str, context: Context) -> Statement:
    catalog = context.catalog
    if any(name in catalog.procedures or name in catalog.refused for name in system_calls(text)):
        raise Unsupported("a function of pg_catalog beside one of the schema of that name")
    tree = without_schemas(parse_one(text, context.dialect.name), context.dialect, context.catalog.tables)
    binder = _BINDERS.get(type(tree))
    if binder is None and isinstance(tree, (exp.Alias, exp.Column, exp.Condition)):
        raise Unsupported("text that is no statement to the parser")
    if binder is None:
        raise unsupported(tree)
    try:
        if has_writing_items(tree):
            return bind_together(tree, context, binder)
        tree, context = below_with(tree, context)
        return _checked(binder(tree, context), context)
    except RecursionError as error:
        raise Unsupported("an expression nested too deeply") from error


def _checked(statement: Statement, context: Context) -> Statement:
    check_reads(statement, context)
    return statement


def bind_call(text: str, context: Context) -> Call:
    """``CALL name(arguments)``.

    The parser knows no CALL, but reads the rest as what it looks like: a function call.
    """
    match = _CALL.match(text)
    tree = parse_one(f"SELECT {text if match is None else text[match.end() :]}", context.dialect.name)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise Unsupported("CALL of something else than a procedure with arguments")
    only(tree, "expressions")
    name, nodes = _called(tree.expressions[0], context)
    routine = find_routine(name, context)
    if routine is None or (routine.signature.function and not context.dialect.rules.definitions.overloads_routines):
        raise Unsupported(f"procedure {name}, which the log does not define")
    signature = routine.signature
    if signature.function:
        raise SqlError("42809", f"{name} is not a procedure")
    binder = Binder(context, Scope(), "CALL")
    given: list[Expr | None] = []
    targets: list[int] = []
    placed = positioned(nodes, signature.parameters, context)
    for parameter, node in zip(signature.parameters, placed, strict=False):
        if node is None:
            if parameter.mode != "in":
                raise Unsupported(f"CALL without an argument for {parameter.name}")
            given.append(None)
            continue
        if parameter.mode != "in":
            target = _target(node, parameter, binder)
            if target is not None:
                targets.append(target.slot)
        if parameter.mode != "out":
            given.append(binder.value(node))
    spare = len(placed) - len(signature.parameters)
    if spare > 0 or any(parameter.mode == "out" for parameter in signature.parameters[len(placed) :]):
        given = [*given, *(null() for _ in range(max(spare, 1) + len(signature.given)))]
    values = arguments(routine, given, context)
    return Call(name, values, tuple(targets) if context.in_procedure and signature.answered else None)


def _target(node: Node, parameter: Parameter, binder: Binder) -> Variable | None:
    """The variable that takes an OUT or INOUT parameter's value; None outside routines, where a user variable or a
    placeholder stands for what the client is told. Raises SqlError for what cannot take one."""
    context = binder.context
    user_variable = isinstance(node, exp.Parameter)
    if not context.in_procedure and user_variable and parameter.mode == "out":
        return None
    if isinstance(node, exp.Column | exp.Parameter):
        bound = binder.expr(node)
        if isinstance(bound, Variable):
            if bound.type != parameter.type:
                raise Unsupported(f"parameter {parameter.name} of another type than the variable for it")
            return bound
    if not context.in_procedure and isinstance(node, exp.Placeholder):
        binder.expr(node)
        return None
    rules = context.dialect.rules.definitions
    if not context.in_procedure and rules.out_arguments_are_free:
        return None
    raise SqlError(rules.out_argument_error, f"the argument for {parameter.name} is not a variable")


def _called(node: Node, context: Context) -> tuple[str, list[Node]]:
    if isinstance(node, exp.Dot):
        raise Unsupported("qualified procedure name")
    if isinstance(node, exp.Anonymous):
        only(node, "this", "expressions")
        given = node.this
        if isinstance(given, exp.Identifier):
            return fold_column(given, context.dialect), list(node.expressions)
        return folded(str(given), context.dialect), list(node.expressions)
    bare = context.dialect.rules.definitions.call_without_parentheses
    if isinstance(node, exp.Column) and bare and not node.args.get("table"):
        return fold_column(node.this, context.dialect), []
    raise Unsupported(f"CALL of {node.key.upper()}, a name that the parser reads as a function")
