"""The versions that one row may have had: by the set of its writers that may have committed, what they left then.

A state is a set of writers that are before some moment (bits) and the version of the row there. Does not know how the
states are found.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from sql_semantics.records import dataclass, field
from sql_semantics.view import Row
from troubadour.facts.rows.local import Does
from troubadour.facts.rows.programs import Step
from troubadour.facts.rows.tables import Key
from troubadour.facts.rows.told import Share
from troubadour.order.graph import ones

LIMIT = 2_000
"""Transitions of one row that are looked at, beside `PER_WRITER` for each of its writers."""

PER_WRITER = 30


class Vague(Enum):
    """What stands for a version, or for a share in an answer, of which nothing is known."""

    VERSION = "any version"
    UNSEEN = "a version that no answer shows"
    SHARE = "any share"
    VIEW = "the share of the version that its view has"


Version = Row | Vague | None
Entry = Share | Vague
Made = tuple[Version, tuple[tuple[int, Entry], ...], bool]
"""The version that is left, by statement what the row has in its answer, and whether the row was written."""


class Transition(NamedTuple):
    """Writer number `writer` commits where `before` are: the version becomes another. `shares`: by statement what the
    row has in its answer (None: its answers are not asked for). `touches`: it wrote the row."""

    before: int
    old: Version
    writer: int
    new: Version
    shares: tuple[tuple[int, Entry], ...] | None
    touches: bool

    @property
    def blurs(self) -> bool:
        """Whether nothing is known of the row before it nor after: it may as well have left it alone."""
        return self.old is Vague.VERSION and self.new is Vague.VERSION


class NoWay(Exception):
    """No order of a row's writers gives each one's own answers."""


@dataclass(slots=True)
class RowStates:
    """A row at a place of a table, with its `initial` version. `writers` are the transactions that may write it, in
    turn, with their steps on it; of those that are `vague` nothing is known, those that are `optional` need not have
    happened. `states`: by number and set of writers the versions; None where nothing is told."""

    table: str
    place: Key
    initial: Version
    writers: list[int] = field(default_factory=list)
    steps: dict[int, list[Step]] = field(default_factory=dict)
    vague: set[int] = field(default_factory=set)
    optional: set[int] = field(default_factory=set)
    forbidden: dict[tuple[int, int], set[Share]] = field(default_factory=lambda: defaultdict(set))
    states: list[dict[int, set[Version]]] | None = None
    by_writer: dict[int, list[Transition]] = field(default_factory=dict)
    built: int = 0
    looked_at: object = None
    signature: object = None
    views: dict[tuple[int, int], frozenset[Version]] = field(default_factory=dict)
    """Of the states as they are, the versions at a moment, by the writers before it and those after it."""
    made: dict[tuple[int, Version], list[Made]] = field(default_factory=dict)
    """What a writer makes of a version, by both."""
    number: dict[int, int] = field(default_factory=dict)
    windows: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    shown: dict[tuple[int, int], tuple[int, Step, frozenset[Share]]] = field(default_factory=dict)
    """By answer of another transaction the event at which it met the row, the step, and the shares that are left."""
    splits: bool = False
    """Whether one set of writers may have left several versions."""
    late: dict[int, int] = field(default_factory=dict)
    """By writer those whose commits were sent after its one statement about the row was answered."""
    certain: int = 0
    """The writers, as bits, that write the row for certain."""
    _inserted: set[int] | None = None
    _events: list[int] = field(default_factory=list)
    _first: list[int] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """Transitions beyond which nothing is told of it until more is known of the order of its writers."""
        return LIMIT + PER_WRITER * len(self.writers)

    def is_own(self, item: int) -> bool:
        """Whether no other transaction than a writer has, or may have, left a new row of that key."""
        if self._inserted is None:
            adding = {n for n, steps in self.steps.items() if any(one.part.does is Does.INSERTS for one in steps)}
            self._inserted = adding | self.vague
        return self.initial is None and self._inserted <= {item}

    def close(self, commit: Mapping[int, int]) -> None:
        """All writers are noted; `commit` are the events of their commits."""
        self.number = {item: place for place, item in enumerate(self.writers)}
        self._events = [commit[item] for item in self.writers]
        self._first = [0]
        for event in self._events:
            self._first.append(self._first[-1] | 1 << event)

    def between(self, before: int, after: int) -> Iterator[tuple[int, Version]]:
        """The states that have the writers `before` and none of those `after`."""
        assert self.states is not None
        for size in range(len(self.writers) - after.bit_count(), before.bit_count() - 1, -1):
            for mask, versions in self.states[size].items():
                if not before & ~mask and not mask & after:
                    for version in versions:
                        yield mask, version

    def mask(self, events: int, late: bool) -> int:
        """The writers, as bits, whose commits are among events: mostly these are the first, or the last (`late`)."""
        everything = self._first[-1]
        own = events & everything
        count = own.bit_count()
        total = len(self._events)
        guess = everything ^ self._first[total - count] if late else self._first[count]
        found = (1 << total) - (1 << total - count) if late else (1 << count) - 1
        if own != guess:
            for event in ones(own ^ guess):
                found ^= 1 << bisect_left(self._events, event)
        return found
