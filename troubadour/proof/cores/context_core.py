"""The few transactions of a failing prefix that clash among what the others wrote.

A core stands among unknown writes, and where a sum over a table fails that can take all who ever wrote to it. Here the
prefix before a window is taken as it was explained, and of those in the window some only write what they wrote,
wherever they stand; the rest contradict each other in every order of the window, and each of them is needed for that.
Looked at concretely, order by order and reading by reading. Does not know other explanations of the prefix, nor says
anything of them: it never makes a verdict, it only makes one easier to see.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import islice

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.view import Row
from troubadour.execution.free.choices import Choices
from troubadour.execution.free.values import json_of
from troubadour.execution.rewritten import Change, writing_only
from troubadour.execution.states.history import RowHistory
from troubadour.isolation.levels import Visible
from troubadour.isolation.times import precedes
from troubadour.model import verdict
from troubadour.model.log import InitialTable, Log, Transaction
from troubadour.problem.budget import FEW, LONGER, SECOND, SEVERAL, SMALL, THOUSANDS
from troubadour.problem.orders import may_have_seen, must_precede
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.exhaustive import Everything, explained_in_order
from troubadour.search.schedule.placement import Candidate, TooManyRuns
from troubadour.search.schedule.trace import Trace

READABLE = 3
"""Transactions of a core up to which nothing easier to read is looked for."""


@dataclass(frozen=True, slots=True)
class Clash:
    """`items` clash; those in `among` stand beside them with what they wrote alone, and `before` so many of the failing
    order are taken as they were explained. `minimal`: no one of the items can be left to what it wrote. `window` has
    all this as logs."""

    items: tuple[int, ...]
    among: tuple[int, ...]
    before: int
    minimal: bool
    window: Window = field(repr=False)


def smaller_clash(problem: Problem, trace: Trace, order: Sequence[int], size: int) -> verdict.Clash | None:
    """The clash of a failing order whose core has so many transactions, for people, where it has fewer."""
    found = find_clash(problem, trace, order) if size > READABLE else None
    if found is None or len(found.items) >= size:
        return None
    items, among = (tuple(problem.transaction(item).id for item in some) for some in (found.items, found.among))
    return verdict.Clash(items, found.before, among)


def find_clash(problem: Problem, trace: Trace, order: Sequence[int]) -> Clash | None:
    """The clash of a failing order, whose other transactions `trace` explains; None where it is not found."""
    if not _applies(problem, order):
        return None
    try:
        explained = _explained(problem, trace, order[:-1])
        if explained is None:
            return None
        bases = sorted({_base(problem, order), max(0, len(order) - SEVERAL)}, reverse=True)
        for base in bases:
            found = Window(problem, explained, order, base).clash()
            # one alone among those who read the newest state says no more than that the state before was another
            if found is not None and (len(found.items) > 1 or not problem.levels[order[-1]].horizon.latest):
                return found
    except (Unsupported, OutOfTime, ValueError):
        pass
    return None


def _applies(problem: Problem, order: Sequence[int]) -> bool:
    library = problem.library
    return (
        not problem.order_recorded
        and not problem.unknown
        and not problem.discovery.unknown
        and problem.max_staleness is None
        and problem.free.any_guess() is None
        and not library.has_references
        and not library.catalog.transient
        and all(table.keys for table in library.catalog.tables.values())
        and all(problem.levels[item].visible is Visible.STATE for item in order)
    )


def _explained(problem: Problem, trace: Trace, order: Sequence[int]) -> Trace | None:
    """The order, placed concretely."""
    placements = trace.placements
    if [p.item for p in placements] == list(order) and all(p.choices is not None for p in placements):
        return trace
    choices: dict[int, Choices] = {p.item: p.choices for p in placements if p.choices is not None}
    for tried in (choices, None):
        readings = explained_in_order(problem, order) if tried is None else tried
        again = Trace(problem)
        if readings is not None and all(again.place(item, readings.get(item)) is None for item in order):
            return again
    return None


class _Watching(Trace):
    """Notes which rows the runs of some transactions meet or write, and which tables they scan and write."""

    def __init__(self, problem: Problem, watched: Collection[int]) -> None:
        super().__init__(problem)
        self._watched = watched
        self.rows: set[str] = set()
        self.scanned: set[str] = set()
        self.written: set[str] = set()

    def meets(self, change: Change, address: str | None) -> bool:
        """Whether some run may have met a row that was changed, or its key; `address` None: one that came anew."""
        name, old, new = change
        if name in self.scanned or address in self.rows:
            return True
        same_key = old is not None and new is not None and not self._moves(name, old, new)
        return not same_key and name in self.written

    def _moves(self, name: str, old: Row, new: Row) -> bool:
        keys = self.states.tables[name].schema.keys
        return any(old[column] != new[column] for key in keys for column in key.columns)

    def run(
        self,
        item: int,
        choices: Choices,
        low: int = 0,
        masked: list[frozenset[int]] | None = None,
        *,
        tolerant: bool = False,
    ) -> Candidate:
        """See `Trace.run`."""
        candidate = super().run(item, choices, low, masked, tolerant=tolerant)
        if item in self._watched:
            self.rows.update(row.address for row in candidate.view.all_rows())
            self.scanned.update(candidate.view.tables_scanned())
            for row in candidate.view.writes():
                self.rows.add(row.address)
                self.written.add(row.table)
        return candidate


class Window:
    """The end of a failing order whose others a trace explains, and the state before it."""

    def __init__(self, problem: Problem, trace: Trace, order: Sequence[int], base: int) -> None:
        """`base`: how many of the order are before it. Raises Unsupported and ValueError for what cannot be written as
        statements."""
        self._problem = problem
        self._enough = problem.budget.spent + LONGER * SECOND
        self._base = base
        self._items = [item for item in order[base:] if item not in problem.aborted or item == order[-1]]
        self._later = _later(problem, order)
        self._initial: dict[str, list[Row | None]] = {}
        addresses: dict[RowHistory, str] = {}
        for name, table in trace.states.tables.items():
            rows = self._initial[name] = []
            for history in table.rows:
                row = _row(history.at(self._base))
                if row is not None:
                    addresses[history] = f"{name}:-:{len(rows)}"
                    rows.append(row)
        self._rows = tuple(
            InitialTable(name, None, tuple(tuple(map(json_of, row)) for row in rows if row is not None))
            for name, rows in self._initial.items()
        )
        self._changes: dict[int, list[tuple[Change, str | None]]] = {}
        self._writers: dict[int, Transaction] = {}
        for item in self._items[:-1]:
            position = order.index(item) + 1
            changes = self._changes[item] = [
                ((row.table, _row(row.at(position - 1)), _row(row.at(position))), addresses.get(row))
                for row in trace.states.written_at(position)
            ]
            found = writing_only(problem.transaction(item), problem.library, [change for change, _ in changes])
            self._writers[item] = found

    def clash(self) -> Clash | None:
        """Leave one after the other to what it wrote; None where some order explains all of them, or that is too much
        to look at."""
        if len(self._items) < 2:
            return None
        among = list(self._items[:-1])
        if self._contradict((), [item for item in among if self._writers[item].statements]) is not False:
            # what they wrote does not even stand together by itself
            return None
        items = list(self._items)
        if not self._contradict(items, ()):
            return None
        tried: dict[int, bool | None] = {}
        while any(item not in tried for item in items[:-1]):
            item = next(item for item in items if item not in tried)
            fewer = [other for other in items if other != item]
            tried[item] = None
            if self._problem.budget.spent < self._enough:
                tried[item] = self._contradict(fewer, [other for other in among if other not in fewer])
            if tried[item]:
                # what another one writes as it was found may be less in the way than what it would write elsewhere
                items, tried = fewer, {}
        minimal = None not in tried.values()
        beside = self._relevant(items, [item for item in among if item not in items])
        return Clash(tuple(sorted(items)), tuple(sorted(beside)), self._base, minimal, self)

    def _contradict(self, items: Collection[int], among: Collection[int]) -> bool | None:
        """Whether no order and no reading explains the items; None where that is too much to look at."""
        try:
            return not self._everything(items, among).run()
        except TooManyRuns:
            return None

    def _relevant(self, items: Collection[int], among: Sequence[int]) -> list[int]:
        """Those of `among` that wrote what a run of the items meets, in any of the orders; without the others every run
        is the same."""
        everything = self._everything(items, among)
        ids = {self._problem.transaction(item).id for item in items}
        small = everything.problem
        watching = _Watching(small, {n for n in small.judged if small.transaction(n).id in ids})
        everything.trace = watching
        try:
            everything.run()
        except TooManyRuns:
            return [item for item in among if self._writers[item].statements]
        return [item for item in among if any(watching.meets(*change) for change in self._changes[item])]

    def _everything(self, items: Collection[int], among: Collection[int]) -> Everything:
        small = Problem(
            self.log(items, among),
            self._problem.library,
            self._initial,
            isolation=self._problem.isolation,
            heuristics=self._problem.heuristics,
            budget=self._problem.budget,
        )
        later = {self._problem.transaction(item).id for item in self._later}
        optional = [item for item in small.committed if small.transaction(item).id in later]
        return Everything(small, [item for item in small.judged if item not in optional], optional, nodes=THOUSANDS)

    def log(self, items: Collection[int], among: Collection[int]) -> Log:
        """These transactions from the state before the window on, those in `among` with what they wrote alone, and the
        later ones that may stand before the failing one. Raises Unsupported for rows that no log can give."""
        log = self._problem.log
        logged = {*items, *self._later}
        transactions = [
            self._problem.transaction(item) if item in logged else self._writers[item]
            for item in sorted({*logged, *among})
            if item in logged or self._writers[item].statements
        ]
        header = msgspec.structs.replace(log.header, initial=self._rows)
        return Log(header, transactions, log.digest)


def _later(problem: Problem, order: Sequence[int]) -> list[int]:
    """Those behind the failing one in hint order that it may have seen, as far as client times tell; some of them, if
    these are many or nothing tells."""
    failing = order[-1]
    placed = frozenset(order)
    behind = (item for item in problem.committed[bisect_right(problem.committed, failing) :] if item not in placed)
    nearby = islice(behind, FEW)
    return [
        item for item in nearby if may_have_seen(problem, item, failing) and not must_precede(problem, failing, item)
    ]


def _row(version: object) -> Row | None:
    return version if isinstance(version, tuple) else None


def _base(problem: Problem, order: Sequence[int]) -> int:
    """How many of an order are before its window: all before the first that overlapped the last one by client times."""
    failing = problem.times[order[-1]]
    if failing.begun is None:
        return max(0, len(order) - SMALL)
    lowest = max(0, len(order) - SEVERAL)
    return next(n for n in range(lowest, len(order)) if not precedes(problem.times[order[n]], failing))
