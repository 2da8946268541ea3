"""What the DBMS's clock may have shown a transaction (DESIGN §5, *values the DBMS chose*): a guess, which what was
observed mends.

A PostgreSQL's commit times are microseconds since 1970, so that a condition like `due <= now()` mostly comes out as
it did. Does not know what the transaction asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta

from sql_semantics.values.types import Kind, SqlType, Value
from troubadour.model.log import Transaction

UNKNOWN = datetime(2000, 1, 1)
"""Where the log tells of no clock."""

_EPOCH = datetime(1970, 1, 1)
_PLAUSIBLE = (datetime(2001, 1, 1), datetime(2200, 1, 1))
_BOUNDS = tuple((moment - _EPOCH) // timedelta(microseconds=1) for moment in _PLAUSIBLE)


def moments_of(transactions: Sequence[Transaction]) -> Callable[[int], datetime]:
    """About when each transaction ran, by its commit time, or by that of the next one in hint order that has one."""
    told = [(place, one.commit) for place, one in enumerate(transactions) if one.commit is not None]
    told = [(place, commit) for place, commit in told if _BOUNDS[0] <= commit <= _BOUNDS[1]]
    places = [place for place, _ in told]

    def moment(item: int) -> datetime:
        if not told:
            return UNKNOWN
        _, commit = told[min(bisect_left(places, item), len(told) - 1)]
        return _EPOCH + timedelta(microseconds=commit)

    return moment


def guessed_moment(moment: datetime, type_: SqlType, form: str) -> Value:
    """A moment as a value of a type; of a text, `form` tells which of SQLite's. None for what tells no time."""
    step = 10 ** (6 - (6 if type_.precision is None else type_.precision))
    moment = moment.replace(microsecond=moment.microsecond // step * step)
    match type_.kind:
        case Kind.TIMESTAMP:
            return moment
        case Kind.TIMESTAMPTZ:
            return moment.replace(tzinfo=UTC)
        case Kind.DATE:
            return moment.date()
        case Kind.TIME:
            return moment.time()
        case Kind.TEXT:
            return _text(moment, form)
    return None


def _text(moment: datetime, form: str) -> str:
    whole: date | time | datetime = moment.replace(microsecond=0)
    if form == "date":
        whole = moment.date()
    elif form == "time":
        whole = moment.replace(microsecond=0).time()
    return str(whole)
