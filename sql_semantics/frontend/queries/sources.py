"""FROM and JOIN into sources and a scope (paper §3.1). Does not know what the rest of the query does with them.

Joins are bound from left to right. A comma starts a new group: the ON of a later JOIN does not see beyond it
(PostgreSQL 7.2.1.1, MySQL 15.2.13.2); in SQLite a comma is a join like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, ScopeTable, Visible, shifted, unknown_column
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.frontend.queries.items import Item, bind_item
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.coerce import cast, unify
from sql_semantics.frontend.types.comparison import comparable
from sql_semantics.frontend.types.rounding import refuse_rounded_keys
from sql_semantics.ir.expressions import Binary, Const, Expr, Function
from sql_semantics.ir.queries import BaseTable, Identified, Joined, Source
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.types import BOOLEAN

_OUTER = ("left", "right", "full")


def bind_sources(query: Node, context: Context, *, identified: bool = False) -> tuple[tuple[Source, ...], Scope]:
    """All FROM items with their joins. With `identified` the stored tables are `Identified`."""
    clause = query.args.get("from_")
    joins = list(query.args.get("joins") or ())
    if clause is None:
        if joins:
            raise Unsupported("JOIN without FROM")
        return (), Scope(outer=context.outer)
    only(clause, "this")
    if _is_dual(clause.this, context):
        if joins:
            raise Unsupported("JOIN with DUAL")
        return (), Scope(outer=context.outer)
    from_ = _From(context, Scope(outer=context.outer), identified)
    for group in _groups(clause.this, joins, context):
        from_.group(group)
    return tuple(from_.sources), from_.scope


def _is_dual(node: Node, context: Context) -> bool:
    """MySQL's table of no columns and one row (15.2.13)."""
    if not context.dialect.rules.queries.dual or not isinstance(node, exp.Table) or node.name.upper() != "DUAL":
        return False
    only(node, "this")
    return not isinstance(node.this, exp.Identifier) or not node.this.args.get("quoted")


@dataclass(slots=True)
class _Group:
    """What stands between two commas: an item and its joins."""

    first: Node
    joins: list[Node] = field(default_factory=list)


