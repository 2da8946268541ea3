"""A log of a product, refuted at a level that the product does not promise: what its own profile says.

The general levels are stricter than products in some things. Where the log is correct at the profile of the product
that it was recorded from, a violation of a general level says nothing against the product, and a note says that. Does
not change a verdict.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from troubadour.isolation.levels import LEVELS, Conflict
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import THOROUGHLY

PROFILES = {
    "postgres": ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable"),
    "mysql": ("mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"),
}
"""What a product calls its levels, by dialect: for those below snapshot isolation, for it and its like, and above."""


def profile_for(log: Log, level: str) -> str | None:
    """The profile of the product that the log says it is of; None where it says none, or there is none."""
    own = log.header.isolation
    if log.header.dbms is None or level not in LEVELS or LEVELS[level].dialect is not None:
        return None
    if own in LEVELS and LEVELS[own].dialect == log.header.dialect:
        return own
    profiles = PROFILES.get(log.header.dialect)
    if profiles is None or any(transaction.isolation not in (None, own) for transaction in log.transactions):
        return None
    found = LEVELS[own] if own in LEVELS else LEVELS[level]
    if found.horizon.latest:
        return profiles[2]
    return profiles[1 if found.conflict is not Conflict.NEVER else 0]


def with_note(verdict: Verdict, log: Log, decide: Callable[[str, float], Verdict]) -> Verdict:
    """A violation, with a note where the product's own profile explains the log; `decide` is given a level and the
    effort that it may take."""
    profile = profile_for(log, verdict.isolation) if verdict.status is Status.VIOLATION else None
    if profile is None or decide(profile, THOROUGHLY).status is not Status.CORRECT:
        return verdict
    note = (
        f"the log is correct at {profile}, which is what {log.header.dbms} promises: it is refuted at "
        f"{verdict.isolation} only, which asks for more"
    )
    return msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
