"""The library of a log: its schema, and the definitions that it changes.

Does not know where logs come from.
"""

from __future__ import annotations

from sql_semantics.frontend import dropped_indexes
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import given_name
from sql_semantics.values.unsettled import unsettled
from troubadour.coverage.enforcement import enforcement, names_setting
from troubadour.coverage.scopes import Settled, keeps_time, levels_of, reads_states, settle, without
from troubadour.execution.definitions import alterations_of, definitions_of, is_definition, others_of
from troubadour.execution.dialects import dialect_of
from troubadour.execution.initial.rows import dangles, known_rows, unread_columns
from troubadour.isolation.levels import Scope
from troubadour.model.log import Log


def library_of(log: Log) -> SqlLibrary:
    """The library of a log whose definitions are not followed one after the other. Raises as `library_for`."""
    return _without_unread(log, _whole(log, dialect_of(log)))


def changes_library(text: str) -> bool:
    """Whether a statement may make the library of a log another one."""
    return is_definition(text) or names_setting(text)


def _without_unread(log: Log, library: SqlLibrary) -> SqlLibrary:
    """The library without columns whose initial values are not modelled."""
    unread = unread_columns(log, library)
    return library.forgetting(unread) if unread else library


def _whole(log: Log, dialect: Dialect) -> SqlLibrary:
    return SqlLibrary(
        dialect,
        log.header.schema,
        log.header.procedures,
        definitions_of(log),
        alterations_of(log),
        beside=others_of(log),
        failed=others_of(log, failed=True),
        partly=True,
        unsettled=unsettled(log.header.settings, dialect),
    )


def library_for(log: Log, isolation: str | None = None) -> tuple[Log, SqlLibrary]:
    """The log, its statements told which definitions hold for them and whether foreign keys do, and its library, for an
    audit at `isolation` (None: the levels in the log).

    Definitions are followed (`coverage.scopes`) where it is needed: where tables change that stand already, and where
    not every read takes one state. Real time tells at levels that keep it, or else the states that transactions read.
    Raises SchemaError, Unsupported, UnknownTable, LogError.
    """
    enforced = enforcement(log, dialect_of(log))
    log = enforced.of(log)
    definitions, altered = definitions_of(log), alterations_of(log)
    library = _whole(log, enforced.dialect)
    whole = log, _without_unread(log, library)
    if not _needs_scopes(log, library, altered, isolation):
        return whole
    settled = settle(log, library.dialect) if keeps_time(log, isolation) else Settled()
    standing = not settled.changes and reads_states(log, isolation)
    if standing:
        settled = settle(log, library.dialect, sessions=True)
    unknown = [given_name(name, settled.tables, library.dialect, table=True) for name in log.header.initial_unknown]
    if not settled.changes or (standing and not settled.tables.isdisjoint(unknown)):
        return whole
    dialect = library.dialect
    left = without(definitions, settled.tables, dialect)
    others = tuple(
        text
        for (text,) in without([(text,) for text in altered], settled.tables, dialect)
        if not dropped_indexes(text, dialect)  # all that have a key are followed then
    )
    library = library.following(settled.changes, left, others, standing=standing)
    if not library.dialect.rules.running.table_changes_recheck and dangles(known_rows(log, library), library.catalog):
        return whole  # a change of a table does not look at references, and ours does
    return settled.told(log), _without_unread(log, library)


def _needs_scopes(log: Log, library: SqlLibrary, altered: tuple[str, ...], isolation: str | None) -> bool:
    transient = library.catalog.transient
    if altered or any(table.refused for table in transient.values()):
        return True
    levels = levels_of(log, isolation)
    own = any(level is not None and (level.scope is Scope.STATEMENT or level.acts) for level in levels)
    return bool(transient) and own and keeps_time(log, isolation)
