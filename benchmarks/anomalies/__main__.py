"""The survey of docs/anomalies.md: names, chains and weaker levels of logs with known anomalies, simulated faults, a
crash and findings of real servers; each chain checked by a program. Run as ``python -m benchmarks.anomalies``.

Ends with status 1 where a chain is wrong. Does not know how names are found.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.anomalies.checked import Checked, checked
from benchmarks.anomalies.logs import Case, anomalies, crashes, faults, findings
from benchmarks.anomalies.page import put
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.account import Account
from troubadour.model.verdict import Status, Verdict
from troubadour.report.account import lost_text

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one log."""

    name: str
    level: str
    called: str
    chain: str
    by: Checked | None
    weaker: str
    seconds: float
    wrong: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A row of the table."""
        check = "-" if self.by is None else self.by.value
        cells = (self.name, self.level, self.called, self.chain, check, self.weaker, f"{self.seconds:.1f}")
        return f"| {' | '.join(cells)} |"


def examine(case: Case, folder: Path) -> tuple[Row, Verdict]:
    """Audit one log, and check what is told of it."""
    log = case.read(folder)
    library = library_of(log)
    begun = time.perf_counter()
    options = Options(isolation=case.level, timeout=SECONDS, accounts=True, order_recorded=case.recorded)
    verdict = audit(log, library, options)
    seconds = time.perf_counter() - begun
    level = f"{case.level}, recorded order" if case.recorded else case.level
    account = verdict.account
    if account is None:
        told = "without a name" if verdict.status is Status.VIOLATION else verdict.status.value
        return Row(case.name, level, told, "", None, "", seconds), verdict
    by, wrong = checked(log, library, account)
    called = f"{account.title} ({account.aka})"
    weaker = ", ".join(account.holds) or "none"
    return Row(case.name, level, called, _chain(account), by, weaker, seconds, tuple(wrong)), verdict


def _chain(account: Account) -> str:
    edges = " ".join(f"{edge.earlier} {edge.kind} {edge.later}" for edge in account.chain)
    lost = "" if account.lost is None else lost_text(account.lost)
    return "; ".join(part for part in (edges, lost) if part) or "-"


def survey(folder: Path) -> Iterable[Row]:
    """All rows; of each fault the first run that has a violation, at the weakest level that has one."""
    for case in anomalies():
        yield examine(case, folder)[0]
    for fault, cases in faults():
        for case in cases:
            row, verdict = examine(case, folder)
            if verdict.status is Status.VIOLATION:
                yield row
                break
        else:
            yield Row(f"simulated {fault}", "-", "no violation found", "", None, "", 0.0)
    for case in (*crashes(), *findings()):
        yield examine(case, folder)[0]


HEAD = ("| log | level | name | chain | checked by a program | correct at | s |", "|---|---|---|---|---|---|---:|")


@click.command()
@click.option("--page", type=click.Path(path_type=Path), help="Put the table into this page, too.")
def main(page: Path | None) -> None:
    """Print a row for each log."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in survey(Path(folder)):
            rows.append(row)
            click.echo(row.text)
            for line in row.wrong:
                click.echo(f"    {line}")
    counts = Counter(row.by for row in rows)
    named = sum(row.by is not None and "without a name" not in row.called for row in rows)
    told = ", ".join(f"{counts[by]} {by.value}" for by in Checked if counts[by])
    summary = f"{len(rows)} logs, {named} named; chains: {told}; {counts[None]} without an account."
    click.echo(summary)
    if page is not None:
        put(page, "survey", [summary, "", *HEAD, *(row.text for row in rows)])
    if counts[Checked.WRONG]:
        sys.exit(1)


if __name__ == "__main__":
    main()
