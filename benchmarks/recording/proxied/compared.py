"""What a log has beside what its server logged of the same run: every statement, none unseen and none invented. Does
not know what recorded it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from troubadour.model.log import Log
from troubadour.record.proxy.mysql import texts as mysql
from troubadour.record.proxy.postgres.statements.texts import pieces
from troubadour.record.statements.lexing import NUMBER, PLACE, TEXT, tokens
from troubadour.record.statements.texts import Verb

_STATEMENT = re.compile(r"(?:statement|execute (?!fetch from )\S+): (.*)", re.DOTALL)
_OWN = re.compile(r"pg_current_xact_id_if_assigned\(\)::pg_catalog\.text|pg_postmaster_start_time")
_LOOKUP = "pg_xact_commit_timestamp"
"""Stands in what the process that makes the log asks, on a connection of its own."""
_CAST = re.compile(r"(\$\d+)::[a-z][a-z ]*[a-z0-9](?:\[\])?")
_LISTED = re.compile(r"(?i)=\s*any\s*\((\$\d+)\)|\bin\s*\((?:\$\d+(?:\s*,\s*)?)+\)")
"""A list as a parameter, which the log has as its elements."""
_STARTS = re.compile(r"set session \w+ = '[^']*'")
"""How the log tells what a connection brought with it as it began."""
_COUNTED = (Verb.READ, Verb.WRITE, Verb.SAVEPOINT)


def _plain(sql: str) -> str:
    """A text without the casts that a recorder adds to parameters, or a client."""
    plain = _LISTED.sub("= any", _CAST.sub(r"\1", sql))
    return " ".join(re.sub(r"\$\d+", "$", plain).split()).lower()


def compared_with_general(lines: Iterable[tuple[int, str, str]], log: Log) -> tuple[int, list[str], list[str]]:
    """The same for the general log of MariaDB: connection, command, argument. An EXECUTE is logged with its
    values where the log has parameters, so constants are left out on both sides; so is SET, which the log has as
    what it comes to."""
    seen: Counter[str] = Counter()
    for _, command, argument in lines:
        if command not in ("Query", "Execute") or any(own in argument for own in _OWN_QUESTIONS):
            continue
        for piece in mysql.pieces(argument, several=command == "Query"):
            if piece.text.verb in _COUNTED and piece.text.word != "SET":
                seen[_shape(piece.sql)] += 1
    told = Counter(
        _shape(statement.sql)
        for transaction in log.transactions
        for statement in transaction.statements
        if not statement.sql.upper().startswith("SET")
    )
    return seen.total(), sorted((seen - told).elements()), sorted((told - seen).elements())


_OWN_QUESTIONS = ("information_schema.SYSTEM_VARIABLES", "mysql.general_log")


def _shape(sql: str) -> str:
    """A text of MySQL's without comments and constants."""
    found: list[str] = []
    for token in tokens(sql, mysql.DIALECT):
        if token.kind in (NUMBER, TEXT, PLACE) or token.text.upper() == "NULL":
            if found[-1:] in (["-"], ["+"]) and found[-2:-1] in ([], ["="], [","], ["("]):
                found.pop()
            found.append("?")
        else:
            found.append(token.text)
    return " ".join(found)


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
    beyond = Counter({text: count for text, count in beyond.items() if not _STARTS.fullmatch(text)})
    for text in sorted(beyond)[:copied]:
        beyond[text] -= 1
    beyond = +beyond
    return seen.total(), sorted(_fewer(missing, failed)), sorted(beyond)


def _is_default(sql: str) -> bool:
    """Whether a statement sets what the proxy follows by itself: levels, and the time zone that the log has anyway."""
    pattern = r"(?i)(?:RE)?SET\s+(?:SESSION\s+|LOCAL\s+)?(?:default_transaction_|TIME\s*ZONE\b|INTERVALSTYLE\b)"
    return re.match(pattern, sql) is not None


def _fewer(missing: Counter[str], failed: Counter[str]) -> Iterable[str]:
    """A text of several statements that failed is logged whole by the server, and as far as it came by a recorder."""
    return (missing - failed).elements()
