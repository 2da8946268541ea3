"""Whether the definitions that a log changes are of a kind that is followed (`coverage.scopes`).

What is not refused here is CREATE, ALTER and DROP of tables and named indexes, spelled plainly. Views, routines and
triggers keep to the definition that they were made over: what one of the schema's `binds` is not followed, and nothing
where the log makes one. Sequences have names of their own. Does not know when the changes were made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sql_semantics.frontend import beginning
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from troubadour.model.log import Log

_DEFINES = pattern(r"(CREATE|ALTER|DROP|DO|RENAME)\b", re.IGNORECASE)
_WORDS = pattern(r"\w+")
_BOUND = frozenset({"VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "RULE"})
_NUMBERED = frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL", "IDENTITY", "NEXTVAL", "SEQUENCE"})
_NAME = r"(?:\w+|\"[^\"]+\"|`[^`]+`)"
_NUMBERING = pattern(
    rf"(?:CREATE\s+(?:TEMP\w*\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?|ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?)"
    rf"(?:{_NAME}\s*\.\s*)?({_NAME})",
    re.IGNORECASE,
)
_PLAIN = pattern(
    rf"CREATE\s+(?:TEMP\w*\s+)?TABLE\b|ALTER\s+TABLE\b|DROP\s+TABLE\b|CREATE\s+TYPE\b|CREATE\s+INDEX\b"
    rf"|CREATE\s+UNIQUE\s+INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?(?!IF\b){_NAME}\s+ON\b|DROP\s+INDEX\s+(?:IF\s+EXISTS\s+)?(?!IF\b){_NAME}(?:\s+ON\s+{_NAME})?\s*;?\s*\Z"
    rf"|ALTER\s+INDEX\s+(?!IF\b){_NAME}\s+RENAME\s+TO\s+{_NAME}\s*;?\s*\Z"
    rf"|RENAME\s+TABLE\s+{_NAME}\s+TO\s+{_NAME}\s*;?\s*\Z",
    re.IGNORECASE,
)
_INDEX = pattern(rf"CREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s+ON\b", re.IGNORECASE)
_RENAMED = pattern(rf"ALTER\s+INDEX\s+({_NAME})\s+RENAME\s+TO\s+({_NAME})", re.IGNORECASE)
_DROPPED = pattern(rf"DROP\s+INDEX\s+(?:IF\s+EXISTS\s+)?({_NAME})", re.IGNORECASE)


def is_followable(log: Log) -> bool:
    """Whether all that the log defines is of that kind."""
    header = log.header
    rules = PRODUCTS[header.dialect].running
    # rows that are there may then refer to none, and a change of a table does not look
    unchecked = not rules.table_changes_recheck and any(map(_UNCHECKED.search, _statements(log)))
    if unchecked or (rules.pragmas_change_schema and _changes_otherwise(log)):
        return False
    schema = [text for text in map(beginning, header.schema) if not is_bound(text)]
    if any(_EVENT.search(text) for text in (*header.schema, *header.procedures)):
        return False
    made = [
        (transaction.status, beginning(statement.sql))
        for transaction in log.transactions
        for statement in transaction.statements
        if statement.error is None and _DEFINES.match(beginning(statement.sql))
    ]
    commented = any(
        beginning(statement.sql) != statement.sql.lstrip() and _DEFINES.match(beginning(statement.sql))
        for transaction in log.transactions
        for statement in transaction.statements
    )
    if commented or any(not _PLAIN.match(text) for _, text in made):
        return False
    texts = [*schema, *(text for _, text in made)]
    if any(is_bound(text) for _, text in made):
        return False
    renamed = [
        (match[1].strip('"').lower(), match[2].strip('"').lower())
        for _, text in made
        if (match := _RENAMED.match(text)) is not None
    ]
    if not rules.has_sequences:
        if renamed:
            return False
        # there are no sequences; a name of an index is free again with its table, and ties tables (`coverage.scopes`)
        return all(map(_names_its_index, texts)) or not any(map(_DROPPED.match, texts))
    numbered = Counter(match[1].strip('"').lower() for text in texts if (match := _numbers(text)) is not None)
    if any(count > 1 for count in numbered.values()):
        return False  # its sequence begins again, or another has its name
    added = any(_NUMBERED & _words(text) and text[:5].upper() == "ALTER" for _, text in made)
    if added and any({"ALTER", "DROP"} <= _words(text) for _, text in made):
        return False
    indexes = Counter(match[1].strip('"`').lower() for text in texts if (match := _INDEX.match(text)) is not None)
    indexes.update(new for _, new in renamed)
    dropped = [old for old, _ in renamed]
    dropped += [match[1].strip('"`').lower() for _, text in made if (match := _DROPPED.match(text)) is not None]
    return all(indexes[name] == 1 for name in dropped) and (not dropped or all(map(_names_its_index, texts)))


def _statements(log: Log) -> Iterator[str]:
    return (statement.sql for transaction in log.transactions for statement in transaction.statements)


_UNCHECKED = pattern(r"\bFOREIGN_KEY_CHECKS\b", re.IGNORECASE)
_EVENT = pattern(r"\bEVENT\s+TRIGGER\b", re.IGNORECASE)
_DYNAMIC = pattern(r"\bEXECUTE\b(?!\s+(?:FUNCTION|PROCEDURE)\b)|\bPREPARE\b|\bDBLINK", re.IGNORECASE)


def is_bound(text: str) -> bool:
    """Whether a definition is none of a table, but of what keeps to the definitions of tables."""
    return bool(_BOUND & _words(text))


def is_dynamic(text: str) -> bool:
    """Whether a routine may run what its text does not say."""
    return _DYNAMIC.search(text) is not None


def _names_its_index(text: str) -> bool:
    """Whether a statement gives the index that it makes a name, if it makes any."""
    made = re.match(r"CREATE\s+(UNIQUE\s+)?INDEX\b", text, re.IGNORECASE)
    return made is None or _INDEX.match(text) is not None


_OTHERWISE = pattern(
    r"\b(?:writable_schema|legacy_alter_table|schema_version)\b|\bATTACH\b|\bsqlite_(?:temp_)?(?:master|schema)\b",
    re.IGNORECASE,
)
_KEEPS_SCHEMA = pattern(
    r"(?:SELECT|EXPLAIN)\b|PRAGMA\s+(?:\w+\s*\.\s*)?(?:(?:writable_schema|legacy_alter_table|schema_version)\s*;?\s*\Z"
    r"|(?:writable_schema|legacy_alter_table)\s*(?:=|\()\s*'?(?:OFF|0|FALSE|NO)\b)",
    re.IGNORECASE,
)


def _changes_otherwise(log: Log) -> bool:
    """Whether something but DDL may change SQLite's schema, or what DDL does to it."""
    return any(
        _OTHERWISE.search(statement.sql) and not _KEEPS_SCHEMA.match(beginning(statement.sql))
        for transaction in log.transactions
        for statement in transaction.statements
    )


def _numbers(text: str) -> re.Match[str] | None:
    """The table that a statement creates or changes, where its rows are numbered by it."""
    return _NUMBERING.match(text) if _NUMBERED & _words(text) else None


def _words(text: str) -> frozenset[str]:
    return frozenset(word.upper() for word in _WORDS.findall(text))
