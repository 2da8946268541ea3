"""What a connection is set to that is no default of its product: asked as a log begins, for its header, and as each
further connection begins to be recorded.

Settings that decide how something is done and never what is answered are left out, and those that logs tell in other
ways. Does not know what any setting means.
"""

from __future__ import annotations

import functools
import inspect
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from time import monotonic_ns
from typing import Any

from sql_semantics.values.unsettled import OTHERS, matters
from troubadour.record.core.journal import Journal
from troubadour.record.core.tape import NOTHING, Tape, fields
from troubadour.record.errors import RecordError

Told = dict[str, Any]
"""Settings by name, in small letters."""
Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a query, and gives its rows."""

ALL_TOLD: Told = {OTHERS: "default"}
"""That whatever setting a header does not name has its product's default, or changes no answer."""

POSTGRES = (
    "SELECT pg_catalog.lower(name), setting FROM pg_catalog.pg_settings WHERE setting IS DISTINCT FROM boot_val"
    " AND context IN ('user', 'superuser', 'backend', 'superuser-backend') UNION"
    # what is not loaded yet is in no list
    " SELECT 'plpgsql.variable_conflict', pg_catalog.current_setting('plpgsql.variable_conflict', true)"
    " WHERE pg_catalog.current_setting('plpgsql.variable_conflict', true) <> 'error'"
)


def postgres_settings(rows: Sequence[Sequence[Any]]) -> Told:
    """From the rows that `POSTGRES` gives. Raises RecordError for one under which answers cannot be read."""
    if ["bytea_output", "escape"] in map(list, rows):
        raise RecordError("bytea_output is escape: the recorder reads hex only")
    found = {str(name): value for name, value in rows if matters(str(name), "postgres")}
    return dict(sorted(found.items()))


# --- SQLite ---------------------------------------------------------------------------------------------------------

_PRAGMAS = {
    "ignore_check_constraints": 0,
    "reverse_unordered_selects": 0,
    "legacy_alter_table": 0,
    "writable_schema": 0,
    "defer_foreign_keys": 0,
    "count_changes": 0,
    "empty_result_callbacks": 0,
    "read_uncommitted": 0,
    "query_only": 0,
    "encoding": "UTF-8",
}
"""Pragmas that tell what they are, with their defaults."""


_FUNCTIONS = "SELECT DISTINCT name FROM pragma_function_list WHERE builtin = 0 ORDER BY 1"


_PATIENCE = 5000
"""Milliseconds."""

_LIKES = (
    "SELECT (SELECT count(*) FROM pragma_function_list WHERE name = 'like' AND builtin = 0),"
    " 'a' LIKE 'A', 'aB' LIKE 'aB', 'abc' LIKE 'a%_', 'abc' LIKE 'b%'"
)


def sqlite_settings(ask: Ask) -> Told:
    """Of a connection; ``functions``: names of the product's own that mean the application's functions. A lock of
    another connection is waited for, however short the connection's own patience is."""
    ((patience,),) = ask("PRAGMA busy_timeout")
    ask(f"PRAGMA busy_timeout = {max(int(patience), _PATIENCE)}")
    try:
        return _sqlite_settings(ask)
    finally:
        ask(f"PRAGMA busy_timeout = {patience}")


@functools.cache
def _sqlite_usual() -> frozenset[tuple[Any, ...]]:
    """The functions of a new connection."""
    # not `sqlite3.connect`, which may have been put under record itself
    with closing(sqlite3.Connection(":memory:")) as fresh:
        return frozenset(fresh.execute(_FUNCTIONS))


def _sqlite_settings(ask: Ask) -> Told:
    told: Told = {}
    for name, usual in _PRAGMAS.items():
        rows = ask(f"PRAGMA {name}")
        if rows and rows[0][0] != usual:
            told[name] = rows[0][0]
    own = [str(row[0]) for row in ask(_FUNCTIONS) if tuple(row) not in _sqlite_usual()]
    if "like" in own and tuple(ask(_LIKES)[0]) == (2, 0, 1, 1, 0):
        told["case_sensitive_like"] = True  # the pragma itself does not tell; it puts another function in place
        own.remove("like")
    if own:
        told["functions"] = ",".join(own)
    return told


# --- DuckDB ---------------------------------------------------------------------------------------------------------

_ALL = "SELECT name, value FROM duckdb_settings()"


@functools.cache
def _duckdb_usual() -> Mapping[str, Any]:
    """The settings of a new database, by their names."""
    import duckdb

    # `connect` itself, where something that is recorded stands in its place
    with inspect.unwrap(duckdb.connect)() as fresh:
        return dict(fresh.execute(_ALL).fetchall())


