"""How many transactions a second a hunt generates, runs and audits, beside the same statements sent bare, in one run:
``python -m benchmarks.hunting [ENGINE ...]``. Does not look for findings."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sql_semantics.library import SqlLibrary
from troubadour.hunt.case import Case
from troubadour.hunt.engines.choose import engine_named
from troubadour.hunt.engines.protocol import Engine
from troubadour.hunt.generate.cases import make
from troubadour.hunt.judge import judge
from troubadour.hunt.libraries import Libraries
from troubadour.hunt.schedule import NotMade, Ran, ask, fill, run
from troubadour.model.log import Header

SEEDS = range(400, 424)
ENGINES = ("sqlite", "duckdb", "postgres")


class Clock:
    """Seconds by what took them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Of the block."""
        begun = time.monotonic()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.monotonic() - begun


def bare(engine: Engine, case: Case, ran: Ran, clock: Clock) -> None:
    """The same statements, on one session, without a scheduler and a log."""
    with engine.database() as database:
        connection = database.connection(0, engine.levels[case.level])
        for text in [*(table.ddl() for table in case.tables), *case.extra]:
            ask(connection, text)
        for table in case.tables:
            fill(connection, table, engine.dialect)
        with clock.during("bare"):
            for line in ran.lines:
                for statement in line["statements"]:
                    ask(connection, statement["sql"])


def measured(engine: Engine) -> str:
    """The figures of an engine, at its default level."""
    clock, transactions, level = Clock(), 0, next(iter(engine.levels))
    libraries = Libraries()

    def library(schema: Sequence[str], routines: Sequence[str]) -> SqlLibrary:
        settings = engine.settings()
        return libraries.before(
            Header(engine.dialect, tuple(schema), engine.dbms, procedures=tuple(routines), settings=settings)
        )

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        for seed in SEEDS:
            with clock.during("generated"):
                case = make(seed, engine.dialect, level, 3, library=library)
            try:
                with clock.during("run"):
                    ran = run(engine, case)
            except NotMade:
                continue
            ran.write(log)
            with clock.during("audited"):
                judge(log, 10, libraries=libraries)
            bare(engine, case, ran, clock)
            transactions += len(ran.lines)
    told = ", ".join(f"{what} {transactions / seconds:.0f}/s" for what, seconds in clock.seconds.items())
    return f"{engine.dbms}: {transactions} transactions, {told}"


def main(names: list[str]) -> None:
    """Measure, and print."""
    for name in names or ENGINES:
        with closing(engine_named(name)) as engine:
            print(measured(engine), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
