"""What is no violation of a log is none of its parts, and no part fails before the log does, as the oracle has it.

Parts of random logs of every kind, with each of their transactions, at every level. Does not know how a verdict is
made.
"""

from __future__ import annotations

from collections import Counter

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from tests.property.random_logs import GENERAL, random_log, write
from tests.property.random_statements import library
from tests.property.test_rows import MAKERS, PROFILES, Maker
from troubadour.audit.parts import log_of, parts_with
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.model.log import Log
from troubadour.oracle import BudgetExceeded, explain
from troubadour.problem.problem import Problem


def _sets(seed: int, level: str) -> tuple[Log, SqlLibrary] | None:
    return None if level in PROFILES else (random_log(seed, sets=True), library())


KINDS: dict[str, Maker] = {**{kind: MAKERS[kind] for kind in ("statements", "writes", "wider")}, "sets": _sets}
BUDGET = 100_000
FAST, SLOW, BLOCK = range(3_000, 3_016), range(4_000, 5_000), 50
LEVELS = (*GENERAL, *PROFILES)


def faults(log: Log, compiled: SqlLibrary, level: str) -> tuple[str | None, int]:
    """What is wrong with the parts of a log, and how many were looked at. Raises BudgetExceeded, Unsupported."""
    problem = Problem(log, compiled, known_rows(log, compiled), isolation=level, unknown=unknown_tables(log, compiled))
    parts = {tuple(part) for failing in problem.committed for part in parts_with(problem, failing)}
    whole = explain(log, compiled, level, budget=BUDGET)
    last = len(log.transactions) if whole.failing is None else problem.index_of(whole.failing)
    for part in sorted(parts):
        answer = explain(log_of(problem, part), compiled, level, budget=BUDGET)
        if answer.failing is not None and problem.index_of(answer.failing) < last:
            return f"{answer.failing!r} fails in the part {part}, {whole.failing!r} in the log", len(parts)
    return None, len(parts)


def compare(seeds: range, kind: str, level: str) -> int:
    """How many parts were looked at."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        made = KINDS[kind](seed, level)
        if made is None:
            continue
        try:
            fault, parts = faults(*made, level)
        except (BudgetExceeded, Unsupported):
            continue
        counts["parts"] += parts
        assert fault is None, f"{kind} {seed} at {level}: {fault}\n{write(made[0])}"
    return counts["parts"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_fails_no_sooner_than_its_log(kind: str) -> None:
    assert sum(compare(range(seed, seed + 1), kind, level) for seed in FAST for level in LEVELS[seed % 8 :: 8]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [range(n, n + BLOCK) for n in SLOW[::BLOCK]], ids=str)
def test_many_parts_fail_no_sooner_than_their_logs(seeds: range, kind: str, level: str) -> None:
    compare(seeds, kind, level)
