"""What a statement answered against what the client observed of it (paper §3.3, S2).

The DBMS is held to what SQL promises and no more: rows without ORDER BY are a multiset, ORDER BY fixes a sequence up
to ties, LIMIT and OFFSET leave every choice that the ties leave. Does not know which states the statement read, nor
what an observed error means for a transaction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from types import NoneType

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from sql_semantics.values.numbers.rounded import Rounded
from sql_semantics.values.types import DATETIME_KINDS, INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType, Value
from troubadour.model.log import JsonValue, ObservedRows, Statement
from troubadour.model.values import REDACTED, Redacted, read_value

ObservedValue = Value | Redacted
ObservedRow = tuple[ObservedValue, ...]
ResultTypes = tuple[SqlType, ...]

_NAN = "\0NaN"
"""Stands for NaN, which Python never finds equal to itself; no SQL text holds a NUL."""
MANY = 1000
"""Rows of a result beyond which a difference is told in less words."""
_WIDEST = 60
"""Characters of a value or row that a message shows."""


class MisfitValue(ValueError):
    """An observed value does not fit its column's type (exit status 2). `column` is 0-based, `row` too; `number`: the
    value is one. `lacks_parts`: it is a date of MySQL's that is none of the calendar's."""

    def __init__(
        self, column: int, name: str, row: int, reason: str, number: bool = False, lacks_parts: bool = False
    ) -> None:
        super().__init__(f"row {row + 1}, column {name}: {reason}")
        self.column = column
        self.row = row
        self.number = number
        self.lacks_parts = lacks_parts


@dataclass(slots=True)
class ParsedRows:
    """One observed result set, its values read by the types it was parsed with.

    `rows` is None where the number of columns does not fit the types. `plain`: Python equality of whole rows decides
    (nothing redacted or padded, no NaN, read to the end).
    """

    observed: ObservedRows
    types: ResultTypes
    rows: list[ObservedRow] | None
    plain: bool
    _hashes: int | None = None

    def sum_of_hashes(self) -> int:
        """The sum of the rows' hashes, which is the same in whichever order they come."""
        if self._hashes is None:
            assert self.rows is not None
            self._hashes = sum(map(hash, self.rows))
        return self._hashes


@dataclass(slots=True)
class ParsedObservation:
    """What was observed of one statement, ready to be compared many times.

    `results` is None where no result set was observed or where its types are not known before the statement runs
    (a CALL that branches); then `late` holds what was observed.
    """

    statement: Statement
    results: list[ParsedRows] | None
    late: tuple[ObservedRows, ...] | None
    nothing: bool


def parse_observation(statement: Statement, types_of_results: Sequence[ResultTypes] | None) -> ParsedObservation:
    """Read the observed values by the types of the statement's result sets, one tuple of types per result set; None
    where they are not known before it runs.

    Raises MisfitValue for a value that its column cannot hold, Unsupported for a value that is not modelled.
    """
    observed = statement.results
    nothing = observed is None and statement.affected is None and statement.error is None
    if observed is None:
        return ParsedObservation(statement, None, None, nothing)
    if types_of_results is None:
        return ParsedObservation(statement, None, observed, False)
    observed = without_empty(observed, len(types_of_results))
    if len(observed) != len(types_of_results):
        # Never explained; the values cannot be read, for want of types.
        return ParsedObservation(statement, [ParsedRows(rows, (), None, False) for rows in observed], None, False)
    parsed = [parse_rows(rows, types) for rows, types in zip(observed, types_of_results, strict=True)]
    return ParsedObservation(statement, parsed, None, False)


def without_empty(observed: tuple[ObservedRows, ...], expected: int) -> tuple[ObservedRows, ...]:
    """A driver's result without columns and rows is none at all."""
    if len(observed) > expected:
        return tuple(rows for rows in observed if rows.columns or rows.rows)
    return observed


