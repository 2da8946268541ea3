"""What a log has beside what its server logged of the same run: every statement, none unseen and none invented. Does
not know who recorded it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from troubadour.model.log import Log
from troubadour.record.proxy.postgres.statements.texts import pieces
from troubadour.record.statements.texts import Verb

_STATEMENT = re.compile(r"(?:statement|execute (?!fetch from )\S+): (.*)", re.DOTALL)
_OWN = re.compile(r"pg_current_xact_id_if_assigned\(\)::pg_catalog\.text|pg_postmaster_start_time")
_LOOKUP = "pg_xact_commit_timestamp"
"""Stands in what the process that makes the log asks, on a connection of its own."""
_CAST = re.compile(r"(\$\d+)::[a-z][a-z ]*[a-z0-9](?:\[\])?")
_COUNTED = (Verb.READ, Verb.WRITE, Verb.SAVEPOINT)


def _plain(sql: str) -> str:
    """A text without the casts that a recorder adds to parameters, or a client."""
    return " ".join(_CAST.sub(r"\1", sql).split())


def compared(lines: Iterable[dict[str, str]], log: Log) -> tuple[int, list[str], list[str]]:
    """How many statements the server logged, those that the log lacks, and those that it has beyond. FETCH, COPY and
    EXECUTE
    stand in the log as other statements: as many are allowed there as the server logged of them."""
    seen: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    copied = 0
    lines = list(lines)
    lookups = {line["pid"] for line in lines if _LOOKUP in line["message"]}
    for line in lines:
        if line["pid"] in lookups:
            continue
        match = _STATEMENT.fullmatch(line["message"])
        if line["severity"] == "ERROR" and line["query"]:
            failed.update(_plain(piece.sql) for piece in pieces(line["query"]))
        if match is None or _OWN.search(match[1]):
            continue
        for piece in pieces(match[1]):
            if piece.text.verb in _COUNTED and not _is_default(piece.sql):
                seen[_plain(piece.sql)] += 1
            elif piece.text.word == "DECLARE":
                seen[_plain(re.sub(r"(?is)^DECLARE.*?\bFOR\s+", "", piece.sql))] += 1
            elif piece.text.word in ("COPY", "EXECUTE"):
                copied += 1
    told = Counter(_plain(statement.sql) for transaction in log.transactions for statement in transaction.statements)
    missing = seen - told
    beyond = told - seen - failed
    for text in sorted(beyond)[:copied]:
        beyond[text] -= 1
    beyond = +beyond
    return seen.total(), sorted(_fewer(missing, failed)), sorted(beyond)


def _is_default(sql: str) -> bool:
    """Whether a statement sets what the proxy follows by itself: levels, and the time zone that the log has anyway."""
    pattern = r"(?i)(?:RE)?SET\s+(?:SESSION\s+|LOCAL\s+)?(?:default_transaction_|TIME\s+ZONE\b)"
    return re.match(pattern, sql) is not None


def _fewer(missing: Counter[str], failed: Counter[str]) -> Iterable[str]:
    """A text of several statements that failed is logged whole by the server, and as far as it came by a recorder."""
    return (missing - failed).elements()
