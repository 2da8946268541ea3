"""The CREATE and DROP statements of a log, and what tables that come and go ask of a commit (paper §3.1).

A table's definition is read before anything is run. In PostgreSQL and DuckDB DROP is no write to rows: it succeeds over
rows that are newer than its snapshot, but what it takes along is everything that the table then holds; and nobody
writes to a table that is not there any more. Does not know what the definitions say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sql_semantics.frontend import (
    changes_index,
    changes_view,
    completes_table,
    defines_table,
    drops_type,
    names_anew,
    renames_table,
)
from sql_semantics.ir.definitions import EXISTING
from sql_semantics.ir.queries import BaseTable
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.library import SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.view import Row
from troubadour.execution.free.choices import OpenRead
from troubadour.execution.prepared import PreparedStatement, tables_touched
from troubadour.execution.states.history import Guarded, RowHistory
from troubadour.execution.states.state_map import StateMap
from troubadour.model.log import Log

Writes = Mapping[RowHistory, "Row | None"]


def definitions_of(log: Log) -> tuple[tuple[str, ...], ...]:
    """The statements that may create or drop a table, in hint order, for `SqlLibrary`: those that follow each other in
    one transaction together, with what completes a table that was created among them. In MySQL only those that are
    transactions by themselves: others commit what was before them."""
    if not any(map(defines_table, log.texts)):
        return ()
    if PRODUCTS[log.header.dialect].running.definitions_commit:
        alone = [transaction.statements[0] for transaction in log.transactions if len(transaction.statements) == 1]
        return tuple((statement.sql,) for statement in alone if defines_table(statement.sql))
    found: list[tuple[str, ...]] = []
    failed: list[str] = []
    for transaction in log.transactions:
        run: list[str] = []
        for statement in transaction.statements:
            defines = defines_table(statement.sql)
            if defines and statement.error is not None:
                failed.append(statement.sql)
            elif defines or (run and statement.error is None and completes_table(statement.sql)):
                run.append(statement.sql)
                continue
            if run:
                found.append(tuple(run))
                run = []
        if run:
            found.append(tuple(run))
    told = {text for run in found for text in run}
    return (*found, *((text,) for text in dict.fromkeys(failed) if text not in told))


def alterations_of(log: Log) -> tuple[str, ...]:
    """The statements that change a table which stands already: those that complete none just created, or rename it."""
    changing = {text for text in log.texts if any(changes(text) for changes in _CHANGES)}
    if not changing:
        return ()
    told = {text for run in definitions_of(log) for text in run}
    found = (
        statement.sql
        for transaction in log.transactions
        for statement in transaction.statements
        if statement.error is None
        and statement.sql in changing
        and (statement.sql not in told or renames_table(statement.sql))
    )
    return tuple(dict.fromkeys(found))


_CHANGES = (completes_table, changes_index, changes_view, drops_type, names_anew)


def others_of(log: Log, *, failed: bool = False) -> tuple[str, ...]:
    """The texts by which the log defines something itself, whatever it is and whether that is followed or not; or those
    that failed."""
    defining = {text for text in log.texts if _DEFINES.match(text)}
    if not defining:
        return ()
    found = (
        statement.sql
        for transaction in log.transactions
        for statement in transaction.statements
        if statement.sql in defining and (statement.error is not None) is failed
    )
    return tuple(dict.fromkeys(found))


def is_definition(text: str) -> bool:
    """Whether it is one of those statements, or another that defines something."""
    return defines_table(text) or any(changes(text) for changes in _CHANGES) or _DEFINES.match(text) is not None


_DEFINES = pattern(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE|ALTER|DROP)\b", re.IGNORECASE | re.DOTALL)


def dropped_tables(writes: Writes, catalog: Catalog) -> frozenset[str]:
    """The tables that a transaction dropped and had not created itself."""
    if not catalog.transient:
        return frozenset()
    names = {table.number: name for name, table in catalog.transient.items()}
    found: set[str] = set()
    for row, values in writes.items():
        if row.table == EXISTING and values is None:
            found.update(names[version[0]] for version in row.versions if isinstance(version, tuple))  # type: ignore[index]
    return frozenset(found)


def catalog_conflict(states: StateMap, writes: Writes, catalog: Catalog, met: int) -> tuple[RowHistory, str] | None:
    """(a row, what is wrong) where a transaction placed next dropped a table with rows that it did not meet, or wrote
    to one that is another by now than the one that it met in state `met`; None where it did not. Raises OpenRead."""
    if not catalog.transient:
        return None
    dropped = dropped_tables(writes, catalog)
    for row, values in writes.items():
        if row.table == EXISTING and values is None and row.at(states.length) is None:
            return row, "drops a table that had been dropped already"
    for name in sorted(dropped):
        for row in states.tables[name].rows:
            version = row.at(states.length)
            if isinstance(version, Guarded):
                raise OpenRead(row)
            if version is not None and writes.get(row, version) is not None:
                return row, f"drops {name} without {row.address}, which came later"
    made = {values[0] for row, values in writes.items() if row.table == EXISTING and values is not None}
    for name in sorted({row.table for row, values in writes.items() if values is not None}):
        transient = catalog.transient.get(name)
        if transient is None or transient.number in made:
            continue
        standing = [row for row in states.tables[EXISTING].rows if row.at(states.length) == (transient.number,)]
        if not standing or standing[0].changed_at(states.length) > met:
            row = next(row for row in writes if row.table == name)
            return row, f"writes to {name}, which had been dropped since"
    return None


PASSING = "tables that come and go"
"""What is not modelled at levels at which not every read of a transaction takes one state."""


def first_passing(
    statements: Iterable[PreparedStatement], library: SqlLibrary, *, moving: bool, real_time: bool
) -> int | None:
    """The first statement that looks at or changes a table of which a level does not tell whether it is there, because
    not every read takes one state (`moving`), or which of its definitions holds, as `real_time` would. None for none.
    """
    passing = passing_tables(library) if moving else frozenset[str]()
    if not (real_time or library.standing):
        passing |= library.changing
    if not passing:
        return None
    for statement in statements:
        program = statement.program
        if program is None:
            continue
        if tables_touched(program, library.catalog) & passing:
            return statement.index
    return None


def passing_tables(library: SqlLibrary) -> frozenset[str]:
    """The tables that exist in some states only, the one that tells which, and those that a view among them reads: a
    statement that uses the view names these alone."""
    catalog = library.catalog
    if not catalog.transient:
        return frozenset()
    queries = [table.query for name in catalog.transient if (table := catalog.tables.get(name)) is not None]
    read = {
        part.name
        for query in queries
        if query is not None
        for part in walk_parts((query,))
        if isinstance(part, BaseTable)
    }
    return frozenset({*catalog.transient, EXISTING, *read})
