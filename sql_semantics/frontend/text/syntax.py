"""The door to the parser: text to one parse tree, and the tools to leave no part of a tree unread (STYLE habit 2).

`only` is what keeps the binder honest: whatever sits in a node and was not asked for is refused by name, so that a
clause this library does not know can never be dropped. Does not know names, types or any meaning.
"""

from __future__ import annotations

import logging
import re
from collections import Counter

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.errors import SqlglotError

from sql_semantics.errors import Unreadable, Unsupported
from sql_semantics.frontend.text.affinities import with_known_types
from sql_semantics.frontend.text.grammar import parse
from sql_semantics.frontend.text.spelling import check_spelling
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS

Node = exp.Expr

_NAMES: dict[str, str] = {
    "with_": "WITH",
    "exists": "EXISTS",
    "window": "window function",
    "union": "UNION",
    "intersect": "INTERSECT",
    "except": "EXCEPT",
    "conflict": "ON CONFLICT / ON DUPLICATE KEY",
    "joins": "join in parentheses or in a modified table",
    "laterals": "LATERAL",
    "lateral": "LATERAL",
    "qualify": "QUALIFY",
    "windows": "WINDOW clause",
    "sample": "TABLESAMPLE",
    "hint": "optimizer hint",
    "hints": "index hint",
    "operation_modifiers": "SELECT modifier",
    "into": "SELECT INTO",
    "kind": "SELECT AS",
    "rollup": "GROUP BY ROLLUP",
    "cube": "GROUP BY CUBE",
    "grouping_sets": "GROUPING SETS",
    "only": "ONLY",
    "filter": "FILTER clause of an aggregate",
    "currenttimestamp": "function now()",
    "currentdate": "function current_date()",
    "currenttime": "function current_time()",
    "currentuser": "function current_user()",
    "interval": "INTERVAL",
    "array": "ARRAY",
    "nested": "an array or a nested type",
    "any": "ANY",
    "all": "ALL",
    "hexstring": "hexadecimal literal",
    "bitstring": "bit-string literal",
    "bytestring": "literal of the form E'...' or a byte string",
    "unicodestring": "literal of the form U&'...'",
    "national": "literal of the form N'...'",
    "tuple": "row value",
    "collate": "COLLATE",
    "sessionparameter": "system variable",
    "regexplike": "regular expression",
    "bitwiseand": "operator &",
    "bitwiseor": "operator |",
    "bitwisexor": "operator # or bitwise ^",
    "bitwisenot": "operator ~",
    "bitwiseleftshift": "operator <<",
    "bitwiserightshift": "operator >>",
    "groupconcat": "aggregate string_agg or group_concat",
    "pow": "function power()",
    "rowset": "row value",
    "merge": "MERGE",
    "transaction": "BEGIN",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "set": "SET",
    "show": "SHOW",
    "truncatetable": "TRUNCATE",
    "values": "VALUES as a statement",
    "describe": "DESCRIBE or EXPLAIN",
    "create": "CREATE",
    "drop": "DROP",
    "alter": "ALTER",
    "copy": "COPY",
    "use": "USE",
    "kill": "KILL",
    "lock": "LOCK",
}

# The parser announces on its logger what it falls back to; here that is always a refusal, so nothing is lost.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def name_of(node: Node) -> str:
    """A construct in the user's words."""
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    if isinstance(node, exp.Anonymous):
        return f"function {str(node.this).lower()}()"
    known = _NAMES.get(node.key)
    if known is not None:
        return known
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return f"function {node.sql_name().lower()}()"
    return node.key.upper()


def unsupported(node: Node, where: str = "") -> Unsupported:
    """The refusal that names a node."""
    return Unsupported(name_of(node) + (f" in {where}" if where else ""))


def only(node: Node, *names: str) -> None:
    """Refuse a node that carries anything but the arguments named (Unsupported, naming the clause)."""
    for key, value in node.args.items():
        if key in names or value is None or value is False or value == [] or value == "" or key == "_type":
            continue
        clause = _NAMES.get(key, key.strip("_").replace("_", " ").upper())
        raise Unsupported(f"{clause} in {node.key.upper()}")


def tokens_of(text: str, dialect: str) -> list[Token]:
    """The text's tokens, comments left out. Raises Unreadable."""
    try:
        return list(Grammar.get_or_raise(dialect).tokenize(text))
    except SqlglotError as error:
        _not_for_memory(error)
        raise Unreadable("text that the parser refuses: unreadable") from error


def _not_for_memory(error: SqlglotError) -> None:
    """Raises MemoryError where that is why the tokenizer gave up: it takes every exception for the text's."""
    if isinstance(error.__cause__, MemoryError):
        raise error.__cause__


_BEFORE_JOIN = frozenset(
    {
        *(TokenType.INNER, TokenType.CROSS, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.OUTER),
        *(TokenType.NATURAL, TokenType.SEMI, TokenType.ANTI, TokenType.ASOF, TokenType.STRAIGHT_JOIN),
    }
)


