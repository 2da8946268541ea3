"""The order of commits in the write-ahead log, by logical decoding (`wal_level = logical`; issue 5): a hint, as commit
times are, since two commits can become visible in the other order.

A temporary slot and a publication are made when recording begins, and are gone after it. Does not know what changed.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg import sql

from troubadour.record.errors import RecordError
from troubadour.record.servers.server import Connection, connect, one_line

PERIOD = 1.0
"""Seconds between two readings: the server keeps its log until it is read."""
PATIENCE = 2.0
"""Seconds to wait for a commit record to reach the disk, as it may take without synchronous_commit."""

_CHANGES = (
    "SELECT data FROM pg_logical_slot_get_binary_changes($1, NULL, NULL, 'proto_version', '1', 'publication_names', $2)"
    " WHERE get_byte(data, 0) = 66"
)
"""The Begin messages: the place of the commit record (8 bytes), its time (8), the transaction's id (4)."""

_NAMELESS = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r'"
    " AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND (c.relreplident = 'n'"
    " OR c.relreplident = 'd' AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))"
    " ORDER BY 1 LIMIT 1"
)


class WalOrder:
    """A `journal.Lookup` that gives places in the write-ahead log. Raises RecordError where the server does not allow
    it; a table without a primary key is refused, as PostgreSQL would refuse its updates while it is published."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._name = f"troubadour_{secrets.token_hex(6)}"
        self._places: dict[int, int] = {}
        self._lock = threading.Lock()
        self._connection: Connection = connect(dsn)
        try:
            self._begin()
        except BaseException:
            self._connection.close()
            raise
        self._over = threading.Event()
        threading.Thread(target=self._follow, name="troubadour-wal", daemon=True).start()

    def _begin(self) -> None:
        ask = self._connection.execute
        row = ask(b"SELECT pg_is_in_recovery()").fetchone()
        if row is None or row[0]:
            raise RecordError("commit_order='wal' needs the primary: this server is a standby, in recovery")
        row = ask(b"SHOW wal_level").fetchone()
        if row is None or row[0] != "logical":
            raise RecordError("commit_order='wal' needs ALTER SYSTEM SET wal_level = logical, and a restart")
        nameless = ask(_NAMELESS.encode()).fetchone()
        if nameless is not None:
            raise RecordError(
                f"commit_order='wal': table {nameless[0]} has no primary key, and PostgreSQL would refuse its updates"
            )
        try:
            ask(sql.SQL("CREATE PUBLICATION {} FOR ALL TABLES").format(sql.Identifier(self._name)))
            ask(b"SELECT pg_create_logical_replication_slot($1, 'pgoutput', true)", (self._name,))
        except psycopg.Error as error:
            self._drop()
            raise RecordError(f"commit_order='wal': {one_line(error)}") from error

    def _follow(self) -> None:
        while not self._over.wait(PERIOD):
            with self._lock, suppress(psycopg.Error):  # told when the places are asked for
                self._read()

    def __call__(self, tickets: Sequence[tuple[str, str | None]]) -> Sequence[int | None]:
        """The place of each transaction's commit record; None for one that changed no table."""
        wanted = [int(xid) & 0xFFFFFFFF for xid, _ in tickets]
        with self._lock:
            deadline = time.monotonic() + PATIENCE
            try:
                while True:
                    self._read()
                    if all(xid in self._places for xid in wanted) or time.monotonic() > deadline:
                        return [self._places.pop(xid, None) for xid in wanted]
                    time.sleep(0.05)
            except psycopg.Error as error:
                raise RecordError(
                    f"{len(tickets)} transactions are logged without commit order: {one_line(error)}"
                ) from error

    def _read(self) -> None:
        for (data,) in self._connection.execute(_CHANGES.encode(), (self._name, self._name)):
            assert isinstance(data, bytes)
            self._places[int.from_bytes(data[17:21], "big")] = int.from_bytes(data[1:9], "big")

    def close(self) -> None:
        """Remove slot and publication."""
        self._over.set()
        with self._lock:
            self._close()

    def _close(self) -> None:
        if not self._connection.closed:
            self._drop()
            self._connection.close()

    def _drop(self) -> None:
        self._connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(self._name)))
