"""The conflict clauses of INSERT (PostgreSQL INSERT, MySQL 15.2.7.2, SQLite lang_upsert, DuckDB insert).

Which keys arbitrate is settled here, and what the clause's expressions see: the old row under the table's name, then
the row that was to be inserted, as EXCLUDED or by MySQL's VALUES(column) or row alias. Does not know which row is in
the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SqlError, Unreadable, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope, unknown_column
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.writes.assignments import bind_assignments
from sql_semantics.frontend.writes.views import WriteTarget
from sql_semantics.ir.expressions import Cast, Column, Const, Expr
from sql_semantics.ir.schema import Table
from sql_semantics.ir.statements import Conflict
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import conjuncts
from sql_semantics.values.types import TEXT, Kind

_PROPOSED = "values()"
"""The name under which VALUES(column) finds the row to insert; no identifier can be that."""


def bind_conflict(
    node: Node, target: WriteTarget, context: Context, row_alias: Node | None, replace: bool
) -> Conflict | None:
    """What an INSERT says about taken keys; None for nothing. `row_alias`: MySQL's name of the row to insert.

    Through a view the clause sees the view's columns, of any row of the table (tried on PostgreSQL 18.4).
    """
    table, alias = target.table, target.alias
    clause = node.args.get("conflict")
    alternative = str(node.args.get("alternative") or "").upper()
    if node.args.get("ignore") or replace or alternative:
        if clause is not None:
            raise Unsupported("INSERT IGNORE, INSERT OR ... or REPLACE with a conflict clause")
        word = "IGNORE" if node.args.get("ignore") else alternative or "REPLACE"
        return _alternative(word, table, context, _listed(node, context))
    if row_alias is not None and clause is None:
        raise Unsupported("a row alias without ON DUPLICATE KEY UPDATE")
    if clause is None:
        return None
    only(clause, "duplicate", "expressions", "action", "conflict_keys", "constraint", "index_predicate", "where")
    rules = context.dialect.rules.writes
    if bool(clause.args.get("duplicate")) is not (rules.conflict_clause == "on duplicate key"):
        raise Unsupported(f"{'ON DUPLICATE KEY' if clause.args.get('duplicate') else 'ON CONFLICT'}"
                          f" in {context.dialect.name}")  # fmt: skip
    if clause.args.get("duplicate"):
        return _on_duplicate_key(node, clause, table, alias, context, row_alias)
    if clause.args.get("action") is None:
        raise Unreadable("ON CONFLICT without an action")
    action = str(clause.args["action"].this).upper()
    if target.shown is not None:
        _refuse_in_views(clause, table)
    keys = _arbiters(clause, table, alias, context)
    if action == "DO NOTHING":
        if clause.expressions or clause.args.get("where") is not None:
            raise Unsupported("DO NOTHING with SET or WHERE")
        return Conflict("nothing", keys)
    if keys is None:
        state = rules.untargeted_update_error
        if state is not None:
            raise SqlError(state, "ON CONFLICT DO UPDATE requires inference specification or constraint name")
        if not rules.untargeted_update_takes_any_key and len(table.keys) != 1:
            raise Unsupported(f"DO UPDATE without a conflict target in {context.dialect.name}")
    scope = target.scope(context)
    if alias == "excluded":
        raise Unsupported("a table named excluded")
    shown = target.shown
    if rules.hides_generated_columns:
        places = range(len(table.columns)) if shown is None else shown
        shown = tuple(place for place in places if table.columns[place].generated is None)
    scope.add("excluded", table, context.dialect, shown=shown)
    if not rules.excluded_is_ambiguous:
        scope.hide_last()
    binder = Binder(context, scope, "ON CONFLICT DO UPDATE")
    assignments = bind_assignments(clause.expressions, table, alias, binder)
    where: Expr | None = None
    if clause.args.get("where") is not None:
        only(clause.args["where"], "this")
        where = binder.condition(clause.args["where"].this)
    return Conflict("update", keys, assignments, where)


def _refuse_in_views(clause: Node, table: Table) -> None:
    """Raises Unsupported where keys are named otherwise than by columns: theirs have the table's names."""
    named = clause.args.get("constraint") is not None or clause.args.get("index_predicate") is not None
    if named or any(key.parts or key.where is not None for key in table.keys):
        raise Unsupported("ON CONFLICT of a key of expressions, or by name, in a write to a view")


