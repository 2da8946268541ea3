"""A SELECT into its clauses (paper §3.1). Does not know writes or compound queries, nor how clauses are evaluated.

Everything is first bound over the rows of FROM; where the query groups, `grouping` then moves what stands above
GROUP BY to the group's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.composites import starred
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.expressions.windows import WindowScope, window_scope
from sql_semantics.frontend.names.block import Block
from sql_semantics.frontend.names.scope import Context, Scope, ScopeTable, outward
from sql_semantics.frontend.queries.grouping import (
    change_key,
    change_window,
    has_window,
    place_windows,
    regroup,
    ungrouped,
)
from sql_semantics.frontend.queries.groups import (
    bare_columns,
    bind_groups,
    check_grouping,
    dependent_columns,
    takes_bare_columns,
)
from sql_semantics.frontend.queries.ordering import distinct_on, limits, order_keys, row_locks, skips_locked
from sql_semantics.frontend.queries.sources import bind_sources
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import as_value, is_loose, settle, settle_alone
from sql_semantics.frontend.types.comparison import check_identity, has_more_digits
from sql_semantics.frontend.writes.unmodelled import shown_value
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, Subquery
from sql_semantics.ir.queries import Aggregate, Derived, OutputColumn, Query, Select, Source
from sql_semantics.ir.walks.affinity import affine_output
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, Kind, SqlType

_SELECT_PARTS = (
    "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "locks",
    "windows", "with_", "operation_modifiers",
)  # fmt: skip


_NAMED = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.Coalesce, exp.Lower, exp.Upper, exp.Abs)
"""Functions after which PostgreSQL names a column."""


def output_columns(
    nodes: Sequence[Node], binder: Binder, targets: Sequence[SqlType] = (), *, loose: bool = False
) -> tuple[tuple[OutputColumn, ...], tuple[bool, ...]]:
    """A select list or RETURNING list, stars expanded, and which columns carry an explicit alias. A loose item takes
    the type of the column it is going to be stored in, where `targets` says so; with `loose` it stays loose."""
    context, scope = binder.context, binder.scope
    rules = context.dialect.rules.queries
    outputs: list[OutputColumn] = []
    explicit: list[bool] = []

    def put(name: str, expression: Expr, alias: bool, exact: bool = True) -> None:
        place = len(outputs)
        if is_loose(expression) and place < len(targets):
            expression = settle(expression, targets[place], context)
        if not (loose and is_loose(expression)):
            expression = settle_alone(as_value(expression, context), context)
        outputs.append(OutputColumn(name, expression, exact))
        explicit.append(alias)

    for node in nodes:
        if isinstance(node, exp.Star):
            if not scope.tables:
                raise SqlError(rules.star_without_tables_error, "SELECT * without tables")
            for name, expression in _changed(node, scope.star(), binder):
                put(name, expression, False, scope.exact())
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            only(node, "this", "table")
            alias = fold_table(node.args["table"], context.dialect)
            table, depth = _table_around(scope, alias)
            if depth and not rules.outer_stars:
                raise Unsupported(f"{alias}.* of a query further out")
            if table is None:
                raise SqlError(rules.star_of_unknown_table_error, f"missing FROM-clause entry for table {alias!r}")
            for name, column in _changed(node.this, table.columns, binder):
                put(
                    name, outward(column, depth) if depth and isinstance(column, Column) else column, False, table.exact
                )
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Star):
            for name, expression in starred(binder, node) or ():
                put(name, expression, False)
        elif isinstance(node, exp.Alias):
            only(node, "this", "alias")
            shown = shown_value(node.this, binder, bool(targets) or loose)
            put(output_name(node, context.dialect), shown, True)
        else:
            named = (exp.Column, exp.Dot, *_NAMED) if rules.names_outputs_by_functions else exp.Column
            exact = isinstance(node, named)
            expression = shown_value(node, binder, bool(targets) or loose)  # first: what is refused is not written out
            put(output_name(node, context.dialect), expression, False, exact)
    return tuple(outputs), tuple(explicit)


def _changed(star: Node, columns: Sequence[tuple[str, Expr]], binder: Binder) -> list[tuple[str, Expr]]:
    """The columns of a star, without those that EXCLUDE names, and with what REPLACE puts in their place (DuckDB)."""
    dialect = binder.context.dialect
    if not dialect.rules.queries.star_changes:
        only(star)
        return list(columns)
    only(star, "except_", "replace")
    names = [name for name, _ in columns]
    left_out = {fold_column(_plain_name(item), dialect) for item in star.args.get("except_") or ()}
    put: dict[str, Expr] = {}
    for item in star.args.get("replace") or ():
        only(item, "this", "alias")
        put[fold_column(item.args["alias"], dialect)] = binder.typed(item.this)
    if not all(names.count(name) == 1 for name in (*left_out, *put)) or left_out & put.keys():
        raise Unsupported("EXCLUDE or REPLACE of what is not one column")
    if len(left_out) == len(columns):
        raise Unsupported("EXCLUDE of every column")
    return [(name, put.get(name, column)) for name, column in columns if name not in left_out]


def _plain_name(node: Node) -> exp.Identifier:
    while isinstance(node, exp.Column) and not node.args.get("table"):
        node = node.this
    if not isinstance(node, exp.Identifier):
        raise Unsupported("EXCLUDE of a qualified name")
    return node


def _refuse_constants(outputs: Sequence[OutputColumn]) -> None:
    """MariaDB forgets the OFFSET of DISTINCT where all that is selected is constant."""
    if all(isinstance(output.expression, Const) for output in outputs):
        raise Unsupported("OFFSET of SELECT DISTINCT of constants")


def _refuse_extremes_beside_reals(aggregates: Sequence[Aggregate], where: Expr, sources: Sequence[Source]) -> None:
    """MariaDB finds MIN and MAX by an index where it can, and compares with the constant as a FLOAT there."""
    conditions = [where, *(source.on for source in sources if source.on is not None)]
    reals = any(isinstance(part, Column) and part.type.kind is Kind.REAL for one in conditions for part in walk(one))
    if reals and any(aggregate.function in ("min", "max") for aggregate in aggregates):
        raise Unsupported("MIN or MAX beside a condition on a FLOAT")


def _table_around(scope: Scope, alias: str) -> tuple[ScopeTable | None, int]:
    """The FROM item of that name on the innermost level that has one, and how many levels further out it is."""
    current: Scope | None = scope
    depth = 0
    while current is not None:
        table = current.table(alias)
        if table is not None:
            return table, depth
        current, depth = current.outer, depth + 1
    return None, 0


def output_name(node: Node, dialect: Dialect) -> str:
    """The name of an output column: its alias, or a column's own; PostgreSQL looks through casts and at the
    ELSE of a CASE, and names a function's result after the function."""
    if isinstance(node, exp.Alias):
        return fold_column(node.args["alias"], dialect)
    inner = node
    by_functions = dialect.rules.queries.names_outputs_by_functions
    while by_functions and isinstance(inner, (exp.Cast, exp.Paren, exp.Case)):
        below = inner.args.get("default") if isinstance(inner, exp.Case) else inner.this
        if below is None:
            return "case"
        inner = below
    if isinstance(inner, exp.Column):
        return fold_column(inner.this, dialect)
    if by_functions and isinstance(inner, exp.Dot) and isinstance(inner.expression, exp.Identifier):
        return fold_column(inner.expression, dialect)
    if by_functions and isinstance(inner, exp.Anonymous):
        return str(inner.name).lower()
    if by_functions and isinstance(inner, (exp.Trim, exp.StrPosition)):
        return "position" if isinstance(inner, exp.StrPosition) else "btrim"
    if by_functions and isinstance(inner, exp.Func) and not isinstance(inner, (exp.Case, exp.Connector)):
        return inner.sql_name().lower()
    return "?column?" if node.find(exp.HexString) else node.sql()  # X'' cannot be written again


