"""What a key-value history says of each transaction, seen from outside: the versions that it read and that it left.

Reads of what the transaction itself wrote are checked here; a contradiction there, or a key that is inserted twice, has
no explanation in any order. Does not know what a level asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.histories.history import ABSENT, History, Kind, Operation, Transaction, Version

INITIAL = -1
"""Stands for the initial state where a writer is meant."""


@dataclass(slots=True)
class Facts:
    """By number of the transaction. `reads`: of each key the version read before the own first write (of a key that is
    only counted up: how much was added before); `needs`: keys whose row was there; `writes`: the last value written;
    `adds`: how much keys that are only counted up were; `left`: the writers of each key and value; `later`: the
    transactions sent after its end was answered; `before`: the transaction before it in its session. `broken`:
    why no order explains the history, where that is plain."""

    count: int
    initial: dict[int, Version]
    reads: list[dict[int, Version]] = field(default_factory=list)
    needs: list[set[int]] = field(default_factory=list)
    writes: list[dict[int, Version]] = field(default_factory=list)
    adds: list[dict[int, int]] = field(default_factory=list)
    before: list[int | None] = field(default_factory=list)
    writers: dict[int, list[int]] = field(default_factory=dict)
    left: dict[tuple[int, Version], list[int]] = field(default_factory=dict)
    inserters: dict[int, int] = field(default_factory=dict)
    later: list[frozenset[int]] = field(default_factory=list)
    broken: str | None = None

    @property
    def counted(self) -> set[int]:
        """Keys that are only counted up."""
        return {key for adds in self.adds for key in adds}

    def candidates(self, reader: int, key: int) -> list[int]:
        """Which ones may have written the version that a transaction read."""
        value = self.reads[reader][key]
        later = self.later[reader]
        found = [writer for writer in self.left.get((key, value), ()) if writer != reader and writer not in later]
        return ([INITIAL] if self.initial.get(key, ABSENT) == value else []) + found

    def has_unique_values(self) -> bool:
        """Whether no value is written twice to a key, or is the initial one, and no key is counted up."""
        if self.counted:
            return False
        return all(len(those) == 1 and self.initial.get(key, ABSENT) != v for (key, v), those in self.left.items())


def facts(history: History) -> Facts:
    """Read a history. Raises ValueError for a key that is both counted up and written."""
    found = Facts(len(history.transactions), dict(history.initial))
    counted = _kinds(history, Kind.INCREMENT)
    mixed = counted & (_kinds(history, Kind.WRITE) | _kinds(history, Kind.INSERT))
    if mixed:
        raise ValueError(f"row {min(mixed)} is both written and counted up")
    last: dict[str, int] = {}
    for number, transaction in enumerate(history.transactions):
        _Outside(found, counted).add(number, transaction.operations)
        session = transaction.session
        found.before.append(last.get(session) if session is not None else None)
        if session is not None:
            last[session] = number
    found.later.extend(_later(history.transactions))
    return found


def _kinds(history: History, kind: Kind) -> set[int]:
    return {o.key for transaction in history.transactions for o in transaction.operations if o.kind is kind}


def _later(transactions: Sequence[Transaction]) -> list[frozenset[int]]:
    """For each transaction those that were sent after its end was answered, by one clock."""
    timed = [t for t in transactions if t.invoked is not None]
    if not timed:
        return [frozenset()] * len(transactions)
    found = []
    for one in transactions:
        later = frozenset(
            number
            for number, other in enumerate(transactions)
            if other.clock == one.clock
            and other.invoked is not None
            and one.returned is not None
            and other.invoked > one.returned
        )
        found.append(later)
    return found


class _Outside:
    """One transaction's operations, folded."""

    def __init__(self, found: Facts, counted: set[int]) -> None:
        self.found, self.counted = found, counted
        self.reads: dict[int, Version] = {}
        self.needs: set[int] = set()
        self.writes: dict[int, Version] = {}
        self.adds: dict[int, int] = {}

    def add(self, number: int, operations: Sequence[Operation]) -> None:
        for operation in operations:
            self._one(number, operation)
        found = self.found
        found.reads.append(self.reads)
        found.needs.append({key for key in self.needs if found.initial.get(key, ABSENT) is ABSENT})
        found.writes.append(self.writes)
        found.adds.append(self.adds)
        for key in (*self.writes, *self.adds):
            found.writers.setdefault(key, []).append(number)
        for left in self.writes.items():
            found.left.setdefault(left, []).append(number)

    def _break(self, text: str) -> None:
        self.found.broken = self.found.broken or text

    def _one(self, number: int, operation: Operation) -> None:
        key, value = operation.key, operation.value
        if operation.kind is Kind.READ:
            self._read(number, key, value)
            return
        if operation.kind is Kind.INCREMENT:
            assert isinstance(value, int)
            self.adds[key] = self.adds.get(key, 0) + value
        elif operation.kind is Kind.WRITE:
            if key not in self.writes:
                self.needs.add(key)
                if self.reads.get(key) is ABSENT:
                    self._break(f"transaction {number} changes row {key}, which it did not find")
            self.writes[key] = value
        else:
            if self.reads.setdefault(key, ABSENT) is not ABSENT or key in self.writes or key in self.needs:
                self._break(f"transaction {number} inserts row {key}, which it knows")
            if key in self.found.inserters or key in self.found.initial:
                self._break(f"row {key} is inserted though it is there")
            self.found.inserters[key] = number
            self.writes[key] = value

    def _read(self, number: int, key: int, value: Version) -> None:
        if key in self.writes:
            if self.writes[key] != value:
                self._break(f"transaction {number} does not read its own write of row {key}")
            return
        if key in self.counted:
            first = self.found.initial[key]
            if not isinstance(first, int) or not isinstance(value, int):
                self._break(f"row {key} is no number")
                return
            value = value - first - self.adds.get(key, 0)
        if self.reads.setdefault(key, value) != value:
            self._break(f"transaction {number} reads row {key} in two versions")
