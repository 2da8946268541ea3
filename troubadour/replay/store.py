"""The states 0..n that an order of transactions makes, row by row (paper §3.2 *State maps*, §5.3).

State i is state i-1 overwritten by the whole rows that transaction i wrote. Only states at which a row was written
are kept for it. Does not know who reads which state, nor why.
"""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Table
from sql_semantics.library import SqlLibrary
from sql_semantics.run.writes.rows.keys import Key
from sql_semantics.values.text import TextRule, equal_by_code_points, rule_of, text_rule
from sql_semantics.values.types import Kind, Value
from sql_semantics.view import Row

RowName = str
"""A row's identity text, as in a witness."""
Writes = Mapping[str, Mapping[RowName, Row | None]]
"""Per table, the whole rows that a transaction wrote; None for deleted."""
Columns = tuple[int, ...]

NEAR = 64
"""States that wrote a table up to which an older one is told from the newest by what they wrote."""

LATELY = 256
"""States after its deletion in which a row is still looked for like those that are there."""


class Versions:
    """One row: `values[n]` (None: it does not exist) holds from state `states[n]` until the next of `states`."""

    __slots__ = ("states", "values")

    def __init__(self, states: list[int], values: list[Row | None]) -> None:
        self.states = states
        self.values = values

    def at(self, state: int) -> Row | None:
        """The row in a state; None where it does not exist."""
        states = self.states
        if states[-1] <= state:
            return self.values[-1]
        place = bisect_right(states, state)
        return self.values[place - 1] if place else None

    def skipping(self, state: int, skipped: Collection[int]) -> Row | None:
        """As `at`, but a version made by one of the `skipped` states gives way to the next older one."""
        place = bisect_right(self.states, state)
        while place and self.states[place - 1] in skipped:
            place -= 1
        return self.values[place - 1] if place else None

    def made_at(self, state: int) -> int | None:
        """Which state made the version that `state` has; None where the row did not exist yet."""
        place = bisect_right(self.states, state)
        return self.states[place - 1] if place else None


