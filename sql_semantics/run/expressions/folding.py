"""Errors that PostgreSQL's planner raises before any row is read.

PostgreSQL folds constant subexpressions while planning, so ``SELECT 1/0 FROM t`` fails on an empty table and
``CASE WHEN a THEN 1/0 END`` fails whatever `a` is (eval_const_expressions in clauses.c). Parameters and variables are
folded too where the plan is made for their values, which a log does not tell: an execution that hangs on that is
Unsupported. Does not know other products, which evaluate constants when they are reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from decimal import Inexact
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Free,
    Function,
    InList,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Param,
    ScalarQuery,
    Subquery,
    Unary,
    Variable,
)
from sql_semantics.ir.listed import Listed
from sql_semantics.ir.queries import Query, Select, Series, SetOperation, Unnest, Values
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, Update, Write
from sql_semantics.ir.walks.traverse import can_raise, children, conjuncts, disjuncts, walk
from sql_semantics.run.expressions.expressions import Arguments, Evaluate, Frame, compile_expression
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions import find_rule
from sql_semantics.values.types import TEMPORAL_KINDS, Kind, Value

PlanCheck = Callable[[Arguments, Frame], SqlError | None]


def plan_error(statement: Query | Write, dialect: Dialect) -> SqlError | None:
    """The error that planning this statement raises, whatever the data; None for none, and outside PostgreSQL."""
    if not dialect.rules.running.plans_raise:
        return None
    for row in _inserted(statement) if isinstance(statement, Insert) else ():
        errors = [error for expr in row if (error := fold_error(expr, dialect)) is not None]
        if len({error.sqlstate for error in errors}) > 1:
            # They are folded in the order of the INSERT's column list, which is not the table's.
            raise Unsupported("an INSERT whose constants fail with different errors")
        if errors:
            return errors[0]
    for expr in _expressions(statement):
        error = fold_error(expr, dialect)
        if error is not None:
            return error
    return None


def fold_error(expr: Expr, dialect: Dialect) -> SqlError | None:
    """The error that planning an expression raises; None outside PostgreSQL."""
    if not dialect.rules.running.plans_raise:
        return None
    try:
        _fold(expr, dialect)
    except SqlError as error:
        return SqlError(error.sqlstate, error.message)
    except Inexact:
        raise Unsupported("exact numbers of more than 1500 digits") from None
    return None


def spared_by_planning(expr: Expr, frame: Frame, dialect: Dialect) -> bool:
    """Whether planning an expression for the values that its variables have leaves nothing that fails: PostgreSQL does
    not evaluate ``(SELECT 1) / a + b`` where b is NULL, if the plan is made for that b."""
    for part in _hanging(expr):
        try:
            if _fold(_with_values(part, frame), dialect) is not None:
                return True
        except SqlError:
            continue
    return False


def doubtful_expressions(statement: Query | Write, dialect: Dialect) -> tuple[Expr, ...]:
    """The expressions of a statement whose errors planning may spare it."""
    if not dialect.rules.running.plans_raise:
        return ()
    return tuple(expr for expr in _expressions(statement) if hangs_on_planning(expr))


def _with_values(expr: Expr, frame: Frame) -> Expr:
    """The expression with its variables' values in their places."""
    if isinstance(expr, Variable):
        return Const(frame[expr.slot], expr.type)
    if isinstance(expr, Subquery | Invoke):
        return expr
    changed: dict[str, Any] = {}
    for field in fields(expr):
        value = getattr(expr, field.name)
        if isinstance(value, Expr):
            changed[field.name] = _with_values(value, frame)
        elif isinstance(value, tuple) and value:
            changed[field.name] = tuple(_inner_values(item, frame) for item in value)
    return replace(expr, **changed) if changed else expr


def _inner_values(item: Any, frame: Frame) -> Any:
    if isinstance(item, tuple):
        return tuple(_inner_values(inner, frame) for inner in item)
    return _with_values(item, frame) if isinstance(item, Expr) else item


def hangs_on_planning(expr: Expr) -> bool:
    """Whether an operand that may fail stands beside one that a variable may make NULL."""
    return next(_hanging(expr), None) is not None


def _hanging(expr: Expr) -> Iterator[Expr]:
    for part in walk(expr):
        if isinstance(part, Binary) and part.op in ("and", "or"):
            continue
        sides = children(part)
        if len(sides) < 2:
            continue
        varying = [any(isinstance(inner, Variable) for inner in walk(side)) for side in sides]
        count = sum(varying)
        if any(count > own and can_raise(side) for side, own in zip(sides, varying, strict=True)):
            yield part


