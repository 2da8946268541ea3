"""A mixed workload for the profiles of MariaDB: locking reads, upserts, joined writes (DESIGN §8).

Does not know at which level it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.contended import Items

_MARIA_READS = (
    "SELECT id, qty, price FROM items WHERE id = $1",
    "SELECT id, grp, qty FROM items WHERE grp = $2 ORDER BY id",
    "SELECT COUNT(*), SUM(qty) FROM items",
    "SELECT a.id, b.id FROM items a JOIN items b ON a.qty = b.qty AND a.id < b.id",
    "SELECT id, qty FROM items WHERE id = $1 FOR UPDATE",
    "SELECT id, qty FROM items WHERE grp = $2 FOR UPDATE",
    "SELECT id FROM items WHERE qty < $3 LOCK IN SHARE MODE",
)
_MARIA_WRITES = (
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = 5 WHERE id = $1",
    "UPDATE items SET qty = qty - 1 WHERE grp = $2 AND qty > $3",
    "UPDATE items SET grp = 1 - grp WHERE qty = $3",
    "DELETE FROM items WHERE id = $1",
    "INSERT INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 1, 'up') "
    "ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty)",
    "INSERT IGNORE INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 2, 'skip')",
    "UPDATE items a JOIN items b ON b.id = $1 SET a.qty = a.qty + 1 WHERE a.grp = $2 AND a.id <> b.id",
)


@dataclass(frozen=True, slots=True)
class MariaMixed(Items):
    """The like for MariaDB."""

    @property
    def schema(self) -> Sequence[str]:
        return (
            "CREATE TABLE items (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, price NUMERIC(8,2), "
            "note VARCHAR(20))",
        )

    @property
    def dialect(self) -> str:
        return "mysql"

    def _step(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        return [self._statement(random, random.choice(_MARIA_WRITES if random.random() < 0.5 else _MARIA_READS))]

    def _read(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        return [self._statement(random, random.choice(_MARIA_READS[:4]))]
