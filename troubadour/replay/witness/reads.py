"""What a witness says of single reads, as a view asks for it (paper §3.2, readVal). Does not know how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from troubadour.replay.store import RowName


class RowStates(Protocol):
    """States of single rows read by one statement execution."""

    def get(self, row: RowName, default: int, /) -> int:
        """The state that the row is read from; `default` where the row is not listed."""


class Exceptions(Protocol):
    """Row reads that do not come from the transaction's state."""

    def get(self, execution: tuple[int, int], /) -> RowStates | None:
        """Those of one execution, addressed (statement, execution); None for none."""


Execution = tuple[int, int]
"""One SQL statement executed: the logged statement and the ordinal within it."""


class StatementReads(Protocol):
    """What single executions read, where that is not what the transaction reads."""

    def state(self, execution: Execution, default: int, /) -> int:
        """The state that an execution reads."""

    def since(self, execution: Execution, default: int, kept: int, /) -> int:
        """The state in which an execution begins that reads row by row; rows that are kept from before were made by
        that of `kept`."""

    def beside(self, execution: Execution, state: int, /) -> int:
        """The state that the subqueries of an execution read which takes its rows one by one, from `state` on, in which
        it would begin: it begins in that one then."""

    def newest(self, execution: Execution, state: int, default: int | None, /) -> int | None:
        """The state whose rows the constraints of an execution meet that reads `state`; None: of that one."""


class LateRead(Exception):
    """A listed row read takes a version whose commit was sent after the statement's answer."""


FreeChoices = Mapping[tuple[int, int, int], Any]
"""Values that the DBMS chose, as a log writes them, by (statement, execution, ordinal)."""


class BadChoice(Exception):
    """A value that the DBMS chose is missing in the witness, or cannot have been chosen."""