def _listed(node: Node, context: Context) -> frozenset[str] | None:
    """The columns that an INSERT names; None where it names none."""
    if not isinstance(node.this, exp.Schema) or not node.this.expressions:
        return None
    return frozenset(fold_column(item, context.dialect) for item in node.this.expressions)


def _alternative(word: str, table: Table, context: Context, listed: frozenset[str] | None) -> Conflict | None:
    """INSERT IGNORE, REPLACE and SQLite's and DuckDB's INSERT OR ..."""
    short = context.dialect.rules.writes.insert_or_is_on_conflict
    if short and not table.keys:
        raise Unsupported(f"INSERT OR {word} into a table without a key")
    if word == "REPLACE":
        return _replace_by_update(table, listed) if short else Conflict("replace")
    if word == "IGNORE":
        return Conflict("nothing", ignore=not short)
    if word != "ABORT" or short:
        raise Unsupported(f"INSERT OR {word}")
    return None


def _arbiters(clause: Node, table: Table, alias: str, context: Context) -> tuple[int, ...] | None:
    """The keys that a conflict target names; None for all."""
    dialect = context.dialect
    constraint = clause.args.get("constraint")
    if constraint is not None:
        if not dialect.rules.writes.conflict_constraints:
            raise Unsupported(f"ON CONFLICT ON CONSTRAINT in {dialect.name}")
        name = fold_column(constraint, dialect)
        named = tuple(place for place, key in enumerate(table.keys) if key.constraint and key.name == name)
        if not named:
            raise SqlError("42704", f"constraint {name!r} for table {table.name!r} does not exist")
        return named
    items = clause.args.get("conflict_keys") or []
    if not items:
        return None
    scope = Scope()
    scope.add(alias, table, dialect)
    binder = Binder(context, scope, "ON CONFLICT")
    predicate: Expr | None = None
    if clause.args.get("index_predicate") is not None:
        only(clause.args["index_predicate"], "this")
        predicate = binder.condition(clause.args["index_predicate"].this)
    columns: set[int] = set()
    parts: set[Expr] = set()
    for item in items:
        inner = item
        if isinstance(item, exp.Ordered):
            only(item, "this", "nulls_first")
            inner = item.this
        if isinstance(inner, exp.Identifier):
            inner = exp.Column(this=inner)
        if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Identifier):
            only(inner, "this")
            name = fold_column(inner.this, dialect)
            try:
                position = table.position(name)
            except KeyError:
                raise unknown_column(name, dialect) from None
            if dialect.rules.writes.hides_generated_columns and table.columns[position].generated is not None:
                raise SqlError("42000", "a generated column cannot be a conflict target")
            columns.add(position)
        else:
            parts.add(binder.typed(inner))
    found = []
    for place, key in enumerate(table.keys):
        if key.parts:
            if set(map(_plain, key.parts)) != set(map(_plain, parts | _columns_as_parts(table, columns))):
                continue
        elif parts or set(key.columns) != columns:
            continue
        if key.where is not None and not _implies(predicate, key.where):
            if predicate is not None:
                raise Unsupported("ON CONFLICT with another predicate than the index has")
            continue
        found.append(place)
    if not found and parts and any(key.parts for key in table.keys):
        raise Unsupported("ON CONFLICT with another expression than the index has")
    if not found:
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        state = dialect.rules.writes.no_arbiter_error
        raise Unsupported(message) if state is None else SqlError(state, message)
    return tuple(found)


def _implies(predicate: Expr | None, where: Expr) -> bool:
    """Whether a predicate says, among other things, what the index's does (PostgreSQL's predicate_implied_by knows
    more ways)."""
    if predicate is None:
        return False
    return {_plain(part) for part in conjuncts(where)} <= {_plain(part) for part in conjuncts(predicate)}


