"""Predicates: comparison, connectives, IS, IN, BETWEEN, LIKE. Does not know clauses.

PostgreSQL, MySQL and the parser rank these operators differently against one another, so a comparison whose operand is
another one without parentheses is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions.composites import is_null
from sql_semantics.frontend.expressions.composites import tested as row_tested
from sql_semantics.frontend.expressions.rows import compare_rows, converts_row, in_rows, row_items
from sql_semantics.frontend.expressions.subqueries import in_query, quantified
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import (
    as_value,
    cast,
    is_loose,
    mismatch,
    refuse_unmodelled,
    settle,
    texts_of_enums,
)
from sql_semantics.frontend.types.collation import collated, jointly
from sql_semantics.frontend.types.comparison import (
    check_bounds,
    comparable,
    in_list,
    plus,
    reads_both,
)
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import (
    Binary,
    Const,
    Exists,
    Expr,
    InList,
    InQuery,
    IsNull,
    IsTruth,
    Like,
    Param,
    Quantified,
    Unary,
)
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.patterns import pattern
from sql_semantics.values.types import BOOLEAN, INT, TEXT, Kind

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_COMPARISON: Mapping[type[Node], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "is_not_distinct", exp.NullSafeNEQ: "is_distinct",
}  # fmt: skip

# Products and the parser rank these differently against comparisons: only parentheses make them one thing.
_UNRANKED = (*_COMPARISON, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape, exp.Not)


def _ranked(node: Node) -> Node:
    if isinstance(node, _UNRANKED):
        raise Unsupported("comparison of an unparenthesised comparison")
    if isinstance(node, exp.Tuple):
        raise Unsupported("row value")
    return node


def _ranked_row(node: Node) -> Node:
    return node if isinstance(node, exp.Tuple) else _ranked(node)


def _comparison(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    op = _COMPARISON[type(node)]
    if "distinct" in op and binder.context.dialect.types_by_value and isinstance(node.expression, exp.Boolean):
        raise Unsupported("IS DISTINCT FROM of a truth value in sqlite")  # there it is IS NOT, which asks for the truth
    right = node.expression
    if isinstance(right, exp.Anonymous) and str(right.this).lower() in ("all", "some") and len(right.expressions) == 1:
        # how the parser reads them before something else than a query
        right = (exp.All if str(right.this).lower() == "all" else exp.Any)(this=right.expressions[0])
    if isinstance(right, (exp.Any, exp.All)):
        return quantified(binder, op, node.this, right)
    if row_items(node.this) is not None or row_items(node.expression) is not None:
        return compare_rows(binder, op, node.this, node.expression)
    left, right = binder.expr(_ranked(node.this)), binder.expr(_ranked(node.expression))
    left, right = comparable(left, right, binder.context, op)
    return Binary(op, left, right, BOOLEAN)


def _connective(binder: Binder, node: Node) -> Expr:
    kind, op = (exp.And, "and") if isinstance(node, exp.And) else (exp.Or, "or")
    later: list[Node] = []
    while isinstance(node, kind):  # a chain is as deep as it is long
        only(node, "this", "expression")
        later.append(node.expression)
        node = node.this
    bound = binder.condition(node)
    while later:
        bound = Binary(op, bound, binder.condition(later.pop()), BOOLEAN)
    return bound


def _not(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    inner = binder.condition(node.this)
    if isinstance(inner, InList) and isinstance(node.this, exp.In):
        return InList(inner.operand, inner.items, not inner.negated)
    if isinstance(inner, InQuery) and isinstance(node.this, exp.In):
        return replace(inner, negated=not inner.negated)
    if isinstance(inner, Exists) and isinstance(node.this, exp.Exists):
        return replace(inner, negated=not inner.negated)
    if isinstance(inner, IsTruth) and isinstance(node.this, exp.Is):
        return IsTruth(inner.operand, inner.truth, not inner.negated)
    return Unary("not", inner, BOOLEAN)


def _is(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression", "negate")
    negated = bool(node.args.get("negate"))
    test = node.expression
    if isinstance(test, exp.Null) and not test.args.get("this"):
        of_row = is_null(binder, node.this, negated)
        if of_row is not None:
            return of_row
    operand = _ranked(node.this)
    dialect, rules = binder.context.dialect, binder.context.dialect.rules.expressions
    if isinstance(test, exp.Null) and test.args.get("this") == "UNKNOWN" and rules.tests_unknown:
        return IsNull(binder.condition(operand), negated)
    if isinstance(test, exp.Null):
        tested = as_value(binder.shown(operand), binder.context)
        if tested.type.kind is Kind.OPAQUE:
            return IsNull(tested, negated)
        refuse_unmodelled((tested.type,))
        if tested.type.kind is Kind.COMPOSITE:
            return row_tested(tested, negated)
        if isinstance(tested, Param) and is_loose(tested):
            # `$1 IS NULL OR a = $1`: this mention does not determine the parameter's type.
            return IsNull(Param(tested.key, TEXT), negated)
        typed = binder.typed(operand)
        if rules.null_tests_miss and any(isinstance(part, Quantified) for part in walk(typed)):
            raise Unsupported(f"IS NULL of ANY or ALL in {dialect.name}")
        if rules.null_tests_miss and operand.find(exp.Tuple) is not None:
            raise Unsupported(f"IS NULL of a comparison of rows in {dialect.name}")
        return IsNull(typed, negated)
    if isinstance(test, exp.Boolean):
        return IsTruth(binder.condition(operand), bool(test.this), negated)
    raise Unsupported(f"IS {test.key.upper()}")


def _in(binder: Binder, node: Node) -> Expr:
    rules = binder.context.dialect.rules.expressions
    if node.args.get("query") is not None:
        only(node, "this", "query")
        if binder.context.dialect.types_by_value and isinstance(node.args["query"].this, exp.Subquery):
            raise Unsupported("IN of a query in two parentheses in sqlite")  # it is a list there
        return in_query(binder, _ranked_row(node.this), node.args["query"])
    if node.args.get("field") is not None and rules.in_takes_tables:
        only(node, "this", "field")
        return in_query(binder, _ranked_row(node.this), _whole_table(node.args["field"]))
    only(node, "this", "expressions")
    if row_items(node.this) is not None:
        if not node.expressions:
            raise Unsupported("IN with an empty list of rows")
        return in_rows(binder, node.this, node.expressions)
    if converts_row(node.this) and any(converts_row(item) or row_items(item) is not None for item in node.expressions):
        raise Unsupported("IN of rows that are converted, which are compared field by field")
    items = [binder.expr(_ranked(item)) for item in node.expressions]
    if not items and rules.in_takes_empty_lists:
        binder.expr(_ranked(node.this))
        return Const(False, BOOLEAN)  # also for NULL
    if not items:
        raise Unsupported("IN with an empty list")
    operand = binder.expr(_ranked(node.this))
    if binder.context.dialect.types_by_value:
        return _in_classes(operand, items, binder)
    return in_list(operand, items, binder.context, False)


def _in_classes(operand: Expr, items: list[Expr], binder: Binder) -> Expr:
    """SQLite's IN: each item is compared as if a plus stood before it, which takes its affinity away."""
    context = binder.context
    bare = [plus(item) for item in items]
    pairs = [comparable(operand, item, context, "=") for item in bare]
    if len({left for left, _ in pairs}) == 1 and not any(reads_both(left) for left, _ in pairs):
        return InList(pairs[0][0], tuple(right for _, right in pairs), False)
    tests = [Binary("=", left, right, BOOLEAN) for left, right in pairs]
    found: Expr = tests[0]
    for test in tests[1:]:
        found = Binary("or", found, test, BOOLEAN)
    return found


