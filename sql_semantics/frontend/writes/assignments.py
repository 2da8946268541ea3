"""SET lists, column lists and defaults: what writes share (PostgreSQL UPDATE, MySQL 15.2.17). Does not know rows.

What is stored is converted to the column's exact type here (`Cast` with `assignment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, UnmodelledValue, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, key_column, unknown_column
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.writes.unmodelled import stored_value
from sql_semantics.ir.expressions import Binary, Case, Cast, Column, Const, Expr, Free, Function
from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.types import BOOLEAN, Kind


def default_of(column: TableColumn) -> Expr:
    """What a column gets when nothing is given for it."""
    return Const(None, column.type) if column.default is None else column.default


def given_default(column: TableColumn, context: Context, *, otherwise: str | None = None) -> Expr:
    """The default of a column that a statement leaves out, or asks for by DEFAULT. `otherwise`: in what form of
    statement MySQL's answer to a missing one is not modelled. Raises UnmodelledValue."""
    if column.unread and column.type.kind is not Kind.UNKNOWN:
        raise UnmodelledValue(column.unread, column.name)
    state = context.dialect.rules.writes.missing_default_error
    if column.default is None and column.refuses_null and column.generated is None and state is not None:
        if column.type.kind is Kind.OPAQUE:
            raise UnmodelledValue(str(column.type), column.name)  # an ENUM has its first label
        family = column.type.family
        if isinstance(family, EnumFamily) and otherwise is None:
            return Const(family.another(0), column.type)  # MySQL 11.6: its first label
        if otherwise is not None:
            raise Unsupported(f"{otherwise} that gives nothing for column {column.name}, which has no default")
        raise SqlError(state, f"field {column.name!r} doesn't have a default value")
    return default_of(column)


def is_default(node: Node) -> bool:
    """Whether the keyword DEFAULT stands there."""
    if isinstance(node, exp.Var):
        return str(node.this).upper() == "DEFAULT"
    return (
        isinstance(node, exp.Column)
        and isinstance(node.this, exp.Identifier)
        and not node.args.get("table")
        and not node.this.args.get("quoted")
        and str(node.this.this).upper() == "DEFAULT"
    )


def generated_value(node: Node, column: TableColumn, dialect: Dialect) -> Expr:
    """What a statement may give for a generated column: DEFAULT, if anything."""
    rules = dialect.rules.writes
    if is_default(node) and rules.default_is_value and not rules.hides_generated_columns:
        return Const(None, column.type)
    if rules.generated_value_error is not None:
        state, message = rules.generated_value_error
        raise SqlError(state, message.format(column.name))
    raise Unsupported(f"a value for generated column {column.name}")


def column_position(identifier: Node, table: Table, context: Context) -> int:
    """The place of a column that is written. Raises SqlError for an unknown one."""
    if not isinstance(identifier, exp.Identifier):
        raise unsupported(identifier, "a column list")
    name = fold_column(identifier, context.dialect)
    try:
        return table.position(name)
    except KeyError:
        key = key_column(table, name, context.dialect)
        if key is not None:
            return key
        raise unknown_column(name, context.dialect) from None


def bind_assignments(nodes: Sequence[Node], table: Table, alias: str, binder: Binder) -> tuple[tuple[int, Expr], ...]:
    """``SET column = value`` and ``SET (a, b) = (1, 2)``; `alias` is what may qualify a column (not in PostgreSQL)."""
    given = tuple(
        (place, bind_assigned(value, table.columns[place], binder))
        for place, value in column_assignments(nodes, table, alias, binder.context)
    )
    return (*_moments(given, table), *given)


ALIKE = "stored alike"
"""The function that tells whether two values of a column are one and the same, also where they only count as equal."""


def _moments(given: Sequence[tuple[int, Expr]], table: Table) -> Iterator[tuple[int, Expr]]:
    """What columns ON UPDATE get that are not set: the moment, where one of those that are set changes. It is assigned
    first, and sees the row as it was. Raises Unsupported where that is not what the others see."""
    assigned = {place for place, _ in given}
    for place, column in enumerate(table.columns):
        if column.on_update is None or place in assigned:
            continue
        kept: Expr = Const(True, BOOLEAN)
        for other, value in given:
            parts = list(walk_parts((value,)))
            read = {part.index for part in parts if isinstance(part, Column)}
            if read & ((assigned - {other}) | {place}) or any(isinstance(part, Free) for part in parts):
                raise Unsupported("an assignment that reads another one's column, beside a column ON UPDATE")
            before = Column(other, table.columns[other].type, table.columns[other].name)
            kept = Binary("and", kept, Function(ALIKE, (before, value), BOOLEAN), BOOLEAN)
        before = Column(place, column.type, column.name)
        yield place, Case(((kept, before),), Cast(column.on_update, column.type, True), column.type)


