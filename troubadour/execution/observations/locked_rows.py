"""Which of the rows that a query locked a client knows to have been locked: those that it was answered, and those that
LIMIT and OFFSET had the query come to before.

A query comes to its rows in their order and locks each, until LIMIT is reached; ties are taken in any order, and SKIP
LOCKED leaves out any. So of rows that are alike for the client it is known how many were locked, and not always which.
Does not know what a lock of a row forbids.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from sql_semantics.outcome import Locked, Outcome, ResultSet
from sql_semantics.records import dataclass
from sql_semantics.values.types import Value
from troubadour.execution.observations.observation import ObservedRow, ParsedObservation, ParsedRows, ties, window
from troubadour.model.values import REDACTED


@dataclass(frozen=True, slots=True)
class Claim:
    """Of the rows of an answer that `choices` stand for, each by all that was locked for it, `count` were locked."""

    count: int
    choices: tuple[tuple[Locked, ...], ...]


def claims(observation: ParsedObservation, outcome: Outcome) -> list[Claim]:
    """What an outcome that explains the observation says of locks."""
    found: list[Claim] = []
    observed = observation.results
    for place, result in enumerate(outcome.results):
        if result.locked is not None:
            seen = observed[place] if observed is not None and place < len(observed) else None
            found += _claims(seen, result, result.locked)
    return [claim for claim in found if claim.count]


def _claims(seen: ParsedRows | None, result: ResultSet[Value], locked: Sequence[tuple[Locked, ...]]) -> Iterator[Claim]:
    shown = seen.rows if seen is not None and seen.plain and not result.rounded else None
    if result.subset:
        if shown is not None:
            yield from _shown(shown, result.rows, locked)
        return
    low, high = window(result)
    if seen is not None and seen.rows is not None:
        high = min(high, low + len(seen.rows))
    for first, last in ties(result.keys, len(result.rows), 0, high):
        yield Claim(min(last, high) - first, tuple(locked[first:last]))
        if shown is not None:
            mine = shown[max(first - low, 0) : max(min(last, high) - low, 0)]
            yield from _shown(mine, result.rows[first:last], locked[first:last])


def _shown(
    seen: Sequence[ObservedRow], rows: Sequence[tuple[Value, ...]], locked: Sequence[tuple[Locked, ...]]
) -> Iterator[Claim]:
    """Of the rows that look like one that was seen, so many were locked as were seen."""
    alike: dict[ObservedRow, list[tuple[Locked, ...]]] = defaultdict(list)
    for row, locks in zip(rows, locked, strict=True):
        alike[row].append(locks)
    for shown, count in Counter(seen).items():
        assert REDACTED not in shown
        yield Claim(count, tuple(alike.get(shown, ())))
