"""Mending the hint order where a transaction fails (DESIGN §6: the order is a hint).

Transactions are inserted after older states that explain them, put off until what they read is there, cut into those
that a snapshot saw and those that it did not, read otherwise, and at last the orders of a small window are tried. What
none of these mends may still be explained by an order further away, which the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from sql_semantics.errors import Unsupported
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.isolation.levels import Scope
from troubadour.isolation.times import sent_after
from troubadour.problem.orders import may_have_seen
from troubadour.problem.problem import OutOfTime
from troubadour.search.repair.moves.delay_commit import read_without_one
from troubadour.search.repair.moves.pull_forward import defer, separate_ahead
from troubadour.search.repair.moves.reassign_reads import reread, reread_one, revise, revise_several
from troubadour.search.repair.moves.reread_set import reread_sets
from troubadour.search.repair.moves.snapshot_cut import separate
from troubadour.search.repair.moves.transpose import swap_seen
from troubadour.search.repair.moves.window import weave
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import SEMANTIC, UNSUPPORTED
from troubadour.search.symbolic.abstract_refutation import is_refuted, is_refuted_after
from troubadour.search.symbolic.trace import SymbolicTrace

REACH = 24
"""How many later transactions may be what shows that no order can help."""

INSERTIONS = 8
"""Older states after which a transaction that must read the newest state is tried."""

LOOKED_AT = 2000
"""States, one of each that look the same to the transaction, in which it is run at most: old ones are slow to read."""

RECENT = 96
"""States, the newest ones, among which it is looked for them first."""

NEAREST = 6
"""How many transactions of unknown outcome are tried."""

SHORT_REACH = 6
"""How far back from the newest state one of unknown outcome is tried."""

TAKEN_BACK = 120
"""How far back one that was taken to have happened is looked for."""

UNKNOWN_REACH = 8
"""How far from where its commit was sent a transaction of unknown outcome is tried."""

SEPARATED_FIRST = 160
"""Placements spent on telling what a transaction saw from what it did not, before other readings are tried."""

SEPARATED_NEXT = 1500
"""The same before several readings are changed at once, which takes longer."""

ONE_ANEW = 2000
"""Placements spent on changing the reading of one earlier transaction and the order with it."""

TWO_ANEW = 20_000
"""The same of two."""

TWO_ANEW_BRIEFLY = 5000
"""The same where the item may wait for those that come next."""

HOPELESS_BACK = 48
"""How many placed transactions are taken back to show that no order can help."""

HOPELESS_SECONDS = 4.0
"""Effort for showing that, in seconds of an idle machine."""

HOPELESS_ROWS = 300
"""Rows of a table up to which an item that looks at all of them is worth it: case analysis of more takes too long."""


Move = tuple[str, Callable[[], bool]]
"""A way to mend, by its name in the statistics; whether it found a place, else all is as it was."""


@dataclass(slots=True)
class _Case:
    """An item without a place. `pending`: those of unknown outcome that it may have seen, the likeliest first;
    `hopeless`: no order can help."""

    frontier: Frontier
    item: int
    unknown: Sequence[int]
    thorough: bool
    pending: list[int]
    hopeless: bool = False

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

    def is_hopeless(self) -> bool:
        """Whether case analysis rules the item out with all that may stand before it; kept."""
        self.hopeless = _is_hopeless(self.frontier, self.item, self.pending)
        return self.hopeless


ONE_ANEW_FIRST = 2
"""Ways to read one earlier transaction anew that are tried before it is asked whether there is any order."""


def repair(frontier: Frontier, item: int, unknown: Sequence[int], *, thorough: bool = True) -> bool:
    """Change the order so that the item has a place; False, with everything as before, where that is not found.
    Without `thorough` only what takes a second or so is tried."""
    case = _Case(frontier, item, unknown, thorough, _possible_by_now(frontier, item, unknown))
    for stage in (_by_cases, _nearby, _read_otherwise, _further):
        for name, move in stage(case):
            if frontier.problem.budget.attempt(f"mend: {name}", move):
                return True
        if case.hopeless:
            return False
    return False


def repair_nearby(frontier: Frontier, item: int, unknown: Sequence[int]) -> bool:
    """The same, by changing the order near the item or what was read before it only, which takes little."""
    case = _Case(frontier, item, unknown, False, _possible_by_now(frontier, item, unknown))
    moves = chain(_nearby(case), islice(_read_otherwise(case), ONE_ANEW_FIRST))
    return any(frontier.problem.budget.attempt(f"mend: {name}", move) for name, move in moves)


def _by_cases(case: _Case) -> Iterator[Move]:
    """What case analysis tells where readings are kept open."""
    if not case.symbolic:
        return
    with case.frontier.problem.budget.step("mend: by cases") as tally:
        tally.helped += case.is_hopeless()
        if case.hopeless and _is_refuted_in_order(case.frontier, case.item):
            # whatever anybody read before it
            return
    yield "any state", lambda: _place_anywhere(case.frontier, case.item)


def _nearby(case: _Case) -> Iterator[Move]:
    """The order is changed near the item."""
    frontier, item = case.frontier, case.item
    if frontier.problem.has_sets:
        yield "sets read anew", lambda: reread_sets(frontier, item)
    yield "pull forward", lambda: defer(frontier, item, case.near)
    yield "insert recently", lambda: _insert(frontier, item, recently=True)
    yield "snapshot cut", lambda: separate(frontier, item, SEPARATED_FIRST)
    if not case.symbolic:
        yield "pull forward, read anew", lambda: defer(frontier, item, case.near, readings=True)
        yield "snapshot cut ahead", lambda: separate_ahead(frontier, item, case.near)


def _read_otherwise(case: _Case) -> Iterator[Move]:
    """An earlier one read another state. Where statements read states of their own that is guessed more often than the
    order: the item's and those of the writers of what it looks at are guessed anew."""
    frontier, item = case.frontier, case.item
    if case.own_states or frontier.problem.levels[item].scope is Scope.ROW:
        yield "one read anew in real time", lambda: reread_one(frontier, item)
    yield "one read anew", lambda: revise(frontier, item)
    if case.own_states:
        two = TWO_ANEW if case.thorough else TWO_ANEW_BRIEFLY
        yield "one of several read anew", lambda: revise_several(frontier, item, 1, ONE_ANEW)
        yield "a commit delayed", lambda: read_without_one(frontier, item)
        yield "snapshot cut, whole", lambda: separate(frontier, item)
        yield "snapshot cut, in parts", lambda: separate(frontier, item, in_parts=True)
        yield "two of several read anew", lambda: revise_several(frontier, item, 2, two)
        yield "statements read anew", lambda: reread(frontier, item)
    if case.thorough:
        yield "any state", lambda: _place_anywhere(frontier, item)


