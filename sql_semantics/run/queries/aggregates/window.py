"""Window functions over concrete rows (SQL:2003 4.15). Does not know what reads the results.

The order of rows that tie is the DBMS's choice. A result that such a choice would change is Unsupported, with the
function named, when it runs: rows that are alike in all that is read of them, or functions and frames that take peers
together, leave nothing to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Const, Param, Variable
from sql_semantics.ir.queries import Aggregate, Window
from sql_semantics.ir.walks.traverse import LISTS
from sql_semantics.records import dataclass, replace
from sql_semantics.run.expressions.expressions import Arguments, EvaluateRow, Frame, Row, compile_predicate, compile_row
from sql_semantics.run.queries.aggregates.aggregate import compile_aggregate
from sql_semantics.run.queries.aggregates.folds import compile_fold, over_integers
from sql_semantics.run.queries.aggregates.window_frames import Partition, Reach, compare_key, compile_frame
from sql_semantics.run.queries.order import one_nan, require_comparable, sort_rows
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.number import adds_up_exactly
from sql_semantics.values.text import text_rule
from sql_semantics.values.types import Kind, Value

Extend = Callable[[list[Row], Arguments, Frame], list[Row]]


@dataclass(slots=True)
class _Sorted:
    """One partition in the window's order: its rows, what the function reads of each, and its peer groups."""

    rows: list[Row]
    inputs: list[Row]
    partition: Partition


@dataclass(slots=True)
class _Values:
    """The function's value at each position, and the peer groups whose inner order the values hang on."""

    values: list[Value]
    fragile: set[int]


Evaluate = Callable[[_Sorted, Arguments, Frame], _Values]


def compile_windows(
    windows: Sequence[Window], read: frozenset[int] | None, dialect: Dialect, *, may: bool = False
) -> Extend:
    """f(rows, args, frame) -> the rows, each followed by the value of every window function.

    `read` are the positions of the row that anything reads later (None: all of them). `may` marks errors: with LIMIT
    not every row need be computed. Raises Unsupported; the
    function raises SqlError as the DBMS would, and Unsupported where ties leave a choice that shows.
    """
    compiled = [_compile(window, dialect, may) for window in windows]

    def seen(row: Row) -> Row:
        return row if read is None else tuple([row[i] for i in sorted(read)])

    def extend(rows: list[Row], args: Arguments, frame: Frame) -> list[Row]:
        columns = [column(rows, seen, args, frame) for column in compiled]
        return [row + values for row, values in zip(rows, zip(*columns, strict=True), strict=True)]

    return extend


def _compile(
    window: Window, dialect: Dialect, may: bool
) -> Callable[[list[Row], Callable[[Row], Row], Arguments, Frame], list[Value]]:
    rule = text_rule(dialect)
    if window.aggregate is not None:
        window = replace(window, aggregate=over_integers(window.aggregate))
    name = window.function if window.aggregate is None else window.aggregate.function.removesuffix("_star")
    partition_of = compile_row(window.partition, dialect, may=may)
    partition_types = [expression.type for expression in window.partition]
    keys = [key.expression for key in window.order if key.expression is not None]
    key_of = compile_row(keys, dialect, may=may)
    key_types = [key.type for key in keys]
    inputs_of = _compile_inputs(window, dialect, may)
    evaluate = _compile_function(window, dialect, may)

    def sort(rows: list[Row], members: list[int], args: Arguments, frame: Frame) -> tuple[list[int], _Sorted]:
        places: list[Row] = [(member,) for member in members]
        own = [key_of(rows[member], args, frame) for member in members]
        ranked, ordered = sort_rows(places, own, window.order, key_types, rule)
        order = [int(place[0]) for place in ranked]  # type: ignore[arg-type]
        starts, group = [0], [0]
        for position in range(1, len(order)):
            if one_nan(ordered[position]) != one_nan(ordered[position - 1]):
                starts.append(position)
            group.append(len(starts) - 1)
        only = [key[0] for key in ordered] if len(keys) == 1 else ()
        chosen = [rows[member] for member in order]
        inputs = [inputs_of(row, args, frame) for row in chosen]
        return order, _Sorted(chosen, inputs, Partition([*starts, len(order)], group, only))

    def column(rows: list[Row], seen: Callable[[Row], Row], args: Arguments, frame: Frame) -> list[Value]:
        members: dict[Row, list[int]] = {}
        for number, row in enumerate(rows):
            members.setdefault(one_nan(partition_of(row, args, frame)), []).append(number)
        require_comparable(list(members), partition_types, rule)
        result: list[Value] = [None] * len(rows)
        for numbers in members.values():
            order, part = sort(rows, numbers, args, frame)
            found = evaluate(part, args, frame)
            _require_no_choice(name, part, found, seen)
            for number, value in zip(order, found.values, strict=True):
                result[number] = value
        return result

    return column


