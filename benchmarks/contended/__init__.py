"""Contended rows under everything at once: reads by key, by predicate and of aggregates, joins, inserts, deletes,
updates by predicate; with locking reads, upserts, joined writes and subqueries, where the product has them.

Does not know at which level it runs, nor how it is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import psycopg

from benchmarks.contended.texts import POSTGRES, Texts
from troubadour.record import Executor, Logic, ServerError
from troubadour.record.runs.workload import Rows

Step = Callable[[Executor], None]
"""A part of a transaction: a few statements, each of which may depend on the answers before it."""
PAUSE = 0.0005
"""Seconds that a client thinks for between two steps, now and then."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How often each kind is drawn: transactions that only read; steps of what only this product has, those that write
    what they computed from a read, and of the others reads and writes (else a row is made anew); how often a client
    waits after a step. `lengths`: of a transaction, in steps."""

    only_reads: float = 0.25
    more: float = 0.0
    computed: float = 0.0
    reads: float = 0.45
    writes: float = 0.4
    waits: float = 0.0
    lengths: tuple[int, ...] = (1, 1, 2, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Items:
    """A `troubadour.record.Workload` on rows that come and go; ids 1 to `count`. An insert that finds its id taken ends
    its transaction.

    Up to 100 rows there are two groups, quantities below 20 at first and bounds from 1 to 12. With n times 100 rows
    there are n times as many groups, bounds reach n times as far, and quantities n squared: so a predicate finds some
    tens of rows and the join of rows of one quantity as many pairs as with 100, while half of the reads look at the
    whole table."""

    count: int = 10
    texts: Texts = POSTGRES
    mix: Mix = Mix()

    @property
    def scale(self) -> int:
        """How many times 100 rows there are, at least one."""
        return max(1, self.count // 100)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return 2 * self.scale

    @property
    def quantities(self) -> int:
        """How many quantities new rows have."""
        return 20 * self.scale**2

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return (f"CREATE TABLE items {self.texts.columns}",)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"items": ("id", "grp", "qty", "price", "note")}

    @property
    def dialect(self) -> str:
        """That of the texts."""
        return self.texts.dialect

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    def rows(self) -> Iterable[Rows]:
        """All of them are there at first."""
        price = self.texts.price
        rows = [
            (n, n % self.groups, 5 * n % self.quantities, price(100 * n), None if n % 3 else "first")
            for n in range(1, self.count + 1)
        ]
        yield "items", self.tables["items"], rows

    def draw(self, random: Random) -> Logic:
        """One to four steps; a quarter of the transactions only reads."""
        mix = self.mix
        steps = [self._step(random) for _ in range(random.choice(mix.lengths))]
        if random.random() < mix.only_reads:
            steps = [self._read(random) for _ in steps]
        waits = [bool(mix.waits) and random.random() < mix.waits for _ in steps]

        def logic(executor: Executor) -> None:
            try:
                for step, wait in zip(steps, waits, strict=True):
                    step(executor)
                    if wait:
                        time.sleep(PAUSE)
            except (psycopg.errors.UniqueViolation, ServerError) as error:
                if not (error.sqlstate or "").startswith("23"):
                    raise
                # what went before is kept where the product lets it; in PostgreSQL the COMMIT becomes a ROLLBACK

        return logic

    def _step(self, random: Random) -> Step:
        mix = self.mix
        if mix.more and random.random() < mix.more:
            return self._statement(random, random.choice(self.texts.more))
        if mix.computed and random.random() < mix.computed:
            return self._computed(random)
        kind = random.random()
        if kind < mix.reads:
            return self._read(random)
        if kind < mix.reads + mix.writes:
            return self._statement(random, random.choice(self.texts.writes))
        return self._renew(random)

    def _read(self, random: Random) -> Step:
        return self._statement(random, random.choice(self.texts.reads))

    def _statement(self, random: Random, sql: str) -> Step:
        """The parameters that the text uses, numbered anew."""
        values = {
            "$1": random.randint(1, self.count),
            "$2": random.randint(0, self.groups - 1),
            "$3": random.randint(1, 12 * self.scale),
        }
        above = min(2, self.scale) * self.quantities
        sql = sql.format(last=self.groups - 1, top=2 * self.quantities, above=above)
        used = [name for name in values if name in sql]
        for number, name in enumerate(used, 1):
            sql = sql.replace(name, f"${number}")
        return _send(sql, tuple(values[name] for name in used))

    def _computed(self, random: Random) -> Step:
        """Read a row, locked or not, and write what the client computed from it."""
        item, more = random.randint(1, self.count), random.randint(1, 3)
        locked = self.texts.locked if random.random() < 0.5 else ""

        def step(executor: Executor) -> None:
            for (found,) in executor.execute(f"SELECT qty FROM items WHERE id = $1{locked}", (item,)).rows:
                assert isinstance(found, int)
                executor.execute("UPDATE items SET qty = $1 WHERE id = $2", (found + more, item))

        return step

    def _renew(self, random: Random) -> Step:
        """Insert a row, mostly after deleting the one that has its id."""
        item = random.randint(1, self.count)
        group, quantity = random.randint(0, self.groups - 1), random.randint(0, self.quantities)
        row = (item, group, quantity, self.texts.price(random.randint(100, 999)), "again")
        insert = _send(self.texts.insert, row)
        if random.random() >= 0.7:
            return insert
        delete = _send("DELETE FROM items WHERE id = $1", (item,))

        def step(executor: Executor) -> None:
            delete(executor)
            insert(executor)

        return step


def _send(sql: str, params: tuple[object, ...]) -> Step:
    def step(executor: Executor) -> None:
        executor.execute(sql, params)

    return step


@dataclass(frozen=True, slots=True)
class Mixed(Items):
    """A third of the statements lock, upsert or join."""

    mix: Mix = Mix(more=0.35)
