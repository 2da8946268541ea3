"""What is large: 500 clients at once, and messages of a gigabyte in either direction. What clients were acknowledged
is in the log, the bytes are those of the server, and the memory of the proxy's two processes is bounded. Does not know
how the proxy works.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from benchmarks.recording.proxied.servers import Postgres, Proxy, postgres, proxy
from troubadour.formats import read_log

MAIN = "from troubadour.cli.main import main; main()"
ANSWER = 1_000_000_000
"""Bytes of a value that the server sends; of a field it takes 1 GiB at most."""
TEXT = 400_000_000
"""Bytes of a statement: the server needs several times as many."""
PIECE = 1 << 20


def limits(connections: int) -> str:
    """The table."""
    lines = [
        "| what | bytes, or commits acknowledged | as the server has it | proxy, most memory | decoder |",
        "|---|---:|---|---:|---:|",
    ]
    with postgres("fsync = off\nsynchronous_commit = off") as server, tempfile.TemporaryDirectory() as folder:
        lines.append(_many(server, Path(folder) / "many.jsonl", connections))
        sys.stderr.write(lines[-1] + "\n")
        for what, question in (
            (f"an answer of {ANSWER:,} bytes", f"SELECT repeat('x', {ANSWER})".encode()),
            (f"a statement of {TEXT:,} bytes", b"SELECT length('" + b"y" * TEXT + b"')"),
        ):
            lines.append(_large(server, Path(folder) / f"{len(lines)}.jsonl", what, question))
            sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines)


def _many(server: Postgres, log: Path, connections: int) -> str:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE acks (n INT PRIMARY KEY)")
    acknowledged: list[int] = []

    async def work(port: int, number: int, all_there: asyncio.Barrier) -> None:
        dsn = f"host=127.0.0.1 port={port} user=postgres dbname=shop"
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await all_there.wait()
            for place in range(4):
                n = number + place * connections
                await connection.execute("INSERT INTO acks VALUES (%s)", (n,))
                acknowledged.append(n)

    async def everyone(port: int) -> None:
        all_there = asyncio.Barrier(connections)
        await asyncio.gather(*[work(port, number, all_there) for number in range(connections)])

    with proxy(server.dsn, log) as running:
        asyncio.run(everyone(running.port))
        memory = _memory(running)
        running.end()
    told = {
        int(str(statement.params[0]))
        for transaction in read_log([log]).transactions
        for statement in transaction.statements
        if isinstance(statement.params, tuple) and transaction.status == "committed"
    }
    audited = subprocess.run(
        [sys.executable, "-c", MAIN, "audit", str(log), "--format", "json"], capture_output=True, text=True, check=False
    )  # fmt: skip
    verdict = json.loads(audited.stdout)["verdict"]
    same = "yes" if told == set(acknowledged) else f"{len(told ^ set(acknowledged))} differ"
    return f"| {connections} clients at once | {len(acknowledged):,} | {same}, {verdict} | {memory} |"


def _large(server: Postgres, log: Path, what: str, question: bytes) -> str:
    bare, _ = _digest(server.port, question)
    with proxy(server.dsn, log) as running:
        through, size = _digest(running.port, question)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not _caught_up(running):
            time.sleep(0.2)
        memory = _memory(running)
        running.end()
    same = "yes, byte for byte" if bare == through else "no"
    return f"| {what} | {size + len(question):,} | {same} | {memory} |"


def _digest(port: int, question: bytes) -> tuple[str, int]:
    """Of what a server answers to a question, up to ReadyForQuery; and how many bytes that is."""
    startup = struct.pack(">I", 196608) + b"user\0postgres\0database\0shop\0\0"
    with socket.create_connection(("127.0.0.1", port)) as sock, sock.makefile("rb", buffering=PIECE) as file:
        sock.sendall(struct.pack(">I", len(startup) + 4) + startup)
        while _message(file.read) != b"Z":
            pass
        sock.sendall(b"Q" + struct.pack(">I", len(question) + 5) + question + b"\0")
        found, size = hashlib.sha256(), [0]

        def read(length: int) -> bytes:
            data: bytes = file.read(length)
            found.update(data)
            size[0] += len(data)
            return data

        while _message(read) != b"Z":
            pass
        sock.sendall(b"X\0\0\0\4")
    return found.hexdigest(), size[0]


def _message(read: Callable[[int], bytes]) -> bytes:
    """Read one message; its kind."""
    kind: bytes = read(1)
    left = int.from_bytes(read(4), "big") - 4
    while left:
        left -= len(read(min(left, PIECE)))
    return kind


def _processes(running: Proxy) -> tuple[int, int]:
    main = running.process.pid
    (decoder,) = map(int, Path(f"/proc/{main}/task/{main}/children").read_text(encoding="utf-8").split())
    return main, decoder


def _memory(running: Proxy) -> str:
    """The most that either process has had, in MiB."""
    found = []
    for process in _processes(running):
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        match = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert match is not None
        found.append(f"{int(match[1]) // 1024} MiB")
    return " | ".join(found)


def _caught_up(running: Proxy) -> bool:
    """Whether the decoder has done nothing for a while."""
    stat = Path(f"/proc/{_processes(running)[1]}/stat")
    before = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11]
    time.sleep(1)
    return before == stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11]