def _require_no_choice(name: str, part: _Sorted, found: _Values, seen: Callable[[Row], Row]) -> None:
    """Raise Unsupported unless every order of the ties gives the same rows."""
    starts = part.partition.starts
    for group in range(len(starts) - 1):
        positions = range(starts[group], starts[group + 1])
        if len(positions) == 1:
            continue
        if group in found.fragile and not _alike([part.inputs[p] for p in positions]):
            raise Unsupported(f"{name}() over rows that tie in the order of its window")
        if not _alike([(found.values[p],) for p in positions]) and not _alike([seen(part.rows[p]) for p in positions]):
            raise Unsupported(f"{name}() over rows that tie in the order of its window")


def _alike(rows: Sequence[Row]) -> bool:
    first = [compare_key(value) for value in rows[0]]
    return all([compare_key(value) for value in row] == first for row in rows)


def _compile_inputs(window: Window, dialect: Dialect, may: bool) -> EvaluateRow:
    """What the function reads of a row: its arguments; for an aggregate NULLs where FILTER excludes the row."""
    if window.aggregate is None:
        return compile_row(window.arguments, dialect, may=may)
    arguments = compile_row(window.aggregate.arguments, dialect, may=may)
    if window.aggregate.filter is None:
        return arguments
    test = compile_predicate(window.aggregate.filter, dialect, may=may)

    def inputs(row: Row, args: Arguments, frame: Frame) -> Row:
        passes = test(row, args, frame)
        return (passes, *(arguments(row, args, frame) if passes else ()))

    return inputs


def _compile_function(window: Window, dialect: Dialect, may: bool) -> Evaluate:
    if window.aggregate is not None:
        return _aggregate(window, dialect, may)
    ranking = _RANKINGS.get(window.function)
    if ranking is not None:
        return lambda part, args, frame: _Values(
            [ranking(part.partition, p) for p in range(part.partition.size)], set()
        )
    if window.function == "ntile":
        return _ntile(dialect, may)
    if window.function in ("lag", "lead"):
        return _neighbour(window, dialect)
    if window.function in ("first_value", "last_value", "nth_value"):
        return _picked(window, dialect, may)
    raise Unsupported(f"window function {window.function}")


def _percent_rank(partition: Partition, position: int) -> float:
    return 0.0 if partition.size == 1 else partition.peers(position).start / (partition.size - 1)


_RANKINGS: dict[str, Callable[[Partition, int], Value]] = {
    "row_number": lambda partition, position: position + 1,
    "rank": lambda partition, position: partition.peers(position).start + 1,
    "dense_rank": lambda partition, position: partition.group[position] + 1,
    "percent_rank": _percent_rank,
    "cume_dist": lambda partition, position: partition.peers(position).stop / partition.size,
}


def _failure(sqlstate: str, message: str, dialect: Dialect, may: bool) -> SqlError | Unsupported:
    return SqlError(sqlstate, message, may=may) if dialect.rules.running.odd_window_arguments else Unsupported(message)


