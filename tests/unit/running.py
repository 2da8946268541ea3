"""Short hands for tests of the concrete runtime: SQL text in, outcome out. Knows no expectation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sql_semantics.frontend import bind, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect


class Database:
    """A schema, its rows in memory and a dialect."""

    def __init__(self, dialect: Dialect, schema: Sequence[str], procedures: Sequence[str] = ()) -> None:
        tables = read_schema(schema, dialect)
        self.dialect = dialect
        self.catalog = Catalog(tables, read_procedures(procedures, tables, dialect))
        self.view = MemoryView({name: [] for name in tables})

    def fill(self, table: str, rows: Iterable[tuple[Any, ...]]) -> Database:
        """Add rows as they are."""
        for row in rows:
            self.view.insert(table, row)
        return self

    def run(self, sql: str, arguments: Sequence[Any] = (), kinds: Any = None) -> Outcome:
        """Bind, compile and run one statement."""
        bound = bind(sql, kinds, self.catalog, self.dialect)
        return compile_statement(bound.statement, self.catalog, self.dialect)(self.view, arguments)

    def rows(self, sql: str, arguments: Sequence[Any] = (), kinds: Any = None) -> list[tuple[Any, ...]]:
        """The rows of a query, before LIMIT."""
        return self.run(sql, arguments, kinds).results[0].rows

    def value(self, expression: str) -> Any:
        """The value of an expression without tables."""
        return self.rows(f"SELECT {expression}")[0][0]
