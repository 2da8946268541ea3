"""``python -m benchmarks.figures``: what an audit takes, as ratios within one run, written into docs/benchmarks.md.

A serial bank log of key reads and updates, one transaction after another, is audited by the command, and its statements
are replayed by SQLite in memory, each in a process of its own: the ratio of their processor seconds hangs less on the
machine and on what else it does than either. So is one whose transactions overlap, as on a server with snapshots;
recorded logs of applications are audited beside reading their JSON, and a folder of logs by several jobs beside one.
Fails where a ratio is 1.3 times the one last kept (`--update` keeps new ones). Does not know how an audit decides.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
RUNS = 3
AUDITS = (("serializable", 100_000), ("strict-serializable", 30_000), ("snapshot", 30_000))
PROFILES = (("postgres:repeatable-read", 30_000), ("postgres:serializable", 30_000))
OVERLAPPING = (("postgres:repeatable-read", 30_000), ("snapshot", 30_000), ("postgres:read-committed", 30_000))
WORKLOADS = 5_000
"""Committed transactions of each recorded log."""
GATED, GATED_SIZE = 8, 100_000
"""Logs of a folder, and transactions in each."""
BEHIND = 6
"""Commits that a snapshot may miss."""
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

READING = """
import gzip, json, sys, time
with gzip.open(sys.argv[1]) as lines:
    lines = lines.readlines()
begun = time.process_time()
for line in lines:
    json.loads(line)
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


