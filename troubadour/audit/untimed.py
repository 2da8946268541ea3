"""Whether a log has the timestamps that its levels go by. Does not know what they mean there."""

from __future__ import annotations

from troubadour.execution.prepared import UnsupportedStatement
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.naming import untimed
from troubadour.model.log import LogError
from troubadour.problem.problem import Problem


def check_timestamps(problem: Problem) -> None:
    """Raises LogError where a committed transaction that writes lacks a timestamp by which its level orders it."""
    for item in problem.committed:
        level, times = problem.levels[item], problem.times[item]
        missing = level.missing_timestamp(times.start, times.commit)
        if missing is not None and _writes(problem, item):
            raise LogError(untimed(problem.transaction(item).id, missing, level))


def _writes(problem: Problem, item: int) -> bool:
    try:
        statements = problem.prepared(item).statements
    except UnsupportedStatement:
        return False
    return any(one.program is not None and may_write(one) for one in statements)
