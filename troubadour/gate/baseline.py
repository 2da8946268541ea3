"""What the last run found, kept in a file, so that the next one tells what is new.

Does not know the policy, nor what a finding is about.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sql_semantics.records import dataclass, replace
from troubadour.gate.findings import Finding, Outcome


class BaselineError(Exception):
    """The file cannot be used (exit status 2). The text is one line that names it."""


class Known(msgspec.Struct, frozen=True):
    """A violation by its fingerprint: the day of the first run that found it, its anomaly, and one log that has it."""

    fingerprint: str
    since: datetime.date
    anomaly: str | None
    log: str


class _File(msgspec.Struct, frozen=True, tag_field="format", tag="troubadour-baseline"):
    version: int
    findings: tuple[Known, ...] = ()


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings of the last run; none before the first."""

    findings: tuple[Known, ...] = ()

    def compared(self, findings: Sequence[Finding], today: datetime.date) -> list[Finding]:
        """Findings, each that has a fingerprint with whether it is new, and since when it is known."""
        known = {one.fingerprint: one.since for one in self.findings}
        found = []
        for finding in findings:
            if finding.fingerprint is not None:
                marks = (finding.fingerprint, *finding.formerly)
                since = next((known[mark] for mark in marks if mark in known), None)
                finding = replace(finding, new=since is None, known_since=since or today)
            found.append(finding)
        return found

    def gone(self, findings: Sequence[Finding]) -> list[Known]:
        """What the last run found, and this one does not, though its log was judged, or is not there any more."""
        return self._absent(findings, open_=False)

    def waiting(self, findings: Sequence[Finding]) -> list[Known]:
        """What the last run found in a log that was not judged in this one."""
        return self._absent(findings, open_=True)

    def _absent(self, findings: Sequence[Finding], *, open_: bool) -> list[Known]:
        marks = {mark for one in findings if one.fingerprint is not None for mark in (one.fingerprint, *one.formerly)}
        unjudged = {one.log.name for one in findings if one.outcome in (Outcome.UNUSABLE, Outcome.UNDECIDED)}
        absent = [one for one in self.findings if one.fingerprint not in marks]
        return [one for one in absent if (one.log in unjudged) is open_]


def read_baseline(path: Path) -> Baseline:
    """The file of the last run; an empty baseline where there is none yet. Raises BaselineError."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Baseline()
    except OSError as error:
        raise BaselineError(f"--baseline: {path}: {error.strerror}") from error
    try:
        return Baseline(msgspec.json.decode(text, type=_File).findings)
    except msgspec.MsgspecError as error:
        raise BaselineError(f"--baseline: {path}: no baseline of troubadour: {error}") from error


def write_baseline(path: Path, findings: Sequence[Finding], today: datetime.date, last: Baseline) -> None:
    """Keep what this run found (`findings` as compared), each fingerprint once, and what waits of the last one: a log
    that is undecided once does not make its violation new the next time. Raises OSError."""
    known = {one.fingerprint: one for one in last.waiting(findings)}
    for one in findings:
        if one.fingerprint is not None:
            since = one.known_since or today
            known.setdefault(one.fingerprint, Known(one.fingerprint, since, one.anomaly, one.log.name))
    text = msgspec.json.format(msgspec.json.encode(_File(1, tuple(known.values()))), indent=1)
    path.write_bytes(text + b"\n")
