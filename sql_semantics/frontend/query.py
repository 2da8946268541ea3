"""A SELECT into its clauses (paper §3.1). Does not know writes, nor how clauses are evaluated.

Everything is first bound over the rows of FROM; where the query groups, `grouping` then moves what stands above
GROUP BY to the group's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.coerce import as_value, is_loose, settle, settle_alone
from sql_semantics.frontend.dialects import fold_column, fold_table
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.grouping import columns_of, has_aggregate, regroup, ungrouped
from sql_semantics.frontend.scope import Context, Scope
from sql_semantics.frontend.sources import bind_sources, source_columns
from sql_semantics.frontend.syntax import Node, only, unsupported
from sql_semantics.ir.expressions import Cast, Const, Expr, Param, Variable
from sql_semantics.ir.statements import Aggregate, BaseTable, OrderKey, OutputColumn, Select, Source
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BIGINT, INTEGER_KINDS, NUMBER_KINDS, SqlType

_SELECT_PARTS = (
    "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "locks",
)  # fmt: skip


def output_columns(
    nodes: Sequence[Node], binder: Binder, targets: Sequence[SqlType] = ()
) -> tuple[tuple[OutputColumn, ...], tuple[bool, ...]]:
    """A select list or RETURNING list, stars expanded, and which columns carry an explicit alias. A loose item takes
    the type of the column it is going to be stored in, where `targets` says so."""
    context, scope = binder.context, binder.scope
    outputs: list[OutputColumn] = []
    explicit: list[bool] = []

    def put(name: str, expression: Expr, alias: bool) -> None:
        place = len(outputs)
        if is_loose(expression) and place < len(targets):
            expression = settle(expression, targets[place], context)
        outputs.append(OutputColumn(name, settle_alone(as_value(expression, context), context)))
        explicit.append(alias)

    for node in nodes:
        if isinstance(node, exp.Star):
            only(node)
            if not scope.tables:
                raise SqlError("42601" if context.dialect.name == "postgres" else "HY000", "SELECT * without tables")
            for name, expression in scope.star():
                put(name, expression, False)
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            only(node, "this", "table")
            only(node.this)
            alias = fold_table(node.args["table"], context.dialect)
            table = scope.table(alias)
            if table is None:
                state = "42P01" if context.dialect.name == "postgres" else "42S02"
                raise SqlError(state, f"missing FROM-clause entry for table {alias!r}")
            for name, column in table.columns:
                put(name, column, False)
        elif isinstance(node, exp.Alias):
            only(node, "this", "alias")
            put(fold_column(node.args["alias"], context.dialect), binder.expr(node.this), True)
        else:
            put(_implicit_name(node, context.dialect), binder.expr(node), False)
    return tuple(outputs), tuple(explicit)


def _implicit_name(node: Node, dialect: Dialect) -> str:
    """The name of an output column without an alias: a column's own; PostgreSQL looks through casts and at the
    ELSE of a CASE, and names a function's result after the function."""
    inner = node
    while dialect.name == "postgres" and isinstance(inner, (exp.Cast, exp.Paren, exp.Case)):
        below = inner.args.get("default") if isinstance(inner, exp.Case) else inner.this
        if below is None:
            return "case"
        inner = below
    if isinstance(inner, exp.Column):
        return fold_column(inner.this, dialect)
    if dialect.name == "postgres" and isinstance(inner, exp.Func) and not isinstance(inner, (exp.Case, exp.Connector)):
        return inner.sql_name().lower()
    return node.sql()


@dataclass(slots=True)
class _Query:
    """What a query's later clauses need of its earlier ones."""

    context: Context
    scope: Scope
    sources: tuple[Source, ...]
    outputs: tuple[OutputColumn, ...]
    explicit: tuple[bool, ...]
    aggregates: list[Aggregate]

    def aliases(self) -> dict[str, Expr]:
        """The select list's explicit aliases; one that stands for two different things is left out."""
        names: dict[str, Expr] = {}
        twice: set[str] = set()
        for output, explicit in zip(self.outputs, self.explicit, strict=True):
            if explicit and names.setdefault(output.name, output.expression) != output.expression:
                twice.add(output.name)
        return {name: expression for name, expression in names.items() if name not in twice}

    def position(self, node: Node, clause: str) -> int | None:
        """The output that an integer constant stands for (0-based), None for any other node."""
        if isinstance(node, (exp.Paren, exp.Neg)) and isinstance(node.this, (exp.Literal, exp.Paren, exp.Neg)):
            raise Unsupported(f"constant in {clause}")
        if not isinstance(node, exp.Literal):
            return None
        text = str(node.this)
        if node.args["is_string"] or not text.isdigit():
            if self.context.dialect.name == "postgres":
                raise SqlError("42601", f"non-integer constant in {clause}")
            raise Unsupported(f"constant in {clause}")
        if not 1 <= int(text) <= len(self.outputs):
            state = {"postgres": "42P10", "mysql": "42S22"}.get(self.context.dialect.name)
            if state is None:
                raise Unsupported(f"{clause} position {text}")
            raise SqlError(state, f"{clause} position {text} is not in select list")
        return int(text) - 1


