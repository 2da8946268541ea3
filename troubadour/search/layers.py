"""One order of a log whose order nothing tells, in layers: every way to place so many transactions that write.

What is left of the rows, what was placed, and what those would write that may commit next is all that matters of a way:
ways that come to the same are one, and a transaction runs once on the same rows, however they came about. What can only
read takes its place as soon as its answers fit. What writes has begun where they fit, and commits then or later, where
its level has it read one state of any age; until another one writes the same rows. Where there are too many ways those
go on on which most was placed; where these come to an end it is all done again with more of them. Finding no order says
nothing: that equal rows are equal states is about right only. Does not know how a transaction is run, nor what else a
level allows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from sql_semantics.records import dataclass, field
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.history import RowHistory, WriteMap
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.levels import Level, Scope, Visible
from troubadour.model.log import TransactionId
from troubadour.problem.budget import FEWEST
from troubadour.problem.problem import Problem
from troubadour.search.along import place_along
from troubadour.search.likely_order import Order
from troubadour.search.repair.placer import Frontier
from troubadour.search.schedule.placement import Candidate, TakenBack

_Address = tuple[str, TransactionId | None, int]
"""A row by its table, the transaction that inserted it, and as which of its rows."""

ASKED = 1
"""Units of asking whether a transaction fits next, where that is known."""

FOLLOWED = 5
"""Units of following a way by one that does."""

WIDER = 4
"""How many times as many ways are followed where the first ones all came to an end."""


@dataclass(slots=True, eq=False)
class _State:
    """Rows that were reached, by placing a transaction after others that write, and how it is placed again."""

    before: _State | None = None
    depth: int = 0
    taken: TakenBack | None = None


@dataclass(slots=True, eq=False)
class _Run:
    """A transaction that was run and fits: the rows that it leaves where it commits at once, what it writes, how it is
    placed again, and a number for all that (`content`): another run of it that writes the same has the same."""

    rows: int
    writes: frozenset[_Address]
    taken: TakenBack
    content: int


_Runs = tuple[tuple[_Run, int], ...]


@dataclass(slots=True, eq=False)
class _Way:
    """The transactions that were placed, as bits and how many, those that may come next, and the rows that are left;
    those that may commit now, with what they write by each of the states that they may have read, and after how many
    placements that state was; the one that was placed last, with the placements of its state, after an earlier way; and
    the sum of the places in hint order of what was placed."""

    placed: int
    count: int
    fronts: tuple[int, ...]
    rows: int
    begun: dict[int, _Runs] = field(default_factory=dict)
    last: tuple[int, int | None] | None = None
    earlier: _Way | None = None
    ranks: int = 0


class _Unknown(Exception):
    """What a table holds is not known."""


class _States:
    """How transactions run on rows."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self._tables = sorted(frontier.trace.states.tables)
        self._at: list[_State] = []
        """What is placed now."""
        self.first = self._digest()
        self._states = {self.first: _State()}
        self._runs: dict[tuple[int, int], _Run | None] = {}
        self._committed: dict[tuple[int, int, int], int | None] = {}
        self._contents: dict[object, int] = {}

    def run(self, item: int, rows: int) -> _Run | None:
        """How an item runs on these rows; None where it does not fit."""
        key = item, rows
        if key not in self._runs:
            self._runs[key] = self._ran(item, self._states[rows])
        return self._runs[key]

    def committed(self, item: int, run: _Run, rows: int) -> int | None:
        """The rows that are left where an item, run on earlier ones, commits after these were left; None where it wrote
        rows that are not there."""
        key = item, run.content, rows
        if key not in self._committed:
            self._committed[key] = self._commit(run, self._states[rows])
        return self._committed[key]

    def _ran(self, item: int, state: _State) -> _Run | None:
        self._go_to(state)
        frontier = self._frontier
        candidate = fitting(frontier, item)
        if candidate is None:
            return None
        frontier.keep(candidate)
        rows, taken = self._left(state)
        content = frozenset((_address(row), version) for row, version in taken.writes.items())
        number = self._contents.setdefault((item, content), len(self._contents))
        return _Run(rows, frozenset(map(_address, taken.writes)), taken, number)

    def _commit(self, run: _Run, state: _State) -> int | None:
        self._go_to(state)
        tables = self._frontier.trace.states.tables
        there = {_address(row): row for table in {row.table for row in run.taken.writes} for row in tables[table].rows}
        writes: WriteMap = {}
        for row, version in run.taken.writes.items():
            address = _address(row)
            if address in there:
                writes[there[address]] = version
            elif row.author == self._frontier.problem.transaction(run.taken.item).id:
                writes[RowHistory(row.table, row.author, row.ordinal)] = version
            else:
                return None
        self._frontier.restore(state.depth, [TakenBack(run.taken.placement, writes, run.taken.idle)])
        return self._left(state)[0]

    def _left(self, state: _State) -> tuple[int, TakenBack]:
        """What is left of the rows by the one that was placed last, after a state, and what it was; it is taken
        back."""
        rows = self._digest()
        (taken,) = self._frontier.truncate(state.depth)
        if rows not in self._states:
            self._states[rows] = _State(state, state.depth + 1, taken)
        return rows, taken

    def _go_to(self, state: _State) -> None:
        """Place what led to a state, and nothing else."""
        missing: list[_State] = []
        while state.before is not None and self._at[state.depth - 1 : state.depth] != [state]:
            missing.append(state)
            state = state.before
        missing.reverse()
        self._frontier.restore(state.depth, [one.taken for one in missing if one.taken is not None])
        self._at[state.depth :] = missing

    def _digest(self) -> int:
        states = self._frontier.trace.states
        found = [states.contents_at(name, states.length) for name in self._tables]
        if None in found:
            raise _Unknown
        return hash(tuple(found))


