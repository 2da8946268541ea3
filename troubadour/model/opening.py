"""When a transaction's snapshot was taken, as far as its statements' texts tell.

PostgreSQL takes it for the first statement that is planned, SQLite and DuckDB for the first that touches a table, MySQL
for the first plain SELECT that reads one (not where its plan tells that no row can match: `a > 3 AND a < 2`), or at its
beginning, if the client said so. Savepoints take none anywhere, but a
driver may send something of its own with them (psycopg deallocates after ROLLBACK TO, which takes one). Does not know
what a statement means: where the text leaves it open, it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.products.rules import RunRules
from troubadour.model.log import Statement, Transaction

_COMMENTS = pattern(r"--[^\n]*|/\*.*?\*/", re.S)
_LITERALS = pattern(r"'(?:[^']|'')*'")
_WORDS = pattern(r"\w+")

_BY_VALUE = pattern(r"\bwhere\s+[`\"]?[a-z_][`\".\w]*\s*=\s*(\?|%s|\$\d+|:\w+|-?\d+|'[^']*')\s*;?\s*$", re.I)
_QUERIES = frozenset({"select", "with", "values", "table"})
_WRITES = frozenset({"insert", "update", "delete", "merge", "replace"})
_LOCKING = frozenset({"update", "share"})
_CHOOSING = frozenset({"where", "having", "on", "limit", "with", "union", "intersect", "except", "join"})
"""Words of a query that may match no row whatever the tables hold."""
_COMPOUND = frozenset({"with", "union", "intersect", "except"})
_AGGREGATES = frozenset(
    {"count", "sum", "avg", "min", "max", "std", "stddev", "variance", "group_concat", "json_arrayagg", "bit_or"}
)


def not_before(transaction: Transaction, dialect: str) -> int | None:
    """No earlier was the snapshot taken: when the first statement was sent, or BEGIN, if that may have done it (MySQL's
    START TRANSACTION WITH CONSISTENT SNAPSHOT). None where that is not known."""
    first = transaction.statements[0].invoked if transaction.statements else None
    if transaction.snapshot_at == "imported":
        return None
    sent = transaction.invoked
    if transaction.begin is not None and transaction.begin.invoked is not None:
        sent = transaction.begin.invoked
    taken = taken_by_begin(transaction)
    if taken or (taken is None and PRODUCTS[dialect].running.begin_takes_snapshot):
        return sent if sent is not None else first
    return first if first is not None else sent


def taken_by_begin(transaction: Transaction) -> bool | None:
    """Whether BEGIN took the snapshot; None where the log does not say."""
    if transaction.snapshot_at is not None:
        return transaction.snapshot_at == "begin"
    return None if transaction.begin is None else transaction.begin.snapshot


def opening(transaction: Transaction, dialect: str, tables: Collection[str]) -> int | None:
    """The first statement that certainly takes the transaction's snapshot if it has none; None where none is known to.
    `tables`: the names of the log's tables, in lower case."""
    rules = PRODUCTS[dialect].running
    for place, statement in enumerate(transaction.statements):
        if _certain(statement, rules, tables):
            return place
    return None


def taken_by(transaction: Transaction, got: Sequence[int | None], certain: int | None) -> int | None:
    """By then the snapshot was taken: statement n was answered by `got[n]`, and statement `certain` takes it if there
    is none. Where BEGIN took it, that was over when BEGIN was answered, else as the first statement was sent."""
    if taken_by_begin(transaction):
        sent = transaction.statements[0].invoked if transaction.statements else None
        known = [time for time in (transaction.begin.returned if transaction.begin else None, sent) if time is not None]
        return next(iter(known), got[0] if got else None)
    return None if certain is None else got[certain]


def _certain(statement: Statement, rules: RunRules, tables: Collection[str]) -> bool:
    """Whether a statement takes a snapshot if there is none. One that failed may have done so earlier, but for a
    clash of keys."""
    if statement.outcome_unknown or (statement.error is not None and statement.error.sqlstate[:2] != "23"):
        return False
    first, words = _words(statement.sql)
    if rules.snapshots_by == "any_statement":
        return first in _QUERIES or first in _WRITES or first == "call"
    if words.isdisjoint(tables):
        return False
    if rules.snapshots_by == "plain_reads":
        return first in _QUERIES and words.isdisjoint(_LOCKING) and _reads(statement, words)
    return first in _QUERIES or first in _WRITES


def _reads(statement: Statement, words: frozenset[str]) -> bool:
    """Whether a query certainly looked at a table: it goes through all of one, asks for one value of a column, or shows
    what only rows can give."""
    if _CHOOSING.isdisjoint(words):
        return True
    values = statement.params.values() if isinstance(statement.params, Mapping) else statement.params or ()
    if words.isdisjoint(_CHOOSING - {"where"}) and None not in values and _BY_VALUE.search(statement.sql):
        return True
    rows = statement.results[0].rows if statement.results else ()
    if not rows or statement.sql.lower().count("select") != 1 or not _COMPOUND.isdisjoint(words):
        return False
    if "group" in words or _AGGREGATES.isdisjoint(words):
        return True
    return all(value is not None and str(value).strip("-0.") not in ("", "False") for row in rows for value in row)


@lru_cache(maxsize=4096)
def _words(sql: str) -> tuple[str, frozenset[str]]:
    """The first word and all words outside of comments and literals, in lower case."""
    words = _WORDS.findall(_LITERALS.sub(" ", _COMMENTS.sub(" ", sql)).lower())
    return words[0] if words else "", frozenset(words)
