"""What the DBMS's clock may have shown a transaction: a guess, which what was
observed mends.

A PostgreSQL's commit times are microseconds since 1970, so that a condition like `due <= now()` mostly comes out as
it did; without them, the moments that transactions were shown tell what their clients' clocks say. Does not know what
the transaction asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from sql_semantics.patterns import pattern
from sql_semantics.values.types import Kind, SqlType, Value
from troubadour.model.log import Transaction

UNKNOWN = datetime(2000, 1, 1)
"""Where the log tells of no clock."""

_EPOCH = datetime(1970, 1, 1)
_PLAUSIBLE = (datetime(2001, 1, 1), datetime(2200, 1, 1))
_MOMENT = pattern(
    r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d)[ T]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{3}(\d{3})?)?"
    r"([+-]\d\d(:\d\d)?|Z)?\Z"
)
_DAY = pattern(r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\Z")
_LITERAL = pattern(r"'([12][0-9:T. +Z-]{9,34})'")
_ENOUGH = 2000
"""Moments of which it is told how far a client's clock is from the DBMS's."""
_BOUNDS = tuple((moment - _EPOCH) // timedelta(microseconds=1) for moment in _PLAUSIBLE)


def moments_of(
    transactions: Sequence[Transaction], initial: Callable[[], Iterable[Value]] = tuple
) -> Callable[[int], datetime]:
    """About when each transaction ran, by its commit time, or by that of the next one in hint order that has one; else
    by when it began on its client's clock. Where no answer tells what that is, it is behind the latest moment in the
    `initial` rows and in what the log's statements are given."""
    told = [(place, one.commit) for place, one in enumerate(transactions) if one.commit is not None]
    told = [(place, commit) for place, commit in told if _BOUNDS[0] <= commit <= _BOUNDS[1]]
    places = [place for place, _ in told]
    offsets: dict[str | None, int] = {}

    def moment(item: int) -> datetime:
        if told:
            _, commit = told[min(bisect_left(places, item), len(told) - 1)]
            return _EPOCH + timedelta(microseconds=commit)
        one = transactions[item]
        if one.invoked is None:
            return UNKNOWN
        if one.clock not in offsets:
            beside = [other for other in transactions if other.clock == one.clock]
            offsets[one.clock] = _offset(beside, lambda: _last(transactions, initial()))
        since = min(max(one.invoked + offsets[one.clock], 0), _BOUNDS[1])
        return _EPOCH + timedelta(microseconds=since)

    return moment


def _last(transactions: Iterable[Transaction], initial: Iterable[Value]) -> int:
    """The first hour behind what was written by then, in microseconds since 1970."""
    found = [UNKNOWN, *(moment for value in initial if (moment := _written(value)) is not None)]
    for one in transactions:
        for statement in one.statements:
            params = statement.params or ()
            given = params.values() if isinstance(params, Mapping) else params
            texts = [value for value in given if isinstance(value, str)] + _LITERAL.findall(statement.sql)
            found += [moment for value in texts if (moment := _written(value)) is not None]
    return (max(found) + timedelta(hours=1) - _EPOCH) // timedelta(microseconds=1)


def _written(value: Value) -> datetime | None:
    """A day or moment that may have been the present; None for anything else."""
    found: datetime | None = None
    if isinstance(value, str) and 9 < len(value) < 40 and (_MOMENT.match(value) or _DAY.match(value)):
        found = datetime.fromisoformat(value)
    elif isinstance(value, datetime):
        found = value
    elif isinstance(value, date):
        found = datetime(value.year, value.month, value.day)
    if found is not None and found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    if found is not None and found.time() == time():
        found += timedelta(days=1)  # a day, all of it
    return found if found is not None and _PLAUSIBLE[0] <= found <= _PLAUSIBLE[1] else None


def _offset(transactions: Iterable[Transaction], last: Callable[[], int]) -> int:
    """Microseconds since 1970 where a client's clock shows 0: what most of the moments agree with that transactions
    were shown while they ran, each of which may have been the present."""
    changes: list[tuple[int, int]] = []
    first = 0
    for one in transactions:
        if one.invoked is None or one.returned is None:
            continue
        first = first or one.invoked
        for shown in set(_shown(one)):
            changes += [(shown - one.returned, 1), (shown - one.invoked, -1)]
        if len(changes) > 2 * _ENOUGH:
            break
    best, most, open_ = 0, 0, 0
    for place, change in sorted(changes, key=lambda item: (item[0], -item[1])):
        open_ += change
        if open_ > most:
            best, most = place, open_
    return best if most else last() - first


def _shown(one: Transaction) -> Iterator[int]:
    """The moments in a transaction's results, in microseconds since 1970."""
    for statement in one.statements:
        for result in statement.results or ():
            for row in result.rows or ():
                for value in row:
                    if isinstance(value, str) and 18 < len(value) < 40 and _MOMENT.match(value):
                        found = datetime.fromisoformat(value)
                        since = (found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found) - _EPOCH
                        yield since // timedelta(microseconds=1)


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
