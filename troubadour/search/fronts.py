"""One serial order of logs whose order nothing tells, by running the next transaction of each session (DESIGN §6).

A session, or the clients of one clock, tell which transactions may come next; running these on the newest state tells
which of them may come now. What can only read takes its place as soon as its answers fit, since no state is lost by
that; of those that write the ones come first that let others follow and keep none from following. Where none fits the
last choice is taken back, and no choice is made twice that leads to the same transactions placed and the same rows.
Finding no order says nothing. Does not know how a transaction is run, nor what else a level allows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from troubadour.search.problem.problem import Problem
from troubadour.search.repair.placer import Frontier


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is tried: runs of transactions for each one of the log, and besides; the transactions that may come next
    at a time; states that each of them may read, the newest first, in one search after the other."""

    runs_each: int
    runs: int
    fronts: int
    states: tuple[int, ...]


BRIEF = Limits(runs_each=60, runs=20_000, fronts=24, states=(1,))
THOROUGH = Limits(runs_each=200, runs=40_000, fronts=64, states=(1, 16))


@dataclass(slots=True)
class _Choice:
    """Transactions that fit at a number of placements, the likeliest first, of which some were tried."""

    length: int
    left: list[int]


@dataclass(slots=True)
class Order:
    """What must come before what, as sessions and clocks would have it: of each transaction how many others come before
    it, and those that come after it."""

    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, earlier: int, later: int) -> None:
        """One comes before the other."""
        self.before[later] += 1
        self.after[earlier].append(later)


def likely_order(problem: Problem, items: Sequence[int]) -> Order:
    """Each transaction after the one before it in its session, and after all that were over on its clock when it
    began (only those of them that nothing else tells)."""
    order = Order(dict.fromkeys(items, 0))
    sessions: dict[str, int] = {}
    clocks: dict[str | None, list[int]] = defaultdict(list)
    for item in items:
        times = problem.times[item]
        if times.over is not None and times.begun is not None:
            clocks[times.clock].append(item)
        elif times.session is not None:
            if times.session in sessions:
                order.add(sessions[times.session], item)
            sessions[times.session] = item
    for timed in clocks.values():
        _by_clock(problem, timed, order)
    return order


def _by_clock(problem: Problem, items: Sequence[int], order: Order) -> None:
    """Interval order: the latest that were over when one began have all before them already."""
    over = {item: problem.times[item].over or 0 for item in items}
    begun = {item: problem.times[item].begun or 0 for item in items}
    ended = sorted(items, key=lambda item: (over[item], item))
    ends = [over[item] for item in ended]
    for item in items:
        newest: int | None = None
        for place in range(bisect_left(ends, begun[item]) - 1, -1, -1):
            other = ended[place]
            if newest is not None and over[other] < newest:
                break
            newest = begun[other] if newest is None else max(newest, begun[other])
            order.add(other, item)


def place_fronts(begin: Callable[[], Frontier], limits: Limits) -> bool:
    """Place everything that is judged, one after the other; False where no such order was found. `begin` gives an empty
    frontier."""
    return any(_Search(begin(), limits, states).run() for states in limits.states)


class _Search:
    """Depth first."""

    def __init__(self, frontier: Frontier, limits: Limits, states: int) -> None:
        problem = frontier.problem
        items = problem.judged
        self._states = states
        self._frontier = frontier
        self._order = likely_order(problem, items)
        self._left = limits.runs_each * len(items) + limits.runs
        self._most = limits.fronts
        self._only_reads = {item for item in items if self._is_read_only(item)}
        self._fronts: list[int] = [item for item in items if not self._order.before[item]]
        self._waiting = dict(self._order.before)
        self._placed: list[int] = []
        self._digest = 0
        self._digests: list[int] = []
        self._seen: set[tuple[int, int]] = set()
        self._tokens: dict[object, int] = {}
        self._random = Random(0)
        self._count = len(items)

    def run(self) -> bool:
        """Whether all have their places now."""
        choices: list[_Choice] = []
        while True:
            fits = self._advance()
            if len(self._placed) == self._count:
                return True
            if self._left <= 0 or len(self._fronts) > self._most:
                return False
            if fits:
                choices.append(_Choice(len(self._placed), fits))
            while choices:
                choice = choices[-1]
                self._take_back(choice.length)
                if not choice.left:
                    choices.pop()
                    continue
                if self._place(choice.left.pop(0)) and self._is_new():
                    break
                if self._left <= 0:
                    return False
            else:
                return False

    def _advance(self) -> list[int]:
        """Place all that can only read and fits now; those that fit and write, the likeliest first."""
        placed = True
        while placed:
            placed = False
            for item in [item for item in self._fronts if item in self._only_reads]:
                placed |= self._place(item)
        writers = [item for item in self._fronts if item not in self._only_reads]
        length = len(self._placed)
        fits: list[int] = []
        for item in writers:
            if self._place(item):
                fits.append(item)
                self._take_back(length)
        if len(fits) < 2:
            return fits
        return sorted(fits, key=lambda item: self._cost(item, fits, length))

    def _cost(self, item: int, fits: Sequence[int], length: int) -> tuple[int, int, float, int]:
        """By how many would not fit after it any more, and how many would that do not now."""
        self._place(item)
        after = len(self._placed)
        lost = 0
        for other in fits:
            if other != item:
                lost += not self._fits(other, after)
        let = 0
        for other in self._fronts:
            if other not in fits:
                let += self._fits(other, after)
        self._take_back(length)
        return lost - let, -let, self._progress(item), item

    def _progress(self, item: int) -> float:
        return item

    def _fits(self, item: int, length: int) -> bool:
        if not self._place(item):
            return False
        self._take_back(length)
        return True

    def _place(self, item: int) -> bool:
        frontier = self._frontier
        self._left -= 1
        if frontier.place(item, runs=self._states) is not None:
            return False
        self._placed.append(item)
        self._digests.append(self._digest)
        self._digest ^= self._change(len(frontier.trace)) ^ self._token(("placed", item))
        self._fronts.remove(item)
        for later in self._order.after.get(item, ()):
            self._waiting[later] -= 1
            if not self._waiting[later]:
                insort(self._fronts, later)
        return True

    def _take_back(self, length: int) -> None:
        if len(self._placed) == length:
            return
        self._frontier.truncate(length)
        while len(self._placed) > length:
            item = self._placed.pop()
            self._digest = self._digests.pop()
            for later in self._order.after.get(item, ()):
                if not self._waiting[later]:
                    self._fronts.remove(later)
                self._waiting[later] += 1
            insort(self._fronts, item)

    def _change(self, position: int) -> int:
        """What becomes of the digest of the rows at a position."""
        changed = 0
        for row in self._frontier.trace.states.written_at(position):
            changed ^= self._token((row.address, row.at(position - 1))) ^ self._token((row.address, row.at(position)))
        return changed

    def _token(self, what: object) -> int:
        found = self._tokens.get(what)
        if found is None:
            found = self._tokens[what] = self._random.getrandbits(64)
        return found

    def _is_new(self) -> bool:
        key = (self._digest, len(self._placed))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _is_read_only(self, item: int) -> bool:
        problem = self._frontier.problem
        if item in problem.aborted:
            # nothing remains of it
            return True
        return all(s.program is not None and s.program.read_only for s in problem.prepared(item).statements)
