"""The part of a log that is about some keys, as a log by itself, in a memory that does not grow with the log.

Of a log whose timestamps are contradicted by some keys alone that part tells how. Does not know which keys these are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

import msgspec

from sql_semantics.records import dataclass
from troubadour.formats.entries import RawEnd, RawRows, read_header, read_transaction
from troubadour.formats.objects.read import ObjectLogReader, UsualLine
from troubadour.model.objects import MISSING

AT_ONCE = 64
LOOK = 1000
"""Batches between two looks at the memory."""
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Counted:
    """What there is of the whole log; `earlier` and `now`: committed before the moment that was asked for, and at
    it."""

    total: int = 0
    committed: int = 0
    aborted: int = 0
    operations: int = 0
    observed: int = 0
    earlier: int = 0
    now: int = 0


class _Unusual(Exception):
    """The log has something that only a look at all of it can place."""


def write_part(
    source: Path,
    target: Path,
    cells: Collection[tuple[str, int | str]],
    moment: int,
    *,
    timed: Callable[[UsualLine], bool],
    room: Callable[[], bool],
) -> Counted | None:
    """Write the transactions of a log that do something to some keys (of an object, by its name), and that alone. None
    where a transaction is of unknown outcome, or is not `timed`, or a session's do not come in its order: then the
    hint order may not be that of the commits; or where there is no `room`. Raises OSError, BadEntry."""
    with source.open("rb") as file, target.open("wb") as out:
        first = file.readline()
        out.write(first)
        try:
            return _Part(ObjectLogReader(read_header(first)), out, cells, moment, timed, room).counted(file)
        except _Unusual:
            return None


class _Part:
    def __init__(
        self,
        reader: ObjectLogReader,
        out: BinaryIO,
        cells: Collection[tuple[str, int | str]],
        moment: int,
        timed: Callable[[UsualLine], bool],
        room: Callable[[], bool],
    ) -> None:
        self._reader, self._out, self._cells, self._moment = reader, out, cells, moment
        self._timed, self._room = timed, room
        self._sessions: dict[str | int, tuple[int, int]] = {}
        self._found = Counted()

    def counted(self, lines: BinaryIO) -> Counted:
        """Raises _Unusual, BadEntry."""
        batch, batches = list[bytes](), 0
        for line in lines:
            if line.isspace():
                continue
            batch.append(line.rstrip(b"\n"))
            if len(batch) == AT_ONCE:
                self._take(batch)
                batch, batches = [], batches + 1
                if batches % LOOK == 0 and not self._room():
                    raise _Unusual
        self._take(batch)
        return self._found

    def _take(self, batch: list[bytes]) -> None:
        entries = self._reader.usual(batch)
        if entries is not None:
            for entry in entries:
                self._add(entry)
        elif len(batch) > 1:
            for line in batch:
                self._take([line])
        else:
            self._other(batch[0])

    def _other(self, line: bytes) -> None:
        entry = read_transaction(line)
        if isinstance(entry, RawRows) and not self._found.total:
            self._out.write(line + b"\n")
        elif not isinstance(entry, RawEnd):
            raise _Unusual

    def _add(self, entry: UsualLine) -> None:
        found = self._found
        found.total += 1
        found.operations += len(entry.ops)
        found.observed += [one[0] for one in entry.ops].count("r")
        if entry.isolation is not None:
            raise _Unusual
        if entry.status == "aborted":
            found.aborted += 1
        elif entry.status != "committed" or not self._timed(entry):
            raise _Unusual
        else:
            found.committed += 1
            found.earlier += entry.commit < self._moment
            found.now += entry.commit == self._moment
        self._follow(entry)
        entry.ops = [one for one in entry.ops if (one[1], one[2]) in self._cells]
        if entry.ops:
            self._out.write(_encode(entry) + b"\n")

    def _follow(self, entry: UsualLine) -> None:
        """Numbers and commits ascend along each session, none of which is left out."""
        if entry.session is None:
            return
        number, last = self._sessions.get(entry.session, (-1, MISSING))
        commit = last if entry.status == "aborted" else entry.commit
        numbered = entry.sno != MISSING
        late = entry.status != "aborted" and commit <= last
        if late or (numbered and entry.sno != number + 1) or (not numbered and number >= 0):
            raise _Unusual
        self._sessions[entry.session] = (entry.sno if numbered else -1), commit
