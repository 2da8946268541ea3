"""What the recorder itself does for a transaction, without a server: begin, two statements, the intent, the end. Of two
trees of this program in turns, so that both meet the same machine: processes of one and of the other, the least and the
median of many rounds. Does not know what psycopg does beside it.

    python -m benchmarks.recording.path [--other FOLDER]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import thread_time_ns

import click

ROUND = 2000
"""Transactions of a round."""
HERE = Path(__file__).parents[2]


def rounds(count: int) -> list[float]:
    """Microseconds of processor for a transaction, of each round."""
    from troubadour.record.core.journal import Journal
    from troubadour.record.core.tape import Tape

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("{}\n")
        journal = Journal(path, "")
        tape = Tape(journal, "postgres:repeatable-read", raw=list)
        begun = getattr(tape, "begun", None)
        read, write = journal.text(b"SELECT balance FROM t WHERE id = $1"), journal.text(b"UPDATE t SET balance = $1")
        found = []
        for _ in range(count):
            started = thread_time_ns()
            for n in range(ROUND):
                transcript = tape.begin(n)
                if begun is not None:
                    begun(n)
                transcript.statements.append((read, (b"12", b"34"), (23, 1700), n, n, b"SELECT 1", [b"310.00"]))
                transcript.statements.append((write, (b"300.00", b"12"), (1700, 23), n, n, b"UPDATE 1", None))
                transcript.wrote = True
                tape.intend(transcript, n)
                tape.end("committed", n, n)
            found.append((thread_time_ns() - started) / 1000 / ROUND)
        journal._file.close()
        journal.closed = True
    return found


@click.command()
@click.option("--other", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another tree.")
@click.option("--turns", default=12, show_default=True, help="Processes of each tree.")
@click.option("--count", default=25, show_default=True, help="Rounds of each process.")
@click.option("--measure", is_flag=True, hidden=True)
def main(other: Path | None, turns: int, count: int, measure: bool) -> None:
    """Print the least, the lower quartile and the median, of each tree."""
    if measure:
        sys.stdout.write(json.dumps(rounds(count)))
        sys.stdout.flush()
        os._exit(0)
    trees = {"this": HERE} | ({"other": other} if other is not None else {})
    found: dict[str, list[float]] = {name: [] for name in trees}
    for _ in range(turns):
        for name, tree in trees.items():
            command = [sys.executable, str(Path(__file__)), "--measure", "--count", str(count)]
            ran = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(tree)})
            found[name] += json.loads(ran.stdout)
    for name, times in found.items():
        times.sort()
        click.echo(
            f"{name}: least {times[0]:.2f}, quartile {times[len(times) // 4]:.2f}, median {median(times):.2f} us"
        )


if __name__ == "__main__":
    main()
