"""What can go wrong while recording. Does not know what a statement means, nor how a log is judged."""

from __future__ import annotations


class RecordError(Exception):
    """A run cannot be recorded faithfully; the text is one line and says what to do."""


class Unasked(RecordError):
    """The server could not be asked for commit times: the log is whole, and has transactions without."""


class Unwritable(RecordError):
    """The log cannot be written, and nothing that it would lack is committed: what was open is rolled back."""


class ConnectionLost(RecordError):
    """The connection broke under a transaction, which is logged already (aborted, or unknown if COMMIT was sent)."""


class UserRollback(Exception):
    """A transaction's own logic wants it rolled back: an outcome, not a failure."""


class ServerError(Exception):
    """A server other than PostgreSQL answered a statement with an error; psycopg's own class serves for PostgreSQL.

    `sqlstate` has five characters, `code` is the product's own number. The statement is logged; the caller must roll
    back.
    """

    def __init__(self, sqlstate: str, message: str, code: int) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.code = code


class NotRecorded(RecordError):
    """What the application asks of its driver has no form in a log; nothing was sent."""
