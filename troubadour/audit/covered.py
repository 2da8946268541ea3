"""An audit of what is modelled of a log: what is not is left out, all else is judged.

A violation of what is left is one of the log. Where all of it is explained, and something was left out, nothing is
known of the log, unless the user lets just that pass. Does not know how a log that is modelled is judged.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.coverage.allowing import listed, not_allowed
from troubadour.coverage.reduced import Reduced, all_of, is_exact, whole_log
from troubadour.coverage.reduction import reduce_log
from troubadour.model.log import Log
from troubadour.model.verdict import Coverage, Status, Verdict
from troubadour.model.witness import GivenUp
from troubadour.problem.budget import SOME
from troubadour.replay.checker import check

ALIKE = 3
"""Statements of one text that are found out one by one, before all of that text are left out."""

UNOBSERVED = "nothing that is judged was observed: no row, no count and no error, so that any order explains it"

NO_TIME = 0.001
"""Seconds left where none are."""

Judge = Callable[[Log, SqlLibrary, float | None], Verdict]
"""f(log, library, seconds left): the verdict on a log."""


@dataclass(frozen=True, slots=True)
class Policy:
    """At which level it is audited and with which time, and what is asked of a correct log: `allowed` constructs may go
    unjudged, of `minimum` committed transactions something has to be judged; `unobserved`: nothing of it need have been
    observed. `given_up`: statements that are left out from the first."""

    isolation: str | None
    timeout: float | None
    order_recorded: bool
    allowed: tuple[str, ...]
    minimum: int
    unobserved: bool = False
    given_up: tuple[GivenUp, ...] = ()


def audit_covered(log: Log, library: SqlLibrary, policy: Policy, judge: Judge) -> Verdict:
    """The verdict on as much of a log as is modelled, with what that is. Raises as `judge` does."""
    begun = time.monotonic()
    given_up = list(policy.given_up)
    reduced: Reduced | None = None
    if given_up or not is_exact(library):
        reduced = reduce_log(log, library, policy.isolation, given_up, order_recorded=policy.order_recorded)
    for _ in range(SOME):
        left = None if policy.timeout is None else max(policy.timeout - (time.monotonic() - begun), NO_TIME)
        if reduced is None:
            verdict = judge(log, library, left)
        else:
            verdict = judge(reduced.log, reduced.library, left)
        unmodelled = _unmodelled(verdict)
        whole = unmodelled is None and (reduced is not None or not library.leaves_out)
        if whole or (reduced is not None and left == NO_TIME):
            break
        given_up += [] if unmodelled is None else _alike(unmodelled, given_up, log)
        reduced = reduce_log(log, library, policy.isolation, given_up, order_recorded=policy.order_recorded)
    if reduced is None and verdict.status is not Status.CORRECT:
        verdict = msgspec.structs.replace(verdict, coverage=all_of(log))
    else:
        verdict = _told(verdict, reduced or whole_log(log, library), policy)
    if verdict.witness is not None and given_up:
        verdict = msgspec.structs.replace(
            verdict, witness=msgspec.structs.replace(verdict.witness, given_up=tuple(given_up))
        )
    return msgspec.structs.replace(verdict, seconds=round(time.monotonic() - begun, 4))


def _unmodelled(verdict: Verdict) -> GivenUp | None:
    """The statement that kept a log from being judged, where that it is not modelled was the reason."""
    reason, at = verdict.reason or "", verdict.statement
    if verdict.status is not Status.UNDECIDED or at is None or not reason.startswith(_NOT_MODELLED):
        return None
    return GivenUp(at.transaction, at.index, reason.removeprefix(_NOT_MODELLED))


_NOT_MODELLED = "not modelled: "


def _alike(found: GivenUp, before: Sequence[GivenUp], log: Log) -> list[GivenUp]:
    """A statement, and if there were several of one construct already, all that have its text."""
    if Counter(other.construct for other in before)[found.construct] < ALIKE:
        return [found]
    texts = {s.sql for t in log.transactions if t.id == found.transaction for s in t.statements[found.index :][:1]}
    return [found] + [
        GivenUp(transaction.id, index, found.construct)
        for transaction in log.transactions
        for index, statement in enumerate(transaction.statements)
        if statement.sql in texts and (transaction.id, index) != (found.transaction, found.index)
    ]


def _told(verdict: Verdict, reduced: Reduced, policy: Policy) -> Verdict:
    """The verdict with its coverage, and by it."""
    spelled = not reduced.opaque or _seen_as_stored(verdict, reduced, policy)
    coverage = reduced.coverage(spelled=spelled)
    verdict = msgspec.structs.replace(verdict, coverage=coverage)
    if verdict.status is not Status.CORRECT:
        return verdict
    if not reduced.judges:
        named = msgspec.structs.replace(verdict, statement=reduced.first)
        return _undecided(named, _nothing(coverage))
    if reduced.judged < policy.minimum:
        reason = (
            f"of {reduced.judged:,} committed transactions something is judged, and {policy.minimum:,} are asked for"
        )
        return _undecided(verdict, f"{reason} (--min-transactions)")
    refused = not_allowed(coverage, policy.allowed)
    if refused:
        named = msgspec.structs.replace(verdict, statement=reduced.first)
        return _undecided(named, f"everything judged is explained; {listed(refused)}")
    if not reduced.sees and not policy.unobserved:
        return _undecided(verdict, f"{UNOBSERVED} (--allow-unobserved)")
    if coverage.unjudged:
        note = f"some of it may go unjudged; {listed(coverage.unjudged)}"
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
    return verdict


def _seen_as_stored(verdict: Verdict, reduced: Reduced, policy: Policy) -> bool:
    """Whether the witness explains the log, too, where values of types that are not modelled are told apart by how they
    are written: then each was seen as it had been stored."""
    if verdict.status is not Status.CORRECT or verdict.witness is None:
        return False
    level, recorded = policy.isolation, policy.order_recorded
    return check(reduced.log, verdict.witness, reduced.spelled(), isolation=level, order_recorded=recorded) is None


def _undecided(verdict: Verdict, reason: str) -> Verdict:
    return msgspec.structs.replace(verdict, status=Status.UNDECIDED, reason=reason, witness=None)


def _nothing(coverage: Coverage) -> str:
    if not coverage.statements:
        return "no statement is judged: the log has none"
    gaps = f"; {listed(coverage.unjudged)}" if coverage.unjudged else ""
    return f"no statement is judged{gaps}"