def overlapping(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """The lines of a log of `count` transactions of a bank, each of which may miss the last commits; what it changes
    was not changed since. The client's times alone tell when, and leave some states open."""
    rng = random.Random(seed)
    versions: dict[int, list[tuple[int, int]]] = {key: [(-1, 1000)] for key in range(ACCOUNTS)}
    header = next(bank(0))
    yield header

    def at(key: int, state: int) -> int:
        return next(value for place, value in reversed(versions[key]) if place <= state)

    for place in range(count):
        state = max(-1, place - 1 - rng.randint(0, BEHIND))
        sent = 1000 * state + 650
        end = {"invoked": 1000 * place + 400, "returned": 1000 * place + 600}
        one, other = rng.sample(range(ACCOUNTS), 2)
        amount = rng.randint(1, 50)
        statements: list[dict[str, Any]] = []
        moved = ((one, -amount), (other, amount))[: rng.randint(0, 2)]
        free = all(versions[key][-1][0] <= state for key, _ in moved)
        for number, key in enumerate((one, other)):
            # the first answer may come after commits that its snapshot misses
            asked = sent + 20 * number
            answered = min(asked + rng.randint(10, 1500), end["invoked"] - 100) if number else asked + 15
            row = {"columns": ["balance"], "rows": [[at(key, state)]]}
            statements.append({"sql": READ, "params": [key], "invoked": asked, "returned": answered, "result": row})
        sent = statements[-1]["returned"] + 1
        for key, more in moved if free else ():
            statements.append(
                {"sql": MOVE, "params": [more, key], "invoked": sent, "returned": sent + 5, "affected": 1}
            )
            sent += 10
            versions[key] = [*versions[key][-3:], (place, at(key, state) + more)]
        times = {"invoked": statements[0]["invoked"] - 10, "returned": end["returned"] + 10}
        yield {"id": place, "status": "committed", **times, "statements": statements, "end": end}


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


def replayed(log: Path, lines: Iterator[dict[str, Any]]) -> float:
    """Write a log; the processor seconds of its statements in SQLite, the least of some runs."""
    with log.open("w", encoding="utf-8") as file:
        for line in lines:  # what is held here would count among the memory of what is started
            print(json.dumps(line), file=file)
    run = [sys.executable, "-c", REPLAY, str(log)]
    return min(float(subprocess.check_output(run, text=True)) for _ in range(RUNS))


def of_workloads(found: dict[str, tuple[float, float, str]]) -> None:
    """Recorded logs of the paper's applications, at its sizes and levels."""
    command = str(Path(sys.executable).with_name("troubadour"))
    # elsewhere: memory that this process holds would count among that of what it starts
    recording = [sys.executable, "-c", "from benchmarks.figures import record_workloads; record_workloads()"]
    for name, level, log in json.loads(subprocess.check_output(recording, text=True, cwd=ROOT)):
        run = [sys.executable, "-c", READING, log]
        base = min(float(subprocess.check_output(run, text=True)) for _ in range(RUNS))
        one = took([command, "audit", "--isolation", level, log])
        what = f"reading the JSON; {one.seconds:.1f} s, {WORKLOADS / one.seconds:,.0f} a second"
        found[f"{name}, {WORKLOADS:,} recorded transactions, {level}"] = one.seconds / base, one.memory, what


def record_workloads() -> None:
    """Record the logs that are missing, and print all: the workload, its level, the path."""
    from benchmarks.paper.runs import LEVELS, logs

    names = ("Twitter", "RUBiS", "TPC-C")
    with logs(ROOT / "build" / "figures", WORKLOADS) as recorded:
        found = [(name, level, str(recorded.workload(name, level))) for name in names for level in LEVELS]
    print(json.dumps(found))


def of_gates(found: dict[str, tuple[float, float, str]]) -> None:
    """A folder of logs of one size: seconds by the clock with two jobs, here and on workers, to those with one."""
    command = str(Path(sys.executable).with_name("troubadour"))
    with tempfile.TemporaryDirectory() as folder, workers(Path(folder), 2) as address:
        for number in range(GATED):
            with (Path(folder) / f"{number}.jsonl").open("w", encoding="utf-8") as file:
                for line in bank(GATED_SIZE, seed=number):
                    print(json.dumps(line), file=file)

        def spent(*options: str) -> float:
            begun = time.monotonic()
            subprocess.run([command, "gate", folder, *options], check=True, stdout=subprocess.DEVNULL)
            return time.monotonic() - begun

        alone = spent("--jobs", "1")
        for name, options in {"--jobs 2": ("--jobs", "2"), "--cluster, two workers": ("--cluster", address)}.items():
            took_ = spent(*options)
            what = f"the clock's seconds of --jobs 1; {took_:.1f} s, {alone / took_:.2f} times as fast"
            found[f"gate of {GATED} logs of {GATED_SIZE:,}, {name}"] = took_ / alone, 0, what


@contextmanager
def workers(folder: Path, count: int) -> Iterator[str]:
    """The address of a scheduler on this machine with workers of one thread each."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    running: list[subprocess.Popen[bytes]] = []

    def start(program: str, *options: str) -> None:
        run = [sys.executable, "-c", f"from distributed.cli.{program} import main; main()", *options, "--no-dashboard"]
        running.append(subprocess.Popen(run, stderr=subprocess.DEVNULL, cwd=folder))

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
        for _ in range(count):
            start("dask_worker", address, "--no-nanny", "--nthreads", "1", "--local-directory", str(folder))
        waiting = "import sys, distributed as d; d.Client(sys.argv[1]).wait_for_workers(int(sys.argv[2]), 60)"
        subprocess.run([sys.executable, "-c", waiting, address, str(count)], check=True)
        yield address
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def of_start_up(found: dict[str, tuple[float, float, str]]) -> None:
    """What starting up takes."""
    command = str(Path(sys.executable).with_name("troubadour"))
    bare = took([sys.executable, "-c", "pass"]).seconds
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "1.jsonl"
        replayed(log, bank(1))
        for name, arguments in (("--help", ["--help"]), ("audit of one transaction", ["audit", str(log)])):
            one = took([command, *arguments])
            found[name] = one.seconds / bare, one.memory, f"an empty Python process; {one.seconds:.2f} s"


def of_banks(found: dict[str, tuple[float, float, str]]) -> None:
    """Simulated logs of banks."""
    command = str(Path(sys.executable).with_name("troubadour"))
    with tempfile.TemporaryDirectory() as folder:
        logs: dict[int, Path] = {}
        replays: dict[int, float] = {}
        for count in sorted({count for _, count in (*AUDITS, *PROFILES)}):
            logs[count] = Path(folder) / f"{count}.jsonl"
            replays[count] = replayed(logs[count], bank(count))

        def put(name: str, log: Path, base: float, level: str, *options: str) -> None:
            one = took([command, "audit", "--isolation", level, *options, str(log)])
            found[f"bank, {name}"] = one.seconds / base, one.memory, f"SQLite's replay; {one.seconds:.1f} s"

        for count in sorted({count for _, count in OVERLAPPING}):
            log = Path(folder) / f"overlapping-{count}.jsonl"
            base = replayed(log, overlapping(count))
            for level in (level for level, some in OVERLAPPING if some == count):
                put(f"{count:,} overlapping transactions, {level}", log, base, level)
        for level, count in (*AUDITS, *PROFILES):
            put(f"{count:,} serial transactions, {level}", logs[count], replays[count], level)
        level, count = AUDITS[0]
        name, page = f"{count:,} serial transactions, {level}, with its page", str(Path(folder) / "report.html")
        put(name, logs[count], replays[count], level, "--report", page)


PARTS = {"start-up": of_start_up, "banks": of_banks, "workloads": of_workloads, "gate": of_gates}


Kept = dict[str, dict[str, Any]]
"""By what was done: the ratio, MiB, what the ratio is of, commit and load."""


def page_of(kept: Kept) -> str:
    """The table as docs/benchmarks.md has it."""
    lines = [
        f"The least of {RUNS} runs (processor seconds of whole processes, divided by those of the baseline",
        "in the same run; of a gate the clock's, once):",
        "",
        "| work | times | the baseline; what ours took | peak MiB | commit, load |",
        "|---|---:|---|---:|---|",
        *(
            f"| {name} | {one['ratio']:.2f} | {one['of']} | {one['memory'] or ''} | {one['commit']}, {one['load']:g} |"
            for name, one in kept.items()
        ),
    ]
    return "\n".join([BEGIN, *lines, END])


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--update", is_flag=True, help="Keep these figures, and write them into docs/benchmarks.md.")
def main(parts: tuple[str, ...], update: bool) -> None:
    """Measure PARTS, by default all; exit status 1 where a ratio is worse than the last one kept allows."""
    commit = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], text=True, cwd=ROOT).strip()
    kept: Kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    measured: Kept = {}
    for part in parts or PARTS:
        found: dict[str, tuple[float, float, str]] = {}
        PARTS[part](found)
        load = round(os.getloadavg()[0], 1)
        for name, (ratio, memory, of) in found.items():
            one = {"ratio": round(ratio, 2), "memory": round(memory), "of": of, "commit": commit, "load": load}
            measured[name] = one
    print(page_of(measured))
    worse = [name for name, one in measured.items() if name in kept and one["ratio"] > WORSE * kept[name]["ratio"]]
    if update:
        kept |= measured
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: page_of(kept), page, flags=re.S), encoding="utf-8")
    elif worse:
        raise click.ClickException(f"worse than {WORSE} times what was kept: {', '.join(worse)}")


if __name__ == "__main__":
    main()
