"""Runs scripts of calls of stored routines on a real engine and in the interpreter (DESIGN §10).

A script is a schema with rows, routines, and statements; answers and the tables after every statement must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from sql_semantics.errors import SqlError
from sql_semantics.frontend import bind, read_procedures, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.run.order import cut
from sql_semantics.values.dialect import Dialect


@dataclass(slots=True)
class Reply:
    """What one statement answered: its result sets, or the SQLSTATE of its error."""

    results: list[list[tuple[Any, ...]]]
    error: str | None = None


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
            return Reply([], error.sqlstate)
        return Reply([cut(result) for result in outcome.results])

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """A table's rows."""
        return self.view.rows(table)


def plain(rows: Sequence[Sequence[Any]], ordered: bool = False) -> object:
    """Rows as they are compared: numbers by value and scale, without order."""
    shown = [tuple(_plain(value) for value in row) for row in rows]
    return shown if ordered else Counter(shown)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"n{value if value else abs(value):f}"
    if isinstance(value, bool):
        return f"b{int(value)}"
    return value


def differences(engine: Engine, schema: Sequence[str], routines: Sequence[str], calls: Sequence[str]) -> list[str]:
    """Where the engine and the interpreter disagree."""
    engine.prepare(schema, routines)
    ours = Ours(Dialect(engine.dialect, collation="C"), schema, routines)
    found = []
    for sql in calls:
        theirs, mine = engine.run(sql), ours.run(sql)
        if theirs.error != mine.error:
            found.append(f"{sql}\n  engine: {theirs.error or theirs.results}\n  ours:   {mine.error or mine.results}")
        elif [plain(rows) for rows in theirs.results] != [plain(rows) for rows in mine.results]:
            found.append(f"{sql}\n  engine: {theirs.results}\n  ours:   {mine.results}")
        for table in ours.catalog.tables:
            stored = engine.run(f"SELECT * FROM {table}").results[0]
            if plain(stored) != plain(ours.rows(table)):
                found.append(f"{sql}\n  table {table}: engine {stored}\n  ours {ours.rows(table)}")
                return found
    return found


__all__ = ["Engine", "Ours", "Outcome", "PostgresEngine", "Reply", "differences", "plain"]