def compile_plan_check(statement: Query | Write, dialect: Dialect) -> PlanCheck | None:
    """f(args, frame) -> the error that planning for these very parameter values would raise; None where it cannot."""
    if not dialect.rules.running.plans_raise:
        return None
    if isinstance(statement, Insert) and statement.listed is not None:
        of_rows = _compile_check_of_rows(statement.listed, dialect)
        statement = replace(statement, rows=(), listed=None)
    else:
        of_rows = None
    candidates = _compile_closed(_expressions(statement), dialect)
    if not candidates:
        return of_rows

    def check(args: Arguments, frame: Frame) -> SqlError | None:
        error = None if of_rows is None else of_rows(args, frame)
        return error or _first_error(candidates, args, frame)

    return check


def _compile_check_of_rows(listed: Listed, dialect: Dialect) -> PlanCheck | None:
    """What is planned for in the rows of a long VALUES list."""
    forms = [_compile_closed(form, dialect) for form in listed.forms]
    if not any(forms):
        return None

    def check(args: Arguments, frame: Frame) -> SqlError | None:
        for number, form in enumerate(listed.which):
            error = _first_error(forms[form], listed.cells(number, args), frame)
            if error is not None:
                return error
        return None

    return check


def _compile_closed(expressions: Iterable[Expr], dialect: Dialect) -> list[Evaluate]:
    return [compile_expression(part, dialect) for expr in expressions for part in _closed(expr)]


def _first_error(candidates: Sequence[Evaluate], args: Arguments, frame: Frame) -> SqlError | None:
    for evaluate in candidates:
        try:
            evaluate((), args, frame)
        except SqlError as error:
            return error
    return None


def _closed(expr: Expr) -> Iterator[Expr]:
    """The largest subexpressions over parameters and variables that read no column and may raise."""
    if type(expr) in (Const, Column, Param, Variable):
        return  # none of which may raise by itself
    opens: set[int] = set()
    varies: set[int] = set()
    for part in reversed(list(walk(expr))):
        inner = children(part)
        if isinstance(part, Column | Outer | Free | Invoke | Subquery) or any(id(child) in opens for child in inner):
            opens.add(id(part))
        if isinstance(part, Param | Variable) or any(id(child) in varies for child in inner):
            varies.add(id(part))
    left = [expr]
    while left:
        part = left.pop()
        if id(part) in opens:
            left.extend(reversed(children(part)))
            if isinstance(part, ScalarQuery):
                for inner_expr in _expressions(part.query):
                    yield from _closed(inner_expr)
        elif id(part) in varies and can_raise(part):
            yield part


def _expressions(statement: Query | Write) -> Iterator[Expr]:
    """What the planner folds, in its order: target list, RETURNING, ON and WHERE, HAVING.

    Queries in FROM are left out: whether they are merged into the query around them decides what of them is planned.
    """
    match statement:
        case SetOperation():
            yield from _expressions(statement.left)
            yield from _expressions(statement.right)
            yield from (*statement.left_items, *statement.right_items)
        case Values():
            for row in statement.rows:
                yield from row
        case Series():
            yield from (statement.start, statement.stop, statement.step)
        case Unnest():
            for items in statement.arrays:
                yield from items
        case Select():
            yield from (output.expression for output in statement.outputs)
            yield from statement.groups or ()
            yield from (part for aggregate in statement.aggregates for part in aggregate.expressions())
            yield from (part for window in statement.windows for part in window.expressions())
            yield from (key.expression for key in statement.order if key.expression is not None)
            yield from statement.distinct_on
            yield from (source.on for source in statement.sources if source.on is not None)
            yield from (part for part in (statement.where, statement.having) if part is not None)
        case Insert():
            for row in _inserted(statement):
                yield from row
            if statement.conflict is not None:
                yield from (expr for _, expr in statement.conflict.assignments)
                yield from (part for part in (statement.conflict.where,) if part is not None)
            yield from (output.expression for output in statement.returning or ())
            if statement.query is not None:
                yield from _expressions(statement.query)
        case Update():
            yield from (expr for _, expr in statement.assignments)
            yield from (output.expression for output in statement.returning or ())
            yield from (part for part in (statement.where,) if part is not None)
        case JoinedWrite():
            yield from (expr for target in statement.targets for _, expr in target.assignments)
            yield from (output.expression for output in statement.returning or ())
            yield from (source.on for source in statement.sources if source.on is not None)
            yield from (part for part in (statement.where,) if part is not None)
        case Delete():
            yield from (output.expression for output in statement.returning or ())
            yield from (part for part in (statement.where,) if part is not None)
        case Merge():
            for when in statement.whens:
                yield from (*(expr for _, expr in when.assignments), *when.row)
                yield from (part for part in (when.condition,) if part is not None)
            yield from (output.expression for output in statement.returning or ())
            yield from (source.on for source in statement.sources if source.on is not None)


