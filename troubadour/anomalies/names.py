"""What anomalies are called: the names of *Elle* and Adya 1999, beside those of the verdicts. Does not know any log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sql_semantics.records import replace
from troubadour.anomalies.report import Listed
from troubadour.anomalies.specifications import name_of
from troubadour.isolation.anomalies import ANOMALIES, Anomaly
from troubadour.isolation.models import PLAIN, PROCESS, REALTIME, TIMED
from troubadour.model.account import Edge
from troubadour.order.objects.known import Why

_TITLES = {
    "G1a": "aborted read",
    "G1b": "intermediate read",
    "dirty-update": "dirty update",
    "garbage-read": "garbage read",
    "duplicate-elements": "duplicate elements",
    "internal": "internal inconsistency",
    "incompatible-order": "incompatible orders",
    "future-read": "future read",
    "lost-update": "lost update",
    "cyclic-versions": "cyclic versions",
    "cycle-exists": "a cycle exists",
}
_AKA = {
    "G-single": ("G-single-item", "A5A"),
    "G-nonadjacent": ("G-nonadjacent-item",),
    "G2-item": ("A5B",),
    "lost-update": ("P4",),
    "internal": ("internal-inconsistency",),
    "duplicate-elements": ("duplicate-write",),
}
_OF_VERDICTS = {
    "dirty-write": "G0", "aborted-read": "G1a", "intermediate-read": "G1b", "circular-information-flow": "G1c",
    "internal-inconsistency": "internal", "read-skew": "G-single", "fractured-read": "G-single",
    "causality-violation": "G-single", "non-repeatable-read": "G-single", "write-skew": "G2-item",
    "read-only-anomaly": "G2-item", "phantom": "G2", "long-fork": "G-nonadjacent",
    "read-your-writes": "G-single-process", "monotonic-reads": "G-single-process",
    "monotonic-writes": "G0-process", "writes-follow-reads": "G1c-process",
    "stale-read": "G-single-realtime", "real-time-cycle": "G2-realtime",
}  # fmt: skip
"""By what a verdict calls an anomaly; the others have one name."""

_EDGES = {"ww": Why.WW, "wr": Why.WR, "rw": Why.RW, "session": Why.SESSION, "real-time": Why.REAL_TIME}
_KEPT = ("G1a", "G1b", "internal", "G-nonadjacent")
"""Names that edges do not tell: those of values, and of forks that counts show."""

FORK = "long-fork"
"""The pattern of a G-nonadjacent circle of reads alone: one transaction saw a write and missed another one's, and a
second one the other way round (Cerone, Bernardi and Gotsman 2015)."""


def name_of_verdict(anomaly: str, chain: Sequence[Edge]) -> str:
    """The name here of what a verdict calls an anomaly: that of the circle that its `chain` is, as a rule."""
    name = _OF_VERDICTS.get(anomaly)
    if (name is None or name in _KEPT) and anomaly != "future-read":
        return name or anomaly
    return _of_circle(chain) or name or anomaly


def _of_circle(chain: Sequence[Edge]) -> str | None:
    """The name of a circle by its edges; None where they are none, or of kinds that have no name together."""
    closed = len(chain) > 1 and all(chain[at - 1].later == edge.earlier for at, edge in enumerate(chain))
    kinds = [_EDGES[edge.kind] for edge in chain if edge.kind in _EDGES]
    if not closed or len(kinds) < len(chain):
        return None
    suffix = REALTIME if Why.REAL_TIME in kinds else PROCESS if Why.SESSION in kinds else PLAIN
    name = name_of(kinds, suffix)
    # a condition that was read is no item
    if name is not None and any(edge.predicate for edge in chain):
        return name.replace("G2-item", "G2")
    return name


def with_patterns(listed: Iterable[Listed]) -> list[Listed]:
    """Anomalies, with those that have a name of their own beside that of their edges."""
    found = []
    for one in listed:
        found.append(one)
        if one.name == "G-nonadjacent" and {edge.kind for edge in one.chain} == {"rw", "wr"}:
            anomaly = ANOMALIES[FORK]
            found.append(replace(one, name=FORK, title=anomaly.title, aka=("G-nonadjacent",)))
    return found


def title(name: str, found: Anomaly | None) -> str:
    """What a name means, in words; `found`: what a verdict would call the circle."""
    if name in _TITLES:
        return _TITLES[name]
    return name if found is None else found.title


def other_names(name: str, found: Anomaly | None) -> tuple[str, ...]:
    """Other names of an anomaly, those of *Elle* first."""
    for suffix in TIMED:
        if name.endswith(suffix):
            plain = name.removesuffix(suffix)
            return tuple(f"{one}{suffix}" for one in _AKA.get(plain, ()) if one.endswith("-item"))
    return (*_AKA.get(name, ()), *(() if found is None or found.name == name else (found.name,)))
