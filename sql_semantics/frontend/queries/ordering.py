"""ORDER BY, LIMIT and FETCH, and locking clauses (PostgreSQL manual SELECT; MySQL 15.2.13). Does not know grouping.

An ORDER BY key is bound over the rows of FROM like the select list; where the query groups, `grouping` moves it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.directions import direction
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.expressions.free import is_random
from sql_semantics.frontend.names.block import Block
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.frontend.types.coerce import settle
from sql_semantics.frontend.types.comparison import check_identity, sorted_digits
from sql_semantics.ir.expressions import Cast, Const, Expr, Param, Variable
from sql_semantics.ir.queries import BaseTable, OrderKey, RowLock, Source
from sql_semantics.records import dataclass
from sql_semantics.values.types import BIGINT, INTEGER_KINDS, NUMBER_KINDS


def order_keys(query: Block, node: Node | None, distinct: bool, *, cut: bool = True) -> list[OrderKey]:
    """ORDER BY; nothing where the order is not known and decides nothing else (`cut`: it decides which rows there are).
    Raises SqlError 42P10 (PostgreSQL) or Unsupported for what DISTINCT leaves no value of."""
    if node is None:
        return []
    only(node, "expressions")
    keys: list[OrderKey] = []
    for item in _spelled_out(query, node.expressions):
        only(item, "this", "desc", "nulls_first")
        if is_random(item.this) and not distinct:
            return keys  # in any order, whatever stands behind it
        place, expression = _sorted_by(query, item.this, "ORDER BY")
        if place is None and distinct:
            state = query.context.dialect.rules.queries.distinct_order_error
            if state is not None:
                raise SqlError(state, "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
            if query.context.dialect.rules.queries.distinct_order_hidden and not cut:
                return []
            raise Unsupported("ORDER BY of SELECT DISTINCT outside the select list")
        descending, nulls_first = direction(item, query.context.dialect)
        sorted_by = query.outputs[place].expression if place is not None else expression
        check_identity(() if sorted_by is None else (sorted_by,), query.context, "ordering")
        if sorted_by is not None and sorted_digits(sorted_by, query.context) is not sorted_by:
            place, expression = None, sorted_digits(sorted_by, query.context)
        keys.append(OrderKey(expression if place is None else None, place, descending, nulls_first))
    return keys


def _spelled_out(query: Block, items: Sequence[Node]) -> list[Node]:
    """What is ordered by, with each selected column in place of DuckDB's ORDER BY ALL."""
    alone = items[0].this if len(items) == 1 and query.context.dialect.rules.queries.star_changes else None
    if not isinstance(alone, exp.Var) or alone.name.upper() != "ALL":
        return list(items)
    found: list[Node] = []
    for place in range(1, len(query.outputs) + 1):
        item = items[0].copy()
        item.set("this", exp.Literal.number(place))
        found.append(item)
    return found


def _sorted_by(query: Block, node: Node, clause: str) -> tuple[int | None, Expr | None]:
    """What an item of ORDER BY or DISTINCT ON stands for: an output column by position or name, or an expression."""
    dialect = query.context.dialect
    place = query.position(node, clause)
    if place is None:
        place = _named_output(query, node)
    if place is not None:
        return place, None
    sees_aliases = dialect.rules.queries.order_expressions_see_aliases
    aliases = query.aliases() if sees_aliases else {}
    if sees_aliases and any(
        fold_column(part.this, dialect) in aliases and query.scope.unqualified(fold_column(part.this, dialect))
        for part in node.find_all(exp.Column)
        if isinstance(part.this, exp.Identifier) and not part.args.get("table")
    ):
        raise Unsupported(f"an alias that is also a column inside an {clause} expression")
    binder = Binder(query.context, query.scope, clause, query.aggregates, aliases, windows=query.windows)
    expression = binder.typed(node)
    if isinstance(expression, Const):
        raise Unsupported(f"constant in {clause}")
    return next((i for i, output in enumerate(query.outputs) if output.expression == expression), None), expression


