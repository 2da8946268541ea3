"""Types, casts, operators and functions agree with the real engines, value by value and error by error."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Protocol

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Interval, Kind, SqlType
from tests.differential.typed_expressions import Expressions, read_grammar
from troubadour.model.values import read_value
from troubadour.record.values import to_json

ROWS = 12
COLLATIONS = {"postgres": "C", "mysql": "utf8mb4_bin", "sqlite": None, "duckdb": None}


class Engine(Protocol):
    """A database under comparison; `ask` gives the one value, or the SQLSTATE (``any`` where there is none) as text."""

    name: str

    def execute(self, sql: str) -> None:
        """Run a statement that must succeed."""

    def ask(self, sql: str) -> tuple[Any, str | None]:
        """The value of a one-row, one-column query, and the error."""


class Server:
    """PostgreSQL (by SQLSTATE) or an embedded engine (any error stands for any)."""

    def __init__(self, name: str, connection: Any, error: type[Exception]) -> None:
        self.name = name
        self.connection = connection
        self.error = error

    def execute(self, sql: str) -> None:
        """Run a statement that must succeed."""
        self.connection.execute(sql)

    def ask(self, sql: str) -> tuple[Any, str | None]:
        """The value of a one-row, one-column query, and the error."""
        try:
            row = self.connection.execute(sql).fetchone()
        except self.error as error:
            return None, str(getattr(error, "sqlstate", None) or "any")
        return row[0], None


class MariaServer:
    """MariaDB through PyMySQL, by SQLSTATE."""

    name = "mysql"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, sql: str) -> None:
        """Run a statement that must succeed."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def ask(self, sql: str) -> tuple[Any, str | None]:
        """The value of a one-row, one-column query, and the error."""
        import pymysql

        with self.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                return cursor.fetchone()[0], None
            except pymysql.MySQLError as error:
                return None, error.sqlstate or "?????"


@dataclass(slots=True)
class Tally:
    """How a run went."""

    compared: int = 0
    errors: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def comparable(value: Any, type_: SqlType, dialect: str) -> object:
    """A value of ours or of the engine's, with everything that must agree."""
    if value is None:
        return None
    if isinstance(value, bool) or type_.kind is Kind.BOOLEAN:
        return bool(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value + 0.0)
    if isinstance(value, Interval) and dialect == "duckdb":
        return timedelta(days=value.months * 30 + value.days, microseconds=value.microseconds)
    if type_.kind is Kind.NUMERIC:
        value = value if value else abs(value)
        return f"{value:f}" if dialect == "postgres" else value
    return value.rstrip(" ") if type_.padded else value


def observed(value: Any, type_: SqlType, dialect: str) -> Any:
    """What an engine's driver gives, read through the log's form where that is a recorder's."""
    if value is None:
        return None
    if dialect == "postgres":
        return read_value(to_json(value), type_)
    if isinstance(value, timedelta) and type_.kind is Kind.TIME:
        return (datetime(2000, 1, 1) + value).time()
    if type_.kind is Kind.TIMESTAMPTZ and isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value
    if type_.kind in (Kind.DOUBLE, Kind.REAL) and isinstance(value, int):
        return value if dialect == "sqlite" else float(value)
    if isinstance(value, str) and type_.kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP):
        return read_value(value, type_)
    assert (
        isinstance(value, (bool, int, float, str, bytes, date, time, timedelta))
        or hasattr(value, "as_tuple")
        or (type_.kind is Kind.UUID)
    )
    return value