def _plain(expr: Expr) -> Expr:
    """Without the casts of a text to `text` that the product writes into what it stores of a definition."""
    if isinstance(expr, Cast) and expr.type == TEXT and not expr.assignment:
        operand = _plain(expr.operand)
        if operand.type.kind is Kind.TEXT and not operand.type.padded:
            return operand
    if isinstance(expr, Const) and expr.type.kind is Kind.TEXT and not expr.type.padded:
        return Const(expr.value, TEXT)
    return rebuild(expr, _plain)


def _columns_as_parts(table: Table, columns: set[int]) -> set[Expr]:
    return {Column(place, table.columns[place].type, table.columns[place].name) for place in columns}


def _replace_by_update(table: Table, listed: frozenset[str] | None) -> Conflict:
    """DuckDB's INSERT OR REPLACE is ON CONFLICT DO UPDATE of every column that the INSERT names."""
    if len(table.keys) != 1:
        raise Unsupported("INSERT OR REPLACE into a table without exactly one key in duckdb")
    width = len(table.columns)
    return Conflict(
        "update",
        None,
        tuple(
            (place, Column(width + place, item.type, item.name))
            for place, item in enumerate(table.columns)
            if item.generated is None and (listed is None or item.name in listed)
        ),
    )


def _on_duplicate_key(
    node: Node, clause: Node, table: Table, alias: str, context: Context, row_alias: Node | None
) -> Conflict:
    if clause.args.get("where") is not None or clause.args.get("conflict_keys"):
        raise Unsupported("ON DUPLICATE KEY UPDATE with WHERE")
    if not isinstance(node.args.get("expression"), exp.Values):
        _refuse_query_columns(clause.expressions, table, alias, context)
    scope = Scope()
    scope.add(alias, table, context.dialect)
    scope.add(_PROPOSED, table, context.dialect)
    scope.hide_last()
    items = [item.transform(lambda part: _proposed(part, row_alias, context)) for item in clause.expressions]
    assignments = bind_assignments(items, table, alias, Binder(context, scope, "ON DUPLICATE KEY UPDATE"))
    return Conflict("update", None, assignments, sequential=True)


def _proposed(part: Node, row_alias: Node | None, context: Context) -> Node:
    """VALUES(column) and alias.column as columns of the row to insert."""
    column: Node | None = None
    if isinstance(part, exp.Anonymous) and str(part.this).upper() == "VALUES":
        only(part, "this", "expressions")
        if part.find_ancestor(exp.Query) is not None:
            raise Unsupported("VALUES() in a subquery")  # MariaDB takes it for a list of rows
        if len(part.expressions) != 1:
            raise Unsupported("VALUES() of something else than a column")
        column = part.expressions[0]
        if isinstance(column, exp.Column):
            only(column, "this")
            column = column.this
        if not isinstance(column, exp.Identifier):
            raise Unsupported("VALUES() of something else than a column")
    elif (
        row_alias is not None
        and isinstance(part, exp.Column)
        and part.args.get("table") is not None
        and fold_table(part.args["table"], context.dialect) == fold_table(row_alias.this, context.dialect)
    ):
        column = part.this
    if column is None:
        return part
    return exp.Column(this=column.copy(), table=exp.to_identifier(_PROPOSED, quoted=True))


def _refuse_query_columns(items: Sequence[Node], table: Table, alias: str, context: Context) -> None:
    """After INSERT ... SELECT the assignments also see the query's tables (MySQL 15.2.7.2)."""
    for item in items:
        for column in item.find_all(exp.Column):
            if column is item.this:
                continue
            qualifier = column.args.get("table")
            if not isinstance(column.this, exp.Identifier):
                raise unsupported(column.this)
            known = any(fold_column(column.this, context.dialect) == own.name for own in table.columns)
            if not known or (qualifier is not None and fold_table(qualifier, context.dialect) != alias):
                raise Unsupported("ON DUPLICATE KEY UPDATE that reads the query's tables")
            if qualifier is None:
                raise Unsupported("an unqualified column in ON DUPLICATE KEY UPDATE after a query")
