"""Which operators and functions there are for which types: as PostgreSQL says, or refused by name (PostgreSQL 10).

A call that we say does not exist, and that PostgreSQL runs, would accuse an innocent log.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions import rules

POSTGRES = Dialect("postgres", collation="C")
COLUMNS = dict(
    (
        *(("s", "smallint"), ("i", "integer"), ("b", "bigint"), ("n", "numeric"), ("n2", "numeric(10,2)")),
        *(("r", "real"), ("d", "double precision"), ("bo", "boolean"), ("c", "char(3)"), ("vc", "varchar(5)")),
        *(("t", "text"), ("da", "date"), ("ti", "time"), ("ts", "timestamp"), ("tz", "timestamptz")),
        *(("iv", "interval"), ("by", "bytea"), ("u", "uuid"), ("j", "json")),
    )
)
TERMS = (*COLUMNS, "'1'", "NULL", "1", "1.5")
TABLE = f"CREATE TABLE o ({', '.join(f'{name} {type_}' for name, type_ in COLUMNS.items())})"
OPERATORS = (
    *("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "&", "|", "#", "<<", ">>", "IS DISTINCT FROM", "LIKE"),
    *("ILIKE", "NOT LIKE"),
)
AGGREGATES = ("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every")
OF_TWO = (
    "coalesce({}, {})",
    "nullif({}, {})",
    "greatest({}, {})",
    "CASE WHEN bo THEN {} ELSE {} END",
    "string_agg({}, {})",
)
PARSED = frozenset({"extract", "position"})
"""The parser reads these without their keywords as well; PostgreSQL knows no such syntax."""


def expressions(triples: int) -> Iterator[str]:
    """Every operator and function of the tables over every type; `triples` calls of three arguments per function."""
    pairs = list(itertools.product(TERMS, repeat=2))
    for operator in OPERATORS:
        yield from (f"{left} {operator} {right}" for left, right in pairs)
    for form in OF_TWO:
        yield from (form.format(left, right) for left, right in pairs)
    for operator in ("-", "+", "NOT", "~", "@"):
        yield from (f"{operator} {term}" for term in TERMS)
    for aggregate in AGGREGATES:
        yield from (f"{aggregate}({term})" for term in TERMS)
    yield from (f"CAST({term} AS {type_})" for term in TERMS for type_ in COLUMNS.values())
    yield from (f"extract({field} FROM {term})" for term in TERMS for field in ("year", "epoch", "hour", "dow"))
    random_ = random.Random(17)
    of_three = list(itertools.product(TERMS, repeat=3))
    for name in sorted(rules(POSTGRES)):
        if name.replace("_", "").isalpha() and name not in PARSED:
            yield f"{name}()"
            yield from (f"{name}({term})" for term in TERMS)
            yield from (f"{name}({left}, {right})" for left, right in pairs)
            yield from (f"{name}({', '.join(given)})" for given in random_.sample(of_three, triples))


def ours(query: str, catalog: Catalog) -> str | None:
    """The SQLSTATE, empty for success; None for what is refused by name."""
    try:
        bind(query, (), catalog, POSTGRES)
    except SqlError as error:
        return error.sqlstate
    except Unsupported:
        return None
    return ""


def when_run(query: str) -> str | None:
    """The SQLSTATE of a query that is bound once what is constant in it is computed, empty for success; None for what
    is refused by name."""
    try:
        SqlLibrary(POSTGRES, [TABLE]).program(query, ()).run(MemoryView({"o": []}), ())
    except SqlError as error:
        return error.sqlstate
    except Unsupported:
        return None
    return ""


def differences(postgres: Any, drawn: list[str]) -> tuple[list[str], int]:
    """What the two say differently, and how many were compared."""
    postgres.execute(TABLE)
    catalog = Catalog(read_schema([TABLE], POSTGRES))
    found, compared = [], 0
    for expression in drawn:
        query = f"SELECT {expression} FROM o"
        mine = ours(query, catalog)
        if mine is None:
            continue
        compared += 1
        try:
            postgres.execute(query)
            theirs = ""
        except psycopg.Error as error:
            theirs = error.sqlstate or "none"
        if not mine and theirs:
            mine = when_run(query)
        if mine is not None and mine != theirs:
            found.append(f"{expression}: {mine or 'accepted'}, in PostgreSQL {theirs or 'accepted'}")
    return found, compared


def test_a_sample_of_calls_exists_as_in_postgres(postgres: Any) -> None:
    drawn = random.Random(3).sample(list(expressions(60)), 2_800)
    found, compared = differences(postgres, drawn)
    assert not found, found
    assert compared > 950


@pytest.mark.slow
def test_every_call_exists_as_in_postgres(postgres: Any) -> None:
    found, compared = differences(postgres, list(expressions(400)))
    assert not found, found
    assert compared > 20_000
