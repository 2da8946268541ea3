"""The parser of each product, told to leave the functions of our tables as they are written.

The parser's own nodes merge functions of different products (``STRPOS`` with MySQL's ``LOCATE``) and rewrite their
arguments; a call left by name keeps both. Forms with keywords inside (``SUBSTRING(a FROM 2)``) stay the parser's. Does
not know what a function means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.parser import Parser

from sql_semantics.frontend.text.interpreted import extensible
from sql_semantics.products import PRODUCTS
from sql_semantics.values.functions import names

_SPECIAL = frozenset({"SUBSTRING", "SUBSTR", "TRIM", "EXTRACT", "POSITION", "MOD"})


@cache
def parser_class(dialect: str) -> type[Parser]:
    """The product's parser without the functions that are bound by name."""
    base, text = extensible(Grammar.get_or_raise(dialect).parser_class), PRODUCTS[dialect].text
    ours = {name.upper() for name in names(dialect)} - text.keyword_forms
    functions = {name: build for name, build in base.FUNCTIONS.items() if name not in ours}
    if _SERIES in functions:
        functions[_SERIES] = _series(functions[_SERIES])
    forms = {name: parse for name, parse in base.FUNCTION_PARSERS.items() if name not in ours}
    primary = {**base.PRIMARY_PARSERS, TokenType.NULL: _null}
    unary = {**base.UNARY_PARSERS, TokenType.PLUS: _plus}
    changed = {
        "FUNCTIONS": functions,
        "FUNCTION_PARSERS": forms,
        "PRIMARY_PARSERS": primary,
        "UNARY_PARSERS": unary,
        "_parse_assignment": _assignment(base),
        "_parse_ordered": _ordered(base),
    }
    if text.json_arrows == "closest":
        changed["COLUMN_OPERATORS"] = {**base.COLUMN_OPERATORS, **_KEYED}
    if text.json_arrows == "operators":
        changed["JSON_OPERATORS"] = {**base.JSON_OPERATORS, **_KEYED}
    if not text.arrow_lambdas:
        changed["LAMBDAS"] = {kind: build for kind, build in base.LAMBDAS.items() if kind is not TokenType.ARROW}
    return type(base.__name__, (base,), changed)


_KEYED: Mapping[TokenType, Callable[[Parser, exp.Expr, exp.Expr], exp.Expr]] = {
    TokenType.ARROW: lambda _, value, key: exp.JSONExtract(this=value, expression=key),
    TokenType.DARROW: lambda _, value, key: exp.JSONExtractScalar(this=value, expression=key),
}
"""``->`` and ``->>``, whose key the parser would read as a path."""


_SERIES = "GENERATE_SERIES"


def _series(build: Callable[[list[exp.Expr]], exp.Expr]) -> Callable[[list[exp.Expr]], exp.Expr]:
    """How a series is built: its step as it is written, which the parser reads as an interval of one unit or not at
    all."""

    def built(given: list[exp.Expr]) -> exp.Expr:
        if len(given) > 3:
            return exp.Anonymous(this=_SERIES, expressions=given)
        found = build(given[:2])
        if len(given) == 3:
            found.set("step", given[2])
        return found

    return built


_LITERALS = frozenset({TokenType.NUMBER, TokenType.STRING})
_LISTED = frozenset({TokenType.COMMA, TokenType.R_PAREN})


def _assignment(base: type[Parser]) -> Callable[[Parser], exp.Expr | None]:
    """How an expression is parsed. A literal that is an item of a list by itself is known for one at once: else every
    level of precedence is asked, which is half of the time that a statement of ten thousand rows takes."""

    def parse(parser: Parser) -> exp.Expr | None:
        token, following = parser._curr, parser._next
        if token and following and token.token_type in _LITERALS and following.token_type in _LISTED:
            parser._advance()
            build: Callable[[Parser, Token], exp.Expr] = parser.PRIMARY_PARSERS[token.token_type]
            return build(parser, token)
        if token and following and token.token_type is TokenType.COLON and following.token_type is TokenType.VAR:
            place = parser._index + 2
            after = parser._tokens[place] if place < len(parser._tokens) else None
            if after and after.token_type in _LISTED:
                parser._advance(2)
                return exp.Placeholder(this=following.text)
        return base._parse_assignment(parser)

    return parse


def _ordered(base: type[Parser]) -> Callable[..., exp.Expr | None]:
    """How an item of ORDER BY is parsed: whether it says itself where NULLs come is in its `meta`."""

    def parse(parser: Parser, parse_method: Callable[[], exp.Expr | None] | None = None) -> exp.Expr | None:
        found: exp.Expr | None = base._parse_ordered(parser, parse_method)
        if found is not None and parser._index >= 2 and parser._tokens[parser._index - 2].text.upper() == "NULLS":
            found.meta["places NULLs"] = True
        return found

    return parse


def _plus(parser: Parser) -> exp.Expr | None:
    """A sign that changes nothing, which the parser would drop: its operand in parentheses that tell of it."""
    operand = parser._parse_unary()
    return None if operand is None else exp.Paren(this=operand, sign="+")


def _null(parser: Parser, token: Token) -> exp.Expr:
    """NULL; UNKNOWN, which the parser takes for the same, is told from it."""
    return exp.Null(this="UNKNOWN") if token.token_type is TokenType.UNKNOWN else exp.Null()


@cache
def known_functions(dialect: str) -> frozenset[str]:
    """Upper-case names that the parser turns into nodes of its own."""
    found = parser_class(dialect)
    return frozenset(found.FUNCTIONS) | frozenset(found.FUNCTION_PARSERS)


@cache
def keyword_forms(dialect: str) -> frozenset[str]:
    """Functions of the product that the parser has nodes for because of their syntax."""
    return frozenset(name.upper() for name in names(dialect) if name.upper() in _SPECIAL)


def parse(text: str, tokens: list[Token], dialect: str) -> list[exp.Expr | None]:
    """The trees of a text. Raises SqlglotError, RecursionError."""
    return list(parser_class(dialect)(dialect=Grammar.get_or_raise(dialect)).parse(tokens, text))
