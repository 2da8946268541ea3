"""``python -m benchmarks.streams``: logs that are read once, what they take at growing sizes, cut in parts, and ended.

Serial logs of a bank (`benchmarks.figures.bank`), some with checkpoints. *Read once*: microseconds of a processor for a
transaction, and memory, of a file and through a pipe. *Parts*: seconds by the clock on one process and on two. *Ended*:
audits and `watch` with ``--resume`` that are killed somewhere: whether verdict and witness are those of one that was
not, and how much of the log was judged again. *Late violations*: a wrong value, a lost update and a phantom after
nine tenths of a log, and how many times the right log's processor seconds they take. Does not know how an audit
decides.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import click

from benchmarks.figures import ACCOUNTS, MOVE, READ, bank

LEVELS = ("strict-serializable", "postgres:repeatable-read")
COMMAND = [str(Path(sys.executable).with_name("troubadour")), "audit", "--quiet", "--isolation"]


def with_checkpoints(count: int, parts: int) -> Iterator[dict[str, Any]]:
    """The lines of a bank's log that can be cut in so many parts."""
    lines = bank(count)
    header = next(lines)
    balances = dict(header["initial"]["accounts"]["rows"])
    yield header
    for place, line in enumerate(lines, 1):
        yield line
        for one in line["statements"]:
            if "affected" in one:
                balances[one["params"][1]] += one["params"][0]
        if place % (count // parts) == 0 and place < count:
            result = {"columns": ["id", "balance"], "rows": [list(row) for row in balances.items()]}
            times = {"invoked": line["returned"] + 100, "returned": line["returned"] + 200}
            statements = [{"sql": "SELECT * FROM accounts", "result": result}]
            yield {
                "kind": "checkpoint",
                "id": f"checkpoint {place}",
                "status": "committed",
                **times,
                "statements": statements,
            }


KINDS = ("value", "lost update", "phantom")


def with_violation(count: int, kind: str) -> Iterator[dict[str, Any]]:
    """The lines of a bank's log of which nine tenths are right. Then a read is wrong by one; or two that overlap read
    the same balance, and both change it; or one does not see a new account, and sees it a moment later."""
    balances = dict.fromkeys(range(ACCOUNTS), 1000)
    at, lines = count * 9 // 10, bank(count)
    yield next(lines)
    for place, line in enumerate(lines):
        if place >= at and kind == "value" and "result" in line["statements"][0]:
            line["statements"][0]["result"]["rows"][0][0] += 1
            kind = ""
        elif place in (at, at + 1) and kind in ("lost update", "phantom"):
            line["statements"] = _overlapping(kind, place - at, balances[5])
            line["start"], line["invoked"] = 2 * at, 1000 * at + 10 * (place - at)
            line["returned"] = 1000 * (at + 1) + 600 + 10 * (place - at)
            if kind == "phantom":
                line["commit"] = 2 * at + 5 - 2 * (place - at)
        for one in line["statements"]:
            if one["sql"] == MOVE:
                balances[one["params"][1]] += one["params"][0]
        yield line


def _overlapping(kind: str, number: int, balance: int) -> list[dict[str, Any]]:
    """The statements of the first and the second of two that overlap."""
    if kind == "lost update":
        read = {"sql": READ, "params": [5], "result": {"columns": ["balance"], "rows": [[balance]]}}
        sql = "UPDATE accounts SET balance = $1 WHERE id = $2"
        return [read, {"sql": sql, "params": [balance + 7 + number, 5], "affected": 1}]
    if number:
        return [{"sql": "INSERT INTO accounts VALUES ($1, 1)", "params": [ACCOUNTS], "affected": 1}]
    sql = "SELECT id FROM accounts WHERE id >= $1"
    rows: list[list[list[int]]] = [[], [[ACCOUNTS]]]
    return [{"sql": sql, "params": [ACCOUNTS], "result": {"columns": ["id"], "rows": one}} for one in rows]


def write(path: Path, lines: Iterator[dict[str, Any]]) -> Path:
    """Write a log."""
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            print(json.dumps(line, separators=(",", ":")), file=file)
    return path


class Ran:
    """A run of a command: its status, processor seconds, MiB and seconds by the clock."""

    def __init__(self, arguments: Sequence[str], log: Path | None = None) -> None:
        """`log`: what it gets through a pipe."""
        begun = time.monotonic()
        source = None if log is None else subprocess.Popen(["cat", log], stdout=subprocess.PIPE).stdout
        self._process = subprocess.Popen(arguments, stdin=source, stdout=subprocess.DEVNULL)
        self._begun = begun

    def killed_after(self, seconds: float, log: Path) -> int:
        """Kill it once it has taken so many processor seconds; how much of a log it had read."""
        ticks, folder = os.sysconf("SC_CLK_TCK"), Path(f"/proc/{self._process.pid}")
        while (fields := (folder / "stat").read_text().rsplit(")", 1)[1].split())[0] != "Z":
            if (int(fields[11]) + int(fields[12])) / ticks >= seconds:
                self.stop()
                read = _read_of(folder, log)
                self.kill()
                return read
            time.sleep(0.002)
        return 0

    def kill(self) -> None:
        """Kill it, if it has not ended; `wait` tells."""
        os.kill(self._process.pid, signal.SIGKILL)  # Popen's would wait for one that has

    def closing(self, log: Path) -> int:
        """Stop it, and tell how much of a log a process has read that it has forked."""
        self.stop()
        own = Path(f"/proc/{self._process.pid}")
        children = (own / "task" / own.name / "children").read_text().split()
        called = (own / "cmdline").read_bytes()
        for child in (own.with_name(one) for one in children):
            with suppress(FileNotFoundError):  # it has ended
                if (child / "cmdline").read_bytes() == called:
                    return _read_of(child, log)
        return 0

    def stop(self) -> None:
        """Stop it, if it has not ended."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def wait(self) -> Ran:
        """Until it has ended."""
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.seconds, self.memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        self.clock = time.monotonic() - self._begun
        return self


def _read_of(process: Path, log: Path) -> int:
    """How much of a log a process has read."""
    for one in (process / "fd").iterdir():
        if one.resolve() == log.resolve():
            return int((process / "fdinfo" / one.name).read_text().split()[1])
    return 0


def read_once(folder: Path, sizes: Sequence[int]) -> None:
    """What logs of some sizes take."""
    start = Ran([*COMMAND, LEVELS[0], str(write(folder / "log", bank(1)))]).wait().seconds
    print(f"start-up: {start:.2f} CPU s")
    for size in sizes:
        log = write(folder / "log", bank(size))
        for level in LEVELS:
            for name in ("a file", "a pipe"):
                piped = name == "a pipe"
                one = Ran([*COMMAND, level, "-" if piped else str(log)], log if piped else None).wait()
                each = (one.seconds - start) / size * 1e6
                what = "correct" if one.status == 0 else f"status {one.status}"
                print(f"{size:,} at {level}, {name}: {each:.1f} us, {one.memory:.0f} MiB, {what}", flush=True)


def parts(folder: Path, size: int) -> None:
    """What a log in eight parts takes."""
    log = write(folder / "log", with_checkpoints(size, 8))
    alone, two = (Ran([*COMMAND, LEVELS[0], str(log), "--jobs", jobs]).wait() for jobs in ("1", "2"))
    told = f"{alone.clock:.1f} s on one process, {two.clock:.1f} on two, {alone.clock / two.clock:.2f} times as fast"
    print(f"{size:,} in 8 parts: {told}; status {alone.status} and {two.status}", flush=True)


def ended(folder: Path, size: int, times: int) -> None:
    """What becomes of audits that are killed."""
    log, state, witness = write(folder / "log", bank(size)), folder / "state", folder / "witness"
    start = Ran([*COMMAND, LEVELS[0], str(write(folder / "one", bank(1)))]).wait().seconds
    arguments = [*COMMAND, LEVELS[1], str(log), "--witness", str(witness)]
    whole = Ran(arguments).wait()
    wanted = witness.read_bytes()
    chosen, same, again = random.Random(1), 0, []
    for _ in range(times):
        first = Ran([*arguments, "--resume", str(state)])
        read = first.killed_after(start + chosen.random() * (whole.seconds - start), log)
        second = first.wait()
        if first.status < 0:
            noted = json.loads(state.read_bytes())["position"]["read"] if state.exists() else 0
            again.append((read - noted) / log.stat().st_size)
            second = Ran([*arguments, "--resume", str(state)]).wait()
        same += second.status == 0 and witness.read_bytes() == wanted and not state.exists()
        witness.unlink()
    _told_of_kills(f"{size:,}, audit", times, same, again)


def _told_of_kills(what: str, times: int, same: int, again: list[float]) -> None:
    again.sort()
    most = f"{again[len(again) // 2]:.1%} of the log judged again (median), {again[-1]:.1%} (most)"
    print(f"{what}, killed {len(again)} times in {times} runs: {same} as without; {most}", flush=True)


def operations(count: int) -> Iterator[dict[str, Any]]:
    """The lines of a log of operations on objects, one transaction after another."""
    yield {"format": "troubadour-log", "version": 1, "objects": {"kv": "register"}, "isolation": "timestamp-snapshot"}
    chosen, last = random.Random(2), dict[int, int]()
    for at in range(1, count + 1):
        key = chosen.randrange(ACCOUNTS)
        read = [["r", "kv", key, last[key]]] if key in last else []
        last[key] = at
        yield {
            "id": at,
            "status": "committed",
            "start": 2 * at,
            "commit": 2 * at + 1,
            "ops": [*read, ["w", "kv", key, at]],
        }


def watched(folder: Path, size: int, times: int) -> None:
    """What becomes of `watch` that is killed: along operations, which it judges as they come, and along a bank, which
    is audited meanwhile and at the end; what that audit takes again is counted, too."""
    state, chosen = folder / "state", random.Random(3)
    for name, lines in (("operations", operations(size)), ("a bank", bank(size))):
        log = write(folder / "log", chain(lines, [{"kind": "end", "transactions": size}]))
        level = [] if name == "operations" else ["--isolation", LEVELS[1]]
        arguments = [str(Path(COMMAND[0])), "watch", str(log), *level]
        begun = time.monotonic()
        wanted = _events(arguments)[-1]
        took, same, again = time.monotonic() - begun, 0, []
        for _ in range(times):
            first = Ran([*arguments, "--resume", str(state)])
            time.sleep(chosen.random() * took)
            read = first.closing(folder / "state.d" / "00000.jsonl")
            first.kill()
            if first.wait().status >= 0:
                same += first.status == 0
                continue
            closing = folder / "state.audit"
            noted = json.loads(closing.read_bytes())["position"]["read"] if closing.exists() else 0
            told = _events([*arguments, "--resume", str(state)])
            again.append(told[0].get("again", 0) / size + max(read - noted, 0) / log.stat().st_size)
            same += told[-1] == wanted and not state.exists()
        _told_of_kills(f"{size:,}, watch along {name}", times, same, again)


def _events(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """What a command tells, but for how long it took."""
    ended = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    return [{**json.loads(line), "seconds": 0} for line in ended.stdout.splitlines()]


def late(folder: Path, size: int) -> None:
    """What violations late in a log take."""
    right = write(folder / "log", bank(size))
    whole = {level: Ran([*COMMAND, level, str(right)]).wait() for level in LEVELS}
    for kind in KINDS:
        log = write(folder / "log", with_violation(size, kind))
        for level in LEVELS:
            one = Ran([*COMMAND, level, str(log)]).wait()
            what = "violation" if one.status == 1 else f"status {one.status}"
            ratio = one.seconds / whole[level].seconds
            told = f"{one.seconds:.1f} CPU s, {ratio:.2f} times the right log, {one.memory:.0f} MiB"
            print(f"{size:,}, a {kind} at nine tenths, {level}: {what}, {told}", flush=True)


@click.command()
@click.option("--size", "sizes", type=int, multiple=True, default=(100_000, 300_000, 1_000_000), show_default=True)
@click.option(
    "--parts", "cut", type=int, default=200_000, show_default=True, help="Transactions of a log in parts; 0: none."
)
@click.option("--kills", type=int, default=50, show_default=True)
@click.option("--killed", type=int, default=100_000, show_default=True, help="Transactions of a log that is ended.")
@click.option(
    "--late",
    "spoilt",
    type=int,
    default=100_000,
    show_default=True,
    help="Transactions of a log that is wrong; 0: none.",
)
def main(sizes: tuple[int, ...], cut: int, kills: int, killed: int, spoilt: int) -> None:
    """What streams take."""
    print("load", os.getloadavg())
    with tempfile.TemporaryDirectory() as folder:
        read_once(Path(folder), [size for size in sizes if size])
        if cut:
            parts(Path(folder), cut)
        if kills:
            ended(Path(folder), killed, kills)
            watched(Path(folder), killed, kills)
        if spoilt:
            late(Path(folder), spoilt)


if __name__ == "__main__":
    main()
