"""The commit test of levels whose transactions have a serial order of their own (`Level.serial`): the serialization
graph of a trace has no circle (Adya 1999; Cahill, Röhm and Fekete 2008, *Serializable Isolation for Snapshot
Databases*).

An edge leads from one transaction to another where what the first one wrote was read or overwritten by the second one,
or where the first one's answers and writes would be others, had it met what the second one wrote. Only an edge against
the order of commits makes a circle, so the graph is looked at from these on. Does not know how a trace comes about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from troubadour.execution.free.choices import Choices, OpenRead
from troubadour.execution.free.tagged import Address
from troubadour.execution.given import Given
from troubadour.execution.states.history import RowHistory, Version
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.supposing import Sought, SupposingView
from troubadour.search.schedule.execute import Failure, execute

if TYPE_CHECKING:
    from troubadour.search.schedule.trace import Trace


@dataclass(slots=True)
class Watched:
    """A transaction of the graph, at a position of the trace: its reads, what it `wrote`, which ways the DBMS went for
    it (`picked`) and which values it `drew`. What was found out holds until placements are moved (`moves`): by what it
    `sought` rows, which of those before it in the trace it comes `after`, and which it `missed`."""

    item: int
    position: int
    choices: Choices
    wrote: Mapping[RowHistory, Version]
    picked: Mapping[Address, int]
    drew: frozenset[Address]
    moves: int
    sought: frozenset[Sought] | None = None
    after: dict[int, bool] = field(default_factory=dict)
    missed: tuple[int, ...] | None = None


def watched(
    trace: Trace, item: int, choices: Choices, view: ConcreteView, wrote: Mapping[RowHistory, Version]
) -> Watched | None:
    """The transaction about to be placed, as the graph has it; None where it is not in it."""
    problem = trace.problem
    if not problem.levels[item].serial or item in problem.aborted:
        return None
    picked = {address: number for address, (number, _) in view.picked.items()}
    return Watched(item, len(trace) + 1, choices, wrote, picked, frozenset(view.drawn), trace.moves)


def closed_circle(trace: Trace, last: Watched) -> Failure | None:
    """That a transaction closes a circle if it is placed next; None where it does not."""
    graph = Graph(trace)
    graph.nodes[last.position] = last
    circle = graph.circle(last)
    if circle is None:
        return None
    items = tuple(graph.nodes[position].item for position in circle)
    names = [repr(trace.problem.transaction(item).id) for item in (*items, items[0])]
    text = f"what they read and missed of one another puts {' before '.join(names)}"
    return Failure(last.item, "serial", text, circle=items)


class Graph:
    """The graph of a trace, by positions."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.nodes: dict[int, Watched] = {}
        for position, placement in enumerate(trace.placements, 1):
            node = placement.watched
            if node is None or placement.choices is None:
                continue
            stale = node.choices is not placement.choices or node.position != position
            if stale or node.moves != trace.moves:
                node = Watched(node.item, position, placement.choices, node.wrote, node.picked, node.drew, trace.moves)
                placement.watched = node
            self.nodes[position] = node

    def circle(self, last: Watched) -> list[int] | None:
        """The positions of a circle through one; None for none."""
        start = last.position
        before: dict[int, int] = dict.fromkeys(self._missed(last), start)
        pending = list(before)
        while pending:
            position = pending.pop()
            missed = self._missed(self.nodes[position])
            for other in self.nodes:
                if other in before or not (other in missed or (other > position and self._is_before(position, other))):
                    continue
                before[other] = position
                if other == start:
                    found = [position]
                    while found[-1] != start:
                        found.append(before[found[-1]])
                    return found[::-1]
                pending.append(other)
        return None

    def reached(self, position: int) -> set[int]:
        """The positions of those that come after one, itself among them."""
        found, pending = {position}, [position]
        while pending:
            one = pending.pop()
            missed = self._missed(self.nodes[one])
            for other in self.nodes:
                if other not in found and (other in missed or (other > one and self._is_before(one, other))):
                    found.add(other)
                    pending.append(other)
        return found

    def described(self, position: int, oldest: int) -> object:
        """All that tells whether one comes before those that are placed later, where states from `oldest` on, and what
        made them, are told besides."""
        node, states = self.nodes[position], self._trace.states
        state = node.choices.state
        if state >= oldest:
            return node.item, state - oldest
        tables = {name for name, _, _ in node.sought or ()} if node.sought is not None else set(states.tables)
        rows = [row for name in tables for row in states.tables[name].rows]
        seen = frozenset((row.address, row.at(state)) for row in rows if row.at(state) is not None)
        hidden = frozenset(row.address for row in rows if self._is_anothers(row, state, len(self._trace)))
        return node.item, seen, hidden

    def _missed(self, node: Watched) -> tuple[int, ...]:
        """Those of which it would have told, and which it did not see though they stand before it."""
        if node.missed is None:
            state = node.choices.state
            late = [position for position in self.nodes if state < position < node.position]
            node.missed = tuple(position for position in late if self._reads(node, self.nodes[position]))
        return node.missed

    def _is_before(self, earlier: int, later: int) -> bool:
        """Whether there is an edge along the order of commits."""
        one, other = self.nodes[earlier], self.nodes[later]
        found = other.after.get(earlier)
        if found is None:
            met = earlier <= other.choices.state and self._reads(other, one)
            found = other.after[earlier] = met or self._reads(one, other)
        return found

    def _reads(self, reader: Watched, writer: Watched) -> bool:
        """Whether a transaction would have answered or written otherwise, had some row that another one wrote been as
        that one left it (where the state read has that: as it was before), or not been there; or it wrote it itself."""
        state = reader.choices.state
        for row, version in writer.wrote.items():
            if self._is_anothers(row, state, writer.position):
                continue
            if row in reader.wrote:
                return True
            now = row.at(state)
            other = row.at(writer.position - 1) if writer.position <= state else version
            supposed = [one for one in dict.fromkeys((other, None)) if one != now]
            if not any(self._may_meet(reader, row.table, one) for one in (now, *supposed)):
                continue
            if any(self._answers_otherwise(reader, {row: one}) for one in supposed):
                return True
        return False

    def _is_anothers(self, row: RowHistory, state: int, position: int) -> bool:
        """Whether one that is not in the graph wrote a row between a state and a position: then that one's version is
        what was missed, or what was seen."""
        positions = row.positions
        first, last = bisect_right(positions, min(state, position)), bisect_right(positions, max(state, position))
        return any(other != position and other not in self.nodes for other in positions[first:last])

    def _may_meet(self, one: Watched, table: str, version: Version) -> bool:
        """Whether a query looked where a row is, as far as is known."""
        if version is None:
            return False
        if one.sought is None:
            view = self._view(one, {})
            self._run(one, view)
            one.sought = frozenset(view.sought)
        loose = self._trace.problem.library.dialect.rules.running.folds_texts_of_keys
        return any(
            name == table
            and (
                loose
                or not columns
                or not isinstance(version, tuple)
                or tuple([version[column] for column in columns]) == key
            )
            for name, columns, key in one.sought
        )

    def _answers_otherwise(self, one: Watched, supposed: Mapping[RowHistory, Version]) -> bool:
        """Where the DBMS may have chosen otherwise, or what is not modelled is met, it does not."""
        view = self._view(one, supposed)
        try:
            failure = self._run(one, view)
        except (Unsupported, OpenRead):
            return False
        if any(one.picked.get(address) != number for address, (number, _) in view.picked.items()):
            return False
        if not one.drew.issuperset(view.drawn):
            return False
        return failure is not None or _named(view.writes()) != _named(one.wrote)

    def _view(self, one: Watched, supposed: Mapping[RowHistory, Version]) -> SupposingView:
        problem, choices = self._trace.problem, one.choices
        given = Given(use_index=problem.heuristics.index, free=(problem.free, one.item))
        plain = Choices(choices.state, newest=choices.newest, newests=choices.newests, picks=one.picked)
        return SupposingView(self._trace.states, problem.transaction(one.item).id, plain, given, supposed)

    def _run(self, one: Watched, view: SupposingView) -> Failure | None:
        problem = self._trace.problem
        return execute(one.item, problem.prepared(one.item), view, problem)


def _named(writes: Mapping[RowHistory, Version]) -> dict[object, Version]:
    return {(row.table, row.author, row.ordinal): version for row, version in writes.items()}
