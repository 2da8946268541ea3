"""Rows of the write-ahead log held against those that the transactions of a witness write, as replay places them (Emme
§5.3).

What a commit tells is done to the state before it, change by change; what is left of each row has to be what replay has
there, and the records of those that wrote one row have to stand in the witness's order. Does not know which of the two
is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sql_semantics.ir.schema import Table
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Row
from troubadour.audit.certified.order import Incomplete
from troubadour.audit.told.explain import name
from troubadour.model.certificate import Commit, RowChange
from troubadour.model.log import LogError, TransactionId
from troubadour.model.values import read_value
from troubadour.proof.wording import value_text
from troubadour.replay.checker import Replay


class _Untold:
    """A value that the write-ahead log does not have: it was not touched, or is computed."""


_UNTOLD: Final = _Untold()
_NAN: Final = object()
_Key = tuple[Value, ...]
_Image = tuple[Value | _Untold, ...]


class Images:
    """The commits of one witness, held against its replay one after another. With `ordered` the records of two
    writers of one row have to come as the witness has them."""

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._last: dict[tuple[str, _Key], tuple[int, TransactionId]] = {}

    def mismatch(self, replay: Replay, identifier: TransactionId, commit: Commit) -> str | None:
        """What differs between a commit and what the transaction placed last wrote; None where all agrees. Raises
        Incomplete where the commit does not tell which row it changed, LogError for a value that does not fit."""
        tables = replay.catalog.tables
        changed: dict[str, list[RowChange]] = {}
        for change in commit.changes or ():
            if change.table in tables:
                changed.setdefault(change.table, []).append(change)
        for table_name in dict.fromkeys([*changed, *replay.written]):
            told = None if commit.changes is None else changed.get(table_name, [])
            text = self._table(_Written(replay, tables[table_name]), identifier, commit.place, told)
            if text is not None:
                return f"{name(identifier)}: {text}"
        return None

    def _table(
        self, written: _Written, identifier: TransactionId, place: int, changes: Sequence[RowChange] | None
    ) -> str | None:
        if not written.identity:
            return None if changes is None else _unkeyed(written, identifier, changes)
        keys = written.keys()
        if changes is not None:
            replayed = _Replayed(written, identifier)
            text = next((found for change in changes if (found := replayed.take(change)) is not None), None)
            text = text or replayed.differs()
            if text is not None:
                return text
            keys = {**keys, **dict.fromkeys(replayed.rows)}
        return self._order(written.table, identifier, place, keys) if self._ordered else None

    def _order(self, table: Table, identifier: TransactionId, place: int, keys: Mapping[_Key, None]) -> str | None:
        for key in keys:
            last = self._last.get((table.name, key))
            if last is not None and last[0] >= place:
                return (
                    f"it wrote {_key_text(table, key)} after {name(last[1])}, as their snapshots and answers have it,"
                    f" and its commit record, {place}, comes before that one's, {last[0]}"
                )
            self._last[table.name, key] = place, identifier
        return None


class _Written:
    """What the transaction placed last did to a table, by replay: rows before and after it."""

    def __init__(self, replay: Replay, table: Table) -> None:
        self.table = table
        primary = next((key.columns for key in table.keys if key.primary), ())
        self.identity: tuple[int, ...] = tuple(primary)
        self._stored = replay.store.tables[table.name]
        self._rows = replay.written.get(table.name, {})
        self.before: list[Row] = []
        self.after: list[Row] = []
        for row, values in self._rows.items():
            versions = self._stored.rows.get(row)
            old = None if versions is None else versions.at(replay.store.newest - 1)
            if old is not None:
                self.before.append(old)
            if values is not None:
                self.after.append(values)
        self._before = {self.key(row): row for row in self.before} if self.identity else {}
        self._after = {self.key(row): row for row in self.after} if self.identity else {}

    def key(self, row: Row) -> _Key:
        return tuple([row[column] for column in self.identity])

    def keys(self) -> dict[_Key, None]:
        """Of the rows that it wrote, as they were and as they are."""
        return dict.fromkeys([*self._before, *self._after])

    def was(self, key: _Key) -> Row | None:
        """The row of a key before the transaction."""
        return self._before.get(key) or self._other(key)

    def now(self, key: _Key) -> Row | None:
        """The row of a key after it."""
        return self._after.get(key) or self._other(key)

    def _other(self, key: _Key) -> Row | None:
        """A row that it did not write."""
        for row in self._stored.holding(self.identity, key):
            if row not in self._rows:
                return self._stored.newest[row]
        return None

    @property
    def emptied(self) -> bool:
        """Whether it deleted a row, or there is none."""
        return not self._stored.newest or any(values is None for values in self._rows.values())


class _Replayed:
    """The rows of a table with a primary key, after the changes of a commit so far. Rows of one key may be two for a
    while: a key may be checked at the end of a statement only."""

    def __init__(self, written: _Written, identifier: TransactionId) -> None:
        self._written, self._table, self._identifier = written, written.table, identifier
        self._emptied = False
        self.rows: dict[_Key, list[_Image]] = {}

    def take(self, change: RowChange) -> str | None:
        """Do one change; what is wrong with it."""
        if change.kind == "truncate":
            self._emptied = True
            self.rows = {key: [] for key in self.rows}
            return None
        old = None if change.old is None else _image(self._table, change.old)
        new = None if change.new is None else self._new(change)
        if change.kind != "insert":
            known = old if old is not None else new
            text = "a change of no row" if known is None else self._remove(self._key(known), old, change.kind)
            if text is not None:
                return f"the write-ahead log has {text}"
        if change.kind != "delete" and new is not None:
            self._at(self._key(new)).append(new)
        return None

    def _new(self, change: RowChange) -> _Image:
        """The row after a change; of its key what was large and not touched stands in the row before."""
        row = _image(self._table, change.new or {})
        old = _image(self._table, change.old or {})
        return tuple(
            old[place] if isinstance(value, _Untold) and place in self._written.identity else value
            for place, value in enumerate(row)
        )

    def _remove(self, key: _Key, old: _Image | None, kind: str) -> str | None:
        rows = self._at(key)
        shown = _key_text(self._table, key)
        if not rows:
            return f"{_ARTICLE[kind]} of {shown}, which is not there"
        found = next((row for row in rows if old is None or not _differences(row, old)), None)
        if found is None and old is not None:
            place = _differences(rows[0], old)[0]
            was, image = _text(rows[0][place]), _text(old[place])
            return f"{_ARTICLE[kind]} of {shown} whose {self._table.columns[place].name} was {image}, and it was {was}"
        rows.remove(rows[0] if found is None else found)
        return None

    def _key(self, row: _Image) -> _Key:
        key = []
        for place in self._written.identity:
            value = row[place]
            if isinstance(value, _Untold):
                raise Incomplete(f"which row of {self._table.name} it changed is not told", self._identifier)
            key.append(value)
        return tuple(key)

    def _at(self, key: _Key) -> list[_Image]:
        if key not in self.rows:
            row = None if self._emptied else self._written.was(key)
            self.rows[key] = [] if row is None else [tuple(row)]
        return self.rows[key]

    def differs(self) -> str | None:
        """What the changes leave otherwise than replay does."""
        written = self._written
        for key in written.keys():  # noqa: SIM118 - no mapping
            if key in self.rows:
                continue
            now = written.now(key)
            shown = _key_text(self._table, key)
            if now is not None:
                return f"its write of {shown} is not in the write-ahead log"
            if not self._emptied:
                return f"its deletion of {shown} is not in the write-ahead log"
        if self._emptied and not written.emptied:
            return f"the write-ahead log has {self._table.name} truncated, and its rows are there"
        for key, rows in self.rows.items():
            text = self._row_differs(key, rows, written.now(key))
            if text is not None:
                return text
        return None

    def _row_differs(self, key: _Key, rows: list[_Image], now: Row | None) -> str | None:
        shown = _key_text(self._table, key)
        if len(rows) > 1:
            return f"the write-ahead log has {shown} twice"
        if now is None:
            return f"the write-ahead log has {shown}, which it did not write" if rows else None
        if not rows:
            wrote = "it wrote" if key in self._written.keys() else "it left"  # noqa: SIM118 - no mapping
            return f"{wrote} {shown}, and the write-ahead log has it deleted"
        for place in _differences(tuple(now), rows[0]):
            value, image = _text(now[place]), _text(rows[0][place])
            return f"{self._table.columns[place].name} of {shown} is {value}, and {image} in the write-ahead log"
        return None


_ARTICLE = {"update": "an update", "delete": "a deletion"}


def _unkeyed(written: _Written, identifier: TransactionId, changes: Sequence[RowChange]) -> str | None:
    """Rows without a primary key are compared by how many there are more or fewer of each, in the columns that every
    change tells."""
    table = written.table
    told: list[tuple[int, _Image]] = []
    for change in changes:
        if change.kind == "truncate":
            text = f"the write-ahead log has {table.name} truncated, and its rows are there"
            return None if written.emptied else text
        if change.kind != "insert":
            if change.old is None:
                raise Incomplete(f"which row of {table.name} it changed is not told", identifier)
            told.append((-1, _image(table, change.old)))
        if change.new is not None:
            told.append((1, _image(table, {**(change.old or {}), **change.new})))
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.generated is None and not any(isinstance(image[place], _Untold) for _, image in told)
    ]
    images: Counter[tuple[object, ...]] = Counter()
    for number, image in told:
        images[_comparable(image, places)] += number
    rows: Counter[tuple[object, ...]] = Counter()
    for row in written.after:
        rows[_comparable(row, places)] += 1
    for row in written.before:
        rows[_comparable(row, places)] -= 1
    for row_values in dict.fromkeys([*rows, *images]):
        wrote, image_count = rows[row_values], images[row_values]
        if wrote != image_count:
            shown = ", ".join(
                f"{table.columns[place].name}={_text(value)}" for place, value in zip(places, row_values, strict=True)
            )
            return f"of {table.name}, {shown}, it has {wrote:+} rows, and the write-ahead log {image_count:+}"
    return None


def _comparable(row: Sequence[object], places: Sequence[int]) -> tuple[object, ...]:
    return tuple([row[place] if row[place] == row[place] else _NAN for place in places])


def _differences(row: _Image, other: _Image) -> list[int]:
    """The columns that both tell, and not alike."""
    return [place for place, (value, image) in enumerate(zip(row, other, strict=True)) if not _same(value, image)]


def _same(value: Value | _Untold, image: Value | _Untold) -> bool:
    if isinstance(value, _Untold) or isinstance(image, _Untold):
        return True
    return image == value or (image != image and value != value)


def _image(table: Table, row: Mapping[str, Any]) -> _Image:
    return tuple([_value(row[column.name], column.type) if column.name in row else _UNTOLD for column in table.columns])


def _value(image: Any, type: SqlType) -> Value:
    try:
        value = read_value(image, type, stored=True)
    except ValueError as error:
        raise LogError(f"certificate: {error}") from error
    return value.rstrip(" ") if type.padded and isinstance(value, str) else value


def _key_text(table: Table, key: _Key) -> str:
    primary = next((one.columns for one in table.keys if one.primary), ())
    named: Iterator[str] = (
        f"{table.columns[place].name}={value_text(value)}" for place, value in zip(primary[:8], key, strict=False)
    )
    return f"{table.name}({', '.join(named)})"


def _text(value: Any) -> str:
    return "NaN" if value is _NAN else value_text(value)
