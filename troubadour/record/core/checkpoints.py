"""When all rows are read once more for a log that is long: a *checkpoint*, behind which it can be cut
(docs/log-format.md). One is due after so many transactions, once none of the log is under way in this process.

Nothing waits for it: where another transaction began meanwhile, the line is one of a transaction like any other. Does
not know how rows are read.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass
from troubadour.record.errors import RecordError

if TYPE_CHECKING:
    from troubadour.record.core.tape import Tape

_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Due:
    """A checkpoint that is to be taken now: the queries for it, and how many transactions will have begun with it,
    where no other begins meanwhile."""

    queries: Sequence[str]
    begun: int


class Checkpoints:
    """Those of one journal. `every`: the transactions between two of them, None for no checkpoints; `begun`: how many
    transactions began so far, these among them."""

    def __init__(self, tables: Mapping[str, Sequence[str]], dialect: str) -> None:
        """`tables`: the columns of those whose initial rows the log has."""
        self.every: int | None = None
        self.begun = 0
        self._tables, self._dialect = tables, dialect
        self._queries: Sequence[str] = ()
        self._last = 0
        """How many had begun when the last one was due."""
        self._failed = False
        self._tapes: weakref.WeakSet[Tape] = weakref.WeakSet()
        self._lock = threading.Lock()

    def ask(self, every: int) -> None:
        """Take one after each so many transactions, unless one has failed. Raises RecordError where that cannot be."""
        if every < 1:
            raise RecordError(f"checkpoints={every!r} is no number of transactions")
        for name in self._tables:
            if not all(map(_NAME.fullmatch, [*name.split("."), *self._tables[name]])):
                raise RecordError(f"checkpoints: the name of table {name}, or of one of its columns, is no plain word")
        mark = PRODUCTS[self._dialect].running.identifier_quote
        self._queries = [
            f"SELECT {', '.join(mark + column + mark for column in columns)} FROM "
            + ".".join(mark + part + mark for part in name.split("."))
            for name, columns in self._tables.items()
            if columns
        ]
        self.every = None if self._failed else every

    def join(self, tape: Tape) -> None:
        """A tape of the journal."""
        with self._lock:
            self._tapes.add(tape)

    def began(self) -> None:
        """A transaction begins."""
        with self._lock:
            self.begun += 1

    def due(self) -> Due | None:
        """The checkpoint that is to be taken now; None where it is not time, or a transaction is under way."""
        every = self.every
        if every is None or self.begun - self._last < every or not self._queries:
            return None
        with self._lock:
            if self.begun - self._last < every or any(tape.current is not None for tape in self._tapes):
                return None
            self._last = self.begun + 1
            return Due(self._queries, self._last)

    def failed(self) -> None:
        """The rows cannot be read: no more are taken, on later connections neither."""
        self._failed, self.every = True, None
