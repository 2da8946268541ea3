"""What a recorder must know of a statement's text before it is sent: does it begin or end a transaction, can it write,
is it one statement. Read by its first words and its lexical form, once per text.

Does not know SQL beyond that; what is not recognized is taken for a statement that writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache


class Verb(Enum):
    """What a statement does to its transaction."""

    READ = auto()
    """A query; it writes only through a function that does."""
    WRITE = auto()
    SAVEPOINT = auto()
    """SAVEPOINT, RELEASE, ROLLBACK TO: part of the log, and no writes."""
    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    CHARACTERIZE = auto()
    """SET TRANSACTION: says of what kind the open transaction is."""
    DEFAULT = auto()
    """SET SESSION CHARACTERISTICS and its kin: of what kind later ones are."""
    NEUTRAL = auto()
    """Nothing at all, a setting without influence on what statements answer, or a question to the catalogs: not
    logged."""
    PREPARED = auto()
    """PREPARE TRANSACTION."""
    REFUSED = auto()
    """`reason` says why it cannot be recorded."""


@dataclass(frozen=True, slots=True)
class Text:
    """`level`, `read_only`: of BEGIN, SET TRANSACTION and their kin, where they say them, as SQL calls a level.
    `snapshot_at`: where these have the snapshot taken. `locks`: BEGIN IMMEDIATE or EXCLUSIVE. `calls`: lower-case names
    in front of a parenthesis."""

    verb: Verb
    level: str | None = None
    read_only: bool | None = None
    calls: frozenset[str] = frozenset()
    reason: str = ""
    snapshot_at: str | None = None
    locks: bool = False


_VARIABLES = re.compile(
    r"\s*SELECT\s+@@[\w.]+(?:\s+AS\s+\w+)?(?:\s*,\s*@@[\w.]+(?:\s+AS\s+\w+)?)*\s*;?\s*", re.IGNORECASE
)
"""A question for MySQL's system variables alone."""
_PIECES = re.compile(
    r"""
    (?P<skip>--[^\n]*|\#[^\n]*|/\*.*?\*/)
  | (?P<dollar>\$(?:[A-Za-z_]\w*)?\$)
  | (?P<quoted>\b[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|`[^`]*`)
  | (?P<name>"(?:[^"]|"")*"|[^\W\d][\w$]*)
  | (?P<open>\()
  | (?P<end>;)
  | (?P<other>[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
POSTGRES_LEVELS = {
    "READ UNCOMMITTED": "postgres:read-committed",
    "READ COMMITTED": "postgres:read-committed",
    "REPEATABLE READ": "postgres:repeatable-read",
    "SERIALIZABLE": "postgres:serializable",
}
"""What PostgreSQL promises at a level of SQL's."""
NEUTRAL_SETTINGS = frozenset(
    {
        "application_name", "busy_timeout", "cache_size", "client_min_messages", "enable_seqscan",
        "extra_float_digits", "idle_in_transaction_session_timeout", "innodb_lock_wait_timeout", "jit",
        "journal_mode", "lock_timeout", "log_min_messages", "max_parallel_workers_per_gather", "memory_limit",
        "statement_timeout", "synchronous", "synchronous_commit", "threads", "wait_timeout", "work_mem",
    }
)  # fmt: skip
_DEFINES_BODY = {"FUNCTION", "PROCEDURE", "TRIGGER", "EVENT"}


@lru_cache(maxsize=10_000)
def read_text(sql: str) -> Text:
    """What the text of one statement says; never raises."""
    words: list[str] = []
    calls: set[str] = set()
    ended = several = into = False
    tables = _Tables()
    previous = ""
    place = 0
    while (match := _PIECES.search(sql, place)) is not None:
        place = match.end()
        kind = match.lastgroup
        if kind == "skip":
            continue
        if kind == "end":
            ended = True
            continue
        several = several or ended
        tables.token(kind or "", match.group())
        if kind == "dollar":
            close = sql.find(match.group(), place)
            place = len(sql) if close < 0 else close + len(match.group())
        if kind == "open" and previous:
            calls.add(previous.strip('"').lower())
        previous = match.group() if kind == "name" else ""
        into = into or (kind == "name" and match.group().upper() == "INTO")
        if len(words) < 12 and kind in ("name", "other"):
            words.append(match.group().upper())
    if several and not (words[0] == "CREATE" and _DEFINES_BODY.intersection(words)) and words[0] not in ("BEGIN", "DO"):
        return Text(Verb.REFUSED, reason="several statements in one text: execute them one by one")
    found = _classified(words, frozenset(calls), several)
    if found.verb is Verb.READ and into:
        return Text(Verb.WRITE, calls=found.calls)
    probe = tables.only_catalogs() or _VARIABLES.fullmatch(sql) or (tables.none() and calls and calls <= PROBES)
    return Text(Verb.NEUTRAL) if found.verb is Verb.READ and probe else found


PROBES = frozenset(
    {"version", "current_schema", "current_schemas", "current_database", "pg_backend_pid", "pg_is_in_recovery",
     "current_setting", "inet_server_addr", "database", "connection_id", "sqlite_version", "pg_notify",
     "pg_advisory_lock", "pg_advisory_unlock", "pg_advisory_unlock_all", "pg_try_advisory_lock"}
)  # fmt: skip
"""Functions that ask what server this is, or lock what is no row: a query of them alone is not logged."""
CATALOGS = frozenset(
    {
        "pg_catalog", "information_schema", "sqlite_master", "sqlite_schema", "pg_am", "pg_attrdef", "pg_attribute",
        "pg_class", "pg_collation", "pg_constraint", "pg_cursors", "pg_database", "pg_description", "pg_enum",
        "pg_extension", "pg_index", "pg_indexes", "pg_inherits", "pg_locks", "pg_namespace", "pg_proc", "pg_range",
        "pg_roles", "pg_sequence", "pg_sequences", "pg_settings", "pg_stat_activity", "pg_tables", "pg_timezone_names",
        "pg_trigger", "pg_type", "pg_views",
    }
)  # fmt: skip
_AFTER_TABLES = frozenset({"WHERE", "ON", "USING", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "SELECT", "WINDOW"})


class _Tables:
    """Which tables a query reads, as far as its words tell: is it about the catalogs only?"""

    def __init__(self) -> None:
        self._expected = self._listing = False
        self._catalogs = 0
        self._others = 0

    def token(self, kind: str, token: str) -> None:
        """The next piece of the text."""
        word = token.upper()
        if kind == "name" and word in ("FROM", "JOIN"):
            self._expected = self._listing = True
        elif kind == "name" and word in _AFTER_TABLES:
            self._expected = self._listing = False
        elif token == "," and self._listing:
            self._expected = True
        elif self._expected and kind == "name" and word not in ("LATERAL", "ONLY"):
            self._expected = False
            if token.strip('"').lower() in CATALOGS:
                self._catalogs += 1
            else:
                self._others += 1
        elif self._expected and kind == "open":
            self._expected = False

    def none(self) -> bool:
        """Whether it reads nothing."""
        return self._catalogs == self._others == 0 and not self._listing

    def only_catalogs(self) -> bool:
        """Whether it reads catalogs and nothing else."""
        return self._catalogs > 0 and self._others == 0


def _classified(words: list[str], calls: frozenset[str], several: bool) -> Text:
    if not words:
        return Text(Verb.NEUTRAL)
    first = words[0]
    rest = " ".join(words)
    if first == "SHOW":
        return Text(Verb.NEUTRAL)
    if first in ("SELECT", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC", "PRAGMA", "("):
        if first == "EXPLAIN" and "ANALYZE" in words:
            return Text(Verb.WRITE, calls=calls)
        if first == "PRAGMA" and _neutral_pragma([word.strip('"').lower() for word in words[1:]]):
            return Text(Verb.NEUTRAL)
        return Text(Verb.READ, calls=calls)
    if first in ("BEGIN", "START"):
        if several or (first == "BEGIN" and len(words) > 1 and words[1] in ("NOT", "ATOMIC")):
            return Text(Verb.REFUSED, reason="a block of several statements in one text: execute them one by one")
        taken = "begin" if "WITH CONSISTENT SNAPSHOT" in rest else "statement"
        locks = "IMMEDIATE" in words[1:2] or "EXCLUSIVE" in words[1:2]
        return Text(Verb.BEGIN, _level(rest), _read_only(rest), snapshot_at=taken, locks=locks)
    if first in ("COMMIT", "END", "ROLLBACK", "ABORT"):
        return _ending(first, words, rest)
    if first in ("SAVEPOINT", "RELEASE"):
        return Text(Verb.SAVEPOINT)
    if first == "PREPARE" and words[1:2] == ["TRANSACTION"]:
        return Text(Verb.PREPARED)
    if first == "SET":
        return _setting(words, rest, calls)
    if first in ("RESET", "DISCARD", "DEALLOCATE", "LISTEN", "UNLISTEN", "NOTIFY", "CHECKPOINT", "ANALYZE", "USE"):
        return Text(Verb.NEUTRAL if first not in ("RESET", "DISCARD", "USE") else Verb.READ)
    if first == "COPY":
        return Text(Verb.REFUSED, reason="COPY is not recorded, as its rows are not in the statement: use executemany")
    if first in ("DECLARE", "FETCH", "MOVE", "CLOSE"):
        return Text(Verb.REFUSED, reason=f"{first} as a text is not recorded: use a named cursor of the driver")
    if first in ("PREPARE", "EXECUTE"):
        return Text(Verb.REFUSED, reason=f"{first} as a text is not recorded: the driver prepares statements itself")
    if first == "XA":
        return Text(Verb.REFUSED, reason="XA transactions are not recorded")
    return Text(Verb.WRITE, calls=calls)


_SCHEMA_PRAGMAS = frozenset(
    {
        "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
        "database_list", "collation_list", "schema_version", "encoding", "page_size",
    }
)  # fmt: skip


def _neutral_pragma(words: list[str]) -> bool:
    """Whether a PRAGMA asks for the schema, or sets what no answer depends on."""
    if words[1:2] == ["."]:
        words = words[2:]
    if not words:
        return False
    if words[0] == "read_uncommitted":
        return len(words) == 1 or words[-1] == "0"
    return words[0] in NEUTRAL_SETTINGS or (words[0] in _SCHEMA_PRAGMAS and "=" not in words)


def _ending(first: str, words: list[str], rest: str) -> Text:
    if "CHAIN" in words and "NO" not in words:
        return Text(Verb.REFUSED, reason="AND CHAIN is not recorded: begin the next transaction by itself")
    if words[1:2] == ["PREPARED"]:
        return Text(Verb.REFUSED, reason=f"{first} PREPARED as a text is not recorded: use the driver's tpc methods")
    if first == "ROLLBACK" and re.match(r"ROLLBACK (WORK |TRANSACTION )?TO\b", rest):
        return Text(Verb.SAVEPOINT)
    return Text(Verb.COMMIT if first in ("COMMIT", "END") else Verb.ROLLBACK)


def _setting(words: list[str], rest: str, calls: frozenset[str]) -> Text:
    if re.match(r"SET (LOCAL )?TRANSACTION\b", rest):
        if "SNAPSHOT" in words[2:4] and "LEVEL" not in words:
            return Text(Verb.CHARACTERIZE, snapshot_at="imported")
        return Text(Verb.CHARACTERIZE, _level(rest), _read_only(rest))
    if re.match(r"SET SESSION (CHARACTERISTICS AS )?TRANSACTION\b", rest):
        return Text(Verb.DEFAULT, _level(rest), _read_only(rest))
    name = next((word for word in words[1:] if word not in ("SESSION", "LOCAL", "GLOBAL")), "").lower()
    if name in (
        "default_transaction_isolation",
        "default_transaction_read_only",
        "transaction_isolation",
        "tx_isolation",
    ):
        return Text(Verb.REFUSED, reason=f"SET {name} is not recorded: use SET SESSION CHARACTERISTICS AS TRANSACTION")
    if name in NEUTRAL_SETTINGS or name == "names":
        return Text(Verb.NEUTRAL)
    return Text(Verb.READ, calls=calls)


def _level(rest: str) -> str | None:
    match = re.search(r"ISOLATION LEVEL (READ UNCOMMITTED|READ COMMITTED|REPEATABLE READ|SERIALIZABLE)", rest)
    return match[1] if match else None


def _read_only(rest: str) -> bool | None:
    if "READ ONLY" in rest:
        return True
    return False if "READ WRITE" in rest else None
