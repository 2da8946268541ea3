"""Audits by the command line of the installation whose interpreter runs this file, each in a forked process of its own.

Reads one job a line from standard input, ``{"args": [...], "cpu": seconds, "memory": MiB}``, and answers with one line:
exit status (negative: the signal that ended it), standard output, processor seconds, peak MiB. The program is loaded
once, so that a tiny log costs what its audit costs. Imports nothing of this repository but the command line, so that
another installation of it can be measured with the same jobs. Does not know what a verdict means.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

WALL = 8.0
"""A process is ended that had no processor for so many times its processor seconds of wall time: it waits for ever."""
LEVELS = ("read-committed", "serializable")
"""Of the log that is loaded for: correct at the first, which is seen without a search, a violation at the second."""
CALIBRATION = 60_000
"""Steps of the loop that tells how fast the machine is now."""


def calibrate() -> float:
    """Processor seconds of a fixed piece of work: what a second is worth on this machine at this moment."""
    begun = time.process_time()
    kept: dict[int, tuple[int, int]] = {}
    for step in range(CALIBRATION):
        kept[step % 1009] = (step, len(kept))
    return time.process_time() - begun


def run(args: list[str], out: int) -> None:
    """The command line in this process; does not return."""
    from troubadour.cli.main import main

    os.dup2(out, 1)
    status = 70
    try:
        main(args)
    except SystemExit as done:
        status = done.code if isinstance(done.code, int) else int(done.code is not None)
    finally:
        if status == 70:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def limit(cpu: float, memory: int) -> None:
    """Bound this process."""
    seconds = max(1, round(cpu))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))


def ticks(process: int) -> int:
    """Clock ticks that a process had the processor; 0 where that is not told."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def end_waiting(process: int, seconds: float, ended: threading.Event) -> None:
    """End a process that had no processor for so many seconds: on a busy machine one may wait long for its turn."""
    before = 0
    while not ended.wait(seconds):
        now = ticks(process)
        if now <= before:
            os.kill(process, signal.SIGKILL)
            return
        before = now


def audited(job: dict[str, Any]) -> dict[str, Any]:
    """One job's answer."""
    speed = calibrate()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(err.fileno(), 2)
            limit(job["cpu"], job["memory"])
            run(job["args"], out.fileno())
        ended = threading.Event()
        watch = threading.Thread(target=end_waiting, args=(child, WALL * job["cpu"] + 30, ended))
        watch.start()
        _, status, usage = os.wait4(child, 0)
        ended.set()
        watch.join()
        out.seek(0)
        err.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return {
            "exit": code,
            "out": out.read().decode("utf-8", "replace"),
            "err": err.read()[-2000:].decode("utf-8", "replace"),
            "cpu": usage.ru_utime + usage.ru_stime,
            "peak": usage.ru_maxrss // 1024,
            "speed": min(speed, calibrate()),
        }


def load(warm_up: str) -> None:
    """Import what audits of this log import, without doing them here: the processes to come begin alike."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        from troubadour.cli.main import main

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            for level in LEVELS:
                with contextlib.suppress(SystemExit):
                    main(["audit", warm_up, "--isolation", level])
        finally:
            os.write(sending, "\n".join(sorted(sys.modules)).encode())
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as names:
        for name in names.read().splitlines():
            if name.partition(".")[0] in ("troubadour", "sql_semantics", "z3", "sqlglot", "lark"):
                importlib.import_module(name)
    os.waitpid(child, 0)


def main() -> None:
    """Load what an audit needs, then answer."""
    answers = os.fdopen(os.dup(1), "w")
    load(sys.argv[1])
    for line in sys.stdin:
        answers.write(json.dumps(audited(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
