"""A session that a workload drives on a psycopg connection, recorded or not: begin, execute, commit, rollback.

Does not know the workload, nor whether anybody keeps a log: a `RecordedConnection` does that by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from troubadour.record.errors import ConnectionLost
from troubadour.record.runs.workload import Answer
from troubadour.record.servers.server import ISOLATION_LEVELS, one_line
from troubadour.record.values import adapt

COUNTED = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
"""Command tags whose row count is an observation of its own."""


class PostgresSession:
    """A session of one connection, at the level that `isolation` (of `ISOLATION_LEVELS`) says: any number of `execute`,
    then `commit` or `rollback`, again and again. Statements have ``$1`` placeholders.

    Not for several threads at once. Errors of the server are psycopg's; a broken connection raises ConnectionLost from
    whatever call met it, and the session is over.
    """

    def __init__(self, connection: psycopg.Connection[Any], name: str, isolation: str) -> None:
        connection.isolation_level = psycopg.IsolationLevel[ISOLATION_LEVELS[isolation].replace(" ", "_")]
        adapt(connection)
        self._connection = connection
        self._cursor = connection.cursor()
        self._name = name

    def begin(self) -> None:
        """Nothing: psycopg begins by itself with the first statement."""

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run one statement. After an error of the server the caller must roll back, to a savepoint or all."""
        cursor = self._cursor
        try:
            cursor.execute(sql.encode(), params or None)
            rows = cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            self._lost(error)
            raise
        counted = (cursor.statusmessage or "").partition(" ")[0] in COUNTED
        return Answer(rows, cursor.rowcount if counted else None)

    def commit(self) -> bool:
        """End the transaction with COMMIT. False where the server answered ROLLBACK, as it does after an error."""
        connection = self._connection
        failed = connection.info.transaction_status == TransactionStatus.INERROR
        try:
            connection.commit()
        except psycopg.Error as error:
            self._lost(error)
            raise
        return not failed

    def rollback(self) -> None:
        """End the transaction with ROLLBACK."""
        try:
            self._connection.rollback()
        except psycopg.Error as error:
            self._lost(error)
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _lost(self, error: psycopg.Error) -> None:
        if self._connection.closed:
            raise ConnectionLost(f"session {self._name}: connection lost: {one_line(error)}") from error
