"""Errors that a statement cannot raise in any state at all (DESIGN §5): the judgement on aborted transactions.

Goes by the bound statement and the schema alone, and names only what it knows through and through: a node that it does
not know may raise anything. Does not know what any transaction read.
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
    Function,
    InList,
    IsNull,
    IsTruth,
    Outer,
    Unary,
)
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import (
    Aggregate,
    BaseTable,
    Delete,
    Derived,
    Insert,
    Joined,
    OrderKey,
    OutputColumn,
    Select,
    Source,
    Update,
)
from sql_semantics.run.traverse import can_raise
from sql_semantics.values.types import SqlType
from troubadour.execution.errors import possible_anyway
from troubadour.execution.lifecycle import Fate
from troubadour.execution.prepared import PreparedStatement, PreparedTransaction

_QUIET = (Select, Insert, Update, Delete, BaseTable, Derived, Joined, Source, OutputColumn, OrderKey)
_QUIET_EXPRESSIONS = (Column, Outer, IsNull, IsTruth, InList, Exists, Case)
_QUIET_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "and", "or", "is_distinct", "is_not_distinct"})
_QUIET_FUNCTIONS = frozenset({"coalesce", "nullif", "ifnull"})
_KNOWN_OF_TABLES = frozenset({"name", "columns"})


def refuted(transaction: PreparedTransaction, catalog: Catalog, dialect: str) -> tuple[int, str] | None:
    """The first statement of an aborted transaction whose answer no state explains, and why; None for none."""
    for statement in transaction.statements:
        if statement.judged.fate is Fate.IMPOSSIBLE:
            return statement.index, statement.judged.text
        if statement.judged.fate is Fate.FAILED and _cannot_raise(statement, catalog, dialect):
            assert statement.statement.error is not None
            observed = statement.statement.error.sqlstate
            return statement.index, f"answered error {observed}, which this statement cannot raise in any state"
    return None


def _cannot_raise(statement: PreparedStatement, catalog: Catalog, dialect: str) -> bool:
    observed = statement.statement.error
    program = statement.program
    if observed is None or program is None or dialect == "sqlite" or possible_anyway(statement, catalog, dialect):
        return False
    bound = program.statement
    if not isinstance(bound, Select | Insert | Update | Delete):
        return False
    match observed.sqlstate[:2]:
        case "22":
            return not statement.arguments and all(map(_is_quiet, _nodes(bound)))
        case "23":
            if isinstance(bound, Select):
                return all(map(_is_known, _nodes(bound)))
            return all(map(_is_known, _nodes(bound))) and not any(map(_has_constraints, catalog.tables.values()))
    return False


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
    """Whether the node cannot run anything but itself."""
    return isinstance(node, (*_QUIET, *_QUIET_EXPRESSIONS, Aggregate, Const, Binary, Unary, Cast))


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
        case Cast():
            return not can_raise(node)
        case Const(value):
            return not isinstance(value, int) or value >= 0
    return isinstance(node, (*_QUIET, *_QUIET_EXPRESSIONS))


def _has_constraints(table: Table) -> bool:
    """Whether anything at all is demanded of the table's rows."""
    others = any(getattr(table, item.name) for item in fields(table) if item.name not in _KNOWN_OF_TABLES)
    return others or any(column.not_null for column in table.columns)