def _further(case: _Case) -> Iterator[Move]:
    """Transactions of unknown outcome, windows of the order, and several readings at once."""
    frontier, item, few = case.frontier, case.item, case.pending[:NEAREST]
    yield "without one of unknown outcome", lambda: _without_unknown(frontier, item, case.unknown)
    yield "with one of unknown outcome", lambda: _with_unknown(frontier, item, few)
    # an order nearby is likelier than an old state that happens to look alike
    yield "window", lambda: weave(frontier, item, few)
    yield "insert", lambda: _insert(frontier, item)
    if not case.own_states:
        yield "snapshot cut, longer", lambda: separate(frontier, item, SEPARATED_NEXT)
        yield "a commit delayed", lambda: read_without_one(frontier, item)
        yield "one of several read anew", lambda: revise_several(frontier, item, 1, ONE_ANEW)
        yield "two of several read anew", lambda: revise_several(frontier, item, 2, TWO_ANEW)
    if case.thorough:
        yield "transpose what was seen", lambda: swap_seen(frontier, item)


def _place_anywhere(frontier: Frontier, item: int) -> bool:
    """Place the item on whichever state explains it, however old."""
    try:
        return frontier.place(item) is None
    except UnsupportedStatement:
        return False


def _is_hopeless(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Whether case analysis rules the item out even with all around it, later ones included, written before it."""
    if _looks_at_many(frontier, item):
        return False
    base = max(0, len(frontier.trace) - HOPELESS_BACK)
    old = frontier.truncate(base)
    upcoming = frontier.remaining.after(item, frontier.placed, REACH)
    order = [*(taken.item for taken in old), *(other for other in upcoming if other != item), *pending, item]
    try:
        with frontier.problem.budget.within(effort=HOPELESS_SECONDS):
            return is_refuted_after(frontier.trace, order, set(order) - set(pending))
    except (Unsupported, OutOfTime):
        frontier.problem.budget.left()
        return False
    finally:
        frontier.restore(base, old)


def _looks_at_many(frontier: Frontier, item: int) -> bool:
    """Whether a run of the item looks at the whole of a long table."""
    newest = len(frontier.trace)
    try:
        view = frontier.trace.run(item, Choices(newest), tolerant=True).view
    except OpenRead:
        return False
    tables = frontier.trace.states.tables
    return any(len(tables[name].all_lately(newest, newest)) > HOPELESS_ROWS for name in view.tables_scanned())


def _is_refuted_in_order(frontier: Frontier, item: int) -> bool:
    """Whether case analysis of the whole order rules the item out, whatever was guessed."""
    order = [*(placement.item for placement in frontier.trace.placements), item]
    try:
        return is_refuted(frontier.problem, order, frozenset(order))
    except Unsupported:
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
        oldest = max(begun, newest - RECENT, oldest)
    try:
        for _ in range(LOOKED_AT):
            if state < oldest or tried == INSERTIONS:
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


def _with_unknown(frontier: Frontier, item: int, pending: Sequence[int]) -> bool:
    """Let a transaction of unknown outcome have happened: about where its commit was sent, or a little before."""
    length = len(frontier.trace)
    for other in pending:
        sent = next((n for n, placement in enumerate(frontier.trace.placements) if placement.item > other), length)
        near = [sent + step for distance in range(UNKNOWN_REACH) for step in (distance, -distance)]
        recent = range(length, length - SHORT_REACH, -1)
        for base in dict.fromkeys([*near, *recent]):
            if frontier.trace.fixed <= base <= length:
                tail = [placement.item for placement in frontier.trace.placements[base:]]
                if frontier.replace(base, [other, *tail, item]):
                    return True
    return False


def _without_unknown(frontier: Frontier, item: int, unknown: Sequence[int]) -> bool:
    """Let one of unknown outcome that was taken to have happened, among the latest transactions, not have happened, or
    only later."""
    first = max(len(frontier.trace) - TAKEN_BACK, frontier.trace.fixed)
    places = {placement.item: place for place, placement in enumerate(frontier.trace.placements)}
    for other in reversed(unknown):
        if places.get(other, -1) >= first and other in places:
            tail = [placement.item for placement in frontier.trace.placements[places[other] + 1 :]]
            if frontier.replace(places[other], [*tail, item]) or frontier.replace(places[other], [*tail, other, item]):
                return True
    return False
