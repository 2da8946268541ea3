"""A log whose transactions are taken apart, statement by statement: what no order of transactions explains, an
interleaving of their statements may (Adya 1999, §3.2: G0 and G1 are circles and reads below the transaction).

What a rolled-back transaction wrote may then be seen or not. Does not know which anomaly an interleaving is.
"""

from __future__ import annotations

import re

import msgspec

from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.problem.budget import FEW, MANY

_KEEPS_TRANSACTION = pattern(r"\s*(?:SAVEPOINT|ROLLBACK|RELEASE|SET\s|DECLARE|FETCH|CLOSE)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The log of single statements, and of which transaction and statement each is."""

    log: Log
    of: dict[TransactionId, tuple[Transaction, int]]


def taken_apart(log: Log) -> Pieces | None:
    """The pieces; None where there are too many, or where statements hang together in other ways than by rows."""
    count = sum(len(transaction.statements) for transaction in log.transactions)
    if count > MANY:
        return None
    of: dict[TransactionId, tuple[Transaction, int]] = {}
    found: list[tuple[int, int, Transaction]] = []
    open_ = 0
    for transaction in log.transactions:
        for index, statement in enumerate(transaction.statements):
            if _KEEPS_TRANSACTION.match(statement.sql):
                return None
            if transaction.status != "committed" and statement.error is not None:
                continue
            identifier = f"{msgspec.json.encode(transaction.id).decode()}/{index}"
            committed = transaction.status == "committed"
            open_ += not committed
            piece = Transaction(
                identifier,
                "committed" if committed else "unknown",
                (msgspec.structs.replace(statement, invoked=None, returned=None),),
                len(found),
                session=msgspec.json.encode(transaction.id).decode(),
            )
            of[identifier] = transaction, index
            found.append((statement.invoked or 0, len(found), piece))
    if open_ > FEW:
        return None
    # where statements have times, these are the first guess
    if all(one.statements[0].invoked is not None for one, _ in of.values()):
        found.sort(key=lambda entry: entry[:2])
    pieces = [msgspec.structs.replace(piece, place=place) for place, (_, _, piece) in enumerate(found)]
    return Pieces(Log(log.header, pieces, log.digest), of)
