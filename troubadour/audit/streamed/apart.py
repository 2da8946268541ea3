"""A log whose parts are judged apart, each from the rows of a checkpoint, on several processes.

A part explains the one after it where it ends with the rows that this one began with, and before anything in it began:
then the executions of all, one after another, are one of the log. Does not know how a part is judged.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path

import msgspec

from sql_semantics.errors import SqlSemanticsError
from troubadour.audit.collector import rarely_collected
from troubadour.audit.streamed.judge import Counts, Streaming, check_sessions
from troubadour.execution.initial.rows import known_rows
from troubadour.formats.entries import RawTransaction
from troubadour.formats.streaming.ascent import Ascent
from troubadour.formats.streaming.parts import Part, Piece
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.streaming.stream import Stream, Unstreamed
from troubadour.formats.text import BLOCK
from troubadour.model.beside import Beside
from troubadour.model.log import Header, InitialTable, Log, LogError
from troubadour.replay.newest import NotPlain
from troubadour.replay.newest.course import Course, Earliest
from troubadour.replay.newest.kept import KeptCourse, Unkept, kept

_WHOLE = re.compile(
    r"\s*SELECT\s+(?P<columns>\*|[\w\"`]+(?:\s*,\s*[\w\"`]+)*)\s+FROM\s+(?P<table>[\w.\"`]+)"
    r"(?:\s+ORDER\s+BY\s+[\w\"`,\s]+)?\s*;?\s*",
    re.IGNORECASE,
)
"""A query for all rows of a table. What is taken for its rows is held against the rows of the part before."""


class Judged(msgspec.Struct, frozen=True):
    """What became of a part: why it is not judged, empty where it is; what was counted, the levels, the transactions
    that its `end` line counts (-1: it has none), its times, their order, and the bytes of its ids."""

    why: str
    counts: Counts
    levels: tuple[str, ...] = ()
    ended: int = -1
    earliest: Earliest | None = None
    course: KeptCourse | None = None
    ascent: Ascent | None = None
    ids: int = 0


class Hashing:
    """The SHA-256 of a file, bit by bit."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)
        self._sha = hashlib.sha256()

    def more(self) -> bool:
        """Some more of it; whether there was any."""
        text = self._file.read(16 * BLOCK)
        self._sha.update(text)
        return bool(text)

    def digest(self) -> str:
        """That of all."""
        while self.more():
            pass
        return self._sha.hexdigest()


def judged_apart(
    path: Path, header: Header, isolation: str | None, parts: Sequence[Part], jobs: int, look: Callable[[], None]
) -> tuple[Counts, tuple[str, ...], Settled]:
    """Judge the parts of a log on so many processes: what was counted, the levels, and the ids. `look` is called now
    and then, and what it raises ends that. Raises Unstreamed where one part is not explained, or does not explain the
    next one; OSError."""
    with tempfile.TemporaryDirectory(prefix="troubadour-parts-") as folder:
        ids = [Path(folder) / str(number) for number in range(len(parts))]

        def work(number: int) -> list[bytes]:
            return [msgspec.json.encode(_judge(path, header, isolation, parts[number], ids[number]))]

        found = _on_processes(work, len(parts), jobs, look)
        counts = _joined(found)
        whole = Path(folder) / "whole"
        with whole.open("wb") as file:
            for name in ids:
                file.write(name.read_bytes())
        settled = Settled(whole, sum(one.ids for one in found))
        if settled.may_repeat():
            raise Unstreamed("an id that comes twice")
        return counts, tuple(sorted({name for one in found for name in one.levels})), settled


def _on_processes(work: Callable[[int], list[bytes]], count: int, jobs: int, look: Callable[[], None]) -> list[Judged]:
    waiting = list(range(count))
    running: dict[int, tuple[int, Beside]] = {}
    found: dict[int, Judged] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number = waiting.pop(0)
                process = Beside(functools.partial(work, number))
                running[process.fileno()] = number, process
            for ready in wait(list(running), 0.05):
                assert isinstance(ready, int)
                number, process = running.pop(ready)
                blocks = process.found()
                if blocks is None:
                    raise Unstreamed("a process ended before its part")
                judged = found[number] = msgspec.json.decode(blocks[0], type=Judged)
                if judged.why:
                    raise Unstreamed(judged.why)
            look()
    finally:
        for _, process in running.values():
            process.end()
    return [found[number] for number in range(count)]


