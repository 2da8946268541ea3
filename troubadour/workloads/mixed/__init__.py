"""A few contended rows under everything at once: reads by key, by predicate and of aggregates, joins, updates that add,
inserts, deletes, and reads of everything; so that what goes wrong on a server shows. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import psycopg

from sql_semantics.records import dataclass
from troubadour.record import Draws, Executor, Logic, ServerError, UserRollback
from troubadour.record.runs.workload import Rows
from troubadour.workloads.texts import DialectName

_READS = (
    "SELECT id, grp, qty FROM items WHERE id = $1",
    "SELECT id, qty FROM items WHERE grp = $1 ORDER BY id",
    "SELECT id, qty FROM items WHERE qty < $1",
    "SELECT COUNT(*), SUM(qty) FROM items",
    "SELECT COUNT(*), SUM(qty), MAX(qty) FROM items WHERE grp = $1",
    "SELECT grp, COUNT(*), SUM(qty) FROM items GROUP BY grp ORDER BY grp",
    "SELECT id, grp, qty, note FROM items ORDER BY id",
    "SELECT a.id, b.id FROM items a JOIN items b ON a.qty = b.qty AND a.id < b.id",
)
_WRITES = (
    "UPDATE items SET qty = qty + 1 WHERE id = $1",
    "UPDATE items SET qty = qty + 2, note = 'more' WHERE id = $1",
    "UPDATE items SET qty = qty * 2 WHERE id = $1 AND qty < 1000",
    "UPDATE items SET qty = qty + 3 WHERE grp = $1",
    "UPDATE items SET grp = 3 - grp WHERE id = $1",
    "DELETE FROM items WHERE id = $1",
)
_INSERT = "INSERT INTO items (id, grp, qty, note) VALUES ($1, $2, $3, $4)"


@dataclass(frozen=True, slots=True)
class Mixed:
    """A `troubadour.record.Workload` on items 1 to `items`, which come and go. A key that is taken, and one
    transaction in twenty, ends in a rollback."""

    dialect: DialectName = "postgres"
    items: int = 8
    seed: int = 0

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return ("CREATE TABLE items (id INT PRIMARY KEY, grp INT NOT NULL, qty INT NOT NULL, note VARCHAR(20))",)

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"items": ("id", "grp", "qty", "note")}

    def rows(self) -> Iterable[Rows]:
        """Three items in four."""
        random = Random(f"{self.seed}/mixed")
        items = [(n, 1 + n % 2, random.randint(0, 9), f"item {n}") for n in range(1, self.items + 1) if n % 4]
        yield "items", self.tables["items"], items

    def draw(self, random: Draws) -> Logic:
        """One to three statements: half of the transactions only read."""
        reads = random.random() < 0.4
        steps = [self._step(random, reads) for _ in range(random.choice((1, 1, 2, 2, 3)))]
        gives_up = random.random() < 0.05

        def logic(executor: Executor) -> None:
            try:
                for sql, params in steps:
                    executor.execute(sql, params)
            except (psycopg.Error, ServerError) as error:
                if error.sqlstate in ("23505", "23000"):
                    raise UserRollback(str(error)) from error
                raise
            if gives_up:
                raise UserRollback("changed its mind")

        return logic

    def _step(self, random: Random, reads: bool) -> tuple[str, tuple[object, ...]]:
        item = random.randint(1, self.items)
        kind = random.random()
        if not reads and kind < 0.15:
            return _INSERT, (item, random.randint(1, 2), random.randint(0, 9), "new")
        sql = random.choice(_READS if reads or kind > 0.75 else _WRITES)
        if "grp = $1" in sql:
            return sql, (random.randint(1, 2),)
        if "qty < $1" in sql:
            return sql, (random.randint(1, 20),)
        return sql, (item,) if "$1" in sql else ()
