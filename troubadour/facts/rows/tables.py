"""The tables whose rows are told apart by a key, and the places of their rows. Does not know what happened to a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from sql_semantics.errors import Unsupported
from sql_semantics.ir.schema import Catalog, Table, TableColumn, Unique
from sql_semantics.ir.statements import Conflict, Insert, Update
from sql_semantics.ir.walks.effects import columns_set, draws, fired_by, reached, written_tables
from sql_semantics.records import dataclass, field
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import INTEGER_KINDS, Kind, Value
from sql_semantics.view import Row
from troubadour.facts.rows.local import Columns, Part, arbiters, inserted_alone, keys_of
from troubadour.facts.sql.effects import EXACT_KINDS
from troubadour.problem.problem import Problem

_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_]*\Z")
"""Texts that every collation compares by letters alone, in lower case or not."""

Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """By table the columns of its key. `folds`: texts may be equal in SQL that are not in Python; `untaken`: by table
    the keys that no row has which an INSERT of the log gives, as each gives another one;
    `doubled`: tables of which a transaction may see an old row beside the one with its key that it changed."""

    keys: dict[str, Columns]
    folds: bool
    untaken: dict[str, frozenset[Columns]] = field(default_factory=dict)
    doubled: frozenset[str] = frozenset()

    def place(self, key: Key) -> Key | None:
        """What stands for a key, the same for equal ones; None where that is not told."""
        found = tuple([self.alike(value) for value in key]) if self.folds else key
        return None if None in found else found

    def place_of(self, table: str, row: Row) -> Key | None:
        """The same for a row."""
        return self.place(tuple([row[column] for column in self.keys[table]]))

    def alike(self, value: Value) -> Value | None:
        """What stands for a value, the same for equal ones; None where that is not told."""
        if not isinstance(value, str) or not self.folds:
            return value
        return value.lower() if _PLAIN_TEXT.match(value) else None


def _untaken(problem: Problem, table: Table) -> frozenset[Columns]:
    """The keys that no row has which an INSERT of the log gives: each gives whole numbers of its own, whatever became
    of it, and nothing changes them. Asked where several keys may be in the way of one INSERT."""
    catalog, dialect = problem.library.catalog, problem.library.dialect
    upserts = [
        statement.conflict
        for statement in problem.writing()
        if isinstance(statement, Insert) and statement.table == table.name and statement.conflict is not None
    ]
    if not any(len(arbiters(conflict, table)) > 1 for conflict in upserts):
        return frozenset()
    numbers = [
        key.columns
        for key in table.keys
        if key.plain and all(_is_given_number(table.columns[column]) for column in key.columns)
    ]
    changed = {column for key in table.foreign_keys for column in key.columns}
    for statement in problem.writing():
        for name, moved in columns_set(statement, catalog):
            changed |= moved if name == table.name else set()
    changed.update(column for conflict in upserts for column, _ in conflict.assignments)
    initial = [row for row in problem.initial.get(table.name, ()) if row is not None]
    given = {
        columns: [tuple([row[column] for column in columns]) for row in initial]
        for columns in numbers
        if not changed & set(columns)
    }
    try:
        for row in _given(problem, table.name, catalog, dialect):
            for columns, found in given.items():
                found.append(tuple([row[column] for column in columns]))
    except Unsupported:
        return frozenset()
    return frozenset(
        columns
        for columns, found in given.items()
        if len(set(found)) == len(found) and not any(None in k for k in found)
    )


def _is_given_number(column: TableColumn) -> bool:
    """Whether a row has the whole number there that its INSERT gives, never one that the DBMS draws in its place."""
    return (
        column.type.kind in INTEGER_KINDS and not column.identity and column.generated is None and not column.on_update
    )


def _given(problem: Problem, table: str, catalog: Catalog, dialect: Dialect) -> Iterator[Row]:
    """The rows that the INSERTs of a log give, of all transactions. Raises Unsupported where some are not told."""
    parts: dict[int, tuple[Part, ...]] = {}
    for item in range(len(problem.statuses)):
        for prepared in problem.prepared(item).statements:
            if prepared.program is None or prepared.program.read_only:
                continue
            statement = prepared.program.statement
            if (table, "insert") not in written_tables([statement], catalog):
                continue
            if not isinstance(statement, Insert) or statement.table != table:
                raise Unsupported("rows that another statement inserts")
            if draws(statement, catalog) or reached([statement], catalog) or fired_by(statement, catalog):
                raise Unsupported("an INSERT that does more than it says")
            if id(statement) not in parts:
                parts[id(statement)] = inserted_alone(statement, catalog, dialect)
            for part in parts[id(statement)]:
                yield from keys_of(part, prepared.arguments, range(len(catalog.tables[table].columns))) or ()


def _upserted_by(problem: Problem, table: Table, keys: Sequence[Unique], untaken: Set[Columns]) -> Unique | None:
    """The one key by which INSERTs of the log find the rows that they leave or change instead; None where they do so by
    several, or some UPDATE changes it."""
    found: set[Unique] = set()
    changed: set[int] = set()
    for statement in problem.writing():
        match statement:
            case Insert(table=table.name, conflict=Conflict(keys=None, action="nothing")):
                pass
            case Insert(table=table.name, conflict=Conflict(assignments=assignments) as conflict):
                by = [key for key in arbiters(conflict, table) if not (key.plain and key.columns in untaken)]
                if len(by) == 1:
                    found.add(by[0])
                changed.update(column for column, _ in assignments)
            case Update(table=table.name, assignments=assignments):
                changed.update(column for column, _ in assignments)
    if len(found) != 1:
        return None
    (key,) = found
    return key if key in keys and not changed & set(key.columns) else None


def tables_of(problem: Problem, *, mixed: bool) -> Tables:
    """The tables of a problem whose initial rows are known, and which stay as they are defined. `mixed`: a transaction
    sees newer rows that it changed beside those of its snapshot. Where rows give up their keys, two of these may have
    one that is not the primary one."""
    dialect, catalog = problem.library.dialect, problem.library.catalog
    folds = dialect.rules.running.folds_texts_of_keys or not equal_by_code_points(text_rule(dialect))
    found: dict[str, Columns] = {}
    untaken: dict[str, frozenset[Columns]] = {}
    doubled: set[str] = set()
    if problem.library.stepwise or catalog.transient:
        return Tables({}, folds)
    for name, table in catalog.tables.items():
        if table.query is not None or table.refused or name in problem.discovery.unknown:
            continue
        plain = [key for key in table.keys if key.plain and all(table.columns[place].not_null for place in key.columns)]
        primary = next((key for key in plain if key.primary), plain[0] if plain else None)
        if primary is None:
            continue
        if len(plain) > 1:
            untaken[name] = _untaken(problem, table)
            primary = _upserted_by(problem, table, plain, untaken[name]) or primary
            if mixed and not primary.primary and name in problem.given_up():
                doubled.add(name)
        types = [table.columns[place].type for place in primary.columns]
        plain_texts = folds or not any(one.collation for one in types)
        if plain_texts and all(one.kind in EXACT_KINDS | {Kind.TEXT} and not one.padded for one in types):
            found[name] = primary.columns
    return Tables(found, folds, untaken, frozenset(doubled))
