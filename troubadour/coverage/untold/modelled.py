"""Settings of which it is modelled what they do: how a log reads where they were changed before it began (PostgreSQL
manual 19, MariaDB, Server System Variables, sqlite.org/pragma.html, DuckDB, Configuration).

Does not know whether that explains it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import NullOrder
from troubadour.coverage.untold.accused import Accused, is_query, rows_of
from troubadour.model.log import Log, Statement, Transaction

Readings = Iterator[tuple[Log, SqlLibrary]]

LIKE = r"\blike\b"
_SORTS = r"\border\s+by\b"
_ELSEWHERE: tuple[NullOrder, ...] = ("first", "small", "large")
_KEY_ERRORS = frozenset({"23000", "23503"})


def _without_references(about: Accused, *, fires: bool = True) -> Readings:
    """Foreign keys are not kept by the connections that none refused anything; `fires`: triggers are run."""
    keys = [key for table in about.tables for key in table.foreign_keys]
    acts = any(key.acts for key in keys)
    silent = not fires and any(table.fires or about.library.catalog.triggers.get(table.name) for table in about.tables)
    if not silent and not (keys and (acts or about.refuses_a_write)):
        return
    refused = {
        transaction.session
        for transaction in about.log.transactions
        if any(s.error is not None and s.error.sqlstate in _KEY_ERRORS for s in transaction.statements)
    }
    transactions = [
        one if one.session in refused and one.session is not None else _ignoring(one) for one in about.log.transactions
    ]
    library = about.library if fires else about.library.supposing(about.library.dialect, fires=False)
    yield about.log.with_transactions(transactions), library


def _ignoring(transaction: Transaction) -> Transaction:
    statements = tuple(msgspec.structs.replace(one, references="ignored") for one in transaction.statements)
    return msgspec.structs.replace(transaction, statements=statements)


def _without_triggers(about: Accused) -> Readings:
    return _without_references(about, fires=False)


def _without_checks(about: Accused) -> Readings:
    if any(table.checks for table in about.tables) and about.refuses_a_write:
        yield about.log, about.library.supposing(replace(about.library.dialect, ignores_checks=True))


def _other_case(about: Accused) -> Readings:
    dialect = about.library.dialect
    if about.says(LIKE) and not about.in_sessions(LIKE):
        yield about.log, about.library.supposing(replace(dialect, like_keeps_case=not dialect.like_keeps_case))


def _descending(about: Accused) -> Readings:
    if about.says(_SORTS):
        yield about.log, about.library.supposing(replace(about.library.dialect, descends=True))


def _nulls_elsewhere(about: Accused) -> Readings:
    if about.says(_SORTS):
        for order in _ELSEWHERE:
            yield about.log, about.library.supposing(replace(about.library.dialect, null_order=order))


_LIMITED = pattern(r"'(?:[^']|'')*'|\b(LIMIT|INTO|FETCH|PROCEDURE)\b", re.IGNORECASE)
_LOCKING = pattern(r"\s*\b(FOR\s+(UPDATE|SHARE)|LOCK\s+IN)\b.*\Z", re.IGNORECASE | re.DOTALL)


def _limited(about: Accused) -> Readings:
    """No query gives more rows than the longest answer to one has; nor did those, perhaps, that the recorder asked as
    the log began, of the tables, of the columns of each, and of their rows. Only a limit is supposed that would be set:
    of one row, of hundreds, or of as many as there are tables."""
    header = about.log.header
    answers = [len(rows_of(s)) for t in about.log.transactions for s in t.statements if _may_be_cut(s)]
    limit = max(answers, default=0)
    asked = [len(about.tables), *(len(table.columns) for table in about.tables), *(len(e.rows) for e in header.initial)]
    captured = max(asked) <= limit
    if not limit or not (limit == 1 or limit % 100 == 0 or (captured and limit == len(about.tables))):
        return
    transactions = [
        msgspec.structs.replace(one, statements=tuple(_cut(statement, limit) for statement in one.statements))
        for one in about.log.transactions
    ]
    full = [entry.table for entry in header.initial if captured and len(entry.rows) == limit]
    given = tuple(entry for entry in header.initial if entry.table not in full)
    header = msgspec.structs.replace(header, initial=given, initial_unknown=(*header.initial_unknown, *full))
    log = about.log
    yield Log(header, transactions, log.digest, (log.committed, log.aborted, log.unknown)), about.library


def _may_be_cut(statement: Statement) -> bool:
    return is_query(statement) and not any(found[1] for found in _LIMITED.finditer(statement.sql))


def _cut(statement: Statement, limit: int) -> Statement:
    """A query that was answered with as many rows as the limit has, with that limit."""
    if not _may_be_cut(statement) or len(rows_of(statement)) != limit:
        return statement
    text = statement.sql.rstrip().rstrip(";")
    locking = _LOCKING.search(text)
    end = len(text) if locking is None else locking.start()
    return msgspec.structs.replace(statement, sql=f"{text[:end]} LIMIT {limit}{text[end:]}")


MODELLED: Mapping[str, Mapping[str, Callable[[Accused], Readings]]] = {
    "postgres": {"session_replication_role": _without_triggers},
    "mysql": {
        "foreign_key_checks": _without_references,
        "check_constraint_checks": _without_checks,
        "sql_select_limit": _limited,
    },
    "sqlite": {"case_sensitive_like": _other_case, "ignore_check_constraints": _without_checks},
    "duckdb": {"default_order": _descending, "default_null_order": _nulls_elsewhere},
}
"""By product and setting, the ways in which a log may read where that has not its default."""
