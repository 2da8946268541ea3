"""Queries whose answers are kept by what the tables held are decided as if each were run.

The same logs with and without: verdict, prefix and failing transaction. Does not know how much is saved.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.property.random_statements import library
from tests.property.test_agreement import AUDITED, isolation, log_of
from troubadour.audit.driver import Options, audit
from troubadour.execution.views.concrete import ConcreteView
from troubadour.model.log import Log
from troubadour.problem.answer_cache import KeptAnswers
from troubadour.search.schedule import execute as running

SEEDS = range(6000, 6012)


def _decided(log: Log, level: str) -> tuple[object, ...]:
    verdict = audit(log, library(), Options(isolation(level), timeout=600))
    return verdict.status, verdict.verified_prefix, verdict.failing_transaction, verdict.core


@pytest.mark.parametrize("level", AUDITED)
def test_kept_answers_change_no_verdict(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ran = [0], [0]
    compare = KeptAnswers.compare

    def counted(
        self: KeptAnswers, address: tuple[int, int], view: ConcreteView, run: Callable[[], str | None]
    ) -> str | None:
        def once() -> str | None:
            ran[0] += 1
            return run()

        asked[0] += 1
        return compare(self, address, view, once)

    monkeypatch.setattr(KeptAnswers, "compare", counted)
    kept = [_decided(log_of(seed), level) for seed in SEEDS]
    monkeypatch.setattr(running, "reads_only", lambda program: False)
    assert [_decided(log_of(seed), level) for seed in SEEDS] == kept, f"seeds {SEEDS}"
    assert ran[0] < asked[0], "no answer was used again"
