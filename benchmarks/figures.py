"""``python -m benchmarks.figures``: what an audit takes, as ratios within one run, written into docs/benchmarks.md.

A serial bank log of key reads and updates, one transaction after another, is audited by the command, and its statements
are replayed by SQLite in memory, each in a process of its own: the ratio of their processor seconds hangs less on the
machine and on what else it does than either. Fails where a ratio is 1.3 times the one last kept (`--update` keeps new
ones). Does not know how an audit decides.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
KEPT = Path(__file__).with_suffix(".json")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
WORSE = 1.3
ACCOUNTS = 1000
SCHEMA = "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)"
READ = "SELECT balance FROM accounts WHERE id = $1"
MOVE = "UPDATE accounts SET balance = balance + $1 WHERE id = $2"
RUNS = 2
AUDITS = (("serializable", 100_000), ("strict-serializable", 30_000), ("snapshot", 30_000))
PROFILES = (("postgres:repeatable-read", 30_000), ("postgres:serializable", 30_000))
REPLAY = """
import json, sqlite3, sys, time
lines = open(sys.argv[1])
header = json.loads(next(lines))
log = [[(one["sql"].replace("$", "?"), one["params"], "result" in one) for one in json.loads(line)["statements"]]
       for line in lines]
database = sqlite3.connect(":memory:", isolation_level=None)
database.execute(header["schema"][0])
database.executemany("INSERT INTO accounts VALUES (?, ?)", header["initial"]["accounts"]["rows"])
begun = time.process_time()
for transaction in log:
    database.execute("BEGIN")
    for text, params, reads in transaction:
        answer = database.execute(text, params)
        if reads:
            answer.fetchall()
    database.execute("COMMIT")
print(time.process_time() - begun)
"""


@dataclass(frozen=True, slots=True)
class Took:
    """Processor seconds and MiB of a process."""

    seconds: float
    memory: float


def bank(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """The lines of a log of `count` transactions: two reads, a read and a change, or a transfer."""
    rng = random.Random(seed)
    balance = dict.fromkeys(range(ACCOUNTS), 1000)
    rows = [[key, 1000] for key in range(ACCOUNTS)]
    yield {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "isolation": "serializable",
        "schema": [SCHEMA],
        "initial": {"accounts": {"columns": ["id", "balance"], "rows": rows}},
    }

    def read(key: int) -> dict[str, Any]:
        return {"sql": READ, "params": [key], "result": {"columns": ["balance"], "rows": [[balance[key]]]}}

    def move(key: int, amount: int) -> dict[str, Any]:
        balance[key] += amount
        return {"sql": MOVE, "params": [amount, key], "affected": 1}

    for place in range(count):
        kind, amount = rng.random(), rng.randint(1, 50)
        one, other = rng.sample(range(ACCOUNTS), 2)
        if kind < 0.4:
            statements = [read(one), read(other)]
        elif kind < 0.6:
            statements = [read(one), move(one, amount)]
        else:
            statements = [read(one), move(one, -amount), move(other, amount)]
        times = {"start": 2 * place, "commit": 2 * place + 1, "invoked": 1000 * place, "returned": 1000 * place + 500}
        yield {"id": place, "session": place % 4, "status": "committed", **times, "statements": statements}


def took(arguments: Sequence[str]) -> Took:
    """What a process takes that ends well; the least of some runs."""
    found: list[Took] = []
    for _ in range(RUNS):
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise click.ClickException(f"{' '.join(arguments)} ended with {process.returncode}")
        found.append(Took(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return min(found, key=lambda one: one.seconds)


def measured() -> dict[str, tuple[float, float, str]]:
    """By what was done: the ratio, MiB, and what the ratio is of."""
    command = str(Path(sys.executable).with_name("troubadour"))
    found: dict[str, tuple[float, float, str]] = {}
    bare = took([sys.executable, "-c", "pass"]).seconds
    with tempfile.TemporaryDirectory() as folder:
        logs: dict[int, Path] = {}
        replays: dict[int, float] = {}
        for count in sorted({1, *(count for _, count in (*AUDITS, *PROFILES))}):
            logs[count] = Path(folder) / f"{count}.jsonl"
            with logs[count].open("w", encoding="utf-8") as file:
                for line in bank(count):  # what is held here would count among the memory of what is started
                    print(json.dumps(line), file=file)
            run = [sys.executable, "-c", REPLAY, str(logs[count])]
            replays[count] = min(float(subprocess.check_output(run, text=True)) for _ in range(RUNS))
        for name, arguments in (("--help", ["--help"]), ("audit of one transaction", ["audit", str(logs[1])])):
            one = took([command, *arguments])
            found[name] = one.seconds / bare, one.memory, f"an empty Python process; {one.seconds:.2f} s"
        for level, count in (*AUDITS, *PROFILES):
            one = took([command, "audit", "--isolation", level, str(logs[count])])
            name = f"bank, {count:,} serial transactions, {level}"
            found[name] = one.seconds / replays[count], one.memory, f"SQLite's replay; {one.seconds:.1f} s"
    return found


def page_of(found: dict[str, tuple[float, float, str]], commit: str, load: float) -> str:
    """The table as docs/benchmarks.md has it."""
    lines = [
        f"Commit {commit}, the least of {RUNS} runs, load {load:.1f} (processor seconds of whole processes, divided by "
        "those of the baseline in the same run):",
        "",
        "| work | times | the baseline; processor seconds of ours | peak MiB |",
        "|---|---:|---|---:|",
        *(f"| {name} | {ratio:.1f} | {of} | {memory:.0f} |" for name, (ratio, memory, of) in found.items()),
    ]
    return "\n".join([BEGIN, *lines, END])


@click.command()
@click.option("--update", is_flag=True, help="Keep these figures, and write them into docs/benchmarks.md.")
def main(update: bool) -> None:
    """Measure; exit status 1 where a ratio is worse than the last one kept allows."""
    found = measured()
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True, cwd=ROOT).strip()
    text = page_of(found, commit, os.getloadavg()[0])
    print(text)
    kept: dict[str, float] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    worse = [name for name, (ratio, _, _) in found.items() if name in kept and ratio > WORSE * kept[name]]
    if update:
        KEPT.write_text(json.dumps({name: round(ratio, 2) for name, (ratio, _, _) in found.items()}, indent=1) + "\n")
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: text, page, flags=re.S), encoding="utf-8")
    elif worse:
        raise click.ClickException(f"worse than {WORSE} times what was kept: {', '.join(worse)}")


if __name__ == "__main__":
    main()
