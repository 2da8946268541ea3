"""What to do about a verdict that is undecided: what to add to the log, and what to run. Does not know how the audit
was stopped but by what the verdict says.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.verdict import Coverage, Status, Verdict
from troubadour.report.transactions import name

_BOUNDS = ("the time limit was reached", "the memory limit of ", "there was no memory left")
"""How the reasons of an audit begin that a limit ended."""

_NOT_MODELLED = "not modelled: "

_NAMED = 5
"""Transactions that are named."""

_LONGEST = 60
"""Characters of a construct that is named."""

_BESIDE = 3
"""Transactions that are shown beside the one that was not explained."""

_BEFORE = 64
"""Transactions before it that are looked at."""


@dataclass(frozen=True, slots=True)
class Nearly:
    """What is nearly a finding: the `transaction` for which no place was found, and those `beside` it that wrote to its
    tables last, or at the same time."""

    transaction: TransactionId
    beside: tuple[TransactionId, ...]


def nearly(verdict: Verdict, log: Log) -> Nearly | None:
    """Where an undecided audit stopped; None where it is not known, or a limit stopped it."""
    reason = verdict.reason or ""
    if verdict.status is not Status.UNDECIDED or reason.startswith((*_BOUNDS, _NOT_MODELLED)):
        return None
    if verdict.verified_prefix >= verdict.committed or not (verdict.verified_prefix or verdict.statement):
        return None  # all is explained, or how far an explanation goes is not known
    blamed = None if verdict.statement is None else verdict.statement.transaction
    before: deque[Transaction] = deque(maxlen=_BEFORE)
    after: list[Transaction] = []
    found: Transaction | None = None
    committed = 0
    for one in log.transactions:
        if found is not None:
            after.append(one)
            if len(after) == _BEFORE:
                break
            continue
        committed += one.status == "committed"
        if one.id == blamed or (blamed is None and committed > verdict.verified_prefix):
            found = one
            continue
        before.append(one)
    if found is None:
        return None
    named = _words(found)
    around = [one for one in before if _writes(one) and named & _words(one)]
    around += [one for one in after if _writes(one) and named & _words(one) and _overlap(one, found)]
    together = [one for one in around if _overlap(one, found)]
    chosen = (together or around)[-_BESIDE:]
    return Nearly(found.id, tuple(one.id for one in chosen))


_WRITES = pattern(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|CALL|WITH|TRUNCATE)\b", re.I)
_WORD = pattern(r"(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+[`\"\[]?(\w+)", re.I)


def _writes(one: Transaction) -> bool:
    return any(_WRITES.match(statement.sql) for statement in one.statements)


def _words(one: Transaction) -> set[str]:
    """The tables that its statements name."""
    return {word.lower() for statement in one.statements for word in _WORD.findall(statement.sql)}


def _overlap(one: Transaction, other: Transaction) -> bool:
    """Whether they were under way at once, by the clients' times, else by the DBMS's."""
    for begin, end in (("invoked", "returned"), ("start", "commit")):
        times = [getattr(item, label) for item in (one, other) for label in (begin, end)]
        if None not in times:
            return bool(times[0] <= times[3] and times[2] <= times[1])
    return False


def levels_text(verdict: Verdict) -> list[str]:
    """What other levels come to, a line for each answer."""
    lines = []
    for status, says in ((Status.CORRECT, "correct at"), (Status.VIOLATION, "a violation at")):
        names = [level for level, one in verdict.levels if one is status]
        if names:
            lines.append(f"{says} {', '.join(names)}")
    return lines


def next_steps(verdict: Verdict, log: Log) -> list[str]:
    """What to do, the likeliest to decide first; empty for a verdict that is decided."""
    if verdict.status is not Status.UNDECIDED:
        return []
    coverage = verdict.coverage
    steps = [] if coverage is None else _about_coverage(coverage)
    if (verdict.reason or "").startswith(_BOUNDS):
        steps.append("give it more: --timeout SECONDS, --memory MIB")
        first = verdict.verified_prefix + 1
        steps.append(f"or a part of it: troubadour log cut LOG --first {first} --out PART, and audit that")
    if coverage is not None and not (coverage.judged and coverage.observed):
        return steps
    steps += _about_transactions(log.transactions)
    steps.append(_command(verdict))
    return steps


def _command(verdict: Verdict) -> str:
    """The one command to run next."""
    broken = [level for level, status in verdict.levels if status is Status.VIOLATION]
    if broken:
        return f"run troubadour audit --isolation {broken[0]} LOG: it tells the violation there"
    if verdict.levels:
        return "run troubadour audit --strongest LOG: it takes longer for each level, and tells of all"
    return "ask for other levels: troubadour audit --strongest LOG says of each whether the log keeps it"


def _about_coverage(coverage: Coverage) -> list[str]:
    steps = []
    if coverage.unjudged:
        constructs = [item.construct for item in coverage.unjudged if len(item.construct) <= _LONGEST]
        shown = f" '{constructs[0]}'" if len(coverage.unjudged) == 1 and constructs else " CONSTRUCT for each"
        steps.append(f"what is not judged may be left out of the verdict: --allow-unjudged{shown} (docs/coverage.md)")
    if not coverage.observed:
        steps.append("record what clients saw: rows and counts; --allow-unobserved accepts a log without")
    return steps


def _about_transactions(transactions: Iterable[Transaction]) -> list[str]:
    steps = []
    unknown = []
    timed: set[bool] = set()
    for transaction in transactions:
        timed.add(transaction.invoked is not None)
        if transaction.status == "unknown":
            unknown.append(name(transaction.id))
    if unknown:
        shown = ", ".join(unknown[:_NAMED]) + (f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else "")
        steps.append(f"find out what became of {shown}, and say so in the log: fewer fates are left to try")
    if timed == {False}:
        steps.append("record the clients' times (invoked, returned): fewer orders are left to try")
    return steps