def _ntile(dialect: Dialect, may: bool) -> Evaluate:
    odd = dialect.rules.running.odd_window_arguments

    def evaluate(part: _Sorted, args: Arguments, frame: Frame) -> _Values:
        size: int = part.partition.size
        buckets: Any = part.inputs[0][0]
        if buckets is None and odd:
            return _Values([None] * size, set())
        if buckets is None or buckets <= 0:
            raise _failure("22014", "ntile() of a number that is not positive", dialect, may)
        small, larger = divmod(size, buckets)
        border = larger * (small + 1)
        return _Values(
            [p // (small + 1) + 1 if p < border else larger + (p - border) // small + 1 for p in range(size)], set()
        )

    return evaluate


def _varies(window: Window) -> bool:
    """Whether rows of one partition may look different distances away, so that the order of ties decides which."""
    return not isinstance(window.arguments[1], Const | Param | Variable)


def _neighbour(window: Window, dialect: Dialect) -> Evaluate:
    """LAG and LEAD over inputs (value, offset, default)."""
    direction = 1 if window.function == "lead" else -1
    varies, odd = _varies(window), dialect.rules.running.odd_window_arguments

    def evaluate(part: _Sorted, args: Arguments, frame: Frame) -> _Values:
        values: list[Value] = []
        fragile: set[int] = set()
        for position, (_, offset, default) in enumerate(part.inputs):
            if varies:
                fragile.add(part.partition.group[position])
            if offset is None or (offset < 0 and not odd):  # type: ignore[operator]
                if not odd:
                    raise Unsupported("lag() or lead() with a negative offset or NULL")
                values.append(None)
                continue
            other = position + direction * int(offset)  # type: ignore[arg-type]
            if 0 <= other < part.partition.size:
                values.append(part.inputs[other][0])
            else:
                other = position
                values.append(default)
            fragile.add(part.partition.group[other])
        return _Values(values, fragile)

    return evaluate


def _reach(window: Window, dialect: Dialect) -> Reach:
    keys = [key for key in window.order if key.expression is not None]
    only = keys[0] if len(keys) == 1 else None
    key_type = None if only is None or only.expression is None else only.expression.type
    return compile_frame(window.frame, key_type, only is not None and only.descending, dialect)


def _picked(window: Window, dialect: Dialect, may: bool) -> Evaluate:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE over inputs (value[, n])."""
    reach = _reach(window, dialect)
    varies = window.function == "nth_value" and _varies(window)

    def evaluate(part: _Sorted, args: Arguments, frame: Frame) -> _Values:
        frame_of = reach(part.partition, args, frame)
        values: list[Value] = []
        fragile: set[int] = set(part.partition.group) if varies else set()
        for position in range(part.partition.size):
            covered = frame_of(position)
            place = -1 if window.function == "last_value" else 0
            if window.function == "nth_value":
                number: Any = part.inputs[position][1]
                if number is not None and number <= 0:
                    raise _failure("22016", "nth_value() of a number that is not positive", dialect, may)
                place = len(covered) if number is None else number - 1
            if not -1 <= place < len(covered) or not covered:
                values.append(None)
                continue
            values.append(part.inputs[covered[place]][0])
            fragile.add(part.partition.group[covered[place]])
        return _Values(values, fragile)

    return evaluate


OverPositions = Callable[[Sequence[int], Arguments, Frame], Value]


def _aggregate(window: Window, dialect: Dialect, may: bool) -> Evaluate:
    aggregate = window.aggregate
    if aggregate is None:
        raise AssertionError("a window aggregate without its aggregate")
    over = _over_values if len(aggregate.arguments) < 2 else _over_rows
    prepare = over(aggregate, dialect, may)
    reach = _reach(window, dialect)
    in_order = aggregate.function in LISTS

    def evaluate(part: _Sorted, args: Arguments, frame: Frame) -> _Values:
        fold = prepare(part)
        frame_of = reach(part.partition, args, frame)
        known: dict[Any, Value] = {}
        values: list[Value] = []
        fragile: set[int] = set()
        for position in range(part.partition.size):
            covered = frame_of(position)
            key = covered if isinstance(covered, range) else tuple(covered)
            if key not in known:
                known[key] = fold(covered, args, frame)
                fragile |= _partly_covered(part.partition, covered, in_order)
            values.append(known[key])
        return _Values(values, fragile)

    return evaluate


def _over_rows(aggregate: Aggregate, dialect: Dialect, may: bool) -> Callable[[_Sorted], OverPositions]:
    """An aggregate of several arguments, evaluated afresh over the rows of each frame."""
    fold = compile_aggregate(aggregate, dialect, may=may, ordered=True)

    def prepare(part: _Sorted) -> OverPositions:
        return lambda covered, args, frame: fold([part.rows[p] for p in covered], args, frame)

    return prepare


def _over_values(aggregate: Aggregate, dialect: Dialect, may: bool) -> Callable[[_Sorted], OverPositions]:
    """An aggregate of one argument or none, over the inputs of a frame that pass FILTER and are not NULL."""
    fold = compile_fold(aggregate, replace(dialect, version=None))  # a frame's parts are put together in other ways
    argument = aggregate.argument
    filtered = aggregate.filter is not None
    rounds = (
        argument is not None and argument.type.kind is Kind.DOUBLE and aggregate.function in ("sum", "avg", "total")
    )

    def value_of(inputs: Row) -> Value:
        """The argument's value; True for a row that count(*) counts."""
        if filtered and not inputs[0]:
            return None
        return True if argument is None else inputs[-1]

    def prepare(part: _Sorted) -> OverPositions:
        values = [value_of(inputs) for inputs in part.inputs]
        if rounds and not adds_up_exactly([float(cast(float, value)) for value in values if value is not None]):
            # Frames may be summed afresh or by adding and taking away.
            raise Unsupported(f"{aggregate.function}() of floating-point numbers over a window")

        def over(covered: Sequence[int], args: Arguments, frame: Frame) -> Value:
            chosen = (
                values[covered.start : covered.stop] if isinstance(covered, range) else [values[p] for p in covered]
            )
            return fold([value for value in chosen if value is not None])

        return over

    return prepare


def _partly_covered(partition: Partition, covered: Sequence[int], in_order: bool) -> set[int]:
    """The peer groups of which a frame takes some rows only (`in_order`: all groups that it touches)."""
    if in_order:
        return {partition.group[p] for p in covered}
    if isinstance(covered, range):
        ends = {partition.group[covered[0]], partition.group[covered[-1]]} if covered else set()
        starts = partition.starts
        return {g for g in ends if starts[g] < covered.start or starts[g + 1] > covered.stop}
    counts: dict[int, int] = {}
    for position in covered:
        counts[partition.group[position]] = counts.get(partition.group[position], 0) + 1
    return {group for group, count in counts.items() if count < partition.starts[group + 1] - partition.starts[group]}
