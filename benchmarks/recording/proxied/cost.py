"""What the proxy costs: pgbench on the bare server, through socat, and through the proxy, in turns (A B C A B C), on a
server that flushes and one that does not. Throughput, and the processor time of the proxy's two processes. Does not
know how it works."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from benchmarks.recording.proxied.servers import BINARIES, Postgres, postgres, proxy

TICK = os.sysconf("SC_CLK_TCK")
SETTINGS = {
    "flushed": "synchronous_commit = on",
    "not flushed": "fsync = off\nsynchronous_commit = off\nfull_page_writes = off",
}


def cpu(process: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def bench(port: int, mode: str, seconds: int) -> tuple[float, int]:
    """Transactions a second, and how many they were."""
    command = [str(BINARIES / "pgbench"), "-n", "-M", mode, "-c", "4", "-T", str(seconds)]
    command += ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "shop"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.search(r"tps = ([\d.]+)", said)
    count = re.search(r"actually processed: (\d+)", said)
    assert rate is not None
    assert count is not None
    return float(rate[1]), int(count[1])


def cost(rounds: int, seconds: int) -> str:
    """The table."""
    lines = [
        "| server | protocol | bare, per second | socat | proxy | forwarding, CPU s per 1,000 |"
        " decoding, CPU s per 1,000 |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, settings in SETTINGS.items():
        with postgres(settings) as server:
            initialize = ["-h", str(server.folder), "-p", str(server.port), "-U", "postgres", "shop"]
            subprocess.run([str(BINARIES / "pgbench"), "-i", "-q", *initialize], check=True, capture_output=True)
            for mode in ("simple", "extended"):
                lines.append(f"| {name} | {mode} | {_row(server, mode, rounds, seconds)} |")
                sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines)


def _row(server: Postgres, mode: str, rounds: int, seconds: int) -> str:
    ratios: dict[str, list[float]] = defaultdict(list)
    bare, forwarding, decoding = [], [], []
    for _ in range(rounds):
        rate, _count = bench(server.port, mode, seconds)
        bare.append(rate)
        with ExitStack() as stack:
            target = f"UNIX-CONNECT:{server.folder}/.s.PGSQL.{server.port}"
            socat = subprocess.Popen(["socat", "TCP-LISTEN:5720,bind=127.0.0.1,reuseaddr,fork,nodelay", target])
            stack.callback(socat.wait)
            stack.callback(socat.terminate)
            time.sleep(0.3)
            ratios["socat"].append(bench(5720, mode, seconds)[0] / rate)
        with tempfile.TemporaryDirectory() as folder, proxy(server.dsn, Path(folder) / "run.jsonl") as running:
            main = running.process.pid
            (decoder,) = map(int, Path(f"/proc/{main}/task/{main}/children").read_text(encoding="utf-8").split())
            before, behind = cpu(main), cpu(decoder)
            through, count = bench(running.port, mode, seconds)
            ratios["proxy"].append(through / rate)
            forwarding.append((cpu(main) - before) / count * 1000)
            decoding.append(_decoded(running.port, decoder, behind) / count * 1000)
    shown = [f"{statistics.median(bare):,.0f}"]
    shown += [f"{statistics.median(ratios[kind]):.2f}" for kind in ("socat", "proxy")]
    shown += [f"{statistics.median(found):.2f}" for found in (forwarding, decoding)]
    return " | ".join(shown)


def _decoded(port: int, decoder: int, before: float) -> float:
    """The processor time of the decoder, once it has caught up: it does nothing more."""
    last = -1.0
    while (now := cpu(decoder)) != last:
        last = now
        time.sleep(0.5)
    return last - before
