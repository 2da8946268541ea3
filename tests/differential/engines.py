"""Runs one generated case on a real engine and in the interpreter and tells where they differ (DESIGN §10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.run import MemoryView, compile_statement, free_errors
from sql_semantics.values.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType
from tests.differential.generator import Generator, TableSpec


@dataclass(slots=True)
class Answer:
    """What a real engine said: rows (None for no result set), count, or the SQLSTATE of an error."""

    rows: list[tuple[Any, ...]] | None = None
    affected: int | None = None
    error: str | None = None


class Engine(Protocol):
    """A database under comparison."""

    name: str
    collation: str | None

    def create(self, table: TableSpec) -> None:
        """Create and fill a table afresh."""

    def run(self, sql: str) -> Answer:
        """Run one statement."""


@dataclass(slots=True)
class Tally:
    """How a run went."""

    statements: int = 0
    compared: int = 0
    errors: int = 0
    may: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


class Postgres:
    """PostgreSQL through psycopg; errors by SQLSTATE."""

    name = "postgres"
    collation: str | None = None

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def create(self, table: TableSpec) -> None:
        """Create and fill a table afresh."""
        self.connection.execute(f"DROP TABLE IF EXISTS {table.name}")
        self.connection.execute(table.ddl())
        marks = ", ".join("%s" for _ in table.columns)
        for row in table.rows:
            self.connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        import psycopg

        try:
            cursor = self.connection.execute(sql)
        except psycopg.Error as error:
            return Answer(error=error.sqlstate or "?????")
        if cursor.description is None:
            return Answer(affected=cursor.rowcount)
        rows = cursor.fetchall()
        return Answer(rows, None if sql.startswith("SELECT") else cursor.rowcount)


class DbApi:
    """SQLite or DuckDB through the DB-API; errors carry no SQLSTATE, so any error stands for any."""

    collation: str | None = None

    def __init__(self, name: str, connection: Any, error: type[Exception]) -> None:
        self.name = name
        self.connection = connection
        self.error = error

    def create(self, table: TableSpec) -> None:
        """Create and fill a table afresh."""
        self.connection.execute(f"DROP TABLE IF EXISTS {table.name}")
        self.connection.execute(table.ddl())
        marks = ", ".join("?" for _ in table.columns)
        for row in table.rows:
            self.connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)

    def run(self, sql: str) -> Answer:
        """Run one statement."""
        try:
            cursor = self.connection.execute(sql)
            rows = [tuple(row) for row in cursor.fetchall()]
        except self.error:
            return Answer(error="any")
        if sql.startswith("SELECT"):
            return Answer(rows)
        if self.name == "duckdb":
            return Answer(affected=rows[0][0])
        return Answer(affected=cursor.rowcount)


def shown(value: Any, scale: bool = True) -> str:
    """A value with everything that must agree: the family, and (with `scale`) the scale of a NUMERIC."""
    if isinstance(value, Decimal) and not scale:
        return f"n{value.normalize() if value else 0}"
    if isinstance(value, Decimal):
        return f"n{value if value else abs(value):f}"
    if isinstance(value, float):
        return f"f{value + 0.0!r}"
    return f"{type(value).__name__}:{value!r}"


def _typed(row: Sequence[Any], types: Sequence[SqlType], dialect: str, scale: bool = True) -> tuple[str, ...]:
    values = []
    for value, type_ in zip(row, types, strict=True):
        if dialect == "sqlite" and value is not None and type_.kind is Kind.BOOLEAN:
            value = bool(value)
        if isinstance(value, int) and not isinstance(value, bool) and type_.kind is Kind.NUMERIC:
            value = Decimal(value)
        values.append(shown(value, scale))
    return tuple(values)


def _rows_differ(result: ResultSet[Any], rows: list[tuple[Any, ...]], dialect: str, scale: bool) -> str | None:
    """Why these rows are no possible answer, or None."""
    ours = [_typed(row, result.types, dialect, scale) for row in result.rows]
    if rows and len(rows[0]) != len(result.types):
        return f"{len(rows[0])} columns, expected {len(result.types)}"
    theirs = [_typed(row, result.types, dialect, scale) for row in rows]
    end = len(ours) if result.limit is None else min(result.offset + result.limit, len(ours))
    start = min(result.offset, len(ours))
    if len(theirs) != max(end - start, 0):
        return f"{len(theirs)} rows, expected {max(end - start, 0)}"
    keys: list[Any] = result.keys if result.keys is not None else [0] * len(ours)
    position = 0
    while position < len(ours):
        after = position
        while after < len(ours) and keys[after] == keys[position]:
            after += 1
        got = Counter(theirs[max(position - start, 0) : max(min(after, end) - start, 0)])
        possible = Counter(ours[position:after])
        if got - possible:
            return f"rows {dict(got - possible)} where {dict(possible)} are possible"
        position = after
    return None


def _compare(outcome: Outcome, answer: Answer, dialect: str, scale: bool) -> str | None:
    if answer.error is not None:
        return f"the engine failed with {answer.error}, the interpreter did not"
    if outcome.affected != answer.affected:
        return f"affected {answer.affected}, expected {outcome.affected}"
    if (answer.rows is None) != (not outcome.results):
        return "one has a result set, the other has none"
    if answer.rows is not None:
        return _rows_differ(outcome.results[0], answer.rows, dialect, scale)
    return None


class Case:
    """One schema with its data, in the engine and in a `MemoryView`."""

    def __init__(self, engine: Engine, generator: Generator) -> None:
        self.engine = engine
        self.generator = generator
        self.dialect = Dialect(engine.name, collation=engine.collation)
        ddl = [table.ddl() for table in generator.tables]
        self.catalog = Catalog(read_schema(ddl, self.dialect), {})
        for table in generator.tables:
            engine.create(table)
        self.load()

    def load(self) -> None:
        """Fill the view with what the engine holds."""
        self.view = MemoryView({name: self._stored(name) for name in self.catalog.tables})

    def _stored(self, table: str) -> list[tuple[Any, ...]]:
        types = [column.type for column in self.catalog.tables[table].columns]
        answer = self.engine.run(f"SELECT * FROM {table}")
        assert answer.rows is not None, answer
        stored = []
        for row in answer.rows:
            values = []
            for value, type_ in zip(row, types, strict=True):
                convert = caster(type_, type_, False, self.dialect) if type_.kind in (Kind.TEXT,) else None
                number = type_.kind in INTEGER_KINDS or value is None or convert is None
                values.append(value if number else convert(value))  # type: ignore[misc]
            stored.append(tuple(values))
        return stored

    def step(self, sql: str, tally: Tally) -> None:
        """Run one statement on both sides; a difference goes into the tally."""
        tally.statements += 1
        predicted: SqlError | None = None
        free: frozenset[str] = frozenset()
        outcome: Outcome | None = None
        try:
            bound = bind(sql, None, self.catalog, self.dialect)
            free = free_errors(bound.statement, self.catalog)
            outcome = compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ())
        except SqlError as error:
            predicted = error
        except Unsupported as error:
            tally.unsupported[error.construct] += 1
            self.engine.run(sql)
            if not sql.startswith("SELECT"):
                self.load()
            return
        answer = self.engine.run(sql)
        tally.compared += 1
        problem: str | None = None
        if answer.error is not None and (answer.error in free or (answer.error == "any" and free)):
            tally.may += 1
            self.load()
            return
        if predicted is not None:
            tally.errors += 1
            if answer.error is None and predicted.may:
                tally.may += 1
            elif answer.error is None:
                problem = f"the interpreter failed with {predicted}, the engine did not"
            elif answer.error[:2] == predicted.sqlstate[:2] == "42":
                pass  # several mistakes in one statement: which one is reported is not modelled
            elif answer.error not in (predicted.sqlstate, "any"):
                problem = f"the engine failed with {answer.error}, the interpreter with {predicted}"
        elif outcome is not None:
            # Which of several equal numbers of different scale stands for a group is the engine's choice.
            chosen = any(word in sql for word in ("MIN(", "MAX(", "GROUP BY", "DISTINCT "))
            problem = _compare(outcome, answer, self.engine.name, not chosen)
        if problem is None and not sql.startswith("SELECT") and not (predicted is not None and predicted.may):
            problem = self.state_difference()
        if problem is not None:
            setup = "; ".join(t.ddl() for t in self.generator.tables)
            tally.differences.append(f"{problem}\n    {sql}\n    {setup}")
        if problem is not None or (predicted is not None and predicted.may):
            self.load()

    def state_difference(self) -> str | None:
        """How the tables differ, or None."""
        for name, table in self.catalog.tables.items():
            types = [column.type for column in table.columns]
            theirs = Counter(_typed(row, types, self.engine.name) for row in self._stored(name))
            ours = Counter(_typed(row, types, self.engine.name) for row in self.view.rows(name))
            if ours != theirs:
                return f"table {name}: engine {dict(theirs - ours)}, interpreter {dict(ours - theirs)}"
        return None


def run_cases(engine: Engine, seed: int, statements: int, per_case: int = 20) -> Tally:
    """`statements` generated statements, a fresh schema every `per_case`."""
    tally = Tally()
    number = 0
    while tally.statements < statements:
        case = Case(engine, Generator(seed * 1_000_000 + number, engine.name))
        number += 1
        for _ in range(per_case):
            case.step(case.generator.statement(), tally)
    return tally
