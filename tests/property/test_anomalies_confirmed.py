"""Weaker runs held to stronger levels: real anomalies, confirmed by the oracle on the core and those around it.

Does not know which anomalies a run has.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.property.anomalies import sub_log
from troubadour.audit.driver import Options, audit
from troubadour.cli.common import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status
from troubadour.oracle import BudgetExceeded, explain

LOGS = Path(__file__).parent.parent.parent / "logs" / "anomalous"
SECONDS = 90.0


def confirmed(log: Log, ran_at: str, held_to: str) -> str:
    """What became of one run: ``correct``, ``undecided``, ``large`` (the oracle cannot say), ``confirmed`` (``confirmed
    whole``: with those around as they were), or else what the oracle says."""
    compiled = library_of(log)
    verdict = audit(log, compiled, Options(held_to, timeout=SECONDS))
    if verdict.status is not Status.VIOLATION:
        return verdict.status.value
    real = audit(log, compiled, Options(ran_at, timeout=SECONDS))
    if real.witness is None:
        return "undecided"
    for whole in (False, True):
        small = sub_log(log, compiled, verdict.core or (), real.witness, ran_at, whole=whole)
        if small is None:
            return "large"
        try:
            answer = explain(small, compiled, held_to)
        except BudgetExceeded:
            return "large"
        if answer.status is Status.VIOLATION:
            return "confirmed whole" if whole else "confirmed"
        if verdict.scope is Scope.EVERY_ORDER:
            break  # this core should have been enough
    return f"{answer.status.value}: {verdict.explanation}"


@pytest.mark.parametrize(
    ("name", "ran_at", "held_to"),
    [
        ("postgres-read-committed", "postgres:read-committed", "snapshot"),
        ("postgres-repeatable-read", "postgres:repeatable-read", "serializable"),
        ("mariadb-repeatable-read", "mysql:repeatable-read", "snapshot"),
    ],
)
def test_the_oracle_confirms_an_anomaly(name: str, ran_at: str, held_to: str) -> None:
    log = read_log([LOGS / f"{name}.jsonl.gz"])
    assert confirmed(log, ran_at, held_to) == "confirmed"