def _groups(first: Node, joins: Sequence[Node], context: Context) -> list[_Group]:
    groups = [_Group(first)]
    for join in joins:
        marks = ("side", "kind", "method", "on", "using")
        if any(join.args.get(mark) for mark in marks) or context.dialect.rules.queries.comma_binds_as_join:
            groups[-1].joins.append(join)
        else:
            only(join, "this")
            groups.append(_Group(join.this))
    return groups


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a join is written: its kind, and whether it is NATURAL."""

    name: str
    natural: bool


def _join_kind(join: Node, context: Context) -> _Kind:
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    method = str(join.args.get("method") or "").upper()
    if method not in ("", "NATURAL"):
        raise Unsupported(f"{method} JOIN")
    rules = context.dialect.rules.queries
    conditional = join.args.get("on") is not None or bool(join.args.get("using"))
    natural = bool(method)
    if natural and conditional:
        raise Unsupported("NATURAL JOIN with a condition")
    if side:
        if side not in ("LEFT", "RIGHT", "FULL") or kind not in ("", "OUTER"):
            raise Unsupported(f"{side} {kind} JOIN")
        if side == "FULL" and not rules.full_join:
            raise Unsupported(f"FULL JOIN in {context.dialect.name}")
        if not conditional and not natural:
            raise Unsupported(f"{side} JOIN without a condition")
        return _Kind(side.lower(), natural)
    if kind == "CROSS":
        if natural or (conditional and not rules.cross_join_is_join):
            raise Unsupported("CROSS JOIN with a condition")
        return _Kind("inner" if conditional else "cross", False)
    if kind not in ("", "INNER"):
        raise Unsupported(kind if "JOIN" in kind else f"{kind} JOIN")
    if not conditional and not natural:
        if kind and not rules.cross_join_is_join:
            raise Unsupported("JOIN without a condition")
        return _Kind("cross", False)
    return _Kind("inner", natural)


@dataclass(slots=True)
class _From:
    """The FROM clause, or a join in parentheses, while it is bound."""

    context: Context
    scope: Scope
    identified: bool = False
    sources: list[Source] = field(default_factory=list)
    start: int = 0
    """The first of the scope's tables in the last group."""

    def group(self, group: _Group) -> None:
        """An item with its joins, beside the groups before it."""
        kinds = [_join_kind(join, self.context) for join in group.joins]
        if self.sources and any(kind.name in ("right", "full") for kind in kinds):
            if self.identified:
                raise Unsupported("RIGHT JOIN after a comma in a write")
            # (a, b RIGHT JOIN c) keeps the rows of c within their group
            if any(isinstance(node, exp.Lateral) for node in (group.first, *(join.this for join in group.joins))):
                raise Unsupported("LATERAL beside a RIGHT or FULL JOIN")
            self.put(_joined(group, self.context), _Kind("cross", False))
            return
        self.start = len(self.scope.tables)
        self.put(self.item(group.first), _Kind("cross", False))
        for place, (join, kind) in enumerate(zip(group.joins, kinds, strict=True), 1):
            only(join, "this", "side", "kind", "method", "on", "using")
            item = self.item(join.this)
            if kind.name in ("right", "full") and _reads_left(item):
                raise Unsupported("LATERAL in a RIGHT or FULL JOIN")
            try:
                self.join(item, kind, join)
            except SqlError as error:
                merges = any(later.args.get("using") or later.args.get("method") for later in group.joins[place:])
                if merges and self.context.dialect.rules.queries.ambiguous_using_error is not None:
                    raise Unsupported("a mistake in front of USING, whose own come first") from error
                raise

    def item(self, node: Node) -> Item:
        nested = _nested(node)
        dialect = self.context.dialect
        if nested is not None and isinstance(node, exp.Table) and not dialect.rules.queries.nests_joins_bare:
            raise Unsupported(f"a join inside a join without parentheses in {dialect.name}")
        if nested is None:
            item = bind_item(node, self.context, self.left())
            if self.identified and isinstance(item.relation, BaseTable):
                return replace(item, relation=Identified(item.relation.name), width=item.width + 1)
            return item
        if self.identified:
            raise Unsupported("a join inside a join in a write")
        item = _joined(nested, self.context)
        alias = node.args.get("alias") if isinstance(node, exp.Subquery) else None  # else it is the first table's own
        return item if alias is None else _aliased(item, alias, self.context)

    def left(self) -> Scope:
        """What a LATERAL item sees; in a write not the target, which is the first item (PostgreSQL UPDATE)."""
        scope = self.scope
        if not self.identified or not scope.tables:
            return scope
        return Scope(scope.tables[1:], scope.groups[1:], scope.width, scope.outer)

    def put(self, item: Item, kind: _Kind) -> Visible:
        """Append the item as a group of its own; what is visible of it."""
        by = self.scope.width
        tables = [
            replace(
                table,
                columns=tuple((name, shifted(e, by)) for name, e in table.columns),
                present=None if table.present is None else shifted(table.present, by),
            )
            for table in item.tables
        ]
        self.scope.add_tables(tables, self.context.dialect)
        visible = [(name, shifted(e, by)) for name, e in item.visible]
        self.scope.groups.append(visible)
        self.scope.width += item.width
        self.sources.append(Source(item.relation, item.alias, by, item.width, kind.name))
        return visible

    def join(self, item: Item, kind: _Kind, node: Node) -> None:
        """Join the item to the last group."""
        rules = self.context.dialect.rules.queries
        left = self.scope.groups[-1]
        right = self.put(item, kind)
        self.scope.groups.pop()
        using, on = node.args.get("using"), node.args.get("on")
        if using and on is not None:
            raise Unsupported("JOIN with both ON and USING")
        condition: Expr | None = None
        name = kind.name
        if using or kind.natural:
            names = _names(using, self.context) if using else [n for n, _ in left if any(n == m for m, _ in right)]
            if not names and not rules.natural_join_without_columns:
                raise Unsupported("NATURAL JOIN without a common column")
            condition, visible = _merged(left, right, names, name, self.context)
            if condition is None:
                condition = Const(True, BOOLEAN) if name in _OUTER else None
                name = name if name in _OUTER else "cross"
        else:
            visible = [*left, *right]
        self.scope.groups[-1] = visible
        if on is not None:
            condition = Binder(self.context, self.within_group(visible), "JOIN/ON").condition(on)
            if self.context.compound and not rules.on_beside_union_reads_outer and reads_outside(condition):
                raise Unsupported(f"an outer column in ON beside UNION in {self.context.dialect.name}")
        if name == "full":
            self.check_full(condition)
        self.sources[-1] = replace(self.sources[-1], kind=name, on=condition)
        self.extend(name, len(item.tables))
        if rules.outer_joins_read_rounded_keys and name in _OUTER:
            for source in self.sources[-1:] if name == "left" else self.sources:
                refuse_rounded_keys(source)

    def extend(self, kind: str, width: int) -> None:
        """An outer join puts NULL in place of its left side's tables, its right side's, of which there are so many, or
        either's."""
        last = len(self.scope.tables) - width
        for table in self.scope.tables[self.start : last] if kind in ("right", "full") else ():
            table.extended = True
        for table in self.scope.tables[last:] if kind in ("left", "full") else ():
            table.extended = True

    def within_group(self, visible: Visible) -> Scope:
        """The scope that the ON of a join sees: its own group."""
        if len(self.scope.groups) == 1:
            return self.scope
        lenient = self.context.dialect.rules.queries.on_sees_beyond_comma
        return Scope(self.scope.tables[self.start :], [visible], self.scope.width, self.scope.outer, lenient)

    def check_full(self, condition: Expr | None) -> None:
        """PostgreSQL joins FULL by an equality between both sides, or without a condition (0A000 otherwise, unless
        WHERE makes it another join)."""
        if condition is None or isinstance(condition, Const):
            return
        if not self.context.dialect.rules.queries.full_join_needs_equality:
            return
        start = self.sources[-1].offset
        for part in _conjuncts(condition):
            if isinstance(part, Binary) and part.op == "=":
                sides = [{column.index >= start for column in columns_of(side)} for side in (part.left, part.right)]
                if sides in ([{False}, {True}], [{True}, {False}]):
                    return
        raise Unsupported("FULL JOIN without an equality between both sides")


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "and":
        return [*_conjuncts(expr.left), *_conjuncts(expr.right)]
    return [expr]


