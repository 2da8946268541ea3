"""What recording costs the client's processor for a transaction: the recorder's own path, without a server (begin, two
statements, the intent, the end), and one psycopg client on a server, not recorded and recorded, of transactions that
write and of such that only read. Of two trees of this program in turns, so that both meet the same machine. Does not
know rates, nor what the server does.

    python -m benchmarks.recording.path [--other FOLDER]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import thread_time_ns
from typing import Any

import click
import psycopg

ROUND = 2000
"""Transactions of a round without a server; a tenth of it with one."""
HERE = Path(__file__).parents[2]
WAYS = ("path", "plain writes", "recorded writes", "plain reads", "recorded reads")


def rounds(once: Callable[[], object], count: int, size: int) -> list[float]:
    """Microseconds of this thread's processor for a transaction, of each round."""
    once()
    found = []
    for _ in range(count):
        started = thread_time_ns()
        for _ in range(size):
            once()
        found.append((thread_time_ns() - started) / 1000 / size)
    return found


def path(folder: Path) -> Callable[[], object]:
    """A transaction of the recorder alone."""
    from troubadour.record.core.journal import Journal
    from troubadour.record.core.tape import Tape

    file = folder / "log.jsonl"
    file.write_text("{}\n")
    journal = Journal(file, "")
    tape: Any = Tape(journal, "postgres:repeatable-read", raw=list)
    begun = getattr(tape, "begun", None)
    read, write = journal.text(b"SELECT balance FROM t WHERE id = $1"), journal.text(b"UPDATE t SET balance = $1")

    def once() -> None:
        transcript = tape.begin(1)
        if begun is not None:
            begun(1)
        transcript.statements.append((read, (b"12", b"34"), (23, 1700), 2, 3, b"SELECT 1", [b"310.00"]))
        transcript.statements.append((write, (b"300.00", b"12"), (1700, 23), 4, 5, b"UPDATE 1", None))
        transcript.wrote = True
        tape.intend(transcript, 6)
        tape.end("committed", 6, 7)

    return once


def client(dsn: str, way: str, folder: Path) -> Callable[[], object]:
    """A transaction of two statements on a server."""
    from troubadour.record.postgres.connection import RecordedConnection

    options: dict[str, Any] = {"cursor_factory": psycopg.RawCursor}
    if way.startswith("recorded"):
        options |= {"log": folder / "log.jsonl", "commit_order": "client"}
        connection: Any = RecordedConnection.connect(dsn, **options)
    else:
        connection = psycopg.connect(dsn, **options)
    cursor = connection.cursor()
    writes = way.endswith("writes")

    def once() -> None:
        cursor.execute(b"SELECT v FROM t WHERE id = $1", (1,))
        cursor.fetchone()
        if writes:
            cursor.execute(b"UPDATE t SET v = $1 WHERE id = $2", (5, 1))
        else:
            cursor.execute(b"SELECT v FROM t WHERE id = $1", (2,))
            cursor.fetchone()
        connection.commit()

    return once


def measure(way: str, dsn: str, count: int) -> list[float]:
    """All rounds of one process."""
    with tempfile.TemporaryDirectory() as folder:
        if way == "path":
            return rounds(path(Path(folder)), count, ROUND)
        return rounds(client(dsn, way, Path(folder)), count, ROUND // 10)


def _told(found: Mapping[tuple[str, str], list[float]]) -> None:
    for (way, name), times in found.items():
        times.sort()
        quartile = times[len(times) // 4]
        click.echo(f"{way:16} {name:6} least {times[0]:6.2f}, quartile {quartile:6.2f}, median {median(times):6.2f} us")


@click.command()
@click.option("--other", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another tree.")
@click.option("--turns", default=8, show_default=True, help="Processes of each tree.")
@click.option("--count", default=12, show_default=True, help="Rounds of each process.")
@click.option("--way", type=click.Choice(WAYS), multiple=True, default=WAYS)
@click.option("--measure", "measured", hidden=True)
def main(other: Path | None, turns: int, count: int, way: tuple[str, ...], measured: str | None) -> None:
    """Print the least, the lower quartile and the median, of each way and tree."""
    if measured is not None:
        sys.stdout.write(json.dumps(measure(way[0], measured, count)))
        sys.stdout.flush()
        os._exit(0)  # nothing is made of what was recorded
    from troubadour.record import EmbeddedPostgres

    trees = {"this": HERE} | ({"other": other} if other is not None else {})
    found: dict[tuple[str, str], list[float]] = {}
    with EmbeddedPostgres({"synchronous_commit": "off"}) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
            connection.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        for _ in range(turns):
            for one in way:
                for name, tree in trees.items() if not one.startswith("plain") else (("this", HERE),):
                    command = [sys.executable, str(Path(__file__)), "--way", one, "--count", str(count)]
                    ran = subprocess.run(
                        [*command, "--measure", server.dsn],
                        capture_output=True,
                        check=True,
                        env={**os.environ, "PYTHONPATH": str(tree)},
                    )
                    found.setdefault((one, name), []).extend(json.loads(ran.stdout))
    _told(found)


if __name__ == "__main__":
    main()
