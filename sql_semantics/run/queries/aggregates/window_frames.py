"""Window frames over one sorted partition (SQL:2003 4.15.14): which positions a row's frame covers.

Positions run from 0 in the order of the window; peers (rows with equal order keys) stand side by side. Does not know
functions.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import Bound, Frame
from sql_semantics.records import dataclass
from sql_semantics.run.expressions.expressions import Arguments, Evaluate, compile_expression
from sql_semantics.run.expressions.expressions import Frame as Variables
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.number import EXACT, double_key
from sql_semantics.values.types import Kind, SqlType, Value


@dataclass(slots=True)
class Partition:
    """`starts[g]` is the first position of peer group g, with the number of rows as a last entry; `group[p]` is the
    group of position p; `keys` are the values of the only order key, () where there is none or several."""

    starts: list[int]
    group: list[int]
    keys: Sequence[Any]

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.group)

    def peers(self, position: int) -> range:
        """The positions that tie with this one, itself included."""
        group = self.group[position]
        return range(self.starts[group], self.starts[group + 1])


Reach = Callable[[Partition, Arguments, Variables], Callable[[int], Sequence[int]]]
"""f(partition, args, variables) -> g(position) -> the positions of its frame, ascending."""


def compile_frame(frame: Frame, key_type: SqlType | None, descending: bool, dialect: Dialect) -> Reach:
    """`key_type` and `descending` describe the only order key; RANGE with an offset needs one.

    The function raises SqlError 22013 for a negative offset and 22004 for NULL, as PostgreSQL does; elsewhere
    Unsupported.
    """
    start = _compile_offset(frame.start, dialect)
    end = _compile_offset(frame.end, dialect)
    ranged = frame.unit == "range" and (start is not None or end is not None)
    if ranged and key_type is None:
        raise Unsupported("RANGE with an offset over several or no order keys")
    edge = {"rows": _rows_edge, "groups": _groups_edge, "range": _range_edge(key_type, descending)}[frame.unit]

    def reach(partition: Partition, args: Arguments, variables: Variables) -> Callable[[int], Sequence[int]]:
        before = None if start is None else start(args, variables)
        after = None if end is None else end(args, variables)

        def positions(position: int) -> Sequence[int]:
            first = max(edge(partition, position, frame.start, before, False), 0)
            last = min(edge(partition, position, frame.end, after, True), partition.size)
            covered = range(first, max(last, first))
            if frame.exclude == "no others":
                return covered
            peers = partition.peers(position)
            if frame.exclude == "current row":
                return [p for p in covered if p != position]
            return [p for p in covered if p not in peers or (frame.exclude == "ties" and p == position)]

        return positions

    return reach


Offset = Callable[[Arguments, Variables], Value]


def _compile_offset(bound: Bound, dialect: Dialect) -> Offset | None:
    if bound.offset is None:
        return None
    evaluate: Evaluate = compile_expression(bound.offset, dialect)
    odd = dialect.rules.running.odd_window_arguments

    def offset(args: Arguments, variables: Variables) -> Value:
        value = evaluate((), args, variables)
        if value is None or value < 0 or value != value:  # type: ignore[operator]
            if not odd:
                raise Unsupported("window frame whose offset is negative or NULL")
            raise SqlError("22004" if value is None else "22013", "invalid offset of a window frame")
        return value

    return offset


def _rows_edge(partition: Partition, position: int, bound: Bound, offset: Any, end: bool) -> int:
    if bound.direction and offset is None:
        return partition.size if bound.direction > 0 else 0
    return position + bound.direction * int(offset or 0) + (1 if end else 0)


def _groups_edge(partition: Partition, position: int, bound: Bound, offset: Any, end: bool) -> int:
    if bound.direction and offset is None:
        return partition.size if bound.direction > 0 else 0
    group = partition.group[position] + bound.direction * int(offset or 0) + (1 if end else 0)
    return partition.starts[min(max(group, 0), len(partition.starts) - 1)]


def _range_edge(key_type: SqlType | None, descending: bool) -> Callable[[Partition, int, Bound, Any, bool], int]:
    def edge(partition: Partition, position: int, bound: Bound, offset: Any, end: bool) -> int:
        if bound.direction and offset is None:
            return partition.size if bound.direction > 0 else 0
        current = None if not bound.direction else partition.keys[position]
        if current is None:  # CURRENT ROW, or a NULL, whose frame is its peers
            peers = partition.peers(position)
            return peers.stop if end else peers.start
        return _search(partition, key_type, current, offset, bound.direction, descending, end)

    return edge


def _search(
    partition: Partition,
    key_type: SqlType | None,
    current: Any,
    offset: Any,
    direction: int,
    descending: bool,
    end: bool,
) -> int:
    """The edge where the keys pass ``current ± offset``, among the rows whose key is not NULL."""
    keys = partition.keys
    low = next(p for p in range(partition.size) if keys[p] is not None)
    high = next(p for p in range(partition.size, 0, -1) if keys[p - 1] is not None)
    sign = -direction if descending else direction
    if key_type is not None and key_type.kind is Kind.NUMERIC:
        limit = EXACT.add(current, offset) if sign > 0 else EXACT.subtract(current, offset)
    else:
        limit = current + offset if sign > 0 else current - offset
    if (
        key_type is not None
        and key_type.kind is Kind.DOUBLE
        and any(k != k or abs(k) == float("inf") for k in keys[low:high])
    ):
        raise Unsupported("RANGE with an offset over NaN or infinity")
    # Positions where the key is still before the edge, in the direction of the order.
    if descending:
        return bisect.bisect_left(range(high), True, low, key=lambda p: keys[p] < limit if end else keys[p] <= limit)
    return bisect.bisect_left(range(high), True, low, key=lambda p: keys[p] > limit if end else keys[p] >= limit)


def compare_key(value: Value) -> Any:
    """A value that equals itself: for tests of whether two rows are the same."""
    return double_key(value) if isinstance(value, float) else value
