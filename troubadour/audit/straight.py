"""The straight path: a log of which every transaction read the newest state at its turn, in hint order; and one whose
snapshots, statements and places replay finds by itself, near that.

Nearly all logs of servers are so, and then nothing has to be searched: replay judges as it goes.
Whatever is not explained so is left to the search, from the first transaction on. Does not know how it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.library import SqlLibrary
from troubadour.model.ids import Chosen
from troubadour.model.log import Log, LogError, TransactionId
from troubadour.model.verdict import Status, Verdict
from troubadour.model.witness import TransactionView, Views, Witness
from troubadour.replay.newest import NotPlain, Unexplained, explained_by_newest
from troubadour.replay.newest.judge import refuse_moving

ENGINE = "straight"
"""What a verdict calls this step."""


class Tried:
    """That the newest states explain what a stream handed on before a transaction, one after another: those `judged`,
    by their ids, and so many `others`, which were aborted. `stopped`: it read something else; None: that cannot be
    told. `log`: the whole of it, where the stream was read to its end. Asked once."""

    def __init__(
        self, id: TransactionId, judged: Sequence[TransactionId], others: int, stopped: Unexplained | None
    ) -> None:
        self._found: tuple[TransactionId, Sequence[TransactionId], int] | None = (id, judged, others)
        self.stopped = stopped
        self.log: Log | None = None

    def holds(self, log: Log, library: SqlLibrary) -> bool:
        """Whether this is so of a log that is read as a whole: just these come before that transaction, in that order,
        and no definitions change behind it."""
        found, self._found = self._found, None
        if found is None:
            return False
        id, judged, others = found
        try:
            refuse_moving(log, library)
        except NotPlain:
            return False
        if self.log is not None and log.transactions is self.log.transactions:
            return True
        expected, skipped = chain(judged, (id,)), 0
        wanted = next(expected)
        for place, (one, status) in enumerate(islice(log.statuses(), len(judged) + others + 1)):
            if one == wanted and type(one) is type(wanted):
                if place == len(judged) + others:
                    return skipped == others
                wanted = next(expected, id)
            elif status == "aborted":
                skipped += 1
            else:
                return False
        return False


def straight(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    *,
    order_recorded: bool,
    max_staleness: int | None,
    progress: Callable[[int], None],
) -> Verdict | Unexplained | None:
    """That a log is correct; the transaction that read something else than the newest state, or None, where that takes
    a search. What `progress` raises ends it."""
    if order_recorded and log.aborted:
        return None  # which of these are not judged is for the search to say
    try:
        found = explained_by_newest(log, library, isolation=isolation, order_recorded=order_recorded, progress=progress)
    except Unexplained as stopped:
        return stopped
    except (NotPlain, SqlSemanticsError, LogError, RecursionError):
        return None
    return _correct(log, isolation, found.places, Views(range(len(found.places))), found.levels, max_staleness)


def in_turn(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    *,
    order_recorded: bool,
    progress: Callable[[int], None],
) -> Verdict | None:
    """That a log is correct, by states that replay chooses as it goes; None where that takes a search. What `progress`
    raises ends it."""
    if order_recorded and log.aborted:
        return None  # which of these are not judged is for the search to say
    from troubadour.replay.turns import explained_in_turn  # what reads the newest states needs none of it

    try:
        found = explained_in_turn(log, library, isolation=isolation, order_recorded=order_recorded, progress=progress)
    except (NotPlain, SqlSemanticsError, LogError, RecursionError):
        return None
    return _correct(log, isolation, found.order, found.views, found.levels, None)


def _correct(
    log: Log,
    isolation: str | None,
    places: Sequence[int],
    views: Sequence[TransactionView],
    levels: Sequence[str],
    max_staleness: int | None,
) -> Verdict:
    order = Chosen(lambda place: log.transactions[place].id, places)
    witness = Witness(log.digest, isolation, order, views)
    return Verdict(
        Status.CORRECT,
        isolation or ", ".join(levels) or log.header.isolation or "",
        len(log.transactions),
        log.committed,
        log.aborted,
        log.unknown,
        log.committed,
        max_staleness=max_staleness,
        witness=witness,
        engine=ENGINE,
    )
