"""Transactions that read one of two tables and write the other one, so that two of them together are no serial run, and
others that update or delete what came. What they read changes by rows that come, go, or come and are updated. Does not
know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import psycopg

from troubadour.record import Draws, Executor, Logic, ServerError, UserRollback, Workload
from troubadour.record.runs.workload import Rows
from troubadour.workloads.mixed import Mixed
from troubadour.workloads.texts import DialectName

PLANTED = frozenset({"missed-insert", "missed-delete", "updated-insert"})
"""Faults of the simulated DBMS that it is for."""


@dataclass(frozen=True, slots=True)
class Skews:
    """A `troubadour.record.Workload` on keys 1 to `items` of the tables a and b; a few of them are there at first."""

    items: int = 4
    seed: int = 0
    dialect: DialectName = "postgres"
    deletes: float = 0.3
    """Share of deletions among the writes."""
    updates: float = 0.4
    """Share of transactions that update."""
    reads: int = 2

    @property
    def schema(self) -> Sequence[str]:
        """The two tables."""
        return tuple(f"CREATE TABLE {name} (id INT PRIMARY KEY, val INT NOT NULL)" for name in "ab")

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return {"a": ("id", "val"), "b": ("id", "val")}

    def rows(self) -> Iterable[Rows]:
        """Every second key."""
        for name in "ab":
            yield name, ("id", "val"), [(key, 0) for key in range(1, self.items + 1, 2)][:4]

    def draw(self, random: Draws) -> Logic:
        """Half of them read one table and write the other one, the others update what was inserted and not updated
        yet."""
        read, written = random.sample("ab", 2)
        key, other = random.randint(1, self.items), random.randint(1, self.items)
        steps: list[tuple[str, tuple[int, ...]]] = [
            (f"UPDATE {written} SET val = val + 10 WHERE val BETWEEN 1 AND 9", ())
        ]
        if random.random() >= self.updates:
            write = f"INSERT INTO {written} VALUES ($1, {random.randint(1, 9)})", (other,)
            if random.random() < self.deletes:
                write = f"DELETE FROM {written} WHERE id = $1", (other,)
            again = [(f"SELECT val FROM {read} WHERE id = $1", (key,))] * (self.reads - 1)
            steps = [(f"SELECT id, val FROM {read} ORDER BY id", ()), *again, write]

        def logic(executor: Executor) -> None:
            try:
                for sql, params in steps:
                    executor.execute(sql, params)
            except (psycopg.Error, ServerError) as error:
                if error.sqlstate == "23505":
                    raise UserRollback(str(error)) from error
                raise

        return logic


def workload_for(fault: str | None, seed: int, items: int) -> Workload:
    """What a fault is tried on."""
    if fault == "updated-insert":
        return Skews(seed=seed, items=40, deletes=0, updates=0.5, reads=5)  # long enough for two commits meanwhile
    return Skews(seed=seed) if fault in PLANTED else Mixed(items=items, seed=seed)
