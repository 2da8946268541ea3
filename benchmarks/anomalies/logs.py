"""The logs of the survey: each anomaly, each simulated fault, a crash, findings of real servers at stronger levels.

Does not know what any of them is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simulated import OF_SERIALIZABLE, levels_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.record.simulated import FAULTS, simulate
from troubadour.workloads.mixed import Mixed

LOGS = Path(__file__).parents[2] / "logs"
SEEDS = 12
"""Runs of the simulated DBMS in which a fault is looked for."""

_ANOMALIES = {
    "aborted-read": "read-committed",
    "causality-violation": "snapshot",
    "circular-information-flow": "read-committed",
    "dirty-update": "read-committed",
    "dirty-write": "read-committed",
    "duplicate-write": "read-committed",
    "fig-1": "strict-snapshot",
    "fig-1-without-t3-420": "read-committed",
    "fractured-read": "snapshot",
    "garbage-read": "read-committed",
    "intermediate-read": "read-committed",
    "internal-inconsistency": "snapshot",
    "long-fork": "snapshot",
    "lost-update": "snapshot",
    "phantom": "snapshot",
    "read-only": "serializable",
    "read-skew": "snapshot",
    "stale-read": "strict-serializable",
    "write-skew": "serializable",
}
_FINDINGS = {
    "anomalous/mariadb-repeatable-read": ("strict-snapshot", False),
    "anomalous/postgres-read-committed": ("snapshot", True),
    "anomalous/postgres-repeatable-read": ("strict-serializable", False),
    "contended/mysql-read-committed-profile-0": ("snapshot", True),
    "contended/mysql-read-committed-profile-1": ("snapshot", True),
    "contended/mysql-read-committed-profile-2": ("snapshot", True),
    "contended/mysql-repeatable-read-profile-0": ("snapshot", True),
    "contended/mysql-repeatable-read-profile-1": ("snapshot", True),
    "contended/mysql-repeatable-read-profile-2": ("snapshot", True),
    "contended/postgres-read-committed-10": ("snapshot", True),
    "contended/postgres-read-committed-100": ("snapshot", True),
    "contended/postgres-read-committed-1000": ("snapshot", True),
    "contended/postgres-read-committed-profile-0": ("snapshot", True),
    "contended/postgres-read-committed-profile-1": ("snapshot", True),
    "contended/postgres-read-committed-profile-2": ("snapshot", True),
    "contended/postgres-snapshot-10": ("serializable", True),
    "contended/postgres-snapshot-100": ("serializable", True),
    "contended/postgres-repeatable-read-profile-0": ("serializable", True),
    "contended/duckdb-profile-0": ("serializable", True),
    "contended/duckdb-profile-1": ("serializable", True),
}
"""Level, and whether the order of the log is held to: where it is not, orders are too many to exclude all."""


@dataclass(frozen=True, slots=True)
class Case:
    """A log to audit at a level that it breaks; `read` gives it, in a folder that may be written to."""

    name: str
    level: str
    recorded: bool
    read: Callable[[Path], Log]


def anomalies() -> Iterator[Case]:
    """The anomalies of the literature, each at the weakest level that its log breaks."""
    for name, level in _ANOMALIES.items():
        yield Case(f"anomalies/{name}", level, False, _stored(f"anomalies/{name}.jsonl"))


def faults() -> Iterator[tuple[str, list[Case]]]:
    """For each fault of the simulated DBMS the runs and levels to try, the weaker levels first."""
    for fault in FAULTS:
        cases = [
            Case(f"simulated {fault}, seed {seed}", level, False, _simulated(fault, seed))
            for level in levels_of(fault)
            for seed in range(SEEDS)
        ]
        if fault in OF_SERIALIZABLE:
            # of some fifty runs one in which every order is excluded; that of missed-delete as well
            cases = [Case(f"simulated {fault}, seed 28", "strict-serializable", False, _simulated(fault, 28, 40))]
        yield fault, cases


def crashes() -> Iterator[Case]:
    """A server that lost what it had acknowledged."""
    name = "crashed/postgres-asynchronous-commit"
    yield Case(name, "strict-snapshot", False, _stored(f"{name}.jsonl.gz"))
    name = "regress/2026-11-22-lost-commits-and-one-unknown"
    yield Case(name, "strict-snapshot", False, _stored(f"{name}.jsonl"))


def findings() -> Iterator[Case]:
    """Runs of real products, at levels that they were not owed."""
    for name, (level, recorded) in _FINDINGS.items():
        yield Case(name, level, recorded, _stored(f"{name}.jsonl.gz"))


def _stored(name: str) -> Callable[[Path], Log]:
    return lambda folder: read_log([LOGS / name])


def _simulated(fault: str, seed: int, transactions: int = 25) -> Callable[[Path], Log]:
    def read(folder: Path) -> Log:
        path = folder / f"{fault}-{seed}.jsonl"
        isolation = "serializable" if fault in OF_SERIALIZABLE else "snapshot"
        simulate(Mixed(seed=seed), path, isolation=isolation, seed=seed, transactions=transactions, fault=fault)
        return read_log([path])

    return read
