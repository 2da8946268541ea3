"""A schedule: the statements of a few transactions in an order of time, to be sent again.

Does not know how it is run or written down.
"""

from __future__ import annotations

from typing import Any

import msgspec

SPEC_FORMAT = "troubadour-schedule"


class Sent(msgspec.Struct, frozen=True):
    """One statement, with its parameters in it, and what was observed of it: rows (as the log has them), a row count,
    the SQLSTATE of an error; all None where nothing was."""

    session: str
    sql: str
    rows: tuple[tuple[Any, ...], ...] | None = None
    affected: int | None = None
    error: str | None = None


class Schedule(msgspec.Struct, frozen=True):
    """What is there before (`setup`, `teardown`: statements), the sessions with the isolation level that SQL calls
    theirs (`levels`: of those that have another one), and the steps. `anomaly` is what the violation is called,
    `watched` the sessions whose answers are the finding; others are there for what they write."""

    dialect: str
    isolation: str
    setup: tuple[str, ...]
    teardown: tuple[str, ...]
    sessions: tuple[str, ...]
    steps: tuple[Sent, ...]
    anomaly: str | None = None
    watched: tuple[str, ...] = ()
    format: str = SPEC_FORMAT
    version: int = 1
    levels: dict[str, str] = {}

    def level_of(self, session: str) -> str:
        """The level of a session."""
        return self.levels.get(session, self.isolation)
