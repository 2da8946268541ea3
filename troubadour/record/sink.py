"""Where sessions put their lines: one log, written by many threads, with commit timestamps (paper §8, *setup*).

A commit timestamp can be asked for only after the commit, so the lines of finished transactions wait for a batch;
the intents, which must be there if the client dies, do not. Does not know what the lines say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import psycopg

from troubadour.formats import LogWriter
from troubadour.record.errors import RecordError
from troubadour.record.server import Connection, commit_times, one_line

BATCH = 256

Line = dict[str, Any]


class LogSink:
    """Thread-safe. `lookup` is a connection of the sink's own; `close` closes it and the writer.

    At most `batch` lines wait, and one further batch is being looked up: by the thread that filled it, so that the
    other sessions run on. `again` makes another connection where the server may go down meanwhile: what then waits is
    written without `commit`. (Not asked for later: a server that lost commits gives their numbers to others.)
    """

    def __init__(
        self,
        writer: LogWriter,
        lookup: Connection,
        batch: int = BATCH,
        again: Callable[[], Connection] | None = None,
    ) -> None:
        self._writer = writer
        self._lookup = lookup
        self._batch = batch
        self._again = again
        self._waiting: list[tuple[Line, str | None]] = []
        self._waiting_lock = threading.Lock()
        self._lookup_lock = threading.Lock()

    def intent(self, line: Line) -> None:
        """Write the intent of a transaction whose COMMIT is about to be sent."""
        self._writer.intent(line)

    def put(self, line: Line, xid: str | None) -> None:
        """Take a finished transaction; `xid` where it committed writes. Raises RecordError as `flush` does."""
        with self._waiting_lock:
            self._waiting.append((line, xid))
            full = len(self._waiting) >= self._batch
        if full:
            self.flush()

    def flush(self) -> None:
        """Look up and write what waits. If the server does not answer, the lines are written without `commit`, and
        RecordError is raised unless it may go down."""
        with self._lookup_lock:
            with self._waiting_lock:
                lines, self._waiting = self._waiting, []
            xids = [xid for _, xid in lines if xid is not None]
            problem: RecordError | None = None
            times: dict[str, int | None] = {}
            down = False
            try:
                times = dict(zip(xids, commit_times(self._lookup, xids), strict=True))
            except psycopg.Error as error:
                problem = RecordError(f"{len(xids)} transactions are logged without commit time: {one_line(error)}")
                problem.__cause__ = error
                down = True
            for line, xid in lines:
                commit = times.get(xid) if xid is not None else None
                if commit is not None:
                    line["commit"] = commit
                elif xid is not None and problem is None:
                    problem = RecordError(f"the server has no commit timestamp of transaction {line['id']} ({xid})")
            for line, _ in lines:
                self._writer.transaction(line)
            if down and self._again is not None:
                problem = None
                with suppress(RecordError):  # still down: the next batch will try again
                    self._lookup = self._again()
        if problem is not None:
            raise problem

    def close(self) -> None:
        """Write what waits and finish the log, also where the lookup fails."""
        try:
            self.flush()
        finally:
            self._lookup.close()
            self._writer.close()


def transaction_line(
    session: str,
    number: int,
    status: str,
    invoked: int,
    statements: Sequence[object],
    end: Mapping[str, object] | None,
    returned: int | None,
) -> dict[str, object]:
    """A log's line of the `number`-th transaction of a session; an `end` or `returned` that is None is left out."""
    line: dict[str, object] = {
        "id": f"{session}-{number}",
        "session": session,
        "status": status,
        "invoked": invoked,
        "statements": statements,
    }
    if returned is not None:
        line["returned"] = returned
    if end is not None:
        line["end"] = end
    return line
