"""Calls of user-defined routines: which one, with which arguments converted how (paper Fig. 2; PostgreSQL 10.3).

Does not know the routines' bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.castability import implicit
from sql_semantics.frontend.types.coerce import assign, settle
from sql_semantics.ir.expressions import Expr, Invoke, Param
from sql_semantics.ir.queries import FunctionScan
from sql_semantics.ir.routines import Parameter, Routine
from sql_semantics.values.identifiers import folded
from sql_semantics.values.types import NUMBER_KINDS, TEXT, SqlType

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder
    from sql_semantics.frontend.names.scope import Context


def find_routine(name: str, context: Context) -> Routine | None:
    """The routine of that folded name; None where the log defines none. Raises Unsupported for one that is not
    modelled."""
    if name in context.catalog.refused:
        raise Unsupported(f"{context.catalog.refused[name]}, in the definition of {name}")
    if context.routines is not None:
        return context.routines.get(name)
    procedure = context.catalog.procedures.get(name)
    return None if procedure is None else procedure.routine


def argument(expr: Expr, parameter: Parameter, place: int, name: str, context: Context) -> Expr:
    """An argument converted to its parameter's type: as a stored value in MySQL, by implicit casts only in PostgreSQL.

    Raises SqlError 42883 where PostgreSQL would find no such function.
    """
    what = f"argument {place + 1} of {name}"
    if context.dialect.rules.expressions.arguments_are_stored:
        return assign(expr, parameter.type, context, what)
    expr = settle(expr, parameter.type, context)
    source, goal = expr.type, parameter.type
    given = isinstance(expr, Param) and source.kind in NUMBER_KINDS and goal.kind in NUMBER_KINDS
    if not given and not implicit(source, goal, context.dialect.rules.types):
        raise SqlError("42883", f"{what} is {source}, not {goal}")
    return assign(expr, goal, context, what)


def arguments(routine: Routine, given: Sequence[Expr], context: Context) -> tuple[Expr, ...]:
    """The values of the parameters that take one, defaults filled in. Raises SqlError as the DBMS would."""
    name = routine.signature.name
    wanted = routine.signature.given
    missing = wanted[len(given) :]
    if len(given) > len(wanted) or any(parameter.default is None for parameter in missing):
        state = context.dialect.rules.expressions.argument_count_error
        if state is None:
            raise Unsupported(f"wrong number of arguments for {name}")
        raise SqlError(state, f"{name} takes {len(wanted)} arguments, not {len(given)}")
    values = [
        argument(expr, parameter, place, name, context)
        for place, (expr, parameter) in enumerate(zip(given, wanted, strict=False))
    ]
    return (*values, *(parameter.default for parameter in missing if parameter.default is not None))


def bind_invocation(binder: Binder, node: Node) -> Expr | None:
    """``f(...)`` in an expression; None where the log defines no routine of that name."""
    routine = _routine_of(node, binder.context)
    if routine is None:
        return None
    signature, rules = routine.signature, binder.context.dialect.rules.expressions
    name = signature.name
    if not signature.function:
        if rules.one_routine_namespace:
            raise SqlError("42809", f"{name} is a procedure")
        raise SqlError("42000", f"function {name} does not exist")
    if signature.function and not signature.results and rules.void_functions:
        values = arguments(routine, [binder.value(item) for item in node.expressions], binder.context)
        return Invoke(routine, values, TEXT, _within(binder.context))
    if signature.rows or signature.record or len(signature.results) != 1:
        raise Unsupported(f"function {name}, which returns no single value, in an expression")
    values = arguments(routine, [binder.value(item) for item in node.expressions], binder.context)
    return Invoke(routine, values, signature.results[0][1], _within(binder.context))


def bind_function_scan(binder: Binder, node: Node) -> tuple[FunctionScan, tuple[tuple[str, SqlType], ...]] | None:
    """``f(...)`` in FROM, and its columns; None where the log defines no function of that name."""
    routine = _routine_of(node, binder.context)
    if routine is None:
        return None
    signature = routine.signature
    if not signature.function:
        raise SqlError("42809", f"{signature.name} is a procedure")
    if not signature.results:
        raise Unsupported(f"function {signature.name} without a result in FROM")
    values = arguments(routine, [binder.value(item) for item in node.expressions], binder.context)
    return FunctionScan(routine, values, _within(binder.context)), signature.results


def _routine_of(node: Node, context: Context) -> Routine | None:
    if not isinstance(node, exp.Anonymous):
        return None
    given = node.this
    dialect = context.dialect
    name = fold_column(given, dialect) if isinstance(given, exp.Identifier) else folded(str(given), dialect)
    routine = find_routine(name, context)
    if routine is not None:
        only(node, "this", "expressions")
        if any(isinstance(item, (exp.Kwarg, exp.PropertyEQ, exp.Star, exp.Distinct)) for item in node.expressions):
            raise Unsupported(f"arguments of {name} other than by position")
    return routine


def _within(context: Context) -> int | None:
    return None if context.invocation is None else context.invocation()
