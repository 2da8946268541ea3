"""What a transaction wrote, as a transaction that writes nothing else and reads nothing.

So the others around a few transactions stand in a small log: with their writes as they were found, whatever they read.
Does not know who found them.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sql_semantics.ir.schema import Table
from sql_semantics.library import SqlLibrary
from sql_semantics.view import Row
from troubadour.execution.free.values import json_of
from troubadour.model.log import Statement, Transaction

Change = tuple[str, Row | None, Row | None]
"""A table, a row of it as it was, and as it was left; None: it was not there."""


def writing_only(transaction: Transaction, library: SqlLibrary, changes: Iterable[Change]) -> Transaction:
    """The transaction with statements that make these changes, the deletions first and the insertions last; each row is
    found by its primary key. It has none where nothing is changed.

    Raises Unsupported for a value that no parameter can be, and ValueError for a table without a key or a name.
    """
    deleted: list[Statement] = []
    updated: list[Statement] = []
    inserted: list[Statement] = []
    for name, old, new in changes:
        table = library.catalog.tables[name]
        if old == new:
            continue
        scope = library.scope_of(name)
        if scope is None:
            raise ValueError(f"{name} has no name of its own")
        name = _quoted(name, library)
        if new is None:
            deleted.append(_with_key(f"DELETE FROM {name}", table, library, (), old, scope))
        elif old is None:
            marks = ", ".join(_mark(library, n) for n in range(1, len(new) + 1))
            columns = ", ".join(column.name for column in table.columns)
            sql = f"INSERT INTO {name} ({columns}) VALUES ({marks})"
            inserted.append(Statement(sql, tuple(map(json_of, new)), scope=scope))
        else:
            sets = ", ".join(f"{column.name} = {_mark(library, n)}" for n, column in enumerate(table.columns, 1))
            updated.append(_with_key(f"UPDATE {name} SET {sets}", table, library, new, old, scope))
    made = (*deleted, *updated, *inserted)
    if transaction.references != "kept":
        made = tuple(msgspec.structs.replace(statement, references=transaction.references) for statement in made)
    return msgspec.structs.replace(transaction, statements=made)


def _quoted(name: str, library: SqlLibrary) -> str:
    """The name of a table, in quotes where it needs them: a definition that is not a log's first has a name of ours."""
    mark = library.dialect.rules.running.identifier_quote
    return f"{mark}{name}{mark}" if " " in name else name


def _with_key(sql: str, table: Table, library: SqlLibrary, before: Row, old: Row | None, scope: int) -> Statement:
    assert old is not None
    if not table.keys:
        raise ValueError(f"{table.name} has no key")
    columns = table.keys[0].columns
    tests = (f"{table.columns[c].name} = {_mark(library, len(before) + n)}" for n, c in enumerate(columns, 1))
    params = (*before, *(old[column] for column in columns))
    return Statement(f"{sql} WHERE {' AND '.join(tests)}", tuple(map(json_of, params)), scope=scope)


def _mark(library: SqlLibrary, number: int) -> str:
    return f"${number}" if library.dialect.rules.running.numbered_parameters else "?"
