"""SAVEPOINT, ROLLBACK TO and RELEASE (PostgreSQL manual, SQL commands; MySQL manual 15.3.4; sqlite.org/lang_savepoint).

Read from tokens, since the parser knows none of them. Does not know which savepoints a transaction has.
"""

from __future__ import annotations

import re

from sqlglot import Token, TokenType

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.syntax import tokens_of
from sql_semantics.ir.statements import Release, RollbackTo, Savepoint
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded

_FIRST_WORDS = ("SAVEPOINT", "ROLLBACK", "RELEASE")
_CANDIDATE = pattern(r"\s*(SAVEPOINT|ROLLBACK|RELEASE|--|/\*|#)", re.IGNORECASE)
"""A text that may be one of these; a comment may hide the first word."""
_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER})


def bind_savepoint(text: str, dialect: Dialect) -> Savepoint | RollbackTo | Release | None:
    """The statement, or None for a text that is no such statement. Raises SqlError where the product refuses it."""
    if not _CANDIDATE.match(text):
        return None
    tokens = tokens_of(text, dialect.name)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    words = ["" if token.token_type is TokenType.IDENTIFIER else token.text.upper() for token in tokens]
    if not words or words[0] not in _FIRST_WORDS:
        return None
    rules = dialect.rules.definitions
    first = words[0]
    place = 1
    if first == "ROLLBACK":
        if words[place : place + 1] and words[place] in rules.rollback_words:
            place += 1
        if words[place : place + 1] != ["TO"]:
            return None
        place += 1
    if not rules.savepoints:
        raise SqlError(rules.savepoint_syntax_error, "DuckDB has no savepoints")
    if first != "SAVEPOINT":
        keyword = words[place : place + 1] == ["SAVEPOINT"] and len(words) > place + 1
        if first == "RELEASE" and rules.release_needs_savepoint and not keyword:
            raise SqlError(rules.savepoint_syntax_error, "RELEASE needs the word SAVEPOINT")
        place += keyword
    if place >= len(tokens):
        raise SqlError(rules.savepoint_syntax_error, f"{first} without a name")
    if len(tokens) > place + 1:
        raise Unsupported(f"{first} with more than a name")
    name = _name(tokens[place], dialect)
    match first:
        case "SAVEPOINT":
            return Savepoint(name)
        case "ROLLBACK":
            return RollbackTo(name)
    return Release(name)


def _name(token: Token, dialect: Dialect) -> str:
    """The name as it is compared: as names of columns are."""
    rules = dialect.rules.definitions
    quoted = token.token_type is TokenType.IDENTIFIER
    if not quoted and (token.token_type in _LITERALS or not token.text.isidentifier()):
        if rules.savepoint_names_are_texts:
            raise Unsupported(f"savepoint name {token.text}")
        raise SqlError(rules.savepoint_syntax_error, f"savepoint name {token.text}")
    return folded(token.text, dialect, quoted=quoted)
