"""Values that were not observed: search and oracle agree on random logs in which some of what was seen is redacted.

Every reading is open, and queries answer in an order. Does not know which rows are compared symbolically.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import pytest

from tests.property.copied_logs import copied_library, copied_log
from tests.property.random_logs import write
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log, Statement
from troubadour.model.values import REDACTED
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.problem.problem import Heuristics

OPEN = replace(Heuristics(), stronger_first=False)
FAST, SLOW = range(24), range(24, 400)


def redacted(log: Log, random: Random) -> tuple[Log, int]:
    """The log without some values that its queries answered, these in an order of theirs; and how many are left out."""
    count = 0
    transactions = []
    for transaction in log.transactions:
        statements = []
        for statement in transaction.statements:
            changed, more = _redacted(statement, random)
            count += more
            statements.append(changed)
        transactions.append(msgspec.structs.replace(transaction, statements=tuple(statements)))
    return Log(log.header, transactions, log.digest), count


def _redacted(statement: Statement, random: Random) -> tuple[Statement, int]:
    if statement.results is None or not statement.sql.startswith("SELECT"):
        return statement, 0
    count = 0
    results = []
    for result in statement.results:
        rows = []
        for row in result.rows:
            hides = [random.random() < 0.3 for _ in row]
            count += sum(hides)
            rows.append(tuple(REDACTED if hide else value for hide, value in zip(hides, row, strict=True)))
        results.append(msgspec.structs.replace(result, rows=tuple(rows)))
    return msgspec.structs.replace(statement, results=tuple(results)), count


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", ["read-committed", "snapshot", "serializable"])
def test_search_and_oracle_agree_where_values_are_not_observed(level: str, seeds: range) -> None:
    decided = hidden = 0
    library = copied_library()
    for seed in seeds:
        log, count = redacted(copied_log(seed), Random(seed))
        verdict = audit(log, library, Options(isolation=level, heuristics=OPEN))
        if verdict.status is Status.UNDECIDED:
            continue
        try:
            failing = explain(log, library, level).failing
        except BudgetExceeded:
            continue
        assert (failing is None) == (verdict.status is Status.CORRECT), f"seed {seed} at {level}\n{write(log)}"
        assert failing == verdict.failing_transaction, f"seed {seed} at {level}\n{write(log)}"
        decided += 1
        hidden += count > 0
    assert decided > len(seeds) // 2 and hidden > len(seeds) // 4, (decided, hidden)
