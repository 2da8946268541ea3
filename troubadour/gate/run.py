"""Audits of many logs, each in a process of its own, several at a time.

A process of its own keeps the memory and the fate of one audit from the others. Knows the command line's JSON object;
does not know how a verdict is reached.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubadour.formats import read_log
from troubadour.formats.text import blocks, lines, opened
from troubadour.gate.audits import Auditor, Ended, audit_by
from troubadour.gate.children import Children
from troubadour.gate.discover import LogFiles
from troubadour.gate.findings import Finding, Outcome, fingerprint, former_fingerprints, judge
from troubadour.gate.policy import Policy
from troubadour.model.log import LogError, TransactionId

if TYPE_CHECKING:
    from troubadour.gate.cluster import Cluster

_IN_THE_POLICY = {
    "name one with --isolation LEVEL": 'name one in the policy, as isolation = "snapshot"',
    "--isolation: ": "isolation: ",
}
"""What the messages of an audit say of its options, and what that is where a policy has set them."""
_OUTCOMES = {0: Outcome.PASSED, 1: Outcome.VIOLATION, 2: Outcome.UNUSABLE, 3: Outcome.UNDECIDED}


def audit_all(
    logs: Sequence[LogFiles],
    policy: Policy,
    *,
    jobs: int,
    cluster: Cluster | None = None,
    artifacts: Path | None = None,
    done: Callable[[Finding], None] = lambda finding: None,
    today: datetime.date | None = None,
) -> list[Finding]:
    """Every log's finding, in the order of the logs. `artifacts`: the folder in which each log leaves its verdict,
    report, witness and reproduction; `cluster`: where the audits run, else here."""
    day = today or datetime.date.today()
    runs = Children() if cluster is None else cluster
    auditor: Auditor = partial(audit_by, runs.run) if isinstance(runs, Children) else runs.audit

    def one(log: LogFiles) -> Finding | None:
        finding = _audit_one(log, policy, artifacts, day, auditor)
        if finding is not None:
            done(finding)
        return finding

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            return [finding for finding in pool.map(one, logs) if finding is not None]
        except BaseException:
            # what is under way would be waited for
            runs.end()
            raise


def _audit_one(
    log: LogFiles, policy: Policy, artifacts: Path | None, today: datetime.date, auditor: Auditor
) -> Finding | None:
    """One log's finding under its rules; None where the audits were ended."""
    rules = policy.rules(log.files[0])
    folder = None if artifacts is None else artifacts / _folder_name(log)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    ended = auditor(log.files, rules, folder)
    if ended is None:
        return None
    verdict = _verdict(ended.out)
    outcome = _OUTCOMES.get(ended.status, Outcome.UNDECIDED)
    if outcome is not Outcome.UNUSABLE and verdict is None:
        # an audit that broke has decided nothing
        outcome = Outcome.UNDECIDED
    because = _because(verdict, ended)
    finding = Finding(log, outcome, because, verdict, seconds=ended.seconds, file=str(log.files[0]))
    if outcome is Outcome.VIOLATION and verdict is not None:
        finding = _located(finding, verdict)
    if folder is not None:
        finding = replace(finding, artifacts=tuple(_leave(folder, ended.out, ended.errors)))
    return judge(finding, rules, policy, today)


def _verdict(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "verdict" in found else None


def _because(verdict: dict[str, Any] | None, ended: Ended) -> str:
    if verdict is not None:
        said = verdict.get("explanation") or verdict.get("reason")
        if said:
            account = verdict.get("account")
            return f"{account['title']}: {said}" if account else str(said)
        if verdict["verdict"] == "correct":
            return f"{verdict['transactions']['committed']:,} committed, all explained"
    if ended.lost is not None:
        return f"the audit came to no end: {ended.lost}"
    status, last = ended.status, ended.errors.strip().splitlines()
    text = last[-1].removeprefix("troubadour: ") if last else "no message"
    for option, rule in _IN_THE_POLICY.items():
        text = text.replace(option, rule)
    return text if status == 2 else f"the audit ended with status {status}: {text}"


def _located(finding: Finding, verdict: dict[str, Any]) -> Finding:
    """The finding with its fingerprint and the line of its failing transaction."""
    try:
        log = read_log(finding.log.files)
    except LogError:
        return finding
    core = set(verdict.get("core") or ())
    members = [one for one in log.transactions if one.id in core]
    finding = replace(
        finding,
        fingerprint=fingerprint(verdict, members),
        formerly=former_fingerprints(verdict, members),
        traces=tuple(dict.fromkeys(one.trace_id for one in members if one.trace_id is not None)),
    )
    place = _line_of(finding.log.files, verdict.get("failing_transaction"))
    if place is None:
        return finding
    return replace(finding, file=str(place[0]), line=place[1])


def _line_of(files: Sequence[Path], identifier: TransactionId | None) -> tuple[Path, int] | None:
    if identifier is None:
        return None
    found = None
    mark = json.dumps(identifier).encode()
    for file in files:
        number = 0
        with opened(file) as stream:
            for several, _ in lines(blocks(stream, lambda count: None)):
                for line in several:
                    number += 1
                    if mark in line and _names(line, identifier):
                        found = file, number
    return found


def _names(line: bytes, identifier: TransactionId) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    named = entry.get("id") if isinstance(entry, dict) else None
    return named == identifier and type(named) is type(identifier)


def _folder_name(log: LogFiles) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", log.files[0].as_posix()).strip("-")


def _leave(folder: Path, verdict: str, messages: str) -> Iterator[str]:
    for name, text in (("verdict.json", verdict), ("messages.txt", messages)):
        if text.strip():
            (folder / name).write_text(text, encoding="utf-8")
    yield from sorted(str(file) for file in folder.rglob("*") if file.is_file())