def bind_select(node: Node, context: Context, targets: Sequence[SqlType] = (), *, loose: bool = False) -> Select:
    """A query block, its WITH items bound already. `targets`: the column types that an INSERT stores the outputs in;
    `loose`: outputs that no context types may stay so."""
    if not isinstance(node, exp.Select):
        raise unsupported(node)
    rules = context.dialect.rules.queries
    only(node, *_SELECT_PARTS, *(("qualify",) if rules.qualify else ()))
    for word in node.args.get("operation_modifiers") or ():
        if str(word).upper() not in rules.select_hints:
            raise Unsupported(f"SELECT {str(word).upper()}")
    distinct = node.args.get("distinct")
    if distinct is not None:
        only(distinct, "on")
    unique = distinct is not None and distinct.args.get("on") is None
    sources, scope = bind_sources(node, context)
    where: Expr | None = None
    if node.args.get("where") is not None:
        only(node.args["where"], "this")
        where = Binder(context, scope, "WHERE").condition(node.args["where"].this)
    aggregates: list[Aggregate] = []
    if not node.expressions:
        raise Unsupported("SELECT without columns")
    if distinct is not None:
        targets, loose = (), False  # what is compared for DISTINCT is typed before it is stored (PostgreSQL 10.5)
    early = node.args.get("order") is not None or node.args.get("group") is not None
    if targets and early and any(_takes_type(item.unalias()) for item in node.expressions):
        raise Unsupported("INSERT ... SELECT of a literal with ORDER BY or GROUP BY")
    windows = window_scope(node.args.get("windows"), context.dialect)
    binder = Binder(context, scope, "SELECT", aggregates, windows=windows)
    outputs, explicit = output_columns(node.expressions, binder, targets, loose=loose and not early)
    query = Block(context, scope, sources, outputs, explicit, aggregates, windows)
    group = node.args.get("group")
    groups = None if group is None else bind_groups(query, group)
    keys = None if groups is None else groups.keys
    check_identity([*(keys or ()), *(output.expression for output in outputs if unique)], context)
    having = _having(query, node.args.get("having"))
    cut = _is_cut(node)
    order = order_keys(query, node.args.get("order"), unique, cut=cut)
    on = distinct_on(query, None if distinct is None else distinct.args.get("on"), order)
    qualify = _qualify(query, node.args.get("qualify"))
    if having is not None and keys is None and not aggregates and rules.having_without_groups != "one group":
        where, having = _filter_by_having(query, where, having, node.args["having"].find(exp.Query) is not None)
    if where is not None and not keys and context.dialect.rules.types.reals_compute_as_doubles:
        _refuse_extremes_beside_reals(aggregates, where, sources)
    grouped = keys is not None or bool(aggregates) or having is not None
    bounds = limits(node, context, scope)
    if unique and bounds.offset is not None and context.dialect.rules.definitions.table_collations:
        _refuse_constants(outputs)
    if bounds.with_ties and skips_locked(node):
        raise SqlError("42601", "SKIP LOCKED and WITH TIES options cannot be used together")
    if groups is not None and groups.sets is not None and not rules.orders_rollups and order:
        raise Unsupported(f"ORDER BY beside WITH ROLLUP in {context.dialect.name}, which MariaDB refuses")
    locks = row_locks(node, query, not grouped and distinct is None and not windows.found)
    width = scope.width
    bare: dict[Expr, Column] = {}
    if grouped:
        keys = keys or []
        check_grouping(query, keys)
        if rules.distinct_order_hidden and not cut and takes_bare_columns(context.dialect):
            sorts = [key.expression if key.output is None else outputs[key.output].expression for key in order]
            if any(item is not None and ungrouped(item, keys) for item in sorts):
                order = []  # by a column of some row of each group
        above = [output.expression for output in outputs]
        _check_quotients(context, keys, [*above, *((having,) if having is not None else ())])
        above += [part for part in (having, qualify) if part is not None]
        above += [key.expression for key in order if key.expression is not None]
        above += [expression for window in windows.found for expression in window.expressions()]
        dependent = dependent_columns(query, keys, [*above, *on])
        if dependent and groups is not None and groups.sets is not None:
            raise Unsupported(f"column {dependent[0].name} that a key determines, under GROUPING SETS")
        keys += dependent
        bare = bare_columns(query, keys, [*above, *on])
        width = len(keys) + len(aggregates)

    def moved(expression: Expr) -> Expr:
        """An expression of a clause after HAVING, over the environment row there."""
        if grouped:
            expression = regroup(expression, keys or [], context.dialect, bare)
        return place_windows(expression, width) if windows.found else expression

    return Select(
        sources,
        where,
        tuple(keys) if keys is not None else None,
        tuple(aggregates),
        None if having is None else regroup(having, keys or [], context.dialect, bare),
        tuple(replace(item, expression=moved(item.expression)) for item in outputs),
        unique,
        tuple(change_key(key, moved) for key in order),
        bounds.limit,
        bounds.offset,
        locks,
        tuple(change_window(window, moved) for window in windows.found),
        None if qualify is None else moved(qualify),
        tuple(map(moved, on)),
        bounds.with_ties,
        None if groups is None else groups.sets,
        skips_locked(node),
    )


