"""Whether a core of silent writers is minimal: for each of them an execution in which it wrote something else, and all
others of the core run as they are.

In the explanation of the log before the reader, what the reader saw beside the row that was never so comes of a few of
the writers: these run first. The one that is spared writes what puts the number there that was seen, itself or by those
that copy from where it writes; the reader follows, then all others. Every step is run and held to the level, so that
what is found is an execution; nothing is said where none is found. Writers that sent the same are interchangeable: one
of them is asked. Does not know how the core was found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import islice

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.terms.numbers import is_number
from sql_semantics.values.types import INTEGER_KINDS, Value
from sql_semantics.view import Row
from troubadour.execution.states.history import RowHistory, Version, WriteMap
from troubadour.isolation.levels import Scope, Visible
from troubadour.problem.budget import FEWEST, SEVERAL, SOME, THOROUGHLY
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.cores.seen_row import SHARE, Explained
from troubadour.search.exhaustive import keeps_no_time
from troubadour.search.inference.values.reachable_numbers import ReachableNumbers, numbers_of_all
from troubadour.search.inference.values.reaches import Reach, scaled
from troubadour.search.inference.values.unreachable_rows import Unreachable, rows_seen
from troubadour.search.schedule.placement import TooManyRuns
from troubadour.search.schedule.trace import Trace

BESIDE = ((1, 1), (1, 2), (2, 3), (1, 3))
"""Which of the other writers run along, where one that is spared has to be stood in for."""

Cell = tuple[str, int]
"""A row's address, and the place of a column."""


def spares_each(problem: Problem, explained: Explained, shown: Unreachable, core: Sequence[int]) -> bool:
    """Whether each writer of a core is shown to be needed. Raises OutOfTime at the user's limit only."""
    left = problem.budget.left()
    try:
        with problem.budget.within(effort=THOROUGHLY, seconds=None if left is None else left * SHARE):
            return all(trace is not None for _, trace in executions(problem, explained, shown, core))
    except (OutOfTime, Unsupported, TooManyRuns):
        return False


def executions(
    problem: Problem, explained: Explained, shown: Unreachable, core: Sequence[int]
) -> Iterator[tuple[int, Trace | None]]:
    """One writer of each kind in a core, with an execution in which it wrote otherwise; None where none is found, or
    that is not to be had here. Raises Unsupported, TooManyRuns, OutOfTime."""
    numbers = numbers_of_all(problem)
    if numbers is None or not _applies(problem, core, shown.item):
        yield shown.item, None
        return
    yield from _Spared(problem, explained, numbers, shown, core).each()


def _applies(problem: Problem, core: Sequence[int], reader: int) -> bool:
    levels = [problem.levels[item] for item in range(reader + 1)]
    return (
        not problem.order_recorded
        and not problem.unknown
        and not problem.aborted
        and keeps_no_time(problem)
        and all(level.visible is Visible.STATE and not level.acts and not level.dirty for level in levels)
        and all(level.scope in (Scope.TRANSACTION, Scope.ROW) for level in levels)
        and all(problem.is_silent(item) for item in core if item != reader)
        and not any(item in problem.free.choices for item in range(reader + 1))
        and problem.free.any_guess() is None
        and not problem.library.has_references
        and not problem.library.catalog.transient
    )


@dataclass(slots=True)
class _Form:
    """How a writer makes what it writes to a cell: it adds to what it copies from `source`; None: it sets it."""

    source: Cell | None
    added: int


_Wanted = dict[Cell, Value]
_Given = dict[RowHistory, Version]


