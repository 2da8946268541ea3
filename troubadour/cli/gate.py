"""``troubadour gate``. Does not know how a log is audited or judged."""

from __future__ import annotations

import datetime
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.console import Console
from rich.table import Table

from troubadour.cli.common import FORM, colored, emit, refuse, warn
from troubadour.cli.supervision import ended_by_signals
from troubadour.gate.baseline import Baseline, BaselineError, Known, read_baseline, write_baseline
from troubadour.gate.discover import NothingFound, find_logs
from troubadour.gate.findings import Finding, Outcome, entry_that_allows, exit_status
from troubadour.gate.junit import render_junit
from troubadour.gate.markdown import render_markdown, workflow_annotations
from troubadour.gate.policy import PolicyError, read_policy
from troubadour.gate.run import audit_all
from troubadour.gate.sarif import render_sarif
from troubadour.model.visible import visible
from troubadour.report.styled import plain

if TYPE_CHECKING:
    from troubadour.gate.cluster import Cluster

_STYLE = {
    Outcome.PASSED: "green",
    Outcome.ALLOWED: "green",
    Outcome.VIOLATION: "bold red",
    Outcome.UNUSABLE: "bold red",
    Outcome.UNDECIDED: "yellow",
}
_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The policy. Default: troubadour.toml, else [tool.troubadour] of pyproject.toml, in this folder.",
)
@click.option(
    "--allow-unobserved",
    "unobserved",
    is_flag=True,
    help="Accept logs without an observation.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Audits that run at the same time. Default: one per processor, or per thread of the workers.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run the audits on the workers of a Dask scheduler, as tcp://HOST:8786 (needs troubadour[cluster] here and "
    "there). Default: on this machine.",
)
@click.option(
    "--baseline",
    type=_FILE,
    metavar="FILE",
    help="Compare with what the last run found, which is in this file, say what is new, and keep this run's findings "
    "there. The exit status stays the same.",
)
@click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML to this file.")
@click.option("--sarif", type=_FILE, metavar="FILE", help="Write SARIF 2.1.0 to this file.")
@click.option("--markdown", type=_FILE, metavar="FILE", help="Append a Markdown summary to this file.")
@click.option(
    "--artifacts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep each log's verdict, messages and witness in a folder of its own here.",
)
@FORM
def gate(
    paths: tuple[str, ...],
    config: Path | None,
    unobserved: bool,
    jobs: int | None,
    cluster: str | None,
    baseline: Path | None,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    artifacts: Path | None,
    form: str,
) -> None:
    """Audit many logs by one policy: folders, globs and files; segments belong together by their log_id.

    Exit status: 1 if any log is a violation, else 2 if any cannot be used, else 3 if any is undecided and the policy
    does not allow it, else 0.
    """
    today = datetime.date.today()
    try:
        policy = read_policy(config, Path())
        policy = policy.letting_unobserved_pass() if unobserved else policy
        logs = find_logs(paths)
        last = None if baseline is None else read_baseline(baseline)
    except (PolicyError, NothingFound, BaselineError) as error:
        refuse(str(error))
    for entry in policy.expired(today):
        warn(f"{policy.source}: the entry for {entry.fingerprint} expired on {entry.expires}")
    with ended_by_signals(), _cluster(cluster) as workers:
        most = jobs or (os.cpu_count() if workers is None else workers.threads) or 1
        findings = audit_all(logs, policy, jobs=most, cluster=workers, artifacts=artifacts, today=today)
    gone: list[Known] = []
    if last is not None and baseline is not None:
        findings = last.compared(findings, today)
        gone = last.gone(findings)
        _keep(baseline, last, findings, today)
    _write(junit, lambda: render_junit(findings))
    _write(sarif, lambda: render_sarif(findings))
    _write(markdown, lambda: render_markdown(findings, today), append=True)
    emit(
        _json(findings, gone, today) if form == "json" else _table(findings, gone, today),
        styled=form == "text",
    )
    if os.environ.get("GITHUB_ACTIONS") == "true" and form == "text":
        for line in workflow_annotations(findings):
            emit(line)
    sys.exit(exit_status(findings))


