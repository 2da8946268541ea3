"""The straight path: a log of which every transaction read the newest state at its turn, in hint order.

Nearly all logs of servers are so, and then nothing has to be searched: the witness is known, and replay judges it.
Whatever is not explained so is left to the search, from the first transaction on. Does not know how it is judged.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.library import SqlLibrary
from troubadour.model.ids import Chosen
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import Status, Verdict
from troubadour.model.witness import Views, Witness
from troubadour.replay.newest import NotPlain, Unexplained, explained_by_newest

ENGINE = "straight"
"""What a verdict calls this step."""


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
    order = Chosen(lambda place: log.transactions[place].id, found.places)
    witness = Witness(log.digest, isolation, order, Views(range(len(order))))
    return Verdict(
        Status.CORRECT,
        isolation or ", ".join(found.levels) or log.header.isolation or "",
        len(log.transactions),
        log.committed,
        log.aborted,
        log.unknown,
        log.committed,
        max_staleness=max_staleness,
        witness=witness,
        engine=ENGINE,
    )
