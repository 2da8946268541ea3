"""Where the carrier writes down what passes, before it passes it on. What becomes of clients where that cannot be done
is as with the other recorders (`core.journal`). Does not know connections.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic_ns

from troubadour.record.core.appending import AppendedFile
from troubadour.record.core.journal import STOP
from troubadour.record.proxy.raw import ENDED, RESUMED, UNWRITTEN, frame


class Writing:
    """`unwritable`: ``"stop"``: what cannot be written is not passed on, and its connection is closed; ``"go-on"``: it
    is passed on, and the log has a gap, until no connection is left of which something is missing."""

    def __init__(self, file: AppendedFile, unwritable: str) -> None:
        self._file = file
        self._stops = unwritable == STOP
        self.is_whole = True
        """Whether all that passes is written."""
        self._said = False

    def append(self, data: bytes) -> bool:
        """Whether what was to be written may be passed on. Data: whole frames."""
        if not self.is_whole:
            return True
        try:
            self._file.append(data)
        except OSError as error:
            return self._failed(error)
        return True

    def _failed(self, error: OSError) -> bool:
        reason = error.strerror or str(error)
        if not self._said:
            self._said = True
            what = "connections are closed" if self._stops else "clients go on, and the log has a gap"
            sys.stderr.write(f"troubadour: {self._file.path}: the log cannot be written ({reason}): {what}\n")
        if self._stops:
            return False
        self.is_whole = False
        with suppress(OSError):
            text = f"the log could not be written: {reason}"
            self._file.append(frame(UNWRITTEN, 0, monotonic_ns(), text.encode()), 0)
        return True

    def resume(self, missing: Callable[[], bool]) -> None:
        """Try again, where nothing is `missing` of any connection."""
        if not self.is_whole and not missing():
            with suppress(OSError):
                self._file.append(frame(RESUMED, 0, monotonic_ns(), b""))
                self.is_whole, self._said = True, False

    def end(self) -> None:
        """All is told. Raises OSError."""
        if self.is_whole:
            self._file.append(frame(ENDED, 0, monotonic_ns(), b""), 0)
