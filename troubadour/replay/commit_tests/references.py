"""Foreign keys in the state that a transaction's writes made, and what SQLite makes up for.

Its own plain transcription; what the search has stands in `execution.invariants`. Does not know where they are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.ir.schema import Catalog, ForeignKey
from sql_semantics.view import Row
from troubadour.replay.store import RowName, StoredTable, Writes

Gone = Mapping[str, Mapping[RowName, Row]]
"""Per table, the rows that writes replaced, as they had been."""
DANGLING = "references that found no row before, beside one that finds none"
"""What SQLite commits all the same: it counts references that find nothing, up and down."""


def dangling(
    tables: Mapping[str, StoredTable], catalog: Catalog, gone: Gone, writes: Writes
) -> tuple[str, RowName, str] | None:
    """(table, row, parent) where a row of the newest state, which `writes` made, refers to a row that it does not have
    and had not done so before."""
    for table, rows in writes.items():
        for key in tables[table].schema.foreign_keys:
            for name, values in rows.items():
                old = gone[table].get(name)
                if values is None or (old is not None and _of(old, key.columns) == _of(values, key.columns)):
                    continue
                if not _is_found(tables, key, _of(values, key.columns)):
                    return table, name, key.parent
    for table, olds in gone.items():
        for child, key in catalog.references_to(table):
            for value in {_of(old, key.parent_columns) for old in olds.values()}:
                for name in tables[child.name].holding(key.columns, value):
                    if not _is_found(tables, key, value):
                        return child.name, name, table
    return None


def mends(tables: Mapping[str, StoredTable], catalog: Catalog, gone: Gone, writes: Writes) -> bool:
    """Whether references that found nothing before `writes` are taken away by them, or find a row now."""
    for table, olds in gone.items():
        for key in tables[table].schema.foreign_keys:
            if any(not _was_found(tables, key, _of(old, key.columns), gone, writes) for old in olds.values()):
                return True
    for table, rows in writes.items():
        for child, key in catalog.references_to(table):
            made = {_of(values, key.parent_columns) for values in rows.values() if values is not None}
            for value in made:
                old = any(_of(row, key.columns) == value for row in gone.get(child.name, {}).values())
                held = tables[child.name].holding(key.columns, value)
                still = any(name not in writes.get(child.name, {}) for name in held)
                if (old or still) and not _was_found(tables, key, value, gone, writes):
                    return True
    return False


def _is_found(tables: Mapping[str, StoredTable], key: ForeignKey, value: Row) -> bool:
    return None in value or tables[key.parent].held(key.parent_columns, value)


def _was_found(tables: Mapping[str, StoredTable], key: ForeignKey, value: Row, gone: Gone, writes: Writes) -> bool:
    """Whether a reference found its row before the writes."""
    if None in value or any(_of(row, key.parent_columns) == value for row in gone.get(key.parent, {}).values()):
        return True
    held = tables[key.parent].holding(key.parent_columns, value)
    return any(name not in writes.get(key.parent, {}) for name in held)


def _of(row: Row, columns: tuple[int, ...]) -> Row:
    return tuple([row[column] for column in columns])
