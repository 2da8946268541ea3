"""Scalar functions by product: which exist, what they take and give, and how they compute.

Of a product they are imported when they are asked for. Operators on other types than numbers stand here too, under
their symbols. Does not know expressions or rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table
from sql_semantics.values.functions.texts.pattern import like, like_pattern
from sql_semantics.values.types import Kind, SqlType

__all__ = ["Rule", "Slot", "errors_of", "find_rule", "like", "like_pattern", "names", "rules", "scalar_function"]


_WIDEST = {"postgres": "postgres", "mysql": "mariadb", "sqlite": "sqlite", "duckdb": "duckdb"}
"""Of each dialect the product that has the functions of all its products."""


@cache
def _table(product: str) -> Table:
    # a log is of one product, and the others' modules would be a part of each start
    found: Table = import_module(f"{__name__}.products.{product}").FUNCTIONS
    return found


def rules(dialect: Dialect) -> Table:
    """A product's functions by lower-case name."""
    return _table("mariadb" if dialect.product == "mariadb" else dialect.name)


def names(dialect: str) -> frozenset[str]:
    """The lower-case names of the functions of a dialect's products."""
    return frozenset(_table(_WIDEST[dialect]))


@cache
def errors_of(name: str) -> frozenset[str]:
    """The SQLSTATEs that a function of this name may raise, in any product; none for one that is not in the tables."""
    found = [_table(product).get(name, ()) for product in _WIDEST.values()]
    return frozenset(state for rules in found for rule in rules for state in rule.errors)


def find_rule(name: str, kinds: Sequence[Kind], dialect: Dialect) -> Rule | None:
    """The overload that takes arguments of these kinds as they are."""
    return next((rule for rule in rules(dialect).get(name, ()) if rule.takes(kinds)), None)


def scalar_function(
    name: str,
    arguments: Sequence[SqlType],
    result: SqlType,
    dialect: Dialect,
    may: bool,
) -> tuple[Implementation, bool]:
    """The function, and whether it is strict (NULL in, NULL out); raises Unsupported for one that is not modelled."""
    rule = find_rule(name, [argument.kind for argument in arguments], dialect)
    if rule is None:
        raise Unsupported(f"the function {name}({', '.join(map(str, arguments))}) in {dialect.name}")
    if dialect.timezone is not None and any(argument.kind is Kind.TIMESTAMPTZ for argument in arguments):
        raise Unsupported(f"the session time zone {dialect.timezone}")
    return rule.build(Call(name, tuple(arguments), result, dialect, may)), rule.strict
