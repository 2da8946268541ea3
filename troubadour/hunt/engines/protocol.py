"""What the scheduler asks of an engine. Does not know any product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sql_semantics.records import dataclass


class EngineError(Exception):
    """The engine cannot be had or used (exit status 2)."""


class EngineDied(Exception):
    """The engine ended or stopped answering though nothing told it to."""


@dataclass(frozen=True, slots=True)
class Level:
    """An isolation level of a product: `sql` is what its sessions ask for, `profile` what a log is held to, `general`
    the level of the literature that its name stands for."""

    name: str
    sql: str
    profile: str
    general: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement was answered: rows (None: no result set) with their column names, a count, or the SQLSTATE of
    an error. Values are as a log has them. `invoked`, `returned`: microseconds of this machine's monotonic clock.
    `lost`: the connection is gone. `internal`: the engine itself says that this error is a fault of its own."""

    invoked: int
    returned: int
    columns: tuple[str, ...] | None = None
    rows: Sequence[Sequence[Any]] | None = None
    affected: int | None = None
    error: str | None = None
    message: str = ""
    lost: bool = False
    internal: bool = False


class Connection(Protocol):
    """One session. `send` one statement, then ask for its answer until it is there."""

    def send(self, sql: str) -> None:
        """Send a statement; the one before has its answer."""

    def answer(self, seconds: float) -> Answer | None:
        """The answer, if it comes within `seconds`. Raises EngineDied."""

    def waits(self) -> bool:
        """Whether the statement waits for another session, as the engine tells."""

    def cancel(self) -> None:
        """End the statement that is under way; its answer comes."""

    def vanish(self) -> None:
        """End the connection at once; the database opens another one when it is asked."""


class Database(Protocol):
    """A database, or a schema of one, that this hunt made for one case."""

    def connection(self, number: int, level: Level) -> Connection:
        """The session of a number, opened where it is not yet."""

    def crash(self) -> None:
        """Kill the server and start it again with what it has kept; every connection is a new one. Raises EngineError
        where it does not come up."""


class Engine(Protocol):
    """A product at a version. `undoes`: a failed statement leaves its transaction open and nothing else. `begin`: the
    text that begins a transaction."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def dialect(self) -> str:
        """A dialect of the log format."""

    @property
    def dbms(self) -> str:
        """Product and version, as a header has them."""

    @property
    def levels(self) -> Mapping[str, Level]:
        """By the names that ``--level`` takes; the first is the product's default."""

    @property
    def crashes(self) -> bool:
        """Whether it was started here, so that it may be killed."""

    @property
    def at_once(self) -> bool:
        """Whether its sessions can have statements under way at one time."""

    @property
    def undoes(self) -> bool:
        """Whether a transaction goes on after a failed statement."""

    def database(self, flavour: str = "") -> AbstractContextManager[Database]:
        """A fresh, empty database, gone at exit. Raises EngineDied, EngineError."""

    def settings(self) -> dict[str, Any]:
        """The `settings` of a log's header."""

    def restart(self) -> None:
        """Bring it up again after it died. Raises EngineError."""

    def close(self) -> None:
        """End what was started."""


def levels_of(*levels: Level) -> dict[str, Level]:
    """By name, in order."""
    return {level.name: level for level in levels}
