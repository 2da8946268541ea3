"""Transactions that no order can line up, in logs of any length (CONTRACT §2 *scope*; Adya 1999; Elle, Cobra).

Each transaction has two moments: its snapshot, and its place in the order. What its answers prove (`inference.effects`)
orders moments of several, whatever the order is: a value that one other transaction alone can have written was read
after that one's place, and before anybody's place who overwrote it, if nobody can have written it again. A row that a
transaction may not overwrite unseen has its value at the transaction's place too. Moments in a circle, or a value that
is nowhere left, exclude every order. Everything that any transaction of the log may have written counts as a source of
values. Never says that an order exists. Does not know how values were computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sql_semantics.errors import Unsupported
from troubadour.facts.sql.effects import Account, Accounts, Known, Place, Written, may_agree, reads_once
from troubadour.facts.sql.events import Moment, clocks, snapshot_moment
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.levels import Conflict, Level, Visible
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import OutOfTime, Problem

WINDOWS = (120, 1_000)
"""How many of the last transactions of a failing prefix are looked at; of the others only what they may write."""

SECONDS = 60.0
"""Effort for one argument, in seconds of an idle machine."""

ROUNDS = 12
"""Times that what was derived is derived from again."""

INITIAL = -1
"""Stands for the initial rows among those who may have written a value."""


def contradicts_in_every_order(problem: Problem, verified: int) -> frozenset[int] | None:
    """Transactions of the hint order's first `verified` + 1 committed ones, and others whose writes they saw, that
    exclude every order together; None where that is not shown."""
    try:
        with problem.budget.within(effort=SECONDS):
            known = _known(problem, verified)
            for window in WINDOWS if known is not None else ():
                assert known is not None
                found = _Moments(problem, known, verified, window).contradiction()
                if found is not None or window > verified:
                    return found
    except (Unsupported, OutOfTime):
        pass
    return None


def _known(problem: Problem, verified: int) -> _Writes | None:
    """What is known of all writes, made once for a problem; None where they say nothing."""
    level = problem.levels[problem.committed[verified]]
    if problem.writes is None:
        problem.writes = ()
        if _applies(problem, level):
            with suppress(Unsupported, OutOfTime):
                timed = level.real_time or level.session or problem.order_exact
                problem.writes = (_Writes(problem, Accounts(problem, latest=level.horizon.latest), timed=timed),)
    return problem.writes[0] if problem.writes else None


def _applies(problem: Problem, level: Level) -> bool:
    """Whether every transaction reads one state, and rows are all that it meets there."""
    one_level = all(other is level for other in problem.levels)
    return level.visible is Visible.STATE and one_level and reads_once(problem, level)


class _Writes:
    """Who may have written what, and what rows were at first."""

    def __init__(self, problem: Problem, accounts: Accounts, *, timed: bool) -> None:
        """`timed`: times tell what cannot have been seen. Raises Unsupported and OutOfTime."""
        self.accounts = accounts
        self.at: dict[Place, dict[int, Written]] = defaultdict(dict)
        self.wild: dict[str, list[int]] = defaultdict(list)
        for item, status in enumerate(problem.statuses):
            if status == "aborted":
                continue
            problem.budget.left()
            if all(not may_write(statement) for statement in problem.prepared(item).statements):
                continue
            account = accounts.of(item)
            for place, written in account.wrote.items():
                self.at[place][item] = written
            for table in account.wild:
                self.wild[table].append(item)
            if not timed and account.wild and accounts.places.keys() <= self.wild.keys():
                # anything may have been anywhere at any time
                raise Unsupported("tables that are written as a whole")

    def initial(self, place: Place) -> Known:
        """What was there in the initial state."""
        return self.accounts.initial.get(place)

    def sources(self, place: Place, value: Known) -> Iterator[int]:
        """Who may have left this there."""
        if may_agree(self.initial(place), value):
            yield INITIAL
        for item, written in self.at[place].items():
            if may_agree(written.after, value):
                yield item
        yield from self.wild[place[0]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """At a moment of `item`, `value` was at a place."""

    moment: Moment
    item: int
    place: Place
    value: Known


class _Moments:
    """Which moment is before which; `_after[m]` are those that come next after m for certain."""

    def __init__(
        self,
        problem: Problem,
        writes: _Writes,
        verified: int,
        window: int,
    ) -> None:
        self._problem = problem
        self._level = level = problem.levels[problem.committed[verified]]
        self._accounts = writes.accounts
        self._writes = writes
        self._after: dict[Moment, set[Moment]] = defaultdict(set)
        self._seen: list[_Seen] = []
        self._overwriters: dict[Place, dict[int, Written]] = defaultdict(dict)
        self._items: set[int] = set()
        self._reach: dict[Moment, int] = {}
        self._number: dict[Moment, int] = {}
        last = problem.committed[max(0, verified + 1 - window) : verified + 1]
        self._clocks = tuple(clocks(problem, level, last))
        for clock in self._clocks:
            clock.start(self._after)
        for item in last:
            self._add(item)
        self._follow_sessions()

    def contradiction(self) -> frozenset[int] | None:
        """Items that exclude every order; None where none were found."""
        for _ in range(ROUNDS):
            circle = self._order()
            if circle is not None:
                return circle
            changed = False
            # what is seen by those that come in on the way too
            for seen in self._seen:
                self._problem.budget.left()
                told = self._derive(seen)
                if told is None:
                    return frozenset({seen.item, *self._overwriters[seen.place]})
                changed = told or changed
            if not changed:
                return None
        return None

    def _add(self, item: int) -> None:
        """The item is among the transactions: what it saw and wrote counts."""
        if item in self._items:
            return
        self._items.add(item)
        place, level = ("place", item), self._level
        snapshot = (snapshot_moment(level), item)
        if snapshot != place:
            self._after[snapshot].add(place)
        account = self._accounts.of(item)
        wild = account.wild
        for where, known in account.met.items():
            self._seen.append(_Seen(snapshot, item, where, known))
            if snapshot != place and where[0] not in wild and self._keeps(account, where, known):
                self._seen.append(_Seen(place, item, where, known))
        for where, written in account.wrote.items():
            if where[0] in wild:
                continue
            if where in account.inserted:
                self._seen.append(_Seen(place, item, where, None))
            if written.certain:
                self._overwriters[where][item] = written
        times = self._problem.times[item]
        for clock in self._clocks:
            clock.place(self._after, item, times, writes=any(one.certain for one in account.wrote.values()))

    def _keeps(self, account: Account, where: Place, known: Known) -> bool:
        """Whether what it met is still there at its place: it may not overwrite what it has not seen."""
        if self._level.horizon.latest:
            return True
        written = account.wrote.get(where)
        if written is None or not written.certain or not self._level.write_conflict or where in account.inserted:
            # the version that it met is not the one that an insert puts there
            return False
        return self._level.conflict is Conflict.VERSIONS or not may_agree(known, written.after)

    def _follow_sessions(self) -> None:
        if not self._level.session:
            return
        for item in sorted(self._items):
            for other in self._problem.earlier_in_session(item):
                if other in self._items and must_precede(self._problem, other, item):
                    self._after["place", other].add((snapshot_moment(self._level), item))
                    break

    def _order(self) -> frozenset[int] | None:
        """Which moments can be reached from which, as bits; the items of a circle where there is one."""
        after = self._after
        nodes = set(after).union(*after.values()) if after else set()
        self._number = {node: number for number, node in enumerate(nodes)}
        reach: dict[Moment, int] = {}
        state: dict[Moment, int] = {}
        for root in nodes:
            if root in state:
                continue
            path: list[tuple[Moment, Iterator[Moment]]] = [(root, iter(after.get(root, ())))]
            state[root] = 1
            while path:
                node, following = path[-1]
                other = next(following, None)
                if other is None:
                    path.pop()
                    state[node] = 2
                    bits = 1 << self._number[node]
                    for next_node in after.get(node, ()):
                        bits |= reach[next_node]
                    reach[node] = bits
                elif other not in state:
                    state[other] = 1
                    path.append((other, iter(after.get(other, ()))))
                elif state[other] == 1:
                    nodes_on = [on for on, _ in path]
                    return _items_of(nodes_on[nodes_on.index(other) :])
        self._reach = reach
        return None

    def _before(self, one: Moment, other: Moment) -> bool:
        """Whether it was known, when moments were ordered last, that one is before the other."""
        if one == other or one not in self._reach or other not in self._number:
            return False
        return bool(self._reach[one] >> self._number[other] & 1)

    def _derive(self, seen: _Seen) -> bool | None:
        """Order moments by what was seen; whether that is anything new. None: nobody can have left it there."""
        moment = seen.moment
        others = [
            ("place", other)
            for other, written in self._overwriters[seen.place].items()
            if other != seen.item and not may_agree(written.after, seen.value)
        ]
        earlier = [other for other in others if self._before(other, moment)]
        sources = [
            source
            for source in self._writes.sources(seen.place, seen.value)
            if source != seen.item and self._may_last(source, seen, earlier)
        ]
        if not sources:
            return None
        changed = False
        if len(sources) == 1 and sources[0] != INITIAL:
            self._add(sources[0])
            changed = self._put(("place", sources[0]), moment)
        places = [("place", source) for source in sources if source != INITIAL]
        for other in others:
            if all(self._before(source, other) for source in places):
                # whoever left it there did so before the other one
                changed = self._put(moment, other) or changed
            elif len(sources) == 1 and self._before(other, moment):
                changed = self._put(other, places[0]) or changed
        return changed

    def _may_last(self, source: int, seen: _Seen, earlier: Sequence[Moment]) -> bool:
        """Whether what a source wrote may be what was seen: not written later, nor overwritten before."""
        if source == INITIAL:
            return not earlier
        place = ("place", source)
        if must_precede(self._problem, seen.item, source) or self._before(seen.moment, place):
            return False
        return not any(
            self._before(place, other) or must_precede(self._problem, source, _item(other)) for other in earlier
        )

    def _put(self, one: Moment, other: Moment) -> bool:
        if self._before(one, other) or other in self._after[one]:
            return False
        self._after[one].add(other)
        return True


def _item(moment: Moment) -> int:
    item = moment[1]
    assert isinstance(item, int)
    return item


def _items_of(moments: Sequence[Moment]) -> frozenset[int]:
    return frozenset(_item(moment) for moment in moments if moment[0] in ("place", "snapshot"))