class StoredTable:
    """All rows that a table ever had, and those of the newest state.

    `holders` gives, per key (PRIMARY KEY or UNIQUE), the row that holds each value in the newest state; `_indexes`
    the rows that ever had given values in given columns, `_written` the rows by the state that wrote them, oldest
    first. With `folded`, texts that differ may be equal keys.
    Rows that are deleted for `LATELY` states are looked for only in states older than `_floor`.
    """

    __slots__ = (
        "_deleted",
        "_floor",
        "_folds",
        "_indexes",
        "_lately",
        "_rule",
        "_written",
        "folded",
        "holders",
        "keys",
        "newest",
        "rows",
        "schema",
    )

    def __init__(self, schema: Table, rule: TextRule, keys: Sequence[Key]) -> None:
        self.schema = schema
        self.keys = keys
        self._rule = rule
        self._folds = {id(key): _folds_of(key, schema, rule) for key in keys}
        texts = (column.type for column in schema.columns if column.type.kind is Kind.TEXT)
        self.folded = not equal_by_code_points(rule) or not all(
            equal_by_code_points(rule_of(one, rule)) for one in texts
        )
        self.rows: dict[RowName, Versions] = {}
        self.newest: dict[RowName, Row] = {}
        self.holders: list[tuple[Columns, dict[Row, RowName]]] = [
            (key.columns if key.plain else (), {}) for key in schema.keys
        ]
        self._indexes: dict[Columns, dict[Row, dict[RowName, Versions]]] = {}
        self._lately: dict[RowName, Versions] = {}
        self._deleted: deque[tuple[int, RowName]] = deque()
        self._floor = 0
        self._written: dict[int, list[RowName]] = {}

    def at(self, state: int, skipped: Collection[int]) -> list[tuple[RowName, Row]]:
        """The rows that `state` has where versions made by the `skipped` states give way to the next older ones."""
        later = [*islice(takewhile(lambda one: one > state, reversed(self._written)), NEAR)]
        if len(later) == NEAR:
            oldest = min([state, *(one - 1 for one in skipped)])
            rows = ((name, versions.skipping(state, skipped)) for name, versions in self.lately(oldest).items())
            return [(name, values) for name, values in rows if values is not None]
        changed = {name: None for one in (*later, *skipped) for name in self._written.get(one, ())}
        found = [pair for pair in self.newest.items() if pair[0] not in changed] if changed else [*self.newest.items()]
        for name in changed:
            values = self.rows[name].skipping(state, skipped)
            if values is not None:
                found.append((name, values))
        return found

    def written_since(self, state: int) -> Iterator[tuple[int, list[RowName]]]:
        """Later states and the rows that they wrote, the newest first."""
        for later in takewhile(lambda one: one > state, reversed(self._written)):
            yield later, self._written[later]

    def lately(self, state: int) -> Mapping[RowName, Versions]:
        """All rows that are there in `state` or a later one, and perhaps others."""
        return self._lately if state >= self._floor else self.rows

    def matching(self, columns: Columns, key: Row, state: int) -> Mapping[RowName, Versions]:
        """The rows that have these values in these columns in `state` or a later one, and perhaps others."""
        if state < self._floor:
            return self.rows
        index = self._indexes.get(columns)
        if index is None:
            index = self._indexes[columns] = {}
            for name, versions in self._lately.items():
                for values in versions.values:
                    if values is not None:
                        _enter(index, columns, values, name, versions)
        return index.get(key, _NO_VERSIONS)

    def write(self, state: int, name: RowName, values: Row | None) -> None:
        """Let `state` have this row; states come in ascending order."""
        self._written.setdefault(state, []).append(name)
        versions = self.rows.get(name)
        if versions is None:
            versions = self.rows[name] = self._lately[name] = Versions([state], [values])
        else:
            versions.states.append(state)
            versions.values.append(values)
        while self._deleted and self._deleted[0][0] <= state - LATELY:
            self._leave_out(*self._deleted.popleft())
        if values is None:
            self.newest.pop(name, None)
            self._deleted.append((state, name))
            return
        self.newest[name] = values
        if name not in self._lately:
            # what was deleted is written again where its older version is read
            self._lately[name] = versions
        for columns, index in self._indexes.items():
            _enter(index, columns, values, name, versions)

    def _leave_out(self, state: int, name: RowName) -> None:
        """A row was deleted long ago, in this state, if it is so still."""
        versions = self.rows.get(name)
        if versions is None or versions.states[-1] != state or name not in self._lately:
            return
        self._floor = state
        del self._lately[name]
        self._leave_indexes(name, versions.values, ())

    def _leave_indexes(self, name: RowName, gone: Sequence[Row | None], kept: Sequence[Row | None]) -> None:
        """Versions of a row are not to be found any more, others still are."""
        for columns, index in self._indexes.items():
            keys = {tuple([values[column] for column in columns]) for values in gone if values is not None}
            keys -= {tuple([values[column] for column in columns]) for values in kept if values is not None}
            for key in keys:
                found = index.get(key)
                if found is not None and found.pop(name, None) is not None and not found:
                    del index[key]

    def forget(self, oldest: int) -> None:
        """Drop what only states before `oldest` have, which are not asked for any more."""
        while self._written:
            state = next(iter(self._written))
            if state > oldest:
                return
            for name in self._written.pop(state):
                versions = self.rows.get(name)
                if versions is not None:
                    self._drop(name, versions, oldest)

    def _drop(self, name: RowName, versions: Versions, oldest: int) -> None:
        place = bisect_right(versions.states, oldest) - 1
        if place >= 0 and versions.values[place] is None:
            place += 1
        if place <= 0:
            return
        gone = versions.values[:place]
        del versions.states[:place], versions.values[:place]
        self._leave_indexes(name, gone, versions.values)
        if not versions.states:
            del self.rows[name]
            self._lately.pop(name, None)

    def rekey(self, writes: Mapping[RowName, Row | None]) -> tuple[str, Row, RowName, RowName] | None:
        """Move the keys of the rows about to be written. Returns (key, value, row, other row) where two rows would
        share one; call it before `write`. Raises Unsupported where that hangs on an unknown collation."""
        for key, (_, holders) in zip(self.keys, self.holders, strict=True):
            for name in writes:
                old = self.newest.get(name)
                if old is not None:
                    value = self._key(key, old)
                    if value is not None and holders.get(value) == name:
                        del holders[value]
            for name, values in writes.items():
                value = None if values is None else self._key(key, values)
                if values is None or value is None:
                    continue
                other = holders.setdefault(value, name)
                if other != name:
                    if self.folded and not self._same(key, values, other, writes):
                        raise Unsupported("two keys that differ, but may be equal under the collation")
                    return key.unique.name, value, name, other
        return None

    def truncate(self, length: int) -> None:
        """Take back the states above `length`."""
        taken: dict[RowName, None] = {}
        while self._written and (state := next(reversed(self._written))) > length:
            taken.update(dict.fromkeys(self._written.pop(state)))
        while self._deleted and self._deleted[-1][0] > length:
            self._deleted.pop()
        for name in taken:
            self._hold(name, self.newest.pop(name, None), None)
        for name in taken:
            versions = self.rows[name]
            place = bisect_right(versions.states, length)
            gone = versions.values[place:]
            del versions.states[place:], versions.values[place:]
            self._leave_indexes(name, gone, versions.values)
            if not versions.states:
                del self.rows[name]
                self._lately.pop(name, None)
            elif versions.values[-1] is not None:
                self.newest[name] = versions.values[-1]
                self._hold(name, None, versions.values[-1])
                # its deletion may be so long ago that it was not looked for any more
                self._lately[name] = versions
                for columns, index in self._indexes.items():
                    _enter(index, columns, versions.values[-1], name, versions)

    def _hold(self, name: RowName, old: Row | None, new: Row | None) -> None:
        """The keys of a row are those of `new`, and were those of `old`."""
        for key, (_, holders) in zip(self.keys, self.holders, strict=True):
            before = None if old is None else self._key(key, old)
            if before is not None and holders.get(before) == name:
                del holders[before]
            after = None if new is None else self._key(key, new)
            if after is not None:
                holders[after] = name

    def clashes(self, writes: Mapping[RowName, Row | None]) -> bool:
        """Whether a row about to be written has a key of one that is not."""
        for key, (_, holders) in zip(self.keys, self.holders, strict=True):
            for name, values in writes.items():
                value = None if values is None else self._key(key, values)
                other = None if value is None else holders.get(value)
                if other is not None and other != name and other not in writes:
                    return True
        return False

    def _key(self, key: Key, values: Row) -> Row | None:
        """What the row has under a key; None where it is not constrained."""
        value = key.value(values)
        if not self.folded or value is None:
            return value
        return tuple([fold(one) for fold, one in zip(self._folds[id(key)], value, strict=True)])

    def _same(self, key: Key, values: Row, other: RowName, writes: Mapping[RowName, Row | None]) -> bool:
        theirs = writes[other] if other in writes else self.newest[other]
        return theirs is not None and key.value(values) == key.value(theirs)

    def held(self, columns: Columns, value: Row) -> bool:
        """Whether a row of the newest state has these values in these columns (no text that is `folded`)."""
        for own, holders in self.holders:
            if own == columns:
                return value in holders
        return bool(self.holding(columns, value))

    def holding(self, columns: Columns, value: Row) -> list[RowName]:
        """The rows of the newest state with these values in these columns."""
        names = self.matching(columns, value, sys.maxsize)
        return [name for name in names if _has(self.newest.get(name), columns, value)]

    def copy(self) -> StoredTable:
        """An independent copy, without the indexes."""
        twin = StoredTable(self.schema, self._rule, self.keys)
        twin.rows = {name: Versions(v.states.copy(), v.values.copy()) for name, v in self.rows.items()}
        twin.newest = self.newest.copy()
        twin._lately = {name: twin.rows[name] for name in self._lately}
        twin._deleted, twin._floor = self._deleted.copy(), self._floor
        twin._written = {state: names.copy() for state, names in self._written.items()}
        twin.holders = [(columns, holders.copy()) for columns, holders in self.holders]
        return twin


