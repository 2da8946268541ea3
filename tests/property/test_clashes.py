"""What clashes among what others wrote is a violation for the oracle as well, alone in a log of its own; with any one
of its transactions left to what it wrote it is none (docs/cli.md *clash*).

On random logs of a few transactions. Does not know how a clash is found.
"""

from __future__ import annotations

import pytest

from tests.property.random_logs import library, random_log, write
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.model.log import Log, TransactionId
from troubadour.oracle import explain
from troubadour.problem.problem import Problem
from troubadour.proof.cores.context_core import find_clash
from troubadour.search.scheduler import Search

LEVELS = ("read-committed", "snapshot", "session-snapshot", "strict-snapshot", "serializable", "strict-serializable")
FAST, SLOW = range(36), range(200)


def fails(log: Log, level: str, failing: TransactionId) -> bool:
    """Whether the oracle finds no explanation of the log's beginning up to a transaction."""
    answer = explain(log, library(), level)
    ids = [transaction.id for transaction in log.transactions if transaction.status == "committed"]
    return answer.failing is not None and ids.index(answer.failing) <= ids.index(failing)


def clashes(seeds: range, level: str) -> int:
    """How many clashes were found; each is held against the oracle."""
    count = 0
    for seed in seeds:
        log = random_log(seed)
        rows, unknown = known_rows(log, library()), unknown_tables(log, library())
        problem = Problem(log, library(), rows, isolation=level, unknown=unknown)
        found = Search(problem).run()
        if found.failure is None:
            continue
        clash = find_clash(problem, found.trace, found.order)
        if clash is None:
            continue
        count += 1
        failing = problem.transaction(found.order[-1]).id
        small = clash.window.log(clash.items, clash.among)
        assert fails(small, level, failing), f"seed {seed} at {level}: {clash}\n{write(log)}\n{write(small)}"
        for item in clash.items:
            if item == found.order[-1] or not clash.minimal:
                continue
            fewer = [other for other in clash.items if other != item]
            beside = [other for other in found.order[clash.before : -1] if other not in fewer]
            small = clash.window.log(fewer, beside)
            assert not fails(small, level, failing), f"seed {seed} at {level}: {clash} without {item}\n{write(log)}"
    return count


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_a_clash_is_one_for_the_oracle(level: str, seeds: range) -> None:
    assert clashes(seeds, level) > len(seeds) // 40
