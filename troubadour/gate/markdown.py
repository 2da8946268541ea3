"""Findings as a Markdown summary and as annotations of a workflow run. Does not know the policy."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from troubadour.gate.findings import Finding, Outcome, entry_that_allows
from troubadour.model.visible import one_line, visible

_MARK = {
    Outcome.PASSED: "✅ correct",
    Outcome.ALLOWED: "☑️ allowed",
    Outcome.VIOLATION: "❌ violation",
    Outcome.UNUSABLE: "⛔ unusable",
    Outcome.UNDECIDED: "❔ undecided",
}
_ANNOTATION = {Outcome.VIOLATION: "error", Outcome.UNUSABLE: "error", Outcome.UNDECIDED: "warning"}


def render_markdown(findings: Sequence[Finding], today: datetime.date | None = None) -> str:
    """A heading that counts, a table of all logs, and a paragraph for each that does not pass, with the entry of the
    policy that would let it stand."""
    day = today or datetime.date.today()
    counts = ", ".join(
        f"{number} {outcome.value}"
        for outcome in Outcome
        if (number := sum(finding.outcome is outcome for finding in findings))
    )
    lines = [
        f"## Troubadour: {counts}",
        "",
        "| log | level | verdict | committed | coverage | s |",
        "|---|---|---|---:|---:|---:|",
    ]
    for finding in findings:
        share = finding.coverage
        committed = "" if finding.committed is None else f"{finding.committed:,}"
        cells = (
            f"`{_cell(finding.log.name)}`",
            _cell(finding.isolation),
            _MARK[finding.outcome],
            committed,
            "" if share is None else f"{share:.1%}",
            f"{finding.seconds:.1f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    for finding in findings:
        if finding.outcome is not Outcome.PASSED:
            lines += ["", *_paragraph(finding, day)]
    return "\n".join(lines) + "\n"


def _paragraph(finding: Finding, today: datetime.date) -> Iterator[str]:
    yield f"### {_MARK[finding.outcome]}: `{_cell(finding.log.name)}`"
    yield ""
    yield _plain(finding.because)
    verdict = finding.verdict or {}
    chain = (verdict.get("account") or {}).get("chain", ())
    if chain:
        yield ""
    for number, edge in enumerate(chain, 1):
        yield f"{number}. {_plain(edge['text'])}"
    if verdict.get("core"):
        yield ""
        yield f"Core: {_plain(', '.join(map(str, verdict['core'][:12])))}"
    if finding.fingerprint is not None:
        yield ""
        since = "" if finding.new is None else " (new)" if finding.new else f" (known since {finding.known_since})"
        yield f"Fingerprint: `{finding.fingerprint}`{since}"
    if (entry := entry_that_allows(finding, today)) is not None:
        yield ""
        yield "To let it stand for a while, put this into the policy:"
        yield ""
        yield f"```toml\n{entry}\n```"
    if finding.allowed is not None:
        yield ""
        yield f"Allowed: {_plain(finding.allowed)}"


def workflow_annotations(findings: Sequence[Finding]) -> Iterator[str]:
    """Lines that a GitHub workflow turns into annotations of the file."""
    for finding in findings:
        kind = _ANNOTATION.get(finding.outcome)
        if kind is None:
            continue
        where = f"file={_property(finding.file or str(finding.log.files[0]))}"
        if finding.line is not None:
            where += f",line={finding.line}"
        title = f"{finding.outcome.value} at {finding.isolation}" if finding.isolation else finding.outcome.value
        yield f"::{kind} {where},title={_property(title)}::{_data(finding.because)}"


def _cell(text: str) -> str:
    return one_line(" ".join(text.split())).replace("|", "\\|").replace("`", "'")


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~$" else c for c in one_line(" ".join(text.split())))


def _data(text: str) -> str:
    return visible(text, keep="\n").replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
