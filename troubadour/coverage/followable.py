"""Whether the definitions that a log changes are of a kind that is followed (`coverage.scopes`).

What is not refused here is CREATE, ALTER and DROP of tables and named indexes, spelled plainly, each once. Views,
routines and triggers keep to the definition that they were made over, and sequences have names of their own: where
there are any, nothing is followed. Does not know when the changes were made.
"""

from __future__ import annotations

import re
from collections import Counter

from sql_semantics.frontend import beginning
from sql_semantics.products import PRODUCTS
from troubadour.model.log import Log

_DEFINES = re.compile(r"(CREATE|ALTER|DROP|DO|COMMENT)\b", re.IGNORECASE)
_WORDS = re.compile(r"\w+")
_BOUND = frozenset({"VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "RULE"})
_NUMBERED = frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL", "IDENTITY", "NEXTVAL", "SEQUENCE"})
_SPELLED = frozenset(
    {"DROP", "TABLE", "INDEX", "IF", "EXISTS", "CASCADE", "RESTRICT", "ALTER", "ONLY", "RENAME", "TO", "AS"}
)
_NAME = r"(?:\w+|\"[^\"]+\"|`[^`]+`)"
_PLAIN = re.compile(
    rf"CREATE\s+(?:TEMP\w*\s+)?TABLE\b|ALTER\s+TABLE\b|DROP\s+TABLE\b|CREATE\s+TYPE\b|CREATE\s+INDEX\b"
    rf"|CREATE\s+UNIQUE\s+INDEX\s+(?!IF\b){_NAME}\s+ON\b|DROP\s+INDEX\s+(?:IF\s+EXISTS\s+)?(?!IF\b){_NAME}\s*;?\s*\Z",
    re.IGNORECASE,
)
_INDEX = re.compile(rf"CREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s+ON\b", re.IGNORECASE)
_DROPPED = re.compile(rf"DROP\s+INDEX\s+(?:IF\s+EXISTS\s+)?({_NAME})", re.IGNORECASE)


def is_followable(log: Log) -> bool:
    """Whether all that the log defines is of that kind."""
    header = log.header
    rules = PRODUCTS[header.dialect].running
    # a change of a table is no write of its rows to MySQL, so that no reference is checked again
    unchecked = not rules.table_changes_recheck and any("REFERENCES" in text.upper() for text in header.schema)
    if header.procedures or unchecked or (rules.pragmas_change_schema and _changes_otherwise(log)):
        return False
    schema = [beginning(text) for text in header.schema]
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
    if any(_BOUND & _words(text) for text in texts):
        return False
    again = Counter(text for _, text in made)
    if any(status != "committed" and again[text] > 1 for status, text in made):
        return False
    if not rules.has_sequences:
        # there are no sequences; a name of an index is free again with its table, and ties tables (`coverage.scopes`)
        return all(map(_names_its_index, texts)) or not any(map(_DROPPED.match, texts))
    moved = frozenset(name for _, text in made for name in _moved(text))
    numbered = [_words(text) for text in texts if _NUMBERED & _words(text)]
    if any(moved & words for words in numbered):
        return False
    added = any(_NUMBERED & _words(text) and text[:5].upper() == "ALTER" for _, text in made)
    if added and any({"ALTER", "DROP"} <= _words(text) for _, text in made):
        return False
    indexes = Counter(match[1].strip('"`').lower() for text in texts if (match := _INDEX.match(text)) is not None)
    dropped = [match[1].strip('"`').lower() for _, text in made if (match := _DROPPED.match(text)) is not None]
    return all(indexes[name] == 1 for name in dropped) and (not dropped or all(map(_names_its_index, texts)))


def _names_its_index(text: str) -> bool:
    """Whether a statement gives the index that it makes a name, if it makes any."""
    made = re.match(r"CREATE\s+(UNIQUE\s+)?INDEX\b", text, re.IGNORECASE)
    return made is None or _INDEX.match(text) is not None


_OTHERWISE = re.compile(
    r"\b(?:writable_schema|legacy_alter_table|schema_version)\b|\bATTACH\b|\bsqlite_(?:temp_)?(?:master|schema)\b",
    re.IGNORECASE,
)
_KEEPS_SCHEMA = re.compile(
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


def _moved(text: str) -> frozenset[str]:
    """The words of a statement that drops tables, or gives one another name."""
    goes = text[:4].upper() == "DROP" or re.search(r"\bRENAME\s+(TO|AS)\b", text, re.IGNORECASE) is not None
    return _words(text) - _SPELLED if goes else frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(word.upper() for word in _WORDS.findall(text))