def _judge(path: Path, header: Header, isolation: str | None, part: Part, ids: Path) -> Judged:
    """Judge a part, in a process of its own."""
    with rarely_collected():
        try:
            return _judged(path, header, isolation, part, ids)
        except (Unstreamed, NotPlain, Unkept, LogError, SqlSemanticsError, OSError) as error:
            return Judged(str(error) or "it is not explained", Counts())


def _judged(path: Path, header: Header, isolation: str | None, part: Part, ids: Path) -> Judged:
    own = header if part.opening is None else _begun_with(header, part.opening)
    stream = Stream(Piece(path, part.start, part.end), of=None if part.opening is None else own)  # type: ignore[arg-type]
    settled = Settled(ids)
    streaming = Streaming(stream, settled, isolation)
    earliest = Earliest()
    streaming.through(lambda: None, earliest)
    if stream.numbered:
        raise Unstreamed("numbers within sessions, which go on from part to part")
    if part.closing is not None:
        following = _begun_with(header, part.closing)
        rows = known_rows(Log(following, (), "", (0, 0, 0)), streaming.library)
        if _exactly(rows) != _exactly(streaming.run.rows):
            raise Unstreamed("the rows at a checkpoint are not those that it reads")
        if stream.ended is not None:
            raise Unstreamed("something behind the end")
    settled.flush()
    ended = -1 if stream.ended is None else stream.ended
    kept_run = streaming.run.kept()
    return Judged("", streaming.counts, kept_run.levels, ended, earliest, kept_run.course, stream.ascent, settled.size)


def _begun_with(header: Header, checkpoint: RawTransaction) -> Header:
    """The header of what follows a checkpoint. Raises Unstreamed where that does not read whole tables."""
    tables = []
    for statement in checkpoint.statements or ():
        found = _WHOLE.fullmatch(statement.sql)
        if found is None or statement.result is None or statement.result.truncated:
            raise Unstreamed("a checkpoint that does not read whole tables")
        names = None if found["columns"] == "*" else tuple(map(_unquoted, found["columns"].split(",")))
        tables.append(InitialTable(_unquoted(found["table"]), names, statement.result.rows))
    return msgspec.structs.replace(header, initial=tuple(tables))


def _unquoted(name: str) -> str:
    """A name without the marks around it, or around its parts."""
    return ".".join(part.strip('"`') for part in name.strip().split("."))


def _exactly(rows: Mapping[str, Sequence[tuple[object, ...]]]) -> dict[str, list[bytes]]:
    """Rows as they are written, in no order. Raises Unkept."""
    return {name: sorted(msgspec.json.encode(kept(row)) for row in some) for name, some in rows.items()}  # type: ignore[arg-type]


def _joined(found: Sequence[Judged]) -> Counts:
    """What all parts count. Raises Unstreamed where one does not end before the next one begins, or the log's end
    counts otherwise."""
    course, counts, ascent = Course(), Counts(), Ascent()
    for one in found:
        assert one.earliest is not None
        assert one.course is not None
        assert one.ascent is not None
        if not course.is_before(one.earliest):
            raise Unstreamed("transactions that may overlap a checkpoint")
        course.append(one.course)
        ascent.append(one.ascent)
        for name in Counts.__struct_fields__:
            value, more = getattr(counts, name), getattr(one.counts, name)
            setattr(counts, name, value or more if isinstance(value, bool) else value + more)
    check_sessions({name for one in found for name in one.levels}, ascent)
    if found[-1].ended not in (-1, counts.total):
        raise Unstreamed("an end that counts otherwise")
    return counts
