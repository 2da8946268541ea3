"""Makes a log of a segment as it was recorded: when recording ends, or after it was cut off
(``troubadour log repair``). What took time was left for here: JSON, and the commit times, asked for in batches.

A transaction whose statements or texts were lost has no line; a *gap* says so (docs/log-format.md). Does not know
sessions, nor who recorded; of statements only what `wire` and JSON say.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import psycopg

from sql_semantics.products import PRODUCTS
from sql_semantics.records import dataclass, field
from troubadour.model.log import LogError
from troubadour.record.core.appending import PRIVATE, folder_to_disk, to_disk
from troubadour.record.core.frames import LOST, Frames, lines_before
from troubadour.record.core.journal import COLUMNS, GAP, RESUMED, TEXT, Lookup, encode
from troubadour.record.core.tape import ENDED, INTENT, UNKNOWN, WHOLE
from troubadour.record.errors import RecordError
from troubadour.record.postgres import wire
from troubadour.record.statements.texts import read_text

LOOKUP = 1000
"""Commit times are asked for so many lines at a time."""
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, struct.error, psycopg.Error)
"""What reading a record raises that is not as it was written, or that names one which is not there."""


@dataclass(slots=True)
class Unrolled:
    """What became of a segment: transactions that ended, intents that stand alone, bytes that were no record, gaps,
    and those of them that are made of records that cannot be read; transactions that are `missing`, as is known by
    their numbers; whether header and initial rows were lost."""

    transactions: int = 0
    standing: int = 0
    dropped: int = 0
    gaps: int = 0
    unread: int = 0
    missing: int = 0
    beginning_lost: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """What the process that recorded a segment knows of it. `numbers`: of each session, for each of its transactions
    whether it may have changed anything; `began`: when recording began, in nanoseconds; `header`: a line to put in
    place of header and initial rows that are damaged, None where they are whole."""

    numbers: Mapping[str, bytearray]
    began: int
    header: bytes | None = None


def under_way(path: Path) -> bool:
    """Whether a file is a segment whose records were not made lines of yet, or that a process is writing to."""
    with path.open("rb") as source:
        for _ in lines_before(source):
            pass
        return any(True for _ in Frames(source))


def unroll(
    source: BinaryIO,
    path: Path,
    lookup: Lookup | None = None,
    untold: Sequence[Any] = (),
    expected: Expected | None = None,
    *,
    durable: bool = False,
    records: Iterable[Any] | None = None,
) -> Unrolled:
    """Write the log of the segment `source` to `path`, where the segment itself may be: packed if it ends in ``.gz``.
    `untold`: records that come after those in the file; `records`: those that stand for what the file has behind its
    header and initial rows, where that is of another kind. What is `expected` and missing is a gap. Raises OSError,
    with nothing written, and RecordError as `lookup` did, with everything written; LogError without a header."""
    made = _Log(lookup, expected)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(2)}")
    try:
        with _target(draft, path.suffix == ".gz", durable) as target:
            made.write(source, target, untold, records)
        os.replace(draft, path)
        if durable:
            folder_to_disk(path)
    finally:
        draft.unlink(missing_ok=True)
    if made.problem is not None:
        raise made.problem
    return made.count


def complete(found: Unrolled, path: Path) -> None:
    """Raises RecordError where something that was recorded is not in the log."""
    if found.missing or found.beginning_lost:
        raise RecordError(
            f"{path}: the log has a gap: its file was cut while it was recorded, and {found.missing:,} transactions "
            "that may have written are missing"
        )
    if found.unread:
        raise RecordError(f"{path}: the log has a gap, as records could not be read: report it with {path.name}")


@contextmanager
def _target(path: Path, packed: bool, durable: bool) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        if packed:
            # no name and no time: equal logs are equal files
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
                yield stream  # type: ignore[misc]
        else:
            yield file
        if durable:
            to_disk(file)


NEEDED = "records that others need were lost"
DAMAGED = "a part of the recording is damaged"
CUT = "the file was cut while it was recorded"
BLOCKS = frozenset({"CALL", "DO", "EXECUTE", "BEGIN"})
"""First words of what may be several transactions though it is one statement."""
STRANGE = "a record of an unknown kind"


def _level(line: bytes) -> tuple[str, str]:
    """The level and the dialect that a header names. Raises LogError where it is none."""
    try:
        header = json.loads(line)
        level, dialect = header.get("isolation") or "", header.get("dialect") or ""
    except (ValueError, AttributeError, RecursionError) as error:
        raise LogError(f"the first line is no header: {error}") from error
    return str(level), str(dialect)


def _sent(record: Any) -> int | None:
    """No earlier did the transaction commit that a record is of, as far as the record itself tells."""
    time = record[4] if record[0] == ENDED and len(record) > 4 else record[3] if len(record) > 3 else None
    return time if isinstance(time, int) else None


def _opened(opening: Any) -> bytes:
    """How a transaction began, as fields that begin with a comma: where the snapshot was taken, if the log is to say
    so, and, where they are known, when BEGIN was sent and answered, whether it took the snapshot, and the trace."""
    if isinstance(opening, bytes):  # a segment of an earlier version
        return opening
    if isinstance(opening, tuple) and len(opening) == 2:
        opening, trace = opening
        return b'%b,"trace_id":"%b"' % (_opened(opening), trace.encode())
    taken, *begin = opening if isinstance(opening, tuple) else (opening,)
    said = b"" if taken is None else b',"snapshot_at":"%b"' % taken.encode()
    if not begin:
        return said
    invoked, returned, snapshot = begin
    own = b',"snapshot":true' if snapshot else b""
    return said + b',"begin":{"invoked":%d,"returned":%d%b}' % (invoked // 1000, returned // 1000, own)


@dataclass(slots=True)
class _Log:
    """`level`: the header's, which transactions need not repeat. `intents`: transactions whose COMMIT was sent, by
    session and number. `waiting`: lines of finished ones; `tickets`: by their places there, those of which a commit
    time is wanted, and the server's lifetime. `latest`: no earlier was the last record written, in nanoseconds.
    `gaps`: the fields of gaps; `unread`: those that are made of what cannot be read, by reason; `numbers`: the
    transactions of each session that were met."""

    lookup: Lookup | None
    expected: Expected | None = None
    level: str = ""
    dialect: str = ""
    count: Unrolled = field(default_factory=Unrolled)
    problem: RecordError | None = None
    texts: dict[int, bytes] = field(default_factory=dict)
    columns: dict[tuple[int, int], bytes] = field(default_factory=dict)
    intents: dict[tuple[str, int], Any] = field(default_factory=dict)
    waiting: list[tuple[bytes, bytes]] = field(default_factory=list)
    tickets: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    latest: int | None = None
    gaps: list[dict[str, Any]] = field(default_factory=list)
    unread: dict[str, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[str, set[int]] = field(default_factory=dict)

    def write(
        self, source: BinaryIO, target: BinaryIO, untold: Sequence[Any], records: Iterable[Any] | None = None
    ) -> None:
        """All lines, from the header to the end."""
        anew = None if self.expected is None else self.expected.header
        for line in (anew,) if anew is not None else lines_before(source):
            if not self.level:
                self.level, self.dialect = _level(line)
            target.write(line)
        if anew is not None:
            self.count.beginning_lost = True
            source.seek(0)
        frames = Frames(source, own=self.expected is not None)
        self._records(frames if records is None else records, target)
        latest = self.latest
        self._records(untold, target)
        self._miss(latest)
        self._ask(target)
        for (session, number), (*begun, invoked) in self.intents.items():
            end = b"" if invoked is None else b',"end":{"invoked":%d}' % (invoked // 1000)
            try:
                common = self._common(session, number, "unknown", begun, alone=invoked is None)
            except UNREADABLE:
                self._lose(NEEDED, begun[0])
                continue
            self.count.standing += 1
            target.write(b'{"kind":"intent",%b%b}\n' % (common, end))
        gaps = [*self.gaps, *self.unread.values()]
        for gap in gaps:
            given = {name: value for name, value in gap.items() if value is not None}
            target.write(encode({"kind": "gap", **given}) + b"\n")
        self.count.dropped, self.count.gaps, self.count.unread = frames.dropped, len(gaps), len(self.unread)
        target.write(encode({"kind": "end", "transactions": self.count.transactions}) + b"\n")

    def _records(self, records: Iterable[Any], target: BinaryIO) -> None:
        for record in records:
            try:
                self._record(record, target)
            except UNREADABLE:
                self._lose(NEEDED, _sent(record))

    def _miss(self, latest: int | None) -> None:
        """Count what is missing by its numbers, none of which committed before `latest`, in nanoseconds, if that is
        known; or, of a part of the file that is damaged, before what came in front of that."""
        damaged = self.unread.get(DAMAGED)
        if self.expected is None:
            if damaged is not None:  # an earlier version left numbers out
                damaged["transactions"] += sum(max(met) - len(met) for met in self.numbers.values())
            return
        for session, may in self.expected.numbers.items():
            met = self.numbers.get(session, set())
            self.count.missing += sum(1 for place, one in enumerate(may, 1) if one and place not in met)
        if damaged is not None:
            damaged["transactions"] += self.count.missing
            damaged["since"] = self.expected.began // 1000 if damaged["since"] is None else damaged["since"]
        elif self.count.missing or self.count.beginning_lost:
            since = self.expected.began if latest is None or self.count.beginning_lost else latest
            gap = {"reason": CUT, "transactions": self.count.missing, "since": since // 1000}
            self.unread[CUT] = gap

    def _record(self, record: Any, target: BinaryIO) -> None:
        kind = record[0]
        if kind in (INTENT, WHOLE):
            self.numbers.setdefault(record[1], set()).add(record[2])
        if kind == TEXT:
            self.texts[record[1]] = record[2]
        elif kind == COLUMNS:
            self.columns[record[1], record[2]] = encode(record[3])
        elif kind == INTENT:
            self.intents[record[1], record[2]] = record[3:]
            self._saw(record[3], record[8])
        elif kind == ENDED:
            self._saw(record[4], record[5])
            if self.expected is not None and (record[1], record[2]) not in self.intents:
                return  # its number is missed
            begun = self.intents.pop((record[1], record[2]))[:5]
            self._ended(record[1], record[2], begun, record[3:], target)
        elif kind == WHOLE:
            self._saw(record[3], record[9], record[10])
            self.intents.pop((record[1], record[2]), None)
            self._ended(record[1], record[2], record[3:8], record[8:], target)
        elif kind == GAP:
            self.gaps.append({"reason": record[2], "since": record[1] // 1000})
        elif kind == RESUMED:
            resumed = {"until": record[1] // 1000, "transactions": record[2]}
            if self.gaps and "until" not in self.gaps[-1]:
                self.gaps[-1] |= resumed
            else:
                self.gaps.append({"reason": "the log could not be written", **resumed})
        else:
            # what is lost was written, and so committed, after all that was read before
            self._lose(DAMAGED if record == LOST else STRANGE, self.latest, transactions=0)

    def _saw(self, *times: int | None) -> None:
        """A record has these times, which had come when it was written."""
        self.latest = max((time for time in (self.latest, *times) if time is not None), default=None)

    def _lose(self, reason: str, since: int | None, transactions: int = 1) -> None:
        """Something cannot be read: of transactions, of which none committed before `since`, if that is known."""
        gap = self.unread.setdefault(reason, {"reason": reason, "transactions": 0, "since": 2**62})
        gap["transactions"] += transactions
        if since is None:
            gap["since"] = None
        elif gap["since"] is not None:
            gap["since"] = min(since // 1000, gap["since"])

    def _ended(self, session: str, number: int, begun: Any, ended: Any, target: BinaryIO) -> None:
        status, invoked, returned, error, ticket, lifetime, said = ended
        line = self._common(session, number, status, begun, alone=invoked is None) + said
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

    def _is_atomic(self, entry: bytes) -> bool:
        """Whether a statement under autocommit is one transaction: no procedure or block, which may commit inside."""
        sql = json.loads(b"[" + entry + b"]")[0]["sql"]
        return (
            entry.endswith(UNKNOWN + b"}")
            and self.dialect in PRODUCTS
            and read_text(sql, self.dialect).word not in BLOCKS
        )

    def _common(self, session: str, number: int, status: str, begun: Any, *, alone: bool = False) -> bytes:
        invoked, level, read_only, opening, statements = begun
        extra = b""
        if level is not None and level != self.level:
            extra = b',"isolation":' + encode(level)
        if read_only is not None:
            extra += b',"read_only":true' if read_only else b',"read_only":false'
        extra += _opened(opening)
        entries = b",".join(map(self._statement, statements))
        if status == "unknown" and alone and len(statements) == 1 and self._is_atomic(entries):
            # it failed and changed nothing, or it was all that was committed: the status says so
            entries = entries.removesuffix(UNKNOWN + b"}") + b"}"
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
