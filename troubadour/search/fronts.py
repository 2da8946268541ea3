"""One serial order of logs whose order nothing tells, by running the next transaction of each session (DESIGN §6).

A session, or the clients of one clock, tell which transactions may come next; running these on the newest state tells
which of them may come now. What can only read takes its place as soon as its answers fit, since no state is lost by
that; of those that write the ones come first that let others follow and keep none from following. Where none fits the
last choice is taken back, and no choice is made twice that leads to the same transactions placed and the same rows.
Finding no order says nothing. Does not know how a transaction is run, nor what else a level allows.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from troubadour.execution.views.concrete import ConcreteView
from troubadour.search.layers import place_layers
from troubadour.search.likely_order import Order, likely_order
from troubadour.search.problem.problem import Problem
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import Candidate
from troubadour.search.symbolic.observations import may_write


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is tried: runs of transactions for each one of the log, and besides; the transactions that may come next
    at a time; searches, one after the other: the states that each may read, the newest first, and whether placements
    that cannot be to blame are skipped where nothing fits (what was learned of equal states is about right only);
    the effort of all of them, and that for each transaction besides; the ways that each layer has at most, of
    layers that come after the first search (`width`; 0: there are none)."""

    runs_each: int
    runs: int
    fronts: int
    searches: tuple[tuple[int, bool], ...]
    effort: float
    effort_each: float
    width: int = 0


BRIEF = Limits(runs_each=6, runs=300, fronts=24, searches=((1, True),), effort=0.2, effort_each=0.001)
THOROUGH = Limits(
    runs_each=100,
    runs=20_000,
    fronts=64,
    searches=((1, True), (1, False), (16, False)),
    effort=40.0,
    effort_each=0.05,
    width=2_000,
)


@dataclass(slots=True)
class _Choice:
    """Transactions that fit at a number of placements, the likeliest first, of which some were tried. `blamed`: earlier
    placements but for which others would fit here, or what follows would. `digest`: of what was placed before what can
    only read."""

    length: int
    left: list[int]
    blamed: set[int]
    digest: int


@dataclass(slots=True)
class _Run:
    """How a transaction ran: after how many placements, the last of which has a serial number; whether it fits, and
    what it looked at (None: that is not known)."""

    length: int
    serial: int
    fits: bool
    view: ConcreteView | None


def place_fronts(
    begin: Callable[[], Frontier], limits: Limits, before: Mapping[int, Sequence[int]] | None = None
) -> bool:
    """Place everything that is judged, one after the other; False where no such order was found. `begin` gives an empty
    frontier; `before`: of transactions, those that are known to commit before them."""
    for number, (states, jumps) in enumerate(limits.searches):
        frontier = begin()
        order = likely_order(frontier.problem, frontier.problem.judged)
        for item, others in (before or {}).items():
            for other in others:
                if item in order.before and other in order.before:
                    order.add(other, item)
        if _Search(frontier, order, limits, states, jumps=jumps).run():
            return True
        if not number and limits.width and _in_layers(begin, order, limits, frontier.problem):
            return True
    return False


def _in_layers(begin: Callable[[], Frontier], order: Order, limits: Limits, problem: Problem) -> bool:
    """See `place_layers`, with half of the effort."""
    effort = (limits.effort + limits.effort_each * len(order.before)) / 2
    only_reads = frozenset(item for item in order.before if is_read_only(problem, item))

    def placed() -> bool:
        return place_layers(begin, order, only_reads, width=limits.width, fronts=limits.fronts)

    return problem.budget.attempt("fronts in layers", lambda: bool(problem.budget.tried(effort, placed)))


def is_read_only(problem: Problem, item: int) -> bool:
    """Whether nothing can remain of an item, going also by the numbers of rows that it changed."""
    if item in problem.aborted:
        return True
    return all(one.program is not None and not may_write(one) for one in problem.prepared(item).statements)


