"""`troubadour audit` of a log that is read once. Does not know how it is judged, nor what becomes of other logs."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from sql_semantics.records import dataclass
from troubadour.cli.common import Report, refuse, warn
from troubadour.formats.text import STDIN, likely_size, opened
from troubadour.model.log import Header, Log, LogError

if TYPE_CHECKING:
    from troubadour.audit.driver import Options
    from troubadour.audit.straight import Tried
    from troubadour.audit.streamed.state import Resumable
    from troubadour.formats.streaming.places import Places
    from troubadour.formats.streaming.stream import Stream
    from troubadour.model.verdict import Verdict

LEAST = 1 << 20
"""Bytes of the smallest log that is read as a stream."""


@dataclass(frozen=True, slots=True)
class Going:
    """How an audit goes: where it notes how far it is, and on how many processes. `silent`: what cannot be resumed is
    begun anew, and nothing is said of it."""

    resume: Path | None = None
    jobs: int = 1
    silent: bool = False


@dataclass(slots=True)
class Streamed:
    """What became of a stream: the verdict and a log that has its header and its counts alone; else how far the newest
    states explained it. `resumable`: the file that tells how far it is."""

    verdict: Verdict | None = None
    log: Log | None = None
    tried: Tried | None = None
    resumable: Resumable | None = None
    stats: bool = False
    """Whether it is told what the steps took."""

    @property
    def held(self) -> Log | None:
        """The log, as far as it is asked for; None where it has to be read anew."""
        return self.log if self.verdict is not None else None if self.tried is None else self.tried.log

    def finished(self) -> None:
        """The verdict was told."""
        if self.resumable is not None:
            self.resumable.done()


def forget(resume: Path) -> None:
    """Take away what was noted of an audit. Raises OSError."""
    from troubadour.audit.streamed.state import files_of

    for one in files_of(resume):
        one.unlink(missing_ok=True)


def as_stream(
    path: str, isolation: str | None, options: Callable[[], Options], going: Going, report: Report, *, stats: bool
) -> Streamed:
    """Audit a log as it is read, where it is large. Standard input can be read again afterwards, from where it was.
    Ends with exit status 2 where `--resume` cannot be used."""
    from troubadour.formats.streaming.stream import Unresumable

    found = Streamed(stats=stats)
    try:
        if going.resume is not None:
            from troubadour.audit.streamed.state import Resumable

            say = (lambda text: None) if going.silent else (lambda text: warn(f"--resume: {text}"))
            found.resumable = Resumable(going.resume, isolation, say)
        large, why = likely_size(path) >= LEAST, "it is short"
        if large or path == STDIN:
            large, why = _opened(path, options, going, found, report)
        if going.jobs > 1 and not large:
            warn(f"--jobs: one process judges all: {why}")
        if found.verdict is None and found.resumable is not None:
            found.resumable.left(why)
    except (Unresumable, OSError) as error:
        if going.silent and going.resume is not None and path != STDIN:
            forget(going.resume)
            return Streamed(stats=stats)
        if isinstance(error, Unresumable):
            refuse(f"--resume: {going.resume}: {error}")
        refuse(f"{going.resume or path}: {error.strerror}")
    return found


def _opened(
    path: str, options: Callable[[], Options], going: Going, found: Streamed, report: Report
) -> tuple[bool, str]:
    """Whether a log is large, and why it is not judged, empty where it is."""
    with ExitStack() as stack:
        try:
            source = stack.enter_context(opened(path))
        except LogError:
            return True, "it cannot be read"  # what reads whole logs says why
        if path != STDIN:
            return True, _read(source, path, options, going, found, report)
        from troubadour.formats.streaming.kept_input import KeptInput

        kept, why = KeptInput(source), "it is short"
        large = kept.begins_with(LEAST)
        if large:
            why = _read(io.BufferedReader(kept, LEAST), path, options, going, found, report)
        if found.verdict is None:
            sys.stdin = io.TextIOWrapper(kept.whole())
        else:
            kept.forget()
        return large, why


def _read(
    source: BinaryIO, path: str, options: Callable[[], Options], going: Going, found: Streamed, report: Report
) -> str:
    """Read the header, and judge what follows; why that is not done, empty where it is."""
    from troubadour.formats.streaming.places import places_in
    from troubadour.formats.streaming.stream import Stream, Unstreamed

    state = None if found.resumable is None else found.resumable.state
    try:
        places = None if state is not None or path == STDIN else places_in(source)
        stream = Stream(source, None if state is None else state.position, places=places)
    except Unstreamed as error:
        return str(error)
    if going.jobs > 1:
        why = "what is resumed is not cut" if state is not None or going.resume else ""
        why = why or _judged_apart(stream.header, path, options(), found, going.jobs)
        if not why:
            return ""
        warn(f"--jobs: one process judges all: {why}")
    return _judged(stream, places, likely_size(path), options(), found, report)


def _judged_apart(header: Header, path: str, options: Options, found: Streamed, jobs: int) -> str:
    """Judge the parts of a log apart; why that is not done, empty where it is."""
    from troubadour.audit.driver import stats_of
    from troubadour.audit.streamed.apart import Hashing, judged_apart
    from troubadour.audit.streamed.judge import correct
    from troubadour.formats.streaming.parts import parts_of
    from troubadour.formats.streaming.stream import Unstreamed

    file, budget = Path(path), options.budget
    parts = parts_of(file, 4 * jobs) if path != STDIN and file.is_file() else []
    if len(parts) < 2:
        return "the log has no checkpoint where it could be cut, or is no plain file"
    hashing = Hashing(file)

    def look() -> None:
        budget.left()
        hashing.more()

    with budget.within(seconds=options.timeout), budget.step("straight") as tally:
        try:
            counts, levels, settled = judged_apart(file, header, options.isolation, parts, jobs, look)
            verdict = correct(
                header,
                options.isolation,
                counts,
                levels,
                settled,
                hashing.digest(),
                minimum=options.minimum,
                unobserved=options.unobserved,
            )
        except Unstreamed as error:
            return str(error)
        tally.helped += 1
    told = f"judged in {len(parts)} parts, cut at checkpoints, each from the rows that the one before it ended with"
    verdict = msgspec.structs.replace(verdict, notes=(*verdict.notes, told))
    found.verdict = msgspec.structs.replace(verdict, stats=stats_of(budget)) if found.stats else verdict
    found.log = Log(header, (), verdict.witness.log if verdict.witness else "", (counts.committed, counts.aborted, 0))
    return ""


def _judged(stream: Stream, places: Places | None, size: int, options: Options, found: Streamed, report: Report) -> str:
    """Judge a stream of so many bytes (0: not known), whose transactions stand at `places`; why it is not judged, empty
    where it is."""
    from troubadour.audit.collector import rarely_collected
    from troubadour.audit.driver import stats_of
    from troubadour.audit.streamed.judge import Streaming
    from troubadour.formats.read import SPILL_BYTES
    from troubadour.formats.streaming.settled import Settled
    from troubadour.formats.streaming.stream import Unstreamed
    from troubadour.replay.newest import NotPlain, Unexplained

    resumable, budget = found.resumable, options.budget
    state = None if resumable is None else resumable.state
    streaming = None
    with rarely_collected(), budget.within(seconds=options.timeout), budget.step("straight") as tally:
        try:
            settled = Settled() if resumable is None else resumable.settled()
            streaming = Streaming(stream, settled, options.isolation, None if state is None else state.counts)
            if resumable is not None:
                resumable.restore(streaming)
            counts = streaming.counts

            def told() -> None:
                budget.left()
                report("judging", counts.total, max(counts.total, counts.total * size // stream.read))

            def noted() -> None:
                told()
                if resumable is not None:
                    resumable.note(stream, settled, streaming)

            streaming.through(noted)
            verdict = streaming.verdict(minimum=options.minimum, unobserved=options.unobserved)
        except (Unstreamed, NotPlain) as error:
            if streaming is None or state is not None:
                return str(error)
            found.tried = streaming.tried
            if isinstance(error, Unexplained) and places is not None and found.tried is not None:
                with suppress(Unstreamed):  # then all of it is read anew
                    found.tried.log = streaming.whole(places, told, kept=size <= SPILL_BYTES)
            return str(error)
        tally.helped += 1
    found.verdict = msgspec.structs.replace(verdict, stats=stats_of(budget)) if found.stats else verdict
    found.log = Log(stream.header, (), stream.digest, (counts.committed, counts.aborted, 0))
    return ""
