"""FROM items: tables, subqueries, VALUES, WITH items, series, joins in parentheses (paper §3.1). Does not know joins.

An item's columns are counted from 0; what joins it moves them to their place in the environment row.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.expressions.invocations import bind_function_scan
from sql_semantics.frontend.names.rows import field_of, row_type
from sql_semantics.frontend.names.scope import Context, Scope, ScopeTable, Shape, Visible, key_column, never_changes
from sql_semantics.frontend.names.tables import find_table, table_name
from sql_semantics.frontend.queries.grouping import has_outer
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import settle
from sql_semantics.frontend.types.collation import refuse_uncollated_query
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import (
    BaseTable,
    CommonScan,
    CommonTable,
    Derived,
    OutputColumn,
    Query,
    Relation,
    Select,
    Series,
    Source,
    Values,
    WrittenTable,
)
from sql_semantics.ir.walks.affinity import affine_output
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.records import dataclass, replace
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.types import BIGINT, BOOLEAN, INTEGER_KINDS, Kind


@dataclass(frozen=True, slots=True)
class Item:
    """A FROM item: names for qualified columns, and what bare names and ``*`` see of it."""

    relation: Relation
    alias: str
    tables: tuple[ScopeTable, ...]
    visible: Visible
    width: int


def bind_item(node: Node, context: Context, before: Scope) -> Item:
    """A FROM item other than a join. `before` is what stands left of it, for LATERAL."""
    if isinstance(node, exp.Table):
        if isinstance(node.this, (exp.ExplodingGenerateSeries, exp.GenerateSeries)) and not node.args.get("ordinality"):
            return _series(node, context, before)
        rows = _listed(node, context)
        if rows is not None:
            return bind_item(rows, context, before)
        if isinstance(node.this, exp.Anonymous):
            from sql_semantics.frontend.queries.unnesting import RECORDS, bind_records  # an item itself

            if str(node.this.this).lower() in RECORDS and str(node.this.this).lower() not in context.catalog.procedures:
                return bind_records(node, context, before)
            return _function(node, context, before)
        return _table(node, context)
    if isinstance(node, exp.Unnest):
        from sql_semantics.frontend.queries.unnesting import bind_unnest  # an item itself

        return bind_unnest(node, context, before)
    if isinstance(node, exp.Lateral):
        return _lateral(node, context, before)
    if isinstance(node, exp.Values):
        return _query_item(node, context, lateral=False)
    if isinstance(node, exp.Subquery):
        return _query_item(node, context, lateral=False)
    raise unsupported(node, "FROM")


def _table(node: Node, context: Context) -> Item:
    only(node, "this", "db", "alias")
    dialect = context.dialect
    name = table_name(node, dialect, "alias")
    common = context.common.get(name) if node.args.get("db") is None else None
    relation: Relation
    if common is not None:
        if isinstance(common.table, WrittenTable) and common.table.write.returning is None:
            raise SqlError("0A000", f"WITH query {name!r} does not have a RETURNING clause")
        relation = CommonScan(common.table, context.level - common.level)
        shape = common.shape
    else:
        table = find_table(name, context.catalog.tables, dialect)
        relation = BaseTable(table.name) if table.query is None else Derived(table.query, view=table.name)
        names, types = tuple(c.name for c in table.columns), tuple(c.type for c in table.columns)
        key = key_column(table, dialect.rules.text.key_name, dialect)
        shape = Shape(names, types, row=row_type(table), key=key)
    alias = node.args.get("alias")
    item = named_item(relation, shape, alias, name, context)
    if common is None and table.query is None:
        held = next((item.visible[n][1] for n, column in enumerate(table.columns) if column.not_null), None)
        return replace(item, tables=tuple(replace(one, present=held) for one in item.tables))
    return item


def named_item(relation: Relation, shape: Shape, alias: Node | None, name: str, context: Context) -> Item:
    """An item of these columns under its alias, or else `name`."""
    rules = context.dialect.rules.queries
    match relation:
        case Derived(query) | CommonScan(CommonTable(_, query)):
            refuse_uncollated_query(query, context)
    if alias is not None:
        only(alias, "this", "columns")
        if alias.this is not None:
            name = fold_table(alias.this, context.dialect)
        columns = alias.args.get("columns") or []
        if columns and not rules.aliases_columns_in_from:
            raise Unsupported(f"column aliases in FROM in {context.dialect.name}")
        shape = renamed(shape, columns, name, context, exactly=False)
    constants = _constants(relation) if rules.knows_constants_of_derived else frozenset[int]()
    visible: Visible = [
        (column, Column(place, kind, column, place in constants, _affine(relation, place)))
        for place, (column, kind) in enumerate(zip(shape.names, shape.types, strict=True))
    ]
    whole = ScopeTable(name, tuple(visible), shape.exact, shape.row, key=shape.key)
    return Item(relation, name, (whole,), visible, len(visible))


def _constants(relation: Relation) -> frozenset[int]:
    """The places of the columns that are constants of a query in FROM."""
    match relation:
        case Derived(query) | CommonScan(CommonTable(_, query)):
            outputs = [output.expression for output in query.outputs]
            return frozenset(place for place, expr in enumerate(outputs) if never_changes(expr))
    return frozenset()


def _affine(relation: Relation, place: int) -> bool | None:
    """As of a `Column`, of one of an item."""
    match relation:
        case BaseTable():
            return True
        case Derived(query):
            return affine_output(query, place)
        case CommonScan(CommonTable(_, query, None)):
            return affine_output(query, place)
    return None


def renamed(shape: Shape, columns: Sequence[Node], what: str, context: Context, *, exactly: bool) -> Shape:
    """The shape under a list of column aliases, which may be shorter unless `exactly`."""
    if not columns:
        return shape
    dialect = context.dialect
    names = [fold_column(column, dialect) for column in columns if isinstance(column, exp.Identifier)]
    if len(names) != len(columns):
        raise Unsupported("column aliases with types")
    if len(names) > len(shape.names) or (exactly and len(names) < len(shape.names)):
        state = dialect.rules.queries.column_alias_count_error
        message = f"{what!r} has {len(shape.names)} columns but {len(names)} are named"
        raise Unsupported(message) if state is None else SqlError(state, message)
    exact = shape.exact or len(names) == len(shape.names)
    return replace(shape, names=(*names, *shape.names[len(names) :]), exact=exact)


def shape_of(query: Query) -> Shape:
    """The columns of a query in FROM."""
    names = tuple(output.name for output in query.outputs)
    types = tuple(output.expression.type for output in query.outputs)
    return Shape(names, types, all(output.exact for output in query.outputs))


def _query_item(node: Node, context: Context, *, lateral: bool) -> Item:
    from sql_semantics.frontend.queries.compound import bind_query  # queries have FROM items

    rules = context.dialect.rules.queries
    alias = node.args.get("alias")
    if alias is None and rules.unnamed_derived_error is not None:
        if not isinstance(node.this, exp.Select):
            raise Unsupported("a join or another query in parentheses without a name")
        raise SqlError(rules.unnamed_derived_error, "every derived table must have its own alias")
    if alias is not None:
        node = node.copy()
        node.set("alias", None)
    query = bind_query(node, context)
    if not rules.derives_values_and_outer_reads and (isinstance(query, Values) or reads_outside(query)):
        raise Unsupported(f"VALUES or a query that reads outer columns in FROM in {context.dialect.name}")
    shape = shape_of(query)
    if alias is None or not alias.args.get("columns"):
        _check_names(shape, context)
    item = named_item(Derived(query, lateral), shape, alias, "", context)
    if not lateral or not isinstance(query, Select) or not context.dialect.rules.expressions.has_rows:
        return item
    # one column more tells a row of NULLs from none
    marked = replace(query, outputs=(*query.outputs, OutputColumn("", Const(True, BOOLEAN))))
    tables = tuple(replace(table, present=Column(item.width, BOOLEAN, "")) for table in item.tables)
    return replace(item, relation=Derived(marked, lateral), tables=tables, width=item.width + 1)


def _check_names(shape: Shape, context: Context) -> None:
    """PostgreSQL takes two columns of one name and fails where that name is used; MySQL refuses them."""
    rules = context.dialect.rules.queries
    if len(set(shape.names)) == len(shape.names) or rules.repeats_derived_columns:
        return
    if rules.repeated_derived_column_error is not None and shape.exact:
        raise SqlError(rules.repeated_derived_column_error, "duplicate column name in a derived table")
    raise Unsupported("a query in FROM with two columns of one name")


def _lateral(node: Node, context: Context, before: Scope) -> Item:
    only(node, "this", "alias", "ordinality")
    rules = context.dialect.rules.queries
    if isinstance(node.this, exp.Unnest) and rules.unnest_in_from:
        unnested = node.this.copy()
        if node.args.get("alias") is not None:
            unnested.set("alias", node.args["alias"].copy())
        return bind_item(unnested, context, before)
    if isinstance(node.this, (exp.Anonymous, exp.ExplodingGenerateSeries, exp.GenerateSeries)) and rules.lateral:
        called = exp.Table(this=node.this.copy(), alias=node.args.get("alias"), ordinality=node.args.get("ordinality"))
        return bind_item(called, context, before)
    if not rules.lateral or not isinstance(node.this, exp.Subquery):
        raise Unsupported("LATERAL")
    if node.this.args.get("alias") is not None:
        raise Unsupported("LATERAL")
    subquery = node.this.copy()
    subquery.set("alias", node.args.get("alias"))
    return _query_item(subquery, context.inside(before), lateral=True)


def _listed(node: Node, context: Context) -> Node | None:
    """A call in FROM that gives rows, as unnest() of them; None for any other item."""
    from sql_semantics.frontend.queries.unnesting import listed  # an item itself

    rows = listed(node.this, context)
    if rows is None:
        return None
    only(node, "this", "alias", "ordinality")
    rows.set("offset", node.args.get("ordinality"))
    if node.args.get("alias") is not None:
        rows.set("alias", node.args["alias"].copy())
    return rows


def _function(node: Node, context: Context, before: Scope) -> Item:
    only(node, "this", "alias")
    try:
        bound = bind_function_scan(Binder(context, Scope(), "FROM"), node.this)
    except SqlError as error:
        if error.sqlstate[:2] == "42" and (before.tables or context.outer is not None):
            # its arguments may read what stands left of it, or further out
            raise Unsupported("LATERAL function in FROM") from error
        raise
    if bound is None:
        raise Unsupported("table function in FROM")
    scan, columns = bound
    alias = node.args.get("alias")
    name = scan.routine.signature.name
    names = tuple(column for column, _ in columns)
    if not scan.routine.signature.record:
        # the one column is named like the item
        names = (
            (fold_table(alias.this, context.dialect),) if alias is not None and alias.this is not None else names[:1]
        )
    types = tuple(kind for _, kind in columns)
    if scan.routine.signature.record:
        return named_item(scan, Shape(names, types), alias, name, context)
    if types[0].kind is Kind.COMPOSITE:
        outputs = tuple(OutputColumn(names[0], Column(0, types[0], names[0])) for _ in types)
        shown = spread(Source(scan, names[0], 0, 1), outputs)
        return named_item(Derived(shown), replace(shape_of(shown), row=types[0]), alias, name, context)
    return named_item(scan, Shape(names, types, row=types[0]), alias, name, context)


def spread(source: Source, columns: Sequence[OutputColumn]) -> Select:
    """The rows of a source, with a column for each field of those of its columns that are rows."""
    outputs: list[OutputColumn] = []
    for place, column in enumerate(columns):
        value = Column(place, column.expression.type, column.name)
        family = value.type.family
        if isinstance(family, CompositeFamily):
            outputs += [OutputColumn(name, field_of(value, number)) for number, (name, _) in enumerate(family.fields)]
        else:
            outputs.append(replace(column, expression=value))
    return Select((source,), None, None, (), None, tuple(outputs))


def _series(node: Node, context: Context, before: Scope) -> Item:
    only(node, "this", "alias")
    dialect = context.dialect
    if not dialect.rules.queries.generate_series:
        raise Unsupported("table function in FROM")
    call = node.this
    only(call, "start", "end", "step")
    try:
        parts = _series_arguments(call, context.inside(before), Scope(outer=before))
    except _NoIntegers:
        rows = _listed(node, context)
        if rows is None:
            raise Unsupported("generate_series over other than integers") from None
        return bind_item(rows, context, before)
    lateral = any(has_outer(part) for part in parts)
    if not lateral:
        parts = _series_arguments(call, context, Scope(outer=context.outer))
    kinds = {part.type.kind for part in parts[: 2 if call.args.get("step") is None else 3]}
    wide = dialect.rules.queries.series_are_bigint or Kind.BIGINT in kinds
    kind = BIGINT if wide else max((part.type for part in parts[:2]), key=lambda t: t.kind is Kind.INT)
    alias = node.args.get("alias")
    name = "generate_series" if alias is None else fold_table(alias.this, dialect)
    outputs = (OutputColumn(name, Column(0, kind, name)),)
    series = Series(parts[0], parts[1], parts[2], outputs)
    return named_item(Derived(series, lateral), replace(shape_of(series), row=kind), alias, name, context)


def _series_arguments(call: Node, context: Context, scope: Scope) -> list[Expr]:
    """Start, stop and step."""
    binder = Binder(context, scope, "FROM")
    parts: list[Expr] = []
    for key in ("start", "end", "step"):
        part = call.args.get(key)
        bound = Const(1, BIGINT) if part is None else settle(binder.value(part), BIGINT, context)
        if bound.type.kind not in INTEGER_KINDS:
            raise _NoIntegers
        parts.append(bound)
    return parts


class _NoIntegers(Exception):
    """generate_series() is called with numbers of another kind, or with moments."""
