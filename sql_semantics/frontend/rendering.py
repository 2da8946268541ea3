"""Statements, tables and rows in words of our own, for an engine that is asked what they mean.

A statement is taken apart by the parser, its parameters are put in as literals, and it is written anew: the engine
never sees a log's text. Only what is modelled may be rendered. Does not know engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import parse_one
from sql_semantics.ir.schema import Table
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SQLITE_ANY, SQLITE_DATE, SQLITE_NUMERIC, Kind, SqlType, Value

Params = Sequence[Any] | Mapping[str, Any] | None

_SHARE_MODE = re.compile(r"\bLOCK\s+IN\s+SHARE\s+MODE\b", re.I)


def render_statement(sql: str, params: Params, dialect: Dialect) -> str:
    """A statement with its parameters in it. Raises Unsupported for what cannot be taken apart, or has no literal."""
    named = isinstance(params, Mapping)
    found = rewrite(sql, dialect.name, positional=params is not None and not named, named=named)
    tree = parse_one(found.text, dialect.name)
    values: dict[int | str, Any] = dict(enumerate(params or ()))
    if isinstance(params, Mapping):
        for name, value in params.items():
            values[name] = value
    for place in list(tree.find_all(exp.Placeholder)):
        key = found.keys[str(place.this)]
        place.replace(_literal(values[key]))
    if _SHARE_MODE.search(sql):
        # as it was written: MariaDB has no FOR SHARE
        for lock in list(tree.find_all(exp.Lock)):
            if not (lock.args.get("update") or lock.args.get("wait") or lock.expressions):
                lock.replace(exp.var("LOCK IN SHARE MODE"))
    return tree.sql(dialect=dialect.name, comments=False)


def render_table(table: Table, dialect: Dialect) -> str:
    """CREATE TABLE with the columns and plain keys of a table, and no other constraint."""
    parts = [
        f"{quoted(column.name, dialect)} {_type(column.type, dialect)}{' NOT NULL' if column.not_null else ' NULL'}"
        if dialect.rules.definitions.columns_say_null
        else f"{quoted(column.name, dialect)} {_type(column.type, dialect)}{' NOT NULL' if column.not_null else ''}"
        for column in table.columns
    ]
    for key in table.keys:
        if key.plain:
            columns = ", ".join(quoted(table.columns[place].name, dialect) for place in key.columns)
            parts.append(f"{'PRIMARY KEY' if key.primary else 'UNIQUE'} ({columns})")
    return f"CREATE TABLE {quoted(table.name, dialect)} ({', '.join(parts)})"


def render_row(table: Table, row: Sequence[Value], dialect: Dialect) -> str:
    """INSERT of one row."""
    values = ", ".join(_literal(_written(value)).sql(dialect=dialect.name) for value in row)
    return f"INSERT INTO {quoted(table.name, dialect)} VALUES ({values})"


def quoted(name: str, dialect: Dialect) -> str:
    """A name as a quoted identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect.name)


def _type(type_: SqlType, dialect: Dialect) -> str:
    rules = dialect.rules.definitions
    if type_ in (SQLITE_NUMERIC, SQLITE_DATE):
        return "numeric" if type_ == SQLITE_NUMERIC else "datetime"
    if type_.kind is Kind.ANY:
        return "money" if type_ == SQLITE_ANY else ""
    if type_.kind is Kind.NUMERIC:
        return "numeric" if type_.precision is None else f"numeric({type_.precision}, {type_.scale or 0})"
    if type_.kind is Kind.TEXT:
        if type_.length is None or not rules.texts_have_lengths:
            return rules.text_type
        return f"{'char' if type_.padded else 'varchar'}({type_.length})"
    moment = rules.moment_types.get(type_.kind.value)
    if moment is not None:
        return moment if type_.precision is None else f"{moment}({type_.precision})"
    plain = rules.column_types.get(type_.kind.value)
    if plain is None:
        raise Unsupported(f"a column of type {type_}")
    return plain


def _written(value: Value) -> Any:
    """A value as a literal spells it."""
    match value:
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time() | UUID():
            return str(value)
        case bool() | int() | float() | Decimal() | str() | None:
            return value
    raise Unsupported(f"a literal of type {type(value).__name__}")


def _literal(value: Any) -> exp.Expr:
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | float() | Decimal():
            text = format(value, "f") if isinstance(value, Decimal) else repr(value)
            if not text.lstrip("-").replace(".", "").replace("e", "").replace("-", "").replace("+", "").isdigit():
                raise Unsupported("a literal of a number that is none")
            number = exp.Literal.number(text.lstrip("-"))
            return exp.Paren(this=exp.Neg(this=number)) if text.startswith("-") else number
        case str():
            return exp.Literal.string(value)
    raise Unsupported("a literal of an array or a redacted value")
