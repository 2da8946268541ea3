"""What the paths of a forked run gave, as one guarded outcome. Does not know how paths were found.

Rows without an order are merged by value: a row is there under the condition of the paths that returned it so often.
Rows in order stay one result set per sequence, present where its paths are taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from sql_semantics.errors import SqlError
from sql_semantics.guarded.paths.deciding import NewRow, Scalars, Written
from sql_semantics.guarded.paths.running import Paths, scalar_key
from sql_semantics.outcome import GuardedOutcome, GuardedResult, ResultSet
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, Guard, Scalar, conj
from sql_semantics.values.types import Value
from sql_semantics.view import GuardedView, RowId


@dataclass(slots=True)
class End:
    """How one path ended: an error, or results, counts, writes, and the values of the variables."""

    written: Written
    error: SqlError | None = None
    results: Sequence[ResultSet[Scalar]] = ()
    affected: Scalar = None
    matched: Scalar = None
    frame: Scalars = ()


def failed(paths: Paths[End]) -> frozenset[int]:
    """The paths that end in an error; nothing else of them means anything."""
    return frozenset(path for path, end in enumerate(paths.ends) if end.error is not None)


def write(paths: Paths[End], view: GuardedView) -> None:
    """Make the writes of all paths, under their conditions."""
    failing = failed(paths)
    sound = [(path, end.written) for path, end in enumerate(paths.ends) if path not in failing]
    news: dict[NewRow, list[tuple[int, Scalars]]] = {}
    rows: dict[RowId, tuple[str, list[tuple[int, Scalars]], list[int]]] = {}
    for path, written in sound:
        for new, values in written.first.items():
            news.setdefault(new, []).append((path, values))
        for row, (table, last) in written.own.items():
            _, alive, dead = rows.setdefault(row, (table, [], []))
            if last is None:
                dead.append(path)
            else:
                alive.append((path, last))
    identities: dict[NewRow, RowId] = {}
    for new in sorted(news, key=lambda new: (new.table, new.ordinal)):
        everywhere = [path for path, _ in news[new]]
        values = _row(paths, _last_or_first(news[new], rows[new][1]))
        identities[new] = view.insert(new.table, _at(paths, everywhere), values)
    for row, (table, alive, dead) in rows.items():
        identity = identities.get(row, row) if isinstance(row, NewRow) else row
        if alive and not isinstance(row, NewRow):
            view.update(table, identity, _at(paths, [path for path, _ in alive]), _row(paths, alive))
        if dead:
            view.delete(table, identity, _at(paths, dead))


def _last_or_first(first: list[tuple[int, Scalars]], last: list[tuple[int, Scalars]]) -> list[tuple[int, Scalars]]:
    """A new row's values at the end of each path; those that it came in with where it is gone again."""
    ends = dict(last)
    return [(path, ends.get(path, values)) for path, values in first]


def _at(paths: Paths[End], chosen: Sequence[int]) -> Guard:
    return conj(paths.entry, paths.where(set(chosen)))


def _row(paths: Paths[End], alternatives: Sequence[tuple[int, Scalars]]) -> Scalars:
    """The row that is, on each of these paths, that path's."""
    if all(values is alternatives[0][1] for _, values in alternatives):
        return alternatives[0][1]
    width = len(alternatives[0][1])
    return tuple(paths.choose([(path, values[column]) for path, values in alternatives]) for column in range(width))


def outcome(paths: Paths[End]) -> GuardedOutcome:
    """The outcome of all paths."""
    failing = failed(paths)
    sound = [(path, end) for path, end in enumerate(paths.ends) if path not in failing]
    affected = paths.choose([(path, end.affected) for path, end in sound])
    matched = paths.choose([(path, end.matched) for path, end in sound])
    return GuardedOutcome(results(paths), affected, matched, errors(paths))


def errors(paths: Paths[End]) -> list[tuple[Guard, SqlError]]:
    """Each error once, under the paths that end in it."""
    raised: dict[tuple[str, str, bool], tuple[SqlError, list[int]]] = {}
    for path, end in enumerate(paths.ends):
        if end.error is not None:
            error = end.error
            raised.setdefault((error.sqlstate, error.message, error.may), (error, []))[1].append(path)
    found = [(_at(paths, where), error) for error, where in raised.values()]
    return [(guard, error) for guard, error in found if guard is not FALSE]


def results(paths: Paths[End]) -> list[GuardedResult]:
    """The result sets, place by place: under every path just its own are present, in its order."""
    failing = failed(paths)
    found: list[GuardedResult] = []
    place = 0
    while True:
        here = [
            (path, end.results[place])
            for path, end in enumerate(paths.ends)
            if path not in failing and place < len(end.results)
        ]
        if not here:
            return found
        alike: dict[Hashable, list[tuple[int, ResultSet[Scalar]]]] = {}
        for path, result in here:
            alike.setdefault(_shape(result), []).append((path, result))
        found.extend(_merged(paths, some, failing) for some in alike.values())
        place += 1


def _shape(result: ResultSet[Scalar]) -> Hashable:
    """Results that differ in this are not merged."""
    ordered = None
    if result.keys is not None:
        ordered = (
            tuple(tuple(map(scalar_key, row)) for row in result.rows),
            tuple(tuple(map(scalar_key, key)) for key in result.keys),
        )
    return result.types, result.offset, result.limit, result.subset, result.optional, ordered


def _merged(
    paths: Paths[End], alternatives: list[tuple[int, ResultSet[Scalar]]], failing: frozenset[int]
) -> GuardedResult:
    where = {path for path, _ in alternatives}
    first = alternatives[0][1]
    present = conj(paths.entry, paths.where(where, failing))
    rows: list[Scalars] = []
    guards: list[Guard] = []
    keys: list[tuple[Value, ...]] | None = None
    if first.keys is not None:
        rows, keys = list(first.rows), list(first.keys)
        guards = [present] * len(rows)
    elif all(len(result.rows) == 1 for _, result in alternatives):
        rows = [_row(paths, [(path, result.rows[0]) for path, result in alternatives])]
        guards = [present]
    else:
        for row, chosen in _by_value(alternatives):
            rows.append(row)
            guards.append(conj(paths.entry, paths.where(set(chosen), failing)))
    return GuardedResult(
        first.types, rows, guards, present, keys, first.offset, first.limit, first.subset, first.optional
    )


def _by_value(alternatives: list[tuple[int, ResultSet[Scalar]]]) -> list[tuple[Scalars, list[int]]]:
    """Each row, as often as the path that has it most often, with the paths that have it so often."""
    found: dict[tuple[Hashable, int], tuple[Scalars, list[int]]] = {}
    for path, result in alternatives:
        counts: dict[Hashable, int] = {}
        for row in result.rows:
            key = tuple(map(scalar_key, row))
            number = counts[key] = counts.get(key, 0) + 1
            found.setdefault((key, number), (row, []))[1].append(path)
    return list(found.values())
