"""The run: transactions are placed in hint order, wait for others, or let some of those before them come later.

Does not know how a reading is chosen, nor what is to be done about a log that is not explained so.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import UNSET

from sql_semantics.library import SqlLibrary
from troubadour.model.log import Log, Transaction
from troubadour.model.witness import StatementRead, TransactionView
from troubadour.replay.checker import Replay
from troubadour.replay.commit_tests.levels import Level, is_judged, level_of
from troubadour.replay.commit_tests.times import comes_after
from troubadour.replay.forgetting import EVERY
from troubadour.replay.newest import NotPlain
from troubadour.replay.newest.judge import refuse_moving
from troubadour.replay.step import Step
from troubadour.replay.turns.bounds import Times
from troubadour.replay.turns.readings import OlderRows, Readings

Progress = Callable[[int], None]

WAITING = 16
"""Transactions that may wait for others at a time."""
RECENT = 24
"""Transactions placed last of which some may be made to come later, and for which one waits."""
MOVED = 8
"""Of these, how many are tried one by one, and how many together."""
MENDED = 2
"""Times that a transaction may ask for that."""
AT_FIRST, OFTEN = 2, 64
"""So many may ask for it in vain, and one more for so many that are placed: then the log is left to others."""


class InTurn:
    """The log explained: the `order` of the places in hint order, what each one saw, and the names of their levels."""

    __slots__ = ("levels", "order", "views")

    def __init__(self, order: array[int], views: Sequence[TransactionView], levels: tuple[str, ...]) -> None:
        self.order = order
        self.views = views
        self.levels = levels


def explained_in_turn(
    log: Log, library: SqlLibrary, *, isolation: str | None, order_recorded: bool = False, progress: Progress
) -> InTurn:
    """That a log, held to `isolation` (None: its own levels), is explained so. `progress` is called now and then with
    the transactions done; what it raises ends the run.

    Raises NotPlain where that is not so, or cannot be told here; LogError and Unsupported say no more than that.
    """
    refuse_moving(log, library)
    return _Run(log, library, isolation, order_recorded=order_recorded).through(progress)


class _Run:
    """One run over a log."""

    def __init__(self, log: Log, library: SqlLibrary, isolation: str | None, *, order_recorded: bool) -> None:
        self._log, self._isolation = log, isolation
        self._recorded = order_recorded
        levels = {level.name: level for level in map(self._level, log.transactions)}
        for level in levels.values():
            if level.sets or level.ordered:
                raise NotPlain(f"reads that are not tried at {level.name}")
        self._names = tuple(sorted(levels))
        self._is_watched = any(level.serial for level in levels.values())
        self._is_bound = order_recorded or log.header.order == "exact"
        self._replay = Replay(log, library, order_recorded=order_recorded, levels=levels.values(), alone=True)
        self._times = Times(log)
        self._floor = 0
        """The oldest state that is kept."""
        self._waiting: dict[int, int] = {}
        """Places of those that wait, and how often the order was to be mended for them."""
        self._failed = 0
        self._order = array("q")
        self._views: list[TransactionView] = []
        self._steps: list[Step] = []
        """The last of those placed."""

    def through(self, progress: Progress) -> InTurn:
        """Place all that is judged."""
        for place, one in enumerate(self._log.transactions):
            if is_judged(one, self._level(one), order_recorded=self._recorded):
                self._take(place)
            elif one.status == "unknown":
                self._replay.prepared(one)  # left out of the order, but read: what is not modelled is told
            if not (place + 1) % EVERY:
                progress(place)
                self._forget(place + 1)
        if self._waiting:
            raise NotPlain("transactions without a place")
        refusal = self._replay.finished() or self._replay.check_aborted()
        if refusal is not None:
            raise NotPlain(refusal.text)
        return InTurn(self._order, self._views, self._names)

    def _level(self, one: Transaction) -> Level:
        return level_of(one, self._log, self._isolation)

    def _forget(self, place: int) -> None:
        """Forget what is not looked at by those from a place on, nor by those that may be placed again."""
        del self._steps[:-RECENT]
        if self._is_watched:
            return
        since = self._times.since(place, [*self._waiting, *self._order[-RECENT:]])
        self._floor = since.oldest(len(self._order), self._replay.timeline)
        self._replay.forget(since)

    def _take(self, place: int) -> None:
        """Place one, and those that have waited for it; or let it wait."""
        if not self._is_placed(place) and not self._is_mended(place, 0):
            self._waiting[place] = 1
            self._failed += 1
            if len(self._waiting) > WAITING:
                raise NotPlain("transactions without a place")
            return
        found = bool(self._waiting)
        while found:
            found = False
            for other, asked in list(self._waiting.items()):
                if self._is_placed(other) or self._is_mended(other, asked):
                    del self._waiting[other]
                    found = True
                    continue
                self._waiting[other] += 1
                self._failed += asked < MENDED
                if asked >= MENDED and self._replay.is_overtaken(self._log.transactions[other]):
                    raise NotPlain("a transaction that had to come before others")
                if asked >= RECENT:
                    raise NotPlain("a transaction that waited in vain")
        if self._failed > (0 if self._log.unknown else AT_FIRST) + len(self._order) // OFTEN:
            raise NotPlain("an order that is not near hint order")

    def _readings(self, place: int) -> Readings:
        one = self._log.transactions[place]
        return Readings(self._replay, one, self._level(one), self._isolation, self._floor)

    def _is_placed(self, place: int) -> bool:
        """Place a transaction next, if a reading of it is found."""
        step = self._readings(place).found()
        return step is not None and self._is_settled(place, step)

    def _is_settled(self, place: int, step: Step) -> bool:
        refusal = self._replay.settle(step)
        if refusal is not None:
            if refusal.condition == "serial":
                return False  # before anything is stored
            raise NotPlain(refusal.text)
        self._order.append(place)
        self._views.append(_view_of(step))
        self._steps.append(step)
        return True

    def _is_mended(self, place: int, asked: int) -> bool:
        """Place a transaction by letting some of those placed lately come after it, or have read otherwise."""
        level = self._level(self._log.transactions[place])
        # where each row may come from a state of its own, that was tried already
        by_rows = not (level.one_snapshot or level.per_statement)
        if self._is_bound or by_rows or asked >= MENDED or not self._steps:
            return False
        readings = self._readings(place)
        behind = self._behind(place)
        for later in self._later(place, readings, behind):
            if readings.without(later) and self._is_rearranged(min(later), later, place):
                return True
        for back in range(1, min(RECENT, len(self._steps), len(self._order) - self._floor) + 1):
            position = len(self._order) - back + 1
            one = self._readings(self._order[position - 1])
            for states in list(one.others(self._steps[-back], position)):
                if self._is_rearranged(position, behind, place, states):
                    return True
        return False

    def _behind(self, place: int) -> frozenset[int]:
        """Positions of those placed lately that must come after a transaction, by real time."""
        times, newest = self._replay.times_of(self._log.transactions[place]), self._replay.store.newest
        if self._replay.timeline.overtaken(times) is None:
            return frozenset()
        recent = range(newest - len(self._steps) + 1, newest + 1)
        return frozenset(one for one in recent if comes_after(self._replay.timeline.at(one), times))

    def _later(self, place: int, readings: Readings, behind: frozenset[int]) -> Iterator[frozenset[int]]:
        """Positions of transactions that may come after one, without which it is to be explained; those `behind` it
        among them."""
        replay, one = self._replay, self._log.transactions[place]
        level = self._level(one)
        newest = replay.store.newest
        top = readings.top() if level.one_snapshot and not level.latest else newest
        oldest = max(self._floor, newest - min(RECENT, len(self._steps)))
        wrote = [position for position in range(top, oldest, -1) if position not in replay.idle][:MOVED]
        if behind:
            yield behind
        yield from (behind | {position} for position in wrote)
        if level.latest:
            yield from (behind.union(wrote[:count]) for count in range(2, len(wrote) + 1))
        yield from (behind.union(wrote[1:count]) for count in range(3, len(wrote) + 1))

    def _is_rearranged(
        self, first: int, later: frozenset[int], place: int, states: Mapping[int, int] | None = None
    ) -> bool:
        """Place a transaction before those at some positions; False, and nothing is changed, where that is not
        explained. All are placed anew from the `first` position on, which reads these `states` by statement, if they
        are given."""
        first = min([first, *later])
        length = first - 1
        back = len(self._order) - length
        if back > len(self._steps):
            return False
        steps, order = self._steps[-back:], self._order[-back:]
        self._take_back(length)
        moved = [order[position - first] for position in sorted(later)]
        left = [other for other in order if other not in moved]
        placed = True
        if states is not None and left and left[0] == order[0]:
            step = self._readings(left.pop(0)).forced(states)
            placed = step is not None and self._is_settled(order[0], step)
        if placed and all(map(self._is_placed, (*left, place, *moved))):
            return True
        self._put_back(length, order, steps)
        return False

    def _put_back(self, length: int, order: Sequence[int], steps: Sequence[Step]) -> None:
        """Keep the first `length` placed and place these again as they were."""
        self._take_back(length)
        for place, step in zip(order, steps, strict=True):
            if not self._is_settled(place, step):
                raise NotPlain("an order that cannot be had again")

    def _take_back(self, length: int) -> None:
        back = len(self._order) - length
        self._replay.take_back(length)
        if back:
            del self._order[-back:], self._views[-back:], self._steps[-back:]


def _view_of(step: Step) -> TransactionView:
    if not step.level.per_statement:
        listed = step.exceptions.listed() if isinstance(step.exceptions, OlderRows) else ()
        return TransactionView(step.state, listed, UNSET if step.newest is None else step.newest)
    reads = tuple(StatementRead(*address, *read) for address, read in step.taken.items())
    return TransactionView(step.state, statements=reads)
