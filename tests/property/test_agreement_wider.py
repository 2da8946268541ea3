"""Search and oracle agree on logs with statements that have no native symbolic rule: subqueries, set
operations, upserts, windows, joins inside writes. With every heuristic on and off, so that symbolic runs are forced.

Does not check what a violation carries beyond what `test_agreement` asks of it.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from tests.property.test_agreement import AUDITED, audited, blocks, difference, heuristics_of, isolation
from troubadour.model.verdict import Status
from troubadour.oracle import explain

FAST, SLOW = range(12), range(12, 3220)
"""`make slow` has the second."""
BLOCK, SLOW_BLOCK = 20, 100


@pytest.mark.parametrize("level", AUDITED)
@pytest.mark.parametrize("seeds", blocks(FAST, BLOCK), ids=str)
def test_search_and_oracle_agree(seeds: range, level: str) -> None:
    seen = compare(seeds, level)
    assert seen[Status.CORRECT] + seen[Status.VIOLATION] > 0.8 * seen.total(), seen


@pytest.mark.slow
@pytest.mark.parametrize("level", AUDITED)
@pytest.mark.parametrize("seeds", blocks(SLOW, SLOW_BLOCK), ids=str)
def test_search_and_oracle_agree_on_many(seeds: range, level: str) -> None:
    compare(seeds, level)


def compare(seeds: range, level: str) -> Counter[str]:
    """Counts verdicts; a few may be undecided, by name, which is no agreement but no disagreement either."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        log = random_log(seed, wider=True)
        for recorded in (False, True):
            answer = explain(log, library(), isolation(level), recorded)
            if answer.status is Status.UNDECIDED:
                seen["the oracle does not know"] += 1
                continue
            for heuristics in heuristics_of(seed, level, recorded):
                verdict = audited(log, level, recorded, heuristics)
                if verdict.status is Status.UNDECIDED:
                    seen[f"undecided: {verdict.reason}"] += 1
                    continue
                seen[verdict.status] += 1
                fault = difference(log, level, recorded, answer, verdict)
                if fault is not None:
                    order = "recorded order" if recorded else "every order"
                    pytest.fail(f"seed {seed} at {level}, {order}, {heuristics}: {fault}\n{verdict}\n{write(log)}")
    return seen
