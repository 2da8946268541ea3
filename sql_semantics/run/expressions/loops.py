"""Loops over rows as generated comprehensions: scans, select lists, arguments of aggregates.

A function call per row costs more than most expressions. Does not know where rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sql_semantics.ir.expressions import Expr
from sql_semantics.run.expressions.expressions import Arguments, Emitter, Frame, Row
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value

Project = Callable[[Sequence[Row], Arguments, Frame], list[Row]]
Filter = Callable[[Sequence[Row], Arguments, Frame], list[Row]]
Values = Callable[[Sequence[Row], Arguments, Frame], list[Value]]


def loop_over(emitter: Emitter, item: str, emit: Callable[[], tuple[str, str]]) -> str:
    """Statements that return the results over all of `item` (``for`` clauses) that pass a test.

    `emit` gives the test and the result. Parameters are read once: where none is NULL, by code that knows it.
    """
    hoisted: dict[str, str] = {}
    emitter.hoisted = hoisted
    test, result = emit()
    emitter.hoisted = None
    fast = f"return [{result} {item} if {test}]" if test != "True" else f"return [{result} {item}]"
    if not hoisted:
        return f"    {fast}\n"
    test, result = emit()
    bind = "; ".join(f"{name} = {source}" for source, name in hoisted.items())
    known = " and ".join(f"{name} is not None" for name in hoisted.values())
    return f"    {bind}\n    if {known}: {fast}\n    return [{result} {item} if {test}]\n"


def compile_projection(expressions: Sequence[Expr], dialect: Dialect, *, may: bool = False) -> Project:
    """f(rows, args, frame) -> a tuple of the expressions' values for each row."""
    emitter = Emitter(dialect, may)
    result = f"({''.join(f'{emitter.value(expr)}, ' for expr in expressions)})"
    source = f"def project(rows, args, frame):\n    return [{result} for row in rows]\n"
    return emitter.define(source, "project")


def compile_filter(condition: Expr, offset: int, dialect: Dialect) -> Filter:
    """f(rows, args, frame) -> the rows that the condition is true for; their first column is column `offset`. For a
    condition without subqueries."""
    emitter = Emitter(dialect, True)
    emitter.offset = offset
    body = loop_over(emitter, "for row in rows", lambda: (emitter.truth(condition), "row"))
    return emitter.define(f"def keep(rows, args, frame):\n{body}", "keep")


def compile_values(expr: Expr, dialect: Dialect, *, may: bool = False) -> Values:
    """f(rows, args, frame) -> the expression's values over the rows but for NULLs."""
    emitter = Emitter(dialect, may)
    body = f"[_v for row in rows if (_v := {emitter.value(expr)}) is not None]"
    return emitter.define(f"def values(rows, args, frame):\n    return {body}\n", "values")
