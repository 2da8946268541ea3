"""Serial runs of real SQL whose order is not told any more are put in order again. Does not know how."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from tests.property.concurrent_logs import concurrent_log
from tests.property.hidden_orders import grouped, of_two_hosts
from tests.property.key_value_logs import key_value_log
from tests.property.random_logs import write
from tests.property.random_statements import library
from tests.property.test_engine import key_value
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.problem.problem import Problem
from troubadour.search.scheduler import Search

FAST, SLOW = range(2), range(4, 100)
LEFT = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 4)]
HIDING = (grouped, of_two_hosts)
LEVELS = ("serializable", "snapshot")


@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.parametrize("seed", [*FAST, *LEFT])
def test_random_runs(seed: int, hide: Callable[[Log], Log]) -> None:
    log = hide(concurrent_log(seed, serial=True, transactions=24))
    for level in LEVELS:
        verdict = audit(log, library(), Options(level, timeout=600))
        assert verdict.status is Status.CORRECT, f"{level}: {verdict.reason}\n{write(log)}"


@pytest.mark.slow
@pytest.mark.parametrize("hide", HIDING)
def test_random_runs_at_length(hide: Callable[[Log], Log]) -> None:
    """Of five rows that six sessions write: a few orders may not be found, none is called impossible."""
    found: list[Status] = []
    for seed in SLOW:
        log = hide(concurrent_log(seed, serial=True, transactions=60))
        found += [audit(log, library(), Options(level, timeout=600)).status for level in LEVELS]
    assert Status.VIOLATION not in found
    assert found.count(Status.CORRECT) > 0.9 * len(found)


def test_a_file_in_order_needs_no_other_search() -> None:
    """Also where a commit whose outcome is unknown stands in between and is read."""
    for seed in range(4):
        log = key_value_log(seed, 24, 3)
        own = sorted(log.transactions, key=lambda one: int(str(one.id)[1:]))
        placed = [
            msgspec.structs.replace(one, status="unknown" if place in (5, 9) else "committed", place=place)
            for place, one in enumerate(own)
        ]
        hint = Log(log.header, tuple(placed), "")
        problem = Problem(hint, key_value(), known_rows(hint, key_value()), isolation="serializable")
        found = Search(problem).run()
        assert found.failure is None and found.stopped is None and found.verified == 22
        helped = {tally.name for tally in problem.budget.tallies() if tally.helped}
        tried = {tally.name for tally in problem.budget.tallies()}
        assert "file's order, mended" in helped and "turns of sessions" not in tried
