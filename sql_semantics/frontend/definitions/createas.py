"""CREATE TABLE AS: the table that a query makes, and the INSERT that fills it (PostgreSQL CREATE TABLE AS).

Its columns have the query's names and types and no constraints. Which type that is, length and scale included, is
known here for plain columns, casts and what never has a length; anything else is refused. Does not know in which states
a table exists.
"""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.names.scope import Context
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.queries.compound import bind_query
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.ir.expressions import Binary, Cast, Column, Const, Expr, Function
from sql_semantics.ir.queries import BaseTable, Query, Select
from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.ir.statements import Insert
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import TEMPORAL_KINDS, Kind, SqlType

_KEEPS_LENGTHS = frozenset({"coalesce", "nullif", "ifnull", "greatest", "least", "if"})
"""Functions whose result has the length of their arguments, where that is one."""
_AFFINITIES = frozenset({Kind.BIGINT, Kind.INT, Kind.DOUBLE, Kind.TEXT})


@dataclass(frozen=True, slots=True)
class Made:
    """The table, its query, and how it is filled (None: WITH NO DATA)."""

    table: Table
    query: Query
    filling: Insert | None


def bind_create_as(tree: Node, context: Context) -> Made:
    """The table of a CREATE TABLE AS. Raises Unsupported, UnknownTable, SqlError."""
    rules = context.dialect.rules.definitions
    if not rules.create_as:
        raise Unsupported(f"CREATE TABLE AS in {context.dialect.name}")
    only(tree, "this", "kind", "exists", "expression", "properties")
    filled = True
    properties = tree.args.get("properties")
    for item in () if properties is None else properties.expressions:
        if not isinstance(item, exp.WithDataProperty):
            raise Unsupported(f"table option {item.key.upper().removesuffix('PROPERTY')}")
        only(item, "no")
        filled = not item.args.get("no")
    target, named = tree.this, []
    if isinstance(target, exp.Schema):
        only(target, "this", "expressions")
        target, named = target.this, list(target.expressions)
    name = table_name(target, context.dialect)
    query = bind_query(tree.args["expression"], context)
    names = [output.name for output in query.outputs]
    if named:
        if not all(isinstance(item, exp.Identifier) for item in named):
            raise unsupported(named[0], "CREATE TABLE AS")
        if len(named) != len(names):
            raise Unsupported("CREATE TABLE AS with a name for some columns only")
        names = [fold_column(item, context.dialect) for item in named]
    elif not all(output.exact for output in query.outputs):
        raise Unsupported("CREATE TABLE AS with a column that only the product could name")
    if len(set(names)) < len(names):
        if rules.create_as_repeated_error is None:
            raise Unsupported("CREATE TABLE AS with two columns of one name")
        raise SqlError(rules.create_as_repeated_error, f"table {name!r} would have two columns of one name")
    types = [_type(output.expression, query, context.dialect) for output in query.outputs]
    columns = tuple(TableColumn(column, kind) for column, kind in zip(names, types, strict=True))
    values: tuple[Expr, ...] = tuple(Column(place, kind, names[place]) for place, kind in enumerate(types))
    filling = Insert(name, (), query, values, None) if filled else None
    return Made(Table(name, columns), query, filling)


def _type(expr: Expr, query: Query, dialect: Dialect) -> SqlType:
    """The type of the column for an output. Raises Unsupported where it is not known."""
    kind = expr.type
    plain = isinstance(query, Select) and all(isinstance(item.relation, BaseTable) for item in query.sources)
    stored = plain and isinstance(query, Select) and isinstance(expr, Column) and not query.aggregates
    refusal = Unsupported(f"CREATE TABLE AS with an expression of type {kind} in {dialect.name}")
    known = dialect.rules.definitions.create_as_types
    if known == "affinities":
        if not stored or kind.kind not in _AFFINITIES or kind.padded:
            raise refusal
        return replace(kind, length=None)
    if stored or isinstance(expr, Cast):
        return kind
    if known != "expressions" or kind.kind is Kind.NULL or not plain:
        raise refusal
    sized = kind.length is not None or kind.precision is not None or kind.scale is not None or kind.padded
    if kind.kind not in (Kind.TEXT, Kind.NUMERIC) and kind.kind not in TEMPORAL_KINDS:
        return kind
    if sized or not isinstance(expr, Column | Const | Binary | Function):
        raise refusal
    if isinstance(expr, Function) and expr.name in _KEEPS_LENGTHS:
        raise refusal
    return kind
