"""The same log and options give the same verdict, core and prefix under any hash seed, and when they are audited again
in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log

ROOT = Path(__file__).parents[2]
AUDITS = """
import sys
from pathlib import Path
from benchmarks.rq1 import rq1_log
from troubadour.coverage.library import library_of
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
anomalies = Path("logs/anomalies")
logs = [(read_log([path]), level) for path in sorted(anomalies.glob("l*.jsonl")) for level in ("causal", "snapshot")]
logs += [(rq1_log(30, balance), "read-committed") for balance in ("400.00", "66.00")]
for log, level in logs:
    verdict = audit(log, library_of(log), Options(level))
    print(level, verdict.status, verdict.verified_prefix, verdict.failing_transaction, verdict.core, verdict.scope)
"""


@pytest.mark.parametrize(
    "seeds", [("0", "4242"), pytest.param(("0", "1", "4242"), marks=pytest.mark.slow)], ids=" ".join
)
def test_verdict_core_and_prefix_do_not_hang_on_the_hash_seed(seeds: tuple[str, ...]) -> None:
    told = set()
    for seed in seeds:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        ended = subprocess.run(
            [sys.executable, "-c", AUDITS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        assert ended.stdout.count("\n") == 6
        told.add(ended.stdout)
    assert len(told) == 1


def test_an_audit_says_the_same_after_another_one() -> None:
    # which model the solver finds hangs on what is still alive of the audit before
    log = read_log([ROOT / "tests" / "data" / "audited-twice.jsonl"])
    told = set()
    for _ in range(3):
        verdict = audit(log, library_of(log), Options("serializable"))
        told.add((verdict.status, verdict.verified_prefix, verdict.core))
    assert len(told) == 1
