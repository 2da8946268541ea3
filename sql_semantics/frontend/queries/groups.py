"""GROUP BY: keys, grouping sets, and what keys determine (PostgreSQL manual 7.2.3 and 7.2.4; MySQL 14.19). Does not
know how expressions above GROUP BY are moved there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.block import Block
from sql_semantics.frontend.queries.grouping import columns_of, has_aggregate, has_window, ungrouped
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.ir.expressions import Column, Const, Expr
from sql_semantics.ir.queries import Aggregate, BaseTable, Joined, Source
from sql_semantics.ir.walks.correlation import reads_outside
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect

_SETS_LIMIT = 4096
"""As in PostgreSQL."""


@dataclass(slots=True)
class Groups:
    """The keys, and the sets of positions in them that the rows are grouped by; None for all keys at once."""

    keys: list[Expr]
    sets: tuple[tuple[int, ...], ...] | None


def bind_groups(query: Block, node: Node) -> Groups:
    """GROUP BY with its grouping sets. Raises SqlError 42803 or Unsupported for what may not stand there."""
    if node.args.get("all") and not node.expressions and query.context.dialect.rules.text.groups_by_all:
        only(node, "all")
        return _of_all(query)
    only(node, "expressions", "rollup")
    keys: list[Expr] = []
    binder = Binder(query.context, query.scope, "GROUP BY", query.aggregates, query.aliases())

    written: dict[int, set[str]] = {}

    def position(item: Node) -> int:
        key = _key(query, binder, item)
        if key not in keys:
            keys.append(key)
        text = repr(item) if item.find(exp.HexString) is not None else item.sql().lower()  # X'' cannot be written
        written.setdefault(keys.index(key), set()).add(text)
        return keys.index(key)

    options = [_options(item, query.context.dialect.rules.queries.grouping_sets) for item in node.expressions]
    if node.args.get("rollup"):
        options = [_with_rollup(query, node)]
    sets = [tuple(itertools.chain.from_iterable(choice)) for choice in itertools.product(*options)]
    if len(sets) > _SETS_LIMIT:
        raise Unsupported(f"more than {_SETS_LIMIT} grouping sets")
    found = tuple(tuple(sorted({position(item) for item in chosen})) for chosen in sets)
    if found == (tuple(range(len(keys))),):
        return Groups(keys, None)
    if any(len(names) > 1 for names in written.values()) or any(isinstance(key, Const) for key in keys):
        raise Unsupported("grouping sets of outputs that are alike or constant")  # each is NULL in sets of its own
    return Groups(keys, found)


def _of_all(query: Block) -> Groups:
    """DuckDB's GROUP BY ALL: by whatever is selected and has no aggregate."""
    shown = [output.expression for output in query.outputs]
    if any(map(has_window, shown)):
        raise Unsupported("GROUP BY ALL beside a window function")
    if any(has_aggregate(item) and columns_of(item) for item in shown):
        raise Unsupported("GROUP BY ALL of a column beside an aggregate")  # an error, even if it is selected alone, too
    keys = list(dict.fromkeys(item for item in shown if not has_aggregate(item)))
    if not keys or any(isinstance(key, Const) for key in keys):
        raise Unsupported("GROUP BY ALL of constants, or of nothing")
    return Groups(keys, None)


def check_grouping(query: Block, keys: Sequence[Expr]) -> None:
    """Raises SqlError 42803 (PostgreSQL) or Unsupported where GROUPING has an argument that is no key."""
    arguments = [argument for call in query.aggregates if call.function == "grouping" for argument in call.arguments]
    if any(argument not in keys for argument in arguments):
        if query.context.outer is not None or any(map(reads_outside, arguments)):
            raise Unsupported("GROUPING in a subquery of what a query further out groups by")
        state = query.context.dialect.rules.queries.grouping_error
        if state is not None:
            raise SqlError(state, "arguments to GROUPING must be grouping expressions")
        raise Unsupported("GROUPING of what is not grouped by")


def _key(query: Block, binder: Binder, item: Node) -> Expr:
    rules = query.context.dialect.rules.queries
    place = query.position(item, "GROUP BY")
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Identifier) and not item.args.get("table"):
        name = fold_column(item.this, query.context.dialect)
        implicit = any(o.name == name and not e for o, e in zip(query.outputs, query.explicit, strict=True))
        called = {o.expression for o, e in zip(query.outputs, query.explicit, strict=True) if o.name == name and e}
        if not rules.resolves_repeated_group_aliases and len(called) > 1:
            raise Unsupported(f"GROUP BY an alias of two outputs in {query.context.dialect.name}")
        if implicit and not query.scope.unqualified(name):
            raise Unsupported(f"GROUP BY {name}, an output without an alias")
        if implicit and rules.grouping_error is None and len(query.scope.unqualified(name)) > 1:
            shown = {o.expression for o in query.outputs if o.name == name}
            if len(shown) > 1:
                raise Unsupported(f"GROUP BY {name}, the name of several outputs")
            return shown.pop()
    key = query.outputs[place].expression if place is not None else binder.typed(item)
    if place is None and isinstance(key, Const):
        raise Unsupported("constant in GROUP BY")
    if has_window(key):
        raise Unsupported("window function in GROUP BY")
    if not rules.groups_by_outer_columns and reads_outside(key):
        raise Unsupported(f"GROUP BY of an outer column in {query.context.dialect.name}")
    if has_aggregate(key):
        if rules.grouping_error is not None:
            raise SqlError(rules.grouping_error, "aggregate functions are not allowed in GROUP BY")
        raise Unsupported("aggregate function in GROUP BY")
    return key


