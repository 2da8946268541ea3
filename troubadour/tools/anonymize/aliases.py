"""Statements without their comments, and with other names in place of those that only a statement gives: aliases of
columns and tables, common table expressions, savepoints. Read by tokens: names of the schema are known, and stay.

Does not know what a statement means; `anonymize` compares the verdicts before and after.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from sql_semantics.errors import Unsupported
from sql_semantics.products import PRODUCTS
from sql_semantics.products.rules import RunRules

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)|(?P<text>'(?:[^'\\]|''|\\.)*')
       |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)|(?P<place>[:@$][A-Za-z_0-9]+|%\(\w+\)s)|(?P<name>[^\W\d][\w$]*)
       |(?P<other>::|[^\s])""",
    re.VERBOSE | re.DOTALL,
)
_HASH = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|(?P<hash>\#[^\n]*)", re.DOTALL)
_NO_ALIAS = frozenset(
    {
        "ALL", "AND", "ANY", "AS", "ASC", "BEGIN", "BETWEEN", "BY", "CALL", "CASE", "CAST", "COLLATE", "COMMIT",
        "CONFLICT", "CONSTRAINT", "CROSS", "CURRENT", "DATE", "DEFAULT", "DELETE", "DESC", "DISTINCT", "DO",
        "ELSE", "END", "ESCAPE", "EXCEPT", "EXISTS", "FETCH", "FILTER", "FIRST", "FOR", "FORCE", "FROM", "FULL",
        "GLOB", "GROUP", "HAVING", "IF", "IGNORE", "IN", "INNER", "INSERT", "INTERSECT", "INTERVAL", "INTO",
        "IS", "ISNULL", "JOIN", "KEY", "LAST", "LATERAL", "LEFT", "LIKE", "LIMIT", "LOCKED", "MATCHED", "MERGE",
        "NATURAL", "NO", "NOT", "NOTHING", "NOTNULL", "NOWAIT", "NULL", "NULLS", "OF", "OFFSET", "ON", "ONLY",
        "OR", "ORDER", "OUTER", "OVER", "PARTITION", "PRIMARY", "RANGE", "RELEASE", "REPLACE", "RETURNING",
        "RIGHT", "ROLLBACK", "ROW", "ROWS", "SAVEPOINT", "SELECT", "SET", "SHARE", "SIMILAR", "SKIP", "SOME",
        "SYMMETRIC", "TABLE", "THEN", "TIME", "TIMESTAMP", "TO", "TRUE", "FALSE", "UNION", "UNIQUE", "UNKNOWN",
        "UPDATE", "USE", "USING", "VALUES", "WHEN", "WHERE", "WINDOW", "WITH", "XOR", "REGEXP", "RLIKE", "MOD",
        "DIV", "AT", "ILIKE",
    }
)  # fmt: skip
"""Words behind a name that are no alias of it."""


class Aliases:
    """`names`: those of the schema, in lower case. Each alias becomes another, the same everywhere."""

    def __init__(self, names: Collection[str], dialect: str) -> None:
        self._names = frozenset(names)
        self._rules = PRODUCTS[dialect].running
        self._given: dict[str, str] = {}
        self.plain = lru_cache(maxsize=10_000)(self._plain)
        """The text without comments and aliases. Raises Unsupported for a comment that is executed."""

    def _plain(self, sql: str) -> str:
        if self._rules.hash_comments:
            if "/*!" in sql or "/*M!" in sql:
                raise Unsupported("a comment that is executed")
            sql = _HASH.sub(lambda match: " " if match["hash"] else match.group(), sql)
        tokens = [match for match in _TOKEN.finditer(sql) if match["comment"] is None]
        found = set(self._found(tokens))
        for name in sorted(found - self._given.keys()):
            self._given[name] = f"alias{len(self._given) + 1}"

        def put(match: re.Match[str]) -> str:
            if match["comment"] is not None:
                return " "
            name = _name(match, self._rules)
            return self._given[name] if name in found else match.group()

        return _TOKEN.sub(put, sql).strip()

    def _found(self, tokens: list[re.Match[str]]) -> Iterator[str]:
        """The names that only this statement gives."""
        opened: list[str] = []
        before = ""
        # behind a column that is defined stands its type
        defines = bool(tokens) and tokens[0].group().upper() in ("CREATE", "ALTER")
        for place, token in enumerate(tokens):
            word = token.group().upper()
            name = _name(token, self._rules)
            following = _name(tokens[place + 1], self._rules) if place + 1 < len(tokens) else ""
            if word == "(":
                opened.append(before)
            elif word == ")" and opened:
                opened.pop()
            elif word == "AS" and not (opened and opened[-1] in ("CAST", "TRY_CAST")):
                own = following or (_name(tokens[place - 1], self._rules) if place else "")
                if self._is_own(own):
                    yield own
            elif (
                before in ("SAVEPOINT", "RELEASE", "TO")
                or (
                    place
                    and not defines
                    and _name(tokens[place - 1], self._rules) in self._names
                    and _called(tokens, place) != "("
                )
            ) and self._is_own(name):
                yield name
            before = word

    def _is_own(self, name: str) -> bool:
        return bool(name) and name not in self._names and name.upper() not in _NO_ALIAS


def _called(tokens: list[re.Match[str]], place: int) -> str:
    return tokens[place + 1].group() if place + 1 < len(tokens) else ""


def _name(token: re.Match[str], rules: RunRules) -> str:
    """The identifier that a token is, in lower case; empty for none."""
    text = token.group()
    if token["name"] is not None:
        return text.lower()
    if token["quoted"] is None or (rules.double_quoted_texts and text[0] == '"'):
        return ""
    return text[1:-1].replace(text[0] * 2, text[0]).lower()
