"""A serial order of transactions that read snapshots: their dependencies, sorted (Adya 1999; Emme §3, Alg. 3; §5.3).

A transaction must stand before a commit that it did not see if its answers or writes would be others with it, and
behind one that it saw if they would be others without it: rows read, rows that a predicate missed and rows that it
would have met are told by one question, asked by running the transaction again on the state that it read with one
commit more or less. Where several commits change an answer only together (the two sides of a join), it stands before
the one that completes them, which is more than need be: a circle with such a step proves nothing. Later commits are
asked about only as far as they were concurrent, earlier ones only where the order moves a transaction ahead of them.
Does not know witnesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sql_semantics.errors import Unsupported
from troubadour.audit.certified.order import Incomplete
from troubadour.audit.told.explain import name, row_text
from troubadour.execution.free.choices import Choices
from troubadour.execution.given import Given
from troubadour.execution.states.history import RowHistory
from troubadour.execution.views.rowwise import OwnStateView
from troubadour.model.log import TransactionId
from troubadour.search.schedule.execute import execute
from troubadour.search.schedule.placement import content
from troubadour.search.schedule.trace import Trace

_SHOWN = 3
"""Rows of a dependency that are named."""


class Cycle(Exception):
    """Dependencies that no order keeps; the text names each, `members` are the transactions."""

    def __init__(self, because: str, transaction: TransactionId, members: tuple[TransactionId, ...]) -> None:
        super().__init__(because)
        self.transaction = transaction
        self.members = members


def serial_order(trace: Trace, *, predicates: bool = True) -> list[int]:
    """The items of a trace in an order in which each may read the newest state, as near to the trace's as may be.
    Raises Cycle where dependencies exclude every order. Without `predicates` only commits count that changed rows of
    the state that a transaction read, which is what histories of items can tell (Emme §7.1)."""
    dependencies = _Dependencies(trace, predicates=predicates)
    try:
        return _sorted(trace, dependencies, exactly=False)
    except Cycle:
        return _sorted(trace, dependencies, exactly=True)


def _sorted(trace: Trace, dependencies: _Dependencies, *, exactly: bool) -> list[int]:
    """Depth first. Unless `exactly`, all that a transaction saw stands before it, whether it depends on that or not:
    servers that keep real time allow that, and nothing has to be asked."""
    placed = [False] * (len(trace) + 1)
    placed[0] = True
    dependencies.start()
    under_way: dict[int, None] = {}
    order: list[int] = []
    for first in range(1, len(trace) + 1):
        if placed[first]:
            continue
        stack = [(first, dependencies.before(first, placed, exactly=exactly))]
        under_way[first] = None
        while stack:
            position, needed = stack[-1]
            other = next((one for one in needed if not placed[one]), None)
            if other is None:
                stack.pop()
                del under_way[position]
                placed[position] = True
                order.append(trace.item_at(position))
            elif other in under_way:
                path = list(under_way)
                raise dependencies.cycle([*path[path.index(other) :]])
            else:
                under_way[other] = None
                stack.append((other, dependencies.before(other, placed, exactly=exactly)))
    return order


class _Dependencies:
    """What each transaction of a trace must stand behind, by positions."""

    def __init__(self, trace: Trace, *, predicates: bool) -> None:
        self._trace = trace
        self._predicates = predicates
        self._lowest = 1
        self._reads = [0]
        for placement in trace.placements:
            assert placement.choices is not None
            self._reads.append(placement.choices.state)
        self._missed_by: dict[int, list[int]] = defaultdict(list)
        self._together: set[tuple[int, int]] = set()
        """Which transactions missed which commit that changes their answers together with others only."""
        self._vague: set[int] = set()
        """Those that it is not known of how they would go on another state."""
        for position, last in enumerate(self._last_concurrent()):
            later = self._later(position, last)
            harmless = False
            missed: set[int] = set()
            for other in self._touching(position, later):
                if self._differs(position, self._with(position, [other])):
                    missed.add(other)
                else:
                    harmless = True
            if harmless and predicates:
                missed |= self._missed_together(position, [other for other in later if other not in missed])
            for other in sorted(missed):
                self._missed_by[other].append(position)

    def _with(self, position: int, others: list[int]) -> Choices:
        """The state that one read, with these later commits, ascending."""
        last = others[-1]
        return Choices(last, hidden=frozenset(range(self._reads[position] + 1, last)).difference(others))

    def _missed_together(self, position: int, others: list[int]) -> set[int]:
        """Of commits that one by one change nothing of what a transaction does, so many that the others do not either,
        taken together."""
        found: set[int] = set()
        while len(others) > 1 and self._differs(position, self._with(position, others)):
            low, high = 2, len(others)
            while low < high:
                middle = (low + high) // 2
                if self._differs(position, self._with(position, others[:middle])):
                    high = middle
                else:
                    low = middle + 1
            found.add(others.pop(low - 1))
        self._together |= {(position, other) for other in found}
        return found

    def start(self) -> None:
        """An order is begun: nothing has a place."""
        self._lowest = 1

    def before(self, position: int, placed: list[bool], *, exactly: bool) -> Iterator[int]:
        """Those that must stand before the one at a position: all that missed its commit, and what it depends on."""
        yield from self._missed_by[position]
        while self._lowest < len(placed) and placed[self._lowest]:
            self._lowest += 1
        for other in range(self._lowest, self._reads[position] + 1):
            if other != position and not placed[other] and (not exactly or self._depends_on(position, other)):
                yield other

    def _last_concurrent(self) -> list[int]:
        """For each position the highest one that had not committed when it took its snapshot, or took its own before
        it committed."""
        highest = 0
        by_state: dict[int, int] = {}
        for position, state in enumerate(self._reads):
            by_state[state] = position
        found = [0]
        for position in range(1, len(self._reads)):
            highest = max(highest, by_state.get(position - 1, 0))
            found.append(highest)
        return found

    def _later(self, position: int, last: int) -> list[int]:
        """Commits after its snapshot, concurrent with it, that wrote something."""
        candidates = range(self._reads[position] + 1, last + 1)
        return [other for other in candidates if other != position and self._trace.states.written_at(other)]

    def _touching(self, position: int, later: list[int]) -> Iterator[int]:
        """Those that wrote what it may have looked at."""
        if not later:
            return
        states, state = self._trace.states, self._reads[position]
        view = self._run(position, Choices(state))[0]
        rows, tables = set(view.all_rows()), set(view.tables_scanned())
        for other in later:
            written = states.written_at(other)
            if not self._predicates:
                written = tuple(row for row in written if row.at(state) is not None)
            if any(row in rows or row.table in tables for row in written):
                yield other

    def _depends_on(self, position: int, other: int) -> bool:
        """Whether the one at a position overwrote what another wrote, or goes otherwise without it."""
        written = self._trace.states.written_at(other)
        if not written:
            return False
        if not set(written).isdisjoint(self._trace.states.written_at(position)):
            return True
        return self._differs(position, Choices(self._reads[position], hidden=frozenset({other})))

    def _differs(self, position: int, choices: Choices) -> bool:
        """Whether a run that sees other commits is answered or writes otherwise."""
        try:
            view, explained = self._run(position, choices)
        except Unsupported:
            self._vague.add(position)
            return True
        states = self._trace.states
        own = {row: row.at(position) for row in states.written_at(position)}
        return not explained or content(view.writes()) != content(own)

    def _run(self, position: int, choices: Choices) -> tuple[OwnStateView, bool]:
        trace = self._trace
        item = trace.item_at(position)
        prepared = trace.problem.prepared(item)
        trace.problem.budget.left()
        given = Given(
            use_index=trace.problem.heuristics.index,
            free=(trace.problem.free, item),
            released=prepared.released if trace.problem.levels[item].locks else None,
            lately=not trace.problem.has_sets,
        )
        view = OwnStateView(trace.states, prepared.transaction.id, choices, given)
        return view, execute(item, prepared, view, trace.problem) is None

    def cycle(self, path: list[int]) -> Cycle:
        """A circle in which each stands behind the next, in words. Raises Incomplete where a step of it need not be."""
        identifier = self._trace.problem.transaction(self._trace.item_at(max(path))).id
        if any((earlier, later) in self._together for later, earlier in zip(path, [*path[1:], *path[:1]], strict=True)):
            raise Incomplete(
                "commits change its answers only together, and which of them came later is open", identifier
            )
        vague = next((position for position in path if position in self._vague), None)
        if vague is not None:
            text = "how it would have gone on another state is not modelled"
            raise Incomplete(text, self._trace.problem.transaction(self._trace.item_at(vague)).id)
        steps = [self._step(earlier, later) for later, earlier in zip(path, [*path[1:], *path[:1]], strict=True)]
        members = tuple(self._trace.problem.transaction(self._trace.item_at(one)).id for one in sorted(path))
        return Cycle(f"its dependencies have no serial order: {'; '.join(reversed(steps))}", identifier, members)

    def _step(self, earlier: int, later: int) -> str:
        """Why one comes before the other: the kind of the dependency, and the rows that it can be of."""
        one, other = self._name(earlier), self._name(later)
        states = self._trace.states
        if earlier in self._missed_by[later]:
            kind, rows = self._looked_at(earlier, later)
            return f"{one} comes before {other}, whose write of {rows} it did not see (rw, {kind})"
        twice = [row for row in states.written_at(earlier) if row in set(states.written_at(later))]
        if twice:
            return f"{one} comes before {other}, which overwrote {self._rows(twice, earlier)} (ww)"
        kind, rows = self._looked_at(later, earlier)
        return f"{one} comes before {other}, which saw its write of {rows} (wr, {kind})"

    def _looked_at(self, reader: int, writer: int) -> tuple[str, str]:
        """Of a writer's rows those that a reader can have asked for, and whether by a predicate: a row that was not
        there, or of a table that it went through, was not read by its key."""
        state, written = self._reads[reader], self._trace.states.written_at(writer)
        view = self._run(reader, Choices(state))[0]
        seen, scanned = set(view.all_rows()), set(view.tables_scanned())
        tables = self._trace.problem.library.catalog.tables
        keyed = {
            row
            for columns, row in view.by_columns
            if any(columns.issuperset(key.columns) for key in tables[row.table].keys)
        }
        rows = [row for row in written if row in keyed]
        if rows:
            return "row", self._rows(rows, writer)
        return "predicate", self._rows(
            [row for row in written if row in seen or row.table in scanned] or written, writer
        )

    def _rows(self, rows: Sequence[RowHistory], position: int) -> str:
        shown = [row_text(self._trace, row, row.at(position)) for row in rows[:_SHOWN]]
        return f"{' or '.join(shown)}{' or others' if len(rows) > _SHOWN else ''}"

    def _name(self, position: int) -> str:
        return name(self._trace.problem.transaction(self._trace.item_at(position)).id)
