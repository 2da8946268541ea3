"""What other levels and profiles come to where one is undecided: little work for each, which they share.

Does not know why the level that was asked for is undecided.
"""

from __future__ import annotations

from collections.abc import Callable

from troubadour.audit.strongest import Decide, levels_for, survey_levels
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import HUNDREDS


def decided_elsewhere(
    log: Log, verdict: Verdict, decide: Decide, left: Callable[[], float] | None
) -> tuple[tuple[str, Status], ...]:
    """The levels that `decide` decides of an undecided log, weaker ones first; none where nothing can be hoped for: a
    limit ended the audit, something is not modelled or not observed, or the log is large. `left`: seconds."""
    coverage = verdict.coverage
    if verdict.status is not Status.UNDECIDED or len(log.transactions) > HUNDREDS:
        return ()
    if coverage is None or coverage.judged + coverage.filtered < coverage.statements or not coverage.observed:
        return ()
    if (verdict.reason or "").startswith(("the time limit", "the memory limit", "there was no memory")):
        return ()
    levels = [name for name in levels_for(log) if name not in verdict.isolation.split(", ")]
    standings = survey_levels(log, decide, levels=levels, left=left)
    return tuple((name, standings[name].status) for name in levels if standings[name].status is not Status.UNDECIDED)
