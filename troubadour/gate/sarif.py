"""Findings as SARIF 2.1.0 (OASIS), which code hosts show beside the files: a rule for each anomaly, with its help.

Does not know the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from troubadour.gate.findings import Finding, Outcome
from troubadour.isolation.advice import QUESTIONS
from troubadour.isolation.anomalies import ANOMALIES, Anomaly
from troubadour.model.visible import visible

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    Outcome.VIOLATION: (
        "violation",
        "No execution that the isolation level allows gives the results in the log.",
        "error",
    ),
    Outcome.UNUSABLE: ("unusable", "The log or the options cannot be used.", "error"),
    Outcome.UNDECIDED: ("undecided", "The log was neither shown to be correct nor refuted.", "warning"),
}


def render_sarif(findings: Sequence[Finding]) -> str:
    """One run; a result for each log that is not correct; what the policy lets stand is suppressed."""
    results = [_result(finding) for finding in findings if finding.outcome is not Outcome.PASSED]
    rules = [_rule(key, text, level) for key, text, level in _RULES.values()]
    rules += [_rule_of(one) for one in ANOMALIES.values()]
    driver = {"name": "troubadour", "version": version("troubadour"), "rules": rules}
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return visible(msgspec.json.format(msgspec.json.encode(document), indent=2).decode()) + "\n"


def _rule(key: str, text: str, level: str) -> dict[str, Any]:
    return {
        "id": key,
        "shortDescription": {"text": text},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": level},
    }


def _rule_of(anomaly: Anomaly) -> dict[str, Any]:
    """The rule of an anomaly, with a page that says what it is, what to check, and where it is defined."""
    title = anomaly.title[0].upper() + anomaly.title[1:]
    check = QUESTIONS[anomaly.check][""].rstrip("?")
    source = anomaly.citation.replace("*", "")
    text = f"{title} ({anomaly.aka}): {anomaly.meaning}. What to look at: {check}? Defined in: {source}."
    markdown = (
        f"# {title}\n\n*{anomaly.aka}*\n\n{anomaly.meaning[0].upper()}{anomaly.meaning[1:]}.\n\n"
        f"## What to look at\n\n{check[0].upper()}{check[1:]}?\n\n## Where it is defined\n\n{anomaly.citation}.\n"
    )
    return {
        "id": anomaly.name,
        "name": "".join(word.capitalize() for word in anomaly.name.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": f"{title}: {anomaly.meaning}."},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["isolation", "database"]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    outcome = finding.outcome
    if outcome is Outcome.ALLOWED:
        outcome = Outcome.UNDECIDED if finding.fingerprint is None else Outcome.VIOLATION
    rule, _, level = _RULES[outcome]
    if outcome is Outcome.VIOLATION and finding.anomaly in ANOMALIES:
        rule = finding.anomaly
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file or str(finding.log.files[0]))}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": finding.because},
        "locations": [{"physicalLocation": place}],
    }
    account = (finding.verdict or {}).get("account")
    if account:
        result["properties"] = {"anomaly": account["anomaly"], "chain": [edge["text"] for edge in account["chain"]]}
    if finding.traces:
        result.setdefault("properties", {})["traceIds"] = list(finding.traces)
    if finding.fingerprint is not None:
        result["partialFingerprints"] = {"troubadour/v1": finding.fingerprint}
    if finding.new is not None:
        result["baselineState"] = "new" if finding.new else "unchanged"
    if finding.outcome is Outcome.ALLOWED:
        result["suppressions"] = [{"kind": "external", "justification": finding.allowed}]
    return result


def _uri(path: str) -> str:
    place = Path(path)
    return place.resolve().as_uri() if place.is_absolute() else quote(place.as_posix())