_Option = tuple[Node, ...]


def _options(item: Node, sets: bool) -> list[_Option]:
    """The alternatives that one item of GROUP BY stands for. `sets`: whether the product has several."""
    names: dict[type[Node], str] = {
        exp.Rollup: "GROUP BY ROLLUP", exp.Cube: "GROUP BY CUBE", exp.GroupingSets: "GROUPING SETS",
    }  # fmt: skip
    if not sets and isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
        raise Unsupported(names.get(type(item), "row value"))
    match item:
        case exp.Rollup():
            only(item, "expressions")
            parts = [_together(part) for part in item.expressions]
            return [tuple(itertools.chain.from_iterable(parts[:count])) for count in range(len(parts), -1, -1)]
        case exp.Cube():
            only(item, "expressions")
            parts = [_together(part) for part in item.expressions]
            if len(parts) > 12:
                raise Unsupported(f"more than {_SETS_LIMIT} grouping sets")
            chosen = itertools.product((True, False), repeat=len(parts))
            return [tuple(itertools.chain.from_iterable(itertools.compress(parts, choice))) for choice in chosen]
        case exp.GroupingSets():
            only(item, "expressions")
            return [option for part in item.expressions for option in _options(part, sets)]
    return [_together(item)]


def _together(item: Node) -> _Option:
    """What is grouped by together: the items of a parenthesis, or one expression."""
    if isinstance(item, exp.Tuple):
        only(item, "expressions")
        return tuple(item.expressions)
    if isinstance(item, exp.Paren) and not isinstance(item.this, exp.Literal):
        only(item, "this")
        return (item.this,)
    return (item,)


def _with_rollup(query: Block, node: Node) -> list[_Option]:
    """GROUP BY a, b WITH ROLLUP (MySQL 14.19.2)."""
    rollups = node.args["rollup"]
    if not query.context.dialect.rules.queries.with_rollup or len(rollups) != 1 or rollups[0].expressions:
        raise Unsupported("GROUP BY ROLLUP")
    keys = tuple(node.expressions)
    return [keys[:count] for count in range(len(keys), -1, -1)]


def dependent_columns(query: Block, keys: list[Expr], above: Sequence[Expr]) -> list[Column]:
    """Columns that a grouped primary key determines (PostgreSQL 7.2.3, MySQL 14.19.3): grouping by them as well
    changes no group. DuckDB knows no such columns."""
    more: list[Column] = []
    if not query.context.dialect.rules.queries.keys_determine_columns:
        return more
    for expression in above:
        for column in ungrouped(expression, [*keys, *more]):
            for start, name in _base_tables(query.sources, 0):
                table = query.context.catalog.tables[name]
                grouped = {key.index - start for key in keys if isinstance(key, Column)}
                primary = next((key for key in table.keys if key.primary), None)
                within = start <= column.index < start + len(table.columns)
                if within and primary is not None and grouped.issuperset(primary.columns):
                    more.append(column)
    return more


def _base_tables(sources: Sequence[Source], start: int) -> Iterator[tuple[int, str]]:
    """The stored tables of FROM with the positions of their first columns."""
    for source in sources:
        match source.relation:
            case BaseTable(name):
                yield start + source.offset, name
            case Joined(inner):
                yield from _base_tables(inner, start + source.offset)


def takes_bare_columns(dialect: Dialect) -> bool:
    """Whether a query that groups may read columns by which it does not (MySQL: without ONLY_FULL_GROUP_BY, as MariaDB
    is by default)."""
    if not dialect.rules.text.has_sql_modes:
        return dialect.rules.queries.bare_columns
    modes = dialect.sql_modes
    if modes is None:
        return dialect.product == "mariadb"
    return modes.isdisjoint(("ONLY_FULL_GROUP_BY", "ANSI"))


def bare_columns(query: Block, keys: Sequence[Expr], above: Sequence[Expr]) -> dict[Expr, Column]:
    """Columns that are neither grouped by nor aggregated: those of some row of the group, and in SQLite beside a single
    MIN or MAX of one of its rows ("Bare columns in an aggregate query"). Added to the query's aggregates."""
    found: dict[Expr, Column] = {}
    rules = query.context.dialect.rules.queries
    if not takes_bare_columns(query.context.dialect):
        return found
    extremes = [call for call in query.aggregates if call.function in ("min", "max")]
    plain = [call for call in extremes if call.filter is None and not call.distinct]
    for expression in above:
        for column in ungrouped(expression, keys):
            if column in found:
                continue
            call = Aggregate("bare", (column,), False, column.type)
            if len(extremes) == len(plain) == 1 and rules.bare_columns_of_extremes:
                call = replace(call, function=f"bare_{plain[0].function}", arguments=(column, *plain[0].arguments))
            query.aggregates.append(call)
            found[column] = replace(column, index=-len(query.aggregates))
    return found
