"""One recorded run of a workload from beginning to end, on PostgreSQL or MariaDB: a place of its own on the server, the
tables and their rows, the sessions, the log (paper §8, RQ3 setup). Does not know the workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from troubadour.record.drivers import mysql
from troubadour.record.errors import RecordError
from troubadour.record.recorder import Recorder
from troubadour.record.runs.runner import Session, Tally, run
from troubadour.record.runs.workload import Cursor, Workload, load
from troubadour.record.servers.server import connect, scratch_schema


def record_run(
    workload: Workload,
    dsn: str,
    out: Path,
    *,
    isolation: str,
    sessions: int,
    transactions: int,
    seed: int,
    progress: Callable[[Tally], None] = lambda tally: None,
    afterwards: Callable[[Cursor], None] = lambda cursor: None,
    certificate: Path | None = None,
) -> Tally:
    """Record until `transactions` have committed. `dsn` is a libpq connection string, or ``mysql://...`` for
    MariaDB; the workload's dialect must fit it. `afterwards` may look at the tables before they are dropped.
    `certificate`: where PostgreSQL's own account of the run goes (None: nowhere).

    Raises RecordError for a server or a run that cannot be recorded, OSError as files do.
    """
    if certificate is not None and is_mariadb(dsn):
        raise RecordError("a certificate needs PostgreSQL: MariaDB does not tell what a transaction read")
    recorded = (
        _on_mariadb(workload, dsn, out, isolation, afterwards)
        if is_mariadb(dsn)
        else _on_postgres(workload, dsn, out, isolation, afterwards, certificate)
    )
    if (workload.dialect == "mysql") != is_mariadb(dsn):
        raise RecordError(f"the workload is written for {workload.dialect}, and the server is another")
    with recorded as open_session:
        return run(open_session, workload, sessions=sessions, transactions=transactions, seed=seed, progress=progress)


def is_mariadb(dsn: str) -> bool:
    """Whether a connection string is of MariaDB."""
    return dsn.startswith("mysql://")


@contextmanager
def _on_postgres(
    workload: Workload,
    dsn: str,
    out: Path,
    isolation: str,
    afterwards: Callable[[Cursor], None],
    certificate: Path | None,
) -> Iterator[Callable[[str], Session]]:
    with scratch_schema(dsn) as schema, connect(dsn, schema) as connection:
        with connection.transaction():
            load(workload, connection.cursor())
            if certificate is not None:
                _identify(connection.cursor(), workload)
        with Recorder(
            dsn,
            out,
            isolation=isolation,
            schema=workload.schema,
            procedures=workload.procedures,
            tables=workload.tables,
            search_path=schema,
            certificate=certificate,
        ) as recorder:
            yield recorder.session
        afterwards(connection.cursor())


def _identify(cursor: Cursor, workload: Workload) -> None:
    """Let the write-ahead log tell rows apart in the workload's own tables, also where they have no primary key."""
    for table in workload.tables:
        cursor.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")


@contextmanager
def _on_mariadb(
    workload: Workload, dsn: str, out: Path, isolation: str, afterwards: Callable[[Cursor], None]
) -> Iterator[Callable[[str], Session]]:
    with mysql.scratch_database(dsn) as database, mysql.connect(dsn, database) as connection:
        cursor = connection.cursor()
        connection.begin()
        load(workload, cursor)
        connection.commit()
        with mysql.MariaRecorder(
            dsn,
            out,
            isolation=isolation,
            schema=workload.schema,
            procedures=workload.procedures,
            tables=workload.tables,
            database=database,
        ) as recorder:
            yield recorder.session
        afterwards(cursor)
