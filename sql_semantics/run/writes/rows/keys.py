"""What a key makes of a row, and which rows stand in the way of a new one (PostgreSQL 11.6 to 11.8).

Made once per table; a row that a key does not constrain (NULL in a column, a partial index) has no value under it.
Does not know which state the rows in the way come from: `View.rivals` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sql_semantics.ir.expressions import Column
from sql_semantics.ir.schema import Table, Unique
from sql_semantics.records import dataclass
from sql_semantics.run.expressions.expressions import compile_predicate, compile_row
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import equal_by_code_points, rule_of, text_equality, text_rule
from sql_semantics.values.types import Kind, SqlType, Value
from sql_semantics.view import Row, RowId, View

KeyValue = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table, compiled.

    `value` is what a row has under it, None where it is not constrained; `equal` compares two values (and raises
    Unsupported where that hangs on an unknown collation). `columns` are the columns that a lookup may use: () where
    equal rows need not be equal there as Python values.
    """

    unique: Unique
    columns: tuple[int, ...]
    value: Callable[[Row], KeyValue | None]
    equal: Callable[[KeyValue, KeyValue], bool]


def compile_keys(table: Table, dialect: Dialect) -> tuple[Key, ...]:
    """The table's keys, in its order."""
    return tuple(_compile_key(key, table, dialect) for key in table.keys)


def _compile_key(key: Unique, table: Table, dialect: Dialect) -> Key:
    parts = key.parts or tuple(
        Column(place, table.columns[place].type, table.columns[place].name) for place in key.columns
    )
    types = [part.type for part in parts]
    equal, same = compile_equality(types, dialect)
    columns = key.columns if key.plain and same else ()
    if not key.parts and key.where is None:
        positions, nulls_equal = key.columns, key.nulls_equal

        def plain(row: Row) -> KeyValue | None:
            value = tuple([row[position] for position in positions])
            return None if None in value and not nulls_equal else value

        return Key(key, columns, plain, equal)
    evaluate = compile_row(parts, dialect)
    test = None if key.where is None else compile_predicate(key.where, dialect)

    def computed(row: Row) -> KeyValue | None:
        if test is not None and not test(row, (), []):
            return None
        value = evaluate(row, (), [])
        return None if None in value and not key.nulls_equal else value

    return Key(key, columns, computed, equal)


def _same(left: KeyValue, right: KeyValue) -> bool:
    return left == right


def compile_equality(types: Sequence[SqlType], dialect: Dialect) -> tuple[Callable[[KeyValue, KeyValue], bool], bool]:
    """How values of these types compare, and whether that is equality of Python values."""
    rules = [rule_of(type_, text_rule(dialect)) for type_ in types]
    if not any(
        type_.kind is Kind.TEXT and not equal_by_code_points(rule) for type_, rule in zip(types, rules, strict=True)
    ):
        return _same, True
    equalities = [text_equality(rule) for rule in rules]

    def equal(left: KeyValue, right: KeyValue) -> bool:
        for one, other, texts_equal in zip(left, right, equalities, strict=True):
            if isinstance(one, str) and isinstance(other, str):
                if not texts_equal(one, other):
                    return False
            elif one != other:
                return False
        return True

    return equal, False


def rivals(view: View, table: str, key: Key, row: Row, *, writing: bool = False) -> Iterator[tuple[RowId, Row]]:
    """The rows that have the row's value under a key, as constraints meet them; with `writing` as they are when they
    are written over."""
    mine = key.value(row)
    if mine is None:
        return
    meet = view.held if writing and view.rechecks else view.rivals
    found = meet(table, key.columns, mine) if key.columns else meet(table, (), ())
    for identity, other in found:
        theirs = key.value(other)
        if theirs is not None and key.equal(mine, theirs):
            yield identity, other


def is_visible(view: View, table: str, key: Key, identity: RowId, row: Row) -> bool:
    """Whether a row that a constraint met is one that the statement reads, in the same version."""
    mine = key.value(row)
    seen = view.lookup(table, key.columns, mine) if key.columns and mine is not None else view.scan(table)
    return any(other == identity and values == row for other, values in seen)
