"""Logs with the database's timestamps, audited offline and watched online: seconds, memory, flips (Chronos and Aion,
sections V and VI), into a page.

``python -m benchmarks.timestamps --page docs/histories.md`` (``make timestamps``). Logs are simulated, seeded, and each
command is a process of its own. Does not know how a log is judged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.anomalies.page import put
from benchmarks.timestamps.key_operations import APPLICATIONS, Keys
from troubadour.formats import LogWriter
from troubadour.record.simulated.objects import Plan, SimulatedObjects

Json = dict[str, Any]
COMMAND = (sys.executable, "-c", "from troubadour.cli.main import main; main()")
LEVELS = ("timestamp-snapshot", "timestamp-serializable")
BESIDE = (
    "| | level | violations by TimeKiller | by us | its CPU s | ours | its MiB | ours |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
)
TIMES = ("invoked", "start", "commit", "returned")
LIMIT = 200
"""MiB, of a run that is near the limit of its memory all the time."""
DELAY, SPREAD = 100.0, 10.0
"""Milliseconds by which a transaction comes late, of a normal distribution (section VI-C)."""


def recorded(folder: Path, name: str, *options: str) -> Path:
    """A simulated log of operations."""
    path = folder / f"{name}.jsonl"
    command = [*COMMAND, "record", "simulated", "--workload", "objects", *options, "--out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def run_of(folder: Path, name: str, workload: Keys, transactions: int) -> Path:
    """The log of an application's transactions on keys, 24 at once."""
    path = folder / f"{name}.jsonl"
    run = SimulatedObjects(workload, Plan(transactions, sessions=24, concurrency=24))
    with LogWriter(path, run.header()) as writer:
        for line in run.lines():
            writer.transaction(line)
    return path


def measured(*arguments: str, stdin: Path | None = None) -> tuple[Json, list[Json], float, float, int]:
    """The last line of a command, the lines before it, seconds by the clock and of the processor, and its MiB."""
    with tempfile.TemporaryFile() as out, (stdin or Path(os.devnull)).open("rb") as given:
        begun = time.monotonic()
        process = subprocess.Popen([*COMMAND, *arguments], stdout=out, stderr=subprocess.DEVNULL, stdin=given)
        _, _, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        out.seek(0)
        told = [json.loads(line) for line in out]
    return told[-1], told[:-1], seconds, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def delayed(path: Path, seed: int = 0) -> Iterator[bytes]:
    """The lines of a log as they come when each is late by a moment of its own, 500 transactions in 100 ms."""
    header, *lines = path.read_bytes().splitlines()
    ends = [lines.pop()] if b'"end"' in lines[-1][:20] else []
    rng = random.Random(seed)
    moments = [(number / 5 + rng.gauss(DELAY, SPREAD), number) for number in range(len(lines))]
    yield header
    for _, number in sorted(moments):
        yield lines[number]
    yield from ends


def offline(what: str, path: Path, levels: Sequence[str]) -> Iterator[str]:
    """A row for each level."""
    for level in levels:
        verdict, _, wall, cpu, mib = measured("audit", "--isolation", level, "--format", "json", str(path))
        violations = verdict["violations"]
        count = "-" if violations is None else f"{violations['count']:,}"
        yield (
            f"| audit, {what} | `{level}` | {verdict['verdict']} ({verdict['engine']}) | {count} | {wall:.1f} "
            f"| {cpu:.1f} | {mib:,} | |"
        )


def online(what: str, path: Path, levels: Sequence[str], *options: str, late: bool = False) -> Iterator[str]:
    """A row for each level, with what the audit says of the same log held against it."""
    if late:
        shuffled = path.with_suffix(".late")
        shuffled.write_bytes(b"".join(line + b"\n" for line in delayed(path)))
        path = shuffled
    for level in levels:
        verdict, events, wall, cpu, mib = measured("watch", "--isolation", level, *options, "-", stdin=path)
        last = events[-1]
        flips = [one for one in events if one["kind"] == "flip"]
        final = sum(one["kind"] == "violation" and one["final"] for one in events)
        listed = verdict["violations"]["count"] if verdict["violations"] else 0
        if verdict["verdict"] != "undecided":
            assert final == listed == last["violations"], (final, listed, last)
        several = len({one["transaction"] for one in flips})
        whole, followed = (last["transactions"] / max(spent, 0.01) for spent in (cpu, last["cpu"]))
        flipped = several / max(1, last["transactions"])
        told = f"{followed:,.0f}/s of the processor as it came, {whole:,.0f} with the end; {flipped:.1%} flip"
        yield (
            f"| watch, {what} | `{level}` | {verdict['verdict']} | {listed:,} | {wall:.1f} | {cpu:.1f} | {mib:,} "
            f"| {told} |"
        )


