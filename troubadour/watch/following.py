"""A log that grows, from its sources to a copy on disk, line by line, with what is told of it meanwhile.

Lines that cannot be used are refused singly and counted; the copy has the others, so that the audit of it is that of
the log. Does not know how a finished log is judged.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from sql_semantics.records import dataclass, field, replace
from troubadour.formats.entries import (
    BadEntry,
    RawEnd,
    RawHeader,
    RawRows,
    RawTransaction,
    id_of,
    read_header,
    read_transaction,
)
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.log import TransactionId
from troubadour.timestamps.ledger import Rules
from troubadour.timestamps.store import NAME
from troubadour.watch.judging import RECORDS, ByAudits, ByTimestamps, Event, Suspects
from troubadour.watch.sources import Batch, Gone, Growing, Piped, Posted, Source

STATUS = 5.0
"""Seconds between two lines of how far it is."""

KEPT = 1.0
"""Seconds between two notes of how far it is, for another run to go on from."""

LEAST, AGAIN = 2_000, 0.07
"""Transactions, and the part of all so far, after which what is in memory is kept for another run to go on from."""

KEPT_RECORDS = 100_000
"""Versions and reads that are in memory where that is kept: each time all of them are written."""

LONG = 20_000
"""Transactions from which on a log is not audited as a whole at its end where a part of it tells."""

_PAUSE = 0.05
_BLOCK = 4096
_PER_MIB = 2000
"""Versions and reads that are kept for each MiB of memory, which takes half as many again."""

_METRICS = (
    ("transactions_total", "transactions", "counter", "Transactions so far."),
    ("violations", "violations", "gauge", "Violations that stand now; at the levels by timestamps all of them."),
    ("pending_reads", "pending", "gauge", "Reads that are wrong now, and not told yet."),
    ("flips_total", "flips", "counter", "Reads that became right or wrong as others came."),
    ("late_total", "late", "counter", "Transactions behind a later one of their session."),
    ("refused_lines_total", "bad", "counter", "Lines that could not be used."),
    ("resident_memory_bytes", None, "gauge", "Memory of this process."),
)
""" What is measured, and what a line of status calls it."""


class Unusable(Exception):
    """The log cannot be used at all; the text is what to tell."""


class Place(msgspec.Struct):
    """How far a file, of this `inode`, was read: `segment` is its copy, `size` that one's bytes, `after` the segment
    that the file had before."""

    path: str
    offset: int
    segment: int
    size: int
    inode: int
    after: int | None = None


class State(msgspec.Struct):
    """How far a run is: `sizes` of all copies, `bad` lines so far. `names` are what messages call the copies, `goes_on`
    the segments that go on with another one. `lines`, those of them that could not be used and `transactions` are
    those of the copies."""

    places: list[Place]
    sizes: list[int]
    bad: int
    ended: list[bool]
    names: list[str]
    goes_on: dict[int, int]
    lines: list[int] = []
    bads: list[int] = []
    transactions: list[int] = []


@dataclass(slots=True)
class Segment:
    """One copy of what messages call by its `name`. `bad` counts its lines that could not be used, which are blank in
    the copy."""

    path: Path
    name: str = ""
    lines: int = 0
    bad: int = 0
    transactions: int = 0
    header: RawHeader | None = None
    ended: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked: the level (None: the log's own), rules by timestamps, seconds after which a wrong read is told,
    after which a log that does not grow has ended (None: never), MiB of memory, where to note how far it is, and how
    many sessions there are whose transactions come in order (None: that is not known), and whether to forget what is
    old."""

    isolation: str | None
    rules: Rules = field(default_factory=Rules)
    patience: float = 5.0
    idle: float | None = None
    memory: int | None = None
    resume: Path | None = None
    sessions: int | None = None
    forget: bool = False


