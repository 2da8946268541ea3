"""One client connection whose transactions are logged as it saw them (CONTRACT §1; paper §3.1, outputs *o*).

Does not know the workload, nor any time but its own monotonic clock: commit timestamps are the sink's business, and
a snapshot timestamp is not logged, as PostgreSQL tells none (`now()` is the time of BEGIN, before the snapshot).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

import psycopg
from psycopg.pq import TransactionStatus

from troubadour.record.errors import ConnectionLost, RecordError
from troubadour.record.server import ISOLATION_LEVELS, Connection, one_line
from troubadour.record.sink import LogSink, transaction_line
from troubadour.record.values import row_to_json
from troubadour.record.workload import Answer

COUNTED = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
"""Command tags whose row count is an observation of its own."""


def monotonic_us() -> int:
    """The client's monotonic clock in whole microseconds."""
    return time.monotonic_ns() // 1000


class RecordedSession:
    """A session of one connection: `begin`, any number of `execute`, then `commit` or `rollback`, again and again.

    Not for several threads at once. Transaction ids are ``<name>-<n>``. A broken connection raises ConnectionLost from
    whatever call met it; the transaction is then logged already, and the session is over.
    """

    def __init__(self, connection: Connection, name: str, isolation: str, sink: LogSink) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._name = name
        self._begin = b"BEGIN ISOLATION LEVEL " + ISOLATION_LEVELS[isolation].encode()
        self._sink = sink
        self._count = 0
        self._invoked = 0
        self._statements: list[dict[str, object]] = []

    def begin(self) -> None:
        """Start a transaction at the session's isolation level."""
        self._statements = []
        self._invoked = monotonic_us()
        try:
            self._cursor.execute(self._begin)
        except psycopg.Error as error:
            if self._connection.closed:
                raise ConnectionLost(f"session {self._name}: lost at BEGIN: {one_line(error)}") from error
            raise
        self._count += 1

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run and log one statement, with ``$1`` placeholders.

        An error of the server is logged and raised as psycopg's; the caller must then roll back (to a savepoint, or
        all). Raises RecordError for what the log cannot hold; roll back then too.
        """
        entry: dict[str, object] = {"sql": sql}
        if params:
            entry["params"] = row_to_json(params)
        cursor = self._cursor
        entry["invoked"] = monotonic_us()
        try:
            cursor.execute(sql.encode(), params or None)
            rows = cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            entry["returned"] = monotonic_us()
            if error.sqlstate is not None:
                entry["error"] = error_json(error)
            elif self._connection.closed:
                entry["outcome"] = "unknown"
            else:
                raise  # psycopg's own refusal: the statement was not sent
            self._statements.append(entry)
            if self._connection.closed:
                self._lost("aborted", error, None)
            raise
        entry["returned"] = monotonic_us()
        if cursor.nextset():
            raise RecordError(f"session {self._name}: more than one SQL statement in one execute")
        affected = None
        if cursor.description is not None:
            columns = [column.name for column in cursor.description]
            entry["result"] = {"columns": columns, "rows": [row_to_json(row) for row in rows]}
        if (cursor.statusmessage or "").partition(" ")[0] in COUNTED:
            affected = entry["affected"] = cursor.rowcount
        self._statements.append(entry)
        return Answer(rows, affected)

    def commit(self) -> bool:
        """End the transaction with COMMIT. False where the server answered ROLLBACK, as it does after an error.

        An error in place of the answer is logged as the end of an aborted transaction and raised; if the connection
        broke meanwhile, the transaction is logged as unknown and ConnectionLost raised.
        """
        cursor = self._cursor
        xid: str | None = None
        if self._connection.info.transaction_status == TransactionStatus.INTRANS:
            xid = self._assigned_xid()
        if xid is not None:
            self._sink.intent(self._line("unknown", {"invoked": monotonic_us()}, None))
        invoked = monotonic_us()
        try:
            cursor.execute(b"COMMIT")
        except psycopg.Error as error:
            if self._connection.closed:
                self._lost("unknown", error, {"invoked": invoked})
            self._put("aborted", {"invoked": invoked, "returned": monotonic_us(), "error": error_json(error)}, None)
            raise
        end = {"invoked": invoked, "returned": monotonic_us()}
        committed = cursor.statusmessage == "COMMIT"
        self._put("committed" if committed else "aborted", end, xid if committed else None)
        return committed

    def rollback(self) -> None:
        """End the transaction with ROLLBACK."""
        invoked = monotonic_us()
        try:
            self._cursor.execute(b"ROLLBACK")
        except psycopg.Error as error:
            if self._connection.closed:
                self._lost("aborted", error, {"invoked": invoked})
            raise
        self._put("aborted", {"invoked": invoked, "returned": monotonic_us()}, None)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _assigned_xid(self) -> str | None:
        """The transaction's id if it has written; not logged."""
        try:
            found = self._cursor.execute(b"SELECT pg_current_xact_id_if_assigned()::text").fetchone()
        except psycopg.Error as error:
            if self._connection.closed:
                self._lost("aborted", error, None)
            raise
        xid = found[0] if found is not None else None
        return xid if xid is None else str(xid)

    def _line(self, status: str, end: Mapping[str, object] | None, returned: int | None) -> dict[str, object]:
        return transaction_line(self._name, self._count, status, self._invoked, self._statements, end, returned)

    def _put(self, status: str, end: Mapping[str, object], xid: str | None) -> None:
        self._sink.put(self._line(status, end, monotonic_us()), xid)

    def _lost(self, status: str, error: psycopg.Error, end: Mapping[str, object] | None) -> NoReturn:
        # No answer came: neither `returned` nor the error that the client library made up is an observation.
        self._sink.put(self._line(status, end, None), None)
        raise ConnectionLost(f"session {self._name}: connection lost: {one_line(error)}") from error


def error_json(error: psycopg.Error) -> dict[str, object]:
    """A server's error as the log writes it."""
    return {"sqlstate": error.sqlstate, "message": one_line(error)}
