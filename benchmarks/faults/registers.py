"""A workload whose logs a reference can read: rows read one by one and in ranges, and written with values that are
never written twice. Does not know at which level it runs, nor how it is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from troubadour.record import Draws, Executor, Logic
from troubadour.record.runs.workload import Rows

READ = "SELECT v FROM kv WHERE k = $1"
RANGE = "SELECT k, v FROM kv WHERE k BETWEEN $1 AND $2 ORDER BY k"
WRITE = "UPDATE kv SET v = $1 WHERE k = $2"


@dataclass(frozen=True, slots=True)
class Registers:
    """A `troubadour.record.Workload` on `count` rows, of one to five statements a transaction."""

    count: int = 20
    dialect: str = "postgres"

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return ("CREATE TABLE kv (k INT PRIMARY KEY, v BIGINT NOT NULL)",)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"kv": ("k", "v")}

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    def rows(self) -> Iterable[Rows]:
        """Every row, with value 0."""
        yield "kv", ("k", "v"), [(key, 0) for key in range(1, self.count + 1)]

    def draw(self, random: Draws) -> Logic:
        """Reads, ranges, and writes; half of the writes after a read of their row."""
        steps = [step for _ in range(random.randint(1, 4)) for step in self._steps(random)]

        def logic(executor: Executor) -> None:
            for sql, params in steps:
                executor.execute(sql, params)

        return logic

    def _steps(self, random: Draws) -> Sequence[tuple[str, tuple[int, ...]]]:
        key, kind = random.randint(1, self.count), random.random()
        if kind < 0.3:
            return ((READ, (key,)),)
        if kind < 0.5:
            return ((RANGE, (key, key + random.randint(1, 5))),)
        write = (WRITE, (random.fresh(), key))
        return ((READ, (key,)), write) if random.random() < 0.5 else (write,)
