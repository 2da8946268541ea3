"""Which anomalies imply which, and which isolation levels they rule out: the levels of this project beside those that
others report by (Adya 1999; Berenson et al. 1995; Bailis et al. 2014, *Highly Available Transactions*; Cerone, Bernardi
and Gotsman 2015; Daudjee and Salem 2004, 2006), related as *Elle* relates them (Alvaro and Kingsbury 2020).

Where a level of this project has the name of one of theirs it is meant as docs/isolation-levels.md has it, and no arc
contradicts that: `prefix`, `causal` and `parallel-snapshot` keep sessions here, so that `snapshot` does not imply them,
and `strict-serializable` keeps real time and no sessions. Does not know any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from sql_semantics.records import dataclass
from troubadour.isolation.levels import LEVELS

PLAIN, PROCESS, TIMESTAMP, REALTIME = "", "-process", "-timestamp", "-realtime"
"""Which edges beside dependencies a circle has: of sessions, of the database's timestamps, of clients' times."""

TIMED = (PROCESS, TIMESTAMP, REALTIME)

_IMPLIED: Mapping[str, tuple[str, ...]] = {
    "G0": ("G1c",),
    "G1a": ("G1",),
    "G1b": ("G1",),
    "G1c": ("G1",),
    "G-single": ("G-nonadjacent", "G2-item"),
    "G-nonadjacent": ("G2-item",),
    "long-fork": ("G-nonadjacent",),
    "G2-item": ("G2",),
    "lost-update": ("G2-item",),
    "incompatible-order": ("lost-update",),
    "dirty-update": ("G1a",),
    "future-read": ("G1c",),
}
"""What each anomaly is a case of (Adya 1999, section 4; Berenson et al. 1995). Answers of a list that exclude each
other mean that an append got lost, or that what one shows was never committed."""

ANOMALY_ORDER = (
    "garbage-read", "duplicate-elements", "cyclic-versions", "dirty-update", "G1a", "G1b", "internal", "future-read",
    "incompatible-order", "G0", "G1c", "lost-update", "G-single", "long-fork", "G-nonadjacent", "G2-item",
    "cycle-exists",
)  # fmt: skip
"""The worst first."""

_ADYA = "Adya 1999, *Weak Consistency*"
_BAILIS = "Bailis et al. 2014, *Highly Available Transactions*"
_DAUDJEE = "Daudjee and Salem 2004, 2006, *Lazy Database Replication*"
_CERONE = "Cerone, Bernardi and Gotsman 2015"


@dataclass(frozen=True, slots=True)
class Model:
    """A level that others report by, with the levels that hold wherever it does, the anomalies that it `forbids`
    besides what these do, other names, and where it is from."""

    name: str
    implies: tuple[str, ...]
    forbids: tuple[str, ...]
    citation: str
    aka: tuple[str, ...] = ()


_MODELS = (
    Model("PL-1", (), ("G0", "duplicate-elements", "cyclic-versions", "garbage-read"), _ADYA,
          ("read-uncommitted (Adya)",)),
    Model("cursor-stability", ("read-committed",), ("lost-update",), _ADYA, ("PL-CS",)),
    Model("monotonic-view", ("read-committed",), (), _ADYA, ("PL-2L",)),
    Model("monotonic-snapshot-read", ("read-committed",), (), _ADYA, ("PL-MSR",)),
    Model("monotonic-atomic-view", ("read-committed",), (), _BAILIS, ("MAV",)),
    Model("consistent-view", ("cursor-stability", "monotonic-view"), ("G-single",), _ADYA, ("PL-2+",)),
    Model("forward-consistent-view", ("consistent-view",), (), _ADYA, ("PL-FCV",)),
    Model("update-serializable", ("forward-consistent-view",), (), _ADYA, ("PL-3U",)),
    Model("repeatable-read", ("cursor-stability", "monotonic-atomic-view"), ("G2-item",), _ADYA, ("PL-2.99",)),
    Model("strong-session-read-uncommitted", ("PL-1",), ("G0-process",), _DAUDJEE),
    Model("strong-session-read-committed", ("read-committed", "strong-session-read-uncommitted"), ("G1c-process",),
          _DAUDJEE),
    Model("strong-read-uncommitted", ("PL-1",), ("G0-realtime",), _DAUDJEE),
    Model("strong-read-committed", ("read-committed", "strong-read-uncommitted"), ("G1c-realtime",), _DAUDJEE),
    Model("strong-snapshot-isolation", ("snapshot", "strong-read-committed"), ("G-nonadjacent-realtime",), _DAUDJEE,
          ("strong SI",)),
)  # fmt: skip

MODELS = {model.name: model for model in _MODELS}
"""Levels that others report by and this project does not audit, by name."""

_OF_OURS: Mapping[str, tuple[str, ...]] = {
    "read-committed": ("PL-1",),
    "read-atomic": ("monotonic-atomic-view",),
    "session-read-committed": ("strong-session-read-committed",),
    "update-atomic": (),
    "snapshot": ("forward-consistent-view", "monotonic-snapshot-read", "monotonic-atomic-view"),
    "serializable": ("repeatable-read", "update-serializable"),
    "strict-serializable": ("strong-snapshot-isolation",),
}
"""What of these holds wherever a level of this project does."""

_FORBIDDEN_HERE: Mapping[str, tuple[str, ...]] = {
    "read-uncommitted": ("garbage-read", "duplicate-elements"),
    "read-committed": ("G1",),
    "read-atomic": ("internal",),
    "update-atomic": ("lost-update",),
    "snapshot": ("G-nonadjacent",),
    "session-snapshot": ("G-nonadjacent-process",),
    "serializable": ("G2",),
    "session-serializable": ("G2-process",),
    "strict-serializable": ("G2-realtime", "G1c-realtime"),
}
"""What levels of this project forbid besides what those that they imply do."""

_BEHIND = {"strict-snapshot": ("strong-snapshot-isolation",)}
"""What tells of a level already where it is ruled out beside it: this one reads the state at its start, by whichever
clock there is."""

OTHER_NAMES: Mapping[str, str] = {
    "snapshot-isolation": "snapshot", "pl-si": "snapshot", "pl-2": "read-committed", "pl-3": "serializable",
    "strong-serializable": "strict-serializable", "pl-ss": "strict-serializable",
    "strong-session-serializable": "session-serializable", "strong-session-snapshot-isolation": "session-snapshot",
    "parallel-snapshot-isolation": "parallel-snapshot", "causal-cerone": "causal",
    **{other.lower(): model.name for model in _MODELS for other in model.aka if other.startswith("PL-")},
    "pl-1": "PL-1",
}  # fmt: skip
"""Levels of this project, and models, by what *Elle* and Adya call them."""


@cache
def weaker(name: str) -> frozenset[str]:
    """The level or model and all that hold wherever it does."""
    return _reached(name, _down)


def stronger(names: Iterable[str]) -> frozenset[str]:
    """Levels and models that do not hold where some do not."""
    some = frozenset(names)
    return frozenset(one for one in (*LEVELS, *MODELS) if not weaker(one).isdisjoint(some))


def _down(name: str) -> Iterable[str]:
    if name in MODELS:
        return MODELS[name].implies
    return (*LEVELS[name].implies, *_OF_OURS.get(name, ()))


@cache
def implied(anomaly: str) -> frozenset[str]:
    """The anomaly and all that it is a case of. One without sessions or times is one with them."""
    return _reached(anomaly, _cases)


def _cases(anomaly: str) -> Iterable[str]:
    for suffix in TIMED:
        if anomaly.endswith(suffix):
            plain = anomaly.removesuffix(suffix)
            cases = [f"{one}{suffix}" for one in _IMPLIED.get(plain, ())]
            # by the database's own clock is a case of real time
            return [*cases, f"{plain}{REALTIME}"] if suffix == TIMESTAMP else cases
    timed = [f"{anomaly}{suffix}" for suffix in TIMED] if anomaly.startswith("G") else []
    return [*_IMPLIED.get(anomaly, ()), *timed]


def _reached(start: str, following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    found, pending = {start}, [start]
    while pending:
        for other in following(pending.pop()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return frozenset(found)


@cache
def ruled_out(anomaly: str) -> frozenset[str]:
    """Levels and models that do not hold where an anomaly is there."""
    all_of_it = implied(anomaly)
    direct = [model.name for model in _MODELS if not all_of_it.isdisjoint(model.forbids)]
    direct += [name for name, forbidden in _FORBIDDEN_HERE.items() if not all_of_it.isdisjoint(forbidden)]
    return stronger(direct)


def weakest(names: Iterable[str]) -> list[str]:
    """Of levels and models those that no other of them holds wherever they do, as a list in a fixed order."""
    some = set(names)
    behind = {one: (weaker(one) | set(_BEHIND.get(one, ()))) - {one} for one in some}
    return [one for one in (*MODELS, *LEVELS) if one in some and not behind[one] & some]


def level_named(name: str) -> str | None:
    """The level or model that a name means, None where there is none."""
    if name in LEVELS or name in MODELS:
        return name
    return OTHER_NAMES.get(name.lower())