def column_assignments(nodes: Sequence[Node], table: Table, alias: str, context: Context) -> Iterator[tuple[int, Node]]:
    """(place of the column, value) of a SET list."""
    rules = context.dialect.rules.writes
    seen: set[int] = set()
    for target, value in _single_assignments(nodes, context.dialect):
        only(target, "this", "table")
        qualifier = target.args.get("table")
        if qualifier is not None:
            if rules.set_qualifier == "field":
                if any(column.name == fold_column(qualifier, context.dialect) for column in table.columns):
                    raise Unsupported("a field of a column in SET")
                raise SqlError("42703", f"column {qualifier.name!r} of relation {table.name!r} does not exist")
            if rules.set_qualifier == "none":
                raise Unsupported("a qualified column in SET")
            if fold_table(qualifier, context.dialect) != alias:
                raise unknown_column(f"{qualifier.name}.{target.name}", context.dialect)
        position = column_position(target.this, table, context)
        if position in seen:
            if rules.repeated_assignment_error is not None:
                raise SqlError(rules.repeated_assignment_error, f"multiple assignments to same column {target.name!r}")
            raise Unsupported(f"two assignments to column {target.name}")
        seen.add(position)
        if position in table.fixed:
            raise Unsupported("UPDATE of a column that tells the partition")
        yield position, value


def bind_assigned(value: Node, column: TableColumn, binder: Binder) -> Expr:
    """What one column is set to."""
    context = binder.context
    if column.generated is not None:
        return generated_value(value, column, context.dialect)
    if is_default(value):
        if not context.dialect.rules.writes.default_is_value:
            raise Unsupported(f"DEFAULT in SET in {context.dialect.name}")
        if column.identity in ("null", "zero"):
            raise Unsupported("DEFAULT of a numbered column in SET")
        return given_default(column, context, otherwise="SET")
    if column.identity == "always":
        raise SqlError("428C9", f"column {column.name!r} can only be updated to DEFAULT")
    return stored_value(value, column, binder)


def _single_assignments(nodes: Sequence[Node], dialect: Dialect) -> Iterator[tuple[Node, Node]]:
    """(column, value) of a SET list, row assignments taken apart."""
    rules = dialect.rules.writes
    for item in nodes:
        if not isinstance(item, exp.EQ):
            raise Unsupported("assignment of something else than a value to a column")
        only(item, "this", "expression")
        target, value = item.this, item.expression
        if isinstance(target, exp.Column):
            yield target, value
            continue
        if isinstance(target, exp.Paren) and rules.assigns_to_parenthesised:
            target = exp.Tuple(expressions=[target.this])
        if not isinstance(target, exp.Tuple) or not rules.assigns_rows:
            raise Unsupported("assignment of something else than a value to a column")
        only(target, "expressions")
        values = _row_values(value, dialect)
        if any(isinstance(part, exp.Star) or part.is_star for part in values):
            raise Unsupported("a row of all columns (table.*) in SET")
        if len(values) != len(target.expressions):
            if rules.row_assignment_error is not None:
                raise SqlError(rules.row_assignment_error, "number of columns does not match number of values")
            raise Unsupported("a row assignment of another width")
        for column, part in zip(target.expressions, values, strict=True):
            if not isinstance(column, exp.Column):
                raise unsupported(column, "SET")
            yield column, part


def _row_values(value: Node, dialect: Dialect) -> list[Node]:
    if isinstance(value, exp.Tuple):
        only(value, "expressions")
        return list(value.expressions)
    if isinstance(value, exp.Anonymous) and str(value.this).upper() == "ROW":
        only(value, "this", "expressions")
        return list(value.expressions)
    if isinstance(value, exp.Subquery) and dialect.rules.writes.assigns_rows_of_queries:
        only(value, "this")
        return _columns_of_query(value.this, dialect)
    raise Unsupported("a row assignment from something else than a list of values")


def _columns_of_query(query: Node, dialect: Dialect) -> list[Node]:
    """One scalar subquery per column: without DISTINCT and the like each has the rows of the whole."""
    if not isinstance(query, exp.Select) or query.args.get("distinct") or query.args.get("with_"):
        raise Unsupported("a row assignment from such a subquery")
    names = {item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias)}
    for clause in (query.args.get("order"), query.args.get("group"), query.args.get("having")):
        for item in () if clause is None else clause.find_all(exp.Literal, exp.Column):
            if isinstance(item, exp.Literal) or item.name.lower() in names:
                raise Unsupported("a row assignment from a subquery that refers to its own columns")
    if any(item.find(exp.Star) is not None and not item.find(exp.Count) for item in query.expressions):
        raise Unsupported("a row assignment from SELECT *")
    if any(item.find(exp.Window, exp.Query) is not None for item in query.expressions):
        raise Unsupported("a row assignment from a query with subqueries or window functions in its list")
    # an aggregate in one column makes one row of all: it has to stay one without that column
    keeps_one = dialect.rules.queries.having_without_groups == "one group"
    whole = query.args.get("group") is None and any(item.find(exp.AggFunc) for item in query.expressions)
    if whole and not keeps_one and not all(item.find(exp.AggFunc) for item in query.expressions):
        raise Unsupported("a row assignment from aggregates beside other values")
    found: list[Node] = []
    for place in range(len(query.expressions)):
        single = query.copy()
        single.set("expressions", [single.expressions[place]])
        if whole and single.args.get("having") is None and keeps_one:
            single.set("having", exp.Having(this=exp.true()))
        found.append(exp.Subquery(this=single))
    return found
