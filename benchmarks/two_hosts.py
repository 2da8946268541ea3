"""``python -m benchmarks.two_hosts``: real runs whose clients stand on two hosts, each with a clock of its own.

A store of items: predicates, counts, MAX, updates by range, rows that come and go. The run is recorded on PostgreSQL or
MariaDB; then every second session has the other host's clock, which is hours off and not compared with the first. Does
not know how an audit decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.verdicts.measure import Auditor
from troubadour.record import Draws, EmbeddedPostgres, Executor, Logic, record_run
from troubadour.record.runs.workload import Rows
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

OFF = 7_654_321_000
"""Microseconds that the second host's clock is off."""

TIMES = ("invoked", "returned")

HEAD = "| run | transactions | verdict | CPU s | reason |\n|---|---:|---|---:|---|"


@dataclass(frozen=True, slots=True)
class Store:
    """A `troubadour.record.Workload` on `count` items of five kinds."""

    dialect: str = "postgres"
    count: int = 60

    @property
    def schema(self) -> Sequence[str]:
        """The one table."""
        return ("CREATE TABLE items (id INT PRIMARY KEY, kind INT NOT NULL, price INT NOT NULL)",)

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Its columns."""
        return {"items": ("id", "kind", "price")}

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    def rows(self) -> Iterable[Rows]:
        """Every item, with a price."""
        yield "items", ("id", "kind", "price"), [(n, n % 5, 10 + n) for n in range(1, self.count + 1)]

    def draw(self, random: Draws) -> Logic:
        """One or two of the statements."""
        steps = [self._step(random) for _ in range(random.randint(1, 2))]

        def logic(executor: Executor) -> None:
            for sql, params in steps:
                executor.execute(sql, params)

        return logic

    def _step(self, random: Draws) -> tuple[str, tuple[int, ...]]:
        kind, low = random.randint(0, 4), random.randint(1, self.count)
        high = low + random.randint(1, 5)
        steps: list[tuple[str, tuple[int, ...]]] = [
            ("SELECT id, price FROM items WHERE kind = $1 AND price > $2 ORDER BY id", (kind, low)),
            ("SELECT COUNT(*) FROM items WHERE price BETWEEN $1 AND $2", (low, high + 10)),
            ("SELECT MAX(price) FROM items WHERE kind = $1", (kind,)),
            ("UPDATE items SET price = price + 1 WHERE id BETWEEN $1 AND $2", (low, high)),
            ("UPDATE items SET price = price - 1 WHERE id BETWEEN $1 AND $2 AND price > 5", (low, high)),
            ("INSERT INTO items VALUES ($1, $2, $3)", (1_000 + random.fresh(), kind, low)),
            ("DELETE FROM items WHERE id > 1000 AND price = $1", (low,)),
        ]
        return random.choice(steps)


def on_two_hosts(lines: Sequence[str]) -> list[str]:
    """A recorded log whose every second session has the second host's clock."""
    found: list[str] = []
    sessions: dict[str, int] = {}
    for line in lines:
        entry: dict[str, Any] = json.loads(line)
        if "session" in entry and sessions.setdefault(entry["session"], len(sessions)) % 2:
            entry["clock"] = "second host"
            for part in (entry, entry.get("end"), entry.get("begin"), *entry["statements"]):
                for name in TIMES if part else ():
                    if name in part:
                        part[name] += OFF
            line = json.dumps(entry)
        found.append(line)
    return found


@click.command()
@click.option("--transactions", default=1_000, show_default=True)
@click.option("--runs", default=2, show_default=True, help="Of each product and level.")
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/two-hosts"), show_default=True)
def main(transactions: int, runs: int, cpu: float, folder: Path) -> None:
    """Record the runs and audit them, at the level that they ran at."""
    folder.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    with EmbeddedPostgres() as postgres, PrivateMariaDB() as mariadb, Auditor() as auditor:
        for dialect, dsn in (("postgres", postgres.dsn), ("mysql", mariadb.dsn)):
            levels = ("snapshot", "serializable") if dialect == "postgres" else ("serializable",)
            for level in levels:
                for seed in range(runs):
                    path = folder / f"{dialect}-{level}-{seed}.jsonl"
                    record_run(
                        Store(dialect), dsn, path, isolation=level, sessions=6, transactions=transactions, seed=seed
                    )
                    lines = on_two_hosts(path.read_text(encoding="utf-8").splitlines())
                    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
                    found = auditor.audit((path,), level, cpu)
                    reason = (found.reason or "").replace("|", "/")
                    name = f"{dialect}, {level}, seed {seed}"
                    print(f"| {name} | {transactions:,} | {found.verdict} | {found.cpu:.2f} | {reason} |", flush=True)


if __name__ == "__main__":
    main()