@contextmanager
def _cluster(address: str | None) -> Iterator[Cluster | None]:
    if address is None:
        yield None
        return
    from troubadour.gate.cluster import Cluster, ClusterError

    try:
        found = Cluster(address)
    except ClusterError as error:
        refuse(f"--cluster: {error}")
    with found:
        yield found


def _write(path: Path | None, render: Callable[[], str], *, append: bool = False) -> None:
    if path is None:
        return
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(render())
    except OSError as error:
        refuse(f"{path}: {error.strerror}")


def _keep(path: Path, last: Baseline, findings: Sequence[Finding], today: datetime.date) -> None:
    """Write the baseline of the next run: what a log had that could not be judged this time stays known."""
    try:
        write_baseline(path, findings, today, last)
    except OSError as error:
        refuse(f"--baseline: {path}: {error.strerror}")


def _json(findings: Sequence[Finding], gone: Sequence[Known], today: datetime.date) -> str:
    document = {
        "exit": exit_status(findings),
        "logs": [
            {
                "log": finding.log.name,
                "files": [str(file) for file in finding.log.files],
                "outcome": finding.outcome.value,
                "because": finding.because,
                "fingerprint": finding.fingerprint,
                "allowed": finding.allowed,
                "allow": entry_that_allows(finding, today),
                "new": finding.new,
                "known_since": None if finding.known_since is None else finding.known_since.isoformat(),
                "line": finding.line,
                "artifacts": list(finding.artifacts),
                "verdict": finding.verdict,
            }
            for finding in findings
        ],
        "gone": [one.fingerprint for one in gone],
    }
    return visible(msgspec.json.encode(document).decode())


def _table(findings: Sequence[Finding], gone: Sequence[Known], today: datetime.date) -> str:
    color = colored()
    width = min(shutil.get_terminal_size((100, 24)).columns, 160)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title, justify in (
        ("verdict", "left"),
        ("log", "left"),
        ("level", "left"),
        ("committed", "right"),
        ("judged", "right"),
        ("s", "right"),
    ):
        table.add_column(title, justify="right" if justify == "right" else "left", overflow="fold")
    for finding in findings:
        share = finding.coverage
        table.add_row(
            plain(finding.outcome.value, _STYLE[finding.outcome]),
            plain(finding.log.name),
            plain(finding.isolation),
            "" if finding.committed is None else f"{finding.committed:,}",
            "" if share is None else f"{share:.1%}",
            f"{finding.seconds:.1f}",
        )
    with console.capture() as captured:
        console.print(table)
        for finding in findings:
            if finding.outcome is not Outcome.PASSED:
                console.print()
                console.print(plain(f"{finding.outcome.value}: {finding.log.name}", _STYLE[finding.outcome]))
                console.print(plain(f"  {finding.because}"))
                if finding.fingerprint is not None:
                    console.print(plain(f"  fingerprint {finding.fingerprint}{_age(finding)}"))
                if (entry := entry_that_allows(finding, today)) is not None:
                    console.print(plain("  to let it stand for a while, put this into the policy:"))
                    for line in entry.splitlines():
                        console.print(plain(f"    {line}"), soft_wrap=True)
                if finding.allowed is not None:
                    console.print(plain(f"  allowed: {finding.allowed}"))
        failed = sum(not finding.outcome.passes for finding in findings)
        console.print()
        for one in gone:
            console.print(
                plain(f"gone since the last run: {one.fingerprint} ({one.anomaly or 'violation'}, {one.log})")
            )
        console.print(f"{len(findings) - failed} of {len(findings)} logs pass")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _age(finding: Finding) -> str:
    """Whether a finding is new, where a baseline tells."""
    if finding.new is None:
        return ""
    return ", new since the last run" if finding.new else f", known since {finding.known_since}"
