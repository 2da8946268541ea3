"""Logs that no longer say how their transactions followed one another. Does not know what is in them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from troubadour.model.log import Log, Statement, Transaction

APART = 123_456_789
"""Microseconds between the clocks of two hosts."""


def grouped(log: Log) -> Log:
    """Without times, the transactions of one session after those of another."""
    return _in_file_order(log, sorted(map(_without_times, log.transactions), key=lambda t: (t.session or "", t.place)))


def of_two_hosts(log: Log) -> Log:
    """Without commit times; every other session stands on another host, whose clock is another."""
    sessions = sorted({transaction.session or "" for transaction in log.transactions})
    moved: list[Transaction] = []
    for transaction in log.transactions:
        host = sessions.index(transaction.session or "") % 2
        moved.append(_moved(transaction, f"host-{host}", host * APART))
    return _in_file_order(log, sorted(moved, key=lambda t: (t.clock or "", t.place)))


def _in_file_order(log: Log, transactions: Sequence[Transaction]) -> Log:
    placed = tuple(msgspec.structs.replace(t, place=place) for place, t in enumerate(transactions))
    return Log(log.header, placed, log.digest)


def _without_times(transaction: Transaction) -> Transaction:
    statements = tuple(msgspec.structs.replace(s, invoked=None, returned=None) for s in transaction.statements)
    end = transaction.end
    if end is not None:
        end = msgspec.structs.replace(end, invoked=None, returned=None)
    return msgspec.structs.replace(
        transaction, statements=statements, end=end, start=None, commit=None, invoked=None, returned=None
    )


def _moved(transaction: Transaction, clock: str, by: int) -> Transaction:
    def later(time: int | None) -> int | None:
        return None if time is None else time + by

    def statement(one: Statement) -> Statement:
        return msgspec.structs.replace(one, invoked=later(one.invoked), returned=later(one.returned))

    end = transaction.end
    if end is not None:
        end = msgspec.structs.replace(end, invoked=later(end.invoked), returned=later(end.returned))
    return msgspec.structs.replace(
        transaction,
        statements=tuple(map(statement, transaction.statements)),
        end=end,
        clock=clock,
        start=None,
        commit=None,
        invoked=later(transaction.invoked),
        returned=later(transaction.returned),
    )
