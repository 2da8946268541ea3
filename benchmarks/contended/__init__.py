"""Contended rows under everything at once, for long runs on PostgreSQL: reads by key, by predicate and of aggregates,
joins, inserts, deletes, updates by predicate; with locking reads, upserts, joined writes and subqueries (DESIGN §8).

Does not know at which level it runs, nor who records it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import psycopg

from troubadour.record import Executor, Logic
from troubadour.record.workload import Rows

ITEMS = "CREATE TABLE items (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, price NUMERIC(8,2), note TEXT)"
_INSERT = "INSERT INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, $4, $5)"
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
_WRITES = (
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = qty + 2, note = 'more' WHERE id = $1 RETURNING id, qty",
    "UPDATE items SET price = price * 2 WHERE id = $1 AND price < 1000",
    "UPDATE items SET qty = qty - 1 WHERE grp = $2 AND qty > $3",
    "UPDATE items SET grp = 1 - grp WHERE qty = $3 RETURNING id, grp",
    "UPDATE items SET price = NULL, qty = 0 WHERE qty >= 40",
    "DELETE FROM items WHERE id = $1",
    "DELETE FROM items WHERE qty < $3 AND grp = $2 RETURNING id, qty",
)
_MORE = (
    "SELECT id, qty FROM items WHERE id = $1 FOR UPDATE",
    "SELECT id, grp, qty FROM items WHERE grp = $2 AND qty < $3 ORDER BY id FOR UPDATE",
    "SELECT id, qty FROM items WHERE qty >= $3 ORDER BY id LIMIT 2 FOR UPDATE",
    "SELECT id FROM items WHERE grp = $2 FOR SHARE",
    "INSERT INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 1, 'up') "
    "ON CONFLICT (id) DO UPDATE SET qty = items.qty + excluded.qty RETURNING id, qty",
    "INSERT INTO items (id, grp, qty, price, note) VALUES ($1, $2, $3, 2, 'skip') ON CONFLICT DO NOTHING",
    "UPDATE items SET qty = items.qty + o.qty FROM items o WHERE o.id = $1 AND items.grp = $2 AND items.id <> o.id",
    "UPDATE items SET qty = (SELECT MAX(qty) FROM items) WHERE id = $1",
    "UPDATE items SET qty = qty + 1 WHERE id IN (SELECT id FROM items WHERE qty = $3)",
    "DELETE FROM items WHERE qty > (SELECT AVG(qty) + 20 FROM items)",
)


@dataclass(frozen=True, slots=True)
class Items:
    """A `troubadour.record.Workload` on a few rows that come and go; ids 1 to `count`. An insert that finds its id
    taken ends its transaction."""

    count: int = 10

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return (ITEMS,)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"items": ("id", "grp", "qty", "price", "note")}

    @property
    def dialect(self) -> str:
        """PostgreSQL's."""
        return "postgres"

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    def rows(self) -> Iterable[Rows]:
        """All of them are there at first."""
        rows = [(n, n % 2, 5 * n % 20, Decimal(n), None if n % 3 else "first") for n in range(1, self.count + 1)]
        yield "items", self.tables["items"], rows

    def draw(self, random: Random) -> Logic:
        """One to four steps; a quarter of the transactions only reads."""
        steps = [self._step(random) for _ in range(random.choice((1, 1, 2, 2, 3, 4)))]
        if random.random() < 0.25:
            steps = [self._read(random) for _ in steps]

        def logic(executor: Executor) -> None:
            try:
                for statements in steps:
                    for sql, params in statements:
                        executor.execute(sql, params)
            except psycopg.errors.UniqueViolation:
                return  # its COMMIT becomes a ROLLBACK

        return logic

    def _step(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        kind = random.random()
        if kind < 0.45:
            return self._read(random)
        if kind < 0.85:
            return [self._statement(random, random.choice(_WRITES))]
        return self._renew(random)

    def _read(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        return [self._statement(random, random.choice(_READS))]

    def _statement(self, random: Random, sql: str) -> tuple[str, tuple[object, ...]]:
        """The parameters that the text uses, numbered anew."""
        values = {"$1": random.randint(1, self.count), "$2": random.randint(0, 1), "$3": random.randint(1, 12)}
        used = [name for name in values if name in sql]
        for number, name in enumerate(used, 1):
            sql = sql.replace(name, f"${number}")
        return sql, tuple(values[name] for name in used)

    def _renew(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        """Insert a row, mostly after deleting the one that has its id."""
        item = random.randint(1, self.count)
        row: tuple[object, ...] = (
            item,
            random.randint(0, 1),
            random.randint(0, 20),
            Decimal(random.randint(100, 999)).scaleb(-2),
            "again",
        )
        insert = [(_INSERT, row)]
        return [("DELETE FROM items WHERE id = $1", (item,)), *insert] if random.random() < 0.7 else insert


@dataclass(frozen=True, slots=True)
class Mixed(Items):
    """A third of the statements lock, upsert or join."""

    def _step(self, random: Random) -> list[tuple[str, tuple[object, ...]]]:
        if random.random() < 0.35:
            return [self._statement(random, random.choice(_MORE))]
        return Items._step(self, random)
