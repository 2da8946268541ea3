"""Refuses what the parser reads although the product in question would not.

The parser is lenient: it reads one product's spelling in a text for another, and afterwards the tree does not tell
``IFNULL`` from ``COALESCE``. Such a text fails on the real DBMS, so modelling it as if it succeeded would be wrong.
Works on tokens; does not know the tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import Token, TokenType, exp

from sql_semantics.errors import Unreadable, Unsupported
from sql_semantics.frontend.text.grammar import keyword_forms, known_functions
from sql_semantics.frontend.text.typenames import check_type_names
from sql_semantics.products import PRODUCTS
from sql_semantics.products.rules import TextRules

_EVERYWHERE = frozenset(
    {
        *("COALESCE", "NULLIF", "CAST"),
        *("COUNT", "SUM", "MIN", "MAX", "AVG"),
        *("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"),
        *("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"),
    }
)
_TYPES = frozenset(
    {
        *("CHAR", "VARCHAR", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "DEC"),
        *("TIME", "TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "FLOAT", "VARYING", "MEDIUMINT", "BPCHAR", "INTERVAL"),
    }
)
_STRUCTURE = frozenset(
    {
        *("VALUES", "IN", "EXISTS", "ANY", "ALL", "SOME", "USING", "ON", "KEY", "INDEX", "UNIQUE", "CHECK", "AND"),
        *("OR", "NOT", "WHERE", "WHEN", "THEN", "ELSE", "CASE", "BY", "HAVING", "SELECT", "DISTINCT", "FROM", "AS"),
        *("LIKE", "BETWEEN", "SET", "RETURNING", "LIMIT", "OFFSET", "DEFAULT", "JOIN", "IS", "FILTER", "OVER", "TABLE"),
    }
)
_NAMES_FOLLOW = frozenset({"INTO", "TABLE", "EXISTS", "UPDATE", "INDEX", "KEY", "FROM", "JOIN", "AS", "CONSTRAINT"})

_LIST_STARTS = frozenset({"(", ",", "SELECT", "DISTINCT", "BY", "RETURNING", "SET", "VALUES", "FROM", "WHERE", "ON"})

_NEVER_FOREIGN = frozenset({"", "(", ")", ":"})
"""A text, a quoted name, a parenthesis, the mark of a parameter: like numbers the most of a long statement, and no
spelling begins with one."""


def check_spelling(tokens: Sequence[Token], dialect: str) -> None:
    """Raises Unsupported for a function name, an operator or a clause of another product."""
    words = [
        "" if token.token_type in (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER) else token.text.upper()
        for token in tokens
    ]
    rules = PRODUCTS[dialect].text
    check_type_names(words, rules)
    creates = words[:1] == ["CREATE"]
    known = known_functions(dialect)
    allowed = _EVERYWHERE | rules.functions | _TYPES | _STRUCTURE | keyword_forms(dialect)
    for place, word in enumerate(words):
        if word in _NEVER_FOREIGN or word[0] in "0123456789" or word.startswith("BOUND_"):
            continue
        following = words[place + 1 : place + 3]
        if following[:1] == ["("] and word in known and word not in allowed:
            before = words[place - 1] if place else ""
            merges = word == "INSERT" and before == "THEN" and "MERGE" in words
            if before not in _NAMES_FOLLOW and not (creates and before in ("ON", "PARTITION BY")) and not merges:
                raise Unsupported(f"function {word.lower()}()")
        unlike = word == "!" and following[:1] in (["~"], ["~*"]) and tokens[place + 1].start == tokens[place].end + 1
        for spelling in rules.foreign_spellings if not unlike else ():
            if word == spelling[0] and tuple(following[: len(spelling) - 1]) == spelling[1:]:
                raise Unsupported(f"{' '.join(spelling)} in {dialect}")
        ends = ("FROM", ")", "WHERE", ";", "ORDER", "GROUP", "LIMIT", "ORDER BY", "GROUP BY")
        if word == "," and (not following or following[0] in ends):
            raise Unreadable("text that ends a list with a comma")
        nulls = words[max(place - 3, 0) : place] == ["NULLS", "NOT", "DISTINCT"]
        if word == "," and not nulls and words[place - 1].split(" ")[-1] in _LIST_STARTS:
            raise Unreadable("text that starts a list with a comma")
        if rules.signs_join_operators and word in ("+", "-") and place and _glued(tokens[place - 1], tokens[place]):
            raise Unsupported(f"operator {words[place - 1]}{word}")
        if word == "AS" and following[:1] and following[0] in rules.not_cast_to:
            raise Unsupported(f"CAST to {following[0]} in {dialect}")
        if word == "AS" and (not following or following[0] in (",", ")", ";", "FROM")):
            raise Unsupported("AS without a name")
        if word == "USING" and following[:1] == ["("] and _qualifies(words, place + 2):
            raise Unsupported("a qualified name in USING")
        if word == "GROUP BY" and following[:1] in (["DISTINCT"], ["ALL"]) and not _groups_by_all(following, rules):
            raise Unsupported(f"GROUP BY {following[0]}")
    _refuse_doubtful_literals(tokens, rules)
    into = 3 if rules.inserts_or and words[1:2] == ["OR"] else 1
    without_into = words[:1] == ["INSERT"] and (words[into : into + 1] != ["INTO"] or "SET" in words[:5])
    if without_into and not rules.inserts_without_into:
        raise Unsupported(f"MySQL's form of INSERT in {dialect}")
    if not rules.limit_takes_comma:
        _refuse_comma_limit(words, dialect)
    if not rules.table_is_query:
        for place, word in enumerate(words):
            before = words[place - 1] if place else ""
            if word == "TABLE" and before in ("", "(", "UNION", "ALL", "DISTINCT", "INTERSECT", "EXCEPT"):
                raise Unsupported(f"TABLE as a query in {dialect}")
    if rules.offset_needs_limit and "OFFSET" in words and "LIMIT" not in words:
        raise Unsupported(f"OFFSET without LIMIT in {dialect}")


def _groups_by_all(following: Sequence[str], rules: TextRules) -> bool:
    """Whether it is DuckDB's GROUP BY ALL, and not PostgreSQL's word before what it groups by."""
    ends = ("", ")", "ORDER BY", "HAVING", "LIMIT", "UNION", "QUALIFY", "WINDOW")
    return rules.groups_by_all and following[0] == "ALL" and (*following, "")[1] in ends


def _refuse_doubtful_literals(tokens: Sequence[Token], rules: TextRules) -> None:
    """1_000, 0o17 and 1abc are numbers to newer versions only, a number and an alias to older ones and to the parser.
    Texts beside each other are one in MySQL; in PostgreSQL with nothing but a line's end between them."""
    for before, token in itertools.pairwise(tokens):
        glued = token.start == before.end + 1 and before.token_type is TokenType.NUMBER
        if glued and (token.text[:1].isalnum() or token.text[:1] in "_$"):
            raise Unsupported(f"number written {before.text}{token.text}")
        texts = before.token_type is TokenType.STRING and token.token_type is TokenType.STRING
        across = token.line != before.line and not before.comments and not token.comments
        one = rules.adjacent_texts == "joined" or (across and rules.adjacent_texts == "joined across lines")
        if texts and not one:
            raise Unsupported("string literals beside each other")
        if before.token_type is TokenType.INTERVAL and token.token_type is TokenType.STRING:
            parts = exp.INTERVAL_STRING_RE.findall(token.text)
            if len(parts) == 1 and exp.INTERVAL_STRING_RE.sub("", token.text).strip():
                raise Unsupported(f"INTERVAL {token.text!r}")  # the parser keeps the one part that it knows
    for token in tokens:
        if token.token_type in (TokenType.HEX_STRING, TokenType.BIT_STRING) and "_" in token.text:
            raise Unsupported(f"number written {token.text}")


def _glued(before: Token, token: Token) -> bool:
    """PostgreSQL 4.1.3: a sign right behind one of these characters belongs to the operator."""
    return (
        token.start == before.end + 1 and before.text[-1:] in "~!@#%^&|?" and before.token_type is not TokenType.STRING
    )


def _qualifies(words: Sequence[str], place: int) -> bool:
    """Whether a list of names that starts here has one with a dot in it, which the parser leaves out."""
    while place + 2 < len(words) and words[place + 1] == ",":
        place += 2
    return words[place + 1 : place + 2] == ["."]


def _refuse_comma_limit(words: Sequence[str], dialect: str) -> None:
    depth = 0
    limited = False
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word == "LIMIT":
            limited = True
        elif limited and depth == 0 and word == ",":
            raise Unsupported(f"LIMIT a, b in {dialect}")
        elif depth < 0 or word in ("OFFSET", "FOR", "RETURNING", "UNION"):
            limited = False
