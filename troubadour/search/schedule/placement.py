"""A transaction in a trace, or about to be: its reads, how its run ended, what it wrote (paper §3.2).

Does not know how a run goes.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.records import dataclass, field
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.free.choices import Choices, Execution
from troubadour.execution.free.tagged import Address
from troubadour.execution.states.history import RowHistory, Version, WriteMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.serial import Watched
from troubadour.search.schedule.visible_sets import (
    NOTHING,
    Needs,
)

SEMANTIC = frozenset({"observation", "error"})
"""Conditions of failures in which the statements themselves do not fit."""

UNSUPPORTED = "unsupported"
"""Condition of a failure that says nothing: the run met what is not modelled."""


class Forgotten(Exception):
    """The order would have to be changed before what is remembered of the states."""


class TooManyRuns(Exception):
    """Not every reading of a transaction could be looked at."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What a run looked at: rows, by which keys it looked for them (hashed, see `TableHistory.sought`), and tables as a
    whole."""

    rows: frozenset[RowHistory]
    keys: frozenset[int]
    scanned: frozenset[str]


@dataclass(slots=True)
class Placement:
    """A placed transaction, the reads that it took (`choices` None: placed symbolically), the values that the DBMS
    chose for it, by address, and which it needs to see (None: that is open), kept where sets are to be closed. `ways`:
    the DBMS had several to go. `since`, of one that wrote nothing: the lowest state from which on, up to those of the
    choices, it reads and its constraints meet the same. `looks`, where each row read may be of a state of its own, of
    the latest ones: what it looked at; `cuts`: which of the newest versions its queries did not take, where it takes
    them but for these (see `Choices`); `alike`: it has no other likely reading; `watched`, where its level has a serial
    order of its own: as the serialization graph has it."""

    item: int
    choices: Choices | None
    drawn: Mapping[Address, Value] = field(default_factory=dict)
    needs: Needs | None = NOTHING
    ways: bool = False
    since: int = 0
    looks: Looks | None = None
    cuts: Mapping[int, Execution] | None = None
    alike: bool = False
    watched: Watched | None = None


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A placement that was taken back, and what it wrote; `idle`: nothing, or perhaps nothing."""

    placement: Placement
    writes: WriteMap
    idle: bool

    @property
    def item(self) -> int:
        """Whose it is."""
        return self.placement.item

    @property
    def choices(self) -> Choices | None:
        """The reads that it took."""
        return self.placement.choices


@dataclass(slots=True)
class Candidate:
    """One concrete run: its choices, the lowest state from which on it is the same, how it ended, and the second run
    without what was sent after an answer. `asked` are the choices as they were given; `alike`: it is known to be the
    only likely reading."""

    item: int
    choices: Choices
    since: int
    view: ConcreteView
    failure: Failure | None
    again: ConcreteView | None = None
    asked: Choices | None = None
    alike: bool = False


def fingerprint(writes: dict[RowHistory, Row | None]) -> object:
    """What tells two write maps apart: rows inserted anew are the same if table and ordinal are."""
    return frozenset((row if row.positions else (row.table, row.ordinal), values) for row, values in writes.items())


def content(writes: Mapping[RowHistory, Version]) -> object:
    """What tells the write maps of one transaction apart, wherever it is placed."""
    return frozenset(((row.table, row.author, row.ordinal), values) for row, values in writes.items())


def cuts_of(candidate: Candidate, newest: int) -> Mapping[int, Execution] | None:
    """Which versions up to the newest state a candidate did not take, where it took the newest ones but for these."""
    asked = candidate.asked
    if asked is None or asked.state != newest or asked.exceptions or asked.statements or asked.hidden:
        return None
    return asked.cuts or {}


def looks_of(view: ConcreteView) -> Looks:
    """What a run looked at."""
    return Looks(frozenset(view.all_rows()), frozenset(view.keys), frozenset(view.tables_scanned()))


def met_since(candidate: Candidate) -> int:
    """The lowest state from which on a run reads the same and its constraints meet the same."""
    view, choices = candidate.view, candidate.choices
    newests = choices.newests or {}
    states = ((execution, newests.get(execution, choices.newest)) for execution in view.met)
    return max([candidate.since, *(view.met_since(place, state) for place, state in states if state is not None)])