def distinct_on(query: Block, node: Node | None, order: list[OrderKey]) -> list[Expr]:
    """DISTINCT ON (PostgreSQL manual, SELECT). PostgreSQL wants ORDER BY to start with it: SqlError 42P10."""
    if node is None:
        return []
    rules = query.context.dialect.rules.queries
    if not rules.distinct_on:
        raise Unsupported("DISTINCT ON")
    only(node, "expressions")
    found: list[Expr] = []
    for item in node.expressions:
        place, expression = _sorted_by(query, item, "DISTINCT ON")
        if place is not None:
            expression = query.outputs[place].expression
        check_identity(() if expression is None else (expression,), query.context)
        if expression is not None and expression not in found:
            found.append(expression)
    if rules.distinct_on_order_error is not None:
        sorts = [query.outputs[key.output].expression if key.output is not None else key.expression for key in order]
        leading = {i for i, expression in enumerate(sorts) if expression in found}
        started = list(range(len(leading)))
        if sorted(leading) != started or (
            len(leading) < len(sorts) and any(expression not in sorts for expression in found)
        ):
            raise SqlError(
                rules.distinct_on_order_error, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
            )
    return found


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
        state = dialect.rules.queries.ambiguous_order_error
        if state is not None:
            raise SqlError(state, f"ORDER BY {name!r} is ambiguous")
        raise Unsupported(f"ambiguous ORDER BY {name}")
    return places[0] if places else None


def _count_expression(node: Node, context: Context, clause: str, scope: Scope) -> Expr | None:
    """A LIMIT or OFFSET count as a bigint; None for ALL and NULL."""
    if isinstance(node, exp.Var) and str(node.this).upper() == "ALL":
        return None
    rules = context.dialect.rules.queries
    if isinstance(node, exp.Null) and rules.limit_null_is_all:
        return None
    bound = settle(Binder(context, scope, clause).expr(node), BIGINT, context)
    if columns_of(bound):
        if rules.limit_column_error is not None:
            raise SqlError(rules.limit_column_error, f"argument of {clause} must not contain variables")
        raise Unsupported(f"{clause} of a column")
    if not rules.limit_takes_expressions and not isinstance(bound, (Const, Param, Variable)):
        raise Unsupported(f"{clause} of an expression")
    if bound.type.kind not in NUMBER_KINDS:
        if rules.limit_type_error is not None:
            raise SqlError(rules.limit_type_error, f"argument of {clause} must be type bigint, not type {bound.type}")
        raise Unsupported(f"{clause} of {bound.type}")
    if bound.type.kind not in INTEGER_KINDS and not rules.limit_rounds:
        raise Unsupported(f"{clause} of {bound.type}")
    return bound if bound.type.kind in INTEGER_KINDS else Cast(bound, BIGINT)


@dataclass(frozen=True, slots=True)
class Limits:
    """The counts of LIMIT or FETCH and of OFFSET as bigints, None for all rows and for none skipped."""

    limit: Expr | None
    offset: Expr | None
    with_ties: bool = False