class Comparison:
    """One product's table of typed columns, in the engine and in memory."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.grammar = read_grammar(engine.name)
        self.dialect = Dialect(engine.name, collation=COLLATIONS[engine.name])
        ddl = self.grammar.ddl("typed")
        self.catalog = Catalog(read_schema([ddl], self.dialect))
        engine.execute("DROP TABLE IF EXISTS typed")
        engine.execute(ddl)
        self.view = MemoryView({"typed": []})
        for row in self.grammar.rows(ROWS):
            sql = f"INSERT INTO typed VALUES {row}"
            engine.execute(sql)
            self.run(sql)

    def run(self, sql: str) -> Any:
        """The outcome of a statement in the interpreter, and what it may raise anyway."""
        bound = bind(sql, None, self.catalog, self.dialect)
        free = free_errors(bound.statement, self.catalog, self.dialect.name)
        return compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ()), free

    def step(self, expression: str, row: int, tally: Tally) -> None:
        """Compare one expression on one row."""
        sql = f"SELECT {expression} FROM typed WHERE k = {row}"
        try:
            outcome, free = self.run(sql)
            ours, failure = outcome.results[0].rows[0][0], None
            type_ = outcome.results[0].types[0]
        except SqlError as error:
            ours, failure, type_, free = None, error, SqlType(Kind.NULL), frozenset()
        except Unsupported as refusal:
            tally.unsupported[refusal.construct] += 1
            return
        value, error = self.engine.ask(sql)
        tally.compared += 1
        problem = self._difference(ours, failure, type_, value, error, free)
        if problem is not None:
            tally.differences.append(f"{problem}\n    {sql}")

    def _difference(
        self, ours: Any, failure: SqlError | None, type_: SqlType, value: Any, error: str | None, free: frozenset[str]
    ) -> str | None:
        if error is not None:
            if failure is None:
                return (
                    None
                    if error in free or (error == "any" and free)
                    else f"the engine failed with {error}, the interpreter gave {ours!r}"
                )
            alike = error in ("any", failure.sqlstate) or error[:2] == failure.sqlstate[:2] == "42" or error in free
            return None if alike or failure.may else f"the engine failed with {error}, the interpreter with {failure}"
        if failure is not None:
            return None if failure.may else f"the interpreter failed with {failure}, the engine gave {value!r}"
        name = self.engine.name
        try:
            seen = observed(value, type_, name)
        except ValueError as misfit:
            return f"{misfit} ({type_}), the interpreter gave {ours!r}"
        if comparable(seen, type_, name) != comparable(ours, type_, name):
            return f"the engine gave {seen!r}, the interpreter {ours!r} ({type_})"
        return None


def compare(engine: Engine, seed: int, count: int) -> Tally:
    """`count` comparisons; expressions that are refused come on top."""
    tally, comparison, source = Tally(), Comparison(engine), Expressions(read_grammar(engine.name), seed)
    rows = random.Random(seed)
    while tally.compared < count:
        comparison.step(source.expression(), rows.randrange(ROWS), tally)
    return tally


def check(tally: Tally, seed: int) -> None:
    refused = sum(tally.unsupported.values())
    report = f"seed {seed}: {len(tally.differences)} differences, {refused} refused\n" + "\n".join(
        tally.differences[:10]
    )
    assert not tally.differences, report
    assert refused < 3 * tally.compared, tally.unsupported.most_common(20)


@pytest.fixture
def engines(postgres: Any) -> dict[str, Engine]:
    """The embedded engines that are installed."""
    import sqlite3

    import psycopg

    from troubadour.record.values import adapt

    adapt(postgres)
    found: dict[str, Engine] = {"postgres": Server("postgres", postgres, psycopg.Error)}
    found["sqlite"] = Server("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    try:
        import duckdb

        found["duckdb"] = Server("duckdb", duckdb.connect(), duckdb.Error)
    except ImportError:
        pass
    return found


@pytest.mark.parametrize("name", ["postgres", "sqlite", "duckdb"])
def test_expressions_agree(engines: dict[str, Engine], name: str) -> None:
    if name not in engines:
        pytest.skip(f"{name} is not installed")
    check(compare(engines[name], 20, 400), 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["postgres", "sqlite", "duckdb"])
def test_expressions_agree_at_length(engines: dict[str, Engine], name: str) -> None:
    if name not in engines:
        pytest.skip(f"{name} is not installed")
    seed = random.randrange(1, 10**6)
    check(compare(engines[name], seed, 20_000), seed)


def test_expressions_agree_in_mariadb(mariadb: Any) -> None:
    check(compare(MariaServer(mariadb[0]), 20, 400), 20)


@pytest.mark.slow
def test_expressions_agree_at_length_in_mariadb(mariadb: Any) -> None:
    seed = random.randrange(1, 10**6)
    check(compare(MariaServer(mariadb[0]), seed, 20_000), seed)
