"""At the levels by timestamps the audit of a log's SQL, the oracle and both replays say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.property.timestamped_logs import KINDS, timestamped_log
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.replay import check as check_sql
from troubadour.replay.objects import check as check_columns

LEVELS = ("timestamp-snapshot", "timestamp-serializable")


def compared(kind: str, seeds: Iterable[int]) -> Counter[str]:
    """What the judges say, each as the oracle does."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        log = timestamped_log(kind, seed).read()
        for level in LEVELS:
            sql, library = library_for(expanded(log), level)
            answer = explain(sql, library, level)
            verdict = audit(sql, library, Options(level))
            where = f"{kind} {seed} at {level}"
            counts[answer.status.value] += 1
            if verdict.status is Status.UNDECIDED:
                assert sql.unknown, where
                counts["open"] += 1
                continue
            assert (verdict.status, verdict.verified_prefix) == (answer.status, answer.verified_prefix), where
            for witness in (verdict.witness, answer.witness):
                if witness is not None and answer.status is Status.CORRECT:
                    assert check_sql(sql, witness, library, isolation=level) is None, where
                    assert check_columns(log, witness, level) is None, where
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_as_the_oracle_says(kind: str) -> None:
    counts = compared(kind, range(70_000, 70_015))
    assert counts["correct"] > 5 and counts["violation"] > 5 and counts["open"] < 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(71_000, 72_000, 100))
def test_as_the_oracle_says_of_many(kind: str, first: int) -> None:
    assert compared(kind, range(first, first + 100))["violation"] > 20
