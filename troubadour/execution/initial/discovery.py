"""Rows of an unknown initial state, by the keys that the log names.

A table whose initial rows are unknown may have had a row for every key that a statement looks up or shows; each is
there or not, with columns that may hold anything. Keys that nothing names are left out: of a statement that could
have met such rows too, the answer proves nothing (see `told_by`). Does not know which rows there were.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Protocol, cast
from uuid import UUID

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.records import dataclass, field
from sql_semantics.terms import Assignment, Guard, Leaf, Scalar, Term, atom, evaluate, evaluate_guard, items_of, neg
from sql_semantics.values.types import INTEGER_RANGE, Kind, SqlType, Value
from sql_semantics.view import Row
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import Guarded, SymbolicRow, Version, alternatives_of

Columns = tuple[int, ...]
InitialRows = Mapping[str, Sequence[Row | None]]
"""Per table, the initial rows by their number; None: there was no such row."""

_PLAIN: Mapping[Kind, type] = {
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.DATE: date,
    Kind.TIME: time,
    Kind.TIMESTAMP: datetime,
    Kind.TIMESTAMPTZ: datetime,
    Kind.UUID: UUID,
}


@dataclass(slots=True)
class Discovery:
    """The rows that the tables in `unknown` may have had initially, numbered as they are found. What is found stays,
    for all state maps made from it."""

    tables: Mapping[str, Table]
    unknown: Collection[str]
    _rows: dict[str, list[tuple[Columns, tuple[Value, ...]]]] = field(default_factory=dict)
    _numbers: dict[tuple[str, Columns, tuple[Value, ...]], int] = field(default_factory=dict)
    _versions: dict[tuple[str, int], Guarded] = field(default_factory=dict)
    _keys: dict[str, list[Columns]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.unknown:
            if any(column.generated is not None for column in self.tables[name].columns):
                raise Unsupported(f"unknown initial rows of {name}, which has generated columns")
            self._rows[name] = []

    def count(self, table: str) -> int:
        """How many rows of a table were found so far."""
        return len(self._rows[table])

    @property
    def total(self) -> int:
        """How many rows were found so far."""
        return len(self._numbers)

    def keys(self, table: str) -> list[Columns]:
        """The keys that identify rows, a primary one first."""
        known = self._keys.get(table)
        if known is None:
            found = sorted((key for key in self.tables[table].keys if key.plain), key=lambda key: not key.primary)
            known = self._keys[table] = [key.columns for key in found]
        return known

    def covers(self, table: str, columns: Collection[int]) -> bool:
        """Whether values of these columns identify a row."""
        return any(set(key) <= set(columns) for key in self.keys(table))

    def find(self, table: str, columns: Sequence[int], values: Sequence[Value]) -> None:
        """Note the row with these values, if they identify one; NULL and values that the columns cannot hold are in no
        such row."""
        for key in self.keys(table):
            if not set(key) <= set(columns):
                continue
            held = [_held(values[columns.index(column)], self.tables[table].columns[column].type) for column in key]
            if None not in held:
                name = (table, key, tuple(held))
                if name not in self._numbers:
                    self._numbers[name] = len(self._rows[table])
                    self._rows[table].append((key, tuple(held)))
            return

    def version(self, table: str, number: int) -> Guarded:
        """What a row found may have been: its key, and anything in the other columns; or no row."""
        known = self._versions.get((table, number))
        if known is None:
            key, held = self._rows[table][number]
            name = ("initial", table, number)
            values: SymbolicRow = tuple(
                held[key.index(place)] if place in key else unknown_value((*name, place), column.type, column.not_null)
                for place, column in enumerate(self.tables[table].columns)
            )
            exists = atom(name)
            known = self._versions[table, number] = Guarded(((exists, values), (neg(exists), None)))
        return known


class Told(Assignment, Protocol):
    """An assignment that need not say everything."""

    def mentions(self, scalar: Scalar) -> bool:
        """Whether anything is said of a scalar's unknowns."""


class Partial(Told, Protocol):
    """An assignment that tells what it says something of."""

    def decides(self, key: Hashable) -> bool:
        """Whether anything is said of the atom or unknown with this key."""


