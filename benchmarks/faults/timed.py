"""A reference for registers with times: what a product's profile promises at the least, decided by clingo.

An event for each view and each commit; what was answered before another was sent stands before it. Only what each
profile surely asks is encoded, so that *no order* is proof, and an order is none: a product promises more. Registers
are rows with one column of values that are never written twice (`registers`). Shares nothing with the audit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import clingo

from benchmarks.faults.raw import Line, RawLog
from benchmarks.histories.history import History, Kind, Operation, Transaction
from benchmarks.histories.reference import reference

RULES = """
#edge (view(R), commit(T)) : view(R, T).
#edge (commit(W), view(R)) : sees(R, W).
#edge (view(R), commit(W)) : misses(R, W).
1 { sees(R, W); misses(R, W) } 1 :- open(R, W).
#edge (commit(A), commit(B)) : before(A, B).
1 { before(A, B); before(B, A) } 1 :- pair(A, B).
#edge (commit(T), tick(N)) : until(T, N).
#edge (tick(N), commit(T)) : since(T, N).
#edge (tick(N), view(R)) : begun(R, N).
#edge (tick(N), tick(N+1)) : tick(N), tick(N+1).
#edge (view(R), view(Q)) : follows(R, Q).

% what a view reads of W, no version that it sees replaced; what T changes, none that it misses has changed before
:- rereads(R, W, V), sees(R, V), before(W, V).
:- rewrites(R, T, A), misses(R, A), before(A, T).
"""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a profile asks at the least. `statements`: each statement has a view of its own, and what was rolled back
    is not looked at; `conflicts`: what a transaction changes was not changed since its view; `serial`: the transactions
    are also serializable, by whatever order."""

    statements: bool = False
    conflicts: bool = False
    serial: bool = False


PROMISES: Mapping[str, Promise] = {
    "postgres:read-committed": Promise(statements=True),
    "postgres:repeatable-read": Promise(conflicts=True),
    "postgres:serializable": Promise(conflicts=True, serial=True),
    "mysql:read-committed": Promise(statements=True),
    "mysql:repeatable-read": Promise(),
}


class NotRegisters(Exception):
    """The log has a statement that is not one of registers."""