def _reads_left(item: Item) -> bool:
    return bool(getattr(item.relation, "lateral", False))


def _nested(node: Node) -> _Group | None:
    """The join that an item in parentheses, or ``a LEFT JOIN b JOIN c ON ... ON ...``, holds; None for other items."""
    if isinstance(node, exp.Table) and node.args.get("joins"):
        first = node.copy()
        first.set("joins", None)
        return _Group(first, list(node.args["joins"]))
    if isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)):
        inner = node.this
        if isinstance(inner, exp.Subquery) and not isinstance(_innermost(inner), exp.Table):
            return None
        only(node, "this", "joins", "alias")
        if not node.args.get("joins"):
            group = _nested(inner)
            if group is None or (isinstance(inner, exp.Subquery) and inner.args.get("alias") is not None):
                raise Unsupported("a table in parentheses")
            return group
        if node.args.get("alias") is not None:
            raise Unsupported("alias of a part of a join")
        outer = node.copy()
        outer.set("joins", None)
        return _Group(outer if isinstance(inner, exp.Subquery) else inner, list(node.args["joins"]))
    return None


def _innermost(node: Node) -> Node:
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def _joined(group: _Group, context: Context) -> Item:
    """A join in parentheses; its columns are counted from 0."""
    from_ = _From(context, Scope(outer=context.outer))
    for part in _groups(group.first, group.joins, context):
        from_.group(part)
    scope = from_.scope
    if not context.dialect.rules.queries.using_in_parentheses and any(
        join.args.get("using") or join.args.get("method") for join in group.joins
    ):
        raise Unsupported(f"USING or NATURAL in a join in parentheses in {context.dialect.name}")
    return Item(Joined(tuple(from_.sources)), "", tuple(scope.tables), scope.star(), scope.width)


def _aliased(item: Item, alias: Node, context: Context) -> Item:
    """A join under an alias, which hides the names inside (PostgreSQL 7.2.1.2)."""
    only(alias, "this")
    if not context.dialect.rules.queries.aliases_joins:
        raise Unsupported("alias of a join")
    name = fold_table(alias.this, context.dialect)
    return replace(item, alias=name, tables=(ScopeTable(name, tuple(item.visible), extended=True),))


def _names(using: Sequence[Node], context: Context) -> list[str]:
    names = []
    for identifier in using:
        if not isinstance(identifier, exp.Identifier):
            raise unsupported(identifier, "USING")
        names.append(fold_column(identifier, context.dialect))
    return names


def _merged(
    left: Visible, right: Visible, names: Sequence[str], kind: str, context: Context
) -> tuple[Expr | None, Visible]:
    """The condition of USING, and what is visible of both sides afterwards: each pair of columns as one, first of all
    (in SQLite and DuckDB: in the left one's place)."""
    dialect = context.dialect
    condition: Expr | None = None
    merged: dict[str, Expr] = {}
    if len(set(names)) < len(names):
        raise Unsupported("a column twice in USING")
    for name in names:
        ours = [e for n, e in left if n == name]
        theirs = [e for n, e in right if n == name]
        if not ours or not theirs:
            raise unknown_column(name, dialect)
        if len(ours) > 1 or len(theirs) > 1:
            state = dialect.rules.queries.ambiguous_using_error
            message = f"common column name {name!r} appears more than once in a table"
            raise Unsupported(message) if state is None else SqlError(state, message)
        one, other = comparable(ours[0], theirs[0], context, "=")
        equal = Binary("=", one, other, BOOLEAN)
        condition = equal if condition is None else Binary("and", condition, equal, BOOLEAN)
        if kind == "full":
            (one, other), target = unify([ours[0], theirs[0]], context, "JOIN/USING")
            merged[name] = Function("coalesce", (one, other), target)
        else:
            kept = theirs[0] if kind == "right" else ours[0]
            merged[name] = kept if dialect.rules.definitions.table_collations else cast(kept, one.type)
    rest = [(n, e) for n, e in right if n not in merged]
    shown = dialect.rules.queries.using_columns
    if shown == "in place":
        return condition, [*[(n, merged.get(n, e)) for n, e in left], *rest]
    others = [(n, e) for n, e in left if n not in merged]
    if shown == "kept side first":
        if kind == "right":
            return condition, [*[(n, merged[n]) for n, _ in right if n in merged], *rest, *others]
        return condition, [*[(n, merged[n]) for n, _ in left if n in merged], *others, *rest]
    return condition, [*merged.items(), *others, *rest]