def parse_rows(observed: ObservedRows, types: ResultTypes) -> ParsedRows:
    """One observed result set, read by these types. Raises MisfitValue."""
    width = len(types)
    if len(observed.columns) != width or any(len(row) != width for row in observed.rows):
        return ParsedRows(observed, types, None, False)
    plain = not observed.truncated and not any(type.padded for type in types)
    if plain and _are_values(observed.rows, types):
        return ParsedRows(observed, types, list(observed.rows), True)
    rows: list[ObservedRow] = []
    for number, json in enumerate(observed.rows):
        row = tuple(_read(value, types[column], column, observed.columns, number) for column, value in enumerate(json))
        plain = plain and not any(value is REDACTED or value != value for value in row)
        rows.append(row)
    if not plain:
        rows = [_canonical(row, types) for row in rows]
    return ParsedRows(observed, types, rows, plain)


def _are_values(rows: Sequence[tuple[JsonValue, ...]], types: ResultTypes) -> bool:
    """Whether every value stands for itself, as integers and text do: then nothing has to be read, one by one, of what
    may be millions. False where that is not seen at once."""
    for type_, column in zip(types, zip(*rows, strict=True), strict=False):
        classes = set(map(type, column))
        if type_.kind in INTEGER_KINDS:
            if not classes <= {int, NoneType}:
                return False
            low, high = INTEGER_RANGE[type_.kind]
            numbers = column if classes == {int} else [number for number in column if number is not None]
            if numbers and not low <= min(numbers) <= max(numbers) <= high:
                return False
        elif type_.kind is not Kind.TEXT or not classes <= {str, NoneType}:
            return False
    return True


def _read(json: JsonValue, type: SqlType, column: int, names: Sequence[str], row: int) -> ObservedValue:
    if isinstance(json, Redacted):
        return json
    try:
        return read_value(json, type)
    except ValueError as error:
        number = isinstance(json, int | float | Decimal) and not isinstance(json, bool)
        moment = isinstance(json, str) and type.kind in DATETIME_KINDS and lacks_parts(json)
        raise MisfitValue(column, names[column], row, str(error), number, moment) from error


_LACKING = pattern(r"(?:0000-\d\d-\d\d|\d{4}-00-\d\d|\d{4}-\d\d-00)(?:[ T].*)?\Z", re.ASCII)


def lacks_parts(text: str) -> bool:
    """Whether it is a date without a year, a month or a day (MySQL 11.2.2)."""
    return _LACKING.match(text) is not None


def _canonical(row: ObservedRow, types: ResultTypes) -> ObservedRow:
    """The same row with equal values equal in Python: CHAR(n) without trailing blanks, NaN equal to NaN."""
    return tuple(
        value.rstrip(" ") if type.padded and isinstance(value, str) else _NAN if value != value else value
        for value, type in zip(row, types, strict=True)
    )


def mismatch(parsed: ParsedObservation, outcome: Outcome) -> str | None:
    """None where the outcome explains what was observed; else a short phrase that says what differs.

    Raises Unsupported where the row count of a CALL was observed, whose meaning depends on the driver.
    """
    if parsed.nothing:
        return None
    statement = parsed.statement
    if statement.error is not None:
        return f"observed error {statement.error.sqlstate}, expected success"
    results = parsed.results
    if results is None and parsed.late is not None:
        reread = _parse_late(parsed.late, outcome)
        if isinstance(reread, str):
            return reread
        results = reread
    if results is not None:
        shown = _shown_sets(outcome, len(results))
        if len(results) != len(shown):
            return _number_of_sets(len(results), len(shown))
        for observed, expected in zip(results, shown, strict=True):
            difference = _compare(observed, expected)
            if difference is not None:
                return difference
    if statement.affected is not None:
        return _compare_count(statement.affected, outcome)
    return None


def rows_apart(parsed: ParsedObservation, outcome: Outcome) -> int:
    """How many rows were observed that are not in the outcome, or are in it that were not observed."""
    apart = 0
    for observed, shown in zip(parsed.results or (), outcome.results, strict=False):
        seen, expected = Counter(observed.rows or ()), Counter[ObservedRow](shown.rows)
        apart += (seen - expected).total() + (expected - seen).total()
    return apart


def _shown_sets(outcome: Outcome, observed: int) -> list[ResultSet[Value]]:
    """The result sets, without the last one where it is optional and not among so many."""
    results = outcome.results
    if results and results[-1].optional and observed == len(results) - 1:
        return results[:-1]
    return results