def _whole_table(name: Node) -> Node:
    """SQLite's ``x IN t``: the rows of a table."""
    if not isinstance(name, exp.Column):
        raise unsupported(name, "IN")
    only(name, "this")
    table = exp.From(this=exp.Table(this=name.this))
    return exp.Subquery(this=exp.Select(expressions=[exp.Star()], from_=table))


def _between(binder: Binder, node: Node) -> Expr:
    only(node, "this", "low", "high", "symmetric")
    inside = _within(binder, node, "low", "high")
    if not node.args.get("symmetric"):
        return inside
    if not binder.context.dialect.rules.expressions.has_between_symmetric:
        raise Unsupported("BETWEEN SYMMETRIC")
    return Binary("or", inside, _within(binder, node, "high", "low"), BOOLEAN)


def _within(binder: Binder, node: Node, low: str, high: str) -> Expr:
    operand = binder.expr(_ranked(node.this))
    bounds = [binder.expr(_ranked(node.args[name])) for name in (low, high)]
    check_bounds(operand, bounds, binder.context)
    sides: list[Expr] = []
    for op, bound in zip((">=", "<="), bounds, strict=True):
        sides += comparable(operand, bound, binder.context, op)
    first, low_bound, second, high_bound = jointly((operand, *bounds), sides, binder.context)
    return Binary("and", Binary(">=", first, low_bound, BOOLEAN), Binary("<=", second, high_bound, BOOLEAN), BOOLEAN)


