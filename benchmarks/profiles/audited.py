"""One run audited at its profile, with what that costs. Does not know how it was recorded."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.audit import library_of
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log


@dataclass(frozen=True, slots=True)
class Audited:
    """One log at one level. `cpu` in seconds; `told`: where it stopped and why."""

    verdict: str
    transactions: int
    aborted: int
    cpu: float
    told: str


def audited(path: Path, level: str, timeout: float) -> Audited:
    """Read and audit a log."""
    begun = time.process_time()
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(level, timeout=timeout))
    cpu = time.process_time() - begun
    told = f"{verdict.verified_prefix} of {log.committed}, at {verdict.failing_transaction}: "
    told += str(verdict.explanation or verdict.reason)
    return Audited(verdict.status.value, log.committed, log.aborted, cpu, told)
