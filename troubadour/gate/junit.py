"""Findings as JUnit XML (the schema that Jenkins and GitLab read). Does not know the policy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from troubadour.gate.findings import Finding, Outcome
from troubadour.model.visible import visible

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(findings: Sequence[Finding]) -> str:
    """One test suite, a test case per log: a violation is a failure, what was not decided an error, what the policy
    lets stand is skipped with the reason."""
    counts = {outcome: sum(finding.outcome is outcome for finding in findings) for outcome in Outcome}
    totals = {
        "name": "troubadour",
        "tests": str(len(findings)),
        "failures": str(counts[Outcome.VIOLATION]),
        "errors": str(counts[Outcome.UNUSABLE] + counts[Outcome.UNDECIDED]),
        "skipped": str(counts[Outcome.ALLOWED]),
        "time": f"{sum(finding.seconds for finding in findings):.3f}",
    }
    suites = ElementTree.Element("testsuites", {key: totals[key] for key in totals if key != "skipped"})
    suite = ElementTree.SubElement(suites, "testsuite", totals)
    for finding in findings:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "name": _text(finding.log.name),
                "classname": _text(f"troubadour.{finding.isolation or 'audit'}"),
                "time": f"{finding.seconds:.3f}",
            },
        )
        element = _ELEMENT.get(finding.outcome)
        if element is not None:
            message = finding.allowed or finding.because if element == "skipped" else finding.because
            child = ElementTree.SubElement(case, element, {"message": _text(message)})
            if element != "skipped":
                child.set("type", finding.outcome.value)
            child.text = _text(_details(finding))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


_ELEMENT = {
    Outcome.VIOLATION: "failure",
    Outcome.UNUSABLE: "error",
    Outcome.UNDECIDED: "error",
    Outcome.ALLOWED: "skipped",
}


def _details(finding: Finding) -> str:
    lines = [finding.because]
    verdict = finding.verdict
    if verdict is not None:
        for number, edge in enumerate((verdict.get("account") or {}).get("chain", ()), 1):
            lines.append(f"{number}. {edge['text']}")
        if verdict.get("failing_transaction") is not None:
            lines.append(f"fails at: {verdict['failing_transaction']}")
        if verdict.get("core"):
            lines.append(f"core: {', '.join(map(str, verdict['core']))}")
        if verdict.get("scope"):
            lines.append(f"excluded: {verdict['scope']}")
    if finding.fingerprint is not None:
        lines.append(f"fingerprint: {finding.fingerprint}")
        if finding.new is not None:
            lines.append("new since the last run" if finding.new else f"known since {finding.known_since}")
    lines += [f"artifact: {path}" for path in finding.artifacts]
    return "\n".join(lines)


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", visible(text))
