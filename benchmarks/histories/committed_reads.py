"""A reference for read committed where each row read may be of a state of its own (Crooks et al. 2017, Definition A.2).

Where no value is written twice it holds exactly if each value read was left by a committed transaction (or is its
reader's own), and what is read of one another has no cycle. Does not know which order was the real one.
"""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter

from benchmarks.histories.history import ABSENT, History, Kind, Version

INITIAL = -1


def read_committed(history: History) -> bool | None:
    """Whether the level explains a history; None where values are written twice, counted up, or rows come."""
    writers: dict[tuple[int, Version], int] = dict.fromkeys(history.initial.items(), INITIAL)
    written = Counter(writers.keys())
    for number, transaction in enumerate(history.transactions):
        last: dict[int, Version] = {}
        for operation in transaction.operations:
            if operation.kind in (Kind.INCREMENT, Kind.INSERT) or operation.value is ABSENT:
                return None
            if operation.kind is Kind.WRITE:
                written[operation.key, operation.value] += 1
                last[operation.key] = operation.value
        writers |= dict.fromkeys(last.items(), number)
    if any(count > 1 for count in written.values()):
        return None
    order: TopologicalSorter[int] = TopologicalSorter()
    for number, transaction in enumerate(history.transactions):
        own: dict[int, Version] = {}
        for operation in transaction.operations:
            if operation.kind is Kind.WRITE:
                own[operation.key] = operation.value
            elif operation.key in own:
                if own[operation.key] != operation.value:
                    return False
            else:
                writer = writers.get((operation.key, operation.value))
                if writer is None or writer == number:
                    return False
                order.add(number, writer)
    try:
        order.prepare()
    except CycleError:
        return False
    return True
