"""Which generated histories a measurement has: one base, and one property changed at a time.

Does not know the seeds: these are drawn at each measurement, so that nothing is fitted to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.histories.generate import Shape


def base(transactions: int) -> Sequence[Shape]:
    """The plainest one."""
    return (Shape(transactions, 1_000),)


def rows(transactions: int) -> Sequence[Shape]:
    """Numbers of rows, used alike or not."""
    counts = (8, 100, 1_000, 10_000)
    return [Shape(transactions, count, zipf=zipf) for count in counts for zipf in (False, True)]


def writes(transactions: int) -> Sequence[Shape]:
    """Shares of writes, blind or after a read."""
    plain = Shape(transactions, 100)
    return [replace(plain, writes=share, blind=blind) for share in (0.2, 0.5, 0.9) for blind in (False, True)]


def sessions(transactions: int) -> Sequence[Shape]:
    """Numbers of sessions, told or not."""
    plain = Shape(transactions, 100)
    return [replace(plain, sessions=count, told=told) for count in (1, 4, 16, 64) for told in (True, False)]


def values(transactions: int) -> Sequence[Shape]:
    """Values that tell less: repeated, counted up, NULL, rows that come."""
    plain = Shape(transactions, 100)
    return [
        replace(plain, repeated=0.3),
        replace(plain, increments=True),
        replace(plain, nullable=True),
        replace(plain, inserts=True),
    ]


def orders(transactions: int) -> Sequence[Shape]:
    """How the file hides the order."""
    plain = Shape(transactions, 100, sessions=8)
    return [
        replace(plain, order=order, dialect=dialect)
        for order in ("execution", "grouped", "hosts")
        for dialect in ("postgres", "mysql")
    ]


def stale(transactions: int) -> Sequence[Shape]:
    """Reads of any version that a row ever had, which read committed allows."""
    plain = Shape(transactions, 100, stale=True, order="execution")
    return [
        replace(plain, rows=rows, blind=blind, sessions=8, order=order)
        for rows in (8, 100, 1_000)
        for blind in (False, True)
        for order in ("execution", "shuffled")
    ]


def neighbours(transactions: int) -> Sequence[Shape]:
    """Files that are wrong by one place, and values that are written again and again."""
    plain = Shape(transactions, 100, repeated=0.9, order="neighbours")
    return [
        replace(plain, rows=rows, repeated=repeated, sessions=sessions)
        for rows in (8, 100, 1_000)
        for repeated in (0.0, 0.9)
        for sessions in (0, 8)
    ]


PLANS: Mapping[str, Callable[[int], Sequence[Shape]]] = {
    "base": base,
    "rows": rows,
    "writes": writes,
    "sessions": sessions,
    "values": values,
    "orders": orders,
    "stale": stale,
    "neighbours": neighbours,
}

SERIAL = tuple(name for name in PLANS if name != "stale")
"""Those whose histories are serializable."""
