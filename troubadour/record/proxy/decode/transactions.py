"""The transactions of one session, one after the other, as the records that lines of a log are made of (`core.unroll`).

A decoder says what begins, what was done and what ended; where it cannot tell any more, that is a gap. Does not know
either protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from troubadour.record.core.journal import GAP, RESUMED
from troubadour.record.core.tape import NOTHING, WHOLE, Transcript, fields

Record = tuple[Any, ...]


class Transactions:
    """`level`, `read_only`: of transactions that name none. `lifetime`: of the server, where ids of transactions are
    looked up. `records`: what is known so far, for the caller to take out."""

    def __init__(self, session: str, level: str | None, read_only: bool | None = None) -> None:
        self.session = session
        self.level = level
        self.read_only = read_only
        self.lifetime: str | None = None
        self.records: list[Record] = []
        self.current: Transcript | None = None
        self.explicit = False
        """Whether the open transaction was begun by a statement, and goes on until one ends it."""
        self.failed = False
        """Whether it can only be rolled back."""
        self.ticket: str | None = None
        """What the server knows it by."""
        self._before: tuple[str | None, bool | None] = (level, read_only)
        """The session's defaults before the open transaction, which a rollback brings back."""
        self._number = 0
        self._lost: int | None = None

    @property
    def is_lost(self) -> bool:
        """Whether nothing is known of the open transaction."""
        return self._lost is not None

    def begin(self, invoked: int, *, explicit: bool) -> Transcript:
        """A transaction begins."""
        self.current = Transcript(invoked, self.level, self.read_only)
        self.explicit, self.failed, self.ticket = explicit, False, None
        self._before = (self.level, self.read_only)
        return self.current

    def add(self, statement: bytes, invoked: int, returned: int | None, observed: bytes) -> tuple[Transcript, int]:
        """A statement, of the open transaction or of one that begins with it; and where it stands."""
        current = self.current
        if current is None:
            current = self.begin(invoked, explicit=False)
        current.add(statement, invoked, returned, observed)
        return current, len(current) - 1

    def end(
        self,
        status: str,
        invoked: int | None,
        returned: int | None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        """The open transaction has ended: the arguments are those of `Tape.end`."""
        current, self.current = self.current, None
        if status == "aborted":
            self.level, self.read_only = self._before
        if current is not None:
            self.write(current, status, invoked, returned, error, self.ticket if status == "committed" else None)
        self.explicit = self.failed = False
        self.ticket = None

    def write(
        self,
        current: Transcript,
        status: str,
        invoked: int | None,
        returned: int | None,
        error: Mapping[str, Any] | None = None,
        ticket: str | None = None,
    ) -> None:
        """A transaction has ended, which need not be the open one. One that did nothing has no line."""
        if not current.statements:
            return
        self._number += 1
        # what was sent together has the same times, and happened in this order all the same
        said = b',"sno":%d' % (self._number - 1)
        self.records.append(
            (
                WHOLE, self.session, self._number, current.invoked, current.level, current.read_only,
                current.opening(), current.statements, status, invoked, returned, error, ticket,
                self.lifetime if ticket is not None else None, said,
            )
        )  # fmt: skip

    def told(self, texts: list[str], time: int) -> None:
        """What the session was set to before it was recorded, as statements."""
        if texts:
            for text in texts:
                self.add(fields({"sql": text}), time, time, NOTHING)
            self.end("committed", None, time)

    def lose(self, reason: str, since: int) -> None:
        """What the open transaction does is not known, from `since` on, until it is found again."""
        if self._lost is None:
            begun = self.current.invoked if self.current is not None else since
            self._lost = min(begun, since)
            self.records.append((GAP, self._lost, reason))
        self.current = None
        self.explicit = self.failed = False

    def found(self, time: int) -> None:
        """Nothing is open any more, and all that comes is known again."""
        if self._lost is not None:
            self.records.append((RESUMED, time, None))
            self._lost = None
