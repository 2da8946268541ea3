"""A log of operations on objects as the SQL that they stand for (docs/histories.md, *What an operation means*).

An object is a table; a key of a register, a list or a counter is a row that is there from the start, so that a write
is an UPDATE of one row. Keys, and values but those of counters, are kept as their JSON text, in which an integer and
a text never look alike. Does not know what any level makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import msgspec

from sql_semantics.records import dataclass, field
from troubadour.model.log import InitialTable, Log, LogError, ObservedRows, Statement, Transaction
from troubadour.model.objects import (
    APPEND,
    INC,
    MISSING,
    NOTHING,
    READ,
    STATUSES,
    UNREAD,
    ObjectDefinition,
    ObjectLog,
    ObjectType,
    Value,
)

LONG = 20_000
"""Operations from which on the keys of all are found at once."""

_DIALECT = "postgres"
"""In which a log is told that names none."""


@dataclass(frozen=True, slots=True)
class _Sql:
    """How a dialect says it: its quotes, types, concatenation and parameters, and the settings that the expansion
    takes."""

    text: str = "TEXT"
    key: str = "TEXT"
    number: str = "NUMERIC"
    quote: str = '"'
    append: str = "v || {}"
    params: tuple[str, str] = ("?", "?")
    settings: Mapping[str, Any] = field(default_factory=dict)


_SQL: Mapping[str, _Sql] = {
    "postgres": _Sql(params=("$1", "$2")),
    "sqlite": _Sql(number="INTEGER"),
    "duckdb": _Sql("VARCHAR", "VARCHAR", "DECIMAL(38,0)"),
    "mysql": _Sql(
        "LONGTEXT", "VARCHAR(700)", "DECIMAL(65,0)", "`", "CONCAT(v, {})",
        settings={"collation": "utf8mb4_bin", "found_rows": True},
    ),
}  # fmt: skip


def expanded(log: ObjectLog) -> Log:
    """The same log in SQL: one statement for each operation, in the same order. Its digest is that of `log`.

    Raises LogError where the name of an object cannot be that of a table.
    """
    dialect = log.header.dialect or _DIALECT
    words = _words(log, dialect)
    initial = tuple(
        _initial(definition, log, keys)
        for definition, keys in zip(log.objects, _keys(log), strict=True)
        if not definition.unknown
    )
    settings = {**log.header.settings, **_SQL[dialect].settings}
    header = msgspec.structs.replace(
        log.header,
        dialect=dialect,
        schema=tuple(word.table for word in words),
        initial=initial,
        initial_unknown=tuple(definition.name for definition in log.objects if definition.unknown),
        settings=settings,
    )
    counts = tuple(log.count(status) for status in range(3))
    answered = any(kind == READ and value != UNREAD for kind, value in zip(log.kinds, log.values, strict=True))
    transactions = _Transactions(log, words, log.order, answered=answered)
    return Log(header, transactions, log.digest, (counts[0], counts[1], counts[2]))


@dataclass(frozen=True, slots=True)
class Texts:
    """The SQL of the operations: of each object a read's and a change's."""

    dialect: str
    pairs: tuple[tuple[str, str], ...]


def statement_texts(log: ObjectLog) -> Texts:
    """The SQL that operations of a log stand for. Raises LogError as `expanded`."""
    dialect = log.header.dialect or _DIALECT
    words = _words(log, dialect)
    return Texts(dialect, tuple((word.read, word.change) for word in words))


def _words(log: ObjectLog, dialect: str) -> list[_Words]:
    large = any(isinstance(one, int) for one in log.codes.texts)
    return [_Words(definition, dialect, large=large) for definition in log.objects]


def row_names(log: ObjectLog) -> list[dict[int, str]]:
    """What a witness calls the row of a key, by its code, of each object that is no set."""
    return [
        {} if one.type == "set" else {key: f"{one.name}:-:{number}" for number, key in enumerate(keys)}
        for one, keys in zip(log.objects, _keys(log), strict=True)
    ]


def text_of(value: Value) -> str:
    """A key or a value as it is stored: its JSON text."""
    return msgspec.json.encode(value).decode()


def list_text(items: Sequence[Value]) -> str:
    """A list as it is stored: the JSON text of each item, and a comma behind it. So an append is a concatenation, and
    no two lists are stored alike."""
    return "".join(f"{text_of(item)}," for item in items)


class _Words:
    """What the operations on an object are called in SQL."""

    def __init__(self, definition: ObjectDefinition, dialect: str, *, large: bool) -> None:
        """`large`: some number of the log needs more than 62 bits."""
        said = _SQL[dialect]
        name = definition.name
        if said.quote in name or "\0" in name or not name.strip():
            raise LogError(f"object {name!r}: this cannot be the name of a table")
        table = f"{said.quote}{name}{said.quote}"
        key, text, number = said.key, said.text, said.number
        first, second = said.params
        if definition.unknown and not large:
            # what is not known has to be of a type that has bounds
            number = "BIGINT"
        sql: dict[ObjectType, tuple[str, str, str]] = {
            "register": (
                f"CREATE TABLE {table} (k {key} PRIMARY KEY, v {text})",
                f"SELECT v FROM {table} WHERE k = {first}",
                f"UPDATE {table} SET v = {first} WHERE k = {second}",
            ),
            "list": (
                f"CREATE TABLE {table} (k {key} PRIMARY KEY, v {text} NOT NULL)",
                f"SELECT v FROM {table} WHERE k = {first}",
                f"UPDATE {table} SET v = {said.append.format(first)} WHERE k = {second}",
            ),
            "set": (
                f"CREATE TABLE {table} (k {key} NOT NULL, v {text} NOT NULL)",
                f"SELECT DISTINCT v FROM {table} WHERE k = {first}",
                f"INSERT INTO {table} (v, k) VALUES ({first}, {second})",
            ),
            "counter": (
                f"CREATE TABLE {table} (k {key} PRIMARY KEY, n {number} NOT NULL)",
                f"SELECT n FROM {table} WHERE k = {first}",
                f"UPDATE {table} SET n = n + {first} WHERE k = {second}",
            ),
        }
        self.type = definition.type
        self.table, self.read, self.change = sql[definition.type]
        self.columns = ("n",) if definition.type == "counter" else ("v",)


def _keys(log: ObjectLog) -> list[list[int]]:
    """The keys that a log names, of each object, in the order in which they come; those of `rows` first."""
    found: list[dict[int, None]] = [dict.fromkeys(definition.rows) for definition in log.objects]
    if len(log.keys) >= LONG:
        # numpy, which short logs start without
        from troubadour.formats.objects.long_keys import as_they_come

        for known, keys in zip(found, as_they_come(log.subjects, log.keys, len(found)), strict=True):
            known |= dict.fromkeys(keys)
        return [list(keys) for keys in found]
    for subject, key in dict.fromkeys(zip(log.subjects, log.keys, strict=True)):
        found[subject][key] = None
    return [list(keys) for keys in found]


def _initial(definition: ObjectDefinition, log: ObjectLog, keys: list[int]) -> InitialTable:
    column = "n" if definition.type == "counter" else "v"
    rows: list[tuple[Any, ...]] = []
    for key in keys:
        name = text_of(log.codes.value(key))
        code = definition.initial(key)
        if definition.type == "set":
            items = dict.fromkeys(log.sequences.at(code))
            rows += [(name, text_of(log.codes.value(item))) for item in items]
        else:
            rows.append((name, _stored(log, definition.type, code)))
    return InitialTable(definition.name, ("k", column), rows)


def _stored(log: ObjectLog, kind: ObjectType, code: int) -> Any:
    """What a register, a list or a counter holds, as its column does."""
    if code == NOTHING:
        return None
    if kind == "list":
        return list_text([log.codes.value(item) for item in log.sequences.at(code)])
    value = log.codes.value(code)
    return value if kind == "counter" else text_of(value)


class _Transactions(Sequence[Transaction]):
    """The transactions in an order, made as they are asked for. `answered`: some read of the log was."""

    def __init__(self, log: ObjectLog, words: list[_Words], order: Sequence[int], *, answered: bool) -> None:
        self._log, self._words, self._order, self._answered = log, words, order, answered

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Transaction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Transaction]: ...
    def __getitem__(self, index: int | slice) -> Transaction | Sequence[Transaction]:
        if isinstance(index, slice):
            return _Transactions(self._log, self._words, self._order[index], answered=self._answered)
        return self._at(self._order[index])

    def __iter__(self) -> Iterator[Transaction]:
        return map(self._at, self._order)

    def _at(self, place: int) -> Transaction:
        log = self._log
        more: dict[str, Any] = dict(log.more.get(place, {}))
        more.pop("end", None)
        return Transaction(
            id=log.ids[place],
            status=STATUSES[log.statuses[place]],
            statements=tuple(map(self._statement, range(log.first[place], log.first[place + 1]))),
            place=place,
            session=log.session(place),
            isolation=log.level_names[log.levels[place]],
            start=_given(log.starts[place]),
            commit=_given(log.commits[place]),
            invoked=_given(log.invoked[place]),
            returned=_given(log.returned[place]),
            end=log.end(place),
            clock=log.clock_names[log.clocks[place]],
            sno=_given(log.numbers[place]),
            **more,
        )

    def _statement(self, position: int) -> Statement:
        log = self._log
        word = self._words[log.subjects[position]]
        key = text_of(log.codes.value(log.keys[position]))
        code, kind = log.values[position], log.kinds[position]
        if kind == READ:
            results = None if code == UNREAD else (ObservedRows(word.columns, self._rows(word.type, code)),)
            return Statement(word.read, (key,), results)
        value: Value = log.codes.value(code)
        if kind == INC:
            return self._counted(word.change, (value, key))
        text = text_of(value)
        if word.type == "set":
            return Statement(word.change, (text, key))
        return self._counted(word.change, (f"{text}," if kind == APPEND else text, key))

    def _counted(self, sql: str, params: tuple[Value, ...]) -> Statement:
        """A change of one row, which is there: the count tells a search that. A log that observed nothing has none."""
        return Statement(sql, params, affected=1, implied=True) if self._answered else Statement(sql, params)

    def _rows(self, kind: ObjectType, code: int) -> tuple[tuple[Any, ...], ...]:
        log = self._log
        if kind == "set":
            return tuple((text_of(log.codes.value(item)),) for item in log.sequences.at(code))
        return ((_stored(log, kind, code),),)


def _given(number: int) -> int | None:
    return None if number == MISSING else number
