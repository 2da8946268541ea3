"""References by answer set programming: `serializable` and `snapshot` of a key-value history, each also with sessions.

An order is a choice between two edges for each pair of transactions that meet in a key; clingo keeps the graph
acyclic. A transaction has one node at `serializable`, a snapshot and a commit at `snapshot` (Viper, Zhang et al. 2023).
Write conflicts are those of values (Fig. 7 of the paper). Shares nothing with the audit. Does not know SQL.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import combinations

import clingo

from benchmarks.histories.facts import INITIAL, Facts
from benchmarks.histories.history import ABSENT, Version

COMMON = """
1 { source(T, K, W) : candidate(T, K, W) } 1 :- reads(T, K).
"""

SERIALIZABLE = """
1 { before(A, B); before(B, A) } 1 :- pair(A, B).
#edge (A, B) : before(A, B).
#edge (A, B) : session(A, B).
before(-1, T) :- writes(T, _).
before(-1, T) :- reads(T, _).
:- source(T, K, W), not before(W, T).
:- source(T, K, W), writes(V, K), V != W, V != T, before(W, V), before(V, T).
:- needs(T, K), inserts(W, K), W != T, not before(W, T).
:- counts(T, K, C), #sum { M, W : adds(W, K, M), before(W, T), W != T } != C.
"""

SNAPSHOT = """
#edge (begin(T), commit(T)) : meets(T, _).
#edge (commit(A), begin(B)) : session(A, B).
1 { sees(T, W); misses(T, W) } 1 :- meeting(T, W).
#edge (commit(W), begin(T)) : sees(T, W).
#edge (begin(T), commit(W)) : misses(T, W).
1 { before(A, B); before(B, A) } 1 :- pair(A, B), writes(A, K), writes(B, K).
#edge (commit(A), commit(B)) : before(A, B).
before(-1, T) :- writes(T, _).
sees(T, -1) :- meets(T, _).
:- source(T, K, W), not sees(T, W).
:- source(T, K, W), sees(T, V), writes(V, K), V != W, V != T, before(W, V).
:- needs(T, K), inserts(W, K), W != T, not sees(T, W).
:- counts(T, K, C), #sum { M, W : adds(W, K, M), sees(T, W), W != T } != C.

% a row that T changed did not change between its snapshot and its commit
overtaken(T, K) :- writes(T, K), writes(W, K), W != T, before(W, T), not sees(T, W).
:- overtaken(T, K), by_version(K).
1 { seen(T, K, W) : version(W, K, _), W != T } 1 :- writes(T, K), not by_version(K).
1 { met(T, K, W) : version(W, K, _), W != T } 1 :- writes(T, K), not by_version(K).
:- seen(T, K, W), not sees(T, W).
:- seen(T, K, W), sees(T, V), writes(V, K), V != W, V != T, before(W, V).
:- met(T, K, W), not before(W, T).
:- met(T, K, W), writes(V, K), V != W, V != T, before(W, V), before(V, T).
:- seen(T, K, W), version(W, K, X), version(T, K, Y), X != Y, met(T, K, V), version(V, K, Z), X != Z.
"""


def decide(found: Facts, level: str, seconds: float) -> bool | None:
    """Whether a level explains the history, `serializable` or `snapshot`, or one of these after ``session-``; None
    where time is up."""
    if found.broken is not None:
        return False
    control = clingo.Control(["--seed=1", "--warn=none"])
    rules = COMMON + (SERIALIZABLE if level.endswith("serializable") else SNAPSHOT)
    control.add("base", [], rules + "\n".join(_facts(found, level)))
    begun = time.monotonic()
    control.ground([("base", [])])
    with control.solve(async_=True) as handle:
        if not handle.wait(max(0.1, seconds - (time.monotonic() - begun))):
            handle.cancel()
            return None
        result = handle.get()
    return None if result.unknown or result.interrupted else bool(result.satisfiable)


def _facts(found: Facts, level: str) -> Iterator[str]:
    names: dict[Version, int] = {}

    def named(value: Version) -> int:
        return names.setdefault(value, len(names))

    counted = found.counted
    met: dict[int, set[int]] = {}
    for number in range(found.count):
        reads, writes, adds = found.reads[number], found.writes[number], found.adds[number]
        for key, value in reads.items():
            if key in counted:
                yield f"counts({number}, {key}, {value})."
                continue
            yield f"reads({number}, {key})."
            yield from (f"candidate({number}, {key}, {writer})." for writer in found.candidates(number, key))
        yield from (f"needs({number}, {key})." for key in found.needs[number])
        yield from (f"writes({number}, {key})." for key in (*writes, *adds))
        yield from (f"adds({number}, {key}, {amount})." for key, amount in adds.items())
        yield from (f"version({number}, {key}, {named(value)})." for key, value in writes.items())
        for key in {*reads, *writes, *adds, *found.needs[number]}:
            met.setdefault(key, set()).add(number)
            yield f"meets({number}, {key})."
    yield from (f"inserts({writer}, {key})." for key, writer in found.inserters.items())
    pairs: set[tuple[int, int]] = set()
    meetings: set[tuple[int, int]] = set()
    for key, those in met.items():
        yield f"version({INITIAL}, {key}, {named(found.initial.get(key, ABSENT))})."
        writers = set(found.writers.get(key, ()))
        values = [found.initial.get(key, ABSENT), *(found.writes[w].get(key) for w in writers)]
        if key in counted or len(set(values)) == len(values):
            yield f"by_version({key})."
        for a, b in combinations(sorted(those), 2):
            if a in writers or b in writers:
                pairs.add((a, b))
        meetings.update((reader, writer) for reader in those for writer in writers if reader != writer)
    yield from (f"pair({a}, {b})." for a, b in pairs)
    if level.startswith("session-"):
        yield from (f"session({a}, {b})." for b, a in enumerate(found.before) if a is not None)
    if level.endswith("snapshot"):
        yield from (f"meeting({reader}, {writer})." for reader, writer in meetings)
