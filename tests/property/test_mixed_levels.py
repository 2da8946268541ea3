"""Search and oracle agree on random logs whose transactions have levels of their own: those of PostgreSQL, and general
ones beside them.

Does not know what a product does: `make mixed` does.
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from tests.property.random_logs import GENERAL, random_log, write
from tests.property.test_agreement import COMBINATIONS, OWN, SECONDS, difference
from tests.property.test_profiles_agreement import library
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain

POSTGRES = ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable", "postgres:serializable")
FAST, SLOW = range(60), [range(start, start + 100) for start in range(1000, 4000, 100)]


def log_of(seed: int) -> Log:
    """A random log whose transactions have levels of PostgreSQL; in one of six some have general ones."""
    rng = Random(f"mixed/{seed}")
    log = random_log(50_000 + seed)
    names = (*POSTGRES, *rng.sample(GENERAL, 2)) if seed % 6 == 5 else POSTGRES
    transactions = [msgspec.structs.replace(t, isolation=rng.choice(names)) for t in log.transactions]
    header = msgspec.structs.replace(log.header, isolation=rng.choice(POSTGRES))
    return Log(header, transactions, log.digest)


def faults(seeds: range) -> tuple[list[str], int, int]:
    """What is wrong; how many logs were judged, and how many of these are violations."""
    compiled = library("postgres")
    found: list[str] = []
    judged = violations = 0
    for seed in seeds:
        log = log_of(seed)
        try:
            answer = explain(log, compiled, None, budget=400_000)
        except BudgetExceeded:
            continue
        if answer.status is Status.UNDECIDED:
            continue
        heuristics = COMBINATIONS[7 * seed % len(COMBINATIONS)]
        verdict = audit(log, compiled, Options(None, timeout=SECONDS, heuristics=heuristics))
        judged += 1
        violations += answer.status is Status.VIOLATION
        fault = difference(log, OWN, False, answer, verdict, compiled)
        if fault is not None:
            found.append(f"seed {seed}, {heuristics}: {fault}\n{verdict}\n{write(log)}")
    return found, judged, violations


def test_search_and_oracle_agree() -> None:
    found, judged, violations = faults(FAST)
    assert not found, found[0]
    assert judged > len(FAST) // 2
    assert judged // 5 < violations < judged


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_search_and_oracle_agree_on_many(seeds: range) -> None:
    found, _, _ = faults(seeds)
    assert not found, found[0]
