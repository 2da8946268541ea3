"""Which classes of errors a statement can raise at all, going by its text and the schema.

Names only what it knows through and through: a node that it does not know may raise anything. Does not know any row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Exists,
    Free,
    Function,
    InList,
    IsNull,
    IsTruth,
    Outer,
    Subquery,
    Unary,
)
from sql_semantics.ir.queries import Aggregate, BaseTable, Derived, Joined, OrderKey, OutputColumn, Select, Source
from sql_semantics.ir.schema import Catalog, Check, Table, TableColumn, Unique
from sql_semantics.ir.statements import Delete, Insert, Statement, Update
from sql_semantics.ir.walks.effects import reached
from sql_semantics.ir.walks.traverse import can_raise
from sql_semantics.values.types import SqlType

_QUIET = (Select, Insert, Update, Delete, BaseTable, Derived, Joined, Source, OutputColumn, OrderKey)
_QUIET_EXPRESSIONS = (Column, Outer, IsNull, IsTruth, InList, Exists, Case)
_QUIET_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "and", "or", "is_distinct", "is_not_distinct"})
_QUIET_FUNCTIONS = frozenset({"coalesce", "nullif", "ifnull"})
_SCHEMA = (Table, TableColumn, Unique, Check)
_KNOWN_OF_TABLES = frozenset({"name", "columns"})


def may_raise(bound: Statement, catalog: Catalog, sqlstate: str) -> bool:
    """Whether the statement may, in some state, fail with a data error (classes 21, 22, 23) of this class."""
    if not isinstance(bound, Select | Insert | Update | Delete) or reached([bound], catalog):
        return True
    nodes = list(_nodes(bound))
    stored: list[object] = [] if isinstance(bound, Select) else list(_nodes(tuple(catalog.tables.values())))
    match sqlstate[:2]:
        case "21":
            return any(isinstance(node, Subquery) for node in nodes) or not all(map(_is_known, nodes))
        case "22":
            # CHECK constraints and generated columns are evaluated on the way
            quiet = all(isinstance(node, _SCHEMA) or _is_quiet(node) for node in stored)
            return not (quiet and all(map(_is_quiet, nodes)))
        case "23":
            return not all(map(_is_known, nodes)) or (
                bool(stored) and any(map(_has_constraints, catalog.tables.values()))
            )
    return True


def _nodes(value: object) -> Iterator[object]:
    """Every dataclass instance below, types left out."""
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif is_dataclass(value) and not isinstance(value, SqlType):
        yield value
        for item in fields(value):
            yield from _nodes(getattr(value, item.name))


def _is_known(node: object) -> bool:
    """Whether evaluating the node itself reads and writes no more than the statement says."""
    return isinstance(node, (*_QUIET, *_QUIET_EXPRESSIONS, Aggregate, Const, Binary, Unary, Cast, Function, Free))


def _is_quiet(node: object) -> bool:
    """Whether evaluating the node itself raises no data exception, whatever its operands are."""
    match node:
        case Binary(op):
            return op in _QUIET_OPERATORS
        case Unary(op):
            return op in ("not", "+")
        case Function(name):
            return name in _QUIET_FUNCTIONS
        case Aggregate(function):
            return function in ("count", "count_star")
        case Cast(Const(None)):
            return True
        case Cast():
            return not can_raise(node)
        case Const(value):
            return not isinstance(value, int) or value >= 0
        case Free(source):
            # a number may be too large for its column
            return source not in ("nextval", "auto")
    return isinstance(node, (*_QUIET, *_QUIET_EXPRESSIONS))


def _has_constraints(table: Table) -> bool:
    """Whether anything at all is demanded of the table's rows."""
    others = any(getattr(table, item.name) for item in fields(table) if item.name not in _KNOWN_OF_TABLES)
    return others or any(column.not_null for column in table.columns)
