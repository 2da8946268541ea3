"""What anomalies are called: the names of *Elle* and Adya 1999, beside those of the verdicts. Does not know any log."""

from __future__ import annotations

from troubadour.isolation.anomalies import Anomaly
from troubadour.isolation.models import TIMED

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


def name_of_verdict(anomaly: str) -> str:
    """The name here of what a verdict calls an anomaly."""
    return _OF_VERDICTS.get(anomaly, anomaly)


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
