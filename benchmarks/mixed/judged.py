"""The verdict on one mixed run, at the levels of its transactions. Does not know how it was recorded."""

from __future__ import annotations

import time
from pathlib import Path

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log


def verdict_on(path: Path, timeout: float) -> tuple[str, str, int, float]:
    """The verdict on a log at its own levels, what it says, its committed transactions, and seconds of processor."""
    begun = time.process_time()
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(None, timeout=timeout))
    told = f"{verdict.isolation}: {verdict.verified_prefix} of {log.committed}, at {verdict.failing_transaction}: "
    told += str(verdict.explanation or verdict.reason)
    return verdict.status.value, told, log.committed, time.process_time() - begun