def _has(row: Row | None, columns: Columns, value: Row) -> bool:
    return row is not None and tuple([row[column] for column in columns]) == value


_NO_VERSIONS: Mapping[RowName, Versions] = {}


def _fold(value: Value) -> Value:
    """What is left of a text without case, accents and trailing blanks: equal wherever a collation finds two equal."""
    if not isinstance(value, str):
        return value
    decomposed = unicodedata.normalize("NFKD", value).casefold()
    return "".join(c for c in decomposed if not unicodedata.combining(c)).rstrip()


def _without_blanks(value: Value) -> Value:
    return value.rstrip(" ") if isinstance(value, str) else value


def _as_it_is(value: Value) -> Value:
    return value


def _folds_of(key: Key, schema: Table, rule: TextRule) -> list[Callable[[Value], Value]]:
    """For each part of a key, what is left of its texts: the same for equal ones."""
    types = [part.type for part in key.unique.parts] or [schema.columns[place].type for place in key.unique.columns]
    found: list[Callable[[Value], Value]] = []
    for type_ in types:
        own = rule_of(type_, rule)
        plain = _as_it_is if equal_by_code_points(own) else _fold
        found.append(_without_blanks if own is TextRule.BINARY_PADDED else plain)
    return found


def _enter(
    index: dict[Row, dict[RowName, Versions]], columns: Columns, values: Row, name: RowName, versions: Versions
) -> None:
    key: tuple[Value, ...] = tuple([values[column] for column in columns])
    found = index.get(key)
    if found is None:
        index[key] = {name: versions}
    else:
        found[name] = versions


