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
    InQuery,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Param,
    Quantified,
    ScalarQuery,
    Subquery,
    Unary,
    Variable,
)
from sql_semantics.ir.programs import Perform, Raise, Return
from sql_semantics.ir.queries import (
    Aggregate,
    BaseTable,
    Bound,
    CommonScan,
    CommonTable,
    Derived,
    Frame,
    Identified,
    Joined,
    OrderKey,
    OutputColumn,
    Query,
    RowLock,
    Select,
    Series,
    SetOperation,
    Source,
    Unnest,
    Values,
    Window,
    WorkingTable,
    WrittenTable,
)
from sql_semantics.ir.schema import Catalog, Check, ForeignKey, SpelledKey, Table, TableColumn, Unique
from sql_semantics.ir.statements import (
    Conflict,
    Delete,
    If,
    Insert,
    JoinedWrite,
    SetVariable,
    Statement,
    Target,
    Together,
    Update,
    Write,
)
from sql_semantics.ir.walks.effects import executions, fired_by, reached, triggers_of
from sql_semantics.ir.walks.traverse import can_raise
from sql_semantics.run.writes.rows.constraints import may_clash
from sql_semantics.values.functions import errors_of
from sql_semantics.values.types import SqlType

_QUIET = (Select, Insert, Update, Delete, BaseTable, Derived, Joined, Source, OutputColumn, OrderKey)
_QUIET_EXPRESSIONS = (Column, Outer, Param, IsNull, IsTruth, InList, Exists, Case)
_READING = (
    *_QUIET, *_QUIET_EXPRESSIONS, Aggregate, Binary, Bound, Cast, CommonScan, CommonTable, Const, Frame, Free, Function,
    InQuery, Like, Quantified, RowLock, ScalarQuery, Series, SetOperation, Unary, Unnest, Values, Window, WorkingTable,
)  # fmt: skip
"""What reads and computes, and calls nothing that the schema defines."""
_WRITING = (Conflict, Identified, JoinedWrite, Target, Together, WrittenTable)
"""What writes beside these; what is met twice there is an error of its own."""
_RUNNING = (If, Invoke, Perform, Raise, Return, SetVariable, Variable)
"""What routines are made of that computes no more than the expressions in it, and raises no more than it says."""
_QUIET_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">=", "and", "or", "is_distinct", "is_not_distinct"})
_QUIET_FUNCTIONS = frozenset({"coalesce", "nullif", "ifnull"})
_OF_OTHER_ROWS = frozenset({"23503", "23505", "23P01"})
"""Keys, foreign keys and exclusion, where they are told apart (PostgreSQL)."""
_BY_ZERO = "22012"
_DIVISIONS = frozenset({"/", "%", "div"})
_SCHEMA = (Table, TableColumn, Unique, Check)
_REFERENCES = (ForeignKey, SpelledKey)
_KNOWN_OF_TABLES = frozenset({"name", "columns"})


def may_raise(bound: Statement, catalog: Catalog, sqlstate: str) -> bool:
    """Whether the statement may, in some state, fail with a data error (classes 21, 22, 23) of this class."""
    if sqlstate == _BY_ZERO:
        return _may_divide(bound, catalog)
    if sqlstate in _OF_OTHER_ROWS and (nodes := _executed(bound, catalog)) is not None and all(map(_is_plain, nodes)):
        tables = (table for each in _catalogs(bound, catalog) for table in each.tables.values())
        refuses = may_clash(bound, catalog, sqlstate) or any(table.refusing for table in tables)
        return refuses or any(isinstance(node, Raise) and node.sqlstate == sqlstate for node in nodes)
    reads = isinstance(bound, Query)
    if not (reads or isinstance(bound, Insert | Update | Delete | JoinedWrite)) or reached([bound], catalog):
        return True
    if fired_by(bound, catalog):
        return True
    nodes = list(_nodes(bound))
    stored: list[object] = [] if reads else list(_nodes(tuple(catalog.tables.values())))
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


def _may_divide(bound: Statement, catalog: Catalog) -> bool:
    """Whether something is divided, or may be, in what is executed, or in the schema where rows are written."""
    nodes = _executed(bound, catalog)
    if nodes is None:
        return True
    if any(isinstance(part, Write) for part in executions(bound, catalog)):
        for each in _catalogs(bound, catalog):
            nodes += _nodes(tuple(each.tables.values()))
    known = (*_SCHEMA, *_REFERENCES)
    return any(_divides(node) or not (isinstance(node, known) or _is_plain(node)) for node in nodes)


def _executed(bound: Statement, catalog: Catalog) -> list[object] | None:
    """The nodes of the statement and of the routines that it calls; None where triggers may run."""
    for part in executions(bound, catalog):
        if any(fired_by(part, each) or triggers_of(part, each) for each in _catalogs(bound, catalog)):
            return None
    bodies = tuple(item for procedure in reached([bound], catalog) for item in procedure.body)
    return [*_nodes(bound), *_nodes(bodies)]


def _catalogs(bound: Statement, catalog: Catalog) -> list[Catalog]:
    """The catalog, and those by which the routines are bound that the statement calls."""
    found = {id(catalog): catalog}
    for procedure in reached([bound], catalog):
        if procedure.routine is not None:
            found[id(procedure.routine.catalog)] = procedure.routine.catalog
    return list(found.values())


def _is_plain(node: object) -> bool:
    """Whether the node reads, computes, writes or is a step of a routine, and does no more than its parts say."""
    return isinstance(node, (*_WRITING, *_RUNNING)) or _is_known(node)


def _nodes(value: object) -> Iterator[object]:
    """Every dataclass instance below, types left out."""
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif is_dataclass(value) and not isinstance(value, SqlType):
        yield value
        for item in fields(value) if not isinstance(value, Const) else ():
            yield from _nodes(getattr(value, item.name))


def _is_known(node: object) -> bool:
    """Whether evaluating the node itself reads and writes no more than the statement says."""
    return isinstance(node, _READING)


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
        case Select(limit=limit, offset=offset) if not all(isinstance(part, Const | None) for part in (limit, offset)):
            return False  # it may be less than zero
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


def _divides(node: object) -> bool:
    match node:
        case Binary(op):
            return op in _DIVISIONS
        case Function(name):
            return _BY_ZERO in errors_of(name)
        case Raise(state):
            return state == _BY_ZERO
    return False


def _has_constraints(table: Table) -> bool:
    """Whether anything at all is demanded of the table's rows."""
    others = any(getattr(table, item.name) for item in fields(table) if item.name not in _KNOWN_OF_TABLES)
    return others or any(column.not_null for column in table.columns)
