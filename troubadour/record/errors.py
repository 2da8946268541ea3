"""What can go wrong while recording. Does not know what a statement means, nor how a log is judged."""

from __future__ import annotations


class RecordError(Exception):
    """A run cannot be recorded faithfully; the text is one line and says what to do."""


class ConnectionLost(RecordError):
    """The connection broke under a transaction, which is logged already (aborted, or unknown if COMMIT was sent)."""