def _group_keys(query: _Query, node: Node) -> list[Expr]:
    only(node, "expressions")
    keys: list[Expr] = []
    binder = Binder(query.context, query.scope, "GROUP BY", query.aggregates, query.aliases())
    for item in node.expressions:
        place = query.position(item, "GROUP BY")
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier) and not item.args.get("table"):
            name = fold_column(item.this, query.context.dialect)
            implicit = any(o.name == name and not e for o, e in zip(query.outputs, query.explicit, strict=True))
            if implicit and not query.scope.unqualified(name):
                raise Unsupported(f"GROUP BY {name}, an output without an alias")
        key = query.outputs[place].expression if place is not None else binder.typed(item)
        if place is None and isinstance(key, Const):
            raise Unsupported("constant in GROUP BY")
        if has_aggregate(key):
            if query.context.dialect.name == "postgres":
                raise SqlError("42803", "aggregate functions are not allowed in GROUP BY")
            raise Unsupported("aggregate function in GROUP BY")
        if key not in keys:
            keys.append(key)
    return keys


def _dependent_columns(query: _Query, keys: list[Expr], above: Sequence[Expr]) -> list[Expr]:
    """Columns that a grouped primary key determines (PostgreSQL 7.2.3, MySQL 14.19.3): grouping by them as well
    changes no group."""
    more: list[Expr] = []
    for expression in above:
        for column in ungrouped(expression, [*keys, *more]):
            for source in query.sources:
                if not isinstance(source.relation, BaseTable):
                    continue
                table = query.context.catalog.tables[source.relation.name]
                columns = source_columns(source, query.scope)
                primary = next((key for key in table.keys if key.primary), None)
                if column in columns and primary is not None and all(columns[i] in keys for i in primary.columns):
                    more.append(column)
    return more


def _order(query: _Query, node: Node | None, distinct: bool) -> list[OrderKey]:
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


def _named_output(query: _Query, node: Node) -> int | None:
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


def _limits(node: Node, context: Context, scope: Scope) -> tuple[Expr | None, Expr | None]:
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


def _locking(node: Node, query: _Query, simple: bool) -> bool:
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


def bind_select(node: Node, context: Context, targets: Sequence[SqlType] = ()) -> Select:
    """A query block. `targets`: the column types that an INSERT stores the outputs in."""
    if not isinstance(node, exp.Select):
        raise unsupported(node)
    only(node, *_SELECT_PARTS)
    distinct = node.args.get("distinct")
    if distinct is not None:
        if distinct.args.get("on") is not None:
            raise Unsupported("DISTINCT ON")
        only(distinct)
    sources, scope = bind_sources(node, context)
    where: Expr | None = None
    if node.args.get("where") is not None:
        only(node.args["where"], "this")
        where = Binder(context, scope, "WHERE").condition(node.args["where"].this)
    aggregates: list[Aggregate] = []
    if not node.expressions:
        raise Unsupported("SELECT without columns")
    if distinct is not None:
        targets = ()  # what is compared for DISTINCT is typed before it is stored (PostgreSQL 10.5)
    early = node.args.get("order") is not None or node.args.get("group") is not None
    if targets and early and any(isinstance(item.unalias(), (exp.Literal, exp.Null)) for item in node.expressions):
        raise Unsupported("INSERT ... SELECT of a literal with ORDER BY or GROUP BY")
    outputs, explicit = output_columns(node.expressions, Binder(context, scope, "SELECT", aggregates), targets)
    query = _Query(context, scope, sources, outputs, explicit, aggregates)
    group = node.args.get("group")
    keys = None if group is None else _group_keys(query, group)
    having: Expr | None = None
    if node.args.get("having") is not None:
        only(node.args["having"], "this")
        names = query.aliases() if context.dialect.name != "postgres" else {}
        having = Binder(context, scope, "HAVING", aggregates, names).condition(node.args["having"].this)
    order = _order(query, node.args.get("order"), distinct is not None)
    grouped = keys is not None or bool(aggregates) or having is not None
    if having is not None and keys is None and not aggregates and context.dialect.name != "postgres":
        raise Unsupported("HAVING without GROUP BY")
    limit, offset = _limits(node, context, scope)
    locking = _locking(node, query, not grouped and distinct is None)
    if grouped:
        keys = keys or []
        above = [output.expression for output in outputs]
        above += [having] if having is not None else []
        above += [key.expression for key in order if key.expression is not None]
        keys += _dependent_columns(query, keys, above)
        dialect = context.dialect
        outputs = tuple(OutputColumn(item.name, regroup(item.expression, keys, dialect)) for item in outputs)
        having = None if having is None else regroup(having, keys, dialect)
        order = [
            OrderKey(regroup(key.expression, keys, dialect), None, key.descending, key.nulls_first)
            if key.expression is not None
            else key
            for key in order
        ]
    return Select(
        sources, where, tuple(keys) if keys is not None else None, tuple(aggregates), having, outputs,
        distinct is not None, tuple(order), limit, offset, locking,
    )  # fmt: skip
