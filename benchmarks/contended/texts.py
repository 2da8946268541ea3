"""The statements of the contended workload in each dialect: what all products take, and what only one has.

``$1`` stands for an item's id, ``$2`` for a group, ``$3`` for a small number, ``{last}`` for the last group, ``{top}``
for a quantity that few reach, and ``{above}`` for one that is far from another. Does not know how often each is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

_COLUMNS = "(id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, price NUMERIC(8,2), note TEXT)"
_INSERT = "INSERT INTO items (id, grp, qty, price, note) VALUES "

_READS = (
    "SELECT id, qty, price FROM items WHERE id = $1",
    "SELECT id, grp, qty FROM items WHERE grp = $2 ORDER BY id",
    "SELECT id, qty FROM items WHERE qty < $3",
    "SELECT COUNT(*), SUM(qty) FROM items",
    "SELECT COUNT(*), SUM(price), MAX(qty) FROM items WHERE grp = $2",
    "SELECT grp, COUNT(*), SUM(qty) FROM items GROUP BY grp ORDER BY grp",
    "SELECT id, note FROM items ORDER BY qty DESC, id LIMIT 3",
    "SELECT a.id, b.id FROM items a JOIN items b ON a.qty = b.qty AND a.id < b.id",
)
_TOLD = (
    "UPDATE items SET qty = qty + 2, note = 'more' WHERE id = $1 RETURNING id, qty",
    "UPDATE items SET grp = {last} - grp WHERE qty = $3 RETURNING id, grp",
    "DELETE FROM items WHERE qty < $3 AND grp = $2 RETURNING id, qty",
)
_UNTOLD = (
    "UPDATE items SET qty = qty + 2, note = 'more' WHERE id = $1",
    "UPDATE items SET grp = {last} - grp WHERE qty = $3",
    "DELETE FROM items WHERE qty < $3 AND grp = $2",
)


def _writes(told: tuple[str, str, str]) -> tuple[str, ...]:
    return (
        "UPDATE items SET qty = qty + 1 WHERE id = $1",
        "UPDATE items SET qty = qty + 1 WHERE id = $1",
        told[0],
        "UPDATE items SET price = price * 2 WHERE id = $1 AND price < 1000",
        "UPDATE items SET qty = qty - 1 WHERE grp = $2 AND qty > $3",
        told[1],
        "UPDATE items SET price = NULL, qty = qty % {top} WHERE qty >= {top}",
        "DELETE FROM items WHERE id = $1",
        told[2],
    )


_WITHIN = (
    "UPDATE items SET qty = (SELECT MAX(qty) FROM items) WHERE id = $1",
    "UPDATE items SET qty = qty + 1 WHERE id IN (SELECT id FROM items WHERE qty = $3)",
    "DELETE FROM items WHERE qty > (SELECT AVG(qty) + {above} FROM items)",
)
_UPSERT = (
    _INSERT + "($1, $2, $3, 1, 'up') ON CONFLICT (id) DO UPDATE SET qty = items.qty + excluded.qty RETURNING id, qty"
)
_SKIP = _INSERT + "($1, $2, $3, 2, 'skip') ON CONFLICT DO NOTHING"
_JOINED = (
    "UPDATE items SET qty = items.qty + o.qty FROM items o WHERE o.id = $1 AND items.grp = $2 AND o.id <> items.id"
)


@dataclass(frozen=True, slots=True)
class Texts:
    """What one product is asked. `more`: what is its own, locks, upserts, joins and subqueries. `locked`: what stands
    behind a read whose row is written next, where it is to be locked. `exact`: numbers may have places."""

    dialect: str
    writes: tuple[str, ...]
    more: tuple[str, ...]
    reads: tuple[str, ...] = _READS
    columns: str = _COLUMNS
    insert: str = _INSERT + "($1, $2, $3, $4, $5)"
    locked: str = ""
    exact: bool = True

    def price(self, hundredths: int) -> Decimal | int:
        """A price, as a parameter."""
        return Decimal(hundredths).scaleb(-2) if self.exact else hundredths


POSTGRES = Texts(
    "postgres",
    _writes(_TOLD),
    (
        "SELECT id, qty FROM items WHERE id = $1 FOR UPDATE",
        "SELECT id, grp, qty FROM items WHERE grp = $2 AND qty < $3 ORDER BY id FOR UPDATE",
        "SELECT id, qty FROM items WHERE qty >= $3 ORDER BY id LIMIT 2 FOR UPDATE",
        "SELECT id FROM items WHERE grp = $2 FOR SHARE",
        _UPSERT,
        _SKIP,
        _JOINED,
        *_WITHIN,
    ),
    locked=" FOR UPDATE",
)
MARIADB = Texts(
    "mysql",
    _writes(_UNTOLD),
    (
        "SELECT id, qty FROM items WHERE id = $1 FOR UPDATE",
        "SELECT id, grp, qty FROM items WHERE grp = $2 AND qty < $3 ORDER BY id FOR UPDATE",
        "SELECT id FROM items WHERE qty < $3 LOCK IN SHARE MODE",
        "SELECT id, qty FROM items WHERE grp = $2 FOR UPDATE",
        _INSERT + "($1, $2, $3, 1, 'up') ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty)",
        "INSERT IGNORE INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 2, 'skip')",
        "REPLACE INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 3, 'new')",
        "UPDATE items a JOIN items b ON b.id = $1 SET a.qty = a.qty + 1 WHERE a.grp = $2 AND a.id <> b.id",
        "UPDATE items SET qty = 5 WHERE id = $1",
        "DELETE FROM items WHERE id = $1 RETURNING id, qty",
    ),
    columns=_COLUMNS.replace("TEXT", "VARCHAR(20)"),
    locked=" FOR UPDATE",
)
SQLITE = Texts(
    "sqlite",
    _writes(_TOLD),
    (_UPSERT, _SKIP, _JOINED, "REPLACE INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 3, 'new')"),
    columns="(id INTEGER PRIMARY KEY, grp INTEGER NOT NULL, qty INTEGER NOT NULL, price INTEGER, note TEXT)",
    exact=False,
)
"""Without subqueries on the table that is written, which are refused: SQLite may run them on rows half written."""
DUCKDB = Texts("duckdb", _writes(_UNTOLD), (_UPSERT.replace(" RETURNING id, qty", ""), _SKIP, _JOINED, *_WITHIN))
"""Without RETURNING in updates: DuckDB 2.0 loses one that stands beside another update of a keyed table."""
