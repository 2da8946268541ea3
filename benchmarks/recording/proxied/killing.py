"""The proxy, the process behind it, the server and a client killed at random moments, while clients commit: what of
their acknowledged commits the log lacks, and what an audit says. Does not know how the log is written."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psycopg

from benchmarks.recording.proxied.servers import Postgres, Proxy, postgres, proxy
from troubadour.formats import read_log

WAYS = ("proxy", "proxy and decoder", "server", "client", "decoder")
MAIN = "from troubadour.cli.main import main; main()"


@dataclass(slots=True)
class Found:
    """What came of the kills of one kind. `lost`: acknowledged commits that the log has not as committed; `unseen`:
    rows that the server kept, and the log neither has nor takes for possible; `exits`: of the audits."""

    runs: int = 0
    acknowledged: int = 0
    lost: int = 0
    unseen: int = 0
    exits: Counter[int] = field(default_factory=Counter)


def worker(port: int, number: int, acknowledged: set[int]) -> None:
    """Commit one row after the other, in transactions, alone and in pipelines, until the connection is gone."""
    n = number
    try:
        with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=shop", autocommit=True) as connection:
            while True:
                some = [n + 4 * place for place in range(3)]
                if n // 12 % 3 == 0:
                    with connection.transaction():
                        for one in some:
                            connection.execute("INSERT INTO acks VALUES (%s)", (one,))
                elif n // 12 % 3 == 1:
                    for one in some:
                        connection.execute("INSERT INTO acks VALUES (%s)", (one,))
                        acknowledged.add(one)
                else:
                    with connection.pipeline():
                        for one in some:
                            connection.execute("INSERT INTO acks VALUES (%s)", (one,))
                acknowledged.update(some)
                n += 12
    except psycopg.Error:
        pass


CLIENT = """
import sys
from benchmarks.recording.proxied.killing import worker
class Said(set):
    def add(self, one): print(one, flush=True)
    def update(self, some): print(*some, sep="\\n", flush=True)
worker(int(sys.argv[1]), 3, Said())
"""


def one(server: Postgres, way: str, seed: int, folder: Path, found: Found) -> str | None:
    """One kill; what is wrong, if anything is."""
    log = folder / f"run-{seed}.jsonl"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS acks")
        connection.execute("CREATE TABLE acks (n INT PRIMARY KEY)")
    acknowledged: set[int] = set()
    with proxy(server.dsn, log) as running:
        threads = [threading.Thread(target=worker, args=(running.port, n, acknowledged)) for n in range(3)]
        child = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(running.port)], stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        for thread in threads:
            thread.start()
        time.sleep(0.1 + random.Random(seed).random() * 0.3)
        decoders = _decoders(running)
        _kill(way, server, running, child, decoders)
        time.sleep(0.05)
        if way in ("client", "decoder"):
            running.end()
        for thread in threads:
            thread.join()
        child.kill()
        assert child.stdout is not None
        acknowledged.update(int(line) for line in child.stdout.read().split("\n")[:-1])
        child.wait()
        if way == "server":
            running.end()
    for decoder in decoders:
        while Path(f"/proc/{decoder}").exists() and "\nState:\tZ" not in _status(decoder):
            time.sleep(0.02)
    if way == "server":
        server.control("start")
    subprocess.run([sys.executable, "-c", MAIN, "log", "repair", str(log)], check=True, capture_output=True)
    return _judged(server, log, acknowledged, found)


def _status(process: int) -> str:
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return "\nState:\tZ"


def _decoders(running: Proxy) -> list[int]:
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in children.split()]


def _kill(way: str, server: Postgres, running: Proxy, child: subprocess.Popen[str], decoders: list[int]) -> None:
    import os

    if way in ("proxy", "proxy and decoder"):
        running.process.kill()
    if way in ("decoder", "proxy and decoder"):
        for decoder in decoders:
            os.kill(decoder, signal.SIGKILL)
    if way == "client":
        child.kill()
    if way == "server":
        server.control("-m", "immediate", "stop")


def _judged(server: Postgres, log: Path, acknowledged: set[int], found: Found) -> str | None:
    told = {
        int(str(statement.params[0])): transaction.status
        for transaction in read_log([log]).transactions
        for statement in transaction.statements
        if isinstance(statement.params, tuple) and statement.error is None
    }
    with psycopg.connect(server.dsn) as connection:
        kept = {n for (n,) in connection.execute("SELECT n FROM acks")}
    lost = [n for n in acknowledged if told.get(n) != "committed"]
    unseen = [n for n in kept if told.get(n) not in ("committed", "unknown")]
    audited = subprocess.run(
        [sys.executable, "-c", MAIN, "audit", str(log), "--format", "json"], capture_output=True, text=True, check=False
    )  # fmt: skip
    found.runs += 1
    found.acknowledged += len(acknowledged)
    found.lost += len(lost)
    found.unseen += len(unseen)
    found.exits[audited.returncode] += 1
    if lost or unseen or audited.returncode not in (0, 3):
        return f"{log}: lost {lost[:5]}, unseen {unseen[:5]}, audit {audited.returncode}: {audited.stdout[:500]}"
    if audited.returncode == 3:
        reason = json.loads(audited.stdout)["reason"]
        return f"undecided: {reason}"
    return None


def kills(runs: int, state: Path) -> str:
    """The table, after so many more runs. `state`: a file of JSON with what came of all runs so far; runs go on behind
    these, and it is written after each."""
    results, done, commits = _kept(state)
    settings = "fsync = off\nfull_page_writes = off"
    with postgres(settings) as server, tempfile.TemporaryDirectory() as folder:
        commits = sorted({*commits, _commit()}) if runs else commits
        for seed in range(done, done + runs):
            way = WAYS[seed % len(WAYS)]
            wrong = one(server, way, seed, Path(folder), results[way])
            if wrong is not None:
                sys.stderr.write(f"{seed}, {way}: {wrong}\n")
            told = {way: {**asdict(found), "exits": dict(found.exits)} for way, found in results.items()}
            kept = {"runs": seed + 1, "commits": commits, "by_way": told}
            state.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    lines = [
        "| killed | runs | commits acknowledged | lost | kept by the server, not in the log | correct | undecided |"
        " accused |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for way, found in results.items():
        accused = found.runs - found.exits[0] - found.exits[3]
        lines.append(
            f"| {way} | {found.runs} | {found.acknowledged:,} | {found.lost} | {found.unseen} | {found.exits[0]} |"
            f" {found.exits[3]} | {accused} |"
        )
    return "\n".join(lines)


def _kept(state: Path) -> tuple[dict[str, Found], int, list[str]]:
    """What came of the runs so far, how many they were, and of which commits."""
    results = {way: Found() for way in WAYS}
    if not state.exists():
        return results, 0, []
    kept = json.loads(state.read_text(encoding="utf-8"))
    for way, told in kept["by_way"].items():
        exits = Counter({int(status): count for status, count in told.pop("exits").items()})
        results[way] = Found(**told, exits=exits)
    return results, int(kept["runs"]), list(kept["commits"])


def _commit() -> str:
    said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return said.stdout.strip()
