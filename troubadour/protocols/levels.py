"""The eight levels of VerIso §3.1.1 as data: what each asks of a store and a view (§3.2.1; Xiong et al. 2020), and the
same as axioms on what is visible (Cerone et al. 2015). Does not know any protocol.

The names are those of `troubadour.isolation.levels`, and so is what they mean: VerIso's transaction ids keep the order
of a client's transactions at every level, here that is so at those with `sessions` only. Not in the table: read
committed and causal consistency without convergence, which a store with one list of versions for each key cannot
represent (§2.2).
"""

from __future__ import annotations

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class ProtocolLevel:
    """One level.

    The store's side. `closed`: the relations under which what a view shows is closed, each a composition of the
    dependencies SO, WR, WW, RW, where ``?`` makes the last one optional and ``-`` turns one round; ``written`` keeps
    to the keys that the transaction writes. `shifts`: the client's next view keeps what it saw and wrote.
    The axioms' side, on transactions that wrote, arbitration and visibility. `transitive`: what a visible one sees is
    visible. `prefix`: what is before a visible one is visible. `conflicts`: of two that write one key, one sees the
    other. `total`: each sees all before. Both: `sessions`: a client's transactions follow one another; `real_time`:
    what had returned before another was issued is before it.
    """

    name: str
    title: str
    closed: tuple[str, ...]
    shifts: bool = False
    transitive: bool = False
    prefix: bool = False
    conflicts: bool = False
    total: bool = False
    sessions: bool = False
    real_time: bool = False
    weaker: tuple[str, ...] = ()


_CAUSAL = ("SO", "WR")
_PREFIX = ("SO", "SO;RW", "WR", "WR;RW", "WW")
_UPDATE = ("WW- written",)

_ROWS = (
    ProtocolLevel("read-atomic", "RA: read atomicity", ()),
    ProtocolLevel("update-atomic", "UA: update atomicity", _UPDATE, conflicts=True, weaker=("read-atomic",)),
    ProtocolLevel(
        "causal",
        "TCCv: transactional causal consistency with convergence",
        _CAUSAL,
        shifts=True,
        transitive=True,
        sessions=True,
        weaker=("read-atomic",),
    ),
    ProtocolLevel(
        "parallel-snapshot",
        "PSI: parallel snapshot isolation",
        (*_UPDATE, *_CAUSAL, "WW"),
        shifts=True,
        transitive=True,
        conflicts=True,
        sessions=True,
        weaker=("causal", "update-atomic"),
    ),
    ProtocolLevel(
        "prefix",
        "CP: prefix consistency",
        _PREFIX,
        shifts=True,
        transitive=True,
        prefix=True,
        sessions=True,
        weaker=("causal",),
    ),
    ProtocolLevel(
        "session-snapshot",
        "SI: snapshot isolation, in the order of each client's transactions",
        (*_UPDATE, *_PREFIX, "WW;RW"),
        shifts=True,
        transitive=True,
        prefix=True,
        conflicts=True,
        sessions=True,
        weaker=("prefix", "parallel-snapshot"),
    ),
    ProtocolLevel(
        "serializable",
        "SER: serializability",
        ("WW-",),
        transitive=True,
        prefix=True,
        conflicts=True,
        total=True,
        weaker=("update-atomic",),
    ),
    ProtocolLevel(
        "strict-serializable",
        "SSER: strict serializability",
        ("WW-",),
        transitive=True,
        prefix=True,
        conflicts=True,
        total=True,
        real_time=True,
        weaker=("serializable",),
    ),
)

PROTOCOL_LEVELS = {row.name: row for row in _ROWS}
"""The levels by name, weaker ones first."""


def weaker_levels(name: str) -> frozenset[str]:
    """The levels that accept whatever this one accepts, and itself."""
    found = {name}
    for one in PROTOCOL_LEVELS[name].weaker:
        found |= weaker_levels(one)
    return frozenset(found)
