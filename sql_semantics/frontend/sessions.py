"""Statements that change no row, answer nothing and leave the meaning of others alone: time limits, locks of tables,
notices (PostgreSQL manual, SQL commands; MySQL manual 15.7.6).

What waits or fails because of them does so with errors that may always happen (DESIGN §5). Read from tokens, since the
parser knows few of them. Does not know who waits for whom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import Token, TokenType

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.syntax import tokens_of
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import NoEffect
from sql_semantics.values.dialect import Dialect

_CANDIDATE = re.compile(r"\s*(SET|RESET|LOCK|NOTIFY|LISTEN|UNLISTEN|ANALYZE|DEALLOCATE|--|/\*|#)", re.IGNORECASE)
"""A text that may be one of these; a comment may hide the first word."""
_FIRST_WORDS: Mapping[str, frozenset[str]] = {
    "postgres": frozenset({"SET", "RESET", "LOCK", "NOTIFY", "LISTEN", "UNLISTEN", "ANALYZE", "DEALLOCATE"}),
    "mysql": frozenset({"SET"}),
    "sqlite": frozenset({"ANALYZE"}),
    "duckdb": frozenset({"ANALYZE"}),
}
_HARMLESS: Mapping[str, frozenset[str]] = {
    "postgres": frozenset(
        {
            *("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"),
            *("transaction_timeout", "deadlock_timeout", "application_name", "client_min_messages", "work_mem"),
            *("log_min_messages", "log_statement", "log_duration", "log_min_duration_statement", "temp_buffers"),
            *("synchronous_commit", "maintenance_work_mem", "effective_cache_size", "random_page_cost"),
            *("plan_cache_mode", "jit", "max_parallel_workers_per_gather", "seq_page_cost"),
            *("cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost", "parallel_setup_cost"),
            *("parallel_tuple_cost", "parallel_leader_participation", "debug_parallel_query", "hash_mem_multiplier"),
            *("min_parallel_table_scan_size", "min_parallel_index_scan_size", "max_parallel_workers"),
            *(
                "enable_bitmapscan",
                "enable_gathermerge",
                "enable_hashagg",
                "enable_hashjoin",
                "enable_incremental_sort",
            ),
            *("enable_indexonlyscan", "enable_indexscan", "enable_material", "enable_memoize", "enable_mergejoin"),
            *("enable_nestloop", "enable_parallel_append", "enable_parallel_hash", "enable_seqscan", "enable_sort"),
            *("enable_tidscan", "enable_async_append", "enable_presorted_aggregate", "geqo", "geqo_threshold"),
            *("join_collapse_limit", "from_collapse_limit", "cursor_tuple_fraction", "default_statistics_target"),
        }
    ),
    "mysql": frozenset(
        {
            *("innodb_lock_wait_timeout", "lock_wait_timeout", "wait_timeout", "interactive_timeout"),
            *("max_statement_time", "max_execution_time", "net_read_timeout", "net_write_timeout"),
        }
    ),
}
"""Settings that decide how long or by which plan, never what."""
_SCOPES = frozenset({"SESSION", "LOCAL"})
_MODES = frozenset({"ACCESS", "ROW", "SHARE", "UPDATE", "EXCLUSIVE"})


def bind_no_effect(text: str, catalog: Catalog, dialect: Dialect) -> NoEffect | None:
    """The statement, or None for a text that is none of these. Raises Unsupported for a setting, a mode or a table of
    which that is not known."""
    if not _CANDIDATE.match(text):
        return None
    tokens = tokens_of(text, dialect.name)
    if len(tokens) == 2 and tokens[0].token_type in (TokenType.LOCK, TokenType.COMMAND):
        tokens[1:] = tokens_of(tokens[1].text, dialect.name)  # the tokenizer keeps a command's rest as one text
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    words = [_word(token) for token in tokens]
    first = words[0].upper() if words else ""
    if first not in _FIRST_WORDS[dialect.name]:
        return None
    match first:
        case "SET":
            return NoEffect(_setting(words[1:], dialect))
        case "RESET":
            if len(words) != 2 or words[1].lower() not in _HARMLESS[dialect.name]:
                raise Unsupported(f"RESET {' '.join(words[1:2])}")
            return NoEffect(f"RESET {words[1]}")
        case "LOCK":
            return NoEffect(_lock(words[1:], catalog))
        case "ANALYZE":
            if len(words) > 1 and (len(words) > 2 or words[1].lower() not in catalog.tables):
                raise Unsupported("ANALYZE of something else than a table")
    return NoEffect(first)


def _word(token: Token) -> str:
    """The text as it is compared: a quoted name keeps its case behind a mark, so that it is no keyword."""
    return f'"{token.text}"' if token.token_type is TokenType.IDENTIFIER else token.text


def _setting(words: Sequence[str], dialect: Dialect) -> str:
    upper = [word.upper() for word in words]
    scope = 1 if upper[:1] and upper[0] in _SCOPES else 0
    if upper[scope : scope + 1] == ["TRANSACTION"] and scope == (1 if dialect.name == "mysql" else 0):
        return _transaction(upper[scope + 1 :], dialect)
    if scope == 0 and dialect.name == "mysql" and upper[:2] == ["TRANSACTION", "ISOLATION"]:
        raise Unsupported("SET TRANSACTION in a transaction")  # an error, or the next one's
    name = words[scope].lower() if len(words) > scope + 2 else ""
    if name in _HARMLESS[dialect.name] and upper[scope + 1] in ("=", "TO") and "," not in upper:
        return f"SET {name}"
    raise Unsupported(f"SET {' '.join(words[: scope + 1])}")


def _transaction(words: Sequence[str], dialect: Dialect) -> str:
    """``SET TRANSACTION``: the level is the log's matter; READ WRITE is what a transaction is."""
    rest = " ".join(words).replace(",", " ")
    levels = r"ISOLATION\s+LEVEL\s+(READ\s+UNCOMMITTED|READ\s+COMMITTED|REPEATABLE\s+READ|SERIALIZABLE)"
    if not re.fullmatch(rf"\s*(({levels}|READ\s+WRITE|(NOT\s+)?DEFERRABLE)\s*)+", rest):
        raise Unsupported("SET TRANSACTION other than a level or READ WRITE")
    return "SET TRANSACTION"


def _lock(words: Sequence[str], catalog: Catalog) -> str:
    """``LOCK [TABLE] [ONLY] name [, ...] [IN ... MODE] [NOWAIT]``."""
    upper = [word.upper() for word in words]
    place = 1 if upper[:1] == ["TABLE"] else 0
    names: list[str] = []
    while place < len(words):
        place += upper[place] == "ONLY"
        names.append(words[place].strip('"') if words[place : place + 1] and words[place][0] == '"' else "")
        names[-1] = names[-1] or (words[place].lower() if place < len(words) else "")
        place += 1
        if upper[place : place + 1] != [","]:
            break
        place += 1
    rest = upper[place:]
    if rest[-1:] == ["NOWAIT"]:
        rest = rest[:-1]
    mode = rest[1:-1] if rest[:1] == ["IN"] and rest[-1:] == ["MODE"] else rest
    if not names or any(name not in catalog.tables for name in names) or not set(mode) <= _MODES:
        raise Unsupported("LOCK of something else than known tables")
    return "LOCK TABLE"