def _number_of_sets(observed: int, expected: int) -> str:
    if not expected:
        return "observed rows, expected none: the statement returns no result"
    return f"observed {observed} result sets, expected {expected}"


def _parse_late(late: tuple[ObservedRows, ...], outcome: Outcome) -> list[ParsedRows] | str:
    late = without_empty(late, len(outcome.results))
    shown = _shown_sets(outcome, len(late))
    if len(late) != len(shown):
        return _number_of_sets(len(late), len(shown))
    try:
        return [parse_rows(rows, result.types) for rows, result in zip(late, shown, strict=True)]
    except MisfitValue as error:
        # Another branch of the procedure may have other types, so this is no misuse of the log.
        return f"observed {error}"


def counts_nothing(affected: int, results: Sequence[object]) -> bool:
    """Whether a count is the 0 that drivers report of what neither asks nor writes: SAVEPOINT and its kin."""
    return affected == 0 and not results


def _compare_count(affected: int, outcome: Outcome) -> str | None:
    expected = outcome.affected
    if expected is None:
        if counts_nothing(affected, outcome.results):
            return None
        if len(outcome.results) != 1:
            raise Unsupported("the row count of a statement that is neither a query nor a write")
        # Drivers report the number of rows of a query as its count.
        low, high = window(outcome.results[0])
        expected = min(affected, high - low) if outcome.results[0].subset else high - low
    if affected != expected:
        return f"observed {affected} affected {'row' if affected == 1 else 'rows'}, expected {expected}"
    return None


def window(result: ResultSet[Value]) -> tuple[int, int]:
    """Which positions of the rows LIMIT and OFFSET leave: [low, high)."""
    count = len(result.rows)
    low = min(result.offset, count)
    return low, count if result.limit is None else min(low + result.limit, count)


def _compare(observed: ParsedRows, result: ResultSet[Value]) -> str | None:
    rows = observed.rows
    if rows is None:
        wrong = {len(row) for row in observed.observed.rows} | {len(observed.observed.columns)}
        return f"observed {'/'.join(map(str, sorted(wrong)))} columns, expected {len(result.types)}"
    if result.subset:
        return _compare_subset(observed, rows, result)
    expected = result.rows
    if observed.plain and not result.rounded and result.limit is None and not result.offset:
        if rows == expected:
            return None
        if result.keys is None:
            if len(rows) == len(expected) and sum(map(hash, expected)) == observed.sum_of_hashes():
                # Counter's own equality goes through the rows in Python
                if dict.__eq__(Counter(rows), Counter(expected)):
                    return None
            elif len(expected) > MANY:
                return _difference_of_many(rows, expected)
    return _compare_window(observed, rows, result)


def _compare_window(observed: ParsedRows, rows: list[ObservedRow], result: ResultSet[Value]) -> str | None:
    expected: Sequence[ObservedRow] = result.rows
    if not observed.plain and not result.rounded:
        expected = [_canonical(row, result.types) for row in expected]
    low, high = window(result)
    truncated = observed.observed.truncated
    if len(rows) > high - low or (len(rows) < high - low and not truncated):
        shown = f" {_shown_rows(result.rows[low:high])}" if high - low == 1 else ""
        return f"observed {_count(rows)}, expected {_count(range(high - low))}{shown}"
    high = low + len(rows)
    for first, last in ties(result.keys, len(expected), low, high):
        start, end = max(first, low), min(last, high)
        seen, candidates = rows[start - low : end - low], expected[first:last]
        if result.rounded:
            owner: dict[int, int] = {}
            if not all(_augment(index, seen, candidates, owner, set()) for index in range(len(seen))):
                return f"observed {_shown_rows(seen)}, expected {_shown_rows(candidates)}"
        elif not _is_choice(seen, candidates):
            return _difference(seen, result.rows[first:last])
    return None


