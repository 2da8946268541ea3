"""Bound statements compiled once into closures over a view (paper §5.4).

One file per clause. The concrete runtime is exported here, its symbolic twin from `sql_semantics.guarded`.
Knows no SQL text and no isolation level.
"""

from sql_semantics.plan.access import AccessPath, access_path
from sql_semantics.plan.freedom import may_fail_freely
from sql_semantics.run.expressions.expressions import (
    Arguments,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.memory import MemoryView
from sql_semantics.run.routines.control import compile_statement

__all__ = [
    "AccessPath",
    "Arguments",
    "MemoryView",
    "access_path",
    "compile_expression",
    "compile_predicate",
    "compile_row",
    "compile_statement",
    "may_fail_freely",
]
