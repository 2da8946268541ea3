"""Which rows of a table a condition can be satisfied by: access paths (paper §7.1, H1 indexing).

A pure choice made at compile time: equality conjuncts ``column = expression`` whose expression is known before the
table is read become a lookup, two bounds of an integer column a few of them, whatever remains a scan. Callers test the
whole condition again on every row that comes back. Does not know which indexes a view has.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.ir.expressions import (
    Binary,
    Cast,
    Column,
    Const,
    Expr,
    InList,
    Param,
    Variable,
)
from sql_semantics.ir.walks.effects import answers_once
from sql_semantics.ir.walks.traverse import can_raise, columns_read, conjuncts
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import common_rule, equal_by_code_points, text_rule
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType


@dataclass(frozen=True, slots=True)
class AccessPath:
    """A lookup: `keys[i]` gives the value of table column `columns[i]` (columns ascending, without repetition).

    A NULL key means that no row qualifies. `padded`: one of the columns is CHAR(n), for which Python equality of
    stored values is not SQL equality. `may_raise`: a key may raise where no row would have it evaluated; then every row
    has to be looked at.
    """

    columns: tuple[int, ...]
    keys: tuple[Expr, ...]
    padded: bool = False
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class ListedPath:
    """Lookups for ``column IN (...)``: the table column and what its value may be; a NULL among them is no key."""

    column: int
    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SpanPath:
    """Lookups for each integer between two bounds, `low` and `high` among them once `steps` are added to them, in one
    column beside those of `prefix`: what is looked up are `columns`, and the integer's is at `place` among them.

    A bound may raise, or leave too many integers: then `prefix` finds the rows, or a scan. A NULL means that no row
    qualifies.
    """

    prefix: AccessPath | None
    columns: tuple[int, ...]
    place: int
    low: Expr
    high: Expr
    steps: tuple[int, int]


SPAN = 32
"""Integers between two bounds beyond which the rows are not looked up one by one."""

LISTED = 16
"""Keys of a list beyond which a scan is taken: where a view has no index every lookup is one."""


def listed_path(where: Expr | None, dialect: Dialect) -> ListedPath | None:
    """The lookups that a condition on one table allows by a short IN list, the first one there is."""
    for conjunct in conjuncts(where):
        if not isinstance(conjunct, InList) or conjunct.negated or len(conjunct.items) > LISTED:
            continue
        column = bare_column(conjunct.operand)
        if column is not None and all(_usable(column, item, 0, dialect) for item in conjunct.items):
            return ListedPath(column.index, tuple(_normalized(column, item) for item in conjunct.items))
    return None


def span_path(
    where: Expr | None, dialect: Dialect, late: Sequence[Expr] = (), width: int | None = None
) -> SpanPath | None:
    """The lookups that two bounds of an integer column allow: of conditions on one table, and of `late` ones that are
    tested on joined rows, which begin with its `width` columns. None where another condition may raise on a row that
    these do not find, and where columns hold values of any type."""
    if dialect.rules.values.affinities:
        return None
    parts = (*conjuncts(where), *late)
    bounds: dict[int, dict[bool, tuple[Expr, Expr, int]]] = {}
    for part in parts:
        bound = _bound(part)
        if bound is not None and (width is None or bound[0].index < width):
            column, upper, key, step = bound
            bounds.setdefault(column.index, {}).setdefault(upper, (part, key, step))
    prefix = access_path(where, dialect)
    equated = () if prefix is None else prefix.columns
    both = [column for column, found in bounds.items() if len(found) == 2 and column not in equated]
    if not both or (prefix is not None and prefix.padded):
        return None
    columns = tuple(sorted((*equated, both[0])))
    (first, low, up), (last, high, down) = bounds[both[0]][False], bounds[both[0]][True]
    if any(can_raise(part) for part in parts if part is not first and part is not last):
        return None
    return SpanPath(prefix, columns, columns.index(both[0]), low, high, (up, down))


def _bound(conjunct: Expr) -> tuple[Column, bool, Expr, int] | None:
    """The integer column that a condition bounds, whether from above, by what, and what is added to make the bound one
    of the integers."""
    if not isinstance(conjunct, Binary) or conjunct.op not in ("<", "<=", ">", ">="):
        return None
    for one, other, upper in ((conjunct.left, conjunct.right, True), (conjunct.right, conjunct.left, False)):
        column = bare_column(one)
        if column is None or column.type.kind not in INTEGER_KINDS or not _is_computed_integer(other):
            continue
        upper = upper == conjunct.op.startswith("<")
        step = 0 if len(conjunct.op) == 2 else -1 if upper else 1
        return column, upper, other, step
    return None


def _is_computed_integer(expr: Expr) -> bool:
    """Whether an expression is an integer that hangs on no row, and that is the same for all."""
    if expr.type.kind not in INTEGER_KINDS:
        return False
    match expr:
        case Const() | Param() | Variable():
            return True
        case Binary(op, left, right):
            return op in ("+", "-") and _is_computed_integer(left) and _is_computed_integer(right)
        case Cast(operand):
            return _is_computed_integer(operand)
    return False


def access_path(
    where: Expr | None, dialect: Dialect, *, offset: int = 0, width: int | None = None, may_raise: bool = False
) -> AccessPath | None:
    """The lookup that a condition allows, or None for a scan.

    The table's columns stand at `offset` .. `offset + width` of the environment row (width None: to the end). Keys
    read only columns below `offset`, parameters, variables and constants, and never raise. With `may_raise` calls of
    functions that give a statement one answer are keys, too, where nothing else is.
    """
    path = _lookup(where, dialect, offset, width, calls=False)
    return _lookup(where, dialect, offset, width, calls=True) if path is None and may_raise else path


def _lookup(where: Expr | None, dialect: Dialect, offset: int, width: int | None, *, calls: bool) -> AccessPath | None:
    end = None if width is None else offset + width
    found: dict[int, Expr] = {}
    padded = False
    for conjunct in conjuncts(where):
        for column, key in _equalities(conjunct):
            position = column.index
            if position < offset or (end is not None and position >= end) or position - offset in found:
                continue
            called = calls and not columns_read(key) and answers_once(key) and _compares(column, key, dialect)
            if called or _usable(column, key, offset, dialect):
                found[position - offset] = _normalized(column, key)
                padded = padded or column.type.padded
    if not found:
        return None
    positions = tuple(sorted(found))
    return AccessPath(positions, tuple(found[position] for position in positions), padded, calls)


def equations(conjunct: Expr, dialect: Dialect) -> list[tuple[Column, Expr]]:
    """The columns that a condition equates with something that a lookup can use where it is known."""
    return [
        (column, key) for column, key in _equalities(conjunct) if not can_raise(key) and _compares(column, key, dialect)
    ]


def _equalities(conjunct: Expr) -> list[tuple[Column, Expr]]:
    if isinstance(conjunct, InList) and not conjunct.negated and len(conjunct.items) == 1:
        conjunct = Binary("=", conjunct.operand, conjunct.items[0], conjunct.type)
    if not isinstance(conjunct, Binary) or conjunct.op != "=":
        return []
    pairs = []
    for one, other in (
        (conjunct.left, conjunct.right),
        (conjunct.right, conjunct.left),
    ):
        column = bare_column(one)
        if column is not None:
            pairs.append((column, other))
    return pairs


def bare_column(expr: Expr) -> Column | None:
    """The column below casts that keep equality: to a wider integer or to unconstrained NUMERIC, text to text."""
    while isinstance(expr, Cast) and _keeps_equality(expr.operand.type, expr.type):
        expr = expr.operand
    return expr if isinstance(expr, Column) else None


def _keeps_equality(source: SqlType, target: SqlType) -> bool:
    if source.kind in INTEGER_KINDS:
        if target.kind in INTEGER_KINDS:
            (low, high), inside = INTEGER_RANGE[target.kind], INTEGER_RANGE[source.kind]
            return low <= inside[0] and inside[1] <= high
        return target.kind is Kind.NUMERIC and target.precision is None
    if source.kind is Kind.NUMERIC:
        return target.kind is Kind.NUMERIC and target.precision is None
    return source.kind is target.kind is Kind.TEXT and target.length is None and not target.padded


def _usable(column: Column, key: Expr, offset: int, dialect: Dialect) -> bool:
    if any(position >= offset for position in columns_read(key)) or can_raise(key):
        return False
    return _compares(column, key, dialect)


def _compares(column: Column, key: Expr, dialect: Dialect) -> bool:
    """Whether equality of Python values is SQL equality of the column and the key."""
    kinds = {column.type.kind, key.type.kind}
    if any(sort_key(kind) is not None for kind in kinds):
        return False
    if Kind.TEXT in kinds:
        return equal_by_code_points(common_rule((column.type, key.type), text_rule(dialect))) and kinds <= {
            Kind.TEXT,
            Kind.NULL,
        }
    return True


def _normalized(column: Column, key: Expr) -> Expr:
    """A literal or parameter beside CHAR(n) loses its trailing blanks, as the stored values have."""
    if column.type.padded and not key.type.padded and isinstance(key, (Const, Param)):
        return Cast(key, SqlType(Kind.TEXT, padded=True))
    return key
