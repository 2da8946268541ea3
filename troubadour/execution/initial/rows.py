"""State 0: the initial rows of a log as SQL values (paper §4.1, the initial state).

Does not know who reads them. A row's identity is its place among its table's rows, ``table:-:ordinal``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import EXISTING
from sql_semantics.ir.schema import Catalog, ForeignKey, Table
from sql_semantics.ir.walks.traverse import has_free
from sql_semantics.library import SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.run import compile_row
from sql_semantics.run.writes.rows.stored import compile_generated, compile_stored
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import given_name
from sql_semantics.values.types import FAMILY_KINDS, TEMPORAL_KINDS, Kind, SqlType, Value
from sql_semantics.view import Row
from troubadour.execution.observations.misfits import INCOMPLETE_DATE, OTHER_CLASS
from troubadour.execution.observations.observation import lacks_parts
from troubadour.model.log import InitialTable, JsonValue, Log, LogError
from troubadour.model.values import NO_DECIMALS, read_value


def initial_state(log: Log, library: SqlLibrary, assumed: Sequence[InitialTable] | None = None) -> dict[str, list[Row]]:
    """The rows of every table of the schema, in the log's order; a table named nowhere is empty. `assumed` are rows of
    the tables whose rows the log calls unknown.

    Raises LogError for a table or column that the schema does not have, a value that does not fit its column, NULL in
    a NOT NULL column, or two rows with one key, and for assumed rows that the table could not hold; Unsupported where
    the log says that initial rows are unknown and none are assumed.
    """
    hidden = log.header.initial_unknown
    if hidden and assumed is None:
        raise Unsupported(f"unknown initial state of {', '.join(hidden)}")
    state = known_rows(log, library)
    unknown = unknown_tables(log, library)
    for entry in assumed or ():
        table = library.catalog.tables.get(_table_name(entry.table, library))
        if table is None or table.name not in unknown:
            raise LogError(f"assumed initial rows of {entry.table!r}: the log does not call them unknown")
        rows = _rows(entry, table, library)
        state[table.name].extend(rows)
        _check_stored(table, rows, library)
    for name in unknown:
        _check_keys(library.catalog.tables[name], state[name], library)
    if unknown:
        _check_references(state, library)
    return state


def unknown_tables(log: Log, library: SqlLibrary) -> tuple[str, ...]:
    """The tables whose initial rows the log calls unknown. Raises LogError for one that the schema does not have."""
    found: list[str] = []
    for name in log.header.initial_unknown:
        known = _table_name(name, library)
        table = library.catalog.tables.get(known)
        if table is None or table.query is not None:
            raise LogError(f"initial rows of {name!r}: the schema has no such table")
        transient = library.catalog.transient.get(known)
        if transient is not None:
            raise Unsupported(f"unknown initial rows of {name}, which the log creates or drops")
        found.append(table.name)
    return tuple(found)


def known_rows(log: Log, library: SqlLibrary) -> dict[str, list[Row]]:
    """The initial rows that the log gives. Raises LogError as `initial_state` does."""
    tables = library.catalog.tables
    state: dict[str, list[Row]] = {name: [] for name in tables}
    for entry in log.header.initial:
        name = _table_name(entry.table, library)
        table = tables.get(name)
        transient = library.catalog.transient.get(name)
        if table is None or table.query is not None or (transient is not None and not transient.initially):
            raise LogError(f"initial rows of {entry.table!r}: the schema has no such table")
        if table.refused:
            continue  # no statement that uses it is modelled
        state[table.name].extend(_rows(entry, table, library))
    for transient in library.catalog.transient.values():
        if transient.initially:
            state[EXISTING].append((transient.number,))
    for name, rows in state.items():
        _check_keys(tables[name], rows, library)
    return state


def unread_columns(log: Log, library: SqlLibrary) -> dict[tuple[str, str], str]:
    """Columns with an initial value that is not modelled, an array of several dimensions, a NUMERIC that is NaN, a date
    that is infinite or without a month, or in SQLite a value of another class than its column's, by table and name,
    with what of it is not."""
    found: dict[tuple[str, str], str] = {}
    for entry in log.header.initial:
        table = library.catalog.tables.get(_table_name(entry.table, library))
        if table is None or table.query is not None or table.refused:
            continue
        for number, position in enumerate(_positions(entry, table, library.dialect)):
            column = table.columns[position]
            values = (row[number] if number < len(row) else None for row in entry.rows)
            reason = _unread(values, column.type, library.dialect)
            if reason is not None:
                found[table.name, column.name] = reason
    return found


def _unread(values: Iterable[JsonValue], type: SqlType, dialect: Dialect) -> str | None:
    """What is not modelled of some of these values of a column; None for nothing, or where one is no value of it."""
    rules = dialect.rules.values
    numeric, dated = type.kind is Kind.NUMERIC, type.kind in TEMPORAL_KINDS
    if type.kind not in FAMILY_KINDS and not (numeric or dated or rules.affinities):
        return None
    for value in values:
        if type.kind is _CLASSES.get(value.__class__) or (numeric and not _is_no_decimal(value)):
            continue
        if dated and isinstance(value, str):
            if rules.dates_lack_parts and lacks_parts(value):
                return INCOMPLETE_DATE
            if (_CLOCK if type.kind is Kind.TIME else _MOMENT).fullmatch(value):
                continue
        try:
            read_value(value, type, stored=rules.affinities)
        except Unsupported as error:
            return error.construct
        except ValueError:
            return OTHER_CLASS if rules.affinities else None  # else told when the rows are read
    return None


_MOMENT = pattern(r"\d{4}-\d\d-\d\d(?:[ T][\d:.]*(?:[+-][\d:]+|Z)?)?", re.ASCII)
_CLOCK = pattern(r"\d\d:[\d:.]*", re.ASCII)
"""Moments as nearly all are written, which need no reading to be known for what is modelled."""
_CLASSES = {int: Kind.BIGINT, str: Kind.TEXT}


def _is_no_decimal(value: JsonValue) -> bool:
    return isinstance(value, str) and value in NO_DECIMALS


def _rows(entry: InitialTable, table: Table, library: SqlLibrary) -> list[Row]:
    positions = _positions(entry, table, library.dialect)
    width = len(positions)
    types = [table.columns[position].type for position in positions]
    ordered = positions == list(range(len(table.columns)))
    defaults: Row = () if ordered else _defaults(table, library, positions)
    generated = None if ordered else compile_generated(table, library.dialect)
    rows: list[Row] = []
    for number, json in enumerate(entry.rows, 1):
        if len(json) != width:
            raise LogError(f"initial rows of {table.name!r}, row {number}: {len(json)} values for {width} columns")
        try:
            given = [_stored(value, type) for value, type in zip(json, types, strict=True)]
        except ValueError as error:
            raise LogError(f"initial rows of {table.name!r}, row {number}: {error}") from error
        if ordered:
            row = tuple(given)
        else:
            filled = list(defaults)
            for position, value in zip(positions, given, strict=True):
                filled[position] = value
            row = tuple(filled)
        if generated is not None:
            row = generated(row)
        _check_nulls(table, row, number)
        rows.append(row)
    return rows


def _stored(json: JsonValue, type: SqlType) -> Value:
    """A stored value; CHAR(n) is kept without its trailing blanks, which do not count."""
    value = read_value(json, type, stored=True)
    return value.rstrip(" ") if type.padded and isinstance(value, str) else value


def _table_name(name: str, library: SqlLibrary) -> str:
    """What the catalog calls a table that the log names."""
    return given_name(name, library.catalog.tables, library.dialect, table=True)


def _positions(entry: InitialTable, table: Table, dialect: Dialect) -> list[int]:
    if entry.columns is None:
        return list(range(len(table.columns)))
    positions: list[int] = []
    known = {column.name for column in table.columns}
    for name in entry.columns:
        try:
            position = table.position(given_name(name, known, dialect))
        except KeyError:
            raise LogError(f"initial rows of {table.name!r}: the table has no column {name!r}") from None
        if position in positions:
            raise LogError(f"initial rows of {table.name!r}: column {name!r} is given twice")
        positions.append(position)
    return positions


def _defaults(table: Table, library: SqlLibrary, given: Sequence[int]) -> Row:
    """What columns that are not given hold. Raises LogError for a default that fails, or that the DBMS chooses."""
    values: list[Value] = []
    for position, column in enumerate(table.columns):
        if column.default is None or position in given:
            values.append(None)
            continue
        if has_free(column.default):
            raise LogError(
                f"initial rows of {table.name!r}: column {column.name!r}, which the DBMS fills, is not given"
            )
        evaluate = compile_row((column.default,), library.dialect)
        try:
            values.append(evaluate((), (), [])[0])
        except SqlError as error:
            raise LogError(f"default of {table.name}.{column.name}: {error.message}") from error
    return tuple(values)


def _check_nulls(table: Table, row: Row, number: int) -> None:
    for column, value in zip(table.columns, row, strict=True):
        if value is None and column.not_null:
            raise LogError(f"initial rows of {table.name!r}, row {number}: NULL in column {column.name!r}")


def _check_stored(table: Table, rows: Sequence[Row], library: SqlLibrary) -> None:
    """Whether a table could hold these rows."""
    stored = compile_stored(table, library.dialect)
    for number, row in enumerate(rows, 1):
        try:
            stored(row)
        except SqlError as error:
            raise LogError(f"assumed initial rows of {table.name!r}, row {number}: {error.message}") from error


def _check_references(state: Mapping[str, Sequence[Row]], library: SqlLibrary) -> None:
    """Whether foreign keys find their rows."""
    for table, key, wanted in _dangling(state, library.catalog):
        shown = ", ".join(map(str, wanted))
        raise LogError(f"initial rows of {table.name!r} refer to no row of {key.parent!r} ({shown})")


def dangles(state: Mapping[str, Sequence[Row | None]], catalog: Catalog) -> bool:
    """Whether a row refers to none, as far as the rows of both tables are known."""
    return next(_dangling(state, catalog), None) is not None


def _dangling(state: Mapping[str, Sequence[Row | None]], catalog: Catalog) -> Iterator[tuple[Table, ForeignKey, Row]]:
    """The references that find no row."""
    for table in catalog.tables.values():
        for key in table.foreign_keys:
            if table.name not in state or key.parent not in state:
                continue
            parents = {tuple([row[c] for c in key.parent_columns]) for row in state[key.parent] if row is not None}
            for row in state[table.name]:
                wanted = (None,) if row is None else tuple([row[column] for column in key.columns])
                if None not in wanted and wanted not in parents:
                    yield table, key, wanted


def _check_keys(table: Table, rows: Sequence[Row], library: SqlLibrary) -> None:
    for key in library.keys[table.name]:
        seen: set[Row] = set()
        for number, row in enumerate(rows, 1):
            values = key.value(row)
            if values is None:
                continue
            if values in seen:
                shown = ", ".join(str(value) for value in values)
                raise LogError(f"initial rows of {table.name!r}, row {number}: key ({shown}) is there already")
            seen.add(values)