def rows(folder: Path, transactions: int, watched: int) -> Iterator[str]:
    """The table."""
    default = ("--sessions", "50", "--keys", "10000", "--concurrency", "16")
    for count in dict.fromkeys((transactions // 10, transactions)):
        log = recorded(folder, f"si-{count}", "--transactions", str(count), "--operations", "15", *default)
        yield from offline(f"{count:,} x 15 registers", log, LEVELS)
        log.unlink()
    lists = ("--type", "list", "--writes-per-key", "100", "--keys", "1000", "--concurrency", "16")
    log = recorded(folder, "lists", "--transactions", "10000", "--operations", "15", "--sessions", "50", *lists)
    yield from offline("10,000 x 15 lists", log, LEVELS)
    online_shape = ("--sessions", "24", "--operations", "8", "--keys", "10000", "--concurrency", "24")
    log = recorded(folder, "online", "--transactions", str(watched), *online_shape)
    yield from online(f"{watched:,} x 8, 24 sessions", log, LEVELS)
    yield from online(f"{watched:,} x 8, `--memory {LIMIT}`", log, LEVELS, "--memory", str(LIMIT))
    for name, workload in APPLICATIONS.items():
        yield from online(f"{watched // 5:,} of {name}", run_of(folder, name, workload(), watched // 5), LEVELS)
    log = recorded(folder, "delayed", "--transactions", "10000", *online_shape)
    yield from online("10,000 x 8, delayed N(100, 10²) ms", log, LEVELS, late=True)


def as_chronos(path: Path) -> Path:
    """The committed transactions of a log as Chronos' file, in the order of their commits."""
    with path.open("rb") as file:
        next(file)
        lines = [one for one in map(json.loads, file) if one.get("status") == "committed"]
    lines.sort(key=lambda one: int(one["commit"]))
    history = [
        {
            "tid": str(one["id"]),
            "sid": one["session"],
            "sts": {"p": one["start"], "l": 0},
            "cts": {"p": one["commit"], "l": 0},
            "ops": [{"t": kind, "k": key, "v": value} for kind, _, key, value in one["ops"]],
        }
        for one in lines
    ]
    found = path.with_suffix(".json")
    found.write_text(json.dumps(history), encoding="utf-8")
    return found


def beside(folder: Path, transactions: int, command: Sequence[str]) -> Iterator[str]:
    """A row for each level: the violations and seconds of TimeKiller, and ours, of one file of registers."""
    shape = ("--sessions", "50", "--keys", "10000", "--concurrency", "16", "--operations", "15")
    for fault in (None, "stale-snapshot", "lost-update", "own-write-missed", "session"):
        faults = () if fault is None else ("--fault", fault)
        log = recorded(folder, f"beside-{fault}", "--transactions", str(transactions), *shape, *faults)
        history = as_chronos(log)
        for level, model in zip(LEVELS, ("SI", "SER"), strict=True):
            out = folder / "timekiller.txt"
            with out.open("wb") as file:
                killer = subprocess.Popen(
                    [*command, "--history_path", str(history), "--consistency_model", model], stdout=file
                )
                _, _, used = os.wait4(killer.pid, 0)
            theirs = sum(line.startswith("Violation of ") for line in out.read_text(encoding="utf-8").splitlines())
            seconds = used.ru_utime + used.ru_stime
            options = ("--from", "chronos", "--isolation", level, "--ties", "visible", "--format", "json")
            verdict, _, _, cpu, mib = measured("audit", *options, str(history))
            ours = 0 if verdict["violations"] is None else verdict["violations"]["count"]
            yield (
                f"| {transactions:,} x 15, {fault or 'no fault'} | `{level}` | {theirs:,} | {ours:,} | {seconds:.1f} "
                f"| {cpu:.1f} | {used.ru_maxrss // 1024:,} | {mib:,} |"
            )


def joined(path: Path, times: int) -> Path:
    """A log so many times, each time later, by transactions and on keys of their own."""
    header, *lines, _ = path.read_bytes().splitlines()
    parsed = [json.loads(line) for line in lines]
    later = 1 + max(time for line in parsed for name in TIMES if (time := line.get(name)) is not None)
    keys = 1 + max(operation[2] for line in parsed for operation in line["ops"])
    numbers, ids = (1 + max(line[name] for line in parsed) for name in ("sno", "id"))
    found = path.with_name(f"{path.stem}-{times}.jsonl")
    with found.open("wb") as file:
        file.write(header + b"\n")
        for number in range(times):
            for line in parsed:
                moved = {name: line[name] + number * later for name in TIMES if name in line}
                ops = [[kind, name, key + number * keys, value] for kind, name, key, value in line["ops"]]
                own = {"id": line["id"] + number * ids, "sno": line["sno"] + number * numbers, "ops": ops}
                file.write(json.dumps({**line, **moved, **own}, separators=(",", ":")).encode() + b"\n")
        file.write(json.dumps({"kind": "end", "transactions": times * len(parsed)}).encode() + b"\n")
    return found


STAGES = """
import resource, sys, time
from troubadour.formats.read import read_either
from troubadour.replay.objects import by_timestamps, check_reading
def told(name, work):
    begun, spent = time.monotonic(), time.process_time()
    found = work()
    print(name, time.monotonic() - begun, time.process_time() - spent)
    return found
log = told("load", lambda: read_either([sys.argv[1]]))
reading = told("sort", lambda: by_timestamps(log, "timestamp-snapshot"))
told("check", lambda: check_reading(log, reading, "timestamp-snapshot"))
beside = resource.getrusage(resource.RUSAGE_CHILDREN)
print("beside", 0, beside.ru_utime + beside.ru_stime)
"""


def stages(folder: Path, transactions: int) -> Iterator[str]:
    """A row for each stage of an audit of a correct log, with what a process beside it used in all."""
    default = ("--sessions", "50", "--keys", "10000", "--concurrency", "16")
    log = recorded(folder, "si", "--transactions", str(transactions), "--operations", "15", *default)
    for path in (log, joined(log, 10)):
        done = subprocess.run([sys.executable, "-c", STAGES, path], check=True, capture_output=True, text=True)
        total = transactions * (1 if path == log else 10)
        for line in done.stdout.splitlines():
            name, wall, cpu = line.split()
            by_clock = "" if name == "beside" else f"{float(wall):.2f}"
            yield f"| {total:,} x 15, {name} | {by_clock} | {float(cpu):.2f} |"


def measurements(table: Sequence[str], commit: str) -> list[str]:
    """The table, with its heading."""
    head = [
        "| | level | verdict | violations | s by the clock | CPU s | MiB | |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    load = os.getloadavg()[0]
    return [f"At {commit}, two cores, load {load:.0f} at the end:", "", *head, *table]


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--watched", type=int, default=500_000)
    parser.add_argument("--timekiller", metavar="COMMAND", help="only hold TimeKiller, so started, beside the audit")
    parser.add_argument(
        "--stages", action="store_true", help="only the stages of audits, of so many and ten times as many"
    )
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    if given.timekiller is not None:
        with tempfile.TemporaryDirectory(prefix="troubadour-timestamps-") as folder:
            table = [*beside(Path(folder), given.transactions, shlex.split(given.timekiller))]
        lines = [f"At {commit.stdout.strip()}:", "", *BESIDE, *table]
        if given.page is None:
            print("\n".join(lines))
        else:
            put(given.page, "timekiller", lines)
        return
    if given.stages:
        with tempfile.TemporaryDirectory(prefix="troubadour-timestamps-") as folder:
            table = [*stages(Path(folder), given.transactions)]
        told = f"At {commit.stdout.strip()}, load {os.getloadavg()[0]:.0f} at the end:"
        lines = [told, "", "| | s by the clock | CPU s |", "|---|---:|---:|", *table]
        if given.page is None:
            print("\n".join(lines))
        else:
            put(given.page, "stages", lines)
        return
    with tempfile.TemporaryDirectory(prefix="troubadour-timestamps-") as folder:
        table = [*rows(Path(folder), given.transactions, given.watched)]
    lines = measurements(table, commit.stdout.strip())
    if given.page is None:
        print("\n".join(lines))
    else:
        put(given.page, "timestamps", lines)
