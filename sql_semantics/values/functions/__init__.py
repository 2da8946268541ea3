"""Scalar functions by product: which exist, what they take and give, and how they compute.

Operators on other types than numbers stand here too, under their symbols. Does not know expressions or rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions import arrays, bits, composites, conversions, listed, numeric, settings
from sql_semantics.values.functions.jsons import making as json_making
from sql_semantics.values.functions.jsons import mariadb as mariadb_json
from sql_semantics.values.functions.jsons import mariadb_writing
from sql_semantics.values.functions.jsons import paths as json_paths
from sql_semantics.values.functions.jsons import postgres as jsons
from sql_semantics.values.functions.jsons import sqlite as sqlite_json
from sql_semantics.values.functions.moments import duckdb as duckdb_dates
from sql_semantics.values.functions.moments import mysql as mysql_dates
from sql_semantics.values.functions.moments import sqlite as sqlite_dates
from sql_semantics.values.functions.moments import temporal, written
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table
from sql_semantics.values.functions.texts import addresses, encoded, figures, figures_read, formatted, regular, text
from sql_semantics.values.functions.texts import mysql as mysql_more
from sql_semantics.values.functions.texts import sqlite as sqlite_texts
from sql_semantics.values.functions.texts.pattern import like, like_pattern
from sql_semantics.values.types import Kind, SqlType

__all__ = ["Rule", "Slot", "errors_of", "find_rule", "like", "like_pattern", "names", "rules", "scalar_function"]


def _merged(*tables: Table) -> Table:
    result: Table = {}
    for table in tables:
        for name, found in table.items():
            result[name] = result.get(name, ()) + found
    return result


_FUNCTIONS: Mapping[str, Table] = {
    "postgres": _merged(
        numeric.POSTGRES,
        text.POSTGRES,
        temporal.POSTGRES,
        bits.POSTGRES,
        regular.POSTGRES,
        written.POSTGRES,
        figures.POSTGRES,
        figures_read.POSTGRES,
        encoded.POSTGRES,
        formatted.POSTGRES,
        settings.POSTGRES,
        arrays.POSTGRES,
        composites.POSTGRES,
        jsons.POSTGRES,
        json_making.POSTGRES,
        listed.POSTGRES,
        json_paths.POSTGRES,
    ),
    "mysql": _merged(
        numeric.MYSQL,
        text.MYSQL,
        temporal.MYSQL,
        bits.MYSQL,
        conversions.MYSQL,
        mysql_more.MYSQL,
        addresses.MYSQL,
        mysql_dates.MYSQL,
    ),
    "sqlite": _merged(
        numeric.SQLITE,
        text.SQLITE,
        bits.SQLITE,
        conversions.SQLITE,
        sqlite_dates.SQLITE,
        sqlite_json.SQLITE,
        sqlite_texts.SQLITE,
    ),
    "duckdb": _merged(numeric.DUCKDB, text.DUCKDB, temporal.DUCKDB, bits.DUCKDB, duckdb_dates.DUCKDB),
}
_MARIADB = _merged(_FUNCTIONS["mysql"], mariadb_json.MARIADB, mariadb_writing.MARIADB)
_WIDEST: Mapping[str, Table] = {**_FUNCTIONS, "mysql": _MARIADB}
"""Of each dialect the functions of all its products."""
_ERRORS: dict[str, frozenset[str]] = {}
for _table in _WIDEST.values():
    for _name, _rules in _table.items():
        _ERRORS[_name] = _ERRORS.get(_name, frozenset()).union(*(rule.errors for rule in _rules))


def rules(dialect: Dialect) -> Table:
    """A product's functions by lower-case name."""
    return _MARIADB if dialect.product == "mariadb" else _FUNCTIONS[dialect.name]


def names(dialect: str) -> frozenset[str]:
    """The lower-case names of the functions of a dialect's products."""
    return frozenset(_WIDEST[dialect])


def errors_of(name: str) -> frozenset[str]:
    """The SQLSTATEs that a function of this name may raise, in any product; none for one that is not in the tables."""
    return _ERRORS.get(name, frozenset())


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