class _Search:
    """Depth first, back to a placement that is to blame."""

    def __init__(self, frontier: Frontier, order: Order, limits: Limits, states: int, *, jumps: bool) -> None:
        self._frontier = frontier
        self._order = order
        self._states = states
        self._jumps = jumps
        self._left = limits.runs_each * len(order.before) + limits.runs
        self._most = limits.fronts
        self._only_reads = {item for item in order.before if is_read_only(frontier.problem, item)}
        self._waiting = dict(order.before)
        self._fronts = sorted(item for item in order.before if not order.before[item])
        self._placed: list[int] = []
        self._serials = [0]
        self._serial = 0
        self._runs: dict[int, _Run] = {}
        self._digests = [0]
        self._known: dict[int, set[int]] = {}
        self._tokens: dict[object, int] = {}
        self._random = Random(0)

    def run(self) -> bool:
        """Whether all have their places now."""
        choices: list[_Choice] = []
        while True:
            digest = self._digests[-1]
            fits, blamed = self._advance()
            if len(self._placed) == len(self._order.before):
                return True
            if len(self._fronts) > self._most:
                return False
            choices.append(_Choice(len(self._placed), fits, blamed, digest))
            if not self._go_on(choices):
                return False

    def _go_on(self, choices: list[_Choice]) -> bool:
        """Take the next choice that is left; False where none is, or enough was tried."""
        while choices:
            if self._left <= 0:
                return False
            choice = choices[-1]
            self._take_back(choice.length)
            if choice.left:
                if not self._place(choice.left.pop(0)):
                    continue
                if self._is_new():
                    return True
                # what follows was looked at
                known = self._known[self._digests[-1]]
                choice.blamed |= {place for place, item in enumerate(self._placed[: choice.length], 1) if item in known}
                continue
            blamed = choice.blamed
            newest = max(blamed, default=0)
            exhausted = True
            while choices and (exhausted or (self._jumps and choices[-1].length >= newest)):
                # another choice there would not help
                exhausted = False
                self._known[choices.pop().digest] = {self._placed[place - 1] for place in blamed if place > 0}
            if choices:
                choices[-1].blamed |= {place for place in blamed if place <= choices[-1].length}
        return False

    def _advance(self) -> tuple[list[int], set[int]]:
        """Place all that can only read and fits now; those that fit and write, the likeliest first, and the placements
        after which the others do not fit."""
        placed = True
        while placed:
            placed = False
            for item in [item for item in self._fronts if item in self._only_reads]:
                placed |= self._place(item)
        length = len(self._placed)
        blamed: set[int] = set()
        fits: list[int] = []
        for item in self._fronts:
            run = self._try(item)
            if run.fits:
                fits.append(item)
            else:
                blamed.add(length if run.view is None else run.view.valid_since(length))
        if len(fits) > 1:
            fits.sort(key=lambda item: self._cost(item, fits, length))
        return fits, blamed

    def _cost(self, item: int, fits: Sequence[int], length: int) -> tuple[int, int, int]:
        """By how many more would not fit after it any more than would that do not now."""
        if not self._place(item):
            return len(fits), 0, item
        lost = let = 0
        for other in self._fronts:
            if other in fits:
                lost += not self._try(other).fits
            else:
                let += self._try(other).fits
        self._take_back(length)
        return lost - let, -let, item

    def _try(self, item: int) -> _Run:
        """How a transaction runs on what is placed; not again where nothing changed of what it looked at."""
        length = len(self._placed)
        known = self._runs.get(item)
        if (
            known is not None
            and known.length <= length
            and self._serials[known.length] == known.serial
            and (known.length == length or (known.view is not None and known.view.valid_since(length) <= known.length))
        ):
            return known
        return self._run(item)[0]

    def _run(self, item: int) -> tuple[_Run, Candidate | None]:
        self._left -= 1
        frontier, length = self._frontier, len(self._placed)
        frontier.problem.budget.left()
        view: ConcreteView | None = None
        found: Candidate | None = None
        if frontier.misplaced(item) is None:
            for candidate in islice(frontier.trace.candidates(item), self._states):
                view = candidate.view if self._states == 1 else None
                if candidate.failure is None:
                    found = candidate
                    break
        run = self._runs[item] = _Run(length, self._serials[-1], found is not None, view)
        return run, found

    def _place(self, item: int) -> bool:
        if item in self._runs and not self._try(item).fits:
            return False
        _, candidate = self._run(item)
        if candidate is None:
            return False
        self._frontier.keep(candidate)
        self._placed.append(item)
        self._serial += 1
        self._serials.append(self._serial)
        self._digests.append(self._digests[-1] ^ self._change(len(self._placed)) ^ self._token(item))
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
            self._digests.pop()
            self._serials.pop()
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
        """Whether the same transactions were not placed before with the same rows left."""
        return self._digests[-1] not in self._known
