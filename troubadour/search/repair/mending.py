"""Mending the hint order where a transaction fails: the order of a log is a hint.

Transactions are inserted after older states that explain them, put off until what they read is there, cut into those
that a snapshot saw and those that it did not, read otherwise, and at last the orders of a small window are tried. What
none of these mends may still be explained by an order further away, which the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sql_semantics.records import dataclass
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.isolation.times import sent_after
from troubadour.problem.budget import FEW, MANY, SOME, THOUSANDS
from troubadour.problem.orders import may_have_seen
from troubadour.search.repair.moves.pull_forward import defer, separate_ahead
from troubadour.search.repair.moves.reassign_reads import revise
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.moves.transpose import swap_seen
from troubadour.search.repair.moves.unknown_outcome import with_one, without_one, without_several
from troubadour.search.repair.moves.window import weave
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import SEMANTIC, UNSUPPORTED
from troubadour.search.symbolic.trace import SymbolicTrace


@dataclass(slots=True)
class _Case:
    """An item without a place. `pending`: those of unknown outcome that it may have seen, the likeliest first."""

    frontier: Frontier
    item: int
    thorough: bool
    pending: list[int]

    @property
    def symbolic(self) -> bool:
        """Whether readings are kept open."""
        return isinstance(self.frontier.trace, SymbolicTrace)

    @property
    def own_states(self) -> bool:
        """Whether statements read states of their own."""
        return self.frontier.problem.has_own_states

    def near(self, other: int) -> bool:
        """Whether the times leave it open that the item has seen the other one."""
        return may_have_seen(self.frontier.problem, other, self.item)


def _always(case: _Case) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Move:
    """A way to mend: its name, as in `--stats`; `run` says whether it gave the item a place, else all is as it was;
    `applies`: to which cases. Those that are `brief` are tried before it is asked whether there is any order."""

    name: str
    run: Callable[[_Case], bool]
    applies: Callable[[_Case], bool] = _always
    brief: bool = False


MOVES: tuple[Move, ...] = (
    Move("pull forward", lambda case: defer(case.frontier, case.item, case.near), brief=True),
    Move("insert recently", lambda case: _insert(case.frontier, case.item, recently=True), brief=True),
    Move("snapshot cut", lambda case: separate(case.frontier, case.item, MANY), brief=True),
    Move(
        "snapshot cut ahead",
        lambda case: separate_ahead(case.frontier, case.item, case.near),
        lambda case: not case.symbolic,
        brief=True,
    ),
    Move("one read anew", lambda case: revise(case.frontier, case.item), brief=True),
    Move("any state", lambda case: _place_anywhere(case.frontier, case.item), lambda case: case.thorough),
    Move(
        "without one of unknown outcome",
        lambda case: without_one(case.frontier, case.item),
        lambda case: bool(case.frontier.problem.unknown),
    ),
    Move(
        "with one of unknown outcome",
        lambda case: with_one(case.frontier, case.item, case.pending[:FEW]),
        lambda case: bool(case.pending),
    ),
    Move(
        "without several of unknown outcome",
        lambda case: without_several(case.frontier, case.item, lambda: _mended(case, NEARBY)),
        lambda case: not case.symbolic and bool(case.frontier.problem.unknown),
    ),
    # an order nearby is likelier than an old state that happens to look alike
    Move("window", lambda case: weave(case.frontier, case.item, case.pending[:FEW])),
    Move("insert", lambda case: _insert(case.frontier, case.item)),
    Move("transpose what was seen", lambda case: swap_seen(case.frontier, case.item), lambda case: case.thorough),
)
"""All of them, in the order in which they are tried."""
NEARBY: tuple[Move, ...] = tuple(move for move in MOVES if move.brief)
"""Those that change the order near the item only."""


def repair(frontier: Frontier, item: int, unknown: Sequence[int], *, thorough: bool = True) -> bool:
    """Change the order so that the item has a place; False, with everything as before, where that is not found.
    Without `thorough` only what takes a second or so is tried."""
    case = _Case(frontier, item, thorough, _possible_by_now(frontier, item, unknown))
    return _mended(case, MOVES)


def repair_nearby(frontier: Frontier, item: int, unknown: Sequence[int]) -> bool:
    """The same, by changing the order near the item or what was read before it only, which takes little."""
    case = _Case(frontier, item, False, _possible_by_now(frontier, item, unknown))
    return _mended(case, NEARBY)


def _mended(case: _Case, moves: Sequence[Move]) -> bool:
    budget = case.frontier.problem.budget
    return any(move.applies(case) and budget.attempt(f"mend: {move.name}", partial(move.run, case)) for move in moves)


def _place_anywhere(frontier: Frontier, item: int) -> bool:
    """Place the item on whichever state explains it, however old."""
    try:
        return frontier.place(item) is None
    except UnsupportedStatement:
        return False


def _insert(frontier: Frontier, item: int, *, recently: bool = False) -> bool:
    """Where it must read the newest state, put it right after an older state that explains it; `recently`: one that
    times suggest, among the newest ones."""
    if not frontier.problem.levels[item].horizon.latest:
        return False
    tried = 0
    newest = state = len(frontier.trace)
    oldest = frontier.problem.oldest(newest)
    if recently:
        begun, _ = frontier.trace.timeline.start_interval(frontier.problem.times[item])
        oldest = max(begun, newest - SOME, oldest)
    try:
        for _ in range(THOUSANDS):
            if state < oldest or tried == FEW:
                break
            frontier.problem.budget.left()
            candidate = frontier.trace.run(item, Choices(state), tolerant=True)
            explains = candidate.failure is None or candidate.failure.condition not in (*SEMANTIC, UNSUPPORTED)
            if explains and state < newest:
                tried += 1
                tail = [placement.item for placement in frontier.trace.placements[state:]]
                if frontier.replace(state, [item, *tail]):
                    return True
            state = candidate.since - 1
        else:
            if state >= oldest and not recently:
                frontier.half_tried = item
    except OpenRead:
        # a symbolic trace has no concrete state to read here
        return False
    return False


def _possible_by_now(frontier: Frontier, item: int, unknown: Sequence[int]) -> list[int]:
    """The transactions of unknown outcome that are not placed and that the item may have seen, those first whose
    commits were sent about then."""
    problem = frontier.problem
    times = problem.times[item]
    last = len(times.got) - 1
    found = [
        other
        for other in unknown
        if other not in frontier.placed and (last < 0 or not sent_after(problem.times[other], times, last))
    ]
    return sorted(found, key=lambda other: abs(other - item))
