"""Anomalies by name, and which of them a cycle of dependencies is (Adya 1999; Berenson et al. 1995; Cerone et al. 2015;
Alvaro and Kingsbury 2020, *Elle*).

A cycle is a list of edges, each from a transaction to one that comes after it; the kinds are Adya's: *ww* overwrites,
*wr* reads what was written, *rw* read what was overwritten later (an anti-dependency), beside *session* and
*real-time*. Does not know how edges are found, nor any row's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from sql_semantics.records import dataclass
from troubadour.isolation.advice import (
    ALONE,
    CLOCKS,
    DURABLE,
    INDEX,
    OUTSIDE,
    PLAN,
    REFERENCE,
    REPLICA,
    SEQUENCE,
    SETTING,
)
from troubadour.isolation.levels import Level, Scope, Visible


class Kind(Enum):
    """Why one transaction comes before another."""

    WW = "ww"
    WR = "wr"
    RW = "rw"
    SESSION = "session"
    REAL_TIME = "real-time"


@dataclass(frozen=True, slots=True)
class Link:
    """One edge of a cycle, as far as names depend on it: the `row` that it is about (None where times or sessions say
    it; for rw: the commit came after the snapshot was taken), and whether the read was of a `predicate` that the row's
    version seen did not meet; `statement` is the one that read."""

    kind: Kind
    row: str | None = None
    predicate: bool = False
    statement: int | None = None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """What goes wrong, in the field's words. `aka`: its symbol in the literature, `check`: what to look at next, a
    topic of `isolation.advice`."""

    name: str
    title: str
    aka: str
    meaning: str
    citation: str
    check: str


_ADYA = "Adya 1999, *Weak Consistency*"
_BERENSON = "Berenson et al. 1995, *A Critique of ANSI SQL Isolation Levels*"
_CERONE = "Cerone, Bernardi and Gotsman 2015, *A Framework for Transactional Consistency Models*"
_TERRY = "Terry et al. 1994, *Session Guarantees for Weakly Consistent Replicated Data*"
_ELLE = "Alvaro and Kingsbury 2020, *Elle*"

_ANOMALIES = (
    Anomaly("dirty-write", "dirty write", "G0, P0", "two transactions overwrote each other, rows in opposite orders",
            f"{_ADYA}; {_BERENSON}, P0", SETTING),
    Anomaly("aborted-read", "aborted read", "G1a",
            "a transaction read a value that only a rolled-back transaction wrote", _ADYA, SETTING),
    Anomaly("intermediate-read", "intermediate read", "G1b",
            "a transaction read a value that its writer overwrote before it committed", _ADYA, SETTING),
    Anomaly("dirty-read", "dirty read", "P1", "a transaction read a value before its writer had ended",
            f"{_BERENSON}, P1", SETTING),
    Anomaly("circular-information-flow", "circular information flow", "G1c",
            "transactions read from and overwrote one another in a circle", _ADYA, SETTING),
    Anomaly("garbage-read", "garbage read", "thin-air read",
            "a transaction read a value that no transaction of the log wrote", _ELLE, OUTSIDE),
    Anomaly("internal-inconsistency", "internal inconsistency", "internal",
            "a transaction read a row otherwise than it had left it itself", _ELLE, SETTING),
    Anomaly("read-skew", "read skew", "G-single, A5A",
            "one transaction saw a part of another's writes, or an older state beside a newer one",
            f"{_BERENSON}, A5A; {_ADYA}", SETTING),
    Anomaly("fractured-read", "fractured read", "G-single",
            "one transaction saw a part of another's writes and not the rest",
            "Bailis et al. 2014, *Scalable Atomic Visibility with RAMP Transactions*", SETTING),
    Anomaly("non-repeatable-read", "non-repeatable read", "P2, fuzzy read",
            "a transaction read one row twice, and the answers differ", f"{_BERENSON}, P2", SETTING),
    Anomaly("lost-update", "lost update", "P4",
            "a transaction overwrote a row that it had read before another one wrote it",
            f"{_BERENSON}, P4", SETTING),
    Anomaly("write-conflict", "write conflict let through", "NWC, first committer wins",
            "two concurrent transactions wrote one row, and both committed",
            f"{_BERENSON}, first-committer-wins", SETTING),
    Anomaly("write-skew", "write skew", "G2-item, A5B",
            "each transaction read a row before the other's write of it, so neither can come first",
            f"{_BERENSON}, A5B; {_ADYA}", SETTING),
    Anomaly("phantom", "phantom", "G2, P3",
            "a transaction evaluated a condition before another one wrote a row that meets it, in a circle",
            f"{_ADYA}; {_BERENSON}, P3", SETTING),
    Anomaly("read-only-anomaly", "read-only transaction anomaly", "G2-item",
            "a transaction that wrote nothing saw a state that no serial order has",
            "Fekete, O'Neil and O'Neil 2004, *A Read-Only Transaction Anomaly Under Snapshot Isolation*", SETTING),
    Anomaly("long-fork", "long fork", "G-nonadjacent",
            "two transactions saw two independent writes in opposite orders", _CERONE, REPLICA),
    Anomaly("causality-violation", "causality violation", "G-causal",
            "a transaction saw an effect without its cause", _CERONE, REPLICA),
    Anomaly("read-your-writes", "read your writes violated", "RYW",
            "a session did not see what it had committed before", _TERRY, REPLICA),
    Anomaly("monotonic-reads", "monotonic reads violated", "MR",
            "a session saw a state, and later an older one", _TERRY, REPLICA),
    Anomaly("monotonic-writes", "monotonic writes violated", "MW",
            "two writes of one session took effect in the other order", _TERRY, REPLICA),
    Anomaly("writes-follow-reads", "writes follow reads violated", "WFR",
            "a session's write took effect before what the session had read", _TERRY, REPLICA),
    Anomaly("stale-read", "stale read", "real-time G-single",
            "a transaction read a state without a commit that had ended before it began", _ELLE, REPLICA),
    Anomaly("future-read", "future read", "real-time G1c",
            "a transaction read a value before its writer had begun to commit", _ELLE,
            CLOCKS),
    Anomaly("lost-commit", "lost commit", "durability",
            "commits were acknowledged, and no later transaction sees their writes",
            "Gray and Reuter 1993, *Transaction Processing*, durability", DURABLE),
    Anomaly("duplicate-key", "duplicate key", "constraint", "two rows share a key, or a key was refused that was free",
            "ISO/IEC 9075-2, unique constraints", INDEX),
    Anomaly("dangling-reference", "dangling reference", "constraint", "a row refers to one that is not there",
            "ISO/IEC 9075-2, referential constraints", REFERENCE),
    Anomaly("impossible-error", "impossible error", "SQL",
            "a statement failed that cannot fail so, or succeeded where it must fail",
            "ISO/IEC 9075-2, diagnostics", ALONE),
    Anomaly("wrong-answer", "wrong answer", "SQL",
            "a statement's answer is that of no state: not an order of transactions, SQL itself is at fault",
            "Rigger and Su 2020, *Testing Database Engines via Pivoted Query Synthesis*",
            PLAN),
    Anomaly("counter-anomaly", "counter anomaly", "counter",
            "a number was seen of a row to which transactions add, and no choice of what they add comes to it",
            _ELLE, OUTSIDE),
    Anomaly("sequence-anomaly", "sequence anomaly", "sequence", "a sequence gave one value twice",
            "ISO/IEC 9075-2, sequence generators", SEQUENCE),
    Anomaly("unclassified", "contradiction without a name", "-",
            "nothing that the level allows explains the log, and no circle was found that has a name",
            "Crooks et al. 2017, *Seeing is Believing*", SETTING),
    Anomaly("real-time-cycle", "cycle with real time", "real-time G2",
            "what the transactions saw puts them in an order that real time excludes", _ELLE, REPLICA),
)  # fmt: skip

ANOMALIES = {anomaly.name: anomaly for anomaly in _ANOMALIES}
"""All anomalies by name."""


_DEPENDENCIES = frozenset({Kind.WW, Kind.WR, Kind.RW})


def is_forbidden(level: Level, cycle: Sequence[Kind]) -> bool:
    """Whether a level excludes a cycle of dependencies, its edges in order.

    A transaction has a snapshot and a commit. What it sees committed before its snapshot; what it misses committed
    after that. Where the snapshot may be older than the commit, a circle of these is none of events if a transaction
    that is passed by its commit only is to be passed by its snapshot: an rw edge must follow one that leads to a
    snapshot.
    """
    if level.horizon.latest or (level.serial and set(cycle) <= _DEPENDENCIES):
        return True
    misses = cycle.count(Kind.RW)
    if level.scope is not Scope.TRANSACTION:
        return misses == 0
    if level.visible is not Visible.STATE:
        return misses <= 1
    sees = {Kind.WR, Kind.SESSION, Kind.REAL_TIME} | ({Kind.WW} if level.write_conflict else set())
    return all(kind is not Kind.RW or cycle[place - 1] in sees for place, kind in enumerate(cycle))


def classify(cycle: Sequence[Link], *, writes: Sequence[bool] = ()) -> Anomaly:
    """The name of a cycle; `writes[i]`: whether the transaction that edge i leads from wrote anything."""
    kinds = [link.kind for link in cycle]
    if Kind.REAL_TIME in kinds:
        return ANOMALIES[_with_real_time(kinds)]
    if Kind.SESSION in kinds:
        return ANOMALIES[_with_session(kinds)]
    misses = [place for place, kind in enumerate(kinds) if kind is Kind.RW]
    if not misses:
        return ANOMALIES["dirty-write" if Kind.WR not in kinds else "circular-information-flow"]
    if len(misses) == 1:
        return ANOMALIES[_with_one_miss(cycle, misses[0])]
    adjacent = any(kinds[place - 1] is Kind.RW for place in misses)
    if not adjacent:
        return ANOMALIES["long-fork"]
    if any(link.predicate for link in cycle if link.kind is Kind.RW):
        return ANOMALIES["phantom"]
    if len(cycle) > 2 and writes and not all(writes):
        return ANOMALIES["read-only-anomaly"]
    return ANOMALIES["write-skew"]


def _with_real_time(kinds: Sequence[Kind]) -> str:
    match kinds.count(Kind.RW):
        case 0:
            return "future-read" if Kind.WR in kinds else "real-time-cycle"
        case 1:
            return "stale-read"
        case _:
            return "real-time-cycle"


def _with_session(kinds: Sequence[Kind]) -> str:
    others = {kind for kind in kinds if kind is not Kind.SESSION}
    if others == {Kind.RW}:
        return "read-your-writes" if len(kinds) == 2 else "causality-violation"
    if others == {Kind.WW}:
        return "monotonic-writes"
    if others == {Kind.RW, Kind.WR} and len(kinds) == 3:
        return "monotonic-reads"
    if others == {Kind.WR, Kind.WW} and len(kinds) == 3:
        return "writes-follow-reads"
    return "causality-violation"


def _with_one_miss(cycle: Sequence[Link], place: int) -> str:
    """One transaction missed another, and comes after it all the same."""
    miss = cycle[place]
    others = [link for number, link in enumerate(cycle) if number != place]
    if len(others) == 1:
        other = others[0]
        if miss.row is None:
            return "write-conflict" if other.kind is Kind.WW else "future-read"
        if other.kind is Kind.WW:
            return "lost-update" if other.row == miss.row else "read-skew"
        if miss.predicate:
            return "phantom"
        if other.row == miss.row:
            # one answer cannot be two reads: of a set or a counter it has a part of what the other wrote
            same = miss.statement is not None and other.statement == miss.statement
            return "fractured-read" if same else "non-repeatable-read"
        # the newer state first, then the older one
        fractured = (other.statement or 0) <= (miss.statement or 0)
        return "fractured-read" if fractured else "read-skew"
    return "causality-violation" if all(other.kind is Kind.WR for other in others) else "read-skew"
