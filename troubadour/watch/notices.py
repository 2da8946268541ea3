"""A command of the user's that is told of violations. Does not know what one is."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading

TOLD = 20
"""Violations of which each is told; more of them is what the last line says."""


class Notices:
    """Runs `command` by the shell, one at a time and beside everything else, with a line on its standard input. What it
    prints goes to standard error."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.count = 0
        """Lines so far."""
        self._failed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def tell(self, line: str) -> None:
        """Run it with this line, unless it was run often already."""
        self.count += 1
        if self.count <= TOLD:
            self._lines.put(line)

    def close(self, last: str | None) -> None:
        """Run it with a last line, and wait for it."""
        if last is not None:
            self._lines.put(last)
        self._lines.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            ended = subprocess.run(self._command, shell=True, input=f"{line}\n".encode(), stdout=2, check=False)
            if ended.returncode and not self._failed:
                self._failed = True
                text = f"troubadour: --on-violation: {self._command} ended with status {ended.returncode}\n"
                sys.stderr.write(text)
