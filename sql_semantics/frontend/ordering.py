"""ORDER BY, LIMIT and FETCH, and locking clauses (PostgreSQL manual SELECT; MySQL 15.2.13). Does not know grouping.

An ORDER BY key is bound over the rows of FROM like the select list; where the query groups, `grouping` moves it.
"""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.block import Block
from sql_semantics.frontend.coerce import settle
from sql_semantics.frontend.dialects import fold_column, fold_table
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.grouping import columns_of
from sql_semantics.frontend.scope import Context, Scope
from sql_semantics.frontend.syntax import Node, only
from sql_semantics.ir.expressions import Cast, Const, Expr, Param, Variable
from sql_semantics.ir.statements import OrderKey
from sql_semantics.values.types import BIGINT, INTEGER_KINDS, NUMBER_KINDS


def order_keys(query: Block, node: Node | None, distinct: bool) -> list[OrderKey]:
    """ORDER BY. Raises SqlError 42P10 (PostgreSQL) or Unsupported for what DISTINCT leaves no value of."""
    if node is None:
        return []
    only(node, "expressions")
    dialect = query.context.dialect
    aliases = query.aliases() if dialect.name != "postgres" else {}
    binder = Binder(query.context, query.scope, "ORDER BY", query.aggregates, aliases)
    keys: list[OrderKey] = []
    for item in node.expressions:
        only(item, "this", "desc", "nulls_first")
        descending, nulls_first = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
        place = query.position(item.this, "ORDER BY")
        expression: Expr | None = None
        if place is None:
            place = _named_output(query, item.this)
        if place is None:
            if dialect.name != "postgres" and any(
                fold_column(part.this, dialect) in aliases and query.scope.unqualified(fold_column(part.this, dialect))
                for part in item.this.find_all(exp.Column)
                if isinstance(part.this, exp.Identifier) and not part.args.get("table")
            ):
                raise Unsupported("an alias that is also a column inside an ORDER BY expression")
            expression = binder.typed(item.this)
            if isinstance(expression, Const):
                raise Unsupported("constant in ORDER BY")
            place = next((i for i, output in enumerate(query.outputs) if output.expression == expression), None)
        if place is not None:
            keys.append(OrderKey(None, place, descending, nulls_first))
            continue
        if distinct:
            if dialect.name == "postgres":
                raise SqlError("42P10", "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
            raise Unsupported("ORDER BY of SELECT DISTINCT outside the select list")
        keys.append(OrderKey(expression, None, descending, nulls_first))
    return keys


def _named_output(query: Block, node: Node) -> int | None:
    """The output column that a bare name in ORDER BY stands for: output names come before input columns."""
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    if not isinstance(node.this, exp.Identifier):
        return None
    only(node, "this")
    dialect = query.context.dialect
    name = fold_column(node.this, dialect)
    if name in query.context.variables:
        return None
    places = [i for i, output in enumerate(query.outputs) if output.name == name]
    if len({query.outputs[i].expression for i in places}) > 1:
        if dialect.name == "postgres":
            raise SqlError("42702", f"ORDER BY {name!r} is ambiguous")
        raise Unsupported(f"ambiguous ORDER BY {name}")
    return places[0] if places else None


def _count_expression(node: Node, context: Context, clause: str, scope: Scope) -> Expr | None:
    """A LIMIT or OFFSET count as a bigint; None for ALL and NULL."""
    if isinstance(node, exp.Var) and str(node.this).upper() == "ALL":
        return None
    if isinstance(node, exp.Null) and context.dialect.name != "mysql":
        return None
    bound = settle(Binder(context, scope, clause).expr(node), BIGINT, context)
    if columns_of(bound):
        if context.dialect.name == "postgres":
            raise SqlError("42P10", f"argument of {clause} must not contain variables")
        raise Unsupported(f"{clause} of a column")
    if context.dialect.name == "mysql" and not isinstance(bound, (Const, Param, Variable)):
        raise Unsupported(f"{clause} of an expression")
    if bound.type.kind not in NUMBER_KINDS:
        if context.dialect.name == "postgres":
            raise SqlError("42804", f"argument of {clause} must be type bigint, not type {bound.type}")
        raise Unsupported(f"{clause} of {bound.type}")
    return bound if bound.type.kind in INTEGER_KINDS else Cast(bound, BIGINT)


def limits(node: Node, context: Context, scope: Scope) -> tuple[Expr | None, Expr | None]:
    """The counts of LIMIT or FETCH, and of OFFSET, as bigints; None for all rows, and for none skipped."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    bound: Expr | None = None
    if isinstance(limit, exp.Fetch):
        only(limit, "direction", "count", "limit_options")
        options = limit.args.get("limit_options")
        if options is not None:
            only(options, "rows")
        if context.dialect.name == "mysql":
            raise Unsupported("FETCH FIRST")
        count = limit.args.get("count")
        bound = Const(1, BIGINT) if count is None else _count_expression(count, context, "FETCH FIRST", scope)
    elif limit is not None:
        only(limit, "expression")
        bound = _count_expression(limit.expression, context, "LIMIT", scope)
    start: Expr | None = None
    if offset is not None:
        only(offset, "expression")
        start = _count_expression(offset.expression, context, "OFFSET", scope)
    return bound, start


def locking(node: Node, query: Block, simple: bool) -> bool:
    """Whether the rows are locked. `simple`: neither grouped nor DISTINCT."""
    locks = node.args.get("locks") or []
    for lock in locks:
        if lock.args.get("wait") is not None:
            raise Unsupported("FOR UPDATE with NOWAIT, WAIT or SKIP LOCKED")
        if lock.args.get("expressions") and len(query.sources) != 1:
            raise Unsupported("FOR UPDATE OF")
        for item in lock.args.get("expressions") or ():
            alias = fold_table(item.this, query.context.dialect) if isinstance(item, exp.Table) else ""
            if query.scope.table(alias) is None:
                raise Unsupported("FOR UPDATE OF")
        only(lock, "update", "key", "expressions")
    if locks and query.context.dialect.name == "postgres":
        if not simple:
            raise SqlError("0A000", "FOR UPDATE is not allowed with DISTINCT, GROUP BY, HAVING or aggregates")
        if any(source.kind == "left" for source in query.sources):
            raise SqlError("0A000", "FOR UPDATE cannot be applied to the nullable side of an outer join")
    return bool(locks)
