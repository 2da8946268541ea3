"""A first look at which rows an unknown initial state may have had: what the log's statements look up and
what their answers show.

Every transaction is run once on empty tables. What is looked up only where rows are found is missed here and found by
the search. Does not know what the rows hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, View
from troubadour.execution.initial.discovery import Discovery
from troubadour.execution.initial.naming import name_rows
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.problem.problem import Problem


class _EmptyTables:
    """A `View` without rows, which notes what is looked up."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self.savepoints: list[tuple[str, Mark]] = []

    rechecks = False
    locks = False
    apart = False

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""

    def suspend(self) -> Mark:
        """See `View`."""

    def resume(self, mark: Mark) -> None:
        """See `View`."""

    def current(self, table: str, row: object, values: Row, *, locks: bool = True) -> Row | None:
        """See `View`."""
        return values

    def scan(self, table: str) -> list[tuple[object, Row]]:
        """See `View`."""
        return []

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[object, Row]]:
        """See `View`."""
        if table in self._discovery.unknown:
            self._discovery.find(table, tuple(columns), key)
        return []

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[object, Row]]:
        """See `View`."""
        return self.lookup(table, columns, key)

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[tuple[object, Row]]:
        """See `View`."""
        return self.lookup(table, columns, key)

    def own(self, table: str) -> list[tuple[object, Row]]:
        """See `View`."""
        return []

    def update(self, table: str, row: object, values: Row) -> None:
        """See `View`."""

    def delete(self, table: str, row: object) -> None:
        """See `View`."""

    def insert(self, table: str, values: Row) -> object:
        """See `View`."""
        self.lookup(table, range(len(values)), values)
        return object()

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """See `View`."""
        raise Unsupported("a value that the DBMS chooses, in a first look")

    def savepoint(self) -> Mark:
        """See `View`."""

    def aside(self) -> View:
        """Itself."""
        return self

    def attempting(self, step: int) -> None:
        """See `View`."""

    def rollback(self, mark: Mark) -> None:
        """See `View`."""

    def choose(self, count: int, what: str) -> int:
        """See `View`."""
        return 0

    def arbitrary(self, what: str) -> None:
        """See `View`."""


def name_all_rows(problem: Problem) -> None:
    """Note the rows that the log's statements name. Raises Unsupported for keys that are not modelled."""
    if not problem.discovery.unknown:
        return
    for item, status in enumerate(problem.statuses):
        if status == "aborted":
            continue
        try:
            statements = problem.prepared(item).statements
        except UnsupportedStatement:
            continue
        for statement in statements:
            name_rows(statement, problem.discovery, problem.library.dialect)
            if statement.program is not None:
                with suppress(SqlError, Unsupported):
                    statement.program.run(_EmptyTables(problem.discovery), statement.arguments)
