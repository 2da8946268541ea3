"""Runs of the contended workload, each of its own size and mix, on the product that a profile is of.

Does not know how a profile is audited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from benchmarks.contended import Items, Mix
from benchmarks.contended.texts import DUCKDB, MARIADB, POSTGRES, SQLITE, Texts
from troubadour.record import EmbeddedPostgres, Tally, record_run, run
from troubadour.record.drivers.in_process import on_duckdb, on_sqlite
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile, and how its product is asked for it."""

    texts: Texts
    isolation: str


PROFILES: Mapping[str, Profile] = {
    "postgres:read-committed": Profile(POSTGRES, "read-committed"),
    "postgres:repeatable-read": Profile(POSTGRES, "snapshot"),
    "postgres:serializable": Profile(POSTGRES, "serializable"),
    "mysql:repeatable-read": Profile(MARIADB, "mysql:repeatable-read"),
    "mysql:read-committed": Profile(MARIADB, "read-committed"),
    "sqlite": Profile(SQLITE, "serializable"),
    "duckdb": Profile(DUCKDB, "snapshot"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: `transactions` that commit, on `rows` ids."""

    number: int
    transactions: int
    rows: int
    sessions: int
    mix: Mix

    @property
    def text(self) -> str:
        """One line."""
        mix = self.mix
        return (
            f"{self.transactions} on {self.rows} rows, {self.sessions} sessions, reads {mix.reads:.2f}, "
            f"more {mix.more:.2f}, computed {mix.computed:.2f}, waits {mix.waits:.2f}, up to {max(mix.lengths)} steps"
        )


def plan(name: str, seed: int, number: int) -> Plan:
    """The `number`-th run of a profile."""
    random = Random(f"{seed}/{name}/{number}")
    return Plan(
        number,
        transactions=random.choice((100, 200, 500, 1000, 1000, 2000, 4000)),
        rows=random.choice((3, 5, 10, 20, 40)),
        sessions=random.randint(4, 8),
        mix=Mix(
            only_reads=random.choice((0.1, 0.25, 0.4)),
            more=random.choice((0.0, 0.2, 0.35)),
            computed=random.choice((0.0, 0.1, 0.3)),
            reads=random.choice((0.25, 0.45, 0.6)),
            writes=0.3,
            waits=random.choice((0.0, 0.1, 0.5)),
            lengths=random.choice(((1, 1, 2), (1, 1, 2, 2, 3, 4), (2, 3, 4, 6))),
        ),
    )


class Record(Protocol):
    """Records one run."""

    def __call__(self, plan: Plan, out: Path, seed: int) -> Tally:
        """`seed`: of what the sessions draw."""


@contextmanager
def product(name: str) -> Iterator[Record]:
    """The product of a profile, up for as long as it is recorded on."""
    profile = PROFILES[name]
    with ExitStack() as stack:
        if profile.texts.dialect in ("sqlite", "duckdb"):
            yield lambda plan, out, seed: _in_process(profile, plan, out, seed)
            return
        if profile.texts.dialect == "mysql":
            dsn = stack.enter_context(PrivateMariaDB()).dsn
        else:
            dsn = stack.enter_context(EmbeddedPostgres()).dsn

        def record(plan: Plan, out: Path, seed: int) -> Tally:
            return record_run(
                Items(plan.rows, profile.texts, plan.mix),
                dsn,
                out,
                isolation=profile.isolation,
                sessions=plan.sessions,
                transactions=plan.transactions,
                seed=seed + plan.number,
            )

        yield record


def _in_process(profile: Profile, plan: Plan, out: Path, seed: int) -> Tally:
    workload = Items(plan.rows, profile.texts, plan.mix)
    if profile.texts.dialect == "sqlite":
        database = out.with_suffix(".db")
        opened = on_sqlite(workload, database, out, wal=plan.number % 3 > 0)
    else:
        database = None
        opened = on_duckdb(workload, out)
    try:
        with opened as session:
            return run(
                session, workload, sessions=plan.sessions, transactions=plan.transactions, seed=seed + plan.number
            )
    finally:
        if database is not None:
            for suffix in ("", "-wal", "-shm", "-journal"):
                database.with_name(database.name + suffix).unlink(missing_ok=True)
