"""What the binders of SQL/PSM and PL/pgSQL share: slots, scopes, expressions and conversions (paper Fig. 2).

Each declared variable gets a slot of its own in the routine's frame, so that inner blocks shadow outer ones without
any care at run time. Does not know either language's statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, Unsupported
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.routines.skeleton import Piece
from sql_semantics.frontend.text.dialects import sql_type
from sql_semantics.frontend.text.syntax import Node, only, parse_one
from sql_semantics.frontend.types.coerce import assign
from sql_semantics.ir.expressions import Column, Expr, Variable
from sql_semantics.ir.programs import Conditions, Raise
from sql_semantics.ir.queries import OutputColumn, Query, Select
from sql_semantics.ir.statements import Statement, Together, Truncate, Write
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import NULL, SqlType

DEPTH = 12
"""Blocks and loops inside each other; CPython allows 20 in one function."""


@dataclass(slots=True)
class Frame:
    """The slots of one routine and the labels given so far; `own` is the slot of `Invoke.within`, once asked for."""

    types: list[SqlType] = field(default_factory=list)
    labels: int = 0
    own: int | None = None

    def slot(self, name: str, kind: SqlType) -> Variable:
        """A new slot."""
        self.types.append(kind)
        return Variable(len(self.types) - 1, kind, name)

    def label(self) -> int:
        """A new label."""
        self.labels += 1
        return self.labels

    def invocation(self) -> int:
        """The slot that holds the invocation."""
        if self.own is None:
            self.own = self.slot("", NULL).slot
        return self.own


@dataclass(slots=True)
class Cursor:
    """A declared cursor: its slot; the query that it is bound to, and that query's parameters."""

    slot: int
    query: Query | None = None
    parameters: tuple[Variable, ...] = ()


@dataclass(slots=True, eq=False)
class Record:
    """A variable of several fields, equal to itself alone: the `shapes` that queries give a RECORD, each with slots of
    its own; `fixed` for a row of a table or of a composite type, which has one, and is its `type` where modelled."""

    name: str
    shapes: list[tuple[Variable, ...]] = field(default_factory=list)
    fixed: bool = False
    type: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """What the names mean in a block. `labels` are (number, is a loop); `loop`: inside of one."""

    variables: Mapping[str, Variable] = field(default_factory=dict)
    cursors: Mapping[str, Cursor] = field(default_factory=dict)
    records: Mapping[str, Record] = field(default_factory=dict)
    conditions: Mapping[str, Conditions] = field(default_factory=dict)
    labels: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    qualified: Mapping[tuple[str, str], Variable] = field(default_factory=dict)
    loops: tuple[int, ...] = ()
    depth: int = 0
    in_handler: bool = False

    def with_variable(self, name: str, variable: Variable, *qualifiers: str) -> Names:
        """With one more variable, which hides whatever else had the name."""
        more = {(qualifier, name): variable for qualifier in qualifiers if qualifier}
        return replace(
            self,
            variables={**self.variables, name: variable},
            cursors={key: item for key, item in self.cursors.items() if key != name},
            records={key: item for key, item in self.records.items() if key != name},
            qualified={**{key: item for key, item in self.qualified.items() if key[0] != name}, **more},
        )

    def deeper(self, label: int, name: str | None, loop: bool) -> Names:
        """Inside a loop or block with this label. Raises Unsupported where that is too deep."""
        if self.depth >= DEPTH:
            raise Unsupported(f"more than {DEPTH} blocks and loops inside each other")
        labels = self.labels if name is None else {**self.labels, name: (label, loop)}
        loops = (*self.loops, label) if loop else self.loops
        return replace(self, labels=labels, loops=loops, depth=self.depth + 1)


def read_type(text: str, dialect: Dialect) -> SqlType:
    """A parameter's or variable's type, read as a column's."""
    tree = parse_one(f"CREATE TABLE t (c {text})", dialect.name)
    column = tree.this.expressions[0] if isinstance(tree.this, exp.Schema) and tree.this.expressions else None
    if not isinstance(column, exp.ColumnDef) or not isinstance(column.args.get("kind"), exp.DataType):
        raise Unsupported(f"type {text}")
    only(column, "this", "kind")
    return sql_type(column.args["kind"], dialect)


def expression_node(piece: Piece, context: Context) -> Node:
    """The parse tree of an expression that stands alone."""
    if not piece.tokens:
        raise SchemaError("an expression is missing in a routine")
    words = piece.words()
    queries = context.dialect.rules.definitions.routine_languages
    depths = [token[4] for token in piece.tokens]
    reads = any(a != "DISTINCT" and b == "FROM" and not d for a, b, d in zip(["", *words], words, depths, strict=False))
    text = f"(SELECT {piece.text})" if queries and reads else piece.text  # what is written is a query's end there
    tree = parse_one(f"SELECT {text}", context.dialect.name)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise Unsupported(f"expression {piece.text}")
    only(tree, "expressions")
    node: Node = tree.expressions[0]
    if isinstance(node, exp.Alias):
        raise SchemaError(f"expression {piece.text}")
    return node


def bind_value(piece: Piece, context: Context, clause: str) -> Expr:
    """An expression that stands alone, possibly loose."""
    return Binder(context, Scope(), clause).value(expression_node(piece, context))


def bind_condition(piece: Piece, context: Context, clause: str) -> Expr:
    """A condition that stands alone. Raises Unsupported for what is no truth value in PostgreSQL, where a procedure
    would convert it by its text."""
    binder = Binder(context, Scope(), clause)
    try:
        return binder.condition(expression_node(piece, context))
    except SqlError as error:
        if error.sqlstate == "42804":
            raise Unsupported(f"{clause} of a value that is not boolean") from error
        raise


def stored(expr: Expr, target: Variable, context: Context) -> Expr:
    """The expression converted to a variable's type. Raises Unsupported where PL/pgSQL would convert by text."""
    try:
        return assign(expr, target.type, context, target.name)
    except SqlError as error:
        if error.sqlstate == "42804":
            raise Unsupported(f"assignment of {expr.type} to {target.type}") from error
        raise


def query_outputs(statement: Statement) -> tuple[OutputColumn, ...] | None:
    """The columns that a statement returns; None for a statement that returns no rows."""
    if isinstance(statement, Together):
        statement = statement.main
    if isinstance(statement, Query):
        return statement.outputs
    if isinstance(statement, Truncate) or not isinstance(statement, Write):
        return None
    return statement.returning


def converted(columns: Sequence[OutputColumn], targets: Sequence[Variable], context: Context) -> tuple[Expr, ...]:
    """What each target gets of a row with these columns."""
    return tuple(
        stored(Column(place, column.expression.type, column.name), target, context)
        for place, (column, target) in enumerate(zip(columns, targets, strict=True))
    )


def late(bind: Callable[[], Sequence[Statement]]) -> tuple[Statement, ...]:
    """The statements, or one that raises what binding them raises: the DBMS looks names up when they run."""
    try:
        return tuple(bind())
    except SqlError as error:
        return (Raise(error.sqlstate, error.message),)


def same_shape(columns: Sequence[OutputColumn], fields: Sequence[Variable]) -> bool:
    """Whether a record that had one shape keeps it."""
    return [(column.name, column.expression.type) for column in columns] == [
        (variable.name, variable.type) for variable in fields
    ]


def single_row(query: Query) -> bool:
    """Whether a query has one row whatever the data: aggregates over everything, or no FROM."""
    return isinstance(query, Select) and query.grouping_sets is None and (query.groups == () or not query.sources)
