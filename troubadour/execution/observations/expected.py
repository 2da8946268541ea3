"""The constraint that a symbolic outcome is what was observed (paper §5.1 *eq*, S2). Does not know how it is decided.

Row sets are compared by counting: a multiset of guarded rows equals the observed one iff every observed row is
there as often as observed and the total agrees. That stays polynomial in rows and guards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import GuardedOutcome, GuardedResult, Outcome, ResultSet
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, conj, disj, is_concrete, neg, same
from sql_semantics.values.types import Value
from troubadour.execution.observations.observation import (
    MisfitValue,
    ObservedRow,
    ParsedObservation,
    ParsedRows,
    counts_nothing,
    mismatch,
    parse_rows,
)
from troubadour.model.log import ObservedRows
from troubadour.model.values import REDACTED

T = TypeVar("T")

COUNTED = 100_000
"""Guards times how many of them are to be true up to which they are counted: about a second."""


def explained(parsed: ParsedObservation, outcome: GuardedOutcome, *, query: bool = False) -> Guard:
    """Where the outcome explains what was observed; errors are the caller's to exclude. `query`: the statement has one
    result set, of which the outcome may hold alternatives.

    Raises Unsupported for the few comparisons that are not modelled on symbolic rows.
    """
    if parsed.nothing:
        return TRUE
    plain = _concrete(outcome)
    if plain is not None:
        return TRUE if mismatch(parsed, plain) is None else FALSE
    guards = []
    if parsed.late is not None:
        if not all(rows.columns or rows.rows for rows in parsed.late):
            raise Unsupported("an empty result of a CALL whose branches depend on symbolic values")
        guards.append(_aligned(parsed.late, outcome.results, _late_rows))
    if parsed.results is not None:
        guards.append(_results(parsed.results, outcome.results))
    affected = parsed.statement.affected
    if affected is not None:
        if outcome.affected is None:
            if not query and counts_nothing(affected, outcome.results):
                return conj(*guards)
            if not query and len(outcome.results) != 1:
                raise Unsupported("the row count of a statement that is neither a query nor a write")
            sizes = (conj(result.present, _window_size(result, affected)) for result in outcome.results)
            guards.append(disj(*sizes))
        else:
            guards.append(same(outcome.affected, affected))
    return conj(*guards)


def _concrete(outcome: GuardedOutcome) -> Outcome | None:
    """The outcome as a concrete one, where no guard and no value is open."""
    results: list[ResultSet[Value]] = []
    for result in outcome.results:
        if result.present is FALSE:
            continue
        if result.present is not TRUE or any(guard is not TRUE and guard is not FALSE for guard in result.guards):
            return None
        kept = [index for index, guard in enumerate(result.guards) if guard is TRUE]
        if not all(is_concrete(value) for index in kept for value in result.rows[index]):
            return None
        rows: list[tuple[Value, ...]] = [result.rows[index] for index in kept]  # type: ignore[misc]
        keys = None if result.keys is None else [result.keys[index] for index in kept]
        results.append(ResultSet(result.types, rows, keys, result.offset, result.limit, result.subset, result.optional))
    if not is_concrete(outcome.affected) or not is_concrete(outcome.matched):
        return None
    return Outcome(results, outcome.affected, outcome.matched)  # type: ignore[arg-type]


def _results(observed: Sequence[ParsedRows], results: Sequence[GuardedResult]) -> Guard:
    certain = [result for result in results if result.present is not FALSE]
    if all(result.present is TRUE and not result.optional for result in certain):
        if len(certain) != len(observed):
            return FALSE
        return conj(*(_rows(rows, result) for rows, result in zip(observed, certain, strict=True)))
    return _aligned(observed, certain, _rows)


def _aligned(
    observed: Sequence[T], results: Sequence[GuardedResult], match: Callable[[T, GuardedResult], Guard]
) -> Guard:
    """Where the result sets that are present are those observed, in their order. `reach[n]`: the first n are found."""
    reach: list[Guard] = [TRUE] + [FALSE] * len(observed)
    for result in results:
        absent = TRUE if result.optional else neg(result.present)
        for place in range(len(observed), -1, -1):
            found = FALSE
            if place and reach[place - 1] is not FALSE:
                found = conj(reach[place - 1], result.present, match(observed[place - 1], result))
            reach[place] = disj(conj(reach[place], absent), found)
    return reach[-1]


def _late_rows(observed: ObservedRows, result: GuardedResult) -> Guard:
    """`_rows` for rows that are read by the types of the result set that they are compared with."""
    try:
        return _rows(parse_rows(observed, result.types), result)
    except MisfitValue:
        return FALSE


def _rows(observed: ParsedRows, result: GuardedResult) -> Guard:
    if observed.rows is None:
        return FALSE
    redacted = any(map(_is_redacted, observed.rows))
    if redacted and (result.keys is None or result.subset or any(type.padded for type in observed.types)):
        raise Unsupported("redacted values where rows are symbolic")
    if not observed.plain and any(value != value for row in observed.rows for value in row):
        raise Unsupported("NaN where rows are symbolic")
    if any(type.padded for type in observed.types):
        result = _unpadded(result, observed)
    if result.arranged is not None and not redacted and not result.arranged(observed.rows):
        return FALSE
    rows = [(guard, values) for guard, values in zip(result.guards, result.rows, strict=True) if guard is not FALSE]
    if result.subset:
        return _some_of(observed.rows, result)
    if result.keys is not None:
        return _ordered(observed, result)
    total = len(observed.rows)
    counted = Counter(observed.rows)
    all_guards = [guard for guard, _ in rows]
    exact = result.limit is None and not result.offset and not observed.observed.truncated
    parts = []
    for row, count in counted.items():
        equal = [conj(guard, _equal(values, row)) for guard, values in rows]
        parts.append(exactly(equal, count) if exact else at_least(equal, count))
    if exact:
        parts.append(exactly(all_guards, total))
    elif observed.observed.truncated:
        parts.append(at_least(all_guards, total + result.offset if total else 0))
        if result.limit is not None and total > result.limit:
            return FALSE
    else:
        parts.append(_window_size(result, total))
    return conj(*parts)


def _is_redacted(row: ObservedRow) -> bool:
    return any(value is REDACTED for value in row)


def _unpadded(result: GuardedResult, observed: ParsedRows) -> GuardedResult:
    """The rows without the trailing blanks of CHAR(n), as those observed are read. Raises Unsupported where such a text
    is open."""
    padded = [place for place, type in enumerate(observed.types) if type.padded]
    if any(not is_concrete(row[place]) for row in result.rows for place in padded):
        raise Unsupported("padded text that is open")
    rows: list[tuple[Scalar, ...]] = []
    for row in result.rows:
        bare = list(row)
        for place in padded:
            value = bare[place]
            bare[place] = value.rstrip(" ") if isinstance(value, str) else value
        rows.append(tuple(bare))
    return replace(result, rows=rows)


def _some_of(observed: Sequence[ObservedRow], result: GuardedResult) -> Guard:
    """Where the rows observed are among those that are there (SKIP LOCKED leaves out any)."""
    if result.offset or result.keys is not None:
        raise Unsupported("OFFSET or ORDER BY with SKIP LOCKED where rows are symbolic")
    if result.limit is not None and len(observed) > result.limit:
        return FALSE
    members = [item for item in zip(result.guards, result.rows, strict=True) if item[0] is not FALSE]
    return _contains(members, observed)


def _window_size(result: GuardedResult, count: int) -> Guard:
    """Where LIMIT and OFFSET leave exactly `count` rows."""
    guards = [guard for guard in result.guards if guard is not FALSE]
    if result.limit is not None and count > result.limit:
        return FALSE
    if result.subset:
        return at_least(guards, result.offset + count)
    if result.limit is not None and count == result.limit:
        return at_least(guards, result.offset + count if count else 0)
    if count == 0:
        return neg(at_least(guards, result.offset + 1))
    return exactly(guards, result.offset + count)


def _ordered(observed: ParsedRows, result: GuardedResult) -> Guard:
    """A sequence up to ties: consecutive classes of equal keys fill consecutive places, of which OFFSET and LIMIT
    leave those observed. `reach[n]`: where the classes so far have n rows (`last + 1`: more than matter)."""
    assert observed.rows is not None and result.keys is not None
    rows, truncated = observed.rows, observed.observed.truncated
    if result.limit is not None and len(rows) > result.limit:
        return FALSE
    first, last = result.offset, result.offset + len(rows)
    # what led to a count stays in parts until two ways meet: joining it at each class would be quadratic
    reach: dict[int, tuple[Guard, ...]] = {0: ()}
    start = 0
    while start < len(result.rows) and reach:
        end = start
        while end < len(result.rows) and result.keys[end] == result.keys[start]:
            end += 1
        members = [(result.guards[n], result.rows[n]) for n in range(start, end) if result.guards[n] is not FALSE]
        following: dict[int, list[tuple[Guard, ...]]] = {}
        for count, parts in reach.items():
            for size in range(len(members) + 1):
                there = exactly([member for member, _ in members], size)
                if there is FALSE:
                    continue
                shown = rows[max(count - first, 0) : max(min(count + size, last) - first, 0)]
                fits = conj(there, _contains(members, shown))
                if fits is not FALSE:
                    longer = parts if fits is TRUE else (*parts, fits)
                    following.setdefault(min(count + size, last + 1), []).append(longer)
        reach = {
            count: ways[0] if len(ways) == 1 else (disj(*(conj(*way) for way in ways)),)
            for count, ways in following.items()
        }
        start = end
    full = truncated or result.limit == len(rows)
    ends = [conj(*parts) for count, parts in reach.items() if count == last or (count > last and full)]
    if not rows:
        ends += [conj(*parts) for count, parts in reach.items() if count < last]
    return disj(*ends)


def _contains(members: Sequence[tuple[Guard, tuple[Scalar, ...]]], rows: Sequence[ObservedRow]) -> Guard:
    """Where these rows can be chosen from the members."""
    if len(rows) > 1 and any(map(_is_redacted, rows)):
        # a row may fit several of them, and counting does not tell whether each finds one of its own
        raise Unsupported("redacted values where rows are symbolic")
    return conj(
        *(
            at_least([conj(guard, _equal(values, row)) for guard, values in members], count)
            for row, count in Counter(rows).items()
        )
    )


def _equal(values: tuple[Scalar, ...], row: ObservedRow) -> Guard:
    parts = []
    for value, seen in zip(values, row, strict=True):
        if seen is REDACTED:
            continue
        part = same(value, seen)  # type: ignore[arg-type]
        if part is FALSE:
            return FALSE
        parts.append(part)
    return conj(*parts)


def exactly(guards: Sequence[Guard], count: int) -> Guard:
    """Where exactly `count` of the guards are true."""
    return conj(at_least(guards, count), neg(at_least(guards, count + 1)))


def at_least(guards: Sequence[Guard], count: int) -> Guard:
    """Where at least `count` of the guards are true: a tree of counters over the open ones. Raises Unsupported where
    that would be too many."""
    certain = sum(guard is TRUE for guard in guards)
    missing = count - certain
    if missing <= 0:
        return TRUE
    open_guards = [guard for guard in guards if guard is not TRUE and guard is not FALSE]
    if missing > len(open_guards):
        return FALSE
    if missing * len(open_guards) > COUNTED:
        raise Unsupported(f"an answer of {count} rows of which {len(open_guards)} are open")
    return _reached(open_guards, missing)[missing]


def _reached(guards: Sequence[Guard], most: int) -> list[Guard]:
    """For each count up to `most` (or their number), where at least so many are true: halves, added up, so that no
    disjunction has more than `most` + 1 parts."""
    if len(guards) == 1:
        return [TRUE, guards[0]]
    middle = len(guards) // 2
    left, right = _reached(guards[:middle], most), _reached(guards[middle:], most)
    return [
        disj(*(conj(left[n], right[count - n]) for n in range(len(left)) if 0 <= count - n < len(right)))
        for count in range(min(most, len(guards)) + 1)
    ]
