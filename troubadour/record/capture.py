"""Schema and rows of a SQLite, DuckDB or MariaDB database, as the statements that would make it,
read while nobody can write. Does not know transactions of others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import lowered
from troubadour.record.core.segments import Captured, Rows
from troubadour.record.errors import RecordError
from troubadour.record.settings import ALL_TOLD, at_defaults, duckdb_settings, mysql_settings, sqlite_settings

_APOSTROPHE = "'"
_FOLDS = Dialect("sqlite")
"""Its names of tables are folded as DuckDB's are."""


def capture_sqlite(connection: Any) -> Captured:
    """The main database of a `sqlite3.Connection`, which must have no transaction open. Raises RecordError."""
    from troubadour.record.drivers.detection import sqlite_value

    if connection.in_transaction:
        raise RecordError("the connection has a transaction open: begin recording before it")
    cursor = connection.cursor()
    cursor.row_factory = None
    (reads_only,) = cursor.execute("PRAGMA query_only").fetchone()
    cursor.execute("BEGIN" if reads_only else "BEGIN IMMEDIATE")
    try:
        found = cursor.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY type <> 'table', rowid"
        ).fetchall()
        schema, rows = [], []
        for kind, name, sql in found:
            if kind == "index" and " UNIQUE " not in sql.upper().split("(")[0].replace("\n", " "):
                continue
            schema.append(sql)
            if kind == "table":
                read = cursor.execute(f"SELECT * FROM {quoted(name)}")
                columns = [column[0] for column in read.description]
                rows.append((lowered(name, _FOLDS), columns, [list(map(sqlite_value, row)) for row in read.fetchall()]))
        (enforced,) = cursor.execute("PRAGMA foreign_keys").fetchone()
        (version,) = cursor.execute("SELECT sqlite_version()").fetchone()
        told = sqlite_settings(lambda sql: cursor.execute(sql).fetchall())
    finally:
        cursor.execute("ROLLBACK")
    settings = {"foreign_keys": bool(enforced), **ALL_TOLD, **told}
    return Captured({"dialect": "sqlite", "dbms": f"SQLite {version}", "schema": schema, "settings": settings}, rows)


def capture_duckdb(connection: Any) -> Captured:
    """The current schema of a DuckDB database."""
    from troubadour.record.drivers.detection import python_value

    told = duckdb_settings(lambda sql: connection.execute(sql).fetchall())
    own = connection.cursor()
    here = "WHERE database_name = current_database() AND schema_name = current_schema()"

    def ask(sql: str) -> list[tuple[Any, ...]]:
        own.execute(sql)
        return list(own.fetchall())

    ask("BEGIN")
    try:
        schema = [row[0] for row in ask(f"SELECT sql FROM duckdb_sequences() {here}")]
        rows = []
        for name, sql in ask(f"SELECT table_name, sql FROM duckdb_tables() {here} AND NOT internal ORDER BY table_oid"):
            schema.append(sql)
            typed = ask(
                f"SELECT column_name, data_type FROM duckdb_columns() {here} AND NOT internal"
                f" AND table_name = '{name.replace(_APOSTROPHE, 2 * _APOSTROPHE)}' ORDER BY column_index"
            )
            columns = [column for column, _ in typed]
            # of an INTERVAL the driver does not tell months and days from hours
            asked = (quoted(c) + "::VARCHAR" * (of == "INTERVAL") for c, of in typed)
            read = ask(f"SELECT {', '.join(asked)} FROM {quoted(name)}")
            rows.append((lowered(name, _FOLDS), columns, [list(map(python_value, row)) for row in read]))
        schema += [row[0] for row in ask(f"SELECT sql FROM duckdb_indexes() {here} AND is_unique AND sql IS NOT NULL")]
        schema += [row[0] for row in ask(f"SELECT sql FROM duckdb_views() {here} AND NOT internal")]
        ((version,),) = ask("SELECT version()")
    finally:
        ask("ROLLBACK")
        own.close()
    header = {"dialect": "duckdb", "dbms": f"DuckDB {version.lstrip('v')}", "schema": schema}
    return Captured({**header, "settings": {**ALL_TOLD, **told}}, rows)


def capture_mysql(connection: Any) -> Captured:
    """The current database of a PyMySQL connection, which must have no transaction open. Raises RecordError."""
    if connection.server_status & 1:
        raise RecordError("the connection has a transaction open: begin recording before it")
    with plain_cursor(connection) as cursor:

        def ask(sql: str) -> list[tuple[Any, ...]]:
            cursor.execute(sql)
            return list(cursor.fetchall())

        ((mode,),), told = ask("SELECT @@SESSION.sql_mode LIMIT 1"), mysql_settings(ask)
        with at_defaults(ask, cursor.execute):
            header, rows = _mysql(ask)
    header["settings"] |= {"sql_mode": mode, **ALL_TOLD, **told}
    header["settings"]["found_rows"] = bool(connection.client_flag & 2)
    return Captured(header, rows)