def _address(row: RowHistory) -> _Address:
    return row.table, row.author, row.ordinal


def fitting(frontier: Frontier, item: int) -> Candidate | None:
    """How an item runs on the newest state; None where that is not as it was observed, or may not be what it read."""
    trace = frontier.trace
    frontier.problem.budget.left()
    if _reads_older(frontier.problem.levels[item]):
        newest, (low, high) = len(trace), trace.horizon(item)
        if not low <= newest <= high:
            return None
        found = trace.run(item, Choices(newest), low, trace.masked(item), tolerant=True)
        return found if found.failure is None else None
    for candidate in islice(trace.candidates(item), 1):
        if candidate.failure is None:
            return candidate
    return None


def place_layers(
    begin: Callable[[], Frontier], order: Order, *, width: int, fronts: int, most: int | None = None
) -> bool:
    """Place all of an order, `width` ways at a time, then up to `most` (None: as many as it takes); False where no such
    order was found. Ways of which more than `fronts` may come next are not followed. `begin` gives an empty frontier.
    Raises OutOfTime."""
    try:
        found = _Layers(begin(), order, fronts).run(width, most)
    except _Unknown:
        return False
    return found is not None and place_along(begin(), found, waiting=0)


def is_read_only(problem: Problem, item: int) -> bool:
    """Whether nothing can remain of an item, going also by the numbers of rows that it changed."""
    if item in problem.aborted:
        return True
    return all(one.program is not None and not may_write(one) for one in problem.prepared(item).statements)


