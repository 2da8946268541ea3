"""A lost update, made on a PostgreSQL: two sessions read one balance, and each writes what it computed from it.

The statements of both are sent in one fixed turn, so that none waits for a lock. Does not know how the log is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

import psycopg

from troubadour.record.core.journal import close_all
from troubadour.record.errors import RecordError
from troubadour.record.postgres.connection import RecordedConnection
from troubadour.record.servers.server import one_line

SETUP = (
    "DROP TABLE IF EXISTS accounts",
    "CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT NOT NULL, balance NUMERIC(12,2) NOT NULL)",
    "INSERT INTO accounts VALUES (1, 'Ada', 100.00), (2, 'Grace', 100.00)",
)
DEPOSITS = {"c1": Decimal("10.00"), "c2": Decimal("25.00")}
"""What each session pays in, by the names that a log has for its first two connections."""

Told = Callable[[str, str, str], None]
"""Hears of each statement: its session, its text, and what the server answered."""


class _Session:
    """A recorded connection, all of whose statements are told."""

    def __init__(self, name: str, connection: RecordedConnection, told: Told) -> None:
        self._name, self._connection, self._told = name, connection, told

    def read(self) -> Decimal:
        """The balance of account 1."""
        sql = "SELECT balance FROM accounts WHERE id = 1"
        row = self._connection.execute(sql).fetchone()
        assert row is not None
        self._told(self._name, sql, str(row[0]))
        return Decimal(row[0])

    def write(self, balance: Decimal) -> None:
        """Set the balance of account 1 and commit, or roll back where the server refuses it."""
        sql = f"UPDATE accounts SET balance = {balance} WHERE id = 1"
        try:
            self._connection.execute(sql.encode())
        except psycopg.errors.SerializationFailure as error:
            self._told(self._name, sql, f"ERROR {error.sqlstate}: {error.diag.message_primary}")
            self._connection.rollback()
            self._told(self._name, "ROLLBACK", "done")
        else:
            self._told(self._name, sql, "1 row")
            self.commit()

    def commit(self) -> None:
        """End the transaction."""
        self._connection.commit()
        self._told(self._name, "COMMIT", "done")


def lose_update(dsn: str, log: Path, level: str, told: Told) -> Decimal:
    """Pay into one account from two sessions at once at a `level` of the product's, recorded; the balance at the end.
    The database's table `accounts` is dropped and made anew. Raises RecordError; that the second write is refused is no
    error."""
    try:
        with psycopg.connect(dsn, autocommit=True) as setup:
            for sql in SETUP:
                setup.execute(sql.encode())
        with ExitStack() as stack:
            stack.callback(close_all)
            sessions = {}
            for name in DEPOSITS:
                connection = stack.enter_context(RecordedConnection.connect(dsn, log=log))
                connection.isolation_level = psycopg.IsolationLevel[level.replace(" ", "_")]
                sessions[name] = _Session(name, connection, told)
            return _pay_in(sessions)
    except psycopg.Error as error:
        raise RecordError(one_line(error)) from error


def _pay_in(sessions: Mapping[str, _Session]) -> Decimal:
    read = {name: session.read() for name, session in sessions.items()}
    for name, session in sessions.items():
        session.write(read[name] + DEPOSITS[name])
    last = sessions["c1"]
    balance = last.read()
    last.commit()
    return balance
