"""Serial runs of real SQL whose order is not told any more are put in order again (DESIGN §6). Does not know how."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.property.concurrent_logs import concurrent_log
from tests.property.hidden_orders import grouped, of_two_hosts
from tests.property.random_logs import write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log
from troubadour.model.verdict import Status

FAST, SLOW = range(4), range(4, 100)
HIDING = (grouped, of_two_hosts)
LEVELS = ("serializable", "snapshot")


@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.parametrize("seed", FAST)
def test_random_runs(seed: int, hide: Callable[[Log], Log]) -> None:
    log = hide(concurrent_log(seed, serial=True, transactions=24))
    for level in LEVELS:
        verdict = audit(log, library(), Options(level, timeout=120.0))
        assert verdict.status is Status.CORRECT, f"{level}: {verdict.reason}\n{write(log)}"


@pytest.mark.slow
@pytest.mark.parametrize("hide", HIDING)
def test_random_runs_at_length(hide: Callable[[Log], Log]) -> None:
    """Of five rows that six sessions write: a few orders may not be found, none is called impossible."""
    found: list[Status] = []
    for seed in SLOW:
        log = hide(concurrent_log(seed, serial=True, transactions=60))
        found += [audit(log, library(), Options(level, timeout=120.0)).status for level in LEVELS]
    assert Status.VIOLATION not in found
    assert found.count(Status.CORRECT) > 0.9 * len(found)
