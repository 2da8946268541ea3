"""What is in a log as a statement and is none: the statements that begin and end a transaction.

Knows how products spell these, and no other statement.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sql_semantics.patterns import pattern

_COMMENT = r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*(?!!)(?:(?!\*/).)*\*/)*+"
"""Taken whole or not at all: many blanks can be split in too many ways to try them."""
_NOISE = r"(?:\s+(?:WORK|TRANSACTION))?"
_NO_CHAIN = r"(?:\s+AND\s+NO\s+CHAIN)?"
_MODE = r"(?:ISOLATION\s+LEVEL\s+[\w\s]+?|READ\s+(?:ONLY|WRITE)|(?:NOT\s+)?DEFERRABLE)"
_BOUNDARY = pattern(
    rf"{_COMMENT}(?:"
    rf"(?P<begin>BEGIN(?:\s+(?:DEFERRED|IMMEDIATE|EXCLUSIVE))?{_NOISE}|START\s+TRANSACTION)"
    rf"(?:\s+{_MODE}(?:\s*,?\s*{_MODE})*)?"
    rf"|(?P<commit>(?:COMMIT|END){_NOISE}{_NO_CHAIN})"
    rf"|(?P<rollback>(?:ROLLBACK|ABORT){_NOISE}{_NO_CHAIN})"
    rf")[\s;]*{_COMMENT}\Z",
    re.IGNORECASE | re.DOTALL,
)
_INSTEAD = {
    "begin": "a transaction is one line of the log; leave it out, and write its level as `isolation`",
    "commit": 'leave it out, and write `"status": "committed"`',
    "rollback": 'leave it out, and write `"status": "aborted"`',
}


@lru_cache(maxsize=4096)
def misplaced(sql: str) -> str | None:
    """What is wrong with a text that begins or ends a transaction, and what to write instead; None for any other."""
    found = _BOUNDARY.match(sql) if len(sql) < 1_000 else None
    if found is None or found.lastgroup is None:
        return None
    return f"{' '.join(sql.split())[:40]} is no statement of a transaction: {_INSTEAD[found.lastgroup]}"