def _marked(tokens: list[Token], dialect: str) -> list[Token]:
    """The tokens with every plain JOIN as INNER JOIN, which the tree tells from a comma, MySQL's REAL as the DOUBLE
    that it is there, and LOCK inside a statement as the name that it is in PostgreSQL."""
    marked: list[Token] = []
    rules = PRODUCTS[dialect].text
    for token in _unqualified(tokens) if rules.has_system_schema else tokens:
        if rules.real_is_double and token.token_type is TokenType.FLOAT and token.text.upper() == "REAL":
            token = Token(TokenType.DOUBLE, token.text, token.line, token.col, token.start, token.end)
        if rules.lock_is_name and token.token_type is TokenType.LOCK and marked:
            token = Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)
        if token.token_type is TokenType.JOIN and (not marked or marked[-1].token_type not in _BEFORE_JOIN):
            marked.append(Token(TokenType.INNER, "INNER", token.line, token.col, token.start, token.end))
        marked.append(token)
    return marked


_SYSTEM_CALL = pattern(r"\bpg_catalog\s*\.\s*\"?(\w+)\"?\s*\(", re.IGNORECASE)


def system_calls(text: str) -> frozenset[str]:
    """The functions that a text calls by the name of the schema of the system's (PostgreSQL)."""
    return frozenset(name.lower() for name in _SYSTEM_CALL.findall(text))


_GRAMMAR = frozenset(
    {
        *("coalesce", "nullif", "greatest", "least", "extract", "trim", "position", "overlay", "substring", "cast"),
        *("grouping", "exists", "any", "some", "all", "array", "row", "interval", "normalize", "treat", "collation"),
        *("if", "in", "not", "values", "select", "try_cast", "convert"),
    }
)
"""Words that are no functions, or have a syntax of their own without the schema."""


def _unqualified(tokens: list[Token]) -> list[Token]:
    """The tokens without ``pg_catalog.`` before the name of a function, which it has without it as well."""
    kept: list[Token] = []
    place = 0
    while place < len(tokens):
        ahead = tokens[place : place + 4]
        if (
            len(ahead) == 4
            and ahead[0].text.lower() == "pg_catalog"
            and ahead[1].token_type is TokenType.DOT
            and ahead[3].token_type is TokenType.L_PAREN
            and ahead[2].text.lower() not in _GRAMMAR
        ):
            place += 2
        kept.append(tokens[place])
        place += 1
    return kept


def without_defaults(text: str, dialect: str) -> str:
    """A definition without the words that the parser does not know and that say what holds anyway: NOT DEFERRABLE, and
    PostgreSQL's VIRTUAL; SQLite's with types that the parser knows."""
    rules = PRODUCTS[dialect].text
    if not rules.says_deferrable and not rules.says_virtual and not rules.declares_affinities:
        return text
    try:
        tokens = Grammar.get_or_raise(dialect).tokenize(text)
    except SqlglotError as error:
        _not_for_memory(error)
        return text  # refused when it is parsed
    words = [token.text.upper() for token in tokens]
    dropped: list[int] = []
    for place, word in enumerate(words):
        if rules.says_deferrable and word == "NOT" and words[place + 1 : place + 2] == ["DEFERRABLE"]:
            dropped += [place, place + 1]
        elif rules.says_virtual and word == "VIRTUAL" and place and words[place - 1] == ")":
            dropped.append(place)
    for place in reversed(dropped):
        token = tokens[place]
        text = text[: token.start] + " " * (token.end + 1 - token.start) + text[token.end + 1 :]
    return with_known_types(text, tokens) if rules.declares_affinities else text


_QUERIES = 400
"""Queries in one statement, more than any DBMS plans as a whole: what is bound of each hangs on those before it."""

_JOINS = 100
"""Tables joined in one statement; MySQL takes 61, SQLite 64."""


def _check_size(tokens: list[Token]) -> None:
    """Raises Unsupported for a statement of so many queries or joins that binding it would be most of an audit."""
    kinds = Counter(token.token_type for token in tokens)
    if kinds[TokenType.SELECT] > _QUERIES:
        raise Unsupported(f"a statement of more than {_QUERIES} queries")
    if kinds[TokenType.JOIN] > _JOINS:
        raise Unsupported(f"a statement of more than {_JOINS} joins")


def parse_one(text: str, dialect: str, *, spelling: bool = True) -> Node:
    """One statement's tree. Raises Unreadable for what the parser refuses, for none and for several statements, and
    with `spelling` Unsupported for what the product would not read as the parser does."""
    grammar = Grammar.get_or_raise(dialect)
    try:
        tokens = grammar.tokenize(text)
        _check_size(tokens)
        trees = parse(text, _marked(tokens, dialect), dialect)
    except SqlglotError as error:
        _not_for_memory(error)
        first = str(error).splitlines()[0] if str(error) else "unreadable"
        raise Unreadable(f"text that the parser refuses: {first}") from error
    except RecursionError as error:
        raise Unreadable("text that the parser refuses: nested too deeply") from error
    if spelling:
        check_spelling(tokens, dialect)
    found = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(found) != 1:
        raise Unreadable("an empty statement" if not found else "several statements in one text")
    return found[0]