def _compare_subset(observed: ParsedRows, rows: list[ObservedRow], result: ResultSet[Value]) -> str | None:
    """Any of the rows may be missing: each observed one takes the first that is left for it, not before the class of
    ties that the one in front of it was taken from."""
    if result.offset or any(REDACTED in row for row in rows):
        raise Unsupported("OFFSET or redacted values with SKIP LOCKED")
    if result.limit is not None and len(rows) > result.limit:
        return f"observed {_count(rows)}, expected {result.limit} at most"
    expected: Sequence[ObservedRow] = result.rows
    if not observed.plain:
        expected = [_canonical(row, result.types) for row in expected]
    classes = [Counter(expected[first:last]) for first, last in ties(result.keys, len(expected))]
    place = 0
    for row in rows:
        while place < len(classes) and not classes[place][row]:
            place += 1
        if place == len(classes):
            return f"observed {_shown_rows([row])}, which is not among the rows left"
        classes[place][row] -= 1
    return None


def ties(
    keys: Sequence[tuple[Value, ...]] | None, count: int, low: int = 0, high: int | None = None
) -> Iterator[tuple[int, int]]:
    """Runs of rows whose order is open, as [first, last): of `count` rows, those with some in [low, high)."""
    high = count if high is None else high
    first = 0 if keys is None else low
    while keys is not None and 0 < first < high and keys[first - 1] == keys[first]:
        first -= 1
    while first < high:
        last = count if keys is None else first + 1
        while keys is not None and last < count and keys[last] == keys[first]:
            last += 1
        yield first, last
        first = last


def _is_choice(rows: Sequence[ObservedRow], candidates: Sequence[ObservedRow]) -> bool:
    """Whether each row can be given a candidate of its own that it agrees with."""
    left = Counter(candidates)
    hidden: list[ObservedRow] = []
    for row in rows:
        if REDACTED in row:
            hidden.append(row)
        elif left[row] > 0:
            left[row] -= 1
        else:
            return False
    # A row seen in full can only take its equals, which are interchangeable: what is left is a matching problem.
    rest = list(left.elements())
    owner: dict[int, int] = {}
    return all(_augment(index, hidden, rest, owner, set()) for index in range(len(hidden)))


def _augment(
    index: int,
    rows: Sequence[ObservedRow],
    candidates: Sequence[ObservedRow],
    owner: dict[int, int],
    visited: set[int],
) -> bool:
    """Find row `index` a candidate, moving others where that helps (Kuhn's augmenting path)."""
    for place, candidate in enumerate(candidates):
        if place in visited or not _agrees(rows[index], candidate):
            continue
        visited.add(place)
        if place not in owner or _augment(owner[place], rows, candidates, owner, visited):
            owner[place] = index
            return True
    return False


def _agrees(row: ObservedRow, candidate: ObservedRow) -> bool:
    return all(
        seen is REDACTED or (value.holds(seen) if isinstance(value, Rounded) else seen == value)
        for seen, value in zip(row, candidate, strict=True)
    )


def _difference(rows: Sequence[ObservedRow], candidates: Sequence[ObservedRow]) -> str:
    if len(rows) == 1 and len(candidates) == 1 and len(rows[0]) == 1:
        return f"observed {_shown(rows[0][0])}, expected {_shown(candidates[0][0])}"
    extra = list((Counter(rows) - Counter(candidates)).elements()) or list(rows)
    missing = list((Counter(candidates) - Counter(rows)).elements()) or list(candidates)
    return f"observed {_shown_rows(extra)}, expected {_shown_rows(missing)}"


def _difference_of_many(rows: Sequence[ObservedRow], expected: Sequence[ObservedRow]) -> str:
    """As `_difference`, told in less time and of distinct rows only."""
    if len(rows) != len(expected):
        return f"observed {_count(rows)}, expected {_count(expected)}"
    seen, wanted = set(rows), set(expected)
    extra, missing = list(seen - wanted) or list(rows), list(wanted - seen) or list(expected)
    return f"observed {_shown_rows(extra)}, expected {_shown_rows(missing)}"


def _count(rows: Sequence[object]) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _shown_rows(rows: Sequence[ObservedRow]) -> str:
    shown = ", ".join(f"({', '.join(map(_shown, row))})" for row in rows[:3])
    return shown if len(rows) <= 3 else f"{shown}, ..."


def _shown(value: ObservedValue) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        value = "NaN" if value == _NAN else f"'{value}'"
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
