"""A violation of a log that does not tell all settings, looked at once more: it stands only where none explains it that
connections may have had before recording began, one at a time. Does not know what settings do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.covered import NO_TIME
from troubadour.coverage.untold import Supposition, suppositions, untold_settings
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import StatementRef, Status, Verdict
from troubadour.model.witness import GivenUp
from troubadour.problem.budget import MANY, SEVERAL

Judge = Callable[[Log, SqlLibrary, Sequence[GivenUp], float | None], Verdict]
"""f(log, library, statements that are left out, seconds left): the verdict on a log."""


def by_other_settings(log: Log, library: SqlLibrary, verdict: Verdict, timeout: float | None, judge: Judge) -> Verdict:
    """A violation, or that it is undecided as a setting may explain it. `timeout`: seconds left, None for any."""
    begun = time.monotonic()

    def explains(one: Supposition) -> Verdict | None:
        left = None if timeout is None else max(timeout - (time.monotonic() - begun), NO_TIME)
        try:
            return judge(one.log, one.library, one.given_up, left)
        except (LogError, SchemaError, Unsupported):
            return None  # it does not read so

    for setting in untold_settings(log):
        if _explains(setting, log, library, verdict, explains):
            claim = verdict.claim
            shown = (verdict.explanation or "what was observed")[:MANY]
            return verdict.left_open(
                f"the log does not tell whether the setting {setting} was changed before recording began, which may"
                f" explain it: {shown}",
                statement=None if claim is None else StatementRef(claim.transaction, claim.statement),
            )
    return verdict


def _explains(
    setting: str, log: Log, library: SqlLibrary, verdict: Verdict, judge: Callable[[Supposition], Verdict | None]
) -> bool:
    """Whether the log is no violation, as far as is known, if a setting had been changed."""
    accusations = [verdict]
    left_out = 0
    for turn in range(SEVERAL):
        if turn == SEVERAL - 1:
            accusations.append(verdict.left_open(""))  # of any transaction
        further: Verdict | None = None
        for one in suppositions(setting, log, library, accusations):
            if one.given_up and len(one.given_up) == left_out:
                continue
            other = judge(one)
            if other is not None and other.status is not Status.VIOLATION:
                return True
            if one.given_up:
                left_out, further = len(one.given_up), other
        if further is None:
            return False
        accusations.append(further)
    return False
