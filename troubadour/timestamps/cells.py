"""The versions of one key in the order of the commit timestamps, and whether a read is of the one that it must be of
(the axioms EXT and NOCONFLICT).

Equal timestamps are in either order: what any order explains is not accused. Does not know sessions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations
from operator import eq
from typing import Any, NamedTuple

NEVER = -(2**63)
"""Before all moments."""

WAYS = 5
"""Writes of one moment whose orders are gone through; of more any order is taken to be possible."""

Reader = tuple[int, int, Any, Any]
"""A moment, the number of a transaction whose snapshot is of then, what its outer read of a key told, and what it had
added itself before (`base` and `own` of its visit; None for NONE)."""


class Write(NamedTuple):
    """What a transaction leaves at a key. `number` names the transaction, `certain`: it certainly committed, and took
    effect."""

    number: int
    start: int
    commit: int
    change: Any
    passed: Any
    certain: bool


_new = tuple.__new__
_EMPTY: list[Any] = []
"""What most keys have of some things: it stays empty."""


class Settled(NamedTuple):
    """What was let go of: writes, reads and writes of aborted transactions, all as tuples."""

    writes: list[tuple[Any, ...]]
    readers: list[Reader]
    dead: list[tuple[Any, ...]]


class Versions:
    """Of one key of an object of type `kind` that holds `initial` at first (a tuple of a list, a frozenset of a set).
    `visible`: a commit at the moment of a start is seen, and equal commits take effect in the order of their
    transactions' numbers; `serial`: that also holds of a moment at which a transaction commits that reads."""

    __slots__ = (
        "_flat", "_kind", "_left", "_plain", "_serial", "_span", "_totals", "_visible", "commits", "dead", "floor",
        "initial", "last", "loose", "readers", "vague", "writes",
    )  # fmt: skip

    def __init__(self, kind: str, initial: Any, *, visible: bool, serial: bool = False) -> None:
        self._kind, self.initial, self._visible, self._serial = kind, initial, visible, serial
        self._plain = kind == "register" and not visible
        self.commits: list[int] = []
        self.writes: list[Write] = []
        self.readers: list[Reader] = []
        """What was read of the key from outside, by moment and by the transactions' numbers."""
        self.dead: list[Write] = _EMPTY
        """What aborted transactions would have left."""
        self.loose: list[Write] = _EMPTY
        """What those of unknown outcome may have left at a moment that is not known: their starts bound nothing."""
        self.floor = NEVER
        """What is before this moment was settled: `initial` is what the key held then."""
        self.last: Write | None = None
        """The last of the writes that were settled."""
        self._span = 0
        """No write took longer."""
        self.vague = False
        """Whether some write is not certain, or two have one commit timestamp."""
        self._totals: list[Any] = _EMPTY if kind == "register" else []
        """What the versions of a counter or a set hold, as far as they were asked for, one by one; how long those of a
        list are, which all begin like `_flat`."""
        self._flat: list[Any] = _EMPTY if kind == "register" else []
        self._left: tuple[int, dict[Any, list[int]], dict[Any, list[int]]] | None = None
        """Of a register with so many writes the places of those that leave each value, and of those that pass it."""

    def appended(self, number: int, start: int, commit: int, change: Any, passed: Any) -> bool:
        """Put a certain write behind all others, where it overlaps none and no read may be of it; whether that is so,
        as it nearly always is."""
        commits = self.commits
        if commits:
            last = commits[-1]
            if last >= commit or (last > start and not self._serial):
                return False
        readers = self.readers
        if readers and readers[-1][0] >= commit:
            return False
        if commit - start > self._span:
            self._span = commit - start
        commits.append(commit)
        self.writes.append(_new(Write, (number, start, commit, change, passed, True)))
        return True

    def add(self, write: Write) -> int:
        """Put a write in its place; the place."""
        commits = self.commits
        if write.commit - write.start > self._span:
            self._span = write.commit - write.start
        if not commits or commits[-1] < write.commit:
            # nearly always
            if not write.certain:
                self.vague = True
            commits.append(write.commit)
            self.writes.append(write)
            return len(commits) - 1
        place = bisect_right(commits, write.commit)
        while place and commits[place - 1] == write.commit and self._follows(self.writes[place - 1], write):
            place -= 1
        tied = (place and commits[place - 1] == write.commit) or (
            place < len(commits) and commits[place] == write.commit
        )
        self.vague = self.vague or not write.certain or (bool(tied) and not self._visible)
        commits.insert(place, write.commit)
        self.writes.insert(place, write)
        del self._totals[place:]
        return place

    def add_loose(self, write: Write) -> None:
        """Have a write that may have taken effect at any moment, or never."""
        if self.loose:
            self.loose.append(write)
        else:
            self.loose = [write]
        self.vague = True

    def add_dead(self, write: Write) -> None:
        """Have what an aborted transaction would have left."""
        if self.dead:
            self.dead.append(write)
        else:
            self.dead = [write]

    def settle(self, horizon: int) -> Settled | None:
        """Let go of what is before a moment, or of as much of that as hangs on nothing open; None: of nothing."""
        commits, readers = self.commits, self.readers
        if horizon <= self.floor:
            return None
        cut, bound = self._sure(horizon) if self.vague else (bisect_left(commits, horizon), horizon)
        if bound <= self.floor:
            return None
        first = len(readers) if not readers or readers[-1][0] < bound else bisect_left(readers, bound, key=_moment)
        if not cut and not first and not self.dead:
            self.floor = bound
            return None
        dead = [tuple(one) for one in self.dead if one.commit < bound]
        if cut:
            self.initial, self.last = self._left_by(cut), self.writes[cut - 1]
        settled = Settled([tuple(one) for one in self.writes[:cut]], readers[:first], dead)
        del self.writes[:cut], commits[:cut], readers[:first]
        self._left = None
        if dead:
            self.dead = [one for one in self.dead if one.commit >= bound]
        if self._kind != "register":
            self._totals, self._flat = [], []
        self.floor = bound
        if self.vague:
            self._look_again()
        return settled

    def _sure(self, horizon: int) -> tuple[int, int]:
        """How many versions before a moment can be let go of, where some are not certain, and up to which moment
        nothing hangs on something open."""
        commits = self.commits
        cut = 0 if self._kind != "register" else bisect_left(commits, horizon)
        while cut and not self._stands(cut):
            cut -= 1
        return cut, NEVER if not cut else horizon if cut == len(commits) else min(horizon, commits[cut])

    def _stands(self, cut: int) -> bool:
        """Whether what a register holds after the first `cut` writes is the last of them for certain."""
        commits = self.commits
        tied = cut > 1 and commits[cut - 2] == commits[cut - 1]
        return self.writes[cut - 1].certain and not tied and (cut == len(commits) or commits[cut] != commits[cut - 1])

    def _left_by(self, cut: int) -> Any:
        if self._kind == "register":
            return self.writes[cut - 1].change
        if self._kind != "list":
            return self._held(cut)
        return (*self.initial, *(one for write in self.writes[:cut] for one in write.change))

    def restore(self, initial: Any, parts: Iterable[Settled]) -> None:
        """Have settled parts again, in the order in which they were; `initial` is what the key held before them."""
        for settled in reversed([*parts]):
            writes = [*map(Write._make, settled.writes)]
            self.writes[:0] = writes
            self.commits[:0] = [one.commit for one in writes]
            self.dead = [*map(Write._make, settled.dead), *self.dead]
            self.readers[:0] = settled.readers
        self.initial, self.floor, self.last = initial, NEVER, None
        if self._kind != "register":
            self._totals, self._flat = [], []
        self._look_again()

    def kept(self) -> tuple[Any, ...]:
        """All of it that does not follow from the rest, in what a store takes."""
        writes, dead, loose = ([*map(tuple, some)] for some in (self.writes, self.dead, self.loose))
        return self.head(), writes, self.readers, dead, loose

    def head(self) -> tuple[Any, ...]:
        """What stands for all that was settled, in what a store takes."""
        return self.initial, self.floor, None if self.last is None else tuple(self.last)

    def stand_on(self, head: tuple[Any, ...]) -> None:
        """Have that."""
        self.initial, self.floor, last = head
        self.last = None if last is None else Write._make(last)

    def resume(self, kept: tuple[Any, ...]) -> None:
        """Have what was kept."""
        head, writes, self.readers, dead, loose = kept
        self.stand_on(head)
        self.writes = [*map(Write._make, writes)]
        self.commits = [one.commit for one in self.writes]
        self.dead = [*map(Write._make, dead)]
        self.loose = [*map(Write._make, loose)]
        self._look_again()

    def _look_again(self) -> None:
        """What follows from all writes."""
        self._left = None
        commits = self.commits
        tied = not self._visible and any(map(eq, commits, commits[1:]))
        self.vague = tied or bool(self.loose) or not all(one.certain for one in self.writes)
        self._span = max((one.commit - one.start for one in self.writes), default=0)

    def _follows(self, one: Write, other: Write) -> bool:
        if self._visible:
            return one.number > other.number
        return (one.start, one.number) > (other.start, other.number)

    def seen(self, moment: int, number: int) -> int:
        """How many versions a snapshot taken at a moment has for certain, of a transaction with this number."""
        if not self._visible:
            return bisect_left(self.commits, moment)
        place = bisect_right(self.commits, moment)
        for at in range(bisect_left(self.commits, moment), place):
            own = self.writes[at].number
            if own == number or (self._serial and own > number):
                return at
        return place

    def read(self, reader: Reader) -> bool:
        """Put a read in its place; whether a snapshot taken at its moment may show that."""
        readers, moment = self.readers, reader[0]
        if not readers or readers[-1][0] < moment:
            readers.append(reader)
        else:
            insort(readers, reader, key=_by_moment)
        commits = self.commits
        if self._plain and not self.vague:
            # nearly always
            if not commits:
                return bool(self.initial == reader[2])
            if commits[-1] < moment:
                return bool(self.writes[-1].change == reader[2])
        return self.explains(reader)

    def read_between(self, low: int, high: int | None) -> list[Reader]:
        """What was read at moments from one to another (None: the last)."""
        readers = self.readers
        if not readers or readers[-1][0] < low:
            return []
        begin = bisect_left(readers, low, key=_moment)
        end = len(readers) if high is None else bisect_right(readers, high, key=_moment)
        return readers[begin:end]

    def reader(self, moment: int, number: int) -> Reader:
        """What a transaction read of the key."""
        return self.readers[bisect_left(self.readers, (moment, number), key=_by_moment)]

    def explains(self, reader: Reader) -> bool:
        """Whether a snapshot taken at its moment may show what a transaction read."""
        moment, number, base, _ = reader
        if self._plain and not self.vague:
            # nearly always
            commits = self.commits
            place = bisect_left(commits, moment)
            if (self.writes[place - 1].change if place else self.initial) == base:
                return True
            return (
                place < len(commits)
                and commits[place] == moment
                and self._register_explains(moment, place, number, base)
            )
        return self._placed_explain(reader) or (bool(self.loose) and self._loose_explain(reader))

    def _placed_explain(self, reader: Reader) -> bool:
        """The same of the writes whose moments are known."""
        moment, number, base, own = reader
        certain = self.seen(moment, number)
        commits = self.commits
        tied = not self._visible and certain < len(commits) and commits[certain] == moment
        kind = self._kind
        if kind == "register":
            return self._register_explains(moment, certain, number, base)
        if not tied and not self.vague:
            if kind == "list":
                return self._lists(certain, base)
            found = self._held(certain)
            return bool((found | own if kind == "set" else found) == base)
        end = certain if self._visible else bisect_right(commits, moment)
        options = [one for one in self.writes[certain:end] if one.number != number]
        if kind == "counter":
            return self._counter_explains(certain, options, base)
        if kind == "set":
            return self._set_explains(certain, options, base, own)
        return self._list_explains(certain, options, base)

    def _loose_explain(self, reader: Reader) -> bool:
        """Whether what may have taken effect at any moment may be what was read: of a register its value; of what is
        added up anything."""
        _, number, base, _ = reader
        others = [one for one in self.loose if one.number != number]
        return any(one.change == base for one in others) if self._kind == "register" else bool(others)

    def explains_with(self, certain: list[Write], reader: Reader) -> bool:
        """The same where only some writes certainly took effect."""
        other = Versions(self._kind, self.initial, visible=self._visible, serial=self._serial)
        kept = set(map(id, certain))
        for one in self.writes:
            other.add(one._replace(certain=id(one) in kept))
        for one in self.loose:
            other.add_loose(one)
        return other.explains(reader)

    def _register_explains(self, moment: int, certain: int, number: int, value: Any) -> bool:
        writes = self.writes
        if not self._visible:
            at = certain
            while at < len(writes) and writes[at].commit == moment:
                if writes[at].change == value and writes[at].number != number:
                    return True
                at += 1
        at = certain
        while at:
            at -= 1
            write = writes[at]
            if write.change == value:
                return True
            follows = not self._visible and at and writes[at - 1].commit == write.commit
            if write.certain and not follows:
                return False
            if follows:
                # any of one moment may be the last
                end, settled = write.commit, write.certain
                while at and writes[at - 1].commit == end:
                    at -= 1
                    settled = settled or writes[at].certain
                    if writes[at].change == value:
                        return True
                if settled:
                    return False
        return bool(self.initial == value)

    def _counter_explains(self, certain: int, options: list[Write], value: int) -> bool:
        fixed = self.initial + sum(one.change for one in self.writes[:certain] if one.certain)
        free = [one.change for one in (*self.writes[:certain], *options) if not one.certain or one in options]
        if len(free) > 2 * WAYS:
            return True
        sums = {fixed}
        for change in free:
            sums |= {total + change for total in sums}
        return value in sums

    def _set_explains(self, certain: int, options: list[Write], base: Any, own: Any) -> bool:
        least = set(self.initial | own)
        most = set(least)
        for write in self.writes[:certain]:
            most |= write.change
            if write.certain:
                least |= write.change
        for write in options:
            most |= write.change
        return bool(least <= base <= most)

    def _list_explains(self, certain: int, options: list[Write], value: tuple[Any, ...]) -> bool:
        length = len(self.initial)
        if value[:length] != self.initial:
            return False
        places = {length}
        at = 0
        while at < certain and places:
            end = at + 1 if self._visible else bisect_right(self.commits, self.commits[at], at, certain)
            group = self.writes[at:end]
            if len(group) > WAYS:
                return True
            places = _after(places, group, value)
            at = end
        if len(value) in places:
            return True
        if len(options) > WAYS:
            return True
        return bool(places) and len(value) in _after(places, options, value, all_optional=True)

    def _held(self, count: int) -> Any:
        """What a counter or a set holds after the first `count` writes."""
        totals = self._totals
        while len(totals) < count:
            before = totals[-1] if totals else self.initial
            change = self.writes[len(totals)].change
            totals.append(before | change if self._kind == "set" else before + change)
        return totals[count - 1] if count else self.initial

    def _lists(self, count: int, value: tuple[Any, ...]) -> bool:
        """Whether a list holds this after the first `count` writes."""
        ends, flat = self._totals, self._flat
        del flat[ends[-1] if ends else 0 :]
        if not ends:
            flat += self.initial
        while len(ends) < count:
            flat += self.writes[len(ends)].change
            ends.append(len(flat))
        length = ends[count - 1] if count else len(self.initial)
        return len(value) == length and [*value] == flat[:length]

    def expected(self, moment: int, number: int) -> tuple[Any, Write | None]:
        """What a snapshot taken at a moment shows, going by what is certain, and the last of its writers."""
        writes = self.writes[: self.seen(moment, number)]
        last = next((one for one in reversed(writes) if one.certain), None)
        if self._kind == "register":
            return (self.initial if last is None else last.change), last
        value = self.initial
        for one in writes:
            if one.certain:
                value = value | one.change if self._kind == "set" else value + one.change
        return value, last

    def conflicts(self, place: int) -> Iterable[tuple[Write, Write]]:
        """The pairs of which the write at a place is one, and that overlap, the one that committed first before the
        other."""
        commits = self.commits
        if place + 1 == len(commits) and (not place or commits[place - 1] <= self.writes[place].start):
            return ()  # nearly always
        return self._overlapping(place)

    def _overlapping(self, place: int) -> Iterator[tuple[Write, Write]]:
        write, writes, commits = self.writes[place], self.writes, self.commits
        if self._kind == "set" or not write.certain:
            return
        at = place
        while at and commits[at - 1] > write.start:
            at -= 1
            if _overlap(writes[at], write):
                yield writes[at], write
        at = place + 1
        while at < len(writes) and commits[at] - self._span <= write.commit:
            if _overlap(write, writes[at]):
                yield write, writes[at]
            at += 1

    def between(self, place: int) -> tuple[int, int | None]:
        """The moments between which a snapshot may be another one for the write at a place: from its commit, up to the
        commit of the next certain write of a register; None: any later one."""
        if self._kind != "register":
            return self.commits[place], None
        own = self.commits[place]
        for at in range(place + 1, len(self.writes)):
            if self.writes[at].certain and self.commits[at] > own:
                return own, self.commits[at]
        return own, None

    def told_near(self, reader: Reader) -> tuple[Any, Write | None, str, Write] | None:
        """What a read that is wrong should have shown, the last writer of that, and whence what it shows is, and its
        writer; None where that does not follow from what is not settled."""
        moment, number, value, _ = reader
        if not self._plain or self.vague or moment < self.floor:
            return None
        origin, writer = self._origin_of_value(moment, number, value)
        if writer is None or origin == "intermediate":
            return None
        place = bisect_left(self.commits, moment)
        last = self.writes[place - 1] if place else self.last
        return self.initial if last is None else last.change, last, origin, writer

    def origin(self, reader: Reader) -> tuple[str, Write | None]:
        """Whence what was read is, going by what is written here, and its writer."""
        moment, number, value, own = reader
        if self._kind == "counter":
            return "nothing", None
        if self._kind == "register":
            return self._origin_of_value(moment, number, value)
        if self._kind == "list":
            if not value:
                return "older", None
            sought = value[-1]
        else:
            extra = value - self.expected(moment, number)[0] - own
            if not extra:
                return "older", None
            sought = min(extra, key=repr)
        found: tuple[str, Write | None] = ("nothing", None)
        for one in self.writes:
            if one.number != number and sought in one.change:
                found = _called(one, moment), one
                if one.commit > moment:
                    break
        return found

    def _origin_of_value(self, moment: int, number: int, value: Any) -> tuple[str, Write | None]:
        writes = self.writes
        if self._left is None or self._left[0] != len(writes):
            left: dict[Any, list[int]] = {}
            passed: dict[Any, list[int]] = {}
            for at, one in enumerate(writes):
                left.setdefault(one.change, []).append(at)
                for each in one.passed:
                    passed.setdefault(each, []).append(at)
            self._left = len(writes), left, passed
        _, left, passed = self._left
        places = [at for at in left.get(value, ()) if writes[at].number != number]
        if places:
            # the first that committed later, else the last one
            later = bisect_right(places, moment, key=self.commits.__getitem__)
            found = writes[places[min(later, len(places) - 1)]]
            return _called(found, moment), found
        between = next((writes[at] for at in passed.get(value, ()) if writes[at].number != number), None)
        if between is not None:
            return "intermediate", between
        return ("older" if value == self.initial else "nothing"), None


def _called(one: Write, moment: int) -> str:
    """What the origin of a read at a moment is called, where it is of a write."""
    return "older" if one.commit <= moment else "uncommitted" if one.start <= moment else "future"


def _by_moment(one: Reader) -> tuple[int, int]:
    return one[:2]


def _moment(one: Reader) -> int:
    return one[0]


def _after(places: set[int], group: list[Write], value: tuple[Any, ...], *, all_optional: bool = False) -> set[int]:
    """Where a list may go on after the appends of one moment, in any order."""
    found: set[int] = set()
    free = [one for one in group if all_optional or not one.certain]
    for size in range(len(free) + 1):
        for some in combinations(free, size):
            kept = [one for one in group if one not in free or one in some]
            for order in permutations(kept):
                for place in places:
                    at = place
                    for one in order:
                        if value[at : at + len(one.change)] != one.change:
                            break
                        at += len(one.change)
                    else:
                        found.add(at)
    return found


def _overlap(one: Write, other: Write) -> bool:
    """Whether two writes are in conflict: neither may have committed before the other one started."""
    return one.certain and other.certain and not (one.commit <= other.start or other.commit <= one.start)
