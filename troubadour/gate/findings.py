"""What the audit of one log came to, held against the policy, and what that means for the whole.

Does not know where it is written to.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from sql_semantics.records import dataclass, field
from troubadour.gate.discover import LogFiles
from troubadour.gate.policy import Policy, Rules
from troubadour.model.log import Transaction


class Outcome(Enum):
    """How a log fares at the gate."""

    PASSED = "passed"
    ALLOWED = "allowed"
    VIOLATION = "violation"
    UNUSABLE = "unusable"
    UNDECIDED = "undecided"

    @property
    def passes(self) -> bool:
        """Whether the gate may be green with it."""
        return self in (Outcome.PASSED, Outcome.ALLOWED)


@dataclass(frozen=True, slots=True)
class Finding:
    """One log and its outcome. `verdict` is the audit's JSON object (None where it gave none), `because` one line for
    people, `line` the 1-based line of `file` that holds the failing transaction, `fingerprint` what a violation is
    recognized by in other runs, `formerly` what the release before recognized it by, `allowed` why a finding may
    stand, `known_since` the day of the first run that found it, of those that a baseline tells of; `new` whether the
    baseline lacks it (None: there is no baseline); `traces` are the OpenTelemetry traces of the core."""

    log: LogFiles
    outcome: Outcome
    because: str
    verdict: Mapping[str, Any] | None = None
    file: str | None = None
    line: int | None = None
    fingerprint: str | None = None
    allowed: str | None = None
    seconds: float = 0.0
    artifacts: tuple[str, ...] = field(default=())
    formerly: tuple[str, ...] = field(default=())
    known_since: datetime.date | None = None
    new: bool | None = None
    traces: tuple[str, ...] = ()

    @property
    def anomaly(self) -> str | None:
        """The name of the anomaly that a violation is, where it has one."""
        account = (self.verdict or {}).get("account")
        return None if account is None else str(account["anomaly"])

    @property
    def isolation(self) -> str:
        """The level that was audited."""
        return str(self.verdict["isolation"]) if self.verdict is not None else ""

    @property
    def committed(self) -> int | None:
        """Transactions committed."""
        return None if self.verdict is None else int(self.verdict["transactions"]["committed"])

    @property
    def coverage(self) -> float | None:
        """The part of the log's statements that was judged, where the audit says so."""
        return None if self.verdict is None else coverage_of(self.verdict)


def coverage_of(verdict: Mapping[str, Any]) -> float | None:
    """The part of a log's statements that was judged; None where the verdict does not tell, or there are none."""
    coverage = verdict.get("coverage")
    return coverage["judged"] / coverage["statements"] if coverage and coverage["statements"] else None


_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_SPACE = re.compile(r"\s+")


FORMER_NAMES: Mapping[str, tuple[str, ...]] = {
    "lost-update": ("lost-commit", "stale-read"),
    "stale-read": ("lost-commit",),
    "internal-inconsistency": ("garbage-read", "wrong-answer", "counter-anomaly"),
}
"""What the release before 0.2.0 called some of the violations that have these names now; goes with the next release."""


def fingerprint(verdict: Mapping[str, Any], core: Iterable[Transaction], anomaly: str | None = None) -> str:
    """What a violation is recognized by: level, anomaly (its own, or as it is given), and statements of the core
    without values, ids and times."""
    shapes = sorted(" ; ".join(_shape(statement.sql) for statement in one.statements) for one in core)
    text = "\n".join([str(verdict["isolation"]), _name(verdict) if anomaly is None else anomaly, *shapes])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def former_fingerprints(verdict: Mapping[str, Any], core: Sequence[Transaction]) -> tuple[str, ...]:
    """What the release before recognized it by, where that called it otherwise."""
    return tuple(fingerprint(verdict, core, name) for name in FORMER_NAMES.get(_name(verdict), ()))


def _name(verdict: Mapping[str, Any]) -> str:
    return str((verdict.get("account") or {}).get("anomaly", ""))


def _shape(sql: str) -> str:
    return _SPACE.sub(" ", _LITERAL.sub("?", sql)).strip().lower()


def judge(finding: Finding, rules: Rules, policy: Policy, today: datetime.date) -> Finding:
    """The finding as the policy takes it."""
    from dataclasses import replace

    verdict = finding.verdict
    match finding.outcome:
        case Outcome.VIOLATION if finding.fingerprint is not None:
            marks = (finding.fingerprint, *finding.formerly)
            entry = next((entry for mark in marks if (entry := policy.allowed(mark, today)) is not None), None)
            if entry is not None:
                return replace(finding, outcome=Outcome.ALLOWED, allowed=f"{entry.reason} (until {entry.expires})")
        case Outcome.UNDECIDED:
            for text in rules.allow_undecided or ():
                if text in finding.because:
                    return replace(finding, outcome=Outcome.ALLOWED, allowed=f"undecided may be: {text}")
        case Outcome.PASSED if verdict is not None:
            share = coverage_of(verdict)
            least = rules.min_coverage
            if least is not None and share is not None and share < least:
                because = f"{share:.0%} of the statements were judged, and the policy asks for {least:.0%}"
                return replace(finding, outcome=Outcome.UNDECIDED, because=because)
            if rules.min_transactions is not None and verdict["transactions"]["committed"] < rules.min_transactions:
                because = (
                    f"{verdict['transactions']['committed']} committed, the policy asks for {rules.min_transactions}"
                )
                return replace(finding, outcome=Outcome.UNDECIDED, because=because)
    return finding


def exit_status(findings: Iterable[Finding]) -> int:
    """1 where any log is a violation, else 2 where any cannot be used, else 3 where any is undecided, else 0."""
    outcomes = {finding.outcome for finding in findings}
    if Outcome.VIOLATION in outcomes:
        return 1
    if Outcome.UNUSABLE in outcomes:
        return 2
    return 3 if Outcome.UNDECIDED in outcomes else 0


_DAYS = 14


def entry_that_allows(finding: Finding, today: datetime.date) -> str | None:
    """Lines of TOML that let a violation stand for two weeks, to be put into the policy; None for other findings."""
    if finding.fingerprint is None or finding.outcome is not Outcome.VIOLATION:
        return None
    account = (finding.verdict or {}).get("account") or {}
    title = f"{account['title']}: " if account else ""
    lines = (
        "[[gate.allow]]",
        f'fingerprint = "{finding.fingerprint}"',
        f"expires = {today + datetime.timedelta(days=_DAYS)}",
        f'reason = "{title}the ticket, and why it may stand until then"',
    )
    return "\n".join(lines)