def _takes_type(item: Node) -> bool:
    """Whether it is a literal that has no type of its own."""
    return isinstance(item, exp.Null) or (isinstance(item, exp.Literal) and item.is_string)


def _is_cut(node: Node) -> bool:
    """Whether the order decides which rows there are."""
    return node.args.get("limit") is not None or node.args.get("offset") is not None


def _check_quotients(context: Context, keys: Sequence[Expr], above: Sequence[Expr]) -> None:
    """With the digits of its type or those it has, MySQL computes with the DECIMAL that it grouped by: the plan
    decides. Shown as it is, it has the digits of its type."""
    quotients = [key for key in keys if has_more_digits(key)]
    if not context.dialect.rules.queries.quotient_keys_by_plan or not quotients:
        return
    inside = [part for expr in above if expr not in quotients for part in walk(expr)]
    if any(part in quotients or isinstance(part, Subquery) for part in inside):
        raise Unsupported(f"a quotient that is grouped by inside another expression in {context.dialect.name}")


def _having(query: Block, node: Node | None) -> Expr | None:
    if node is None:
        return None
    only(node, "this")
    rules = query.context.dialect.rules.queries
    names = query.aliases() if rules.having_sees_aliases else {}
    if rules.having_names_by_product and node.parent is not None and node.parent.args.get("group") is not None:
        _check_having_names(query, node, names)
    having = Binder(query.context, query.scope, "HAVING", query.aggregates, names).condition(node.this)
    if has_window(having):
        raise Unsupported("window function in HAVING")
    return having


