"""Seeded serial key-value histories whose order is then hidden: all are serializable by construction, those with stale
reads read committed only.

Transactions run one after another in memory; what is written is shuffled, grouped by session, or told by two
clocks. Does not know what a level asks.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random

from benchmarks.histories.history import ABSENT, History, Kind, Operation, Transaction, Version

ORDERS = ("execution", "neighbours", "shuffled", "grouped", "hosts")
SECOND = 1_000


@dataclass(frozen=True, slots=True)
class Shape:
    """What a history is like. `operations`: statements of a transaction; `zipf`: few rows are used much, else all
    alike; `writes`: the share of statements that write; `blind`: a write is not preceded by a read of its row;
    `sessions`: 0 for a session for each transaction; `told`: whether the session stands in the log; `repeated`: the
    share of writes whose value was written before; `increments`: each write is ``v = v + 1``; `inserts`: half of the
    rows are not there at first; `nullable`: a fifth of the initial values and a twentieth of the written ones are
    NULL; `stale`: a read gets any version that its row ever had, alike. `order`: of the file; in that of *neighbours*
    each second pair of transactions stands the wrong way round."""

    transactions: int
    rows: int
    operations: int = 8
    zipf: bool = False
    writes: float = 0.5
    blind: bool = False
    sessions: int = 0
    told: bool = True
    repeated: float = 0.0
    increments: bool = False
    inserts: bool = False
    nullable: bool = False
    stale: bool = False
    order: str = "shuffled"
    dialect: str = "postgres"

    @property
    def name(self) -> str:
        """In words."""
        parts = [f"{self.transactions} x {self.rows}", "zipf" if self.zipf else "uniform", f"{self.writes:.0%} writes"]
        parts.append("increments" if self.increments else "blind" if self.blind else "read-first")
        parts += [f"{self.sessions} sessions{'' if self.told else ' untold'}"] if self.sessions else []
        parts += [f"{self.repeated:.0%} repeated"] if self.repeated else []
        parts += [word for word in ("inserts", "nullable", "stale") if getattr(self, word)]
        return ", ".join([*parts, self.order])


def generate(shape: Shape, seed: int) -> History:
    """A history of this shape; equal arguments give equal histories. Raises ValueError for an unknown order."""
    if shape.order not in ORDERS:
        raise ValueError(f"no order of a file: {shape.order}")
    random = Random(f"{seed}/{shape}")
    run = _Run(shape, random)
    executed = [run.transaction(number) for number in range(shape.transactions)]
    ordered = _ordered(executed, shape, random)
    if not shape.told and shape.order != "hosts":
        ordered = [replace(transaction, session=None) for transaction in ordered]
    return History(tuple(ordered), run.initial, shape.dialect, f"{shape.name}, seed {seed}")


class _Run:
    """The state, and what is drawn."""

    def __init__(self, shape: Shape, random: Random) -> None:
        self.shape, self.random = shape, random
        there = range(shape.rows // 2 if shape.inserts else shape.rows)
        self.initial = {key: None if shape.nullable and random.random() < 0.2 else 0 for key in there}
        self.state: dict[int, Version] = dict(self.initial)
        self.versions: dict[int, list[Version]] = {key: [value] for key, value in self.initial.items()}
        self.written: list[int] = [0]
        weights = [1 / (rank + 1) if shape.zipf else 1.0 for rank in range(shape.rows)]
        self._bounds = list(accumulate(weights))

    def transaction(self, number: int) -> Transaction:
        operations: list[Operation] = []
        own: dict[int, Version] = {}
        while len(operations) < self.shape.operations:
            key = bisect(self._bounds, self.random.random() * self._bounds[-1])
            if self.random.random() >= self.shape.writes:
                operations.append(self._read(key, own))
                continue
            if not self.shape.blind and not self.shape.increments:
                operations.append(self._read(key, own))
            if len(operations) < self.shape.operations:
                operations.append(self._write(key))
                own[key] = self.state[key]
        for key, value in own.items():
            self.versions.setdefault(key, []).append(value)
        session = self.random.randrange(self.shape.sessions) if self.shape.sessions else number
        return Transaction(f"t{number + 1}", tuple(operations), f"s{session}" if self.shape.sessions else None)

    def _read(self, key: int, own: Mapping[int, Version]) -> Operation:
        if self.shape.stale and key not in own:
            return Operation(Kind.READ, key, self.random.choice(self.versions.get(key, [ABSENT])))
        return Operation(Kind.READ, key, self.state.get(key, ABSENT))

    def _write(self, key: int) -> Operation:
        stored = self.state.get(key, ABSENT)
        if self.shape.increments and isinstance(stored, int):
            self.state[key] = stored + 1
            return Operation(Kind.INCREMENT, key, 1)
        value = self._value()
        self.state[key] = value
        return Operation(Kind.INSERT if stored is ABSENT else Kind.WRITE, key, value)

    def _value(self) -> int | None:
        if self.shape.nullable and self.random.random() < 0.05:
            return None
        if self.random.random() < self.shape.repeated:
            return self.random.choice(self.written)
        self.written.append(len(self.written))
        return self.written[-1]


def _ordered(executed: Sequence[Transaction], shape: Shape, random: Random) -> list[Transaction]:
    """In the order of the file; a session's transactions stay in theirs."""
    if shape.order == "execution":
        return list(executed)
    if shape.order == "neighbours":
        return _neighbours(executed, random)
    if shape.order == "hosts":
        return _two_hosts(executed, random)
    sessions: dict[str, list[Transaction]] = {}
    for transaction in executed:
        sessions.setdefault(transaction.session or transaction.name, []).append(transaction)
    if shape.order == "grouped":
        return [transaction for name in sorted(sessions) for transaction in sessions[name]]
    turns = [name for name, those in sessions.items() for _ in those]
    random.shuffle(turns)
    upcoming = {name: iter(those) for name, those in sessions.items()}
    return [next(upcoming[name]) for name in turns]


def _neighbours(executed: Sequence[Transaction], random: Random) -> list[Transaction]:
    """Pairs of neighbours are exchanged, but for two of one session."""
    found = list(executed)
    for place in range(0, len(found) - 1, 2):
        one, other = found[place : place + 2]
        if random.random() < 0.5 and (one.session is None or one.session != other.session):
            found[place : place + 2] = other, one
    return found


def _two_hosts(executed: Sequence[Transaction], random: Random) -> list[Transaction]:
    """Clients of two hosts, each with a clock of its own: the file has all of the one, then all of the other."""
    clocks = {"hostA": 1_000_000, "hostB": random.randrange(10_000_000)}
    hosts: dict[str, str] = {}
    found = []
    for place, transaction in enumerate(executed):
        session = transaction.session or transaction.name
        host = hosts.setdefault(session, random.choice(("hostA", "hostB")))
        invoked = clocks[host] + place * SECOND
        found.append(replace(transaction, clock=host, invoked=invoked, returned=invoked + SECOND * 9 // 10))
    return [transaction for host in clocks for transaction in found if transaction.clock == host]
