"""Makes a log (CONTRACT §1) of a segment as it was recorded: when recording ends, or after it was cut off
(``troubadour log repair``). What took time was left for here: JSON, and the commit times, asked for in batches.

Does not know sessions, nor who recorded; of statements only what `wire` and JSON say.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from troubadour.record.core.frames import MARK, Frames, lines_before
from troubadour.record.core.journal import COLUMNS, TEXT, Lookup, encode
from troubadour.record.core.tape import ENDED, INTENT
from troubadour.record.errors import RecordError
from troubadour.record.postgres import wire

LOOKUP = 1000
"""Commit times are asked for so many lines at a time."""


@dataclass(slots=True)
class Unrolled:
    """What became of a segment: transactions that ended, intents that stand alone, bytes behind the last record."""

    transactions: int = 0
    standing: int = 0
    dropped: int = 0


def under_way(path: Path) -> bool:
    """Whether a file is a segment whose records were not made lines of yet, or that a process is writing to."""
    with path.open("rb") as source:
        for line in source:
            if line[0] == MARK:
                return True
            if line[0] != ord("{"):
                return False
    return False


def unroll(plain: Path, path: Path, lookup: Lookup | None = None) -> Unrolled:
    """Write the log of the segment `plain` to `path`, which may be the same: packed if it ends in ``.gz``. Raises
    OSError, and RecordError: where it is damaged, with nothing written; or as `lookup` did, with everything written."""
    made = _Log(lookup)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(2)}")
    try:
        with plain.open("rb") as source, _target(draft, path.suffix == ".gz") as target:
            made.write(source, target)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    if made.problem is not None:
        raise made.problem
    return made.count


@contextmanager
def _target(path: Path, packed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        # no name and no time: equal logs are equal files
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield stream  # type: ignore[misc]


@dataclass(slots=True)
class _Log:
    """`level`: the header's, which transactions need not repeat. `intents`: transactions whose COMMIT was sent, by
    session and number. `waiting`: lines of finished ones; `tickets`: by their places there, those of which a commit
    time is wanted, and the server's lifetime."""

    lookup: Lookup | None
    level: str = ""
    count: Unrolled = field(default_factory=Unrolled)
    problem: RecordError | None = None
    texts: dict[int, bytes] = field(default_factory=dict)
    columns: dict[tuple[int, int], bytes] = field(default_factory=dict)
    intents: dict[tuple[str, int], Any] = field(default_factory=dict)
    waiting: list[tuple[bytes, bytes]] = field(default_factory=list)
    tickets: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def write(self, source: BinaryIO, target: BinaryIO) -> None:
        """All lines, from the header to the end."""
        for line in lines_before(source):
            if not self.level:
                self.level = json.loads(line).get("isolation", "")
            target.write(line)
        frames = Frames(source)
        for record in frames:
            self._record(record, target)
        self._ask(target)
        for (session, number), (*begun, invoked) in self.intents.items():
            end = b"" if invoked is None else b',"end":{"invoked":%d}' % (invoked // 1000)
            common = self._common(session, number, "unknown", begun)
            target.write(b'{"kind":"intent",%b%b}\n' % (common, end))
        self.count.standing, self.count.dropped = len(self.intents), frames.dropped
        target.write(encode({"kind": "end", "transactions": self.count.transactions}) + b"\n")

    def _record(self, record: Any, target: BinaryIO) -> None:
        kind = record[0]
        if kind == TEXT:
            self.texts[record[1]] = record[2]
        elif kind == COLUMNS:
            self.columns[record[1], record[2]] = encode(record[3])
        elif kind == INTENT:
            self.intents[record[1], record[2]] = record[3:]
        elif kind == ENDED:
            begun = self.intents.pop((record[1], record[2]))[:4]
            self._ended(record[1], record[2], begun, record[3:], target)
        else:
            self.intents.pop((record[1], record[2]), None)
            self._ended(record[1], record[2], record[3:7], record[7:], target)

    def _ended(self, session: str, number: int, begun: Any, ended: Any, target: BinaryIO) -> None:
        status, invoked, returned, error, ticket, lifetime, said = ended
        line = self._common(session, number, status, begun) + said
        if returned is not None:
            line += b',"returned":%d' % (returned // 1000)
        end = b""
        if invoked is not None:
            end = b',"end":{"invoked":%d' % (invoked // 1000)
            if returned is not None:
                end += b',"returned":%d' % (returned // 1000)
            if error is not None:
                end += b',"error":' + encode(error)
            end += b"}"
        self.count.transactions += 1
        if self.lookup is None:
            target.write(b"{%b%b}\n" % (line, end))
            return
        self.waiting.append((line, end))
        if ticket is not None:
            self.tickets[len(self.waiting) - 1] = (ticket, lifetime)
        if len(self.waiting) >= LOOKUP:
            self._ask(target)

    def _ask(self, target: BinaryIO) -> None:
        """Write the lines that wait for the commit times of those that have one."""
        times: dict[int, int | None] = {}
        if self.lookup is not None and self.tickets:
            try:
                found = self.lookup(list(self.tickets.values()))
                times = dict(zip(self.tickets, found, strict=True))
            except RecordError as error:
                self.problem = error
        for place, (line, end) in enumerate(self.waiting):
            time = times.get(place)
            target.write(b"{%b%b%b}\n" % (line, b"" if time is None else b',"commit":%d' % time, end))
        self.waiting, self.tickets = [], {}

    def _common(self, session: str, number: int, status: str, begun: Any) -> bytes:
        invoked, level, read_only, statements = begun
        extra = b""
        if level is not None and level != self.level:
            extra = b',"isolation":' + encode(level)
        if read_only is not None:
            extra += b',"read_only":true' if read_only else b',"read_only":false'
        entries = b",".join(map(self._statement, statements))
        head = f'"id":"{session}-{number}","session":"{session}","status":"{status}"'.encode()
        return b'%b%b,"invoked":%d,"statements":[%b]' % (head, extra, invoked // 1000, entries)

    def _statement(self, entry: Any) -> bytes:
        if isinstance(entry[0], bytes):
            statement, invoked, returned, observed = entry
        else:
            number, params, types, formats, invoked, returned, answer = entry
            statement = wire.statement(self.texts[number], params, types, formats)
            if isinstance(answer, bytes):
                observed = answer
            else:
                tag, oids, rows = answer
                observed = wire.observation(tag, self.columns.get((number, len(oids)), b"[]"), oids, rows)
        if returned is None:
            return b'{%b,"invoked":%d%b}' % (statement, invoked // 1000, observed)
        return b'{%b,"invoked":%d,"returned":%d%b}' % (statement, invoked // 1000, returned // 1000, observed)