class Store:
    """States 0..`newest` of all tables."""

    __slots__ = ("catalog", "newest", "tables")

    def __init__(self, library: SqlLibrary, initial: Mapping[str, Sequence[Row]]) -> None:
        rule = text_rule(library.dialect)
        self.catalog = library.catalog
        self.tables = {
            name: StoredTable(table, rule, library.keys[name]) for name, table in library.catalog.tables.items()
        }
        self.newest = 0
        for table, rows in initial.items():
            named: dict[RowName, Row | None] = {f"{table}:-:{n}": row for n, row in enumerate(rows)}
            self.tables[table].rekey(named)
            for name, values in named.items():
                self.tables[table].write(0, name, values)

    def append(self, writes: Writes) -> tuple[str | None, dict[str, dict[RowName, Row]]]:
        """Make the next state. Returns what is wrong with it where two of its rows would share a key, and the rows that
        were replaced; where something is wrong the store is of no further use."""
        self.newest += 1
        gone: dict[str, dict[RowName, Row]] = {}
        for table, rows in writes.items():
            stored = self.tables[table]
            gone[table] = {name: old for name in rows if (old := stored.newest.get(name)) is not None}
            clash = stored.rekey(rows)
            if clash is not None:
                key, value, row, other = clash
                return f"{row} and {other} of {table} would share {key} = ({', '.join(map(str, value))})", gone
            for name, values in rows.items():
                if values is not None or name in stored.rows:
                    stored.write(self.newest, name, values)
        return None, gone

    def truncate(self, length: int) -> None:
        """Take back the states above `length`."""
        self.newest = length
        for table in self.tables.values():
            table.truncate(length)

    def written_since(self, state: int, count: int) -> dict[int, list[RowName]]:
        """The rows that later states wrote, by these, the newest first, of so many that wrote some."""
        found: dict[int, list[RowName]] = {}
        for table in self.tables.values():
            for later, names in islice(table.written_since(state), count):
                found.setdefault(later, []).extend(names)
        return {later: found[later] for later in sorted(found, reverse=True)[:count]}

    def clashes(self, writes: Writes) -> bool:
        """Whether rows about to be written have keys of others in the newest state."""
        return any(self.tables[table].clashes(rows) for table, rows in writes.items())

    def forget(self, oldest: int) -> None:
        """Drop what only states before `oldest` have, which are not asked for any more."""
        for table in self.tables.values():
            table.forget(oldest)

    def copy(self) -> Store:
        """An independent copy."""
        twin = Store.__new__(Store)
        twin.tables = {name: table.copy() for name, table in self.tables.items()}
        twin.newest, twin.catalog = self.newest, self.catalog
        return twin


def rows_of(writes: Writes) -> Iterable[tuple[str, RowName, Row | None]]:
    """Every row written, with its table."""
    for table, rows in writes.items():
        for name, values in rows.items():
            yield table, name, values
