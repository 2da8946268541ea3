"""How far a stream was judged, in a file (`audit --resume FILE`), so that an audit that was ended goes on there.

FILE holds the rows and how far the log was read; FILE.ids, beside it, the ids that were settled. It is written after
so much work that it costs little, whole or not at all, and when the disk has the ids that it counts on. Does not know
how a log is judged.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

from troubadour.audit.streamed.judge import Counts, Streaming
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.streaming.stream import Position, Stream, Unresumable
from troubadour.replay.newest.kept import KeptRun, Unkept


def _sync_folder(folder: Path) -> None:
    """Let the disk have the names in a folder, as far as the system can. Raises OSError."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """The files that are written: FILE, FILE.ids, and what becomes FILE once it is whole."""
    return path, path.with_name(f"{path.name}.ids"), path.with_name(f"{path.name}.part")


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far an audit is: `by` the version of this program, at the level asked for; `settled`, bytes of the ids."""

    format: Literal["troubadour-audit"]
    by: str
    isolation: str | None
    position: Position
    settled: int
    counts: Counts
    run: KeptRun


class _Known(msgspec.Struct, frozen=True):
    """What every version says of itself."""

    format: Literal["troubadour-audit"]
    by: str
    isolation: str | None


class Resumable:
    """The file of an audit at a level."""

    def __init__(
        self,
        path: Path,
        isolation: str | None,
        say: Callable[[str], None],
        *,
        least: float = 0.1,
        share: float = 1 / 30,
    ) -> None:
        """`say` tells the user what is worth knowing. It is written after `least` processor seconds, and so that it
        takes no more than a `share` of them. Raises Unresumable, OSError."""
        self._least, self._share = least, share
        self._path, self._ids, self._part = files_of(path)
        self._isolation, self._say = isolation, say
        self._noted, self._cost = time.process_time(), 0.0
        self._kept = True
        self.state = self._read()

    def _read(self) -> State | None:
        if not self._path.exists():
            return None
        text = self._path.read_bytes()
        try:
            known = msgspec.json.decode(text, type=_Known)
        except msgspec.MsgspecError as error:
            raise Unresumable("it is no state of an audit, and is left as it is") from error
        if known.isolation != self._isolation:
            level = "the levels of the log" if known.isolation is None else known.isolation
            raise Unresumable(f"it is of an audit at {level}")
        if known.by != version("troubadour"):
            self._say(f"the state is of version {known.by}: the audit begins anew")
            return None
        try:
            return msgspec.json.decode(text, type=State)
        except msgspec.MsgspecError as error:
            raise Unresumable(f"it is damaged: {error}") from error

    def settled(self) -> Settled:
        """The ids that were settled. Raises Unresumable, OSError."""
        state, another = self.state, f"{self._ids} is gone, or is not of it"
        try:
            settled = Settled(self._ids, 0 if state is None else state.settled)
        except (ValueError, FileNotFoundError, msgspec.MsgspecError) as error:
            raise Unresumable(another) from error
        if state is not None and settled.total != state.counts.total:
            raise Unresumable(another)
        return settled

    def restore(self, streaming: Streaming) -> None:
        """Let a run go on. Raises Unresumable."""
        if self.state is None:
            return
        try:
            streaming.run.restore(self.state.run)
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError) as error:
            raise Unresumable("it is damaged: its rows are none of this log") from error

    def note(self, stream: Stream, settled: Settled, streaming: Streaming) -> None:
        """Write how far it is, where enough was done since the last time. Raises Unresumable."""
        begun = time.process_time()
        if not self._kept or begun - self._noted < max(self._least, self._cost / self._share):
            return
        try:
            text = msgspec.json.encode(self._state(stream, settled, streaming))
        except (Unkept, OverflowError) as error:
            self._kept = False
            self._say(f"the log has values that are not written ({error}): this audit cannot be resumed from here on")
            return
        try:
            settled.flush(durably=True)  # first, as the state counts on them
            with self._part.open("wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self._part.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise Unresumable(f"cannot be written: {error.strerror}") from error
        self._noted = time.process_time()
        self._cost = self._noted - begun

    def _state(self, stream: Stream, settled: Settled, streaming: Streaming) -> State:
        """Raises Unkept."""
        run = streaming.run.kept()
        by, size = version("troubadour"), settled.size
        return State("troubadour-audit", by, self._isolation, stream.position(), size, streaming.counts, run)

    def left(self, why: str) -> None:
        """The log is no stream."""
        self._say(f"no step of this audit can be resumed ({why}): where it is ended, it begins anew")

    def done(self) -> None:
        """There is a verdict, and nothing is left to go on with."""
        for path in (self._path, self._ids, self._part):
            path.unlink(missing_ok=True)
