"""What a workload is: tables, routines, first rows and seeded transactions in one dialect (paper §8, *Benchmarks*).

Does not know who runs it, on which server, or whether that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from sql_semantics.records import dataclass

_SESSIONS = 1000
"""`Draws.fresh` leaves room for this many sessions."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement gave the client: the rows (of the last result set, where a CALL gave several), and the affected
    count where the command has one."""

    rows: Sequence[tuple[object, ...]]
    affected: int | None


class Executor(Protocol):
    """What a transaction's logic is given."""

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        """Run one statement with ``$1`` placeholders."""


Logic = Callable[[Executor], None]
"""One transaction, from its first statement to its last."""


class Draws(Random):
    """A session's source of random choices, the same for the same seed and name."""

    def __init__(self, seed: int, name: str, session: int = 0) -> None:
        super().__init__(f"{seed}/{name}")
        self._session = session % _SESSIONS
        self._fresh = 0

    def fresh(self) -> int:
        """A number that no session draws a second time: for the keys of new rows. 1000 and up."""
        self._fresh += 1
        return self._fresh * _SESSIONS + self._session


class Mix(Protocol):
    """Transactions at random."""

    def draw(self, random: Draws) -> Logic:
        """One transaction; all its choices are made by `random`."""


Rows = tuple[str, Sequence[str], Sequence[Sequence[object]]]
"""A table, columns, and rows of these columns."""


class Workload(Mix, Protocol):
    """A mix with the tables that it runs on."""

    @property
    def dialect(self) -> str:
        """Of the log format's: what the texts are written in."""

    @property
    def schema(self) -> Sequence[str]:
        """The CREATE statements of tables and indexes."""

    @property
    def procedures(self) -> Sequence[str]:
        """The CREATE statements of the routines that the transactions call."""

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Each table's columns."""

    def rows(self) -> Iterable[Rows]:
        """The first rows."""


class Cursor(Protocol):
    """As much of a DB-API cursor as loading needs."""

    def execute(self, sql: Any, /) -> object:
        """One statement."""

    def executemany(self, sql: Any, rows: Any, /) -> object:
        """One statement for each row of parameters."""


def load(workload: Workload, cursor: Cursor) -> None:
    """Create the tables and routines where the cursor's connection is, and fill them. Does not commit."""
    for text in (*workload.schema, *workload.procedures):
        cursor.execute(text.encode() if workload.dialect == "postgres" else text)
    mark = {"postgres": "${}", "mysql": "%s"}.get(workload.dialect, "?")
    for table, columns, rows in workload.rows():
        if not rows:
            continue
        marks = [mark.format(n) for n in range(1, len(columns) + 1)]
        cursor.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(marks)})", rows)
