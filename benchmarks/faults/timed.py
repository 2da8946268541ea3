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

:- reads(R, K, W), not sees(R, W).
:- reads(R, K, W), sees(R, V), writes(V, K), V != W, before(W, V).
:- starts(R, K), sees(R, V), writes(V, K), view(R, T), V != T.
:- conflicts, writes(A, K), writes(B, K), A != B, before(A, B), view(R, B), not sees(R, A).
"""
SERIAL = "#edge (commit(T), commit(V)) : misses(R, V), view(R, T).\n"
"""What a view misses commits after its transaction."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a profile asks at the least. `statements`: each statement has a view of its own; `conflicts`: what it
    changes was not changed since its view; `serial`: the transactions are also serializable, by whatever order."""

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
    """One view: `opened` is a time before which its snapshot was not taken, `taken` one after which it was not."""

    transaction: int
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
    for transaction in log.committed:
        _add(found, transaction, promise)
    return found


def _add(found: Events, transaction: Line, promise: Promise) -> None:
    number, own = len(found.sent), dict[int, int]()
    view: _View | None = None
    first = transaction["statements"][0]["returned"] if transaction["statements"] else transaction["returned"]
    for statement in transaction["statements"]:
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
    return _unsatisfiable(found, promise, seconds, serial=True)


def _unsatisfiable(found: Events, promise: Promise, seconds: float, *, serial: bool = False) -> bool | None:
    facts = list(_facts(found, promise, timed=not serial))
    if "false." in facts:
        return True
    control = clingo.Control(["--seed=1", "--warn=none"])
    control.add("base", [], RULES + (SERIAL if serial else "") + "\n".join(facts))
    control.ground([("base", [])])
    with control.solve(async_=True) as handle:
        if not handle.wait(seconds):
            handle.cancel()
            return None
        return bool(handle.get().unsatisfiable)


def _facts(found: Events, promise: Promise, *, timed: bool) -> Iterator[str]:
    written = {(key, value): t for t, writes in enumerate(found.writes) for key, value in writes.items()}
    writers: dict[int, list[int]] = {}
    for transaction, writes in enumerate(found.writes):
        for key in writes:
            writers.setdefault(key, []).append(transaction)
            yield f"writes({transaction}, {key})."
    if promise.conflicts and timed:
        yield "conflicts."
    yield from (f"pair({a}, {b})." for a, b in sorted(_pairs(writers)))
    if timed:
        yield from _ticks(found)
    last: dict[int, int] = {}
    for number, view in enumerate(found.views):
        yield f"view({number}, {view.transaction})."
        if view.transaction in last:
            yield f"follows({last[view.transaction]}, {number})."
        last[view.transaction] = number
        for key, value in view.reads.items():
            source = written.get((key, value))
            if source is None and found.initial.get(key) == value:
                yield f"starts({number}, {key})."
            elif source is None or source == view.transaction or found.sent[source] > view.taken:
                yield "false."
            else:
                yield f"reads({number}, {key}, {source})."
        touched = {*view.reads, *(found.writes[view.transaction] if promise.conflicts else ())}
        for writer in sorted({w for key in touched for w in writers.get(key, ()) if w != view.transaction}):
            yield _between(found, number, view, writer, timed=timed)


def _between(found: Events, number: int, view: _View, writer: int, *, timed: bool) -> str:
    if timed and found.sent[writer] > view.taken:
        return f"misses({number}, {writer})."
    if timed and found.answered[writer] < view.opened:
        return f"sees({number}, {writer})."
    return f"open({number}, {writer})."


def _pairs(writers: Mapping[int, list[int]]) -> set[tuple[int, int]]:
    """Writers of one row. Which of them came first follows from the ticks where times tell it."""
    return {(a, b) for those in writers.values() for a in those for b in those if a < b}


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
