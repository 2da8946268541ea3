"""What must be said with a verdict that its search cannot know: that transactions are missing from the
log (*gaps*), that the level asks for less than the product promises, that the times of a BEGIN would tell more, and
that what was found contradicts the clients' times.

A gap is like the end of a log: what was answered before it is judged as ever, since nothing that came later was there
to be seen. Anything else may have met what the missing transactions wrote. Does not know how a verdict was reached.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sql_semantics.products import PRODUCTS
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.profiles import asks_less, profile_of
from troubadour.model.log import Gap, Log, Transaction
from troubadour.model.opening import taken_by_begin
from troubadour.model.verdict import Status, Verdict


def with_remarks(log: Log, verdict: Verdict) -> Verdict:
    """The verdict as it may be said of this log."""
    verdict = _beside_gaps(log, verdict)
    told = (_level_note(log, verdict), _snapshot_note(log, verdict), _time_note(log, verdict))
    notes = [note for note in told if note is not None]
    return msgspec.structs.replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict


def _beside_gaps(log: Log, verdict: Verdict) -> Verdict:
    gaps = log.header.gaps
    if not gaps:
        return verdict
    told = "; ".join(map(_told, gaps))
    if verdict.status is not Status.UNDECIDED and _untouched(_concerned(log, verdict), gaps):
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, f"{told}; nothing that was judged came after"))
    if verdict.status is Status.CORRECT:
        reason = f"{told}; all that is in the log is explained, but what is missing may contradict it"
    elif verdict.status is Status.VIOLATION:
        reason = f"{told}; what is missing may explain this: {verdict.explanation}"
    else:
        reason = f"{verdict.reason}; besides, {told}"
    return verdict.left_open(reason)


def _told(gap: Gap) -> str:
    count = "" if not gap.transactions else f" ({gap.transactions:,} transactions)"
    return f"the log has a gap{count}: {gap.reason}"


def _concerned(log: Log, verdict: Verdict) -> Iterable[Transaction]:
    """The transactions that a verdict is about."""
    if verdict.status is Status.CORRECT:
        return iter(log.transactions)
    core = {verdict.failing_transaction, *(verdict.core or ())}
    return (transaction for transaction in log.transactions if transaction.id in core)


def _untouched(transactions: Iterable[Transaction], gaps: Iterable[Gap]) -> bool:
    """Whether there are some, and all were answered before each of the gaps began."""
    some = False
    for transaction in transactions:
        some = True
        answered = _answered(transaction)
        for gap in gaps:
            if answered is None or gap.since is None or gap.clock != transaction.clock or answered >= gap.since:
                return False
    return some


def _answered(transaction: Transaction) -> int | None:
    """By then the client had all the answers that it got."""
    if transaction.returned is not None:
        return transaction.returned
    if transaction.end is not None and transaction.end.returned is not None:
        return transaction.end.returned
    if transaction.status == "committed":
        return None
    times = [statement.returned for statement in transaction.statements if not statement.outcome_unknown]
    return max((time for time in times if time is not None), default=None) if None not in times else None


def _level_note(log: Log, verdict: Verdict) -> str | None:
    """That the level asks for less than the product, if it is known, promises at the level that the log names."""
    if verdict.status is Status.VIOLATION or log.header.dbms is None:
        return None
    dialect = log.header.dialect
    for level in verdict.isolation.split(", "):
        profile = profile_of(dialect, log.header.isolation) or profile_of(dialect, level)
        if level in LEVELS and profile is not None and asks_less(level, profile, dialect):
            return f"the product promises more than {level}: audit at {profile}, too"
    return None


def _snapshot_note(log: Log, verdict: Verdict) -> str | None:
    """That snapshots were taken by BEGINs whose own times the log lacks."""
    if verdict.status is not Status.CORRECT or not PRODUCTS[log.header.dialect].running.begin_takes_snapshot:
        return None
    untimed = [
        transaction.id
        for transaction in log.transactions
        if taken_by_begin(transaction) and (transaction.begin is None or transaction.begin.returned is None)
    ]
    if not untimed:
        return None
    whose = f"{untimed[0]}" if len(untimed) == 1 else f"{untimed[0]} and {len(untimed) - 1:,} more"
    return (
        f"the snapshot of {whose} was taken by BEGIN, of which the log does not say when it was answered (`begin`): it "
        "may be as new as the first statement"
    )


def _time_note(log: Log, verdict: Verdict) -> str | None:
    """That the execution found has a transaction before another one that was over when it began, or lacks its commit,
    as levels allow that keep no real time."""
    witness = verdict.witness
    if verdict.status is not Status.CORRECT or witness is None:
        return None
    by_id = {transaction.id: transaction for transaction in log.transactions}
    order = [by_id[identifier] for identifier in witness.order]
    latest: dict[str | None, Transaction] = {}
    for place, (transaction, view) in enumerate(zip(order, witness.views, strict=True)):
        begun, over = transaction.invoked, _over(transaction)
        later = latest.get(transaction.clock)
        if later is not None and over is not None and over < (later.invoked or 0):
            return _against_times(transaction, later, "stands before it")
        if begun is None:
            continue
        for other in order[view.state : place]:
            end = _over(other)
            if other.clock == transaction.clock and end is not None and end < begun and _may_write(other):
                return _against_times(other, transaction, "does not see it")
        if later is None or begun > (later.invoked or 0):
            latest[transaction.clock] = transaction
    return None


def _over(transaction: Transaction) -> int | None:
    return transaction.returned if transaction.status == "committed" else None


def _may_write(transaction: Transaction) -> bool:
    return not all(statement.sql.lstrip()[:6].upper() == "SELECT" for statement in transaction.statements)


def _against_times(earlier: Transaction, later: Transaction, which: str) -> str:
    return (
        f"the execution found contradicts the clients' times, as this level allows: {earlier.id!r} was over before "
        f"{later.id!r} began, which {which}; levels that keep real time may say otherwise"
    )
