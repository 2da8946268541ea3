"""Findings of real servers, written as schedules and sent again to real servers: how many come again.

Run as ``python -m benchmarks.anomalies.reproductions``. A finding comes again where every answer of its schedule does.
PostgreSQL is the embedded one, MariaDB the one installed; findings of a product that is not there are left out, and
named. Does not know how schedules are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import msgspec

from benchmarks.anomalies.logs import LOGS
from benchmarks.anomalies.page import put
from sql_semantics.errors import Unsupported
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.schedule import Schedule
from troubadour.model.verdict import Status
from troubadour.record.errors import RecordError
from troubadour.record.runs.reproducing import came_again, run_schedule
from troubadour.record.servers.embedded import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing
from troubadour.report.reproduction import schedule_of

WANTED = 10
_LOGS = (
    ("anomalous/postgres-read-committed", "snapshot"),
    ("anomalous/postgres-repeatable-read", "serializable"),
    ("anomalous/mariadb-repeatable-read", "strict-snapshot"),
    ("contended/postgres-repeatable-read-profile-0", "serializable"),
    ("contended/postgres-read-committed-10", "snapshot"),
    ("contended/postgres-read-committed-1000", "snapshot"),
    ("contended/postgres-read-committed-profile-0", "snapshot"),
    ("contended/postgres-read-committed-profile-1", "snapshot"),
    ("contended/mysql-read-committed-profile-0", "snapshot"),
    ("contended/mysql-read-committed-profile-1", "snapshot"),
    ("contended/mysql-read-committed-profile-2", "snapshot"),
    ("contended/mysql-repeatable-read-profile-0", "snapshot"),
)


def schedules() -> Iterator[tuple[str, str, Schedule | str]]:
    """For each log, its name, level, and the schedule of its finding, or why there is none."""
    for name, level in _LOGS:
        log = read_log([LOGS / f"{name}.jsonl.gz"])
        yield name, level, _schedule(log, level)


def _schedule(log: Log, level: str) -> Schedule | str:
    library = library_of(log)
    for recorded in (False, True):
        options = Options(level, timeout=60.0, order_recorded=recorded, accounts=True)
        verdict = audit(log, library, options)
        if verdict.status is Status.VIOLATION and verdict.account is not None and verdict.account.chain:
            try:
                return schedule_of(verdict, log, library) or "no explanation says which rows were there before"
            except Unsupported as error:
                return f"not modelled: {error.construct}"
    return "no finding with a chain"


@click.command()
@click.option("--times", default=3, show_default=True, help="How often each schedule is run.")
@click.option("--page", type=click.Path(path_type=Path), help="Put the table into this page, too.")
def main(times: int, page: Path | None) -> None:
    """Print what became of each finding."""
    rows = []
    run = again = 0
    with ExitStack() as stack:
        servers = {"postgres": stack.enter_context(EmbeddedPostgres()).dsn}
        if (reason := missing()) is None:
            servers["mysql"] = stack.enter_context(PrivateMariaDB()).dsn
        for name, level, schedule in schedules():
            if isinstance(schedule, str):
                told = schedule
            elif schedule.dialect not in servers:
                told = f"not run: {reason}"
            else:
                came, told = _run(schedule, servers[schedule.dialect], times)
                run += 1
                again += came
            anomaly = "" if isinstance(schedule, str) else f"{schedule.anomaly}"
            steps = (
                "" if isinstance(schedule, str) else f"{len(schedule.sessions)} sessions, {len(schedule.steps)} steps"
            )
            rows.append(f"| {name} | {level} | {anomaly} | {steps} | {told} |")
            click.echo(rows[-1])
    summary = f"{again} of {run} findings came again."
    click.echo(summary)
    if page is not None:
        head = ("| log | level | anomaly | schedule | on a real server |", "|---|---|---|---|---|")
        put(page, "reproductions", [summary, "", *head, *rows])


def _run(schedule: Schedule, dsn: str, times: int) -> tuple[bool, str]:
    """Whether every answer came again in one of the runs, and what is told."""
    came = 0
    first = ""
    for _ in range(times):
        try:
            given = run_schedule(schedule, dsn)
        except RecordError as error:
            first = first or str(error)
            continue
        came += came_again(schedule, given)
        watched = [one for one in given if one.step.session in schedule.watched]
        odd = next((one for one in watched if not one.agrees), None)
        if odd is not None and not first:
            first = f"{odd.step.sql[:60]}: {odd.text[:80]} for {msgspec.json.encode(odd.step.rows).decode()[:80]}"
    return came > 0, f"came again, {came} of {times} times" if came else f"did not come again: {first}"


if __name__ == "__main__":
    main()
