"""A log of which only some transactions' answers are judged: the others stay, as what they wrote.

Whatever explains the log explains it with fewer answers, so that a violation of what is left is one of the log. Does
not know levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from sql_semantics.records import dataclass
from troubadour.coverage.reduced import is_observed
from troubadour.model.log import End, Log, LogError, Statement, Transaction
from troubadour.model.verdict import Coverage

KEYS = ("session", "time", "id", "trace")
FILTERED = "an error of a transaction that --filter leaves out"


class FilterError(Exception):
    """A filter that cannot be used (exit status 2)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which transactions are judged: of each key that is given one value at least has to fit. `sessions`, `ids` and
    `traces` are patterns as of shells, `times` pairs of client times in microseconds, None for an open end."""

    sessions: tuple[str, ...] = ()
    times: tuple[tuple[int | None, int | None], ...] = ()
    ids: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()

    def selects(self, one: Transaction) -> bool:
        """Whether a transaction is judged; by times one that overlaps an interval is."""
        return (
            _fits(one.session, self.sessions)
            and _fits(str(one.id), self.ids)
            and _fits(one.trace_id, self.traces)
            and (not self.times or any(_overlaps(one, *interval) for interval in self.times))
        )


def read_filter(terms: Iterable[str]) -> Filter:
    """The filter of ``key=value`` terms; values are separated by commas. Raises FilterError."""
    found: dict[str, list[str]] = {key: [] for key in KEYS}
    for term in terms:
        key, sign, text = term.partition("=")
        if not sign or key not in found or not text:
            raise FilterError(f"--filter: {term[:80]!r} is none of session=NAME, time=FROM..TO, id=ID, trace=ID")
        found[key] += [part for part in text.split(",") if part]
    times = tuple(map(_interval, found["time"]))
    return Filter(tuple(found["session"]), times, tuple(found["id"]), tuple(found["trace"]))


def _interval(text: str) -> tuple[int | None, int | None]:
    low, sign, high = text.partition("..")
    try:
        begin, end = (int(low) if low else None), (int(high) if high else None)
    except ValueError:
        sign = ""
        begin = end = None
    if not sign or (begin is not None and end is not None and end < begin):
        raise FilterError(
            f"--filter: time={text[:80]} is no interval; write time=FROM..TO in the log's microseconds, either may be "
            "left out"
        )
    return begin, end


def _fits(text: str | None, patterns: Sequence[str]) -> bool:
    return not patterns or (text is not None and any(fnmatchcase(text, one) for one in patterns))


def _overlaps(one: Transaction, begin: int | None, end: int | None) -> bool:
    if one.invoked is None or one.returned is None:
        return False
    return (end is None or one.invoked <= end) and (begin is None or one.returned >= begin)


@dataclass(frozen=True, slots=True)
class Filtered:
    """A log as it is judged, how many of its transactions are, and how many statements the others have."""

    log: Log
    selected: int
    statements: int

    def coverage(self, found: Coverage) -> Coverage:
        """What was judged, without the statements whose answers were left out."""
        judged = max(0, found.judged - self.statements)
        return msgspec.structs.replace(found, judged=judged, filtered=self.statements)

    def note(self) -> str:
        """What a verdict says of it."""
        return (
            f"--filter: the answers of {self.selected:,} of {len(self.log.transactions):,} transactions were judged; "
            "the others count for what they wrote"
        )


def filtered(log: Log, chosen: Filter) -> Filtered:
    """A log in which the answers of transactions that are not chosen are not known. Raises LogError where none is
    chosen."""
    found: list[Transaction] = []
    selected = statements = 0
    for one in log.transactions:
        if chosen.selects(one):
            selected += 1
            found.append(one)
            continue
        statements += len(one.statements)
        end = one.end
        if end is not None and end.error is not None:
            end = End(end.invoked, end.returned)
        found.append(msgspec.structs.replace(one, statements=tuple(map(_unanswered, one.statements)), end=end))
    if not selected:
        raise LogError("--filter: no transaction of the log is selected")
    return Filtered(Log(log.header, tuple(found), log.digest), selected, statements)


def _unanswered(statement: Statement) -> Statement:
    """A statement as one whose answer is not known. One that failed wrote nothing, and is not run at all."""
    if not is_observed(statement):
        return statement
    plain = msgspec.structs.replace(statement, results=None, several=False, affected=None, error=None)
    return plain if statement.error is None else msgspec.structs.replace(plain, unjudged=FILTERED)
