"""Where a certificate and the answers part: the first statement whose answer its own read state does not give (Emme §3,
*result set mismatch*), and the first row that the write-ahead log has otherwise than its transaction writes it.

Does not know which of the two lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sql_semantics.ir.schema import Table
from sql_semantics.values.types import SqlType, Value
from troubadour.audit.explain import name, row_text, value_text
from troubadour.execution.states.history import RowHistory
from troubadour.model.certificate import RowChange
from troubadour.model.log import LogError
from troubadour.model.values import read_value
from troubadour.search.problem.problem import Problem
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.trace import Trace

_CONTRADICTS = frozenset({"time", "real-time", "order", "reads"})
"""Conditions under which it is not an answer that does not fit, but the certificate to what clients saw of time."""


def mismatch(problem: Problem, failure: Failure) -> str:
    """Why a transaction does not run as certified, in a line."""
    transaction = name(problem.transaction(failure.item).id)
    if failure.condition in _CONTRADICTS:
        return f"the certificate contradicts the clients' times: {transaction}: {failure.text}"
    if failure.statement is None:
        return f"{transaction} on the state that it read by the certificate: {failure.text}"
    sql = " ".join(problem.transaction(failure.item).statements[failure.statement].sql.split())
    shown = sql if len(sql) <= 80 else f"{sql[:77]}..."
    return (
        f"statement {failure.statement + 1} of {transaction} ({shown}) on the state that it read by the certificate: "
        f"{failure.text}"
    )


def image_mismatch(
    problem: Problem, trace: Trace, item: int, position: int, changes: Sequence[RowChange]
) -> str | None:
    """The first row whose image in the write-ahead log is not what the transaction's own statements wrote; None where
    all agree. The last image of a row counts, where a transaction changed it more than once."""
    written = {row: row.at(position) for row in trace.states.written_at(position)}
    tables = problem.library.catalog.tables
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
    author = name(problem.transaction(item).id)
    for row, version in written.items():
        table = tables[row.table]
        if not isinstance(version, tuple):
            continue
        positions = _identity(table)
        found = images.pop((row.table, tuple(version[place] for place in positions)), None)
        text = _compare(trace, table, row, version, found)
        if text is not None:
            return f"{author}: {text}"
    for (table_name, key), change in images.items():
        if change.kind != "delete" and not _was_same(trace, tables[table_name], key, position, change):
            shown = _shown(change.new)
            return f"{author}: the write-ahead log has a row of {table_name}, {shown}, that it did not write"
    return None


def _compare(
    trace: Trace, table: Table, row: RowHistory, version: tuple[Value, ...], change: RowChange | None
) -> str | None:
    shown = row_text(trace, row, version)
    if change is None:
        return f"its write of {shown} is not in the write-ahead log"
    if change.new is None:
        return f"it wrote {shown}, and the write-ahead log has it deleted"
    for column, value in zip(table.columns, version, strict=True):
        if column.name not in change.new:
            continue
        image = _value(change.new[column.name], column.type)
        if image != value:
            return f"{column.name} of {shown} is {value_text(value)}, and {value_text(image)} in the write-ahead log"
    return None


def _was_same(trace: Trace, table: Table, key: tuple[Value, ...], position: int, change: RowChange) -> bool:
    """Whether an image is of a row that the transaction left as it was: such an update writes nothing here."""
    positions = _identity(table)
    for row in trace.states.tables[table.name].bucket(positions, key):
        version = row.at(position)
        if isinstance(version, tuple) and tuple(version[place] for place in positions) == key:
            return _compare(trace, table, row, version, change) is None
    # inserted and deleted again, or unknown
    return change.new is None


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
    except LogError as error:
        raise LogError(f"certificate: {error}") from error
    return value.rstrip(" ") if type.padded and isinstance(value, str) else value


def _shown(row: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{column}={value_text(value)}" for column, value in (row or {}).items())
