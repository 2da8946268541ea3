"""Histories before VeriStrong's checker and before ours in one run: verdicts, processor seconds and memory.

`python -m benchmarks.histories.peers ROOT CHECKER`: ROOT holds a clone of VeriStrong's artifact, CHECKER is its
program, built with acyclic-minisat alone. Does not know how either of them decides.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

FILE = "/hist-00000/history.bincode"

HISTORIES = (
    *(("cobra", f"fig5/{name}-1k") for name in ("rubis", "tpcc", "twitter")),
    *(("dbcop", f"fig10/20_100_15_{kind}_r_0.5_0.5_100{FILE}") for kind in (
        "2000_0.5", "5000_0.5", "10000_0.5", "5000_0.05", "5000_0.95")),
    *(("cobra", f"fig13-14-15-table1/{name}-10k") for name in ("rubis", "twitter")),
)  # fmt: skip
"""Format and path below the artifact's folder `history`."""

LEVEL = "session-snapshot"
"""What VeriStrong checks as SI keeps sessions."""

SECONDS = 120
_COMMAND = "from troubadour.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program: what it said, its processor seconds and its most memory, in MiB."""

    verdict: str
    seconds: float
    memory: int

    def cells(self) -> str:
        """As cells of a table."""
        return f"{self.verdict} | {self.seconds:.1f} | {self.memory:,}"


def ran(command: Sequence[str], said: str, words: dict[str, str]) -> Run:
    """Run a program for at most SECONDS of the processor; `said` finds its verdict in what it printed."""
    limited = ["sh", "-c", f'ulimit -t {SECONDS}; exec "$@"', "sh", *command]
    with subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    found = re.search(said, text)
    verdict = words.get(found[1], "-") if found else "-"
    return Run(verdict, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)


@click.command()
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("checker", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(root: Path, checker: Path) -> None:
    """Print a table: the other checker's verdict, seconds and MiB, and ours."""
    print("| history | VeriStrong | CPU s | MiB | here | CPU s | MiB |\n|---|---|---:|---:|---|---:|---:|")
    for form, name in HISTORIES:
        path = root / "VeriStrong" / "history" / name
        if not path.exists():
            continue
        theirs = ran(
            [str(checker), "--history-type", form, "--isolation-level", "si", "--pruning", "fast", str(path)],
            r"accept: (true|false)", {"true": "correct", "false": "violation"},
        )  # fmt: skip
        ours = ran(
            [sys.executable, "-c", _COMMAND, "audit", "--from", form, str(path), "--isolation", LEVEL,
             "--format", "json"],
            r'"verdict":"(\w+)"', {word: word for word in ("correct", "violation", "undecided")},
        )  # fmt: skip
        shown = name.removesuffix(FILE)
        print(f"| {shown} | {theirs.cells()} | {ours.cells()} |", flush=True)


if __name__ == "__main__":
    main()
