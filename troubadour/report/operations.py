"""A log of operations on objects as its own operations, where the SQL that they stand for is what is shown otherwise.

Does not know where it is shown.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.objects import ObjectLog
from troubadour.report.transactions import operation_lines

MANY = 200_000
"""Operations of a log up to which all are told."""


def in_operations(log: Log, objects: ObjectLog, wanted: Collection[TransactionId]) -> Log:
    """The log in SQL with each statement told as the operation that it is; of a long log those of the transactions that
    are `wanted`."""
    every = len(objects.kinds) <= MANY
    places = {one: place for place, one in enumerate(objects.ids) if every or one in wanted}
    told = [_told(one, objects, places[one.id]) if one.id in places else one for one in log.transactions]
    return Log(log.header, told, log.digest)


def _told(transaction: Transaction, objects: ObjectLog, place: int) -> Transaction:
    statements = tuple(
        msgspec.structs.replace(one, sql=line, params=None, results=None, several=False, affected=None)
        for one, line in zip(transaction.statements, operation_lines(objects, place), strict=True)
    )
    return msgspec.structs.replace(transaction, statements=statements)
