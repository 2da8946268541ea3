"""The commit tests as formulas (paper Fig. 7). Does not know how the formulas are decided.

RMR, ROS and NFR cost nothing here: they are the horizon and the sharing of read identities that the execution was
given (§6.4). What is left to say is that the atoms of a read form a chain, that no transaction overwrites unseen
changes, and that keys hold in every state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sql_semantics.ir.schema import Catalog, ForeignKey
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, atom, conj, disj, is_concrete, neg, same
from troubadour.execution.states.history import Guarded, RowHistory, SymbolicRow, Version, WriteMap, alternatives_of
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.guarded import GuardedStates, ReadId, Sees

Alternatives = Iterable[tuple[Guard, SymbolicRow | None]]


def chains(sees: Mapping[ReadId, set[int]]) -> Iterator[Guard]:
    """A read that sees a state sees every older one."""
    for read, positions in sees.items():
        ordered = sorted(positions)
        for older, newer in pairwise(ordered):
            yield disj(neg(atom(Sees(read, newer))), atom(Sees(read, older)))


def rows_equal(left: SymbolicRow | None, right: SymbolicRow | None) -> Guard:
    """Whether two rows are the same, existence included."""
    if left is None or right is None or len(left) != len(right):
        return TRUE if left is right else FALSE
    return conj(*(same(a, b) for a, b in zip(left, right, strict=True)))


def equal(left: Alternatives, right: Alternatives) -> Guard:
    """Whether two guarded rows are the same."""
    others = list(right)
    return disj(*(conj(guard1, guard2, rows_equal(row1, row2)) for guard1, row1 in left for guard2, row2 in others))


def newest(states: StateMap, row: RowHistory) -> list[tuple[Guard, SymbolicRow | None]]:
    """The row in the newest placed state; a row that never existed is deleted."""
    return newest_of(row.versions)


def newest_of(versions: Sequence[Version]) -> list[tuple[Guard, SymbolicRow | None]]:
    """The row after these versions, oldest first."""
    found: list[tuple[Guard, SymbolicRow | None]] = []
    pending = TRUE
    for version in reversed(versions):
        for guard, values in alternatives_of(version):
            found.append((conj(pending, guard), values))
        pending = conj(pending, neg(version.written)) if isinstance(version, Guarded) else FALSE
        if pending is FALSE:
            break
    if pending is not FALSE:
        found.append((pending, None))
    return [item for item in found if item[0] is not FALSE]


def no_write_conflict(states: StateMap, view: GuardedStates, writes: WriteMap) -> Iterator[Guard]:
    """NWC, for each row written: (w = src) or (src = d[k][i-1]), where src is the row in the snapshot."""
    for row, version in writes.items():
        if not row.positions:
            continue
        source = _total(view.snapshot(row))
        last = newest(states, row)
        unchanged = equal(source, last)
        if unchanged is TRUE:
            continue
        written = version.written if isinstance(version, Guarded) else TRUE
        effective = equal(alternatives_of(version), source)
        yield disj(neg(written), effective, unchanged)


def nothing_merged(states: StateMap, view: GuardedStates, writes: WriteMap) -> Iterator[Guard]:
    """That no row which is written changed since the snapshot, whatever is written."""
    for row, version in writes.items():
        unchanged = equal(_total(view.snapshot(row)), newest(states, row)) if row.positions else TRUE
        if unchanged is not TRUE:
            yield disj(neg(version.written if isinstance(version, Guarded) else TRUE), unchanged)


def no_newer_version(states: StateMap, view: GuardedStates, writes: WriteMap) -> Iterator[Guard]:
    """NWC by versions, for each row written: no transaction wrote it, to whatever value, after the snapshot."""
    del states
    for row, version in writes.items():
        written = version.written if isinstance(version, Guarded) else TRUE
        for position, other in zip(row.positions, row.versions, strict=True):
            newer = conj(other.written if isinstance(other, Guarded) else TRUE, neg(view.sees_position(position)))
            if newer is not FALSE:
                yield disj(neg(written), neg(newer))


def _total(alternatives: list[tuple[Guard, SymbolicRow | None]]) -> list[tuple[Guard, SymbolicRow | None]]:
    missing = neg(disj(*(guard for guard, _ in alternatives)))
    return alternatives if missing is FALSE else [*alternatives, (missing, None)]


def keys_hold(states: StateMap, writes: WriteMap) -> Iterator[Guard]:
    """In the state that these writes make, no two rows of a table share a key (every level)."""
    for row, version in writes.items():
        table = states.tables[row.table]
        for key in table.schema.keys:
            if not key.plain:
                # left to the concrete run of whatever is found: asking less admits more
                continue
            mine = list(_keys(alternatives_of(version), key.columns))
            if not mine or _keeps_key(row, version, key.columns):
                continue
            for other in _rivals(states, row, key.columns, mine, writes):
                theirs = list(_keys(_after(states, other, writes), key.columns))
                for guard1, values1 in mine:
                    for guard2, values2 in theirs:
                        clash = conj(guard1, guard2, *(_agree(a, b) for a, b in zip(values1, values2, strict=True)))
                        if clash is not FALSE:
                            yield neg(clash)


def key_rivals(states: StateMap, row: RowHistory, version: Version, catalog: Catalog) -> set[RowHistory]:
    """Rows with which the keys and foreign keys of a version, or those that refer to its row, may be compared."""
    found = reference_rivals(states, row, version, catalog)
    for key in states.tables[row.table].schema.keys:
        mine = list(_keys(alternatives_of(version), key.columns))
        found.update(_rivals(states, row, key.columns, mine, {}))
    return found


def references_hold(states: StateMap, writes: WriteMap, catalog: Catalog) -> Iterator[Guard]:
    """In the state that these writes make, foreign keys find their rows."""
    for row, key in _referring(states, writes, catalog):
        for guard, values in _after(states, row, writes):
            if values is None:
                continue
            wanted = tuple(values[column] for column in key.columns)
            if states.tables[key.parent].undiscovered is not None and not _is_plain(
                states, key.parent, key.parent_columns, wanted
            ):
                # it may refer to a row that nothing names
                continue
            null = disj(*(same(value, None) for value in wanted))
            found: list[Guard] = []
            for parent in _having(states, key.parent, key.parent_columns, wanted, writes):
                for there, others in _keys(_after(states, parent, writes), key.parent_columns):
                    found.append(conj(there, *(_agree(a, b) for a, b in zip(wanted, others, strict=True))))
            holds = disj(neg(guard), null, *found)
            if holds is not TRUE:
                yield holds


def reference_rivals(states: StateMap, row: RowHistory, version: Version, catalog: Catalog) -> set[RowHistory]:
    """Rows that the foreign keys of a version, or those that refer to its row, may be compared with."""
    found: set[RowHistory] = set()
    for key in states.tables[row.table].schema.foreign_keys:
        for wanted in (values for _, values in _keys(alternatives_of(version), key.columns)):
            found.update(_having(states, key.parent, key.parent_columns, wanted, {}))
    for child, key in catalog.references_to(row.table):
        for before in (values for _, values in _keys(newest(states, row), key.parent_columns)):
            found.update(_having(states, child.name, key.columns, before, {}))
    return found


def _referring(states: StateMap, writes: WriteMap, catalog: Catalog) -> Iterator[tuple[RowHistory, ForeignKey]]:
    """The rows whose reference may be new, or whose parent may be gone."""
    seen: set[tuple[RowHistory, str]] = set()
    for row, version in writes.items():
        for key in states.tables[row.table].schema.foreign_keys:
            if not _keeps_key(row, version, key.columns) and (row, key.name) not in seen:
                seen.add((row, key.name))
                yield row, key
        for child, key in catalog.references_to(row.table):
            if _keeps_key(row, version, key.parent_columns):
                continue
            for before in (values for _, values in _keys(newest(states, row), key.parent_columns)):
                for other in _having(states, child.name, key.columns, before, writes):
                    if (other, key.name) not in seen:
                        seen.add((other, key.name))
                        yield other, key


def _is_plain(states: StateMap, table: str, columns: tuple[int, ...], values: tuple[Scalar, ...]) -> bool:
    """Whether an index tells which rows have these values."""
    return states.is_indexable(table, columns) and all(map(is_concrete, values)) and None not in values


def _having(
    states: StateMap, table: str, columns: tuple[int, ...], wanted: tuple[Scalar, ...], writes: WriteMap
) -> list[RowHistory]:
    """The rows of a table that may have these values."""
    history = states.tables[table]
    plain = _is_plain(states, table, columns, wanted)
    rows = dict.fromkeys(history.bucket(columns, wanted) if plain else history.rows)  # type: ignore[arg-type]
    rows.update((row, None) for row in writes if row.table == table)
    return list(rows)


def _keys(alternatives: Alternatives, columns: tuple[int, ...]) -> Iterator[tuple[Guard, tuple[Scalar, ...]]]:
    for guard, values in alternatives:
        if values is not None:
            yield guard, tuple(values[column] for column in columns)


def _agree(left: Scalar, right: Scalar) -> Guard:
    return conj(same(left, right), neg(same(left, None)))


def _keeps_key(row: RowHistory, version: Version, columns: tuple[int, ...]) -> bool:
    """Whether a concrete overwrite leaves an existing concrete row's key as it was."""
    if not row.versions or not isinstance(version, tuple):
        return False
    older = row.versions[-1]
    return isinstance(older, tuple) and all(older[column] == version[column] for column in columns)


def _after(states: StateMap, row: RowHistory, writes: WriteMap) -> list[tuple[Guard, SymbolicRow | None]]:
    if row not in writes:
        return newest(states, row)
    version = writes[row]
    if not isinstance(version, Guarded):
        return [(TRUE, version)]
    unwritten = neg(version.written)
    return [*version.alternatives, *((conj(unwritten, guard), values) for guard, values in newest(states, row))]


def _rivals(
    states: StateMap,
    row: RowHistory,
    columns: tuple[int, ...],
    mine: list[tuple[Guard, tuple[Scalar, ...]]],
    writes: WriteMap,
) -> list[RowHistory]:
    table = states.tables[row.table]
    rivals: dict[RowHistory, None] = {}
    indexable = states.is_indexable(row.table, columns)
    for _, values in mine:
        plain = indexable and all(is_concrete(value) for value in values)
        candidates = table.bucket(columns, values) if plain else table.rows  # type: ignore[arg-type]
        for other in candidates:
            if other is not row:
                rivals[other] = None
    for other in writes:
        if other is not row and other.table == row.table:
            rivals[other] = None
    return list(rivals)