class _Layers:
    """Each layer has the ways to place one more transaction that may write."""

    def __init__(self, frontier: Frontier, order: Order, fronts: int) -> None:
        problem = frontier.problem
        self._budget = problem.budget
        self._states = _States(frontier)
        self._order = order
        self._only_reads = {item for item in order.before if is_read_only(problem, item)}
        self._was_cut = False
        """Whether there were more ways than were followed."""
        self._most = fronts
        self._newest = {item for item in order.before if not _reads_older(problem.levels[item])}
        """Those that read the newest state, if they write."""
        self._needs = dict.fromkeys(order.before, 0)
        """Those that come before each, as bits."""
        for item, others in order.after.items():
            for other in others:
                self._needs[other] |= 1 << item

    def run(self, width: int, most: int | None) -> list[tuple[int, int | None]] | None:
        """An order of all, each with the placements of the state that it reads (None: all); None where none was
        found."""
        while True:
            found = self._searched(width)
            width *= WIDER
            if found is not None or not self._was_cut or (most is not None and width > most):
                return found
            # how transactions run is known by now

    def _searched(self, width: int) -> list[tuple[int, int | None]] | None:
        self._was_cut = False
        first = _Way(0, 0, tuple(item for item, needs in self._needs.items() if not needs), self._states.first)
        layer = [self._begun(first)]
        while layer:
            for way in layer:
                if way.count == len(self._needs):
                    return _items(way)
            layer = [way for way in layer if len(way.fronts) <= self._most]
            found: dict[object, _Way] = {}
            for way in layer:
                self._budget.left()
                for item, runs in way.begun.items():
                    for run, state in runs:
                        self._follow(way, item, run, state, found)
            # most placed is most explained; of these the one that is nearest to the hint order
            layer = sorted(found.values(), key=lambda way: (-way.count - len(way.begun), way.ranks))
            self._was_cut = self._was_cut or len(layer) > width
            del layer[width:]
        return None

    def _follow(self, way: _Way, item: int, run: _Run, state: int, found: dict[object, _Way]) -> None:
        self._budget.note(FOLLOWED)
        is_newest = self._states.run(item, way.rows) is run
        rows = run.rows if is_newest else self._states.committed(item, run, way.rows)
        if rows is None:
            return
        longer = self._begun(self._longer(way, item, rows, None if is_newest else state, self._kept(way, item, run)))
        begun = frozenset((other, one.content) for other, runs in longer.begun.items() for one, _ in runs)
        found.setdefault((longer.placed, longer.rows, begun), longer)

    def _kept(self, way: _Way, item: int, run: _Run) -> dict[int, _Runs]:
        """Those that may still commit on the state that they read after an item did: what they write is as it was
        there."""
        found: dict[int, _Runs] = {}
        for other, runs in way.begun.items():
            if other != item and other not in self._newest:
                kept = tuple((one, state) for one, state in runs if one.writes.isdisjoint(run.writes))
                if kept:
                    found[other] = kept
        return found

    def _begun(self, way: _Way) -> _Way:
        """With all that can only read and fits, and what else may begin on the rows that are left."""
        looked: set[int] = set()
        while True:
            rest = [item for item in way.fronts if item not in looked]
            if not rest:
                return way
            looked.update(rest)
            for item in rest:
                self._budget.note(ASKED)
                run = self._states.run(item, way.rows)
                if run is None:
                    continue
                if item in self._only_reads:
                    way = self._longer(way, item, way.rows, None, way.begun)
                else:
                    others = [one for one in way.begun.get(item, ()) if one[0].content != run.content]
                    way.begun[item] = (*others[1 - FEWEST :], (run, way.count))

    def _longer(self, way: _Way, item: int, rows: int, state: int | None, begun: dict[int, _Runs]) -> _Way:
        placed = way.placed | 1 << item
        fronts = [other for other in way.fronts if other != item]
        for later in self._order.after.get(item, ()):
            if not self._needs[later] & ~placed and later not in fronts:
                fronts.append(later)
        return _Way(placed, way.count + 1, tuple(fronts), rows, begun, (item, state), way, way.ranks + item)


def _reads_older(level: Level) -> bool:
    """Whether a transaction that writes may read one state that is not the newest."""
    return level.scope is Scope.TRANSACTION and level.visible is Visible.STATE and not level.horizon.latest


def _items(way: _Way | None) -> list[tuple[int, int | None]]:
    found: list[tuple[int, int | None]] = []
    while way is not None:
        if way.last is not None:
            found.append(way.last)
        way = way.earlier
    found.reverse()
    return found
