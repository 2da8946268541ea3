"""Passwords in statements, masked before they are written (docs/recording.md, *secrets*): those of statements that
administer users, servers and secrets, and of connection strings in them. What tables hold is data, and stays.

Does not know any DBMS, nor whether a statement is understood.
"""

from __future__ import annotations

import re
from functools import lru_cache

MASK = "***"

_ADMINISTERS = re.compile(
    r"""\A(?:\s|--[^\n]*\n|/\*.*?\*/)*
        (?:(?:CREATE|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:PERSISTENT\s+|TEMPORARY\s+)?
             (?:USER|ROLE|GROUP|SERVER|SUBSCRIPTION|SECRET|FOREIGN|DATABASE|CONNECTION)
         |SET\s+(?:GLOBAL\s+|SESSION\s+)?PASSWORD|GRANT|CHANGE\s+(?:MASTER|REPLICATION)|START\s+(?:SLAVE|REPLICA|GROUP)
         |ATTACH|INSTALL|COPY|IMPORT|EXPORT|PRAGMA\s+(?:key|rekey|hexkey))\b
      |\b(?:dblink|dblink_connect|dblink_exec|postgres_attach|postgres_scan|mysql_scan)\w*\s*\(""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_LITERAL = r"(?:\b[eEnNxX])?'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
_NAMED = re.compile(
    rf"""(?P<before>\b(?:PASSWORD|IDENTIFIED\s+(?:WITH\s+\w+\s+|VIA\s+\w+\s+)?(?:BY|AS|USING)(?:\s+PASSWORD)?|\w*_PASSWORD
             |REPLACE|SECRET|TOKEN|KEY_ID|BEARER_TOKEN|(?:PRAGMA\s+(?:re|hex)?key))
           \s*(?:=|\bFOR\s+\S+\s*=)?\s*(?:\(\s*|PASSWORD\s*\(\s*)?)(?:{_LITERAL})""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ANY = re.compile(_LITERAL, re.DOTALL)
_FOR_USER = re.compile(rf"(?P<before>\bPASSWORD\s+FOR\s+\S+\s*=\s*(?:PASSWORD\s*\(\s*)?)(?:{_LITERAL})", re.I | re.S)
_IN_URL = re.compile(r"(?P<before>\b[a-z][\w+.-]*://[^\s:/@']*:)[^\s@']+(?=@)", re.IGNORECASE)
_IN_STRING = re.compile(r"(?P<before>\b(?:password|passwd|pwd|sslpassword)\s*=\s*)(?:''.*?''|\\'.*?\\'|[^\s';]+)", re.I)
_MAYBE = re.compile(rb"(?i)pass|identified|secret|token|key|://")


@lru_cache(maxsize=10_000)
def administers(sql: str) -> bool:
    """Whether a statement may hold passwords, which its parameters then are, too."""
    return _ADMINISTERS.search(sql) is not None


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
    found = _NAMED.search(sql)
    if found is None:
        return sql
    # whatever text comes behind a password may be another, or a part of it in a statement that is refused
    begin = found.end("before")
    return sql[:begin] + _ANY.sub(f"'{MASK}'", sql[begin:])
