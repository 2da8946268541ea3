"""Parts of a log that the rest of it cannot have changed: no execution of such a part is one of the log neither.

What others wrote that a transaction cannot have looked at is nothing to it: they touch other tables or other rows, or
their commits were sent after the last answer of the part. An execution of the log without them is one of the part, at
every level; so a violation of the part is one of the log. Nothing follows from a part that is explained. Does not know
how a part is decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from troubadour.facts.rows.touched import Place, Touched, Touching
from troubadour.model.log import Log
from troubadour.model.verdict import Verdict
from troubadour.problem.budget import FEW
from troubadour.problem.problem import Problem


def parts_with(problem: Problem, failing: int) -> list[list[int]]:
    """The items of proper parts of a log that hold one of them, the smallest first, and then of those without it, the
    largest first. Raises UnsupportedStatement."""
    everything = range(len(problem.statuses))
    found: dict[frozenset[int], None] = {}
    others: dict[frozenset[int], None] = {}
    # which rows there were where that is not known is told by those that are named, wherever that is
    for by_key in (False,) if problem.discovery.unknown else (True, False):
        for part in _tied(problem, by_key=by_key):
            (found if failing in part else others)[part] = None
    found[frozenset(everything)] = None
    for part in list(found):
        cut = _before_the_answers_of(problem, failing, part)
        if cut is not None:
            found[cut] = None
    parts = sorted((sorted(part) for part in found if len(part) < len(everything)), key=len)
    return parts + sorted(map(sorted, others), key=len, reverse=True)[:FEW]


def log_of(problem: Problem, items: Sequence[int]) -> Log:
    """The log with these transactions only."""
    return Log(problem.log.header, [problem.transaction(item) for item in items], problem.log.digest)


def told_of_whole(log: Log, verdict: Verdict) -> Verdict:
    """The violation of a part as one of the log."""
    failing = verdict.failing_transaction
    assert failing is not None
    verified = 0
    for one, status in log.statuses():
        if one == failing and type(one) is type(failing):
            break
        verified += status == "committed"
    return msgspec.structs.replace(
        verdict,
        total=len(log.transactions),
        committed=log.committed,
        aborted=log.aborted,
        unknown=log.unknown,
        verified_prefix=verified,
    )


def _tied(problem: Problem, *, by_key: bool) -> list[frozenset[int]]:
    """The items put together that touch the same, as far as any of it is written, or not known."""
    touching = Touching(problem, by_key=by_key)
    touched = [touching.of(item) for item in range(len(problem.statuses))]
    # what all saw of rows that are not known has to agree, as if one had written it
    return _Ties(touched, {(table, None) for table in problem.discovery.unknown}).parts()


class _Ties:
    """Places that some item touches together, put together."""

    def __init__(self, touched: Sequence[Touched], open_: Collection[Place]) -> None:
        """`open_`: places that tie what touches them though no item writes there."""
        self._above: dict[Place, Place] = {}
        written: set[Place] = set(open_).union(*(one.written for one in touched))
        places: set[Place] = set().union(*(one.places for one in touched))
        whole = {table for table, key in places if key is None}
        live = {place for place in places if place in written or (place[0], None) in written}
        live |= {(table, None) for table, _ in written if table in whole}
        for place in live:
            if place[0] in whole:
                self._join(place, (place[0], None))
        self._touched = [[place for place in one.places if place in live] for one in touched]
        for own in self._touched:
            for place in own[1:]:
                self._join(own[0], place)

    def parts(self) -> list[frozenset[int]]:
        """The items that are tied to one another, by numbers."""
        found: dict[Place | int, list[int]] = {}
        for item, own in enumerate(self._touched):
            found.setdefault(self._top(own[0]) if own else item, []).append(item)
        return [frozenset(part) for part in found.values()]

    def _top(self, place: Place) -> Place:
        above = self._above.get(place, place)
        while above != place:
            place, above = above, self._above.get(above, above)
        return place

    def _join(self, one: Place, other: Place) -> None:
        top, below = self._top(one), self._top(other)
        if top != below:
            self._above[below] = top


def _before_the_answers_of(problem: Problem, failing: int, part: Collection[int]) -> frozenset[int] | None:
    """Those of a part without all whose commit was sent after the last answer of an item, or of any that is kept; None
    where times do not tell that of each."""
    times = problem.times
    if any(level.dirty for level in problem.levels) or problem.library.has_references:
        # what was not committed may be seen; what rows refer to is looked at once more with the COMMIT
        return None
    if len({times[item].clock for item in part}) > 1:
        return None
    last = max(_answers(problem, failing), default=None)
    if last is None:
        return None
    waiting = sorted(part, key=lambda item: _sent(problem, item))
    kept = {failing}
    for item in waiting:
        if _sent(problem, item) > last and item != failing:
            break
        kept.add(item)
        answers = list(_answers(problem, item))
        if any(answer is None for answer in times[item].got):
            return None
        last = max(last, *answers) if answers else last
    return frozenset(kept)


def _answers(problem: Problem, item: int) -> Iterator[int]:
    return (answer for answer in problem.times[item].got if answer is not None)


def _sent(problem: Problem, item: int) -> float:
    """No earlier was its COMMIT sent; of one that was aborted, it was not at all, and nothing is seen of it."""
    sent = problem.times[item].sent
    if problem.statuses[item] == "aborted":
        return float("inf")
    return float("-inf") if sent is None else sent