def limits(node: Node, context: Context, scope: Scope) -> Limits:
    """LIMIT or FETCH, and OFFSET."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    bound: Expr | None = None
    ties = False
    if isinstance(limit, exp.Fetch):
        only(limit, "direction", "count", "limit_options")
        options = limit.args.get("limit_options")
        if options is not None:
            only(options, "rows", "with_ties")
            ties = bool(options.args.get("with_ties"))
        rules = context.dialect.rules.queries
        if not rules.fetch_first or (ties and not rules.fetch_with_ties):
            raise Unsupported("FETCH FIRST")
        if ties and node.args.get("order") is None:
            raise SqlError("42601", "WITH TIES cannot be specified without ORDER BY clause")
        count = limit.args.get("count")
        bound = Const(1, BIGINT) if count is None else _count_expression(count, context, "FETCH FIRST", scope)
    elif limit is not None:
        only(limit, "expression")
        bound = _count_expression(limit.expression, context, "LIMIT", scope)
    start: Expr | None = None
    if offset is not None:
        only(offset, "expression")
        start = _count_expression(offset.expression, context, "OFFSET", scope)
    return Limits(bound, start, ties)


def skips_locked(node: Node) -> bool:
    """Whether rows that others have locked are left out."""
    return any(lock.args.get("wait") is False for lock in node.args.get("locks") or ())


def row_locks(node: Node, query: Block, simple: bool) -> tuple[RowLock, ...]:
    """Which rows are locked. `simple`: neither grouped nor DISTINCT, without window functions.

    NOWAIT changes only whether the statement fails, with an error that may always happen.
    """
    locks = node.args.get("locks") or []
    dialect = query.context.dialect
    rules = dialect.rules.queries
    if locks and not rules.row_locks:
        raise Unsupported(f"FOR UPDATE in {dialect.name}")
    locked: set[str] = set()
    stronger: set[str] = set()
    alone: set[str] = set()
    for lock in locks:
        only(lock, "update", "key", "expressions", "wait")
        wait = lock.args.get("wait")
        if wait not in (None, True, False):
            raise Unsupported("FOR UPDATE with WAIT")
        items = lock.args.get("expressions") or ()
        named = {item.alias for item in query.sources if not items}
        for item in items:
            alias = fold_table(item.this, dialect) if isinstance(item, exp.Table) else ""
            if query.scope.table(alias) is None:
                if rules.lock_target_error is not None:
                    raise SqlError(
                        rules.lock_target_error, f"relation {alias!r} in FOR UPDATE clause not found in FROM clause"
                    )
                raise Unsupported("FOR UPDATE OF a table that is not in FROM")
            named.add(alias)
        locked |= named
        if lock.args.get("update") or not lock.args.get("key"):
            stronger |= named
        if lock.args.get("update"):
            alone |= named
    if skips_locked(node) and not simple:
        raise Unsupported("SKIP LOCKED with DISTINCT, groups or window functions")
    state = rules.lock_error
    if locks and state is not None:
        if not simple:
            raise SqlError(state, "FOR UPDATE is not allowed with DISTINCT, GROUP BY, aggregates or window functions")
        if locked & _nullable(query.sources):
            if node.args.get("where") is not None or any(item.kind not in ("cross", "left") for item in query.sources):
                # PostgreSQL first makes an inner join of an outer one whose NULLs a condition above it excludes.
                raise Unsupported("FOR UPDATE of an outer join's nullable side beside other conditions")
            raise SqlError(state, "FOR UPDATE cannot be applied to the nullable side of an outer join")
        if any(source.alias in locked and not isinstance(source.relation, BaseTable) for source in query.sources):
            raise Unsupported("FOR UPDATE of a subquery, a common table or a join in parentheses")
    found: list[RowLock] = []
    for place, source in enumerate(query.sources):
        columns: tuple[int, ...] | None = None
        if source.alias not in stronger and isinstance(source.relation, BaseTable):
            keys = query.context.catalog.tables[source.relation.name].keys
            lasting = (key for key in keys if not key.parts and key.where is None)
            columns = tuple(sorted({column for key in lasting for column in key.columns}))
        if source.alias in locked:
            found.append(RowLock(place, columns, shared=source.alias not in alone))
    return tuple(found)


def _nullable(sources: Sequence[Source]) -> set[str]:
    """The FROM items whose columns an outer join may fill with NULLs."""
    found: set[str] = set()
    for place, source in enumerate(sources):
        if source.kind in ("left", "full"):
            found.add(source.alias)
        if source.kind in ("right", "full"):
            found.update(item.alias for item in sources[:place])
    return found
