"""Passwords in statements, masked before they are written (docs/recording.md, *Private*): those of statements that
administer users, servers and secrets, wherever they stand (in a body, behind PREPARE, in a comment that is executed),
of settings that are called so, of connection strings, and keys that functions encrypt with. What tables hold is data,
and stays.

Does not know any DBMS, nor whether a statement is understood.
"""

from __future__ import annotations

import re
from functools import lru_cache

MASK = "***"

_LITERAL = r"(?:\b[uU]&|\b[eEnNxX])?'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
_QUIET = re.compile(r"'(?:[^'\\]|''|\\.)*'|--[^\n]*|^[ \t]*\#[^\n]*|/\*(?!M?!).*?\*/", re.DOTALL | re.MULTILINE)
"""Texts and comments, in which nothing is administered."""
_CALLED = "passw|passphrase|secret|token|credential|api_?key|access_?key|private_?key|encryption_?key"
"""What names of secrets have in them."""
_SETTING = rf"[\w.\"`]*(?:{_CALLED})[\w.\"`]*"
_ADMINISTERS = re.compile(
    rf"""(?:\A|[;(]|\b(?:BEGIN|THEN|ELSE|LOOP|AS|DO|ANALYZE|EXPLAIN)\b|\$\w*\$|/\*M?!\d*)\s*
        (?:(?:CREATE|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:PERSISTENT\s+|TEMPORARY\s+)?
             (?:USER|ROLE|GROUP|SERVER|SUBSCRIPTION|SECRET|FOREIGN|EXTERNAL|DATABASE|CONNECTION|SYSTEM)\b
         |SET\s+(?:GLOBAL\s+|SESSION\s+|LOCAL\s+|PERSIST\s+)?(?:PASSWORD\b|{_SETTING}\s*(?::?=|\bTO\b))
         |(?:GRANT|CHANGE\s+(?:MASTER|REPLICATION)|START\s+(?:SLAVE|REPLICA|GROUP)
           |ATTACH|INSTALL|COPY|IMPORT|EXPORT|UNLOAD|PRAGMA\s+(?:\w+\.)?\w*key)\b)
      |\b(?:dblink\w*|postgres_\w+|mysql_\w+|set_config)\s*\(
      |\b(?:pgp_sym_(?:en|de)crypt\w*|pgp_pub_decrypt\w*|(?:aes|des)_(?:en|de)crypt|(?:en|de)crypt_iv|hmac|crypt)\s*\(""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_NAMED = re.compile(
    rf"""(?P<before>\b(?:PASSWORD|IDENTIFIED\s+(?:WITH\s+\w+\s+|VIA\s+\w+\s+)?(?:BY|AS|USING)(?:\s+PASSWORD)?
             |\w*_PASSWORD|REPLACE|KEY|KEY_ID|CREDENTIALS|{_SETTING}|PRAGMA\s+(?:\w+\.)?\w*key)
           \s*(?::?=|\bTO\b|\bFOR\s+\S+\s*=)?\s*(?:\(\s*|PASSWORD\s*\(\s*)?)(?:{_LITERAL})""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_SET_CONFIG = re.compile(
    rf"(?P<before>\bset_config\s*\(\s*'[^']*(?:{_CALLED})[^']*'\s*,\s*)(?:{_LITERAL})", re.IGNORECASE | re.DOTALL
)
_ENCRYPTS = re.compile(
    r"\b(?P<first>crypt)\s*\(|\b(?:pgp_sym_(?:en|de)crypt\w*|pgp_pub_decrypt\w*|(?:aes|des)_(?:en|de)crypt"
    r"|(?:en|de)crypt_iv|hmac)\s*\(",
    re.IGNORECASE,
)
_ANY = re.compile(_LITERAL, re.DOTALL)
_FOR_USER = re.compile(rf"(?P<before>\bPASSWORD\s+FOR\s+\S+\s*=\s*(?:PASSWORD\s*\(\s*)?)(?:{_LITERAL})", re.I | re.S)
_IN_URL = re.compile(r"(?P<before>\b[a-z][\w+.-]*://[^\s:/@']*:)[^\s@']+(?=@)", re.IGNORECASE)
_IN_STRING = re.compile(r"(?P<before>\b(?:password|passwd|pwd|sslpassword)\s*=\s*)(?:''.*?''|\\'.*?\\'|[^\s';]+)", re.I)
_MAYBE = re.compile(rb"(?i)pass|pwd|identified|secret|token|key|credential|crypt|hmac|://")
_NAMING = re.compile(
    r"\b(?:CREATE|ALTER|SET|GRANT|CHANGE|START|ATTACH|INSTALL|COPY|IMPORT|EXPORT|UNLOAD|PRAGMA)\b", re.IGNORECASE
)
"""Words of statements that name secrets; a query that calls something may compare columns of such names."""


@lru_cache(maxsize=10_000)
def administers(sql: str) -> bool:
    """Whether a statement may hold passwords, which its parameters then are, too."""
    return _ADMINISTERS.search(_QUIET.sub(lambda match: "''" if match.group()[0] == "'" else " ", sql)) is not None


def masked_bytes(sql: bytes) -> bytes:
    """As `masked`, of UTF-8."""
    return masked(sql.decode()).encode() if _MAYBE.search(sql) else sql


def masked(sql: str) -> str:
    """The statement with the passwords in it masked; as it is, if it holds none."""
    if not administers(sql):
        return sql
    sql = _IN_URL.sub(rf"\g<before>{MASK}", sql)
    sql = _IN_STRING.sub(rf"\g<before>{MASK}", sql)
    sql = _FOR_USER.sub(rf"\g<before>'{MASK}'", sql)
    sql = _without_keys(_SET_CONFIG.sub(rf"\g<before>'{MASK}'", sql))
    found = _NAMED.search(sql) if _NAMING.search(sql) else None
    if found is None:
        return sql
    # whatever text comes behind a password may be another, or a part of it in a statement that is refused
    begin = found.end("before")
    return sql[:begin] + _ANY.sub(f"'{MASK}'", sql[begin:])


def _without_keys(sql: str) -> str:
    """The texts that functions are given to encrypt with, masked."""
    place = 0
    while (call := _ENCRYPTS.search(sql, place)) is not None:
        place = call.end()
        depth, argument = 1, 0
        while depth and place < len(sql):
            literal = _ANY.match(sql, place)
            if literal is None:
                mark = sql[place]
                depth += {"(": 1, ")": -1}.get(mark, 0)
                argument += mark == "," and depth == 1
                place += 1
            elif (argument == 0) == (call["first"] is not None):
                sql = f"{sql[:place]}'{MASK}'{sql[literal.end() :]}"
                place += len(MASK) + 2
            else:
                place = literal.end()
    return sql
