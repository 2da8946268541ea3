"""What the answer of a join of two tables says of the rows of each table by itself.

A row of the left table is shown by a left join, with a row of the right one or without; of an inner join it may be. Of
the groups of left rows each counts the right rows that refer to its key. Does not know how a row is followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sql_semantics.ir.expressions import Binary, Column, Expr
from sql_semantics.ir.queries import BaseTable, OutputColumn, Select, Source
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import columns_read, conjunction, conjuncts
from sql_semantics.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Side:
    """A query of one table: what it gives of each row stands in the `columns` of the join's answer. `maybe`: a row need
    not be shown although the query gives it; `repeats`: it may be shown several times. `refers`: instead, `query` gives
    for each row the key that it refers to, then the argument of each aggregate that stands in a column of `counts`; the
    key stands in the answer's column `refers`."""

    table: str
    query: Select
    columns: tuple[int, ...] = ()
    maybe: bool = False
    repeats: bool = False
    refers: int | None = None
    counts: tuple[tuple[int, int], ...] = ()
    """By aggregate its column in the answer."""


def sides_of(statement: Select, keys: Mapping[str, tuple[int, ...]]) -> tuple[Side, ...]:
    """What an answer says of each of two joined tables; nothing of other joins."""
    sources = statement.sources
    if len(sources) != 2 or not all(isinstance(source.relation, BaseTable) for source in sources):
        return ()
    left, right = sources
    names = [source.relation.name for source in sources if isinstance(source.relation, BaseTable)]
    if names[0] == names[1] or left.kind != "cross" or right.kind not in ("left", "inner", "cross"):
        return ()
    plain = statement.limit is None and statement.offset is None and not statement.windows and not statement.locks
    plain = plain and statement.qualify is None and statement.grouping_sets is None and not statement.distinct_on
    if not plain or any(name not in keys for name in names):
        return ()
    found = [_left(statement, left, right, names[0], keys[names[0]])]
    found.append(_right(statement, left, right, names[1], keys[names[0]]))
    return tuple(side for side in found if side is not None)


def is_of(expression: Expr, source: Source) -> bool:
    """Whether an expression reads no other source's columns."""
    return all(source.offset <= place < source.offset + source.width for place in columns_read(expression))


def _shown(statement: Select) -> list[Column | None]:
    """By output the column of the joined rows that it shows."""
    found: list[Column | None] = []
    for output in statement.outputs:
        expression: Expr | None = output.expression
        if statement.groups is not None:
            number = expression.index if isinstance(expression, Column) else len(statement.groups)
            expression = statement.groups[number] if number < len(statement.groups) else None
        found.append(expression if isinstance(expression, Column) else None)
    return found


def _left(statement: Select, left: Source, right: Source, table: str, key: Sequence[int]) -> Side | None:
    shown = _shown(statement)
    columns = tuple(n for n, column in enumerate(shown) if column is not None and is_of(column, left))
    grouped = statement.groups is not None
    if not columns or (statement.aggregates and not grouped):
        return None
    if grouped and any(not isinstance(one, Column) or not is_of(one, left) for one in statement.groups or ()):
        return None
    known = {column.index for n in columns if (column := shown[n]) is not None}
    if not set(key) <= known:
        return None
    parts = conjuncts(statement.where)
    own = tuple(part for part in parts if is_of(part, left))
    maybe = right.kind != "left" or len(own) < len(parts) or statement.having is not None
    outputs = tuple(OutputColumn(f"shown {n}", column) for n in columns if (column := shown[n]) is not None)
    query = replace(
        statement, sources=(replace(left, kind="cross", on=None),), where=conjunction(own), groups=None, aggregates=(),
        having=None, outputs=outputs, order=(), distinct=False,
    )  # fmt: skip
    return Side(table, query, columns, maybe, repeats=not grouped or statement.distinct)


def _right(statement: Select, left: Source, right: Source, table: str, key: Sequence[int]) -> Side | None:
    """Of groups that are the left rows, joined by their key: how many right rows refer to each."""
    if not statement.groups or right.on is None or len(key) != 1 or statement.where is not None:
        return None
    if any(not isinstance(one, Column) or not is_of(one, left) for one in statement.groups):
        return None
    reference: Column | None = None
    own: list[Expr] = []
    for part in conjuncts(right.on):
        if is_of(part, right):
            own.append(moved(part, right.offset))
            continue
        match part:
            case Binary("=", Column() as one, Column() as other) if reference is None:
                one, other = (one, other) if is_of(one, left) else (other, one)
                if one.index != left.offset + key[0] or not is_of(other, right):
                    return None
                reference = other
            case _:
                return None
    shown = _shown(statement)
    at = next(
        (n for n, column in enumerate(shown) if column is not None and column.index == left.offset + key[0]), None
    )
    if reference is None or at is None:
        return None
    arguments: list[Expr] = []
    counts: list[tuple[int, int]] = []
    for n, output in enumerate(statement.outputs):
        place = output.expression.index - len(statement.groups) if isinstance(output.expression, Column) else -1
        if not 0 <= place < len(statement.aggregates):
            continue
        one_ = statement.aggregates[place]
        if (
            one_.function not in ("count", "sum")
            or one_.distinct
            or one_.filter is not None
            or len(one_.arguments) != 1
        ):
            continue
        if columns_read(one_.arguments[0]) and is_of(one_.arguments[0], right):
            arguments.append(moved(one_.arguments[0], right.offset))
            counts.append((place, n))
    if not counts:
        return None
    outputs = [moved(reference, right.offset), *arguments]
    source = replace(right, kind="cross", on=None, offset=0)
    query = replace(
        statement, sources=(source,), where=conjunction(tuple(own)), groups=None, aggregates=(), having=None, order=(),
        outputs=tuple(OutputColumn(f"share {n}", one) for n, one in enumerate(outputs)), distinct=False,
    )  # fmt: skip
    return Side(table, query, refers=at, counts=tuple(counts))


def moved(expression: Expr, offset: int) -> Expr:
    """An expression over a row of one table, of one over the joined rows."""
    if isinstance(expression, Column):
        return replace(expression, index=expression.index - offset)
    return rebuild(expression, lambda part: moved(part, offset))
