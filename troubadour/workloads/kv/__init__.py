"""The key-value store of the paper's comparison with Elle (§8.2, RQ2): a read of one random key, or a write
of one random value to one random key. Does not know how it is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sql_semantics.records import dataclass
from troubadour.record import Draws, Executor, Logic
from troubadour.record.runs.workload import Rows
from troubadour.workloads.texts import Client, DialectName, Mode, Routines, Scripted


@dataclass(frozen=True, slots=True)
class KeyValue(Scripted):
    """A `troubadour.record.Workload`: `keys` rows, values from 1 to `values`, `reads` percent of reads,
    `operations` to a transaction."""

    folder = Path(__file__).parent
    dialect: DialectName = "postgres"
    mode: Mode = "statements"
    keys: int = 10
    values: int = 100
    reads: float = 50.0
    operations: int = 1

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return ("CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)",)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"kv": ("k", "v")}

    def rows(self) -> Iterable[Rows]:
        """Every key, with value 0."""
        yield "kv", ("k", "v"), [(key, 0) for key in range(1, self.keys + 1)]

    def draw(self, random: Draws) -> Logic:
        """Reads and writes with their keys."""
        steps = [self._step(random) for _ in range(self.operations)]

        def logic(executor: Executor) -> None:
            for step in steps:
                step(executor)

        return logic

    def _step(self, random: Draws) -> Logic:
        key = random.randint(1, self.keys)
        if random.random() * 100 < self.reads:
            return ROUTINES.logic(self.mode, self.dialect, ("kv_get", key))
        return ROUTINES.logic(self.mode, self.dialect, ("kv_put", key, random.randint(1, self.values)))


def get(client: Client, key: int) -> None:
    """Read a key."""
    client.rows("SELECT v FROM kv WHERE k = $1", key)


def put(client: Client, key: int, value: int) -> None:
    """Write a key without having read it."""
    client.write("UPDATE kv SET v = $1 WHERE k = $2", value, key)


ROUTINES = Routines({"kv_get": get, "kv_put": put}, rows={"kv_get"})
