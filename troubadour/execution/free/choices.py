"""Which states a concrete run reads, and what it looked at there.

Does not know how a run goes, nor which states a level allows.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping, Sequence

from sql_semantics.records import dataclass, field
from sql_semantics.view import Row
from troubadour.execution.free.tagged import Address
from troubadour.execution.states.history import RowHistory, Version


class OpenRead(Exception):
    """A concrete run met a row whose version is still symbolic."""

    def __init__(self, row: RowHistory) -> None:
        super().__init__(row.address)
        self.row = row


def concrete(row: RowHistory, version: Version) -> Row | None:
    """A version of a row that a concrete run can use. Raises OpenRead for a symbolic one."""
    if version is None or version.__class__ is tuple:
        return version
    raise OpenRead(row)


Execution = tuple[int, int]
"""One SQL statement executed: the logged statement and the ordinal within it."""


class Choices:
    """Which state each read takes: `state`, but for the executions in `statements` and the row reads in `exceptions`,
    keyed (statement, execution, row address). `masked[n]` holds positions whose versions statement n may not take (the
    next older one stands), `hidden` those that none may. `newest`: the state whose rows constraints meet, where that is
    not what reads take; `newests` those of single executions. `defaults`: the states of executions that are not listed,
    by statement, `acting` of those that read row by row. `cuts`: positions whose
    versions queries up to some execution do not take, but for those in `exceptions` (the next older one stands), each
    with that execution. `asides`: the states that the subqueries of an UPDATE read which takes its rows one by one,
    those of `defaults` where nothing is said (None: that which the execution reads). `picks`: which way the DBMS went
    where it had several, by address (see `View.choose`; where nothing is said, the first)."""

    __slots__ = (
        "acting",
        "asides",
        "cuts",
        "defaults",
        "exceptions",
        "hidden",
        "masked",
        "newest",
        "newests",
        "picks",
        "state",
        "statements",
    )

    def __init__(
        self,
        state: int,
        exceptions: Mapping[tuple[int, int, str], int] | None = None,
        masked: Sequence[frozenset[int]] | None = None,
        statements: Mapping[Execution, int] | None = None,
        newest: int | None = None,
        newests: Mapping[Execution, int] | None = None,
        hidden: frozenset[int] | None = None,
        defaults: Sequence[int] | None = None,
        picks: Mapping[Address, int] | None = None,
        acting: Sequence[int] | None = None,
        cuts: Mapping[int, Execution] | None = None,
        asides: Mapping[Execution, int] | None = None,
    ) -> None:
        self.state = state
        self.asides = asides
        self.acting = acting
        self.cuts = cuts or None
        self.picks = picks or None
        self.hidden = hidden
        self.defaults = defaults
        self.newest = newest
        self.newests = newests or None
        self.statements = statements or None
        self.exceptions = exceptions or None
        self.masked = masked

    def __copy__(self) -> Choices:
        twin = Choices(self.state)
        twin.acting, twin.cuts, twin.defaults, twin.exceptions = self.acting, self.cuts, self.defaults, self.exceptions
        twin.hidden, twin.masked, twin.newest, twin.newests = self.hidden, self.masked, self.newest, self.newests
        twin.picks, twin.statements, twin.asides = self.picks, self.statements, self.asides
        return twin

    def picking(self, picks: Mapping[Address, int] | None) -> Choices:
        """The same reads under other picks."""
        twin = copy.copy(self)
        twin.picks = picks or None
        return twin

    def oldest_apart(self) -> int:
        """The newest state at and before which single rows may be read from other states than is said for all."""
        odd = [*(self.exceptions or {}).values()]
        odd += [position - 1 for late in self.masked or () for position in late]
        odd += [position - 1 for position in self.hidden or ()]
        odd += [position - 1 for position in self.cuts or ()]
        return min(odd, default=sys.maxsize)


@dataclass(slots=True)
class Looked:
    """What was looked at: rows, and tables as a whole."""

    rows: list[RowHistory]
    tables: set[str]


@dataclass(slots=True)
class Reading:
    """What the executions of a run looked at, each in its own state. `rechecks`: see `View`; `overtaken` are statements
    that hold a row of a position that they cannot depend on, with it. What the statements in `released` and blocks with
    exception handlers lock may be free again before the end: they meet the rows of the state that constraints meet;
    `older` are those statements in which such a row was not the newest, with its position. `by_row`: what writes or
    locks reads row by row; those executions are the `moments`, and `kept` is the newest position of what they kept.
    `owned`: what the transaction had written before each statement. `asides`: what subqueries of an UPDATE looked at
    beside its rows, with the state that they read."""

    rechecks: bool
    released: frozenset[int] = frozenset()
    looked: dict[Execution, Looked] = field(default_factory=dict)
    overtaken: list[tuple[int, int]] = field(default_factory=list)
    older: list[tuple[int, int]] = field(default_factory=list)
    by_row: bool = False
    moments: set[Execution] = field(default_factory=set)
    kept: dict[Execution, int] = field(default_factory=dict)
    owned: dict[int, dict[RowHistory, Row | None]] = field(default_factory=dict)
    asides: dict[Execution, tuple[int, Looked]] = field(default_factory=dict)
