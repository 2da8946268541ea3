"""`troubadour watch` as a process of its own, for the tests of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

COMMAND = (sys.executable, "-c", "from troubadour.cli.main import main; main()")
Json = dict[str, Any]
Start = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def started(folder: Path) -> Iterator[Start]:
    """Starts the command with some arguments, in a folder; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **more: Any) -> subprocess.Popen[str]:
        command = [*COMMAND, "watch", *arguments]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, **more))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def is_noted(state: Path) -> bool:
    """Whether it is written down that some of the log was followed."""
    return state.exists() and b'"offset":0' not in state.read_bytes()


def finished(process: subprocess.Popen[str], seconds: float = PATIENCE) -> tuple[int, list[Json]]:
    """The exit status, and what was told, once it ends by itself."""
    out, _ = process.communicate(timeout=seconds)
    return process.returncode, [json.loads(line) for line in out.splitlines()]
