"""Asking a throw-away engine of the product whether a statement answers what a log says (issue of meaning, not of
isolation): SQLite and DuckDB in this process, PostgreSQL embedded, MariaDB and MySQL by a DSN.

The engine gets our own rendering of the tables, of the rows that a claim is about, and of the transaction's statements
up to the one in question, all of them modelled. Does not know how the claim came about.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.rendering import quoted, render_row, render_statement, render_table
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Table
from sql_semantics.ir.walks.effects import touched_tables
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.records import dataclass
from sql_semantics.values.types import Value
from troubadour.execution.observations.observation import MisfitValue, mismatch
from troubadour.execution.prepared import PreparedStatement, prepare, result_types
from troubadour.model.log import Transaction
from troubadour.model.values import read_value
from troubadour.model.verdict import Claim
from troubadour.record.drivers.mysql import connect as connect_mysql
from troubadour.record.drivers.mysql import scratch_database
from troubadour.record.errors import RecordError
from troubadour.record.values import adapt, to_json

ROWS = 20_000
"""Rows beyond which an engine is not asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows as JSON, or a row count, or the class of an error."""

    rows: list[list[Any]] | None
    affected: int | None
    error: str | None = None


Run = Callable[[str], Answer]


def answers_so(claim: Claim, transaction: Transaction, library: SqlLibrary, dsn: str | None = None) -> bool | None:
    """Whether the product answers what was observed in one of the claim's states; None where it cannot be asked, or
    where more than the statements decides. Raises RecordError where the engine cannot be had."""
    prepared = prepare(transaction, library).statements[: claim.statement + 1]
    if not all(_may_be_sent(one, library) for one in prepared):
        return None
    if not library.dialect.rules.running.asked_for_errors and prepared[-1].statement.error is not None:
        return None
    names = {name for one in prepared for name in _named(one, library)}
    unsettled = library.changing | library.catalog.transient.keys()
    if any(name in unsettled or name not in library.catalog.tables for name in names):
        return None
    tables = [table for name, table in sorted(library.catalog.tables.items()) if name in names and table.query is None]
    writes = any(one.program is None or not one.program.read_only for one in prepared)
    triggered = any(table.fires or table.name in library.catalog.triggers for table in tables)
    if writes and (triggered or not all(map(_is_plain, tables))):
        return None
    try:
        texts = [render_statement(one.statement.sql, one.statement.params, library.dialect) for one in prepared]
        made = [render_table(table, library.dialect) for table in tables]
        gone = [f"DROP TABLE {quoted(table.name, library.dialect)}" for table in tables]
        if any(sum(len(rows[table.name]) for table in tables) > ROWS for rows in claim.states):
            return None
        with _engine(library.dialect.name, dsn) as run:
            for rows in claim.states:
                filled = [render_row(table, row, library.dialect) for table in tables for row in rows[table.name]]
                if any(run(text).error is not None for text in (*made, *filled)):
                    return None
                answers = [run(text) for text in texts]
                if _is_observed(prepared[-1], answers[-1], library):
                    return True
                for text in gone:
                    run(text)
    except Unsupported:
        return None
    return False


def _may_be_sent(prepared: PreparedStatement, library: SqlLibrary) -> bool:
    """Whether all of a statement is modelled; or it is said to be wrong, and calls nothing but known functions."""
    if prepared.statement.unjudged:
        return False
    if prepared.program is not None:
        return not prepared.program.left_out
    sql = prepared.statement.sql
    prefix = library.dialect.rules.running.own_prefix
    known = prefix is not None and prefix not in sql.lower()
    known = known and library.reach(sql, prepared.statement.scope).harmless
    return known and isinstance(prepared.failure, SqlError) and prepared.statement.error is None


def _named(prepared: PreparedStatement, library: SqlLibrary) -> frozenset[str]:
    if prepared.program is None:
        return library.reach(prepared.statement.sql, prepared.statement.scope).named
    return touched_tables(prepared.program.statement, library.catalog)


def _is_plain(table: Table) -> bool:
    """Whether its rows are subject to nothing but plain keys, so that writes to it can be tried elsewhere."""
    return not (
        table.checks
        or table.foreign_keys
        or table.spelled
        or table.refusing
        or table.unwritable
        or any(not key.plain for key in table.keys)
        or any(column.default or column.generated or column.identity or column.unread for column in table.columns)
    )


def _is_observed(prepared: PreparedStatement, answer: Answer, library: SqlLibrary) -> bool:
    statement, program = prepared.statement, prepared.program
    if program is None:
        return answer.error is None  # it was said that it must fail
    if statement.error is not None or answer.error is not None:
        return statement.error is not None and answer.error is not None and statement.error.sqlstate[:2] == answer.error
    types = result_types(program.statement, library.catalog) or ()
    if statement.results is None:
        return statement.affected is None or statement.affected == answer.affected
    if len(types) != 1 or answer.rows is None:
        return False
    try:
        rows = [tuple(read_value(v, t) for v, t in zip(row, types[0], strict=True)) for row in answer.rows]
    except (MisfitValue, ValueError):
        return False
    ordered = isinstance(program.statement, Select) and program.statement.order
    keys: list[tuple[Value, ...]] | None = [(place,) for place in range(len(rows))] if ordered else None
    given = Outcome([ResultSet(types[0], rows, keys)], answer.affected, answer.affected)
    return mismatch(prepared.observation, given) is None


@contextmanager
def _engine(dialect: str, dsn: str | None) -> Iterator[Run]:
    match dialect:
        case "sqlite":
            with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as sqlite:
                yield _runner(sqlite.execute, sqlite3.Error, lambda _: "HY")
        case "duckdb":
            import duckdb

            with contextlib.closing(duckdb.connect(":memory:")) as duck:
                yield _runner(duck.execute, duckdb.Error, lambda _: "HY")
        case "postgres":
            import psycopg

            from troubadour.record.servers.embedded import EmbeddedPostgres

            with EmbeddedPostgres() as server, psycopg.connect(server.dsn, autocommit=True) as postgres:
                adapt(postgres)
                send = postgres.execute
                yield _runner(lambda text: send(text.encode()), psycopg.Error, lambda e: str(e.sqlstate)[:2])
        case _:
            if dsn is None:
                raise RecordError("--ask-engine: name a server of the product with --ask-dsn")
            with scratch_database(dsn) as own, contextlib.closing(connect_mysql(dsn, own)) as connection:
                import pymysql

                cursor = connection.cursor()

                def run(text: str) -> Any:
                    cursor.execute(text)
                    return cursor

                yield _runner(run, pymysql.MySQLError, lambda _: "HY")


def _runner(execute: Callable[[str], Any], errors: type[Exception], state: Callable[[Any], str]) -> Run:
    def run(text: str) -> Answer:
        try:
            cursor = execute(text)
            if cursor.description is None:
                return Answer(None, cursor.rowcount)
            rows: Sequence[Sequence[object]] = cursor.fetchall()
            return Answer([[_json(value) for value in row] for row in rows], cursor.rowcount)
        except errors as error:
            return Answer(None, None, state(error))

    return run


def _json(value: object) -> Any:
    return str(value) if isinstance(value, UUID) else to_json(value)