class Supplemented:
    """What an assignment says, and of initial rows of which it says nothing what they are taken to be (`Told`)."""

    def __init__(self, model: Partial, rows: InitialRows) -> None:
        self._model = model
        self._rows = rows

    def _taken(self, table: str, number: int) -> Row | None:
        rows = self._rows.get(table, ())
        return rows[number] if number < len(rows) else None

    def holds(self, key: Hashable) -> bool:
        """See `Assignment`."""
        if not self._model.decides(key):
            match key:
                case ("initial", str(table), int(number)):
                    return self._taken(table, number) is not None
                case ("null", "initial", str(table), int(number), int(place)):
                    row = self._taken(table, number)
                    return row is not None and row[place] is None
        return self._model.holds(key)

    def value(self, key: Hashable) -> Value:
        """See `Assignment`."""
        match key:
            case ("value", "initial", str(table), int(number), int(place)) if not self._model.decides(key):
                row = self._taken(table, number)
                if row is not None:
                    return row[place]
        return self._model.value(key)

    def mentions(self, scalar: Scalar) -> bool:
        """Whether anything is said of a scalar's unknowns."""
        return self._model.mentions(scalar) or all(map(self._is_taken, items_of(scalar)))

    def _is_taken(self, item: tuple[Guard, Leaf]) -> bool:
        match item[1]:
            case Term(op="var", args=(("value", "initial", str(table), int(number), int()),)):
                return self._taken(table, number) is not None
            case Term():
                return False
        return True


def row_in_model(version: Version, model: Told, schema: Table, number: int) -> Row | None:
    """An initial row in a model; columns of which the model says nothing differ from row to row."""
    for guard, values in alternatives_of(version):
        if evaluate_guard(guard, model):
            if values is None:
                return None
            return tuple(
                _value(value, model, column.type, number) for value, column in zip(values, schema.columns, strict=True)
            )
    return None


def complete_references(rows: Mapping[str, list[Row | None]], known: InitialRows, catalog: Catalog) -> None:
    """Add the rows that foreign keys of these rows refer to and that nothing names."""
    pending = [(name, row) for name, held in rows.items() for row in held]
    while pending:
        name, row = pending.pop()
        if row is None:
            continue
        for key in catalog.tables[name].foreign_keys:
            wanted = tuple([row[column] for column in key.columns])
            parents = rows.get(key.parent, known.get(key.parent, ()))
            there = {tuple([parent[c] for c in key.parent_columns]) for parent in parents if parent is not None}
            if None not in wanted and wanted not in there and key.parent in rows:
                schema, number = catalog.tables[key.parent], len(rows[key.parent])
                values = dict(zip(key.parent_columns, wanted, strict=True))
                parent = tuple(
                    values.get(place, _anything(column.type, number) if column.not_null else None)
                    for place, column in enumerate(schema.columns)
                )
                rows[key.parent].append(parent)
                pending.append((key.parent, parent))


def _value(scalar: Scalar, model: Told, type: SqlType, number: int) -> Value:
    value = evaluate(scalar, model)
    return value if value is None or model.mentions(scalar) else _anything(type, number)


def _anything(type: SqlType, number: int) -> Value:
    """Some value of a type, another one for another number as far as the type has them."""
    if type.kind in INTEGER_RANGE:
        return number % INTEGER_RANGE[type.kind][1]
    match type.kind:
        case Kind.NUMERIC:
            digits = (type.precision or 28) - (type.scale or 0)
            return Decimal(number % 10**digits).scaleb(0 if digits else -(type.scale or 0))
        case Kind.TEXT:
            return str(number)[: type.length]
        case Kind.BOOLEAN:
            return False
        case Kind.REAL | Kind.DOUBLE:
            return float(number)
        case Kind.DATE:
            return date.fromordinal(1 + number)
        case Kind.TIME:
            return time()
        case Kind.TIMESTAMP:
            return datetime(2000, 1, 1) + timedelta(seconds=number)
        case Kind.TIMESTAMPTZ:
            return datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        case Kind.UUID:
            return UUID(int=number)
    if type.family is not None:
        return cast(Value, type.family.another(number))
    raise Unsupported(f"an unknown initial value of type {type}")


def _held(value: Value, type: SqlType) -> Value:
    """The value as a column of the type has it; None where it cannot have it."""
    if type.kind in INTEGER_RANGE:
        low, high = INTEGER_RANGE[type.kind]
        if isinstance(value, Decimal) and value == value.to_integral_value():
            value = int(value)
        inside = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return value if inside else None
    if type.kind is Kind.NUMERIC and isinstance(value, int | Decimal):
        return Decimal(value)
    expected = _PLAIN.get(type.kind)
    if expected is None:
        raise Unsupported(f"unknown initial rows with a key of type {type}")
    if type.padded and isinstance(value, str):
        value = value.rstrip(" ")
    if isinstance(value, str) and type.length is not None and len(value) > type.length:
        return None
    return value if isinstance(value, expected) else None
