"""A recording process whose log has no room: what of its acknowledged commits is lost.

A child records and says after each COMMIT that it was answered; files may not grow, or with ``--folder`` a file system
is small. Then the log is repaired, read, and audited beside what the database kept. Run as
``python -m benchmarks.recording.killed``; `kills` has processes that are killed. Does not know how a log is written.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psycopg

from troubadour.formats import read_log
from troubadour.record import EmbeddedPostgres, recorder
from troubadour.record.errors import RecordError

MAIN = "from troubadour.cli.main import main; main()"
CREATE = "CREATE TABLE acks (n INTEGER PRIMARY KEY, padding TEXT)"
INSERT = "INSERT INTO acks VALUES ({0}, {0})"
PADDING = "x" * 400
DISK = 3 << 20
"""Bytes that a file may have where the disk is full."""


@dataclass(slots=True)
class Found:
    """What came of the runs of one kind. `lost`: acknowledged commits that the log lacks; `unseen`: rows that the
    database kept of which neither the log nor a gap in it knows; `exits`: of the audits."""

    runs: int = 0
    acknowledged: int = 0
    lost: int = 0
    unseen: int = 0
    gaps: int = 0
    stopped: int = 0
    exits: Counter[int] = field(default_factory=Counter)

    def line(self, kind: str) -> str:
        """The row of the table."""
        exits = ", ".join(f"{count} x {status}" for status, count in sorted(self.exits.items()))
        return (
            f"| {kind} | {self.runs} | {self.acknowledged:,} | {self.lost} | {self.unseen} | {self.stopped} |"
            f" {self.gaps} | {exits} |"
        )


HEAD = (
    "| what | runs | commits acknowledged | lost | unseen | refused by RecordError | gaps | audits by exit status |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|"
)


def child(kind: str, where: str, log: str, unwritable: str, room: int) -> None:
    """Record commits, one after the other, until killed, or until the log has had no room for a while."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if kind == "sqlite":
        connection: Any = recorder.wrap(sqlite3.connect(where, isolation_level=None), log=log, unwritable=unwritable)
    else:
        connection = recorder.connect(where, log=log, autocommit=True, unwritable=unwritable)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    refused, place = 0, "?" if kind == "sqlite" else "%s"
    for n in range(1_000_000):
        try:
            connection.execute("BEGIN") if kind == "sqlite" else None
            connection.execute(INSERT.format(place), (n, PADDING))
            connection.execute("COMMIT") if kind == "sqlite" else None
            print(json.dumps(["ack", n]), flush=True)
        except RecordError:
            refused += 1
            print(json.dumps(["refused", n]), flush=True)
            if refused > 20:
                break
        if room and n > 40_000:
            break
    print(json.dumps(["end", refused]), flush=True)
    try:
        connection.close()
        recorder.close()
    except RecordError:
        print(json.dumps(["unfinished", 0]), flush=True)


def one(kind: str, server: str, folder: Path, seed: int, unwritable: str, found: Found) -> None:
    """One run, and what became of it."""
    log = folder / f"run-{seed}.jsonl"
    where = str(Path(tempfile.mkdtemp()) / "acks.db") if kind == "sqlite" else server
    _made(kind, where)
    room = DISK if folder.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev else 0
    command = [
        sys.executable,
        "-m",
        "benchmarks.recording.killed",
        "child",
        kind,
        where,
        str(log),
        unwritable,
        str(room),
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    acknowledged: set[int] = set()
    for what, n in map(json.loads, running.stdout):
        if what == "ack":
            acknowledged.add(n)
        found.stopped += what == "refused"
    running.wait()
    found.runs += 1
    found.acknowledged += len(acknowledged)
    log = Path(shutil.move(log, tempfile.mkdtemp()))  # a log is repaired where there is room
    subprocess.run([sys.executable, "-c", MAIN, "log", "repair", str(log)], capture_output=True, check=False)
    read = read_log([log])
    told = {
        parameters[0]: transaction.status
        for transaction in read.transactions
        for parameters in [statement.params for statement in transaction.statements]
        if isinstance(parameters, tuple) and parameters
    }
    kept = _kept(kind, where)
    gaps = len(read.header.gaps)
    found.gaps += gaps
    found.lost += 0 if gaps else sum(told.get(n) not in ("committed", "unknown") for n in acknowledged)
    found.unseen += 0 if gaps else sum(told.get(n) not in ("committed", "unknown") for n in kept)
    judged = subprocess.run([sys.executable, "-c", MAIN, "audit", str(log)], capture_output=True, check=False)
    found.exits[judged.returncode] += 1
    if judged.returncode not in (0, 3):
        click.echo(judged.stdout.decode() + judged.stderr.decode(), err=True)
    log.unlink(missing_ok=True)


def _made(kind: str, where: str) -> None:
    if kind == "sqlite":
        with sqlite3.connect(where) as setup:
            setup.execute(CREATE)
        setup.close()
        return
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS acks")
        connection.execute(CREATE.encode())


def _kept(kind: str, where: str) -> set[int]:
    if kind == "sqlite":
        with sqlite3.connect(where) as connection:
            return {n for (n,) in connection.execute("SELECT n FROM acks")}
    with psycopg.connect(where) as connection:
        return {n for (n,) in connection.execute("SELECT n FROM acks")}


@click.group()
def main() -> None:
    """Fill the disk of a recording process, and count what is lost."""


@main.command(name="child", hidden=True)
@click.argument("kind")
@click.argument("where")
@click.argument("log")
@click.argument("unwritable")
@click.argument("room", type=int)
def _child(kind: str, where: str, log: str, unwritable: str, room: int) -> None:
    child(kind, where, log, unwritable, room)


_KIND = click.option("--kind", "kinds", multiple=True, default=("sqlite", "postgres"), show_default=True)


@main.command()
@click.option("--runs", default=3, show_default=True)
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="On a small file system.")
@_KIND
def full(runs: int, folder: Path | None, kinds: tuple[str, ...]) -> None:
    """No room for the log."""
    click.echo(HEAD)
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(EmbeddedPostgres()).dsn if "postgres" in kinds else ""
        for kind in kinds:
            for unwritable in ("stop", "go-on"):
                found = Found()
                for seed in range(runs):
                    one(kind, server, place, seed, unwritable, found)
                click.echo(found.line(f"{kind}, {unwritable}"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
