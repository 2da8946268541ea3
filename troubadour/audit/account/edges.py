"""Dependencies between the transactions of an explained log: possible ones from the rows that were looked at, real ones
where a run with the other version goes otherwise (Adya 1999, §4.4). Times and sessions give edges, too.

Does not know which cycles a level forbids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sql_semantics.records import dataclass
from troubadour.audit.account.rerun import Rerun
from troubadour.isolation.anomalies import Kind, Link
from troubadour.model.log import Transaction


@dataclass(frozen=True, slots=True)
class Possible:
    """An edge by positions: `statement` reads (or, for ww, None) `row` in the version of position `made` (0: initial,
    None: the row was not there)."""

    kind: Kind
    earlier: int
    later: int
    row: str | None = None
    statement: int | None = None
    made: int | None = None
    predicate: bool = False

    @property
    def link(self) -> Link:
        """What its name depends on."""
        return Link(self.kind, self.row, self.predicate, self.statement)


class Edges:
    """The edges among some positions of an explained log, found out when they are asked for."""

    def __init__(
        self, rerun: Rerun, nodes: Iterable[int], *, sessions: bool, real_time: bool, at_start: bool = False
    ) -> None:
        self._rerun = rerun
        self.nodes = sorted(set(nodes))
        self._real: dict[Possible, Possible | None] = {}
        self._from: dict[int, list[Possible]] = {node: [] for node in self.nodes}
        for edge in self._possible(sessions, real_time, at_start):
            self._from[edge.earlier].append(edge)

    def between(self, earlier: int, later: int) -> list[Possible]:
        """The edges from one to another that are real; the strongest kind first."""
        found = [real for edge in self._from[earlier] if edge.later == later and (real := self._confirmed(edge))]
        return sorted(found, key=lambda edge: _RANK[edge.kind])

    def after(self, position: int) -> list[int]:
        """The positions that may come after one by an edge."""
        return sorted({edge.later for edge in self._from[position]})

    def _possible(self, sessions: bool, real_time: bool, at_start: bool) -> Iterator[Possible]:
        inside = set(self.nodes)
        for node in self.nodes:
            for edge in (*self._of_reads(node), *self._of_writes(node)):
                if edge.earlier in inside and edge.later in inside and edge.earlier != edge.later:
                    yield edge
        for one in self.nodes:
            for other in self.nodes:
                if one != other and sessions and _in_session(self._rerun.at(one), self._rerun.at(other)):
                    yield Possible(Kind.SESSION, one, other)
                if one != other and real_time and _over_before(self._rerun.at(one), self._rerun.at(other)):
                    yield Possible(Kind.REAL_TIME, one, other)
                if one != other and at_start and _snapshot_before(self._rerun.at(one), self._rerun.at(other)):
                    yield Possible(Kind.RW, one, other)

    def _of_reads(self, node: int) -> Iterator[Possible]:
        for statement, row in self._rerun.looked(node):
            versions = self._rerun.versions(row)
            if versions is None:
                continue
            made = self._rerun.seen_from(node, statement, row)
            if made:
                yield Possible(Kind.WR, made, node, row, statement, made)
            later = next((state for state in versions.states if state > (made or 0) and state != node), None)
            if made is None and versions.states[0] == 0:
                later = None  # it is initial, and was asked for where it cannot be missed
            if later:
                yield Possible(Kind.RW, node, later, row, statement, made)

    def _of_writes(self, node: int) -> Iterator[Possible]:
        for row in self._rerun.rows_written(node):
            versions = self._rerun.versions(row)
            if versions is None or node not in versions.states:
                continue
            place = versions.states.index(node)
            if place and versions.states[place - 1]:
                yield Possible(Kind.WW, versions.states[place - 1], node, row, made=versions.states[place - 1])

    def _confirmed(self, edge: Possible) -> Possible | None:
        """The edge, where it is real."""
        if edge not in self._real:
            self._real[edge] = self._confirm(edge)
        return self._real[edge]

    def _confirm(self, edge: Possible) -> Possible | None:
        rerun, row = self._rerun, edge.row
        if row is None or edge.kind is Kind.WW:
            return edge
        reader = edge.later if edge.kind is Kind.WR else edge.earlier
        other = edge.earlier - 1 if edge.kind is Kind.WR else edge.later
        if not rerun.depends(reader, {row: other}, edge.statement):
            return None
        predicate = self._is_missed(reader, edge, row)
        return Possible(edge.kind, edge.earlier, edge.later, row, edge.statement, edge.made, predicate)

    def _is_missed(self, reader: int, edge: Possible, row: str) -> bool:
        """Whether the version that was read did not meet the statement's condition: the answer is the same where the
        row is not there at all."""
        versions = self._rerun.versions(row)
        if edge.made is None or versions is None or versions.at(edge.made) is None:
            return True
        return not self._rerun.needs(reader, row)


_RANK = {Kind.WR: 0, Kind.WW: 1, Kind.SESSION: 2, Kind.REAL_TIME: 3, Kind.RW: 4}


def _in_session(one: Transaction, other: Transaction) -> bool:
    if one.session is None or one.session != other.session:
        return False
    if one.sno is not None and other.sno is not None:
        return one.sno < other.sno
    return one.place < other.place


def _over_before(one: Transaction, other: Transaction) -> bool:
    """Whether one was answered before the other was sent, by one clock."""
    if one.status != "committed":
        return False
    if one.commit is not None and other.start is not None and one.commit < other.start:
        return True
    return (
        one.returned is not None
        and other.invoked is not None
        and one.clock == other.clock
        and one.returned < other.invoked
    )


def _snapshot_before(one: Transaction, other: Transaction) -> bool:
    """Whether one took its snapshot before the other committed, by the DBMS's clock: it does not see that."""
    return one.start is not None and other.commit is not None and one.start < other.commit