def _text(binder: Binder, bound: Expr, what: str) -> Expr:
    (bound,) = texts_of_enums([bound], binder.context, what)
    bound = settle(bound, TEXT, binder.context)
    if bound.type.kind is Kind.ANY:
        bound = cast(bound, TEXT)
    if bound.type.kind is Kind.BYTES:
        raise Unsupported(f"{what} of bytes")
    if bound.type.kind is not Kind.TEXT:
        raise mismatch(f"operator does not exist: {what} of {bound.type}", binder.context.dialect)
    return bound


def _like_with(binder: Binder, node: Node, escape: str | None) -> Expr:
    only(node, "this", "expression", "negate")
    ignore_case = isinstance(node, exp.ILike)
    if ignore_case and not binder.context.dialect.rules.expressions.has_ilike:
        raise Unsupported("ILIKE")
    operand, pattern = (_text(binder, binder.expr(_ranked(item)), "LIKE") for item in (node.this, node.expression))
    operand, pattern = collated((operand, cast(pattern, TEXT)), binder.context)
    return Like(operand, pattern, escape, bool(node.args.get("negate")), ignore_case)


def _like(binder: Binder, node: Node) -> Expr:
    return _like_with(binder, node, None)


_PLAIN_IN_SIMILAR = pattern(r"(?:[\w\s%,@:;/#<>='\"|().-]|(?<=[\w)\]%])[*+?]|\[\^?(?:\w-\w|\w)+\])*")


def _similar(binder: Binder, node: Node) -> Expr:
    """SIMILAR TO a pattern of plain letters, lists of them in brackets, ``%``, ``_``, repetitions and alternatives, as
    the regular expression that it means (PostgreSQL 9.7.2)."""
    only(node, "this", "expression")
    pattern = node.expression
    rules = binder.context.dialect.rules.expressions
    if not rules.has_regex_operators or rules.regex_by_collation or not isinstance(pattern, exp.Literal):
        raise unsupported(node)
    if not pattern.is_string or _PLAIN_IN_SIMILAR.fullmatch(str(pattern.this)) is None:
        raise Unsupported("SIMILAR TO with such a pattern")
    text = "".join(
        part if part.startswith("[") else part.replace(".", "[.]").replace("%", ".*").replace("_", ".")
        for part in re.split(r"(\[[^\]]*\])", str(pattern.this))
    )
    return binder.expr(exp.RegexpLike(this=node.this, expression=exp.Literal.string(f"^({text})$")))


def _glob(binder: Binder, node: Node) -> Expr:
    """SQLite's GLOB, a call of glob() with its arguments swapped."""
    only(node, "this", "expression")
    if not binder.context.dialect.rules.values.affinities:
        raise unsupported(node)
    text, pattern = (_text(binder, binder.expr(_ranked(item)), "GLOB") for item in (node.this, node.expression))
    return Binary("=", call_function("glob", [pattern, text], binder.context), Const(1, INT), BOOLEAN)


def _escape(binder: Binder, node: Node) -> Expr:
    only(node, "this", "expression")
    literal = node.expression
    if not isinstance(literal, exp.Literal) or not literal.is_string or len(str(literal.this)) > 1:
        raise Unsupported("ESCAPE with other than one character")
    if not isinstance(node.this, (exp.Like, exp.ILike)):
        raise Unsupported("ESCAPE without LIKE")
    escape: str | None = str(literal.this)
    if not escape and binder.context.dialect.rules.text.backslash_escapes:
        escape = None  # there it is the usual one
    return _like_with(binder, node.this, escape)


HANDLERS: Mapping[type[Node], Callable[[Binder, Node], Expr]] = {
    exp.And: _connective,
    exp.Or: _connective,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Glob: _glob,
    exp.SimilarTo: _similar,
    **dict.fromkeys(_COMPARISON, _comparison),
}
