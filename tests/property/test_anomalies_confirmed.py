"""Weaker runs held to stronger levels: real anomalies, confirmed by the oracle on the core and those around it.

Does not know how an anomaly is found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.contended.findings import find

LOGS = Path(__file__).parent.parent.parent / "logs" / "anomalous"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "level", "kind"),
    [
        ("postgres-read-committed", "snapshot", "non-repeatable read"),
        ("postgres-repeatable-read", "serializable", "write skew"),
        ("mariadb-repeatable-read", "snapshot", "non-repeatable read"),
    ],
)
def test_the_oracle_confirms_an_anomaly(name: str, level: str, kind: str) -> None:
    finding = find(LOGS / f"{name}.jsonl.gz")
    assert (finding.level, finding.verdict, finding.confirmed) == (level, "violation", "yes"), finding
    assert finding.kind == kind
