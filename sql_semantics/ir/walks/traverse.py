"""Questions about expressions that are asked at compile time. Does not know how they are evaluated.

A subquery's own expressions are no children of the expression that it stands in: they read other rows. What they
read of the rows around them is told by `outer_reads`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Exists,
    Expr,
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
from sql_semantics.ir.queries import (
    Aggregate,
    BaseTable,
    Bound,
    CommonScan,
    CommonTable,
    Derived,
    FunctionScan,
    Query,
    Select,
    SetOperation,
    Source,
    Values,
    Window,
    WorkingTable,
    WrittenTable,
)
from sql_semantics.ir.walks.parts import part_names
from sql_semantics.values.functions import errors_of
from sql_semantics.values.types import DATETIME_KINDS, FLOAT_KINDS, INTEGER_KINDS, INTEGER_RANGE, Kind

_LEAVES = frozenset({Const, Param, Column, Variable, Outer, Free})
"""What most of a long statement is."""


LISTS = frozenset(
    {"string_agg", "array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"} | {"json_arrayagg"}
)
"""Aggregates that put values one after the other."""

ORDERED_SETS = frozenset({"percentile_disc", "percentile_cont", "mode"})
"""Aggregates of one value at a place in the order, of which the fraction is the second argument."""
CHOOSING = LISTS | {"bare", "bare_min", "bare_max"}
"""Those, and columns that are not grouped by: the DBMS may choose what they come to."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    if type(expr) in _LEAVES:
        return ()
    match expr:
        case Unary(_, operand) | IsNull(operand) | IsTruth(operand) | Cast(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case InList(operand, items):
            return (operand, *items)
        case Like(operand, pattern):
            return (operand, pattern)
        case Case(whens, otherwise):
            return (*(part for when in whens for part in when), otherwise)
        case Function(_, arguments) | Invoke(_, arguments):
            return arguments
        case InQuery(operands):
            return operands
        case Quantified():
            return (expr.operand,)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it."""
    pending = [expr]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(children(current))


def columns_read(expr: Expr) -> frozenset[int]:
    """The positions of the environment row that the expression reads, its subqueries included."""
    found: set[int] = set()
    for part in walk(expr):
        if isinstance(part, Column):
            found.add(part.index)
        elif isinstance(part, Subquery):
            found.update(index for depth, index in outer_reads(part.query) if depth == 1)
    return frozenset(found)


def fields_of(node: object) -> Iterator[object]:
    """The IR nodes directly below a node, looking through tuples; not those without any field."""
    if isinstance(node, tuple):
        for item in node:
            if isinstance(item, tuple):
                yield from fields_of(item)
            elif part_names(item):
                yield item
    else:
        for name in part_names(node):
            value = getattr(node, name)
            if isinstance(value, tuple):
                yield from fields_of(value)
            elif part_names(value):
                yield value


def outer_reads(query: Query) -> frozenset[tuple[int, int]]:
    """What a query reads of the rows around it: (depth, position), depth 1 for the query that it stands in."""
    found: set[tuple[int, int]] = set()
    _collect_outer(query, 0, found)
    return frozenset(found)


def _collect_outer(node: object, level: int, found: set[tuple[int, int]]) -> None:
    match node:
        case Outer(depth, index):
            if depth > level:
                found.add((depth - level, index))
        case ScalarQuery() | Exists() | InQuery() | Quantified():
            _collect_outer(node.query, level + 1, found)
            for operand in children(node):
                _collect_outer(operand, level, found)
        case Derived(query, lateral):
            _collect_outer(query, level + lateral, found)
        case CommonScan(table, levels):
            found.update((depth - (level - levels), index) for depth, index in _table_reads(table))
        case _:
            for below in fields_of(node):
                _collect_outer(below, level, found)


@lru_cache(maxsize=1024)
def _table_reads(table: CommonTable | WorkingTable | WrittenTable) -> frozenset[tuple[int, int]]:
    if not isinstance(table, CommonTable):
        return frozenset()
    return outer_reads(table.query) | (frozenset() if table.step is None else outer_reads(table.step))


def reads_working(node: object) -> bool:
    """Whether what a query gives depends on the round of a recursive common table around it."""
    return bool(_working_tables(node))


def _working_tables(node: object) -> set[WorkingTable]:
    if isinstance(node, WorkingTable):
        return {node}
    if isinstance(node, CommonTable):
        found = _working_tables(node.query) | _working_tables(node.step)
        return found - {node.working} if node.working is not None else found
    return set().union(*(_working_tables(below) for below in fields_of(node)))


def has_queries(node: object) -> bool:
    """Whether a statement or expression needs the view where expressions are evaluated: it holds a query below its top
    (a subquery or a FROM item that is no table), a value or an order that the DBMS chooses, or a call of a function."""
    if isinstance(node, Free | Invoke | Subquery | Derived | CommonScan | FunctionScan | SetOperation | Values):
        return True
    if isinstance(node, Aggregate) and node.function in CHOOSING:
        return True
    return any(has_queries(below) for below in fields_of(node))


def has_free(node: object) -> bool:
    """Whether a statement or expression holds a value that the DBMS chooses."""
    return isinstance(node, Free) or any(has_free(below) for below in fields_of(node))


def has_subquery(node: object) -> bool:
    """Whether a query stands in a statement's or expression's expressions."""
    return isinstance(node, Subquery) or any(has_subquery(below) for below in fields_of(node))


def can_raise(expr: Expr, *, arithmetic: bool = True) -> bool:
    """Whether evaluation may raise an SqlError (conservatively); `arithmetic`: where numbers that are computed may."""
    parts = (part for part in walk(expr) if arithmetic or not isinstance(part, Binary | Unary))
    return any(map(_raises, parts))


def query_can_raise(query: Query) -> bool:
    """Whether evaluating a query may raise an SqlError (conservatively)."""
    if isinstance(query, Select) and (query.limit is not None or query.offset is not None):
        return True
    return _any_raises(query)


def _any_raises(node: object) -> bool:
    if isinstance(node, Expr):
        return can_raise(node)
    if isinstance(node, Aggregate):
        return node.function in ("sum", "avg") or any(_any_raises(below) for below in fields_of(node))
    if isinstance(node, CommonScan | FunctionScan):
        return True
    if isinstance(node, Window) and node.function in ("ntile", "nth_value"):
        return True
    if isinstance(node, Bound) and node.offset is not None:
        return True
    return any(_any_raises(below) for below in fields_of(node))


def one_row(query: Query) -> bool:
    """Whether a query certainly has at most one row: an aggregate over everything, a constant."""
    if isinstance(query, Select):
        return query.grouping_sets is None and (query.groups == () or not query.sources)
    return isinstance(query, Values) and len(query.rows) == 1


def base_table(source: Source) -> str:
    """The stored table that a FROM item is. Raises Unsupported for any other."""
    if isinstance(source.relation, BaseTable):
        return source.relation.name
    raise Unsupported("a subquery or common table in FROM on symbolic rows")


def _raises(expr: Expr) -> bool:
    match expr:
        case Binary(op):
            return op in ("+", "-", "*", "/", "%", "div")
        case Unary(op):
            return op == "-"
        case Like():
            pattern = expr.pattern
            return not isinstance(pattern, Const) or str(pattern.value).endswith(expr.escape or "\\")
        case Function(name):
            return bool(errors_of(name))
        case Invoke():
            return True
        case ScalarQuery(query):
            return not one_row(query) or query_can_raise(query)
        case Exists() | InQuery() | Quantified():
            return query_can_raise(expr.query)
        case Cast(operand, type_):
            return not _total_cast(operand, type_.kind, type_.precision, type_.length)
    return False


def _total_cast(operand: Expr, target: Kind, precision: int | None, length: int | None) -> bool:
    source = operand.type.kind
    if isinstance(operand, (Param, Variable)) and source in INTEGER_KINDS and target in INTEGER_KINDS:
        return source is target
    if source in INTEGER_KINDS and target in INTEGER_KINDS:
        low, high = INTEGER_RANGE[target]
        inside = INTEGER_RANGE[source]
        return low <= inside[0] and inside[1] <= high and not isinstance(operand, Const)
    if target is Kind.NUMERIC:
        return precision is None and (source in INTEGER_KINDS or source is Kind.NUMERIC)
    if target is Kind.TEXT:
        return length is None
    if source in FLOAT_KINDS:
        return target is source or (source is Kind.REAL and target is Kind.DOUBLE)
    return source is target or (source in DATETIME_KINDS and target in DATETIME_KINDS)


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of the AND at the top, left to right; () for None."""
    return _operands(expr, "and")


def disjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The operands of the OR at the top, left to right."""
    return _operands(expr, "or")


def _operands(expr: Expr | None, op: str) -> tuple[Expr, ...]:
    if expr is None:
        return ()
    found: list[Expr] = []
    pending = [expr]
    while pending:
        current = pending.pop()
        if isinstance(current, Binary) and current.op == op:
            pending.append(current.right)
            pending.append(current.left)
        else:
            found.append(current)
    return tuple(found)


def conjunction(expressions: tuple[Expr, ...]) -> Expr | None:
    """AND over the expressions; None for ()."""
    result: Expr | None = None
    for expression in expressions:
        result = expression if result is None else Binary("and", result, expression, expression.type)
    return result


def char_lengths(expr: Expr, inner: Sequence[Expr | None] = ()) -> frozenset[int | None]:
    """The lengths that the values of a CHAR expression may have been padded to; None for an unknown one.

    `inner`: above GROUP BY, what the columns of the environment row stand for.
    """
    match expr:
        case Const(None):
            return frozenset()
        case Column(index) if inner:
            below = inner[index]
            return frozenset({None}) if below is None else char_lengths(below, ())
        case Column() | Outer() | Cast() | ScalarQuery():
            return frozenset({expr.type.length})
        case Case(whens, otherwise):
            branches = (*(result for _, result in whens), otherwise)
            return frozenset().union(*(char_lengths(branch, inner) for branch in branches))
        case Function("coalesce" | "greatest" | "least", arguments):
            return frozenset().union(*(char_lengths(argument, inner) for argument in arguments))
    return frozenset({None})