def _mysql(ask: Callable[[str], list[tuple[Any, ...]]]) -> tuple[dict[str, Any], Rows]:
    from troubadour.record.drivers.detection import python_value

    own = "TABLE_SCHEMA = DATABASE()"
    listed = ask(f"SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE {own} ORDER BY 1")
    tables = [name for name, kind in listed if kind == "BASE TABLE"]
    views = [name for name, kind in listed if kind == "VIEW"]
    locked = ", ".join(f"{_ticked(name)} READ" for name in tables + views)
    if locked:
        ask(f"LOCK TABLES {locked}")  # waits for whoever writes
    try:
        created = {name: _without_options(ask(f"SHOW CREATE TABLE {_ticked(name)}")[0][1]) for name in tables}
        collations = _collations(ask, own)
        for name, collation in collations.others.items():
            created[name] += f" COLLATE={collation}"
        schema, rows = _referred_to_first(created), []
        for name in tables:
            described = ask(
                f"SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE {own} AND BINARY TABLE_NAME = {_text(name)}"
                " AND EXTRA NOT LIKE '%GENERATED%' ORDER BY ORDINAL_POSITION"
            )
            columns = [column for (column,) in described]
            read = ask(f"SELECT {', '.join(map(_ticked, columns))} FROM {_ticked(name)}")
            rows.append((name, columns, [list(map(python_value, row)) for row in read]))
    finally:
        if locked:
            ask("UNLOCK TABLES")
    ((database, version, collation, zone, system),) = ask(
        "SELECT DATABASE(), version(), @@collation_connection, @@time_zone, @@system_time_zone"
    )
    for name in views:
        ((text,),) = ask(
            f"SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE {own} AND BINARY TABLE_NAME = {_text(name)}"
        )
        schema.append(f"CREATE VIEW {_ticked(name)} AS " + text.replace(f"`{database}`.", ""))
    in_order = "ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER"
    of_own = "FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()"
    for (name,) in ask(f"SELECT TRIGGER_NAME {of_own} {in_order}"):
        schema.append(_without_definer(ask(f"SHOW CREATE TRIGGER {_ticked(name)}")[0][2]))
    listed = ask(
        "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES"
        " WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 1"
    )
    header = {
        "dialect": "mysql",
        "dbms": ("MariaDB " if "MariaDB" in version else "MySQL ") + version.split("-")[0],
        "schema": schema,
        "procedures": [_without_definer(ask(f"SHOW CREATE {kind} {_ticked(name)}")[0][2]) for name, kind in listed],
        "settings": {
            **collations.settings(collation),
            "timezone": system if zone == "SYSTEM" else zone,
            **({"search_path": database} if database else {}),
        },
    }
    return header, rows


@dataclass(frozen=True, slots=True)
class _Collations:
    """How the texts of tables compare: as most of them do, None without any; and `others`, tables that do otherwise."""

    most: str | None
    others: dict[str, str]

    def settings(self, connection: str) -> dict[str, str]:
        """What the header says: literals compare as the connection has it, and columns as theirs."""
        if self.most is None or self.most == connection:
            return {"collation": connection}
        return {"collation": self.most, "collation_connection": connection}


def _collations(ask: Callable[[str], list[tuple[Any, ...]]], own: str) -> _Collations:
    """Of the tables with columns of texts; a column of another collation than its table's says so in its definition."""
    found = ask(
        f"SELECT TABLE_NAME, TABLE_COLLATION FROM information_schema.TABLES WHERE {own} AND TABLE_NAME IN (SELECT"
        f" TABLE_NAME FROM information_schema.COLUMNS WHERE {own} AND COLLATION_NAME IS NOT NULL)"
        " AND TABLE_COLLATION IS NOT NULL"
    )
    if not found:
        return _Collations(None, {})
    (most, _), *_ = Counter(collation for _, collation in found).most_common(1)
    return _Collations(most, {name: one for name, one in found if one != most})


_REFERENCES = re.compile(r"\bREFERENCES `((?:[^`]|``)+)`")


def _referred_to_first(created: Mapping[str, str]) -> list[str]:
    """Definitions of tables, each behind those that its foreign keys refer to; where they do so in a circle it is
    broken somewhere."""
    ordered: dict[str, str] = {}
    visited: set[str] = set()

    def visit(name: str) -> None:
        if name not in visited and name in created:
            visited.add(name)
            for parent in _REFERENCES.findall(created[name]):
                visit(parent.replace("``", "`"))
            ordered[name] = created[name]

    for name in created:
        visit(name)
    return list(ordered.values())


def _ticked(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    """A literal that means the same in every sql_mode."""
    return f"0x{value.encode().hex()}"


def plain_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever a PyMySQL connection was told to make of them."""
    import pymysql.cursors

    return connection.cursor(pymysql.cursors.Cursor)


def _without_options(sql: str) -> str:
    """A CREATE TABLE without what stands behind its last parenthesis: engine, character set, next number."""
    head, close, _ = sql.rpartition("\n)")
    return head + close if close else sql


def _without_definer(sql: str | None) -> str:
    if sql is None:
        raise RecordError("the text of a routine or trigger may not be read by this user")
    return re.sub(r"\A(CREATE) DEFINER=`[^`]*`@`[^`]*`", r"\1", sql)


def quoted(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'
