"""Orders that have all that is known of a log, as replay reads them. Does not know whether one is right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from troubadour.facts.objects.accesses import NEVER, Ints, column
from troubadour.facts.objects.facts import Facts
from troubadour.isolation.levels import Level, Scope
from troubadour.model.objects import COMMITTED
from troubadour.order.objects.arrays import in_order
from troubadour.order.objects.by_version import by_version
from troubadour.order.objects.greedy import Greedy
from troubadour.order.objects.known import Relation, Why
from troubadour.order.objects.needs import needs_of
from troubadour.replay.objects import Reading

VISITS = 3_000_000
"""Of cells by transactions, beyond which no order is looked for step by step."""


def sorted_events(facts: Facts, relation: Relation) -> Ints | None:
    """The events in an order that has all edges, near the hint order; None where the edges have a circle."""
    order = np.array(in_order(relation.links, _priority(relation, _hint(facts))), np.int64)
    return order if len(order) == relation.links.events else None


def _hint(facts: Facts) -> Ints:
    log = facts.accesses.log
    hint = np.empty(len(log), np.int64)
    hint[column(log.order)] = np.arange(len(log))
    return hint


def candidates(facts: Facts, relation: Relation, level: Level, order: Ints | None) -> Iterator[Reading]:
    """Witnesses to try, those that are likely and cheap first. `order`: see `sorted_events`."""
    log, hint = facts.accesses.log, _hint(facts)
    happened = (np.frombuffer(log.statuses, np.uint8) == COMMITTED) | (relation.since < NEVER)
    along = column(log.order)
    along = along[happened[along]]
    by_hint = _snapshots(relation, along)
    if by_hint is not None:
        yield _reading(facts, level, along, by_hint)
    priority = _priority(relation, hint)
    if order is None:
        return
    yield _reading(facts, level, *_of_events(relation, order, happened))
    if level.scope is Scope.ROW:
        return
    placed = np.empty(len(order), np.int64)
    placed[order] = np.arange(len(order))
    for place in (priority, placed):
        chained = by_version(facts, relation, happened, priority, place, keeps=level.write_conflict and relation.split)
        if chained is not None:
            yield _reading(facts, level, *_of_events(relation, chained, happened))
    if len(facts.accesses.visit_txn) > VISITS:
        return
    needs = needs_of(facts, happened)
    half = len(relation.since) if relation.split else 0
    owner = relation.owner.tolist()
    found = Greedy(relation.links, priority, owner, needs, half, keeps=level.write_conflict).run()
    if found is not None:
        yield _reading(facts, level, *_of_events(relation, np.array(found, np.int64), happened))
    # the order of SQL's logs, too, which few logs come to
    from troubadour.order.objects.completed import completed

    whole = completed(facts, relation, happened, keeps=level.write_conflict)
    if whole is not None:
        yield _reading(facts, level, *_of_events(relation, whole, happened))


def _snapshots(relation: Relation, places: Ints) -> Ints | None:
    """The newest state that each transaction may read, in an order of places; None where the order contradicts what is
    known."""
    count = len(relation.since)
    position = np.full(count, 2**60, np.int64)
    position[places] = np.arange(1, len(places) + 1)
    links, owner = relation.links, relation.owner
    ways = relation.why != Why.INSIDE
    direct = ways & (owner[links.target] >= 0) & (owner[links.source] >= 0)
    source, target = links.source[direct], links.target[direct]
    if not relation.split:
        wrong = position[owner[source]] >= position[owner[target]]
        return None if wrong.any() else np.arange(len(places))
    before = position[owner[source]] >= position[owner[target]]
    from_commit = source >= count
    if (before & from_commit).any():
        return None
    states = np.arange(len(places))
    least = np.full(count, 2**60, np.int64)
    leaves = ~from_commit
    np.minimum.at(least, source[leaves], position[owner[target[leaves]]] - 1)
    states = np.minimum(states, least[places])
    floor = np.zeros(count, np.int64)
    arrives = from_commit & (target < count)
    np.maximum.at(floor, target[arrives], position[owner[source[arrives]]])
    return None if (states < floor[places]).any() else states


def _priority(relation: Relation, hint: Ints) -> Ints:
    """Of each event: by the hint order, snapshots right before their commits."""
    priority = np.zeros(relation.links.events, np.int64)
    own = relation.owner >= 0
    priority[own] = 2 * hint[relation.owner[own]] + 1
    if relation.split:
        priority[: len(relation.since)] = 2 * hint
    return priority


def _of_events(relation: Relation, order: Ints, happened: np.ndarray) -> tuple[Ints, Ints]:
    owner, count = relation.owner, len(relation.since)
    order = order[owner[order] >= 0]
    order = order[happened[owner[order]]]
    if not relation.split:
        return owner[order], np.arange(len(order))
    commits = order >= count
    seen = np.cumsum(commits)
    state = np.zeros(count, np.int64)
    snapshots = ~commits
    state[order[snapshots]] = seen[snapshots]
    places = owner[order[commits]]
    return places, state[places]


def _reading(facts: Facts, level: Level, places: Ints, states: Ints) -> Reading:
    if level.scope is not Scope.ROW:
        return Reading(places, states)
    return Reading(places, np.arange(len(places)), moved=_moved(facts, places))


def _moved(facts: Facts, places: Ints) -> tuple[Ints, Ints]:
    """The reads whose version is not the newest one where their transactions stand, and the states that have it."""
    accesses, reads = facts.accesses, facts.reads
    position = np.zeros(len(accesses.log) + 1, np.int64)
    position[places] = np.arange(1, len(places) + 1)
    there = position[reads.txn] > 0
    txn, at, version = reads.txn[there], reads.at[there], reads.version[there]
    writer = facts.writer(version)
    state = np.where(writer >= 0, position[np.maximum(writer, 0)], 0)
    last = accesses.last_change()
    made = np.flatnonzero((last >= 0) & (position[accesses.visit_txn] > 0))
    width = len(places) + 2
    keys = np.sort(accesses.visit_cell[made] * width + position[accesses.visit_txn[made]])
    cell = accesses.cell[at]
    newest = np.searchsorted(keys, cell * width + position[txn]) - 1
    newest_key = np.where(newest >= 0, keys[np.maximum(newest, 0)] if len(keys) else -1, -1)
    current = np.where(newest_key // width == cell, newest_key % width, 0)
    moved = current != state
    order = np.argsort(accesses.op[at[moved]])
    return accesses.op[at[moved]][order], state[moved][order]
