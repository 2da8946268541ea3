"""Whether the definitions that a log changes are of a kind that is followed (`coverage.scopes`).

What is not refused here is CREATE, ALTER and DROP of tables and named indexes, spelled plainly, each once. Views,
routines and triggers keep to the definition that they were made over, and sequences have names of their own: where
there are any, nothing is followed. Does not know when the changes were made.
"""

from __future__ import annotations

import re
from collections import Counter

from sql_semantics.frontend import beginning
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
    # a change of a table is no write of its rows to these two, so that no reference is checked again
    rechecks = header.dialect in ("mysql", "sqlite") and any("REFERENCES" in text.upper() for text in header.schema)
    if header.procedures or rechecks:
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
    moved = frozenset(name for _, text in made for name in _moved(text))
    numbered = [_words(text) for text in texts if _NUMBERED & _words(text)]
    if any(moved & words for words in numbered):
        return False
    added = any(_NUMBERED & _words(text) and text[:5].upper() == "ALTER" for _, text in made)
    if added and any({"ALTER", "DROP"} <= _words(text) for _, text in made):
        return False
    again = Counter(text for _, text in made)
    if any(status != "committed" and again[text] > 1 for status, text in made):
        return False
    indexes = Counter(match[1].strip('"`').lower() for text in texts if (match := _INDEX.match(text)) is not None)
    dropped = [match[1].strip('"`').lower() for _, text in made if (match := _DROPPED.match(text)) is not None]
    return all(indexes[name] == 1 for name in dropped) and (not dropped or _names_all(texts))


def _names_all(texts: list[str]) -> bool:
    """Whether every index that is made has a name."""
    return all(_INDEX.match(text) for text in texts if re.match(r"CREATE\s+(UNIQUE\s+)?INDEX\b", text, re.IGNORECASE))


def _moved(text: str) -> frozenset[str]:
    """The words of a statement that drops tables, or gives one another name."""
    goes = text[:4].upper() == "DROP" or re.search(r"\bRENAME\s+(TO|AS)\b", text, re.IGNORECASE) is not None
    return _words(text) - _SPELLED if goes else frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(word.upper() for word in _WORDS.findall(text))
