"""``troubadour try``: a lost update recorded, found and explained, without a database of one's own.

Does not know how a log is recorded or judged.
"""

from __future__ import annotations

from pathlib import Path

import click

from troubadour.cli.auditing.audit import audit
from troubadour.cli.common import CannotRecord, emit, unwinding_on_signals


@click.command("try")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("troubadour-try"),
    show_default=True,
    metavar="DIR",
    help="Where the two logs and the report go; files of these names are replaced.",
)
def try_(out: Path) -> None:
    """Record a lost update on an embedded PostgreSQL, find it, and see it refused at a stronger level.

    Needs no server; one is started for this, and removed afterwards. Exit status 0.
    """
    from troubadour.record import EmbeddedPostgres
    from troubadour.record.errors import RecordError

    weak, strong, report = out / "read-committed.jsonl", out / "repeatable-read.jsonl", out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        emit("Starting a PostgreSQL of its own ...")
        with unwinding_on_signals(), EmbeddedPostgres() as server:
            emit("Two clients pay 10.00 and 25.00 into an account with 100.00, at READ COMMITTED:\n")
            _record(server.dsn, weak, "READ COMMITTED")
            emit("\nThe same at REPEATABLE READ:\n")
            _record(server.dsn, strong, "REPEATABLE READ")
    except (RecordError, OSError) as error:
        raise CannotRecord(str(error)) from error
    emit("\nThe first application relies on snapshot isolation. Was it given that?\n")
    _audit([str(weak), "--isolation", "snapshot", "--report", str(report), "--explain", "brief"], 1)
    emit("\nAnd was READ COMMITTED kept, which promises less?\n")
    _audit([str(weak), "--quiet"], 0)
    emit("\nAt REPEATABLE READ the server refused the second write:\n")
    _audit([str(strong), "--isolation", "snapshot", "--quiet"], 0)
    emit(
        f"\nThe report: {report}\nThe logs:   {weak}, {strong}\n"
        "To audit a system of yours: docs/recording.md, or `troubadour log init --help`."
    )


def _record(dsn: str, log: Path, level: str) -> None:
    from troubadour.record.runs.lost_update import lose_update

    log.unlink(missing_ok=True)
    balance = lose_update(dsn, log, level, lambda name, sql, answer: emit(f"  {name}  {sql}\n       {answer}"))
    emit(f"\nThe account has {balance}; {log} has what the clients saw.")


def _audit(arguments: list[str], expected: int) -> None:
    """Audit as the command line does. The verdict is certain, so another one is a fault of this program."""
    emit(f"$ troubadour audit {' '.join(arguments)}")
    try:
        audit.main(arguments, standalone_mode=False)
    except SystemExit as ended:
        if ended.code != expected:
            raise RuntimeError(f"the audit of a known log ended with {ended.code}, not {expected}") from ended
