"""A smaller log that is as right as the whole: the first transactions of the hint order, together with what they may
have read from.

A transaction left out may have written what one that is kept has read; so all that sent their COMMIT before the last
answer that is kept stay too, but what those themselves saw is taken off: it might be of transactions that are left out.
Does not know SQL.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from troubadour.formats.objects.read import kept
from troubadour.model.log import Log, LogError, Transaction
from troubadour.model.objects import ABORTED, MISSING, READ, UNKNOWN, UNREAD, ObjectLog


def first(log: Log, number: int) -> Iterator[Transaction]:
    """The first `number` transactions, and the commits that they may have seen, without observations. Raises LogError
    where the log has no client times to tell those by."""
    kept = [log.transactions[place] for place in range(min(number, len(log.transactions)))]
    yield from kept
    if len(kept) == len(log.transactions):
        return
    clocks = {transaction.clock for transaction in log.transactions}
    answers = [transaction.returned for transaction in kept if transaction.status != "unknown"]
    last = _last_answer(kept)
    if len(clocks) > 1 or last is None or None in answers:
        raise LogError(
            "cut needs client times of one clock, to tell which commits the first transactions may have seen"
        )
    for place in range(len(kept), len(log.transactions)):
        transaction = log.transactions[place]
        if transaction.status == "aborted":
            continue
        sent = transaction.end.invoked if transaction.end is not None else None
        if sent is None:
            sent = transaction.invoked
        if sent is None or sent <= last:
            yield blind(transaction)


def first_objects(log: ObjectLog, number: int) -> ObjectLog:
    """The same of a log of operations on objects. Raises LogError."""
    places = list(log.order[:number])
    known = len(places)
    if known < len(log):
        returned = [log.returned[place] for place in places if log.statuses[place] != UNKNOWN]
        answered = [log.returned[place] for place in places if log.returned[place] != MISSING]
        if len(set(log.clocks)) > 1 or not answered or MISSING in returned:
            raise LogError(
                "cut needs client times of one clock, to tell which commits the first transactions may have seen"
            )
        last = max(answered)
        for place in log.order[known:]:
            sent = log.end_invoked[place] if log.end_invoked[place] != MISSING else log.invoked[place]
            if log.statuses[place] != ABORTED and (sent == MISSING or sent <= last):
                places.append(place)
    found = kept(log, places)
    for position in range(found.first[known], len(found.kinds)):
        if found.kinds[position] == READ:
            found.values[position] = UNREAD
    found.order.extend(range(len(places)))
    return found


def blind(transaction: Transaction) -> Transaction:
    """The transaction without what it saw; that its statements succeeded or failed stays, as its writes hang on it."""
    statements = tuple(
        statement
        if statement.error is not None or statement.outcome_unknown
        else msgspec.structs.replace(statement, results=None, several=False, affected=None)
        for statement in transaction.statements
    )
    return msgspec.structs.replace(transaction, statements=statements)


def _last_answer(kept: list[Transaction]) -> int | None:
    times = [transaction.returned for transaction in kept if transaction.returned is not None]
    times += [s.returned for transaction in kept for s in transaction.statements if s.returned is not None]
    return max(times, default=None)
