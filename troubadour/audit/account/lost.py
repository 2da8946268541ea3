"""Commits that were acknowledged and are gone: without them the log is correct (Gray and Reuter 1993, durability).

A crash that forgets commits forgets the last ones. So of a log in which a moment had no transaction under way, the ones
before that are cut off at each place, the ones after it are run on what is left, and where that goes well the log
without those cut off is decided. Does not know why they were lost.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run.memory import MemoryView
from sql_semantics.view import Row
from troubadour.audit.account.difference import rows_answered, rows_observed
from troubadour.audit.account.rerun import Rerun
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.observations.observation import mismatch
from troubadour.model.account import Lost
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import FEWEST, MANY

TELLING = 2
"""Transactions that must miss what was lost: what one alone misses, it read of an old state."""


def lost_commits(
    log: Log, library: SqlLibrary, before: Rerun, failing: TransactionId, decide: Callable[[Log], Verdict]
) -> Lost | None:
    """The commits that nothing has from some moment before the failing transaction on, where the whole log is correct
    without them; None else. `before` explains the log up to that transaction."""
    ranks = {transaction.id: rank for rank, transaction in enumerate(log.transactions)}
    reader = log.transactions[ranks[failing]]
    # the order of the explanation, as far as it keeps that of the clients' times
    for moment in _moments(log, reader)[:FEWEST]:
        positions = [place for place in range(1, len(before) + 1) if not _sent(before.at(place), moment)]
        if positions != list(range(1, len(positions) + 1)):
            continue
        later = [one for one in log.transactions if _sent(one, moment) and one.status == "committed"]
        for kept in _cuts(library, before, len(positions), later[:MANY]):
            # those that read what was lost saw it before it was
            after = {before.at(place).id for place in positions[kept:] if before.at(place).status == "committed"}
            gone = {before.at(place).id for place in positions[kept:] if before.rows_written(place)} & after
            if not gone:
                continue
            if _telling(before, before.rows_at(len(positions)), later[:MANY]) < TELLING:
                continue
            rest = [one for one in log.transactions if one.id not in after]
            if decide(Log(log.header, rest, log.digest)).status is Status.CORRECT:
                return _told(log, gone, before, kept)
    return None


def _moments(log: Log, reader: Transaction) -> list[int]:
    """Moments by the clients' clock at which nothing that committed was under way, until the reader was sent; those
    after the longest pauses first."""
    if reader.invoked is None:
        return []
    timed = [one for one in log.transactions if one.status == "committed"]
    if any(one.invoked is None or one.returned is None or one.clock != reader.clock for one in timed):
        return []
    found: list[tuple[int, int]] = []
    latest: int | None = None
    for one in sorted(timed, key=lambda one: one.invoked or 0):
        sent, answered_at = one.invoked or 0, one.returned or 0
        if latest is not None and latest < sent <= reader.invoked:
            found.append((latest - sent, sent))
        latest = answered_at if latest is None else max(latest, answered_at)
    return [moment for _, moment in sorted(found)]


def _sent(one: Transaction, moment: int) -> bool:
    return one.invoked is not None and one.invoked >= moment


def _cuts(library: SqlLibrary, before: Rerun, count: int, later: Sequence[Transaction]) -> Iterator[int]:
    """How many of the first transactions to keep: the places after which most of the later ones go well, run one after
    another."""
    well = {kept: _runs_well(before, before.rows_at(kept), later) for kept in range(count)}
    most = max(well.values(), default=0)
    if most:
        yield from sorted((kept for kept, number in well.items() if 2 * number > most),
                          key=lambda kept: (-well[kept], -kept))[:FEWEST]  # fmt: skip


def _runs_well(before: Rerun, state: Mapping[str, Sequence[Row]], later: Sequence[Transaction]) -> int:
    """How many transactions answer as observed, one after another on a state, until one does not."""
    view = MemoryView({table: list(rows) for table, rows in state.items()})
    for number, transaction in enumerate(later):
        try:
            for one in before.prepared(transaction).statements:
                if one.judged.fate is not Fate.RUN or one.program is None:
                    continue
                view.begin()
                given = one.program.run(view, one.arguments).results
                seen = one.observation.results
                if seen and len(seen) == len(given) and all(rows.rows is not None for rows in seen):
                    pairs = zip(seen, given, strict=True)
                    if any(Counter(rows_observed(rows)) != Counter(rows_answered(rows_)) for rows, rows_ in pairs):
                        return number
        except (SqlError, Unsupported):
            return number
    return len(later)


def _telling(before: Rerun, state: Mapping[str, Sequence[Row]], later: Sequence[Transaction]) -> int:
    """How many transactions answer otherwise than they would, one after another, where nothing was lost; a write that
    answers so counts for itself, as it met the newest rows."""
    view = MemoryView({table: list(rows) for table, rows in state.items()})
    count = 0
    for transaction in later:
        count += _misses(before, view, transaction)
    return count


def _misses(before: Rerun, view: MemoryView, transaction: Transaction) -> int:
    for one in before.prepared(transaction).statements:
        if one.judged.fate is not Fate.RUN or one.program is None:
            continue
        view.begin()
        try:
            differs = mismatch(one.observation, one.program.run(view, one.arguments)) is not None
        except SqlError:
            differs = True
        except Unsupported:
            return 0
        if differs:
            return 1 if one.program.read_only else TELLING
    return 0


def _told(log: Log, gone: set[TransactionId], before: Rerun, kept: int) -> Lost:
    first = next(before.at(place).id for place in range(kept + 1, len(before) + 1) if before.at(place).id in gone)
    writers = [place for place in range(1, kept + 1) if before.rows_written(place)]
    latest = before.at(writers[-1]) if writers else None
    since = None if latest is None else latest.returned
    return Lost(len(gone), first, None if latest is None else latest.id, since, _moment(log, latest))


_EPOCH = 10**15, 4 * 10**15
"""Between these a number counts as microseconds since 1970: the years 2001 to 2096."""


def _moment(log: Log, latest: Transaction | None) -> str | None:
    """When a transaction was committed by the server's clock, else answered, since the log began."""
    if latest is None:
        return None
    if latest.commit is not None and _EPOCH[0] <= latest.commit < _EPOCH[1]:
        at = datetime.datetime.fromtimestamp(latest.commit / 1e6, datetime.UTC)
        return f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
    begun = min((one.invoked for one in log.transactions if one.invoked is not None), default=None)
    if latest.returned is None or begun is None:
        return None
    return f"{(latest.returned - begun) / 1e6:.3f} s into the log"
