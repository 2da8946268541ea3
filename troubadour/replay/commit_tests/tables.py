"""What tables that come and go ask of a commit (paper §3.1; PostgreSQL 13.6, DuckDB): replay's own transcription.

A transaction that drops a table drops all of it, and one that writes to a table writes to the table that it met. Does
not know levels.
"""

from __future__ import annotations

from sql_semantics.ir.definitions import EXISTING
from sql_semantics.ir.schema import Catalog
from troubadour.replay.store import Store, Writes


def dropped_by(writes: Writes, store: Store, catalog: Catalog) -> dict[str, bool]:
    """The tables that were there before and that the writes drop; whether each is still there in the newest state."""
    stored = store.tables.get(EXISTING)
    if stored is None:
        return {}
    names = {(table.number,): name for name, table in catalog.transient.items()}
    found: dict[str, bool] = {}
    for row, values in writes.get(EXISTING, {}).items():
        versions = stored.rows.get(row)
        if values is None and versions is not None:
            for before in versions.values:
                if before is not None:
                    found[names[before]] = row in stored.newest  # type: ignore[index]
    return found


def refused_tables(writes: Writes, store: Store, catalog: Catalog, met: int) -> str | None:
    """Why these writes cannot follow the newest state, where the transaction met the tables of state `met`."""
    if not catalog.transient:
        return None
    for name, there in dropped_by(writes, store, catalog).items():
        if not there:
            return f"it drops {name}, which had been dropped already"
        left = [row for row in store.tables[name].newest if writes.get(name, {}).get(row, ()) is not None]
        if left:
            return f"it drops {name} without {left[0]}, which came later"
    existing = store.tables[EXISTING]
    made = [values for values in writes.get(EXISTING, {}).values() if values is not None]
    for name, rows in writes.items():
        table = catalog.transient.get(name)
        if table is None or (table.number,) in made or all(values is None for values in rows.values()):
            continue
        standing = [row for row, values in existing.newest.items() if values == (table.number,)]
        since = existing.rows[standing[0]].made_at(store.newest) if standing else None
        if since is None or since > met:
            return f"it writes to {name}, which had been dropped since"
    return None
