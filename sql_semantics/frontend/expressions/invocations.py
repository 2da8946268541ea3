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


def positioned(nodes: Sequence[Node], parameters: Sequence[Parameter], context: Context) -> list[Node | None]:
    """The arguments in the order of the parameters, of which ``name => value`` names one; None where none is given
    before the last that is (PostgreSQL 4.3). Raises Unsupported for a name that is not simply one of theirs."""
    placed: list[Node | None] = list(nodes)
    for place, node in enumerate(nodes):
        if isinstance(node, (exp.Star, exp.Distinct)):
            raise Unsupported(f"{node.sql()} as an argument of a routine")
        if not isinstance(node, (exp.Kwarg, exp.PropertyEQ)):
            continue
        if not context.dialect.rules.definitions.overloads_routines:
            raise Unsupported("arguments of a routine by name")
        placed[place:] = [None] * (len(parameters) - place)
        for named in nodes[place:]:
            written = named.this.name if isinstance(named, (exp.Kwarg, exp.PropertyEQ)) else ""
            found = [at for at, parameter in enumerate(parameters) if parameter.name == written != ""]
            if len(found) != 1 or found[0] < place or placed[found[0]] is not None:
                raise Unsupported(f"argument {named.sql()} of a routine")
            placed[found[0]] = named.expression
        while placed[-1] is None:
            del placed[-1]
        break
    return placed


def arguments(routine: Routine, given: Sequence[Expr | None], context: Context) -> tuple[Expr, ...]:
    """The values of the parameters that take one, defaults filled in, also for None. Raises SqlError as the DBMS
    would."""
    name = routine.signature.name
    wanted = routine.signature.given
    if any(expr is None and parameter.default is None for expr, parameter in zip(given, wanted, strict=False)):
        raise SqlError("42883", f"{name} is given no value for a parameter without a default")
    missing = wanted[len(given) :]
    if len(given) > len(wanted) or any(parameter.default is None for parameter in missing):
        state = context.dialect.rules.expressions.argument_count_error
        if state is None:
            raise Unsupported(f"wrong number of arguments for {name}")
        raise SqlError(state, f"{name} takes {len(wanted)} arguments, not {len(given)}")
    values = [
        parameter.default if expr is None else argument(expr, parameter, place, name, context)
        for place, (expr, parameter) in enumerate(zip(given, wanted, strict=False))
    ]
    return tuple(value for value in (*values, *(parameter.default for parameter in missing)) if value is not None)


def _given(binder: Binder, node: Node, routine: Routine) -> list[Expr | None]:
    placed = positioned(node.expressions, routine.signature.given, binder.context)
    return [None if item is None else binder.value(item) for item in placed]


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
        values = arguments(routine, _given(binder, node, routine), binder.context)
        return Invoke(routine, values, TEXT, _within(binder.context))
    if signature.rows or signature.record or len(signature.results) != 1:
        raise Unsupported(f"function {name}, which returns no single value, in an expression")
    values = arguments(routine, _given(binder, node, routine), binder.context)
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
    values = arguments(routine, _given(binder, node, routine), binder.context)
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
    return routine


def _within(context: Context) -> int | None:
    return None if context.invocation is None else context.invocation()
