"""References by saturation: `causal` decided, `serializable` refuted or explained by a schedule that is run (Biswas and
Enea 2019, algorithm for causal consistency; the pruning of Cobra, Tan et al. 2020).

Needs that each version read has one writer; where repeated values leave more, nothing is said. Shares nothing with the
audit. Does not know SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.histories.facts import INITIAL, Facts


class Cyclic(Exception):
    """No order has these edges."""


class Reachability:
    """A directed graph whose closure is kept as bit sets: bit *b* of `ancestors[a]` says that b comes before a."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.before: list[int] = [0] * count
        self.ancestors: list[int] = [0] * count
        self.descendants: list[int] = [0] * count

    def add(self, earlier: int, later: int) -> None:
        """An edge; `close` makes the closure."""
        self.before[later] |= 1 << earlier

    def close(self) -> list[int]:
        """A topological order. Raises Cyclic."""
        waiting = [mask.bit_count() for mask in self.before]
        after: list[list[int]] = [[] for _ in range(self.count)]
        for later, mask in enumerate(self.before):
            for earlier in bits(mask):
                after[earlier].append(later)
        order = [node for node in range(self.count) if not waiting[node]]
        for node in order:
            for later in after[node]:
                waiting[later] -= 1
                if not waiting[later]:
                    order.append(later)
        if len(order) < self.count:
            raise Cyclic
        for node in order:
            mask = self.before[node]
            for earlier in bits(self.before[node]):
                mask |= self.ancestors[earlier]
            self.ancestors[node] = mask
        for node in reversed(order):
            mask = 0
            for later in after[node]:
                mask |= 1 << later | self.descendants[later]
            self.descendants[node] = mask
        return order


def bits(mask: int) -> Iterator[int]:
    """Which bits are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def sources(found: Facts) -> dict[tuple[int, int], int] | None:
    """Of each transaction and key the writer of the version read; None where one has several. Raises Cyclic where one
    has none."""
    chosen = {}
    several = False
    for reader, reads in enumerate(found.reads):
        for key in reads:
            those = found.candidates(reader, key)
            if not those:
                raise Cyclic
            several = several or len(those) > 1
            chosen[reader, key] = those[0]
    return None if several else chosen


def _given(found: Facts, chosen: dict[tuple[int, int], int]) -> Iterable[tuple[int, int]]:
    for (reader, _), writer in chosen.items():
        if writer != INITIAL:
            yield writer, reader
    for number, needs in enumerate(found.needs):
        for key in needs:
            inserter = found.inserters.get(key)
            if inserter is None or inserter in found.later[number]:
                raise Cyclic
            if inserter != number:
                yield inserter, number


def _masks(found: Facts) -> dict[int, int]:
    return {key: sum(1 << writer for writer in writers) for key, writers in found.writers.items()}


def causal(found: Facts) -> bool | None:
    """Whether `causal` explains the history: convergent, with sessions; None where values leave it open."""
    if found.broken is not None:
        return False
    if found.counted:
        return None
    try:
        chosen = sources(found)
        if chosen is None:
            return None
        graph = Reachability(found.count)
        for earlier, later in _given(found, chosen):
            graph.add(earlier, later)
        for number, earlier_in_session in enumerate(found.before):
            if earlier_in_session is not None:
                graph.add(earlier_in_session, number)
        graph.close()
        seen = list(graph.ancestors)
        masks = _masks(found)
        for (reader, key), writer in chosen.items():
            others = seen[reader] & masks.get(key, 0)
            if writer == INITIAL:
                if others:
                    return False
                continue
            for other in bits(others & ~(1 << writer)):
                graph.add(other, writer)
        graph.close()
    except Cyclic:
        return False
    return True


def serializable(found: Facts) -> bool | None:
    """Whether `serializable` explains the history: False by a cycle, True by a schedule, else None."""
    if found.broken is not None:
        return False
    if found.counted:
        return None
    try:
        chosen = sources(found)
        if chosen is None:
            return None
        graph = saturated(found, chosen)
    except Cyclic:
        return False
    return True if schedule(found, chosen, graph) is not None else None


def saturated(found: Facts, chosen: dict[tuple[int, int], int]) -> Reachability:
    """Every edge that reads and reachability imply. Raises Cyclic."""
    graph = Reachability(found.count)
    masks = _masks(found)
    for earlier, later in _given(found, chosen):
        graph.add(earlier, later)
    for (reader, key), writer in chosen.items():
        if writer == INITIAL:
            for other in bits(masks.get(key, 0) & ~(1 << reader)):
                graph.add(reader, other)
    changed = True
    while changed:
        graph.close()
        changed = False
        for (reader, key), writer in chosen.items():
            if writer == INITIAL:
                continue
            others = masks[key] & ~(1 << writer) & ~(1 << reader)
            for other in bits(graph.ancestors[reader] & others & ~graph.ancestors[writer]):
                graph.add(other, writer)
                changed = True
            for other in bits(graph.descendants[writer] & others & ~graph.descendants[reader]):
                graph.add(reader, other)
                changed = True
    return graph


def schedule(found: Facts, chosen: dict[tuple[int, int], int], graph: Reachability) -> list[int] | None:
    """A serial order in which each read meets its version, by running one: a version is not overwritten while a reader
    of it waits. None where that came to a dead end."""
    pending: dict[tuple[int, int], int] = {}
    for (reader, key), writer in chosen.items():
        pending[key, writer] = pending.get((key, writer), 0) | 1 << reader
    newest: dict[int, int] = {}
    waiting = [mask.bit_count() for mask in graph.before]
    after: list[list[int]] = [[] for _ in range(found.count)]
    for later, mask in enumerate(graph.before):
        for earlier in bits(mask):
            after[earlier].append(later)
    ready = {node for node in range(found.count) if not waiting[node]}
    order: list[int] = []
    while ready:
        for node in sorted(ready):
            if all(newest.get(key, INITIAL) == chosen[node, key] for key in found.reads[node]) and not any(
                pending.get((key, newest.get(key, INITIAL)), 0) & ~(1 << node) for key in found.writes[node]
            ):
                break
        else:
            return None
        ready.discard(node)
        order.append(node)
        for key in found.reads[node]:
            pending[key, chosen[node, key]] &= ~(1 << node)
        for key in found.writes[node]:
            newest[key] = node
        for later in after[node]:
            waiting[later] -= 1
            if not waiting[later]:
                ready.add(later)
    return order if len(order) == found.count else None
