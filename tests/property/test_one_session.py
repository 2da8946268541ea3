"""One statement after the other is correct at every level of the product that answered so."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from tests.property.one_session import one_session
from troubadour.audit.driver import Options, audit
from troubadour.model.verdict import Status

LEVELS = {
    "postgres": ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable", "snapshot"),
    "mysql": ("mysql:read-committed", "mysql:repeatable-read", "mysql:serializable", "read-committed"),
    "sqlite": ("sqlite", "serializable"),
    "duckdb": ("duckdb", "snapshot"),
}
SECONDS = 600.0
OPEN = 0.1
"""The part of audits that may be undecided: transactions with a part that is not modelled together."""


@pytest.mark.parametrize("seeds", [range(41, 48), pytest.param(range(100, 400), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("product", LEVELS)
def test_one_session_is_correct_at_every_level(product: str, seeds: range) -> None:
    statuses = []
    for seed in seeds:
        try:
            log, library = one_session(product, seed)
        except Unsupported:
            continue
        for level in LEVELS[product]:
            verdict = audit(log, library, Options(level, timeout=SECONDS))
            assert verdict.status is not Status.VIOLATION, f"{seed} at {level}: {verdict.explanation}"
            statuses.append(verdict.status)
    assert statuses.count(Status.CORRECT) >= (1 - OPEN) * len(statuses) > 0