def _check_having_names(query: Block, node: Node, names: Mapping[str, Expr]) -> None:
    """MySQL takes a column that is grouped by before an alias of another one; MariaDB calls the name ambiguous."""
    for column in node.find_all(exp.Column):
        renamed = names.get(column.name)
        if column.args.get("table") is not None or not isinstance(renamed, Column) or renamed.index < 0:
            continue
        known = query.scope.unqualified(column.name)
        if known and renamed not in known:
            dialect = query.context.dialect.name
            raise Unsupported(f"a name in HAVING that is a column and an alias of another one in {dialect}")


def _qualify(query: Block, node: Node | None) -> Expr | None:
    if node is None:
        return None
    only(node, "this")
    names = query.aliases()
    binder = Binder(query.context, query.scope, "QUALIFY", query.aggregates, names, windows=query.windows)
    condition = binder.condition(node.this)
    if not query.windows.found:
        raise Unsupported("QUALIFY without a window function")
    return condition


def _filter_by_having(
    query: Block, where: Expr | None, having: Expr, node_has_query: bool
) -> tuple[Expr | None, Expr | None]:
    """HAVING without GROUP BY and aggregates: in MySQL another WHERE, over columns of the select list (15.2.13)."""
    if query.context.dialect.rules.queries.having_without_groups != "filters rows":
        raise Unsupported("HAVING without GROUP BY")
    if any(query.scope.unqualified(name) for name in query.aliases()):
        raise Unsupported("HAVING without GROUP BY beside an alias that is also a column")
    if ungrouped(having, [output.expression for output in query.outputs]):
        if query.context.outer is not None or node_has_query:
            raise Unsupported("HAVING of a column of FROM in or around a subquery")
        raise SqlError("42S22", "unknown column in 'having clause'")
    return (having if where is None else Binary("and", where, having, BOOLEAN)), None


def bind_over(query: Query, node: Node, context: Context) -> Select:
    """The SELECT that ORDER BY, LIMIT and OFFSET of `node` make of a query without such clauses of its own."""
    shape = [(output.name, output.expression.type) for output in query.outputs]
    columns = tuple(
        (name, Column(place, kind, name, affine=affine_output(query, place)))
        for place, (name, kind) in enumerate(shape)
    )
    exact = all(output.exact for output in query.outputs)
    scope = Scope([ScopeTable("", columns, exact)], [list(columns)], len(columns), context.outer)
    outputs = tuple(
        replace(output, expression=column) for output, (_, column) in zip(query.outputs, columns, strict=True)
    )
    sources = (Source(Derived(query), "", 0, len(columns)),)
    block = Block(context, scope, sources, outputs, (True,) * len(outputs), [], WindowScope())
    order = order_keys(block, node.args.get("order"), False)
    if any(key.output is None for key in order):
        state = context.dialect.rules.queries.set_order_error
        if state is not None and context.outer is None:
            raise SqlError(state, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
        raise Unsupported("ORDER BY of an expression after UNION, INTERSECT, EXCEPT or VALUES")
    bounds = limits(node, context, scope)
    return Select(
        sources,
        None,
        None,
        (),
        None,
        outputs,
        False,
        tuple(order),
        bounds.limit,
        bounds.offset,
        with_ties=bounds.with_ties,
    )
