"""Whether a witness explains a log of operations on objects (Crooks et al. 2017; Cerone et al. 2015).

The tests are those of `troubadour.replay.checker` on the log's SQL, made for all transactions at once. Transactions
whose answers came before the commit of one that they may have seen was sent are run a second time, one by one. Does
not know how the witness was found.
"""

from __future__ import annotations

import marshal
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import msgspec
import numpy as np

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from troubadour.formats.objects.expand import row_names
from troubadour.model.beside import Beside, is_allowed
from troubadour.model.log import LogError, TransactionId
from troubadour.model.objects import ABORTED, COMMITTED, MISSING, READ, ObjectLog
from troubadour.model.witness import TransactionView, Views, Witness
from troubadour.replay.commit_tests.levels import LEVELS, Level
from troubadour.replay.objects.answers import Part, Seen, wrong_sets
from troubadour.replay.objects.places import (
    Asks,
    Flags,
    Found,
    Ints,
    Times,
    Whole,
    against_sessions,
    column,
    first_at,
    first_of,
    late_writers,
    out_of_order,
    overtaken,
    sent_after,
    times_of,
    unclosed,
    wrong_starts,
)
from troubadour.replay.objects.versions import Cells, cells_of, operations_of
from troubadour.replay.refusal import Refusal

PART = 1 << 18
"""Operations that are looked at at once, about: as many as a processor has near."""

MOST = 1 << 8
"""Parts at most."""

LONG = 1 << 20
"""Operations from which on a part of them is looked at beside."""

_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Reading:
    """A witness in columns. `places` are the transactions in the order, as places of the log; `states` the state that
    each reads (state i: after the i-th of the order). `hidden`: positions of readers, and the positions within their
    states that they do not see. `moved`: operations (positions in the log's columns) that read another state than
    their transaction, and that state, where a level allows that. `rows`: the same of single rows of sets, by position
    in the log's columns and by row."""

    places: Ints
    states: Ints
    hidden: tuple[Ints, Ints] = (_NOTHING, _NOTHING)
    moved: tuple[Ints, Ints] = (_NOTHING, _NOTHING)
    rows: Mapping[int, Mapping[str, int]] = field(default_factory=dict)


def check(log: ObjectLog, witness: Witness, isolation: str | None) -> Refusal | None:
    """None where the witness explains the log at `isolation` (None: each transaction's own level), else why not.

    Raises LogError where the log cannot be used, Unsupported at a product's own level and where initial values are not
    known: there the log's SQL has to be replayed.
    """
    if witness.log != log.digest:
        return _incomplete("the witness is of another log")
    if witness.isolation != isolation:
        told = witness.isolation or "the recorded levels"
        return _incomplete(f"the witness is for {told}, not {isolation}")
    if witness.by is not msgspec.UNSET:
        reading = by_timestamps(log, isolation)
        return reading if isinstance(reading, Refusal) else check_reading(log, reading, isolation)
    if len(witness.views) != len(witness.order):
        return _incomplete(f"{len(witness.order)} transactions, but {len(witness.views)} views")
    found = _places(log, witness.order)
    if isinstance(found, Refusal):
        return found
    levels = _levels(log, isolation)
    return _reading(log, witness, found, levels) or check_reading(log, _read(log, witness, found), isolation)


def by_timestamps(log: ObjectLog, isolation: str | None) -> Reading | Refusal:
    """The order of the commit timestamps, and for each transaction the state that its start timestamp names: all with
    an earlier commit; at the serializable levels the state just before its place. Refused where one is missing."""
    statuses = np.frombuffer(log.statuses, np.uint8)
    commits, starts = column(log.commits), column(log.starts)
    timed = (commits != MISSING) & (starts != MISSING)
    untimed = np.flatnonzero((statuses == COMMITTED) & ~timed)
    if len(untimed):
        return Refusal(log.ids[int(untimed[0])], None, "completeness", "it has no timestamps")
    chosen = np.flatnonzero((statuses != ABORTED) & timed)
    places = chosen[np.lexsort((chosen, commits[chosen]))]
    states = np.searchsorted(commits[places], starts[places], side="left")
    asks = _asks(log, places, _levels(log, isolation))
    latest = asks.latest | ~asks.one_snapshot
    return Reading(places, np.where(latest, np.arange(len(places)), np.minimum(states, np.arange(len(places)))))


