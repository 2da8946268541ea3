"""The tables whose rows are told apart by a key, and the places of their rows. Does not know what happened to a row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sql_semantics.ir.schema import Table, Unique
from sql_semantics.ir.statements import Conflict, Insert, Update
from sql_semantics.records import dataclass
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import Kind, Value
from sql_semantics.view import Row
from troubadour.facts.sql.effects import EXACT_KINDS
from troubadour.problem.problem import Problem

_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_]*\Z")
"""Texts that every collation compares by letters alone, in lower case or not."""

Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """By table the columns of its key. `folds`: texts may be equal in SQL that are not in Python."""

    keys: dict[str, tuple[int, ...]]
    folds: bool

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


def _upserted_by(problem: Problem, table: Table, keys: Sequence[Unique]) -> Unique | None:
    """The one key by which INSERTs of the log find the rows that they leave or change instead; None where they do so by
    several, or some UPDATE changes it."""
    found: set[Unique] = set()
    changed: set[int] = set()
    for statement in problem.writing():
        match statement:
            case Insert(table=table.name, conflict=Conflict(keys=(place,), assignments=assignments)):
                found.add(table.keys[place])
                changed.update(column for column, _ in assignments)
            case Update(table=table.name, assignments=assignments):
                changed.update(column for column, _ in assignments)
    if len(found) != 1:
        return None
    (key,) = found
    return key if key in keys and not changed & set(key.columns) else None


def tables_of(problem: Problem) -> Tables:
    """The tables of a problem whose initial rows are known, and which stay as they are defined."""
    dialect, catalog = problem.library.dialect, problem.library.catalog
    folds = dialect.rules.running.folds_texts_of_keys or not equal_by_code_points(text_rule(dialect))
    found: dict[str, tuple[int, ...]] = {}
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
            primary = _upserted_by(problem, table, plain) or primary
        types = [table.columns[place].type for place in primary.columns]
        plain_texts = folds or not any(one.collation for one in types)
        if plain_texts and all(one.kind in EXACT_KINDS | {Kind.TEXT} and not one.padded for one in types):
            found[name] = primary.columns
    return Tables(found, folds)
