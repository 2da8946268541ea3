"""A process beside this one that ends what runs in a folder, and removes the folder, when this one is gone, however it
ended: a server of one's own outlives no SIGKILL.

Run as a script it needs the standard library alone. Does not know what kind of server runs there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

AT_MOST = 60.0
"""Seconds that what still starts up there is waited for."""
AT_ONCE = 3.0
"""Seconds that PostgreSQL is given for an immediate stop."""
_PROGRAMS = frozenset({b"postgres", b"initdb", b"pg_ctl", b"mariadbd"})
_PID_FILES = ("pid", "data/postmaster.pid")


class Guard:
    """Of a folder whose name is fresh. `close` it once the folder is gone."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # what interrupts or hangs up this process is not meant for it
        )

    def close(self) -> None:
        """End it; where the folder is still there, it is removed first."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")  # a process that was forked from this one may hold the pipe, too
            self._process.stdin.close()
        self._process.wait()


def _running(folder: Path) -> dict[int, bool]:
    """The servers, and the programs that make them, that have the folder in their command or left their number there;
    whether each is PostgreSQL's."""
    found: dict[int, bool] = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            program, *arguments = entry.read_bytes().split(b"\0")
            name = program.rsplit(b"/", 1)[-1]
            if name in _PROGRAMS and any(os.fsencode(folder) in argument for argument in arguments):
                found[int(entry.parent.name)] = name == b"postgres"
    for left in () if Path("/proc/self").exists() else _PID_FILES:
        with contextlib.suppress(OSError, ValueError):
            number = int((folder / left).read_text().split("\n", 1)[0])
            found.setdefault(number, "postmaster" in left)
    return found


def sweep(folder: Path) -> None:
    """End what runs there and remove the folder, until nothing comes back."""
    begun, quiet = time.monotonic(), 0
    while quiet < 3 and time.monotonic() - begun < AT_MOST:
        running = _running(folder)
        for number, postgres in running.items():
            with contextlib.suppress(OSError):  # PostgreSQL gives its shared memory back where it is asked to end
                os.kill(number, signal.SIGQUIT if postgres and time.monotonic() - begun < AT_ONCE else signal.SIGKILL)
        if not running:
            shutil.rmtree(folder, ignore_errors=True)
        quiet = 0 if running or folder.exists() else quiet + 1
        time.sleep(0.2)


def main() -> None:
    """Wait until the other process says so, closes the pipe or is gone."""
    sys.stdin.buffer.readline()
    folder = Path(sys.argv[1])
    if folder.exists():
        sweep(folder)


if __name__ == "__main__":
    main()
