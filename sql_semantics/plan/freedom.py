"""Errors that a statement may raise although its run here does not.

A DBMS is free to evaluate the operands of AND, OR, WHERE and ON in any order and on more rows than qualify in the
end. Where such an operand can fail, its failure can neither be demanded nor excluded. A query in FROM, EXISTS, IN, ANY
and ALL may be evaluated in parts or merged with what surrounds it. MariaDB runs a subquery that does not depend on the
row while it plans, DuckDB every subquery before it needs one. Does not know any row.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.ir.expressions import (
    Binary,
    Cast,
    Column,
    Expr,
    Free,
    Function,
    Invoke,
    Like,
    Outer,
    Param,
    ScalarQuery,
    Subquery,
    Unary,
    Variable,
)
from sql_semantics.ir.queries import (
    Aggregate,
    BaseTable,
    CommonScan,
    CommonTable,
    Derived,
    Joined,
    Query,
    Select,
    Series,
    SetOperation,
    Source,
    Unnest,
    Values,
)
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, Statement, Update
from sql_semantics.ir.walks.effects import reached
from sql_semantics.ir.walks.nesting import expressions_of, nested
from sql_semantics.ir.walks.traverse import can_raise, children, conjuncts, fields_of, one_row, outer_reads, walk
from sql_semantics.products import PRODUCTS
from sql_semantics.products.rules import RunRules
from sql_semantics.values.functions import errors_of


def free_errors(statement: Statement, catalog: Catalog, dialect: str) -> frozenset[str]:
    """The SQLSTATEs with which an execution may fail whatever the interpreter answers; `dialect` by name.

    The runtime raises what fails on its own way through such an operand with `may` set; this tells what it might have
    missed on the DBMS's way.
    """
    found = set(avoidable_errors(statement, catalog))
    rules = PRODUCTS[dialect].running
    if rules.evaluates_unasked is not None:
        for part in _parts(statement, catalog):
            _eagerly(part, rules, found)
    if rules.exhausted_states and any(_draws_number(part, catalog) for part in _parts(statement, catalog)):
        found |= rules.exhausted_states
    return frozenset(found)


def _draws_number(statement: Statement, catalog: Catalog) -> bool:
    """Whether a row takes the next number of a column, of which there may be none left."""
    if not isinstance(statement, Insert):
        return False
    columns = catalog.tables[statement.table].columns
    rows = [statement.from_query] if statement.query is not None else statement.rows
    return any(
        column.identity and any(isinstance(part, Free) for part in walk(row[place]))
        for row in rows
        for place, column in enumerate(columns)
    )


def may_fail_freely(statement: Statement, catalog: Catalog, dialect: str, sqlstate: str) -> bool:
    """Whether an error is among `free_errors`. A class without a subclass, as DuckDB's exceptions are told, may be any
    error of that class."""
    free = free_errors(statement, catalog, dialect)
    return sqlstate in free or (sqlstate[2:] == "000" and any(state[:2] == sqlstate[:2] for state in free))


def avoidable_errors(statement: Statement, catalog: Catalog) -> frozenset[str]:
    """The SQLSTATEs whose cause the DBMS need not come across though the interpreter does."""
    found: set[str] = set()
    for part in _parts(statement, catalog):
        _collect(part, found)
    return frozenset(found)


def _parts(statement: Statement, catalog: Catalog) -> list[Statement]:
    return [statement, *(inner for procedure in reached([statement], catalog) for inner in procedure.body)]


def _eagerly(node: object, rules: RunRules, found: set[str]) -> None:
    """What a product evaluates although no row asks for it."""
    everything = rules.evaluates_unasked == "all"
    if isinstance(node, Subquery) and (everything or not outer_reads(node.query)):
        _everything(node, found)
    if isinstance(node, Aggregate) and node.filter is not None and everything:
        for argument in node.arguments:  # computed on all rows, before FILTER
            _everything(argument, found)
    if everything and isinstance(node, Expr) and can_raise(node) and _is_constant(node):
        found.update(_states(node))  # folded while the statement is planned, whether a row asks for it or not
    if isinstance(node, Select) and rules.evaluates_unasked == "constants":
        for condition in (node.where, node.having, *(source.on for source in node.sources)):
            _constants(condition, found)
    if isinstance(node, Function) and rules.skips_behind_null:
        for argument in node.arguments[1:]:  # behind one that is NULL, some functions compute it and some do not
            _free(argument, True, found)
    if isinstance(node, Insert) and node.conflict is not None and rules.upserts_in_batches:
        for _, expr in node.conflict.assignments:  # computed for rows without a conflict, too
            _everything(expr, found)
        _everything(node.conflict.where, found)
    for below in fields_of(node):
        _eagerly(below, rules, found)


def _constants(condition: Expr | None, found: set[str]) -> None:
    """What fails in the constant parts of a condition: MariaDB computes them while it plans, for no row at all too."""
    if condition is None or not can_raise(condition):
        return
    for part in walk(condition):
        if _is_constant(part):
            found.update(_states(part))


def _is_constant(expr: Expr) -> bool:
    return not any(
        isinstance(part, Column | Outer | Param | Variable | Free | Invoke | Subquery) for part in walk(expr)
    )


def _collect(statement: Statement, found: set[str]) -> None:
    match statement:
        case Insert() if statement.query is not None:
            _collect(statement.query, found)
            if _computed_early(statement.query):
                for expr in statement.from_query:
                    _free(expr, True, found)
        case SetOperation(op="intersect" | "except"):
            _everything(statement, found)
        case SetOperation(left=left, right=right):
            _collect(left, found)
            _collect(right, found)
        case Select(sources=sources) | JoinedWrite(sources=sources) | Merge(sources=sources):
            for source in sources:
                _collect_source(source, found)
    # What a query in FROM makes of constants may be computed with while the statement is planned.
    planned = _computed_early(statement)
    for expr, free in _clauses(statement):
        _free(expr, free or planned, found)
    for expr in expressions_of(statement):
        _free(expr, planned, found)
    for inner in nested(statement):
        _collect(inner, found)


def _computed_early(statement: object) -> bool:
    """Whether a query reads others, whose constants may be computed with before there is a row."""
    return isinstance(statement, Select) and any(not isinstance(s.relation, BaseTable) for s in statement.sources)


def _collect_source(source: Source, found: set[str]) -> None:
    match source.relation:
        case Derived(query):
            _everything(query, found)
        case CommonScan(CommonTable() as table):
            _everything(table, found)
        case Joined(sources):
            for inner in sources:
                _collect_source(inner, found)
                if inner.on is not None:
                    _free(inner.on, True, found)


def _everything(node: object, found: set[str]) -> None:
    """Every error that anything in a query, or a part of one, can raise."""
    match node:
        case Aggregate("sum" | "avg"):
            found.add("22003")
        case ScalarQuery(query):
            if not one_row(query):
                found.add("21000")
        case Select() if node.limit is not None or node.offset is not None:
            found.update(("2201W", "2201X"))
        case Series():
            found.add("22023")
        case Unnest():
            found.update(("22P02", "22003", "22007", "22023", "22001"))
        case CommonScan(CommonTable() as table):
            _everything(table, found)
    if isinstance(node, Expr) and can_raise(node):
        found.update(_states(node))
    for below in fields_of(node):
        _everything(below, found)


def _clauses(statement: Statement) -> Iterator[tuple[Expr, bool]]:
    """Every expression with whether it may be evaluated on rows that do not qualify."""
    match statement:
        case Select():
            yield from _select_clauses(statement)
        case SetOperation():
            yield from _always(*statement.left_items, *statement.right_items)
        case Values():
            yield from _always(*(expr for row in statement.rows for expr in row))
        case Insert():
            yield from _always(*(expr for row in statement.rows for expr in row))
            if statement.conflict is not None:
                yield from _always(*(expr for _, expr in statement.conflict.assignments), statement.conflict.where)
        case Update():
            yield from _always(*(expr for _, expr in statement.assignments))
            yield from _always(statement.where)
        case Delete():
            yield from _always(statement.where)
        case JoinedWrite():
            for part in (statement.where, *(source.on for source in statement.sources)):
                if part is not None:
                    yield part, True
            yield from _always(*(expr for target in statement.targets for _, expr in target.assignments))
        case Merge():
            for source in statement.sources:
                if source.on is not None:
                    yield source.on, True
            for when in statement.whens:
                yield from _always(when.condition, *when.row, *(expr for _, expr in when.assignments))
    if isinstance(statement, Insert | Update | Delete | JoinedWrite | Merge):
        yield from _always(*(output.expression for output in statement.returning or ()))


def _always(*expressions: Expr | None) -> Iterator[tuple[Expr, bool]]:
    for expr in expressions:
        if expr is not None:
            yield expr, False


def _select_clauses(select: Select) -> Iterator[tuple[Expr, bool]]:
    joined = len(select.sources) > 1 or any(not isinstance(item.relation, BaseTable) for item in select.sources)
    for source in select.sources:
        if source.on is not None:
            yield source.on, True
    if select.where is not None:
        yield select.where, joined
    if select.having is not None:
        yield select.having, len(conjuncts(select.having)) > 1
    yield from _always(*(output.expression for output in select.outputs))
    for aggregate in select.aggregates:
        yield from _always(*aggregate.expressions())
    for window in select.windows:
        yield from _always(*window.expressions())
    yield from _always(*select.distinct_on, *(select.groups or ()), *(key.expression for key in select.order))
    if select.qualify is not None:
        yield select.qualify, True


def _free(expr: Expr, free: bool, found: set[str]) -> None:
    """Add the errors of `expr` (if it is evaluated freely) or of what stands below AND and OR in it."""
    if not can_raise(expr):
        return
    if isinstance(expr, Subquery) and not isinstance(expr, ScalarQuery):
        free = True
    if free:
        for part in walk(expr):
            found.update(_states(part))
            if isinstance(part, Subquery):
                _everything(part, found)
    elif isinstance(expr, Binary) and expr.op in ("and", "or"):
        _free(expr, True, found)
    else:
        if isinstance(expr, ScalarQuery):
            _collect_query(expr.query, found)
        for child in children(expr):
            _free(child, False, found)


def _collect_query(query: Query, found: set[str]) -> None:
    _collect(query, found)


def _states(part: Expr) -> tuple[str, ...]:
    match part:
        case Binary("/" | "%" | "div"):
            return ("22012", "22003")
        case Binary("+" | "-" | "*") | Unary("-"):
            return ("22003",)
        case Cast() if can_raise(part):
            return ("22003", "22P02", "22001", "22007", "22008", "22023", "0A000", "01000")
        case Function(name):
            return tuple(sorted(errors_of(name)))
        case Like() if can_raise(part):
            return ("22025",)
    return ()