@dataclass(slots=True)
class _View:
    """One view: `opened` is a time before which its snapshot was not taken, `taken` one after which it was not.
    `transaction`: its number, None of one that was rolled back."""

    transaction: int | None
    opened: int
    taken: int
    reads: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Events:
    """Views and commits of a log; `broken`: why no order explains it, where that is plain."""

    views: list[_View] = field(default_factory=list)
    writes: list[dict[int, int]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    initial: dict[int, int] = field(default_factory=dict)
    broken: str | None = None


def events(log: RawLog, promise: Promise) -> Events:
    """Read a log of registers. Raises NotRegisters."""
    found = Events()
    for line in log.head:
        rows = line.get("rows") or line.get("initial", {}).get("kv", {}).get("rows", ())
        found.initial.update({int(key): int(value) for key, value in rows})
    for transaction in log.committed if promise.statements else log.transactions:
        _add(found, transaction, promise)
    return found


def _add(found: Events, transaction: Line, promise: Promise) -> None:
    committed, own = transaction["status"] == "committed", dict[int, int]()
    number = len(found.sent) if committed else None
    view: _View | None = None
    first = transaction["statements"][0]["returned"] if transaction["statements"] else transaction["returned"]
    for statement in transaction["statements"]:
        if "error" in statement:
            continue
        observed = _observed(found, statement, own)
        if observed is None:
            continue
        if view is None or promise.statements:
            opened = statement["invoked"] if promise.statements else transaction["invoked"]
            view = _View(number, opened, first if promise.conflicts else statement["returned"])
            found.views.append(view)
        for key, value in observed.items():
            if key in own:
                if own[key] != value:
                    found.broken = f"{transaction['id']} does not read its own write"
            elif view.reads.setdefault(key, value) != value:
                found.broken = f"{transaction['id']} reads a row in two versions"
    if not committed:
        return
    if view is None and own and promise.conflicts:
        found.views.append(_View(number, transaction["invoked"], first))
    found.writes.append(own)
    found.sent.append(transaction["end"]["invoked"] if transaction.get("end") else transaction["invoked"])
    found.answered.append(transaction["returned"])


def _observed(found: Events, statement: Line, own: dict[int, int]) -> dict[int, int] | None:
    """What a read shows; None for a write, which is noted."""
    sql, params = re.sub(r"%s|\$\d", "?", statement["sql"]), statement.get("params", ())
    if sql == "UPDATE kv SET v = ? WHERE k = ?":
        own[params[1]] = params[0]
        if statement.get("affected", 1) != 1:
            found.broken = "a row is there, and once"
        return None
    rows = statement.get("result", {}).get("rows")
    if sql == "SELECT v FROM kv WHERE k = ?" and rows is not None:
        if len(rows) != 1:
            found.broken = "a row is there, and once"
            return {}
        return {params[0]: int(rows[0][0])}
    if sql == "SELECT k, v FROM kv WHERE k BETWEEN ? AND ? ORDER BY k" and rows is not None:
        if [row[0] for row in rows] != [key for key in sorted(found.initial) if params[0] <= key <= params[1]]:
            found.broken = "every row of the range is there"
        return {int(key): int(value) for key, value in rows}
    raise NotRegisters(sql)


def refuted(log: RawLog, profile: str, seconds: float) -> bool | None:
    """Whether no order gives what the profile promises; None where time is up."""
    promise = PROMISES[profile]
    found = events(log, promise)
    if found.broken is not None:
        return True
    timed = _unsatisfiable(found, promise, seconds)
    if timed is not False or not promise.serial:
        return timed
    said = reference(_history(log, found), "serializable", seconds)
    return None if said is None else said == "violation"


def _history(log: RawLog, found: Events) -> History:
    """The transactions for themselves, whose order may be any."""
    transactions = []
    for transaction in log.committed:
        operations: list[Operation] = []
        for statement in transaction["statements"]:
            own: dict[int, int] = {}
            observed = _observed(found, statement, own)
            operations += [Operation(Kind.READ, key, value) for key, value in (observed or {}).items()]
            operations += [Operation(Kind.WRITE, key, value) for key, value in own.items()]
        transactions.append(Transaction(str(transaction["id"]), tuple(operations)))
    return History(tuple(transactions), found.initial)


def _unsatisfiable(found: Events, promise: Promise, seconds: float) -> bool | None:
    try:
        facts = [*_ticks(found), *_Constraints(found, promise).facts()]
    except _Contradiction:
        return True
    control = clingo.Control(["--seed=1", "--warn=none"])
    control.add("base", [], RULES + "\n".join(facts))
    control.ground([("base", [])])
    with control.solve(async_=True) as handle:
        if not handle.wait(seconds):
            handle.cancel()
            return None
        return bool(handle.get().unsatisfiable)


class _Contradiction(Exception):
    """Times alone exclude what was read."""


class _Constraints:
    """What reads and writes ask, as far as times do not tell it. Edges that times give are those of the ticks."""

    def __init__(self, found: Events, promise: Promise) -> None:
        self.found, self.promise = found, promise
        self.writers: dict[int, list[int]] = {}
        self.written: dict[tuple[int, int], int] = {}
        for transaction, writes in enumerate(found.writes):
            for key, value in writes.items():
                self.writers.setdefault(key, []).append(transaction)
                self.written[key, value] = transaction
        self._facts: dict[str, None] = {}

    def facts(self) -> Iterator[str]:
        last: dict[int, int] = {}
        for number, view in enumerate(self.found.views):
            for key, value in view.reads.items():
                self._read(number, view, key, value)
            if view.transaction is None:
                continue
            self._add(f"view({number}, {view.transaction}).")
            if view.transaction in last:
                self._add(f"follows({last[view.transaction]}, {number}).")
            last[view.transaction] = number
            if self.promise.conflicts:
                for key in self.found.writes[view.transaction]:
                    self._write(number, view, view.transaction, key)
        yield from self._facts

    def _add(self, fact: str) -> None:
        self._facts[fact] = None

    def _sees(self, view: _View, writer: int) -> bool | None:
        """Whether a view surely sees a commit, or surely does not."""
        if self.found.sent[writer] > view.taken:
            return False
        return True if self.found.answered[writer] < view.opened else None

    def _before(self, one: int, other: int) -> bool | None:
        """Whether a commit surely came first."""
        if self.found.answered[one] < self.found.sent[other]:
            return True
        return False if self.found.answered[other] < self.found.sent[one] else None

    def _pair(self, one: int, other: int) -> None:
        self._add(f"pair({min(one, other)}, {max(one, other)}).")

    def _take(self, number: int, view: _View, writer: int, *, sees: bool) -> None:
        """A view has to see a commit, or to miss it."""
        known = self._sees(view, writer)
        if known is not None and known != sees:
            raise _Contradiction
        if known is None:
            self._add(f"{'sees' if sees else 'misses'}({number}, {writer}).")

    def _read(self, number: int, view: _View, key: int, value: int) -> None:
        others = [writer for writer in self.writers.get(key, ()) if writer != view.transaction]
        source = self.written.get((key, value))
        if source is None:
            if self.found.initial.get(key) != value:
                raise _Contradiction
            for other in others:
                self._take(number, view, other, sees=False)
            return
        if source == view.transaction:  # before it was written
            raise _Contradiction
        self._take(number, view, source, sees=True)
        for other in others:
            seen, later = self._sees(view, other), self._before(source, other)
            if other == source or seen is False or later is False:
                continue
            if later:
                self._take(number, view, other, sees=False)
            elif seen:
                self._add(f"before({other}, {source}).")
            else:
                self._add(f"open({number}, {other}).")
                self._pair(source, other)
                self._add(f"rereads({number}, {source}, {other}).")

    def _write(self, number: int, view: _View, writer: int, key: int) -> None:
        for other in self.writers[key]:
            seen, earlier = self._sees(view, other), self._before(other, writer)
            if other == writer or seen or earlier is False:
                continue
            if earlier:
                self._take(number, view, other, sees=True)
            elif seen is False:
                self._add(f"before({writer}, {other}).")
            else:
                self._add(f"open({number}, {other}).")
                self._pair(writer, other)
                self._add(f"rewrites({number}, {writer}, {other}).")


def _ticks(found: Events) -> Iterator[str]:
    """Moments between an answer and what was sent after it: commits and views stand before or after each."""
    moments = sorted(
        [(time, 2, t) for t, time in enumerate(found.answered)]
        + [(time, 1, t) for t, time in enumerate(found.sent)]
        + [(view.opened, 0, number) for number, view in enumerate(found.views)]
    )
    tick, fresh = 0, False
    yield "tick(0)."
    for _, kind, number in moments:
        if kind == 2:
            if not fresh:
                tick, fresh = tick + 1, True
                yield f"tick({tick})."
            yield f"until({number}, {tick})."
            continue
        fresh = False
        yield f"since({number}, {tick})." if kind == 1 else f"begun({number}, {tick})."
