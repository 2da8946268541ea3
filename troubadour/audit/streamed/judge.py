"""The straight path along a log that is read once: what is judged is forgotten, so that memory follows what overlaps,
the rows and the texts, and not the log.

Says that a log is correct, or leaves it to the audit of a log that is held. Does not know where the text comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import msgspec

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.products import PRODUCTS
from troubadour.audit.straight import ENGINE, Tried
from troubadour.audit.told.remarks import with_remarks
from troubadour.coverage.facts import answers_nothing, is_idle
from troubadour.coverage.library import changes_library, library_for
from troubadour.coverage.reduced import ends_in_error, is_exact, is_observed
from troubadour.formats.streaming.ascent import Ascent
from troubadour.formats.streaming.places import Places
from troubadour.formats.streaming.reread import log_at
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.streaming.stream import Stream, Unstreamed
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Header, Log, LogError, Observed, Statement, Transaction, TransactionId
from troubadour.model.opening import taken_by_begin
from troubadour.model.verdict import Coverage, Status, Verdict
from troubadour.model.witness import Views, Witness
from troubadour.problem.budget import MOST
from troubadour.replay.newest import NotPlain, Unexplained
from troubadour.replay.newest.course import Earliest
from troubadour.replay.newest.judge import Run


class Counts(msgspec.Struct, forbid_unknown_fields=True):
    """What was counted so far: transactions, those that committed or aborted, statements, those of which something was
    observed, committed transactions with a statement that can be wrong; whether any has one, and whether anything was
    seen of one."""

    total: int = 0
    committed: int = 0
    aborted: int = 0
    statements: int = 0
    observed: int = 0
    judged: int = 0
    judges: bool = False
    sees: bool = False


class Streaming:
    """The judging of one stream."""

    def __init__(self, stream: Stream, settled: Settled, isolation: str | None, counts: Counts | None = None) -> None:
        """Raises Unstreamed where it cannot be judged so."""
        self._stream, self._settled, self._isolation = stream, settled, isolation
        self.counts = counts or Counts()
        self.tried: Tried | None = None
        """How far the newest states explained it, where they do not explain all."""
        self._stopped: list[Transaction] = []
        self._texts: set[str] = set()
        self._programs = -1
        self._idle, self._mute = set[str](), set[str]()
        self._begins = PRODUCTS[stream.header.dialect].running.begin_takes_snapshot
        with _leaving():
            self._log, self.library = library_for(Log(stream.header, (), "", (0, 0, 0)), isolation)
            if not is_exact(self.library):
                raise Unstreamed("definitions that are not modelled")
            self.run = Run(self._log, self.library, isolation, _all)

    def through(self, noted: Callable[[], None], earliest: Earliest | None = None) -> None:
        """Judge all transactions; `noted` is called between two batches, and what it raises ends that. `earliest` takes
        their times. Raises Unstreamed, NotPlain."""
        with _leaving():
            for batch in self._stream.batches():
                if earliest is not None:
                    earliest.note(batch, self._stream.header.clock)
                self._look(batch)
                self._take(batch)
                self._count(batch)
                check_sessions(self.run.levels, self._stream.ascent)
                noted()
            if self._settled.may_repeat():
                raise Unstreamed("an id that comes twice")

    def whole(self, places: Places, noted: Callable[[], None], *, kept: bool) -> Log:
        """The log whose transactions stand at `places`, read to its end behind one that the newest states do not
        explain. Raises Unstreamed where it takes another reading to know it."""
        with _leaving():
            self._count(self._stopped)
            for batch in self._stream.batches():
                self._look(batch)
                self._settled.add([one.id for one in batch], [])
                self._count(batch)
                noted()
            if self._settled.may_repeat():
                raise Unstreamed("an id that comes twice")
            counts, observed = self.counts, Observed(self.counts.statements, self.counts.observed)
            found = (counts.committed, counts.aborted, 0), frozenset(self._texts), observed
            return log_at(places, self._stream, *found, kept=kept)

    def _take(self, batch: list[Transaction]) -> None:
        place, take = self.counts.total, self.run.take
        judged, others = list[TransactionId](), list[TransactionId]()
        for one in batch:
            try:
                (judged if take(place, one) else others).append(one.id)
            except NotPlain as error:
                self._settled.add(judged, others)
                before = self._settled.judged()
                stopped = error if isinstance(error, Unexplained) else None
                self.tried = Tried(one.id, before, place - len(before), stopped)
                self._stopped = batch
                self._settled.add([one.id for one in batch[place - self.counts.total :]], [])
                raise
            place += 1
        self._settled.add(judged, others)

    def _look(self, batch: list[Transaction]) -> None:
        """Raises Unstreamed where a log has to be known as a whole."""
        for text in {one.sql for transaction in batch for one in transaction.statements} - self._texts:
            if changes_library(text):
                raise Unstreamed("definitions or settings that change")
            self._texts.add(text)
        if len(self._texts) > MOST:
            raise Unstreamed("many texts")
        if self._begins and any(map(taken_by_begin, batch)):
            raise Unstreamed("snapshots that were taken by BEGIN")

    def _count(self, batch: list[Transaction]) -> None:
        programs = self.library.texts()
        if len(programs) != self._programs:
            self._programs = len(programs)
            self._idle = {sql for sql, program in programs if is_idle(program)}
            self._mute = {sql for sql, program in programs if answers_nothing(program)}
        if self.library.leaves_out:
            raise Unstreamed("something that is not modelled")
        counts, idle = self.counts, self._idle
        counts.total += len(batch)
        for transaction in batch:
            committed, statements = transaction.status == "committed", transaction.statements
            counts.committed += committed
            counts.statements += len(statements)
            counts.observed += sum(map(is_observed, statements))
            busy = [one for one in statements if one.sql not in idle] if idle else statements
            counts.judged += committed and bool(busy)
            counts.judges = counts.judges or bool(busy)
            counts.sees = counts.sees or self._sees(transaction, busy)
        counts.aborted = counts.total - counts.committed

    def _sees(self, transaction: Transaction, busy: Sequence[Statement]) -> bool:
        return ends_in_error(transaction) or any(
            is_observed(one) or (one.sql in self._mute and not one.outcome_unknown) for one in busy
        )

    def verdict(self, *, minimum: int, unobserved: bool) -> Verdict:
        """That it is correct, once it is through. Raises Unstreamed where that is not to be said."""
        stream, levels = self._stream, self.run.levels
        found = stream.header, self._isolation, self.counts, levels, self._settled, stream.digest
        return correct(*found, minimum=minimum, unobserved=unobserved)


def check_sessions(levels: Iterable[str], ascent: Ascent) -> None:
    """Raises Unstreamed where a level keeps the order of each session, which is hint order, and that is not certain."""
    if not ascent.certain and any(LEVELS[name].session for name in levels):
        raise Unstreamed("an order of sessions that the whole log tells")


def correct(
    header: Header,
    isolation: str | None,
    counts: Counts,
    levels: Sequence[str],
    settled: Settled,
    digest: str,
    *,
    minimum: int,
    unobserved: bool,
) -> Verdict:
    """That a log is correct all of which was judged. Raises Unstreamed where that is not to be said."""
    if not counts.judges or counts.judged < minimum or not (counts.sees or unobserved):
        raise Unstreamed("little is judged")
    order = settled.judged()
    verdict = Verdict(
        Status.CORRECT,
        isolation or ", ".join(levels) or header.isolation or "",
        counts.total,
        counts.committed,
        counts.aborted,
        0,
        counts.committed,
        engine=ENGINE,
        coverage=Coverage(counts.statements, counts.statements, counts.observed, ()),
    )
    # what is noted of a witness is that it contradicts times, which hint order does not here
    verdict = with_remarks(Log(header, (), "", (0, 0, 0)), verdict)
    witness = Witness(digest, isolation, order, Views(range(len(order))))
    return msgspec.structs.replace(verdict, witness=witness)


def _all() -> NoReturn:
    raise NotPlain("an error that is held against the whole log")


@contextmanager
def _leaving() -> Iterator[None]:
    """What is not judged on the newest states, or not at all, is left to others."""
    try:
        yield
    except (SqlSemanticsError, LogError, RecursionError, OSError) as error:
        raise Unstreamed(str(error)) from error
