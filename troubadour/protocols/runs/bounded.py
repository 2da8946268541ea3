"""Bounded search: breadth first over all runs of small programs, for a history that a level does not allow.

What is found is reachable, and shortest among the runs of its programs. Nothing found within a bound says nothing
beyond it. Does not know proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product

from sql_semantics.records import dataclass, field
from troubadour.protocols.levels import ProtocolLevel
from troubadour.protocols.runs.abstract import explains
from troubadour.protocols.runs.committed import CommittedPrograms
from troubadour.protocols.runs.history import History
from troubadour.protocols.runs.machine import Bound, Machine, Programs, State, Taken
from troubadour.protocols.runs.trace import Seen, Trace, history_of

STATES = 40_000
"""States of one set of programs that are looked at."""


@dataclass
class Found:
    """What a search came to: `trace` None: nothing within it. `states`, `programs`: how far it got; `cut`: sets of
    programs whose states were not all looked at; `operations`: up to so many reads and writes in all were tried, every
    set of programs; `events`: those taken somewhere; `committed`: what committed in runs."""

    trace: Trace | None = None
    states: int = 0
    programs: int = 0
    cut: int = 0
    operations: int = 0
    events: set[str] = field(default_factory=set)
    committed: CommittedPrograms = field(default_factory=CommittedPrograms)


class Judge:
    """Whether a history is allowed at a level, remembered. `keeping`: another level that it has to be allowed at, for
    a search of what only the one refuses. `tick` ends it by raising."""

    def __init__(
        self,
        machine: Machine,
        level: ProtocolLevel,
        keeping: ProtocolLevel | None = None,
        tick: Callable[[], object] = int,
    ) -> None:
        self.machine, self.level, self._keeping, self._tick = machine, level, keeping, tick
        self.times = any(one is not None and (one.real_time or one.sessions) for one in (level, keeping))
        self._known: dict[object, bool] = {}

    def refuses(self, programs: Programs, initial: State, seen: Seen) -> bool:
        """Whether the level refuses it, and the other one does not."""
        key = (programs.client, seen.key(times=self.times))
        found = self._known.get(key)
        if found is None:
            history = history_of(self.machine, programs, initial, seen)
            found = self._known[key] = self.refuses_history(history)
        return found

    def refuses_history(self, history: History) -> bool:
        """The same of a history."""
        if explains(history, self.level, self._tick):
            return False
        return self._keeping is None or explains(history, self._keeping, self._tick)


@dataclass(frozen=True, slots=True)
class _Node:
    state: State
    seen: Seen
    parent: _Node | None
    taken: Taken | None


def search_programs(
    machine: Machine, programs: Programs, judge: Judge, tick: Callable[[], object], found: Found, states: int = STATES
) -> None:
    """All runs of these programs, breadth first; the first history that is refused ends it."""
    initial = machine.initial(programs)
    found.programs += 1
    if initial is None:
        found.cut += 1
        return
    level = [_Node(initial, Seen(), None, None)]
    known: set[object] = {(initial, Seen().key(times=judge.times))}
    count = 0
    while level:
        following = []
        for node in level:
            tick()
            for taken in machine.steps(node.state, programs):
                seen = node.seen.then(taken)
                key = (taken.state, seen.key(times=judge.times))
                if key in known:
                    continue
                known.add(key)
                count += 1
                found.events.add(taken.event.name)
                after = _Node(taken.state, seen, node, taken)
                if taken.commit is not None and judge.refuses(programs, initial, seen):
                    found.states += count
                    found.trace = Trace(programs, initial, _path(after))
                    return
                following.append(after)
        level = following
        if count > states:
            found.cut += 1
            break
    found.states += count


def _path(node: _Node) -> tuple[Taken, ...]:
    steps: list[Taken] = []
    at: _Node | None = node
    while at is not None and at.taken is not None:
        steps.append(at.taken)
        at = at.parent
    return tuple(reversed(steps))


def search(
    machine: Machine, judge: Judge, tick: Callable[[], object], operations: int, found: Found | None = None
) -> Found:
    """Sets of programs with up to so many operations, the smaller first. `tick` is called at every state and ends the
    search by raising."""
    result = Found() if found is None else found
    for total in range(1, operations + 1):
        for programs in small_programs(machine, total, tick):
            search_programs(machine, programs, judge, tick, result)
            if result.trace is not None:
                return result
        result.operations = total
    return result


def small_programs(machine: Machine, total: int, tick: Callable[[], object] = int) -> Iterator[Programs]:
    """Sets of programs with so many operations in all, one of each that differ in names only, and of several
    transactions only those of which one reads what another writes."""
    bound = machine.bound
    for count in range(1, min(bound.transactions, total) + 1):
        for masks in _masks(bound.keys, count, total, tick):
            if count == 1 or _meet(masks):
                for clients in _clients(machine, masks):
                    yield programs_of(bound, masks, clients)


Mask = tuple[int, int]
"""The keys that a program reads and those that it writes, as bits."""


def _masks(keys: int, count: int, total: int, tick: Callable[[], object]) -> Iterator[tuple[Mask, ...]]:
    most = total - count + 1
    single = [(r, w) for r in range(1 << keys) for w in range(1 << keys) if 0 < r.bit_count() + w.bit_count() <= most]

    def size(one: Mask) -> int:
        return one[0].bit_count() + one[1].bit_count()

    def chosen(left: int, ops: int, smallest: int) -> Iterator[tuple[Mask, ...]]:
        if not left:
            if not ops:
                yield ()
            return
        for place in range(smallest, len(single)):
            spent = size(single[place])
            if spent + left - 1 <= ops:
                for rest in chosen(left - 1, ops - spent, place):
                    yield (single[place], *rest)

    for masks in chosen(count, total, 0):
        if _is_first(masks, keys, tick):
            yield masks


def _is_first(masks: tuple[Mask, ...], keys: int, tick: Callable[[], object]) -> bool:
    """Whether no other names of the keys give less."""
    for order in permutations(range(keys)):
        tick()
        if tuple(sorted(_renamed(one, order) for one in masks)) < masks:
            return False
    return True


def _renamed(one: Mask, order: tuple[int, ...]) -> Mask:
    def bits(mask: int) -> int:
        return sum(1 << order[key] for key in range(len(order)) if mask >> key & 1)

    return bits(one[0]), bits(one[1])


def _meet(masks: tuple[Mask, ...]) -> bool:
    return any(a[0] & b[1] for i, a in enumerate(masks) for j, b in enumerate(masks) if i != j)


def _clients(machine: Machine, masks: tuple[Mask, ...]) -> Iterator[tuple[int, ...]]:
    if not machine.model.uses_clients:
        yield (0,) * len(masks)
        return
    kept = set()
    for chosen in product(range(machine.bound.clients), repeat=len(masks)):
        # the clients' names do not matter, nor which of two equal programs is whose
        names: dict[int, list[Mask]] = {}
        for one, mask in zip(chosen, masks, strict=True):
            names.setdefault(one, []).append(mask)
        key = tuple(sorted(map(tuple, names.values())))
        if key not in kept:
            kept.add(key)
            yield chosen


def programs_of(bound: Bound, masks: tuple[Mask, ...], clients: tuple[int, ...]) -> Programs:
    """Programs from masks; what is left of the bound's transactions does nothing and is never issued."""
    keys = range(bound.keys)
    left = bound.transactions - len(masks)
    full = (*masks, *(((0, 0),) * left))
    return Programs(
        ((False,) * bound.keys, *(tuple(bool(r >> k & 1) for k in keys) for r, _ in full)),
        ((True,) * bound.keys, *(tuple(bool(w >> k & 1) for k in keys) for _, w in full)),
        (0, *clients, *((0,) * left)),
        len(masks),
    )
