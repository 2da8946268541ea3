"""Commits that were acknowledged and are gone: without them the rest of the log is correct (durability; *Elle*, §4.3).

A read that missed some commits is stale where later ones have them, and tells of a loss where none has. Does not know
why they were lost.
"""

from __future__ import annotations

from collections.abc import Callable

from troubadour.audit.account.rerun import Rerun
from troubadour.model.account import Lost
from troubadour.model.log import Log, TransactionId
from troubadour.model.verdict import Status, Verdict


def lost_commits(log: Log, rerun: Rerun, failing: TransactionId, decide: Callable[[Log], Verdict]) -> Lost | None:
    """The commits that the failing transaction missed, where the whole log is correct without them and something comes
    after it; None else."""
    position = rerun.position_of(failing)
    if position is None:
        return None
    ranks = {transaction.id: rank for rank, transaction in enumerate(log.transactions)}
    last = ranks[failing]
    if all(one.status != "committed" for one in log.transactions[last + 1 :]):
        return None
    state = rerun.views[position - 1].state
    reader = rerun.at(position)
    gone = [
        one.id
        for place, one in enumerate(rerun.order, 1)
        if place > state and place != position and rerun.rows_written(place) and _before(one.returned, reader.invoked)
    ]
    if not gone:
        return None
    missing = set(gone)
    rest = [one for one in log.transactions if one.id not in missing]
    if decide(Log(log.header, rest, log.digest)).status is not Status.CORRECT:
        return None
    first = min(gone, key=lambda one: ranks[one])
    there = [one for one in log.transactions[: ranks[first]] if one.status == "committed" and one.id not in missing]
    latest = there[-1] if there else None
    return Lost(len(gone), first, None if latest is None else latest.id, None if latest is None else latest.returned)


def _before(answered: int | None, sent: int | None) -> bool:
    return answered is not None and sent is not None and answered < sent
