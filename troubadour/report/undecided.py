"""What to do about a verdict that is undecided: what to add to the log, and what to run. Does not know how the audit
was stopped but by what the verdict says.
"""

from __future__ import annotations

from collections.abc import Iterable

from troubadour.model.log import Log, Transaction
from troubadour.model.verdict import Coverage, Status, Verdict
from troubadour.report.transactions import name

_BOUNDS = ("the time limit was reached", "the memory limit of ", "there was no memory left")
"""How the reasons of an audit begin that a limit ended."""

_NAMED = 5
"""Transactions that are named."""

_LONGEST = 60
"""Characters of a construct that is named."""


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
    steps.append("ask for other levels: troubadour audit --strongest LOG says of each whether the log keeps it")
    return steps


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
