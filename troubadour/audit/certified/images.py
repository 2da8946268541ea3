"""Rows of the write-ahead log held against those that the transactions of a witness write, as replay places them (Emme
§5.3). Does not know which of the two is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sql_semantics.ir.schema import Table
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Row
from troubadour.audit.explain import name, value_text
from troubadour.model.certificate import RowChange
from troubadour.model.log import LogError, TransactionId
from troubadour.model.values import read_value
from troubadour.replay import Replay


def image_mismatch(replay: Replay, identifier: TransactionId, changes: Sequence[RowChange]) -> str | None:
    """The first row whose image in the write-ahead log is not what the transaction placed last wrote; None where all
    agree. The last image of a row counts, where a transaction changed it more than once."""
    tables = replay.catalog.tables
    images: dict[tuple[str, tuple[Value, ...]], RowChange] = {}
    for change in changes:
        table = tables.get(change.table)
        if table is None:
            continue
        if change.kind == "truncate":
            return None  # which rows it took is not told
        key = _key(table, change.new if change.new is not None else change.old)
        if key is None:
            return None
        if change.old is not None and change.kind == "update":
            former = _key(table, change.old)
            if former is not None and former != key:
                images.pop((change.table, former), None)
        images[change.table, key] = change
    author = name(identifier)
    for table_name, rows in replay.written.items():
        table = tables[table_name]
        positions = _identity(table)
        for values in rows.values():
            if values is None:
                continue
            found = images.pop((table_name, tuple(values[place] for place in positions)), None)
            text = _compare(table, values, found)
            if text is not None:
                return f"{author}: {text}"
    for (table_name, key), change in images.items():
        if change.kind != "delete" and not _was_same(replay, tables[table_name], key, change):
            shown = _shown(change.new)
            return f"{author}: the write-ahead log has a row of {table_name}, {shown}, that it did not write"
    return None


def _compare(table: Table, values: Row, change: RowChange | None) -> str | None:
    shown = _row_text(table, values)
    if change is None:
        return f"its write of {shown} is not in the write-ahead log"
    if change.new is None:
        return f"it wrote {shown}, and the write-ahead log has it deleted"
    for column, value in zip(table.columns, values, strict=True):
        if column.name not in change.new:
            continue
        image = _value(change.new[column.name], column.type)
        if image != value and (image == image or value == value):  # NaN is NaN
            return f"{column.name} of {shown} is {value_text(value)}, and {value_text(image)} in the write-ahead log"
    return None


def _was_same(replay: Replay, table: Table, key: tuple[Value, ...], change: RowChange) -> bool:
    """Whether an image is of a row that the transaction left as it was: such an update writes nothing here."""
    stored = replay.store.tables[table.name]
    for row in stored.holding(_identity(table), key):
        return _compare(table, stored.newest[row], change) is None
    # inserted and deleted again, or unknown
    return change.new is None


def _row_text(table: Table, values: Row) -> str:
    key = ", ".join(f"{table.columns[place].name}={value_text(values[place])}" for place in _identity(table)[:8])
    return f"{table.name}({key})"


def _identity(table: Table) -> tuple[int, ...]:
    return tuple(table.keys[0].columns) if table.keys else tuple(range(len(table.columns)))


def _key(table: Table, row: Mapping[str, Any] | None) -> tuple[Value, ...] | None:
    if row is None:
        return None
    columns = [table.columns[place] for place in _identity(table)]
    if any(column.name not in row for column in columns):
        return None
    return tuple(_value(row[column.name], column.type) for column in columns)


def _value(image: Any, type: SqlType) -> Value:
    try:
        value = read_value(image, type, stored=True)
    except ValueError as error:
        raise LogError(f"certificate: {error}") from error
    return value.rstrip(" ") if type.padded and isinstance(value, str) else value


def _shown(row: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{column}={value_text(value)}" for column, value in (row or {}).items())
