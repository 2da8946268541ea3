"""One read of a history gets another version of its row: what a stale or a wrong read looks like.

Does not know whether the altered history still has an explanation: that is what references are for.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from benchmarks.histories.history import History, Kind, Operation, Version


def mutate(history: History, seed: int) -> History | None:
    """The history with one read changed; None where no row has two versions to choose from."""
    random = Random(f"{seed}/mutate")
    versions: dict[int, list[Version]] = {key: [value] for key, value in history.initial.items()}
    counts: dict[int, int] = {}
    reads: list[tuple[int, int]] = []
    for number, transaction in enumerate(history.transactions):
        written: set[int] = set()
        for place, operation in enumerate(transaction.operations):
            if operation.kind is Kind.READ:
                if operation.key not in written:
                    reads.append((number, place))
                continue
            written.add(operation.key)
            if operation.kind is Kind.INCREMENT:
                counts[operation.key] = counts.get(operation.key, 0) + 1
            else:
                versions.setdefault(operation.key, []).append(operation.value)
    for key, count in counts.items():
        first = history.initial[key]
        if isinstance(first, int):
            versions[key] = list(range(first, first + count + 1))
    random.shuffle(reads)
    for number, place in reads:
        operation = history.transactions[number].operations[place]
        others = [value for value in versions.get(operation.key, ()) if value != operation.value]
        if others:
            return _with(history, number, place, replace(operation, value=random.choice(others)))
    return None


def _with(history: History, number: int, place: int, operation: Operation) -> History:
    changed = history.transactions[number]
    operations = (*changed.operations[:place], operation, *changed.operations[place + 1 :])
    transactions = list(history.transactions)
    transactions[number] = replace(changed, operations=operations)
    note = f"{history.note}; {changed.name} reads {operation.value} of row {operation.key}"
    return replace(history, transactions=tuple(transactions), note=note)
