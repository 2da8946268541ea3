"""What holds in every state: no two rows of a table share a key, and foreign keys find their rows.

Concrete, for the state that a transaction's writes would make. Does not know when a statement is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.ir.definitions import EXISTING
from sql_semantics.ir.schema import ForeignKey, Table
from sql_semantics.library import SqlLibrary
from sql_semantics.run.writes.rows.keys import Key
from sql_semantics.values.types import Value
from sql_semantics.view import Row
from troubadour.execution.free.choices import OpenRead
from troubadour.execution.prepared import AtCommit
from troubadour.execution.states.history import Guarded, RowHistory, Version
from troubadour.execution.states.state_map import StateMap

Writes = Mapping[RowHistory, "Row | None"]


class _Written:
    """The rows that a transaction leaves, found by a key's value as rows in a state are: a statement that inserts
    thousands would otherwise compare each with each."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes
        self._found: dict[tuple[str, object], dict[object, list[RowHistory]]] = {}

    def rows(self, table: str, name: object, value: Callable[[Row], object], wanted: object) -> Sequence[RowHistory]:
        """The table's rows whose `value`, which `name` tells from others, is the one that is wanted."""
        index = self._found.get((table, name))
        if index is None:
            index = self._found[table, name] = {}
            for row, values in self._writes.items():
                if values is not None and row.table == table:
                    index.setdefault(value(values), []).append(row)
        return index.get(wanted, ())


def broken_invariant(
    states: StateMap, writes: Writes, library: SqlLibrary, references: AtCommit = "kept"
) -> tuple[RowHistory, str] | None:
    """(a row, what is wrong with it) where the newest state overwritten by `writes` breaks a key;
    None where it does not. Raises OpenRead where that hangs on a row that is symbolic there, Unsupported where it
    cannot be told."""
    written = _Written(writes)
    for row, values in writes.items():
        if values is not None:
            text = _rival(states, row, values, writes, written, library.keys[row.table])
            if text is not None and row.table == EXISTING:
                names = {(table.number,): name for name, table in library.catalog.transient.items()}
                text = f"{names[values]} would be created twice"  # type: ignore[index]
            if text is not None:
                return row, text
    if references == "ignored":
        return None
    for row, child, key, values in _referring(states, writes, written, library):
        if not _finds_parent(states, writes, written, key, values):
            if references == "loose" or (
                library.dialect.rules.running.counts_dangling and _mends(states, writes, library)
            ):
                raise Unsupported(DANGLING)
            shown = ", ".join(str(values[column]) for column in key.columns)
            return row, f"{row.address} of {child.name} would refer to no row of {key.parent} ({shown})"
    return None


DANGLING = "references that found no row before, beside one that finds none"
"""SQLite counts references that find nothing, up and down: one that found nothing before makes up for one."""


def _mends(states: StateMap, writes: Writes, library: SqlLibrary) -> bool:
    """Whether references that found no row before are taken away, or find one now."""
    nothing = _Written({})
    for row, values in writes.items():
        last = _concrete(row, row.at(states.length)) if row.positions else None
        if last is not None and any(
            not _finds_parent(states, {}, nothing, key, last) for key in states.tables[row.table].schema.foreign_keys
        ):
            return True
        for child, key in () if values is None else library.catalog.references_to(row.table):
            assert values is not None
            made = _value(values, key.parent_columns)
            if last is not None and _value(last, key.parent_columns) == made:
                continue
            for other in _candidates(states, child.name, key.columns, made, nothing):
                theirs = _concrete(other, other.at(states.length))
                if theirs is None or _value(theirs, key.columns) != made:
                    continue
                if not _finds_parent(states, {}, nothing, key, theirs):
                    return True
    return False


def _rival(
    states: StateMap, row: RowHistory, values: Row, writes: Writes, written: _Written, keys: tuple[Key, ...]
) -> str | None:
    table = states.tables[row.table]
    last = row.at(states.length) if row.positions else None
    for number, key in enumerate(keys):
        mine = key.value(values)
        if mine is None or (isinstance(last, tuple) and key.value(last) == mine):
            continue
        columns = key.unique.columns
        usable = key.unique.plain and states.is_indexable(row.table, columns)
        newest = states.length
        others = table.lately(columns, mine, newest, newest)[0] if usable else table.all_lately(newest, newest)
        for other in [*others, *written.rows(row.table, number, key.value, mine)]:
            if other is row:
                continue
            theirs = _concrete(other, _after(states, other, writes))
            if theirs is not None and key.value(theirs) == mine:
                shown = ", ".join(map(str, mine))
                return f"two rows of {row.table} would have {key.unique.name} ({shown})"
    return None


def _after(states: StateMap, row: RowHistory, writes: Writes) -> Version:
    return writes[row] if row in writes else row.at(states.length)


def _referring(
    states: StateMap, writes: Writes, written: _Written, library: SqlLibrary
) -> Iterator[tuple[RowHistory, Table, ForeignKey, Row]]:
    """The rows whose reference is new, or whose parent may be gone."""
    catalog = library.catalog
    if not library.has_references:
        return
    for row, values in writes.items():
        last = row.at(states.length) if row.positions else None
        table = states.tables[row.table].schema
        if values is not None:
            for key in table.foreign_keys:
                if not isinstance(last, tuple) or _value(last, key.columns) != _value(values, key.columns):
                    yield row, table, key, values
        if not isinstance(last, tuple):
            continue
        for child, key in catalog.references_to(row.table):
            before = _value(last, key.parent_columns)
            if values is not None and _value(values, key.parent_columns) == before:
                continue
            for other in _candidates(states, child.name, key.columns, before, written):
                theirs = _concrete(other, _after(states, other, writes))
                if theirs is not None and _value(theirs, key.columns) == before:
                    yield other, child, key, theirs


def _finds_parent(states: StateMap, writes: Writes, written: _Written, key: ForeignKey, values: Row) -> bool:
    wanted = _value(values, key.columns)
    if None in wanted:
        return True
    symbolic: RowHistory | None = None
    for other in _candidates(states, key.parent, key.parent_columns, wanted, written):
        theirs = _after(states, other, writes)
        if isinstance(theirs, Guarded):
            symbolic = other
        elif theirs is not None and _value(theirs, key.parent_columns) == wanted:
            return True
    if symbolic is not None:
        raise OpenRead(symbolic)
    return False


def _concrete(row: RowHistory, version: Version) -> Row | None:
    if isinstance(version, Guarded):
        raise OpenRead(row)
    return version


def _candidates(
    states: StateMap, table: str, columns: tuple[int, ...], value: tuple[Value, ...], written: _Written
) -> Iterator[RowHistory]:
    history, newest = states.tables[table], states.length
    if states.is_indexable(table, columns):
        yield from history.lately(columns, value, newest, newest)[0]
    else:
        yield from history.all_lately(newest, newest)
    yield from written.rows(table, columns, lambda row: _value(row, columns), value)


def _value(row: Row, columns: tuple[int, ...]) -> tuple[Value, ...]:
    return tuple([row[column] for column in columns])
