"""A simulated store of objects with many versions, and the object log of a run on it, at any size.

Snapshot isolation (first committer wins) or serializability (what was read has not changed at the commit), timestamps
of one clock, sessions that take turns by the seed; faults, transactions that are given up, unknown outcomes and lines
that come late by request. Does not know the workload's shape, nor how a log is judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.record.simulated.faults import Faults
from troubadour.workloads.objects import TABLES, Objects, Operation, Type

Json = dict[str, Any]
Value = int | tuple[int, ...] | frozenset[int] | None

FAULTS: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        "stale-snapshot": (0.2, "a transaction reads a state some commits older than its start says"),
        "non-atomic-visibility": (0.5, "one of the writes of a commit becomes visible some commits late"),
        "lost-update": (1.0, "a commit writes over what its snapshot does not have"),
        "missed-conflict": (1.0, "a serializable commit is let through although what it read has changed"),
        "dirty-read": (0.2, "a read shows what another transaction has not committed yet"),
        "aborted-read": (1.0, "what an aborted transaction wrote stays"),
        "write-dropped": (0.1, "a write is not there after the commit"),
        "own-write-missed": (0.2, "a read does not show what its own transaction wrote"),
        "clock-skew": (0.2, "the timestamps of a transaction are off by a few commits"),
        "session": (0.2, "a transaction does not see what its session committed last"),
    }
)
"""For each the share of the moments at which it could happen that it does, by default, and what goes wrong."""
KEPT = 40
"""Versions of a key, before those are dropped that nothing can read any more."""
STEP = 10
"""Ticks of the clock between two events, so that skewed timestamps fall between others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of a run. `concurrency`: transactions under way at once. `aborts`, `unknown`, `late`: shares of
    the transactions that their client gives up, whose outcome it never learns, and whose line comes late."""

    transactions: int
    sessions: int = 50
    concurrency: int = 4
    isolation: str = "snapshot"
    seed: int = 0
    fault: str | None = None
    rate: float | None = None
    aborts: float = 0.0
    unknown: float = 0.0
    late: float = 0.0


@dataclass(slots=True)
class Told:
    """What a run came to."""

    counts: Counter[str] = field(default_factory=Counter)
    happened: int = 0


@dataclass(slots=True)
class _Transaction:
    number: int
    session: int
    sno: int
    invoked: int
    start: int
    view: int
    """The store as of this moment is what it reads: its start, where nothing is wrong."""
    operations: list[Operation]
    done: list[list[Any]] = field(default_factory=list)
    writes: dict[int, Value] = field(default_factory=dict)
    first_seen: dict[int, Value] = field(default_factory=dict)


class SimulatedObjects:
    """One run. Equal arguments give equal logs."""

    def __init__(self, workload: Objects, plan: Plan) -> None:
        """Raises ValueError for an unknown fault or level."""
        if plan.isolation not in ("snapshot", "serializable"):
            raise ValueError(f"isolation {plan.isolation!r} is neither snapshot nor serializable")
        self.told = Told()
        self._plan = plan
        self._workload = workload
        self._type: Type = workload.shape.type
        self._table = TABLES[self._type]
        self._random = Random(f"{plan.seed}/objects")
        self._faults = Faults(plan.fault, plan.rate, plan.seed, FAULTS)
        self._clock = 0
        self._versions: dict[int, list[tuple[int, Value]]] = {}
        self._written: dict[int, int] = {}
        """The last commit that wrote a key, whenever it becomes visible."""
        self._commits: list[int] = []
        self._last_commit = [0] * plan.sessions
        self._counts = [0] * plan.sessions
        self._active: list[_Transaction] = []

    def header(self) -> Json:
        """The log's, without format and version."""
        header: Json = {"objects": {self._table: self._type}, "dbms": "simulated", "clock": "simulated"}
        return {**header, "isolation": self._plan.isolation}

    def lines(self) -> Iterator[Json]:
        """The transactions as they end, late ones later."""
        waiting: list[tuple[int, Json]] = []
        for place, line in enumerate(self._run()):
            if self._plan.late and self._random.random() < self._plan.late:
                waiting.append((place + self._random.randint(1, 200), line))
            else:
                yield line
            while waiting and waiting[0][0] <= place:
                yield waiting.pop(0)[1]
        yield from (line for _, line in waiting)
        self.told.happened = self._faults.happened

    def _run(self) -> Iterator[Json]:
        number, plan = 0, self._plan
        while number < plan.transactions or self._active:
            self._clock += STEP
            room = number < plan.transactions and len(self._active) < plan.concurrency
            if room and (begun := self._begin(number)) is not None:
                self._active.append(begun)
                number += 1
                continue
            at = self._random.randrange(len(self._active))
            transaction = self._active[at]
            if len(transaction.done) < len(transaction.operations):
                self._step(transaction, transaction.operations[len(transaction.done)])
            else:
                del self._active[at]
                yield self._end(transaction)

    def _begin(self, number: int) -> _Transaction | None:
        busy = {one.session for one in self._active}
        session = self._random.randrange(self._plan.sessions)
        if session in busy:
            return None
        start = view = self._clock
        if self._commits and self._faults.now("stale-snapshot"):
            view = self._commits[-min(len(self._commits), self._random.randint(1, 6))] - 1
        elif self._last_commit[session] and self._faults.now("session"):
            view = self._last_commit[session] - 1
        operations = self._workload.draw(self._random)
        sno = self._counts[session]
        self._counts[session] += 1
        return _Transaction(number, session, sno, self._clock - 2, start, view, operations)

    # --- reading and writing ----------------------------------------------------------------------------------------

    def _at(self, key: int, moment: int) -> Value:
        for commit, value in reversed(self._versions.get(key, ())):
            if commit <= moment:
                return value
        return {"register": None, "list": (), "set": frozenset[int](), "counter": 0}[self._type]

    def _step(self, transaction: _Transaction, operation: Operation) -> None:
        key = operation.key
        if operation.kind == "r":
            transaction.done.append(["r", self._table, key, _shown(self._read(transaction, key))])
            return
        current = transaction.writes[key] if key in transaction.writes else self._at(key, transaction.view)
        transaction.writes[key] = _applied(current, operation)
        transaction.done.append([operation.kind, self._table, key, operation.value])

    def _read(self, transaction: _Transaction, key: int) -> Value:
        if key in transaction.writes:
            if self._faults.now("own-write-missed"):
                return self._at(key, transaction.view)
            return transaction.writes[key]
        value = self._at(key, transaction.view)
        others = [one for one in self._active if one is not transaction and key in one.writes]
        if others and self._faults.now("dirty-read"):
            value = others[0].writes[key]
        return transaction.first_seen.setdefault(key, value)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _end(self, transaction: _Transaction) -> Json:
        line: Json = {"id": transaction.number, "session": f"s{transaction.session}", "sno": transaction.sno}
        draw = self._random.random()
        given_up = draw < self._plan.aborts
        lost = not given_up and draw < self._plan.aborts + self._plan.unknown
        commits = not given_up and not self._conflicts(transaction) and not (lost and self._random.random() < 0.5)
        commit = self._clock
        if commits or (transaction.writes and self._faults.now("aborted-read")):
            self._install(transaction, commit)
        status = "unknown" if lost else "committed" if commits else "aborted"
        self.told.counts[status] += 1
        line |= {"status": status, "invoked": transaction.invoked, "ops": transaction.done}
        start = transaction.start
        if status == "committed":
            if self._faults.now("clock-skew"):
                off = self._random.randint(-3, 3) * STEP + self._random.randint(1, STEP - 1)
                start, commit = start + off, max(commit, start) + off
            line |= {"start": start, "commit": commit, "returned": self._clock + 2}
        elif status == "aborted":
            line |= {"start": start, "returned": self._clock + 2}
        return line

    def _conflicts(self, transaction: _Transaction) -> bool:
        """Whether the commit has to be refused."""
        if any(self._written.get(key, 0) > transaction.start for key in transaction.writes) and not self._faults.now(
            "lost-update"
        ):
            return True
        if self._plan.isolation != "serializable":
            return False
        read = any(self._written.get(key, 0) > transaction.start for key in transaction.first_seen)
        return read and not self._faults.now("missed-conflict")

    def _install(self, transaction: _Transaction, commit: int) -> None:
        late = self._random.choice(list(transaction.writes)) if len(transaction.writes) > 1 else None
        if late is not None and not self._faults.now("non-atomic-visibility"):
            late = None
        for key, value in transaction.writes.items():
            if self._faults.now("write-dropped"):
                continue
            self._written[key] = commit
            self._versions.setdefault(key, []).append((commit + (late == key) * 6 * STEP, value))
            if len(self._versions[key]) > KEPT:
                self._forget(self._versions[key])
        if transaction.writes:
            self._commits.append(commit)
            del self._commits[:-20]
        self._last_commit[transaction.session] = commit

    def _forget(self, versions: list[tuple[int, Value]]) -> None:
        """Drop those that no transaction under way, nor a stale one, can read any more."""
        oldest = min((one.view for one in self._active), default=self._clock)
        floor = min(oldest, self._commits[0] - 1 if self._commits else 0)
        unseen = sum(1 for commit, _ in versions if commit <= floor) - 1
        del versions[: max(unseen, 0)]


def _shown(value: Value) -> int | list[int] | None:
    match value:
        case tuple():
            return list(value)
        case frozenset():
            return sorted(value)
        case _:
            return value


def _applied(value: Value, operation: Operation) -> Value:
    written = operation.value
    assert written is not None
    match operation.kind, value:
        case "append", tuple():
            return (*value, written)
        case "add", frozenset():
            return value | {written}
        case "inc", int():
            return value + written
        case _:
            return written