def _inserted(statement: Insert) -> Iterator[tuple[Expr, ...]]:
    """What is stored, row by row; a plain SELECT is merged with the conversions above it."""
    yield from statement.rows
    query = statement.query
    if not isinstance(query, Select) or query.groups is not None or query.distinct or query.distinct_on:
        return
    if not (query.order or query.limit or query.offset):
        outputs = tuple(output.expression for output in query.outputs)
        yield tuple(_substitute(expr, outputs) for expr in statement.from_query)


def _substitute(expr: Expr, outputs: tuple[Expr, ...]) -> Expr:
    """A conversion of an output column, with the output's own expression in its place."""
    if isinstance(expr, Column):
        return outputs[expr.index]
    if isinstance(expr, Cast):
        return replace(expr, operand=_substitute(expr.operand, outputs))
    return expr


def _fold(expr: Expr, dialect: Dialect) -> Const | None:
    """The constant that the planner makes of it, None where it stays an expression. Raises SqlError."""
    match expr:
        case Const():
            return expr
        case Column() | Outer() | Param() | Variable() | Free():
            return None
        case ScalarQuery(query):
            for inner in _expressions(query):
                _fold(inner, dialect)
            return None
        case Binary("and" | "or" as op):
            return _fold_connective(expr, op, dialect)
        case Case():
            return _fold_case(expr, dialect)
        case Function("coalesce"):
            return _fold_coalesce(expr, dialect)
    folded = [_fold(child, dialect) for child in children(expr)]
    constants = [item for item in folded if item is not None]
    if isinstance(expr, Subquery | Invoke):
        return None
    if _is_strict(expr) and any(item.value is None for item in constants):
        return Const(None, expr.type)
    if len(constants) < len(folded) or _is_stable(expr, dialect):
        return None
    return Const(compile_expression(_with_children(expr, constants), dialect)((), (), []), expr.type)


def _is_strict(expr: Expr) -> bool:
    """Whether one NULL operand makes it NULL."""
    match expr:
        case Binary(op):
            return op not in ("is_distinct", "is_not_distinct")
        case Unary() | Cast() | Like():
            return True
        case Function(name):
            return name not in ("greatest", "least", "nullif", "if", "concat", "concat_ws")
    return False


def _is_stable(expr: Expr, dialect: Dialect) -> bool:
    """Whether it is only STABLE, so that planning leaves it alone."""
    match expr:
        case Function(name, arguments):
            rule = find_rule(name, [argument.type.kind for argument in arguments], dialect)
            return rule is not None and rule.stable
        case Cast(operand, type_):
            kinds = {operand.type.kind, type_.kind}
            return bool(kinds & TEMPORAL_KINDS) and (Kind.TEXT in kinds or Kind.TIMESTAMPTZ in kinds)
    return False


def _with_children(expr: Expr, constants: list[Const]) -> Expr:
    match expr:
        case Unary() | Cast() | IsNull() | IsTruth():
            return replace(expr, operand=constants[0])
        case Binary():
            return replace(expr, left=constants[0], right=constants[1])
        case InList():
            return replace(expr, operand=constants[0], items=tuple(constants[1:]))
        case Like():
            return replace(expr, operand=constants[0], pattern=constants[1])
        case Function():
            return replace(expr, arguments=tuple(constants))
    raise Unsupported(f"constant {type(expr).__name__}")


def _fold_connective(expr: Expr, op: str, dialect: Dialect) -> Const | None:
    deciding = op == "or"
    unknown = null = False
    for part in conjuncts(expr) if op == "and" else disjuncts(expr):
        constant = _fold(part, dialect)
        if constant is None:
            unknown = True
        elif constant.value is deciding:
            return Const(deciding, expr.type)
        else:
            null = null or constant.value is None
    if unknown:
        return None
    result: Value = None if null else not deciding
    return Const(result, expr.type)


def _fold_case(expr: Case, dialect: Dialect) -> Const | None:
    reachable = False
    for when, result in expr.whens:
        condition = _fold(when, dialect)
        if condition is not None and condition.value is not True:
            continue
        value = _fold(result, dialect)
        if condition is not None:
            return None if reachable else value
        reachable = True
    otherwise = _fold(expr.otherwise, dialect)
    return None if reachable else otherwise


def _fold_coalesce(expr: Function, dialect: Dialect) -> Const | None:
    unknown = False
    for argument in expr.arguments:
        constant = _fold(argument, dialect)
        if constant is None:
            unknown = True
        elif constant.value is not None:
            return None if unknown else constant
    return None if unknown else Const(None, expr.type)