@dataclass(slots=True)
class _Step:
    """A transaction of a plan: it has to write what is `wanted`, or it writes what is `given`, whatever it would;
    `others` may stand in for it. `optional`: it may be left out."""

    item: int
    wanted: _Wanted = field(default_factory=dict)
    given: _Given | None = None
    others: tuple[int, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class _Path:
    """How a number comes from where the spared one writes to the row that was seen: the cell that it writes, and the
    writers that copy it on, each with the cell that it copies to and what it adds."""

    first: Cell
    carriers: tuple[tuple[int, Cell, int], ...]

    @property
    def cells(self) -> list[Cell]:
        """All of them, the last one that of the row that was seen."""
        return [self.first, *(cell for _, cell, _ in self.carriers)]


class _Spared:
    """One core, and the explanation that its executions are made from."""

    def __init__(
        self, problem: Problem, explained: Explained, numbers: ReachableNumbers, shown: Unreachable, core: Sequence[int]
    ) -> None:
        self._problem = problem
        self._base = explained.trace
        self._shown = shown
        self._core = [item for item in core if item != shown.item]
        self._members = frozenset(self._core)
        self._forms: dict[Cell, dict[int, list[_Form]]] = {}
        self._scales: dict[Cell, int] = {}
        for row, reaches in numbers.reaches.items():
            for place, reach in enumerate(reaches):
                self._scales[row.address, place] = reach.scale
                self._forms[row.address, place] = _forms(reach, (row.address, place))
        self._rows = {row.address: row for table in self._base.states.tables.values() for row in table.rows}
        self._order = [placement.item for placement in self._base.placements]
        self._needed: dict[int, _Wanted] = {}
        self._shaped: dict[int, dict[str, dict[int, Value]]] = defaultdict(dict)
        self._final: _Wanted = {}
        self._state = len(self._order)

    def each(self) -> Iterator[tuple[int, Trace | None]]:
        """One of each kind, with an execution in which it wrote otherwise, if one is found."""
        if not self._are_apart() or not self._learn_needs():
            yield self._shown.item, None
            return
        for kind in self._kinds():
            tried = ((item, self._execution(item)) for item in kind[:FEWEST])
            yield next((one for one in tried if one[1] is not None), (kind[0], None))

    def _are_apart(self) -> bool:
        """Whether the core writes no row that others write, nor one of their keys: so these write what they wrote."""
        own: set[str] = set()
        others: set[str] = set()
        for position, item in enumerate(self._order, 1):
            written = own if item in self._members else others
            written.update(row.address for row in self._base.states.written_at(position))
        holders: dict[object, set[str]] = defaultdict(set)
        for row in self._rows.values():
            for key in self._base.states.tables[row.table].schema.keys:
                for version in row.versions:
                    if isinstance(version, tuple):
                        values = tuple([version[column] for column in key.columns])
                        holders[row.table, key.columns, values].add(row.address)
        return not own & others and not any(len(one) > 1 and one & others for one in holders.values())

    def _kinds(self) -> list[list[int]]:
        """The writers by what they sent; those first of each that the reader's other rows do not come of."""
        kinds: dict[object, list[int]] = defaultdict(list)
        for item in sorted(self._core, key=lambda item: (item in self._needed, item)):
            sent = tuple((s.sql, repr(s.params), s.outcome_unknown) for s in self._problem.transaction(item).statements)
            kinds[self._problem.levels[item].name, sent].append(item)
        return list(kinds.values())

    def _learn_needs(self) -> bool:
        """Note which transactions wrote what the reader saw beside the one number; whether that is told."""
        seen = list(self._seen())
        by_rows = self._problem.levels[self._shown.item].scope is Scope.ROW
        told: list[tuple[RowHistory, int, dict[int, Value]]] = []
        for state in range(len(self._order), -1, -1):
            told += [(row, state, values) for row, values in seen if self._may_have(row, state, values)]
            if by_rows:
                seen = [(row, values) for row, values in seen if not self._may_have(row, state, values)]
            elif len(told) < len(seen):
                told.clear()
            else:
                self._state, seen = state, []
            if not seen:
                break
        pending: list[tuple[Cell, int]] = []
        for row, state, values in told:
            writer = self._writer(row, state)
            if writer is not None and writer not in self._members:
                self._shaped[writer][row.address] = values
            else:
                pending += [((row.address, place), state) for place in values]
                if not by_rows:
                    self._final.update(((row.address, place), value) for place, value in values.items())
        return not seen and self._follow(pending)

    def _writer(self, row: RowHistory, state: int) -> int | None:
        """The transaction that wrote a row as it is in a state; None: it is initial."""
        position = row.changed_at(state)
        return self._order[position - 1] if position > 0 else None

    def _may_have(self, row: RowHistory, state: int, values: Mapping[int, Value]) -> bool:
        """Whether a row is there in a state, with these values or by a writer that may have written others."""
        version, writer = row.at(state), self._writer(row, state)
        free = writer is not None and writer not in self._members
        return isinstance(version, tuple) and (free or all(version[place] == one for place, one in values.items()))

    def _seen(self) -> Iterator[tuple[RowHistory, dict[int, Value]]]:
        """The rows that the reader saw, and what it saw of each, but for the one number."""
        by_key: dict[object, list[RowHistory]] = defaultdict(list)
        for row in self._rows.values():
            keys = [key for key in self._base.states.tables[row.table].schema.keys if key.plain]
            version = next((version for version in row.versions if isinstance(version, tuple)), None)
            if keys and version is not None:
                by_key[row.table, tuple([version[column] for column in keys[0].columns])].append(row)
        for statement in self._problem.prepared(self._shown.item).statements:
            for number, (table, seen) in enumerate(rows_seen(statement)):
                columns = next(key.columns for key in self._base.states.tables[table].schema.keys if key.plain)
                rows = by_key.get((table, tuple([seen[column][1] for column in columns])), []) if seen else []
                amiss = self._shown.cell
                values = {p: v for p, (out, v) in seen.items() if (statement.index, number, out) != amiss}
                if len(rows) != 1:
                    raise Unsupported("rows of one key that were inserted more than once")
                yield rows[0], values

    def _follow(self, pending: list[tuple[Cell, int]]) -> bool:
        """Note which transactions cells have their values of in some states; whether that is told."""
        known: set[tuple[Cell, int]] = set()
        while pending:
            cell, state = pending.pop()
            row = self._rows[cell[0]]
            position = row.changed_at(state)
            if position <= 0 or (cell, position) in known:
                continue
            known.add((cell, position))
            item = self._order[position - 1]
            if item not in self._members:
                continue
            version = row.at(position)
            assert isinstance(version, tuple)
            wanted = self._needed.setdefault(item, {})
            first = row.positions[0]
            if 0 < first < position:
                pending.append((cell, first))
            forms = self._forms[cell].get(item)
            if not forms:
                before = row.at(position - 1)
                if isinstance(before, tuple) and before[cell[1]] == version[cell[1]]:
                    pending.append((cell, position - 1))
                continue
            source = self._source(forms, position, self._scaled(cell, version[cell[1]]))
            if source is None:
                return False
            wanted[cell] = version[cell[1]]
            pending += source
        return True

    def _source(self, forms: list[_Form], position: int, value: int | None) -> list[tuple[Cell, int]] | None:
        """Where a written number was read; empty: nowhere; None where no form of writing makes it."""
        for form in forms:
            if value is None:
                continue
            if form.source is None:
                if form.added == value:
                    return []
                continue
            row = self._rows.get(form.source[0])
            for read in reversed(() if row is None else [p for p in row.positions if p < position]):
                version = row.at(read) if row is not None else None
                number = self._scaled(form.source, version[form.source[1]]) if isinstance(version, tuple) else None
                if number is not None and number + form.added == value:
                    return [(form.source, read)]
        return None

    def _scaled(self, cell: Cell, value: Value) -> int | None:
        return scaled(value, self._scales[cell]) if is_number(value) else None

    def _execution(self, item: int) -> Trace | None:
        """An execution in which the item wrote otherwise; None where none is found."""
        if item in self._needed:
            given = self._given(item, amiss=True)
            steps = [_Step(item, given=given) if step.item == item else step for step in self._steps(None)]
            found = None if given is None else self._run(steps)
            if found is not None:
                return found
        for beside in (None, *BESIDE):
            steps = list(self._steps(item, beside=beside))
            for path in islice(self._paths(item), SEVERAL):
                for at in self._places(steps, path)[: None if beside is None else 1]:
                    self._problem.budget.left()
                    found = self._run(steps, (at, item, path))
                    if found is not None:
                        return found
        return None

    def _steps(self, spared: int | None, *, beside: tuple[int, int] | None = None) -> Iterator[_Step]:
        """What the reader's other rows come of, in order, without the one that is spared; `beside` (a, b): and of the
        other writers the first a of every b, so that others may stand in for what misses the one that is spared."""
        for position, item in enumerate(self._order[: self._state], 1):
            wanted = self._needed.get(item)
            if wanted is not None and (item == spared or beside is not None):
                others = islice(self._writers(wanted, item), SOME)
                itself = () if item == spared else (item,)
                yield _Step(item, wanted, others=(*itself, *others), optional=beside is not None)
            elif wanted is not None:
                yield _Step(item, wanted)
            elif item not in self._members and self._base.states.written_at(position):
                yield _Step(item, given=self._given(item))
            elif beside is not None and item in self._members and item != spared and item % beside[1] < beside[0]:
                yield _Step(item)

    def _writers(self, wanted: Collection[Cell], item: int) -> Iterator[int]:
        """Other writers of cells, which wrote nothing that the reader saw."""
        first = next(iter(wanted), None)
        for other in self._forms.get(first, {}) if first is not None else ():
            if other != item and other in self._members and other not in self._needed:
                yield other

    def _given(self, item: int, *, amiss: bool = False) -> _Given | None:
        """What an item wrote; `amiss`: with the number that was seen; None where it did not write that row."""
        position = self._order.index(item) + 1
        found: _Given = {row: row.at(position) for row in self._base.states.written_at(position)}
        for row, version in found.items():
            for place, value in self._shaped.get(item, {}).get(row.address, {}).items():
                assert isinstance(version, tuple)
                version = found[row] = _with(version, place, value)
        if not amiss:
            return found
        changed = False
        for row, version in found.items():
            if row.address in self._targets and isinstance(version, tuple):
                found[row] = _with(version, self._shown.place, self._shown.value)
                changed = True
        return found if changed else None

    @cached_property
    def _targets(self) -> frozenset[str]:
        """The rows with the key of the one that was seen."""
        key = next(one.columns for one in self._base.states.tables[self._shown.table].schema.keys if one.plain)
        rows = self._base.states.tables[self._shown.table].rows
        return frozenset(
            row.address
            for row in rows
            if any(isinstance(version, tuple) and self._shown.is_row(version, key) for version in row.versions)
        )

    def _paths(self, item: int) -> Iterator[_Path]:
        """Short ways from what an item may write to the number that was seen; those first that take no writer of which
        the reader's other rows come."""
        ways = self._ways
        paths = [_Path((address, self._shown.place), ()) for address in sorted(self._targets)]
        for _ in range(FEWEST):
            yield from (path for path in paths if item in self._forms.get(path.first, {}))
            longer: list[_Path] = []
            for path in paths:
                taken = {item, *(carrier for carrier, _, _ in path.carriers)}
                for source, carriers in ways.get(path.first, {}).items():
                    found = next(((one, added) for one, added in carriers if one not in taken), None)
                    if source not in path.cells and found is not None:
                        longer.append(_Path(source, ((found[0], path.first, found[1]), *path.carriers)))
            paths = longer[:SOME]

    @cached_property
    def _ways(self) -> dict[Cell, dict[Cell, list[tuple[int, int]]]]:
        """The transactions that copy to a cell, by the cell that they copy, with what each adds; needed ones last."""
        found: dict[Cell, dict[Cell, list[tuple[int, int]]]] = {}
        for cell, writers in self._forms.items():
            for carrier in sorted(writers, key=lambda one: (one in self._needed, one)):
                for form in writers[carrier] if carrier in self._members else ():
                    if form.source not in (None, cell):
                        found.setdefault(cell, {}).setdefault(form.source, []).append((carrier, form.added))
        return found

    def _places(self, steps: Sequence[_Step], path: _Path) -> list[int]:
        """Before which steps the item may write: at the end, before its carrier, or before what it overwrites is
        written again."""
        places = {len(steps)}
        carriers = {carrier for carrier, _, _ in path.carriers}
        for at, step in enumerate(steps):
            if step.item in carriers:
                return [at]
        for cell in path.cells:
            last = [at for at, step in enumerate(steps) if cell in step.wanted]
            places.update(last[-1:])
        return sorted(places, reverse=True)

    def _run(self, steps: Sequence[_Step], spared: tuple[int, int, _Path] | None = None) -> Trace | None:
        """The execution that a plan is, where the reader and all others of the core have a place in it."""
        trace = Trace(self._problem)
        rows = {row.address: row for table in trace.states.tables.values() for row in table.rows}
        at, item, path = spared or (-1, -1, None)
        carried: dict[int, _Wanted] = {}
        numbers: list[int] = []
        if path is not None:
            number = self._scaled(path.cells[-1], self._shown.value)
            assert number is not None
            numbers = [number]
            for _, _, added in reversed(path.carriers):
                numbers.insert(0, numbers[0] - added)
            for (carrier, cell, _), value in zip(path.carriers, numbers[1:], strict=True):
                carried[carrier] = {cell: self._value(cell, value)}
        placed = {self._shown.item, item}
        held = {other for step in steps if not step.optional for other in step.others}
        if path is not None:
            held |= {carrier for carrier, _, _ in path.carriers}
            held |= {other for cell in path.cells[:-1] if cell in self._final for other in self._writers([cell], item)}
        for place, step in enumerate([*steps, None]):
            if place == at and path is not None:
                following = {other.item for other in steps[place:] if other.wanted}
                if not self._carry(trace, rows, item, path, numbers, following, placed):
                    return None
            if step is None or (step.item in placed and not step.others) or (step.item in held and not step.wanted):
                continue
            if step.given is not None:
                placed.add(step.item)
                _write(trace, rows, step.item, step.given)
            elif not _place_one(trace, rows, step, carried.get(step.item, {}), placed) and not step.optional:
                return None
        if trace.place(self._shown.item) is not None:
            return None
        for other in self._order:
            if other in placed:
                continue
            if other in self._members:
                if trace.place(other) is not None:
                    return None
            else:
                _write(trace, rows, other, self._given(other) or {})
        return trace

    def _carry(
        self,
        trace: Trace,
        rows: dict[str, RowHistory],
        item: int,
        path: _Path,
        numbers: Sequence[int],
        following: Collection[int],
        placed: set[int],
    ) -> bool:
        """Let the spared one write, and its carriers copy that; then write again what the reader saw there."""
        row = rows.get(path.first[0])
        newest = row.versions[-1] if row is not None and row.versions else None
        if row is None or not isinstance(newest, tuple):
            return False
        _write(trace, rows, item, {row: _with(newest, path.first[1], self._value(path.first, numbers[0]))})
        for (carrier, cell, _), number in zip(path.carriers, numbers[1:], strict=True):
            if carrier in following:
                return True
            if carrier in placed or not _place(trace, rows, carrier, {cell: self._value(cell, number)}):
                return False
            placed.add(carrier)
        if following:
            return True
        for cell in path.cells[:-1]:
            wanted = {cell: self._final[cell]} if cell in self._final else {}
            others = (other for other in self._writers(wanted, item) if other not in placed)
            restored = next((other for other in others if _place(trace, rows, other, wanted)), None)
            if wanted and restored is None:
                return False
            placed.update(() if restored is None else (restored,))
        return True

    def _value(self, cell: Cell, number: int) -> Value:
        row = cell[0].partition(":")[0]
        type_ = self._base.states.tables[row].schema.columns[cell[1]].type
        return number if type_.kind in INTEGER_KINDS else Decimal(number).scaleb(-self._scales[cell])


def _forms(reach: Reach, cell: Cell) -> dict[int, list[_Form]]:
    """How each writer makes what it writes to a cell."""
    found: dict[int, list[_Form]] = defaultdict(list)
    for item, options in reach.added.items():
        found[item] += [_Form(cell, added) for added in sorted(options)]
    for (row, place), copies in reach.copied.items():
        for item, options in copies.items():
            found[item] += [_Form((row.address, place), added) for added in sorted(options)]
    for item, options in reach.set_by.items():
        found[item] += [_Form(None, value) for value in sorted(options)]
    return dict(found)


def _with(version: Row, place: int, value: Value) -> Row:
    return (*version[:place], value, *version[place + 1 :])


def _place_one(trace: Trace, rows: dict[str, RowHistory], step: _Step, carried: _Wanted, placed: set[int]) -> bool:
    """Place the item of a step, or one that stands in for it."""
    for item in step.others or (step.item,):
        if item not in placed and _place(trace, rows, item, {**step.wanted, **carried}):
            placed.add(item)
            return True
    return False


def _place(trace: Trace, rows: dict[str, RowHistory], item: int, wanted: _Wanted) -> bool:
    """Place an item by a reading with which it writes what is wanted."""
    for candidate in islice(trace.candidates(item), SOME):
        written = {row.address: version for row, version in candidate.view.writes().items()}
        if candidate.failure is None and all(
            (version := written.get(address)) is not None and version[place] == value
            for (address, place), value in wanted.items()
        ):
            trace.keep(candidate)
            rows.update((row.address, row) for row in candidate.view.writes())
            return True
    return False


def _write(trace: Trace, rows: dict[str, RowHistory], item: int, versions: _Given) -> None:
    """Place an item with given writes; rows of another trace are found again by their addresses."""
    writes: WriteMap = {}
    for row, version in versions.items():
        own = rows.setdefault(row.address, RowHistory(row.table, row.author, row.ordinal))
        writes[own] = version
    trace.states.place(writes)
    trace.timeline.append(trace.problem.times[item], idle=not writes)
    trace.place_symbolic(item)
