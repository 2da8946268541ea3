"""Counted rows in a history: moments at which a count was seen, and what is forced by adding up.

A reader of a lower count comes before a reader of a higher one; those that see the same one have the same writers
before them, and these add up to it. `inference.counted` says which rows are counted. Does not know the graph that the
edges go into, nor which writers of a count come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sql_semantics.records import dataclass, field

if TYPE_CHECKING:
    from troubadour.facts.sql.effects import Known


@dataclass(frozen=True, slots=True)
class Cut:
    """The events at which a count was `value`, each with what was seen of the row. `writes`: it is one event, of a
    transaction that adds to the count itself, then."""

    value: int
    seen: Mapping[int, Known]
    writes: bool


@dataclass(slots=True)
class Counter:
    """A counted row, by the number of its place. `adds`: how much the commits add that certainly do; `may_add`: those
    that do so or nothing. `cuts` ascend."""

    place: int
    adds: dict[int, int] = field(default_factory=dict)
    may_add: dict[int, int] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    writers: int = 0
    """Those that add, as bits, and by how much each adds."""
    by_amount: list[tuple[int, int]] = field(default_factory=list)
    total: int = 0
    """What all may add together."""

    def add_up(self) -> None:
        """Take over which transaction adds how much."""
        amounts: dict[int, int] = {}
        for event, amount in self.adds.items():
            amounts[amount] = amounts.get(amount, 0) | 1 << event
            self.writers |= 1 << event
        self.by_amount = sorted(amounts.items())
        self.total = sum(self.adds.values()) + sum(self.may_add.values())

    def close(self, seen: Mapping[int, tuple[int, Known]]) -> None:
        """Note the counts that were seen: by event how much was counted, and what was seen."""
        groups: dict[int, dict[int, Known]] = {}
        own: list[Cut] = []
        for event, (value, known) in seen.items():
            if event in self.adds:
                own.append(Cut(value, {event: known}, writes=True))
            else:
                groups.setdefault(value, {})[event] = known
        cuts = [*(Cut(value, events, writes=False) for value, events in groups.items()), *own]
        self.cuts = sorted(cuts, key=lambda cut: (cut.value, cut.writes))

    @property
    def is_exact(self) -> bool:
        """Whether it is known of every writer that it adds."""
        return not self.may_add

    def weight(self, commits: int) -> int:
        """How much some commits, as bits, certainly add."""
        return sum(amount * (bits & commits).bit_count() for amount, bits in self.by_amount)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of the writers of a counter around a cut, as bits: those before it, those after it, and those that
    adding up puts before or after it. `impossible`: these cannot add up to what was seen."""

    before: int
    after: int
    must_be_before: int = 0
    must_be_after: int = 0
    impossible: bool = False


def bounds(counter: Counter, cut: Cut, ancestors: Sequence[int], descendants: Sequence[int]) -> Bounds:
    """What the events before and after those of a cut come to."""
    before = after = own = may = 0
    for event in cut.seen:
        before |= ancestors[event]
        after |= descendants[event]
        own |= 1 << event
        may += counter.may_add.get(event, 0)
    later = sum(amount for event, amount in counter.may_add.items() if event not in cut.seen and after >> event & 1)
    own &= counter.writers
    before &= counter.writers
    after &= counter.writers
    lower = counter.weight(before)
    upper = counter.total - may - later - counter.weight(after | own)
    if lower > cut.value or upper < cut.value:
        return Bounds(before, after, impossible=True)
    rest = counter.writers & ~before & ~after & ~own
    must_be_before = must_be_after = 0
    for amount, bits in counter.by_amount:
        if lower + amount > cut.value:
            must_be_after |= bits & rest
        elif upper - amount < cut.value:
            must_be_before |= bits & rest
    return Bounds(before, after, must_be_before, must_be_after)


@dataclass(frozen=True, slots=True)
class Between:
    """What adding up between two cuts forces of the writers of a counter, as bits: those that have to be after the
    first one, before it, before the second one, after it. `impossible`: these cannot add up to what was seen."""

    after_first: int = 0
    before_first: int = 0
    before_second: int = 0
    after_second: int = 0
    impossible: bool = False


def between(counter: Counter, cuts: tuple[Cut, Cut], sides: tuple[int, int, int, int]) -> Between:
    """What two cuts of a counter come to of which it is known what adds. `sides`: the events before and after the first
    one, and before and after the second one, as bits."""
    before_first, after_first, before_second, after_second = sides
    first, second = cuts
    own = [event for cut in cuts if cut.writes for event in cut.seen]
    room = second.value - first.value - sum(counter.adds[event] for event in first.seen if first.writes)
    writers = counter.writers
    for event in own:
        writers &= ~(1 << event)
    inside = writers & after_first & before_second
    open_ = writers & ~before_first & ~after_second & ~inside
    filled = counter.weight(inside)
    left = filled + counter.weight(open_)
    if filled > room or left < room:
        return Between(impossible=True)
    in_, out = 0, 0
    for amount, bits in counter.by_amount:
        if filled + amount > room:
            out |= bits & open_
        elif left - amount < room:
            in_ |= bits & open_
    return Between(
        after_first=in_ & ~after_first,
        before_first=out & before_second,
        before_second=in_ & ~before_second,
        after_second=out & after_first,
    )