class Following:
    """One run. `folder` holds the copies."""

    def __init__(self, logs: Sequence[str], port: int | None, folder: Path, plan: Plan) -> None:
        """Raises OSError where a log or the port cannot be had, Unusable where what was noted cannot be used."""
        self._folder, self._plan = folder, plan
        self.segments: list[Segment] = []
        self._judge: ByTimestamps | ByAudits | None = None
        self.bad = 0
        self.stopped = False
        self._numbers = itertools.count()
        self._header: RawHeader | None = None
        self._told = self._noted = self._grown = 0.0
        self._goes_on: dict[int, int] = {}
        self._kept = 0
        """Transactions when what was in memory was last kept."""
        self._again: int | None = None
        """Of a run that goes on from another one, the lines that were taken once more."""
        self.sources: list[Source] = []
        noted = self._resumed()
        for log in logs:
            if log == "-":
                self.sources.append(Piped(0, next(self._numbers)))
                continue
            place = None if noted is None else next((one for one in noted.places if one.path == log), None)
            if place is None:
                self.sources.append(Growing(log, self._numbers))
            else:
                try:
                    self.sources.append(
                        Growing(log, self._numbers, place.offset, place.segment, place.inode, place.after)
                    )
                except Gone as error:
                    raise Unusable(str(error)) from error
        if port is not None:
            self.sources.append(Posted(port, next(self._numbers)))

    @property
    def paths(self) -> list[Path]:
        """The copies that have a header."""
        return [one.path for one in self.segments if one.header is not None]

    @property
    def names(self) -> dict[str, str]:
        """What messages call the copies."""
        return {str(one.path): one.name for one in self.segments}

    def _meanwhile(self) -> Iterator[Event]:
        """What is to be told and noted from time to time, whether lines come or not."""
        yield from self._due()
        now = time.monotonic()
        if now - self._told >= STATUS:
            self._told = now
            quiet = now - self._grown
            yield {**self._status(), **({"idle": round(quiet, 1)} if quiet >= STATUS else {})}
            yield from self._within_memory()
        if now - self._noted >= KEPT:
            self._noted = now
            self._note()
        judge = self._judge
        if (
            self._plan.resume is not None
            and isinstance(judge, ByTimestamps)
            and judge.transactions - self._kept >= max(LEAST, AGAIN * judge.transactions)
        ):
            self._keep(judge)

    @property
    def hopeful(self) -> str | None:
        """The level by timestamps at which nothing is wrong so far; None where something is, at others, and where more
        is asked than the timestamps say."""
        judge, rules = self._judge, self._plan.rules
        if not isinstance(judge, ByTimestamps) or rules.visible or rules.gaps or judge.ledger.count():
            return None
        return judge.level.name

    @property
    def suspects(self) -> Suspects | None:
        """What of a long log tells its violations by timestamps; None where that is not told by some of its keys."""
        judge = self._judge
        return judge.suspects() if isinstance(judge, ByTimestamps) and judge.transactions >= LONG else None

    @property
    def forgotten(self) -> str | None:
        """Why nothing can be said of the log, as what it takes was forgotten; None where that is not so."""
        judge = self._judge
        if not isinstance(judge, ByTimestamps) or not judge.ledger.forgotten:
            return None
        return f"what was forgotten was needed again by so many transactions: {judge.ledger.forgotten:,} (--forget)"

    def run(self) -> Iterator[Event]:
        """Follow until the log ends; what is to be told. Raises Unusable."""
        self._told = self._noted = self._grown = time.monotonic()
        ports = [one.port for one in self.sources if isinstance(one, Posted)]
        again = {} if self._again is None else {"again": self._again}
        yield {**self._status(), **({"listening": ports[0]} if ports else {}), **again}
        while not self.stopped:
            progressed = False
            for source in self.sources:
                for batch in self._read(source):
                    progressed = True
                    self._grown = time.monotonic()
                    yield from self._take(batch, source.name)
                    yield from self._meanwhile()
            yield from self._meanwhile()
            if all(map(self._is_over, self.sources)):
                break
            if self._plan.idle is not None and time.monotonic() - self._grown >= self._plan.idle:
                break
            if not progressed:
                time.sleep(_PAUSE)
        for source in self.sources:
            for batch in self._read(source, rest=True):
                yield from self._take(batch, source.name)
        self._note()
        if self._plan.resume is not None and isinstance(self._judge, ByTimestamps):
            self._keep(self._judge)

    def close(self) -> None:
        """Let go of the sources, and end an audit that is under way."""
        for source in self.sources:
            source.close()
        if isinstance(self._judge, ByAudits):
            self._judge.close()

    def closed(self) -> Iterator[Event]:
        """What is certain now that the log has ended: to be told where the audit says violation."""
        if isinstance(self._judge, ByTimestamps):
            yield from self._judge.closed()

    def metrics(self) -> str:
        """How far it is, as text for Prometheus."""
        status = self._status()
        return "".join(
            f"# HELP troubadour_{name} {meaning}\n# TYPE troubadour_{name} {kind}\ntroubadour_{name} {found}\n"
            for name, key, kind, meaning in _METRICS
            if (found := self.memory() if key is None else status.get(key)) is not None
        )

    @staticmethod
    def memory() -> int:
        """Bytes of memory that this process uses."""
        return int(_resident() * (1 << 20))

    def last(self) -> Event:
        """How far it came, and what processor seconds that took."""
        return {**self._status(), "cpu": round(time.process_time(), 2), "final": True}

    def forget(self) -> None:
        """Let go of all that is in memory."""
        if isinstance(self._judge, ByTimestamps):
            self._judge.close()
        self._judge = None

    def finished(self) -> None:
        """Nothing is left to go on from."""
        if self._plan.resume is not None:
            self._plan.resume.unlink(missing_ok=True)
            for one in self._folder.glob(f"{NAME}*"):
                one.unlink()

    def _read(self, source: Source, *, rest: bool = False) -> Iterator[Batch]:
        try:
            yield from source.rest() if rest else source.read()
        except (ValueError, OSError) as error:
            raise Unusable(f"{source.name}: {error}") from error

    def _is_over(self, source: Source) -> bool:
        number = self._segment_of(source)
        return source.ended or (number < len(self.segments) and self.segments[number].ended)

    def _segment_of(self, source: Source) -> int:
        return self._goes_on.get(source.segment, source.segment)

    def _take(self, batch: Batch, name: str) -> Iterator[Event]:
        self._segment(batch.segment, name)
        number = batch.segment
        if batch.after is not None and number not in self._goes_on and self.segments[number].header is None:
            earlier = self._goes_on.get(batch.after, batch.after)
            if _is_transaction(next((line for line in batch.lines if line.strip()), b"")):
                # cut, and written on without a header
                self._goes_on[number] = earlier
        number = self._goes_on.get(number, number)
        segment = self.segments[number]
        kept: list[bytes] = []
        at = 0
        while at < len(batch.lines):
            judge = self._judge
            if isinstance(judge, ByTimestamps) and segment.header is not None and not segment.ended:
                several = batch.lines[at : at + judge.at_once(batch.lines, at)]
                told = judge.several(several) if len(several) > 1 else None
                if told is not None:
                    yield from told
                    kept += several
                    segment.lines += len(several)
                    segment.transactions += len(several)
                    at += len(several)
                    continue
            else:
                several = batch.lines[at:]
            at += len(several)
            for line in several:
                yield from self._line(segment, line, name, kept)
        if kept:
            copied = b"\n".join(kept) + b"\n"
            with segment.path.open("ab") as file:
                file.write(copied)
            segment.size += len(copied)

    def _segment(self, number: int, name: str) -> None:
        """There is a segment of this number."""
        while len(self.segments) <= number:
            self.segments.append(Segment(self._folder / f"{len(self.segments):05}.jsonl", name))

    def _line(self, segment: Segment, line: bytes, name: str, kept: list[bytes]) -> Iterator[Event]:
        """A line by itself, which joins those that are `kept` where it can be used. Raises Unusable."""
        segment.lines += 1
        if not line or line.isspace():
            kept.append(b"")
            return
        try:
            yield from self._entry(segment, line)
        except BadEntry as error:
            if segment.header is None:
                raise Unusable(f"{name}:{segment.lines}: {error.text}") from error
            self.bad += 1
            segment.bad += 1
            where = f": {error.where}" if error.where else ""
            text = f"{name}:{segment.lines}{where}: {error.text}"
            kept.append(b"")
            yield {"kind": "status", "refused": text, "bad": self.bad, "final": False}
            return
        kept.append(b"" if segment.ended and segment.bad else line)

    def _entry(self, segment: Segment, line: bytes) -> Iterator[Event]:
        """Raises BadEntry."""
        if segment.ended:
            raise BadEntry("nothing may follow the end")
        if segment.header is None:
            segment.header = read_header(line)
            self._begin(segment.header)
            return
        entry = read_transaction(line)
        judge = self._judge
        if isinstance(entry, RawTransaction):
            if entry.isolation is not None and self._plan.isolation is None:
                if entry.isolation not in LEVELS:
                    raise BadEntry(unknown_level(entry.isolation, None), transaction=entry.id)
                if isinstance(judge, ByTimestamps) and entry.isolation != judge.level.name:
                    judge = self._by_audits()
            if isinstance(judge, ByTimestamps):
                yield from judge.add(entry)
            elif judge is not None:
                judge.grown(entry.kind != "intent")
            segment.transactions += entry.kind != "intent"
        elif isinstance(entry, RawRows) and isinstance(judge, ByTimestamps):
            judge.add_initial(entry)
        elif isinstance(entry, RawEnd):
            if entry.transactions != segment.transactions and not segment.bad:
                raise BadEntry(
                    f"the end line counts {entry.transactions:,} transactions, but the log has {segment.transactions:,}"
                )
            segment.ended = True

    def _begin(self, header: RawHeader, *, goes_on: bool = False) -> None:
        """Judge by what a header says; what an earlier run kept is let go of, unless this one `goes_on` from it."""
        if self._header is not None:
            return
        self._header = header
        level = LEVELS.get(self._plan.isolation or header.isolation or "")
        unknown = any(isinstance(one, str) for one in header.initial.values())
        if header.objects is None or level is None or not level.ordered or unknown:
            self._by_audits()
        else:
            rules = replace(self._plan.rules, serial=level.horizon.latest)
            self._judge = ByTimestamps(
                header,
                level,
                rules,
                self._plan.patience,
                there=self._has,
                records=self._records(),
                folder=self._folder,
                lasts=self._plan.resume is not None,
                forgets=self._plan.forget,
                sessions=self._plan.sessions,
            )
            if not goes_on:
                self._judge.clear()

    def _records(self) -> int:
        """How many versions and reads to keep in memory."""
        most = RECORDS if self._plan.resume is None else KEPT_RECORDS
        if self._plan.memory is None:
            return most
        return max(10_000, min(most, (self._plan.memory - 80) * _PER_MIB))

    def _has(self, id: TransactionId) -> bool:
        """Whether a copy has a transaction of this id."""
        for segment in self.segments:
            if segment.path.exists():
                with segment.path.open("rb") as file:
                    if any(id_of(line) == id and type(id_of(line)) is type(id) for line in file):
                        return True
        return False

    def _by_audits(self) -> ByAudits:
        options = [] if self._plan.isolation is None else ["--isolation", self._plan.isolation]
        judge = self._judge = ByAudits(lambda: self.paths, options)
        judge.grown(sum(one.transactions for one in self.segments))
        return judge

    def _due(self) -> Iterator[Event]:
        if isinstance(self._judge, ByTimestamps):
            yield from self._judge.due()
        elif self._judge is not None:
            yield from self._judge.look()

    def _status(self) -> Event:
        judged = {} if self._judge is None else self._judge.status()
        return {"kind": "status", **judged, "bad": self.bad, "final": False}

    def _within_memory(self) -> Iterator[Event]:
        """Beyond nine tenths of the memory nothing is judged before the end."""
        if self._plan.memory is None or not isinstance(self._judge, ByTimestamps):
            return
        if _resident() > 0.9 * self._plan.memory:
            yield {**self._status(), "stopped": f"the memory limit of {self._plan.memory:,} MiB was reached"}
            self._judge = None

    # going on where a run was ended

    def _note(self) -> None:
        if self._plan.resume is None:
            return
        part = self._plan.resume.with_name(f"{self._plan.resume.name}.part")
        with part.open("wb") as file:
            file.write(msgspec.json.encode(self._state()))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._plan.resume)

    def _keep(self, judge: ByTimestamps) -> None:
        """Keep what is in memory, so that what comes from here on is all that has to be taken again."""
        self._kept = judge.transactions
        judge.keep(msgspec.json.encode(self._state()))

    def _state(self) -> State:
        files = [one for one in self.sources if isinstance(one, Growing)]
        for one in files:
            self._segment(one.segment, one.name)
        segments = self.segments
        places = [
            Place(one.name, one.taken, one.segment, segments[self._segment_of(one)].size, one.inode, one.after)
            for one in files
        ]
        sizes, ended = [one.size for one in segments], [one.ended for one in segments]
        return State(
            places,
            sizes,
            self.bad,
            ended,
            [one.name for one in segments],
            self._goes_on,
            [one.lines for one in segments],
            [one.bad for one in segments],
            [one.transactions for one in segments],
        )

    def _resumed(self) -> State | None:
        """What an earlier run noted, with all that it had read taken from its copies: what came after it kept its
        memory is judged again."""
        path = self._plan.resume
        if path is None or not path.exists():
            return None
        try:
            state = msgspec.json.decode(path.read_bytes(), type=State)
        except msgspec.MsgspecError as error:
            raise Unusable(f"--resume: {path}: {error}") from error
        for number, size in enumerate(state.sizes):
            copy = self._folder / f"{number:05}.jsonl"
            if size and not copy.exists():
                raise Unusable(f"--resume: {path}: {copy} is gone")
        kept = self._remembered(state)
        if kept is not None and sum(kept.sizes) > sum(state.sizes):
            # it was kept and not noted
            state = kept
        self._goes_on = state.goes_on
        self._again = 0
        followed = {self._goes_on.get(one.segment, one.segment) for one in state.places}
        for number, size in enumerate(state.sizes):
            copy = self._folder / f"{number:05}.jsonl"
            if number not in followed and copy.exists():
                # what was sent does not come again
                size = copy.read_bytes().rfind(b"\n") + 1
            segment = Segment(copy, state.names[number], size=size)
            self.segments.append(segment)
            next(self._numbers)
            if not size:
                copy.unlink(missing_ok=True)  # what is in it was not noted, and is read again
                continue
            os.truncate(copy, size)
            with copy.open("rb") as file:
                if kept is not None and number < len(kept.sizes) and kept.sizes[number]:
                    segment.header = read_header(file.readline())
                    if isinstance(self._judge, ByAudits):
                        # they read the copy themselves
                        self._judge.grown(kept.transactions[number])
                        file.seek(kept.sizes[number])
                    else:
                        self._know(file, kept.sizes[number])
                    segment.lines, segment.bad = kept.lines[number], kept.bads[number]
                    segment.transactions, segment.ended = kept.transactions[number], kept.ended[number]
                self._take_again(segment, file)
            segment.bad = max(segment.bad, state.bads[number] if state.bads else 0)
            segment.ended = segment.ended or state.ended[number]
        for copy in self._folder.glob("[0-9]*.jsonl"):
            if int(copy.stem) >= len(state.sizes):
                copy.unlink()
        self.bad = state.bad
        return state

    def _remembered(self, state: State) -> State | None:
        """How far the run is of which the judge knows all that it needs: that whose memory it has, or, where it has
        none, the last one that was noted. None where the lines have to be judged again."""
        first = next((at for at, size in enumerate(state.sizes) if size), None)
        if first is None:
            return None
        with (self._folder / f"{first:05}.jsonl").open("rb") as file:
            try:
                self._begin(read_header(file.readline()), goes_on=True)
            except BadEntry as error:
                raise Unusable(f"--resume: {self._plan.resume}: {error.text}") from error
            judge = self._judge
            if isinstance(judge, ByTimestamps):
                about = judge.resume()
                if about is None:
                    return None
                self._kept = judge.transactions
                kept = msgspec.json.decode(about, type=State)
            elif len(state.transactions) == len(state.sizes):
                kept = state
            else:
                return None  # an earlier version noted it
        for number, size in enumerate(kept.sizes):
            copy = self._folder / f"{number:05}.jsonl"
            if size and (not copy.exists() or copy.stat().st_size < size):
                raise Unusable(f"--resume: {self._plan.resume}: {copy} is shorter than it was")
        return kept

    def _know(self, file: BinaryIO, size: int) -> None:
        """The ids and initial values of a copy's lines up to a size, which are judged already."""
        judge = self._judge
        assert isinstance(judge, ByTimestamps)
        ids: list[TransactionId] = []
        while file.tell() < size:
            line = file.readline().rstrip(b"\n")
            found = id_of(line)
            if found is None or b'"intent"' in line or len(ids) == _BLOCK:
                judge.know(ids)
                ids = []
            if found is None or b'"intent"' in line:
                entry = read_transaction(line) if line else None
                if isinstance(entry, RawRows):
                    judge.know_initial(entry)
                found = entry.id if isinstance(entry, RawTransaction) and entry.kind != "intent" else None
            if found is not None:
                ids.append(found)
        judge.know(ids)

    def _take_again(self, segment: Segment, file: BinaryIO) -> None:
        """Judge the lines of a copy from here on."""
        for line in file:
            segment.lines += 1
            if line == b"\n":
                continue
            self._again = (self._again or 0) + 1
            for _ in self._entry(segment, line.rstrip(b"\n")):
                pass


def _is_transaction(line: bytes) -> bool:
    try:
        return not isinstance(read_transaction(line), RawRows)
    except BadEntry:
        return False


def _resident() -> float:
    """MiB of memory that this process uses."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def line_of(event: Event) -> str:
    """An event as one line."""
    return json.dumps(event, ensure_ascii=False)
