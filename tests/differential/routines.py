"""Runs scripts of calls of stored routines on a real engine and in the interpreter.

A script is a schema with rows and cases: a routine and statements. Answers, errors and the tables after every
statement must agree. Does not know what the routines do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from sql_semantics.errors import SqlError
from sql_semantics.frontend import bind, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.dialect import Dialect

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True)
class Script:
    """Statements that make the tables, and routines with the statements that call them."""

    schema: tuple[str, ...]
    cases: tuple[tuple[str, tuple[str, ...]], ...]


def read_script(name: str) -> Script:
    """A file of the folder `scripts`: paragraphs, the first with the schema, lines that start with > are statements."""
    paragraphs = [part for part in (SCRIPTS / name).read_text(encoding="utf-8").split("\n\n") if part[:1] != "#"]
    schema = tuple(text.strip() for text in paragraphs[0].split(";") if text.strip())
    cases = []
    for part in paragraphs[1:]:
        lines = part.strip().splitlines()
        routine = "\n".join(line for line in lines if not line.startswith("> "))
        cases.append((routine, tuple(line[2:] for line in lines if line.startswith("> "))))
    return Script(schema, tuple(cases))


@dataclass(slots=True)
class Reply:
    """What one statement answered: its result sets, or the SQLSTATE of its error (`may`: of one that need not come)."""

    results: list[list[tuple[Any, ...]]]
    error: str | None = None
    may: bool = False


class Engine(Protocol):
    """A real database."""

    dialect: str

    def prepare(self, schema: Sequence[str], routines: Sequence[str]) -> None:
        """Make everything anew."""

    def run(self, sql: str) -> Reply:
        """Run one statement, a transaction of its own."""


class PostgresEngine:
    """PostgreSQL through psycopg, autocommitting."""

    dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def prepare(self, schema: Sequence[str], routines: Sequence[str]) -> None:
        """Make everything anew."""
        self.connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        self.connection.execute("CREATE SCHEMA public")
        for text in [*schema, *routines]:
            self.connection.execute(text)

    def run(self, sql: str) -> Reply:
        """Run one statement."""
        import psycopg

        try:
            cursor = self.connection.execute(sql)
        except psycopg.Error as error:
            return Reply([], error.sqlstate or "?????")
        return Reply([] if cursor.description is None else [cursor.fetchall()])


class MariaEngine:
    """MariaDB through PyMySQL, autocommitting."""

    dialect = "mysql"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def prepare(self, schema: Sequence[str], routines: Sequence[str]) -> None:
        """Make everything anew."""
        with self.connection.cursor() as cursor:
            for text in ["DROP DATABASE IF EXISTS routines", "CREATE DATABASE routines", "USE routines"]:
                cursor.execute(text)
            for text in [*schema, *routines]:
                cursor.execute(text)

    def run(self, sql: str) -> Reply:
        """Run one statement."""
        import pymysql

        results = []
        with self.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                while True:
                    if cursor.description is not None:
                        results.append(list(cursor.fetchall()))
                    if not cursor.nextset():
                        return Reply(results)
            except pymysql.MySQLError as error:
                return Reply([], error.sqlstate or "?????")


class Ours:
    """The interpreter on a view of its own. A failed statement leaves nothing behind; in MySQL a failed CALL does."""

    def __init__(self, dialect: Dialect, schema: Sequence[str], routines: Sequence[str]) -> None:
        self.dialect = dialect
        tables = read_schema([text for text in schema if text.upper().startswith("CREATE")], dialect)
        self.catalog = Catalog(tables, read_procedures(routines, tables, dialect))
        self.view = MemoryView({name: [] for name in tables})
        for text in schema:
            if not text.upper().startswith("CREATE"):
                self.run(text)

    def run(self, sql: str) -> Reply:
        """Run one statement."""
        mark = self.view.savepoint()
        try:
            bound = bind(sql, None, self.catalog, self.dialect)
            outcome = compile_statement(bound.statement, self.catalog, self.dialect)(self.view, ())
        except SqlError as error:
            if self.dialect.name != "mysql" or not sql.upper().startswith("CALL"):
                self.view.rollback(mark)
            return Reply([], error.sqlstate, error.may)
        return Reply([cut(result, None) for result in outcome.results])


def plain(rows: Sequence[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    """Rows as they are compared: numbers by value and scale, without order or trailing blanks."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"n{value if value else abs(value):f}"
    if isinstance(value, str):
        return value.rstrip(" ")  # CHAR is stored without its padding here
    return f"b{int(value)}" if isinstance(value, bool) else value


def differences(engine: Engine, schema: Sequence[str], routines: Sequence[str], calls: Sequence[str]) -> list[str]:
    """Where the engine and the interpreter disagree. Raises what the front end refuses."""
    engine.prepare(schema, routines)
    return run_both(engine, Ours(Dialect(engine.dialect, collation="C"), schema, routines), calls)


def run_both(engine: Engine, ours: Ours, calls: Sequence[str]) -> list[str]:
    """Where they disagree on these statements; nothing is compared after tables that differ."""
    found = []
    for sql in calls:
        theirs, mine = engine.run(sql), ours.run(sql)
        if mine.may and theirs.error != mine.error:
            return found  # it came to what follows, which has no error or another one
        same = theirs.error == mine.error and list(map(plain, theirs.results)) == list(map(plain, mine.results))
        if not same:
            found.append(f"{sql}\n  engine: {theirs}\n  ours:   {mine}")
        for table in (name for name, one in ours.catalog.tables.items() if one.query is None):
            (stored,) = engine.run(f"SELECT * FROM {table}").results
            if plain(stored) != plain(ours.view.rows(table)):
                return [*found, f"{sql}\n  table {table}: engine {stored}\n  ours: {ours.view.rows(table)}"]
    return found
