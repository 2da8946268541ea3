"""What a server served rightly is correct whatever order its timestamps hint at. Does not know how."""

from __future__ import annotations

import pytest

from tests.property.concurrent_logs import concurrent_log
from tests.property.random_logs import write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.model.verdict import Status

FAST, SLOW = range(5), range(5, 400)
LEVELS = (("snapshot", False), ("strict-snapshot", False), ("serializable", True), ("strict-serializable", True))


@pytest.mark.parametrize(("level", "serial"), LEVELS)
@pytest.mark.parametrize("seed", FAST)
def test_commits_visible_in_another_order_are_no_violation(seed: int, level: str, serial: bool) -> None:
    assert_correct(seed, level, serial, 80)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "serial"), LEVELS)
@pytest.mark.parametrize("seed", SLOW)
def test_commits_visible_in_another_order_are_no_violation_at_length(seed: int, level: str, serial: bool) -> None:
    assert_correct(seed, level, serial, 200)


def assert_correct(seed: int, level: str, serial: bool, transactions: int) -> None:
    log = concurrent_log(seed, serial=serial, transactions=transactions)
    verdict = audit(log, library(), Options(level, timeout=600))
    told = f"{verdict.status.value} at {verdict.failing_transaction}: {verdict.explanation or verdict.reason}"
    assert verdict.status is Status.CORRECT, f"{told}\n{write(log)}"
