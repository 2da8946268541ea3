"""Processes that do not outlive the one that started them: they are ended where it is told to end, and, where the
system can do that, where it is killed. Does not know what they do.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence

from troubadour.model.bounds import PARENT


class Children:
    """The processes under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
        """Run a command to its end, and what it printed; None where all were ended meanwhile."""
        with self._lock:
            if self._ended:
                return None
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, PARENT: str(os.getpid())},
            )
            self._running.add(child)
        try:
            out, errors = child.communicate()
        finally:
            with self._lock:
                self._running.discard(child)
        return None if self._ended else subprocess.CompletedProcess(command, child.returncode, out, errors)

    def end(self) -> None:
        """End all of them, and start no more."""
        with self._lock:
            self._ended = True
            for child in self._running:
                child.kill()
