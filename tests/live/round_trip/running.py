"""A case run on its engine, recorded and audited. Does not know the cases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql

from tests.live.round_trip.cases import Case, Sent
from troubadour.audit.driver import Options, audit
from troubadour.cli.common import opened as read_for_audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record import recorder, scratch_schema
from troubadour.record.drivers.mysql import connect, scratch_database
from troubadour.record.errors import RecordError

ERRORS = (sqlite3.Error, duckdb.Error, psycopg.Error, pymysql.Error)


class Mistaken(AssertionError):
    """The engine did not do what the case says that it does: the case is wrong."""


@dataclass(slots=True)
class Ended:
    """What came of a case: `verdict` correct, undecided, violation or refused; the constructs not judged, or what was
    said."""

    case: Case
    verdict: str
    constructs: list[str] = field(default_factory=list)
    said: str = ""

    @property
    def honest(self) -> bool:
        """Whether it is correct, or undecided for what is named."""
        return self.verdict == "correct" or (self.verdict == "undecided" and all(self.constructs) and self.counted)

    @property
    def counted(self) -> bool:
        """Whether something is named."""
        return bool(self.constructs)


Addresses = dict[str, str]
"""Where the servers are: ``postgres`` and ``mysql``."""


def run(case: Case, folder: Path, addresses: Addresses) -> Ended:
    """The case run, recorded and audited."""
    log = folder / "run.jsonl"
    log.unlink(missing_ok=True)
    schemas = case.engine == "postgres" and any(sent.sql.startswith("CREATE SCHEMA") for sent in case.setup)
    engine = _postgres_schemas if schemas else _ENGINES[case.engine]
    with engine(folder, addresses) as (plain, recorded):
        for sent in case.setup:
            _send(plain(), sent)
        try:
            connection = recorded(log, case.opening)
        except RecordError as error:
            recorder.close()
            return Ended(case, "refused", said=str(error))
        try:
            for sent in case.recorded:
                _send(connection, sent)
        finally:
            connection.close()
            recorder.close()
    return judge(case, log)


def judge(case: Case, log: Path) -> Ended:
    """What the audit says of a recorded case."""
    try:
        found, library = read_for_audit(read_log([log]), None)
        verdict = audit(found, library, Options(None), lambda phase, count, total: None)
    except SystemExit:
        return Ended(case, "refused", said="exit status 2")
    constructs = [item.construct for item in verdict.coverage.unjudged] if verdict.coverage else []
    said = verdict.explanation or verdict.reason or ""
    return Ended(case, "correct" if verdict.status is Status.CORRECT else verdict.status.value, constructs, said)


def opened(connection: Any, opening: tuple[Sent, ...]) -> Any:
    """The connection, after what is sent on it first."""
    for sent in opening:
        _send(connection, sent)
    return connection


def _send(connection: Any, sent: Sent) -> None:
    executes = connection if hasattr(connection, "execute") else connection.cursor()
    try:
        cursor = executes.execute(sent.sql, sent.params) if sent.params else executes.execute(sent.sql)
        fetches = cursor if hasattr(cursor, "fetchall") else executes
        if getattr(fetches, "description", None):
            fetches.fetchall()
    except ERRORS as error:
        if not sent.fails:
            raise Mistaken(f"{sent.sql}: {error}") from error
    else:
        if sent.fails:
            raise Mistaken(f"{sent.sql}: no error")


Opened = tuple[Callable[[], Any], Callable[[Path, tuple[Sent, ...]], Any]]


@contextmanager
def _sqlite(folder: Path, addresses: Addresses) -> Iterator[Opened]:
    path = folder / "case.db"
    path.unlink(missing_ok=True)
    plain = sqlite3.connect(path, isolation_level=None)
    try:
        yield (
            lambda: plain,
            lambda log, opening: recorder.wrap(opened(sqlite3.connect(path, isolation_level=None), opening), log=log),
        )
    finally:
        plain.close()


@contextmanager
def _duckdb(folder: Path, addresses: Addresses) -> Iterator[Opened]:
    plain = duckdb.connect()
    try:
        yield lambda: plain, lambda log, opening: recorder.wrap(opened(plain.cursor(), opening), log=log)
    finally:
        plain.close()


@contextmanager
def _mysql(folder: Path, addresses: Addresses) -> Iterator[Opened]:
    dsn = addresses["mysql"]
    with ExitStack() as stack:
        name = stack.enter_context(scratch_database(dsn))
        plain = stack.enter_context(connect(dsn, name))
        plain.autocommit(True)
        yield lambda: plain, lambda log, opening: recorder.wrap(opened(connect(dsn, name), opening), log=log)


@contextmanager
def _postgres(folder: Path, addresses: Addresses) -> Iterator[Opened]:
    dsn = addresses["postgres"]
    with ExitStack() as stack:
        name = stack.enter_context(scratch_schema(dsn))
        inside = f"{dsn}{'&' if '?' in dsn else '?'}options=-csearch_path%3D{name}"
        plain = stack.enter_context(psycopg.connect(inside, autocommit=True))

        yield lambda: plain, lambda log, opening: opened(recorder.connect(inside, log=log, autocommit=True), opening)


@contextmanager
def _postgres_schemas(folder: Path, addresses: Addresses) -> Iterator[Opened]:
    """A database of its own, for cases that make schemas."""
    dsn = addresses["postgres"]
    inside = psycopg.conninfo.make_conninfo(dsn, dbname="round_trip")
    with psycopg.connect(dsn, autocommit=True) as outside:
        outside.execute("CREATE DATABASE round_trip")
        try:
            with psycopg.connect(inside, autocommit=True) as plain:
                yield (
                    lambda: plain,
                    lambda log, opening: opened(recorder.connect(inside, log=log, autocommit=True), opening),
                )
        finally:
            outside.execute("DROP DATABASE round_trip WITH (FORCE)")


_ENGINES: dict[str, Callable[[Path, Addresses], Any]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "mysql": _mysql,
    "postgres": _postgres,
}