def check_reading(log: ObjectLog, reading: Reading, isolation: str | None) -> Refusal | None:
    """As `check`, of a witness in columns, which is one for this log."""
    return _covers(log, reading.places) or _judge(log, reading, isolation).judge()


def explains(log: ObjectLog, reading: Reading, isolation: str | None) -> bool:
    """Whether `check_reading` finds nothing wrong, which is known at the first thing that is."""
    return _covers(log, reading.places) is None and _judge(log, reading, isolation).accepts()


def _judge(log: ObjectLog, reading: Reading, isolation: str | None) -> _Judge:
    if any(definition.unknown for definition in log.objects):
        raise Unsupported("initial values that are not known, in columns")
    return _Judge(log, reading, _asks(log, reading.places, _levels(log, isolation)))


class _Judge:
    """A log, and a reading of it that has everything that it must have."""

    def __init__(self, log: ObjectLog, reading: Reading, asks: Asks) -> None:
        self._log, self._reading, self._asks = log, reading, asks
        self._times: Times = times_of(log).at(reading.places)
        self._states = reading.states
        self._hidden: dict[int, frozenset[int]] = _grouped(*reading.hidden)
        self._count = len(reading.places)
        first = column(log.first)
        position = np.zeros(len(log), np.int32)
        position[reading.places] = np.arange(1, self._count + 1)
        self._position_of: Whole = np.repeat(position, first[1:] - first[:-1])
        """The position of the transaction of each operation in the log's columns, 0 for none."""

    def judge(self) -> Refusal | None:
        """The first thing that is wrong, by the order; None where nothing is."""
        found = min(self._wrong(), default=None)
        return None if found is None else self._refusal(found)

    def accepts(self) -> bool:
        """Whether nothing is wrong."""
        with closing(self._wrong()) as wrong:
            return next(wrong, None) is None

    def _wrong(self) -> Generator[Found]:
        """What is wrong: the first thing of each kind, and more."""
        reads = [*self._wrong_reads()]
        yield from reads
        if reads:
            # what reads its own future has no version to be compared with
            return
        idle = self._idle()
        yield from overtaken(self._times, self._asks)
        yield from out_of_order(self._times, self._asks, exact=self._log.header.order == "exact")
        yield from against_sessions(self._times, self._asks, self._states, self._reading.hidden)
        yield from unclosed(self._asks, self._states, self._hidden)
        yield from wrong_starts(self._times, self._asks, self._states, idle)
        yield from self._wrong_runs()

    def _refusal(self, found: Found) -> Refusal:
        position, condition, text = found
        return Refusal(self._log.ids[int(self._reading.places[position - 1])], None, condition, text)

    def _wrong_reads(self) -> Iterator[Found]:
        states, asks, before = self._states, self._asks, np.arange(self._count)
        yield from first_at(states > before, "NFR", "it reads a state that has itself")
        yield from first_at(states < 0, "NFR", "it reads a state before the first")
        yield from first_at(asks.latest & (states != before), "RMR", "it does not read the most recent state")
        readers, unseen = self._reading.hidden
        if len(readers):
            wrong = (unseen < 1) | (unseen >= states[readers - 1])
            yield from first_of(readers[wrong], "NFR", "what is hidden is not before its state")
            yield from first_of(readers[~asks.sets[readers - 1]], "ROS", "its level has no hidden transactions")
        index, state = self._moved()
        if len(index):
            positions = self._position_of[index]
            yield from first_of(positions[(state >= positions) | (state < 0)], "NFR", "an operation reads its future")
            yield from first_of(positions[asks.one_snapshot[positions - 1]], "ROS", "an operation reads another state")

    def _moved(self) -> tuple[Ints, Ints]:
        index, state = self._reading.moved
        rows = self._reading.rows
        extra = [(at, one) for at, states in rows.items() for one in states.values()]
        if not extra:
            return index, state
        more = np.array(extra, np.int64)
        return np.concatenate((index, more[:, 0])), np.concatenate((state, more[:, 1]))

    def _idle(self) -> Flags:
        """Which transactions change nothing."""
        busy = np.zeros(self._count + 1, np.bool_)
        busy[self._position_of[np.frombuffer(self._log.kinds, np.uint8) != READ]] = True
        return ~busy[1:]

    def _late_of(self) -> dict[int, frozenset[int]]:
        """Of each transaction the positions that it may see and that were sent after its answers, where there are
        any."""
        bounds = np.where(self._asks.one_snapshot, self._states, np.arange(self._count))
        everybody = np.arange(1, self._count + 1)
        late = everybody[late_writers(self._times, everybody, bounds)].tolist()
        return {position: sent_after(self._times, position, int(bounds[position - 1])) for position in late}

    def _wrong_runs(self) -> Iterator[Found]:
        """Answers and changes: of sets at once, of other cells some at a time, as they have nothing to do with one
        another."""
        log, reading = self._log, self._reading
        cells, late = cells_of(log), self._late_of()
        is_set = np.array([one.type == "set" for one in log.objects], np.bool_)[cells.subject]
        moved = np.full(len(log.kinds), -1, np.int32) if len(reading.moved[0]) else None
        if moved is not None:
            moved[reading.moved[0]] = reading.moved[1]
        seen = Seen(log, self._asks, self._times, self._states, reading.hidden, self._hidden, late, moved)
        if is_set.any():
            of_sets = np.flatnonzero(is_set[cells.of])
            operations = operations_of(log, cells, reading.places, self._position_of, of_sets)
            yield from wrong_sets(seen, reading.places, cells, operations, self._set_rows())
        if is_set.all():
            return
        chosen = np.flatnonzero(~is_set[cells.of]) if is_set.any() else None
        count = min(MOST, 1 + len(log.kinds) // PART)
        parts = cells.parts(chosen, count)

        def wrong(numbers: Iterable[int]) -> Iterator[Found]:
            for number in numbers:
                yield from self._wrong_part(seen, cells.part(number, count), parts[number])

        if len(log.kinds) < LONG or not is_allowed():
            yield from wrong(range(count))
            return
        beside = Beside(lambda: (marshal.dumps([*wrong(range(1, count, 2))]),))
        try:
            yield from wrong(range(0, count, 2))
            found = beside.found()
        finally:
            beside.end()
        yield from wrong(range(1, count, 2)) if found is None else marshal.loads(found[0])

    def _wrong_part(self, seen: Seen, cells: Cells, chosen: Ints) -> Iterator[Found]:
        """The same of some cells, with all operations on them."""
        operations = operations_of(self._log, cells, self._reading.places, self._position_of, chosen)
        if len(operations.kind):
            yield from Part(seen, cells, operations).wrong()

    def _set_rows(self) -> dict[int, dict[int, Mapping[str, int]]]:
        """States of single rows, by position and by the number of the operation."""
        found: dict[int, dict[int, Mapping[str, int]]] = {}
        first = self._log.first
        for index, states in self._reading.rows.items():
            position = int(self._position_of[index])
            place = int(self._reading.places[position - 1])
            found.setdefault(position, {})[index - first[place]] = states
        return found


def _reading(log: ObjectLog, witness: Witness, places: Ints, levels: list[Level]) -> Refusal | None:
    """What is wrong with what a witness says of single transactions, beside states, rows and hidden positions."""
    if isinstance(witness.views, Views):
        return None
    level_of = np.array(log.levels, np.int64)[places].tolist()
    for position, (id, view) in enumerate(zip(witness.order, witness.views, strict=True), 1):
        level = levels[level_of[position - 1]]
        reads = () if isinstance(view.statements, msgspec.UnsetType) else view.statements
        numbers = [(one.state, one.statement, one.execution) for one in view.exceptions]
        numbers += [(one.state, one.statement, one.execution) for one in reads]
        if view.state < 0 or any(min(some) < 0 for some in numbers):
            return _incomplete("its view has a negative number", id)
        if any(one.state >= position for one in view.exceptions):
            return Refusal(id, None, "NFR", "an operation reads its own future")
        if view.exceptions and level.one_snapshot:
            return Refusal(id, None, "ROS", "it reads single rows from other states than its own")
        if not isinstance(view.hidden, msgspec.UnsetType) and view.hidden and not level.sets:
            return Refusal(id, None, "ROS", "its level has no hidden transactions")
        if not isinstance(view.newest, msgspec.UnsetType):
            if not level.one_snapshot or level.latest:
                return Refusal(id, None, "ROS", "its constraints meet other rows than it reads")
            if not view.state <= view.newest < position:
                return Refusal(id, None, "NFR", "its constraints meet a state that has itself")
        count = log.first[int(places[position - 1]) + 1] - log.first[int(places[position - 1])]
        if any(one.state != view.state and one.statement < count and one.execution == 0 for one in reads):
            return Refusal(id, None, "ROS", "an operation reads another state than its transaction")
    return None


def _read(log: ObjectLog, witness: Witness, places: Ints) -> Reading:
    """A witness in columns."""
    states = np.empty(len(places), np.int64)
    hidden: tuple[list[int], list[int]] = ([], [])
    moved: dict[int, int] = {}
    rows: dict[int, dict[str, int]] = {}
    names: list[dict[int, str]] | None = None
    if isinstance(witness.views, Views):
        return Reading(places, np.array(witness.views.states, np.int64))
    for number, view in enumerate(witness.views):
        states[number] = view.state
        if not isinstance(view.hidden, msgspec.UnsetType):
            hidden[0].extend([number + 1] * len(view.hidden))
            hidden[1].extend(view.hidden)
        if view.exceptions:
            names = row_names(log) if names is None else names
            _read_exceptions(log, view, int(places[number]), names, moved, rows)
    return Reading(
        places,
        states,
        (np.array(hidden[0], np.int64), np.array(hidden[1], np.int64)),
        (np.array([*moved], np.int64), np.array([*moved.values()], np.int64)),
        rows,
    )


def _read_exceptions(
    log: ObjectLog,
    view: TransactionView,
    place: int,
    names: Sequence[Mapping[int, str]],
    moved: dict[int, int],
    rows: dict[int, dict[str, int]],
) -> None:
    begin, end = log.first[place], log.first[place + 1]
    for read in view.exceptions:
        index = begin + read.statement
        if read.execution != 0 or index >= end:
            continue
        subject = log.subjects[index]
        if log.objects[subject].type != "set":
            # a row of another key is not looked at
            if names[subject][log.keys[index]] == read.row:
                moved[index] = read.state
        elif log.kinds[index] == READ:
            rows.setdefault(index, {})[read.row] = read.state


def _places(log: ObjectLog, order: Sequence[TransactionId]) -> Ints | Refusal:
    known = {id: place for place, id in enumerate(log.ids)}
    found = [known.get(id, -1) for id in order]
    if -1 in found:
        return _incomplete("the log has no such transaction", order[found.index(-1)])
    return np.array(found, np.int64)


def _covers(log: ObjectLog, places: Ints) -> Refusal | None:
    """The order has each committed transaction once, and none that aborted."""
    statuses = np.frombuffer(log.statuses, np.uint8)
    placed = np.bincount(places, minlength=len(log)) if len(log) else np.zeros(0, np.int64)
    missing = np.flatnonzero((statuses == COMMITTED) & (placed == 0))
    if len(missing):
        return _incomplete("it is not in the order", log.ids[int(missing[0])])
    if (placed > 1).any():
        return _incomplete("the order has a transaction twice")
    aborted = np.flatnonzero((statuses == ABORTED) & (placed > 0))
    return _incomplete("it was aborted", log.ids[int(aborted[0])]) if len(aborted) else None


def _levels(log: ObjectLog, isolation: str | None) -> list[Level]:
    """The level of the transactions of each entry of `level_names`. Raises LogError and Unsupported."""
    found = []
    used = set(log.levels)
    for number, own in enumerate(log.level_names):
        name = isolation or own or log.header.isolation
        if name is None:
            if number in used:
                place = log.levels.index(number)
                raise LogError(f"transaction {log.ids[place]!r} has no isolation level, and neither has the log")
            found.append(LEVELS["read-uncommitted"])
            continue
        level = LEVELS.get(name)
        if level is None or level.dialect is not None:
            raise Unsupported(f"isolation level {name} of operations on objects, in columns")
        found.append(level)
    return found


def _asks(log: ObjectLog, places: Ints, levels: list[Level]) -> Asks:
    own = np.array(log.levels, np.int64)[places]
    names = (
        "latest", "one_snapshot", "write_conflict", "real_time", "at_start", "session", "sets", "closed", "by_version",
        "ordered",
    )  # fmt: skip
    flags: list[Any] = [np.array([getattr(level, name) for level in levels], np.bool_)[own] for name in names]
    return Asks(*flags)


def _grouped(readers: Ints, unseen: Ints) -> dict[int, frozenset[int]]:
    found: dict[int, list[int]] = {}
    for reader, one in zip(readers.tolist(), unseen.tolist(), strict=True):
        found.setdefault(reader, []).append(one)
    return {reader: frozenset(ones) for reader, ones in found.items()}


def _incomplete(text: str, id: TransactionId | None = None) -> Refusal:
    return Refusal(id, None, "completeness", text)
