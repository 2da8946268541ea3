"""PostgreSQL's declarative partitions (manual 5.12, CREATE TABLE): bounds as conditions over all rows of a table.

The whole table is a table like any other, which refuses rows that no partition takes; a partition is a view of the rows
within its bounds, that is not written to. A row is within bounds or is not: no condition here is NULL. Does not know
statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.refusals import concerned, put_out_of_use
from sql_semantics.frontend.names.scope import Context, Parameters, Scope
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.queries.compound import bind_query
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.ir.schema import Catalog, Check, Table, TableColumn
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect

_STRATEGIES = ("RANGE", "LIST", "HASH")


def key_of(node: Node) -> tuple[str, tuple[Node, ...]]:
    """The strategy and the columns of PARTITION BY. Raises Unsupported for an expression among them."""
    only(node, "this")
    given = node.this
    if isinstance(given, exp.List):
        only(given, "expressions")
        strategy, columns = "LIST", given.expressions
    elif isinstance(given, exp.Anonymous):
        only(given, "this", "expressions")
        strategy, columns = str(given.this).upper(), given.expressions
    else:
        raise Unsupported("table option PARTITION BY")
    if strategy not in _STRATEGIES or not columns:
        raise Unsupported(f"table option PARTITION BY {strategy}")
    plain = tuple(column.this if isinstance(column, exp.Paren) else column for column in columns)
    if any(not isinstance(column, exp.Column) or column.args.get("table") for column in plain):
        raise Unsupported("PARTITION BY an expression")
    return strategy, plain


def within(columns: Sequence[Node], bound: Node) -> Node | None:
    """The condition of FOR VALUES, None for DEFAULT. Raises Unsupported for bounds of a hash."""
    if isinstance(bound, exp.Var) and str(bound.this).upper() == "DEFAULT":
        return None
    if not isinstance(bound, exp.PartitionBoundSpec):
        raise Unsupported("a partition without FOR VALUES")
    if isinstance(bound.this, list):
        only(bound, "this")
        return _listed(columns, bound.this)
    if bound.args.get("from_expressions") is None:
        raise Unsupported("FOR VALUES WITH (modulus, remainder)")
    only(bound, "from_expressions", "to_expressions")
    known: Node = all_of([_present(column) for column in columns])
    low = _beyond(columns, bound.args["from_expressions"], above=True)
    high = _beyond(columns, bound.args["to_expressions"], above=False)
    return all_of([known, low, high])


def _listed(columns: Sequence[Node], values: Sequence[Node]) -> Node:
    (column,) = columns
    found = [item for item in values if not isinstance(item, exp.Null)]
    tests: list[Node] = []
    if found:
        tests.append(
            all_of([_present(column), any_of([exp.EQ(this=column.copy(), expression=item) for item in found])])
        )
    if len(found) < len(values):
        tests.append(exp.Is(this=column.copy(), expression=exp.Null()))
    return any_of(tests)


def _beyond(columns: Sequence[Node], values: Sequence[Node], *, above: bool) -> Node:
    """Whether the columns, in their order, are at the values or above, or below them."""
    if len(values) != len(columns):
        raise Unsupported("partition bounds of another number of columns")
    found: Node = exp.true() if above else exp.false()
    for column, value in reversed(list(zip(columns, values, strict=True))):
        if isinstance(value, exp.Var | exp.Column) and value.name.upper() in ("MINVALUE", "MAXVALUE"):
            least = value.name.upper() == "MINVALUE"
            found = exp.true() if least == above else exp.false()
            continue
        beyond = (exp.GT if above else exp.LT)(this=column.copy(), expression=value.copy())
        same = exp.EQ(this=column.copy(), expression=value.copy())
        found = any_of([beyond, all_of([same, found])])
    return found


def outside(conditions: Sequence[Node]) -> Node:
    """The condition of the default partition: that none of the others holds."""
    if not conditions:
        return exp.true()
    return exp.Not(this=exp.Paren(this=any_of([condition.copy() for condition in conditions])))


def _present(column: Node) -> Node:
    return exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))


def all_of(conditions: Sequence[Node]) -> Node:
    """That all of the conditions, at least one, hold."""
    return _joined(exp.And, conditions)


def any_of(conditions: Sequence[Node]) -> Node:
    """That one of the conditions, at least one, holds."""
    return _joined(exp.Or, conditions)


def _joined(kind: type[exp.Connector], conditions: Sequence[Node]) -> Node:
    found = exp.Paren(this=conditions[0])
    for condition in conditions[1:]:
        found = exp.Paren(this=kind(this=found, expression=exp.Paren(this=condition)))
    return found


# --- definitions ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Partition:
    """A partition of a table: the rows `within` it (None: those in no other), or a `share` of them by a hash."""

    name: str
    within: Node | None = None
    share: Fraction | None = None


@dataclass(slots=True)
class Partitioned:
    """A table that has its rows in partitions, and which columns tell in which. `of`: the table that it is a partition
    of itself. `stale`: it may have got more since it was told of them (`settle`)."""

    name: str
    strategy: str
    columns: tuple[Node, ...]
    of: Partitioned | None = None
    parts: list[Partition] = field(default_factory=list)
    stale: bool = False

    @property
    def root(self) -> Partitioned:
        """The whole table that it is, or is a part of."""
        return self if self.of is None else self.of.root

    def within(self, part: Partition) -> Node:
        """Which of its rows are in one of its partitions."""
        if part.within is not None:
            return part.within.copy()
        return outside([other.within for other in self.parts if other.within is not None])

    def rows(self, part: Partition) -> Node:
        """Which rows of the whole table are in one of its partitions."""
        if self.of is None:
            return self.within(part)
        (own,) = (other for other in self.of.parts if other.name == self.name)
        return all_of([self.of.rows(own), self.within(part)])


Scheme = dict[str, Partitioned]
"""The tables of a schema that are partitioned, by name."""


def take_key(tree: Node, dialect: Dialect) -> tuple[str, tuple[Node, ...]] | None:
    """The PARTITION BY of a CREATE TABLE, which is taken out of it; None where there is none. Raises Unsupported."""
    properties = tree.args.get("properties")
    if properties is None or not dialect.rules.definitions.partitions:
        return None
    found = [item for item in properties.expressions if isinstance(item, exp.PartitionedByProperty)]
    if not found:
        return None
    key = key_of(found[0])
    rest = [item for item in properties.expressions if item is not found[0]]
    tree.set("properties", exp.Properties(expressions=rest) if rest else None)
    return key


def is_partition(tree: Node) -> bool:
    """Whether a CREATE TABLE is one of a partition."""
    properties = tree.args.get("properties")
    return properties is not None and properties.find(exp.PartitionedOfProperty) is not None


def create_partition(tree: Node, tables: dict[str, Table], scheme: Scheme, dialect: Dialect) -> None:
    """CREATE TABLE ... PARTITION OF into `tables`. Raises SchemaError, Unsupported."""
    key = take_key(tree, dialect)
    only(tree, "this", "kind", "exists", "properties")
    (own,) = tree.args["properties"].expressions
    only(own, "this", "expression")
    if not isinstance(own.this, exp.Table):
        raise Unsupported("a partition with columns or constraints of its own")
    name, parent = table_name(tree.this, dialect), table_name(own.this, dialect)
    of = scheme.get(parent)
    if of is None or (parent in tables and tables[parent].refused):
        raise Unsupported(f"a partition of {parent}")
    if name in tables:
        if tree.args.get("exists"):
            return
        raise SchemaError(f"table {name!r} is created twice")
    of.parts.append(_partition(name, of, own.args["expression"]))
    if key is not None:
        scheme[name] = Partitioned(name, *key, of)
    root = of.root
    if root.stale and not tables[root.name].refused:
        _show(of, of.parts[-1], tables, dialect)
    else:
        refresh(root, tables, scheme, dialect)
        root.stale = True


def refuse_own(text: str, tables: dict[str, Table], scheme: Scheme, dialect: Dialect) -> None:
    """Take tables out of use of whose partitions a statement may be about one: a key, a check, a trigger or an index of
    its own holds for a part of the rows only. Raises Unsupported where there are such."""
    parts = {name: whole for whole in scheme.values() if whole.of is None for name in _names(whole, scheme)}
    why = ""
    for name in sorted(concerned(text, parts, dialect)):
        why = f"a definition of the partition {name} by itself"
        put_out_of_use(parts[name].name, why, tables)
        refresh(parts[name], tables, scheme, dialect)
    if why:
        raise Unsupported(why)


def settle(tables: dict[str, Table], scheme: Scheme, dialect: Dialect) -> None:
    """Tell the tables that got partitions one after another of all of them at once: each changes which rows are in
    none of them."""
    for whole in scheme.values():
        if whole.stale:
            refresh(whole, tables, scheme, dialect)


def _partition(name: str, of: Partitioned, bound: Node) -> Partition:
    if of.strategy != "HASH" or isinstance(bound, exp.Var):
        return Partition(name, within(of.columns, bound))
    modulus = bound.args.get("this")
    if not isinstance(modulus, exp.Literal) or not str(modulus.this).isdigit() or int(str(modulus.this)) == 0:
        raise Unsupported("FOR VALUES WITH (modulus, remainder)")
    return Partition(name, share=Fraction(1, int(str(modulus.this))))


def refresh(root: Partitioned, tables: dict[str, Table], scheme: Scheme, dialect: Dialect) -> None:
    """The partitions of a table as it is now, and which rows it takes, into `tables`."""
    root.stale = False
    table = tables.get(root.name)
    if table is None or table.refused:
        reason = f"a partition of {root.name}" if table is None else table.refused
        tables.update({name: Table(name, (), refused=reason) for name in _names(root, scheme)})
        return
    levels = _levels(root, scheme)
    for level in levels:
        for part in level.parts:
            _show(level, part, tables, dialect)
    checks = tuple(check for check in table.checks if check.name != _ROUTING)
    unknown = next(_unknown(root, scheme), None)
    if unknown is None:
        context = Context(Catalog({root.name: table}), dialect, Parameters.none())
        scope = Scope()
        scope.add(root.name, table, dialect)
        routed = Check(_ROUTING, Binder(context, scope, "CHECK").condition(_accepted(root, scheme)), True)
        checks = (routed, *checks)
    loose = tuple(reason for reason in table.loose if not reason.startswith(_ROUTING))
    columns = dict.fromkeys(fold_column(column.this, dialect) for level in levels for column in level.columns)
    tables[root.name] = replace(
        table,
        checks=checks,
        loose=loose if unknown is None else (*loose, f"{_ROUTING} {unknown}"),
        fixed=tuple(table.position(name) for name in columns),
    )


def _names(of: Partitioned, scheme: Scheme) -> list[str]:
    """The partitions of a table, and theirs."""
    found = [part.name for part in of.parts]
    return [*found, *(name for part in found if part in scheme for name in _names(scheme[part], scheme))]


_ROUTING = "the partitions of a table:"
"""What the check is called that a row is within a partition; no constraint has such a name."""


def _levels(of: Partitioned, scheme: Scheme) -> list[Partitioned]:
    """A partitioned table, and its partitions that are partitioned by known bounds, and theirs."""
    below = [scheme[part.name] for part in of.parts if part.share is None and part.name in scheme]
    return [of, *(level for one in below for level in _levels(one, scheme))]


def _unknown(of: Partitioned, scheme: Scheme) -> Iterator[str]:
    """Why it is not known which rows a partitioned table takes."""
    for part in of.parts:
        below = scheme.get(part.name)
        if below is not None and part.share is not None:
            yield "partitions by a hash that have partitions"
        elif below is not None:
            yield from _unknown(below, scheme)
    if of.strategy == "HASH" and sum((part.share for part in of.parts if part.share is not None), Fraction()) != 1:
        yield "not all of a hash"


def _accepted(of: Partitioned, scheme: Scheme) -> Node:
    """Which rows among those within a partitioned table go to a partition, where that is known."""
    if of.strategy == "HASH":
        return exp.true()
    tests: list[Node] = []
    for part in of.parts:
        below = scheme.get(part.name)
        own = of.within(part)
        tests.append(own if below is None else all_of([own, _accepted(below, scheme)]))
    return any_of(tests) if tests else exp.false()


def _show(of: Partitioned, part: Partition, tables: dict[str, Table], dialect: Dialect) -> None:
    """A partition into `tables`: the rows of the whole table that are in it."""
    if part.share is not None:
        refused = "FOR VALUES WITH (modulus, remainder)"
        tables[part.name] = Table(part.name, (), refused=refused, part_of=of.root.name)
        return
    source = exp.Table(this=exp.to_identifier(of.root.name, quoted=True))
    query = exp.select("*").from_(source).where(of.rows(part))
    bound = bind_query(query, Context(Catalog(tables), dialect, Parameters.none()))
    outputs = tuple(TableColumn(output.name, output.expression.type) for output in bound.outputs)
    tables[part.name] = Table(part.name, outputs, query=bound, part_of=of.root.name)
