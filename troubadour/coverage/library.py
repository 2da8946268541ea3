"""The library of a log: its schema, and the definitions that it changes (CONTRACT §1 *Header*).

Does not know where logs come from.
"""

from __future__ import annotations

from sql_semantics.library import SqlLibrary
from troubadour.coverage.enforcement import enforcement
from troubadour.coverage.scopes import keeps_time, settle, without
from troubadour.execution.definitions import alterations_of, definitions_of
from troubadour.execution.dialects import dialect_of
from troubadour.isolation.levels import LEVELS, Scope
from troubadour.model.log import Log


def library_for(log: Log, isolation: str | None = None) -> tuple[Log, SqlLibrary]:
    """The log, its statements told which definitions hold for them and whether foreign keys do, and its library, for an
    audit at `isolation` (None: the levels in the log).

    Definitions are followed through real time (`coverage.scopes`) where levels keep it and it is needed: where tables
    change that stand already, and where not every read takes one state. Raises SchemaError, Unsupported, UnknownTable.
    """
    header = log.header
    enforced = enforcement(log, dialect_of(log))
    log = enforced.of(log)
    definitions, altered = definitions_of(log), alterations_of(log)
    library = SqlLibrary(enforced.dialect, header.schema, header.procedures, definitions, altered)
    if not _needs_time(log, library, altered, isolation):
        return log, library
    settled = settle(log, library.dialect)
    if not settled.changes:
        return log, library
    dialect = library.dialect
    left = without(definitions, settled.tables, dialect)
    others = tuple(text for (text,) in without([(text,) for text in altered], settled.tables, dialect))
    library = SqlLibrary(enforced.dialect, header.schema, header.procedures, left, others, changes=settled.changes)
    return settled.told(log), library


def _needs_time(log: Log, library: SqlLibrary, altered: tuple[str, ...], isolation: str | None) -> bool:
    if not keeps_time(log, isolation):
        return False
    transient = library.catalog.transient
    if altered or any(table.refused for table in transient.values()):
        return True
    named = [isolation] if isolation else [log.header.isolation, *(t.isolation for t in log.transactions)]
    levels = [LEVELS[name] for name in {name for name in named if name is not None}]
    return bool(transient) and any(level.scope is Scope.STATEMENT or level.acts for level in levels)