def duckdb_settings(ask: Ask) -> Told:
    """Of a connection, where they differ from those of a new database."""
    usual = _duckdb_usual()
    now = {str(name): value for name, value in ask(_ALL)}
    changed = {str(name).lower(): value for name, value in now.items() if usual.get(name) != value}
    told = {name: value for name, value in sorted(changed.items()) if value is not None and matters(name, "duckdb")}
    return told if now.get("TimeZone") in (None, "UTC", "Etc/UTC") else {**told, "timezone": now["TimeZone"]}


# --- MySQL ----------------------------------------------------------------------------------------------------------

_MARIADB = (
    "SELECT LOWER(VARIABLE_NAME), SESSION_VALUE FROM information_schema.SYSTEM_VARIABLES"
    " WHERE SESSION_VALUE IS NOT NULL AND NOT SESSION_VALUE <=> DEFAULT_VALUE LIMIT 10000"
)
_MYSQL = {
    "auto_increment_increment": "1",
    "auto_increment_offset": "1",
    "block_encryption_mode": "aes-128-ecb",
    "completion_type": "NO_CHAIN",
    "default_week_format": "0",
    "div_precision_increment": "4",
    "explicit_defaults_for_timestamp": "ON",
    "foreign_key_checks": "ON",
    "group_concat_max_len": "1024",
    "lc_time_names": "en_US",
    "max_sort_length": "1024",
    "max_sp_recursion_depth": "0",
    "sql_auto_is_null": "OFF",
    "sql_safe_updates": "OFF",
    "sql_select_limit": "18446744073709551615",
    "unique_checks": "ON",
}
"""Variables of sessions that may change answers, with their defaults, for servers that do not tell these."""


def mysql_settings(ask: Ask) -> Told:
    """Of a session of MariaDB or MySQL. `sql_mode`, the collation and the time zone are told by themselves."""
    ((version,),) = ask("SELECT version() LIMIT 1")
    if "MariaDB" in version:
        told = {str(name): value for name, value in ask(_MARIADB)}
    else:
        found = ((str(name).lower(), value) for name, value in ask("SHOW SESSION VARIABLES"))
        told = {name: value for name, value in found if name in _MYSQL and value != _MYSQL[name]}
    told = {name: value for name, value in sorted(told.items()) if value not in ("", _USUAL.get(name))}
    return {name: value for name, value in told.items() if name not in _OWN and matters(name, "mysql")}


_USUAL = {"sql_big_selects": "ON", "system_versioning_asof": "DEFAULT"}
"""Values of a new session that its server does not tell as defaults."""
_OWN = ("sql_mode", "collation_connection", "time_zone")


_LIMITS = (
    *("sql_select_limit", "max_join_size", "sql_big_selects", "sql_mode", "max_sort_length", "group_concat_max_len"),
    *("sql_quote_show_create", "lc_time_names"),
)
"""What may cut or change the answers of queries of the catalog."""


@contextmanager
def at_defaults(ask: Ask, execute: Callable[[str, Sequence[Any]], Any]) -> Iterator[None]:
    """A MySQL session without settings that would cut or change what is asked of the catalogs; afterwards it has them
    again."""
    names = ", ".join(f"@@SESSION.{name}" for name in _LIMITS)
    ((*before,),) = ask(f"SELECT {names} LIMIT 1")
    for name in _LIMITS:
        execute(f"SET SESSION {name} = DEFAULT", ())
    execute("SET SESSION sql_mode = ''", ())
    try:
        yield
    finally:
        for name, value in zip(_LIMITS, before, strict=True):
            execute(f"SET SESSION {name} = %s", (value,))


# --- further connections --------------------------------------------------------------------------------------------


def begun_with(journal: Journal) -> Told:
    """The settings that the header of a log tells."""
    found: Told = journal.header.get("settings", {})
    return found


def tell(tape: Tape, told: Mapping[str, Any], begun: Mapping[str, Any], dialect: str) -> None:
    """Log, as the first transaction of a session, what its connection was set to before, where the log's header, whose
    settings are `begun`, says something else."""
    texts = differing(told, begun, dialect)
    if not texts:
        return
    now = monotonic_ns()
    transcript = tape.begin(now)
    for text in texts:
        transcript.add(fields({"sql": text}), now, now, NOTHING)
    tape.end("committed", now, monotonic_ns())


def differing(told: Mapping[str, Any], begun: Mapping[str, Any], dialect: str) -> list[str]:
    """Statements that set a connection to what it was `told` to be set to, where a header's settings, `begun`, say
    something else."""
    return [_set(name, value, dialect) for name, value in told.items() if str(begun.get(name)) != str(value)]


_SET = {"sqlite": "PRAGMA {} = {}", "duckdb": "SET {} = {}"}
"""How products are told to set something; the others have SESSION."""


def _set(name: str, value: Any, dialect: str) -> str:
    plain = str(value).replace("'", "''")
    shown = plain if isinstance(value, int) else f"'{plain}'"
    return _SET.get(dialect, "SET SESSION {} = {}").format(name, shown)
