"""Parse trees of scalar expressions into bound ones (paper §3.1). Does not know clauses or statements.

Aggregates become `Column`s with a negative index, -1 - i for aggregate i; `grouping` puts them in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.expressions import (
    aggregates,
    arrays,
    composites,
    conversions,
    free,
    functions,
    predicates,
    subqueries,
    windows,
)
from sql_semantics.frontend.expressions.invocations import bind_invocation
from sql_semantics.frontend.expressions.jsons import operators as json_operators
from sql_semantics.frontend.expressions.rows import row_items
from sql_semantics.frontend.expressions.windows import WindowScope
from sql_semantics.frontend.names.scope import Context, Scope, resolve
from sql_semantics.frontend.text.dialects import fold_column, fold_table, integer_booleans
from sql_semantics.frontend.text.syntax import Node, only, unsupported
from sql_semantics.frontend.types.arithmetic import arithmetic, negate
from sql_semantics.frontend.types.coerce import (
    as_value,
    cast,
    is_loose,
    mismatch,
    null,
    number_literal,
    refuse_unmodelled,
    settle,
    settle_alone,
    signed_literal,
    text_number,
    unify,
)
from sql_semantics.frontend.types.collation import jointly, with_collation
from sql_semantics.frontend.types.comparison import comparable
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Function,
)
from sql_semantics.ir.queries import Aggregate
from sql_semantics.records import dataclass, field
from sql_semantics.values.types import (
    BOOLEAN,
    INT,
    NUMBER_KINDS,
    TEXT,
    UNMODELLED_KINDS,
    Kind,
    SqlType,
)


@dataclass(slots=True)
class Binder:
    """Binds the expressions of one clause. `aggregates` is None where none may stand; `aliases` are names of the
    select list that this clause may use, after columns. `windows` is None where no window function may stand.
    """

    context: Context
    scope: Scope
    clause: str
    aggregates: list[Aggregate] | None = None
    aliases: Mapping[str, Expr] = field(default_factory=dict)
    inside_aggregate: bool = False
    windows: WindowScope | None = None

    def inside_window(self) -> Binder:
        """A binder for what stands inside a window function: aggregates of the group, no other window function."""
        return Binder(self.context, self.scope, "a window function", self.aggregates, self.aliases)

    def within(self, clause: str) -> Binder:
        """A binder for what stands inside an aggregate: no other aggregate."""
        return Binder(self.context, self.scope, clause, [], self.aliases, True)

    def expr(self, node: Node) -> Expr:
        """The bound expression, possibly loose, possibly BOOLEAN in MySQL. Raises Unsupported for a value that is not
        modelled: see `shown`."""
        bound = self.shown(node)
        if bound.type.kind in UNMODELLED_KINDS:
            refuse_unmodelled((bound.type,))
        return bound

    def shown(self, node: Node) -> Expr:
        """As `expr`, where a value is shown, stored or tested for NULL and nothing else: it may be of a type that is
        not modelled."""
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return with_collation(handler(self, node), self.context.dialect)
        if isinstance(node, (exp.Any, exp.All)):
            raise Unsupported(f"operator {node.key.upper()} in {self.clause}")
        raise unsupported(node)

    def value(self, node: Node) -> Expr:
        """The bound expression where a value is wanted: MySQL's truth values become numbers."""
        return as_value(self.expr(node), self.context)

    def typed(self, node: Node) -> Expr:
        """As `value`, and no longer loose."""
        return settle_alone(self.value(node), self.context)

    def condition(self, node: Node) -> Expr:
        """The bound expression as a truth value. Raises SqlError 42804 for what is none in PostgreSQL."""
        return self.truth(self.expr(node))

    def truth(self, bound: Expr) -> Expr:
        """A bound expression as a truth value."""
        if is_loose(bound) and integer_booleans(self.context.dialect):
            bound = Const(None, BOOLEAN) if bound == null() else settle_alone(bound, self.context)
        bound = settle(bound, BOOLEAN, self.context)
        if bound.type.kind is Kind.BOOLEAN:
            return bound
        truths = self.context.dialect.rules.expressions.truths
        if bound.type.kind is Kind.TEXT and truths == "numbers":
            bound = text_number(bound)
        if bound.type.kind is Kind.TEXT and truths == "casts":
            return Cast(bound, BOOLEAN)
        if bound.type.kind in NUMBER_KINDS and truths != "booleans":
            if isinstance(bound, Const):
                return Const(None if bound.value is None else bool(bound.value), BOOLEAN)
            return Binary("<>", bound, cast(Const(0, INT), bound.type), BOOLEAN)
        message = f"argument of {self.clause} must be type boolean, not type {bound.type}"
        raise mismatch(message, self.context.dialect, "42804")


def _literal(binder: Binder, node: Node) -> Expr:
    only(node, "this", "is_string")
    if node.args["is_string"]:
        texts = binder.context.dialect.rules.text.literals_are_texts
        return Const(str(node.this), TEXT if texts else SqlType(Kind.NULL))
    return number_literal(str(node.this), binder.context.dialect)


def _raw_string(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    return Const(str(node.this), SqlType(Kind.NULL))


def _boolean(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    truth = bool(node.this)
    return Const(int(truth), INT) if integer_booleans(binder.context.dialect) else Const(truth, BOOLEAN)


def _null(binder: Binder, node: Node) -> Expr:
    only(node)
    return null()


def _paren(binder: Binder, node: Node) -> Expr:
    only(node, "this", "sign")
    bound = binder.expr(node.this)
    return bound if node.args.get("sign") is None else _plus(bound, binder.context)


def _plus(operand: Expr, context: Context) -> Expr:
    """A unary plus: every product has it for numbers, and some for anything."""
    operand, rules = as_value(operand, context), context.dialect.rules
    if operand.type.kind not in NUMBER_KINDS and not (operand == null() and rules.expressions.plus_takes_null):
        raise Unsupported(f"unary plus of {operand.type}")
    if rules.types.values_have_classes and isinstance(operand, Column):
        return Function("coalesce", (operand,), operand.type)  # a column's affinity does not reach through it
    return operand


def _placeholder(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    return binder.context.parameters.mention(str(node.this or "?"), binder.context.dialect)


def _at_name(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    name = node.this.name if isinstance(node.this, Node) else str(node.this)
    if binder.context.dialect.rules.expressions.at_is_operator and not binder.context.in_procedure:
        raise Unsupported("operator @")
    variable = binder.context.variables.get(name.lower())
    if variable is None:
        raise Unsupported(f"user variable @{name}")
    return variable


def _column(binder: Binder, node: Node) -> Expr:
    only(node, "this", "table")
    if not isinstance(node.this, exp.Identifier):
        raise unsupported(node.this)
    dialect = binder.context.dialect
    name = fold_column(node.this, dialect)
    if not node.this.args.get("quoted"):
        if name == "default":
            raise Unsupported(f"DEFAULT in {binder.clause}")
        niladic = dialect.rules.expressions.niladic_functions
        if not all(letter.isalnum() or letter in "_$" for letter in name) or name in niladic:
            raise Unsupported(f"the name {name} without quotes")
    table = node.args.get("table")
    if table is not None:
        return resolve(binder.scope, name, fold_table(table, dialect), binder.context)
    if name in binder.aliases and name not in binder.context.variables and not binder.scope.unqualified(name):
        return binder.aliases[name]
    return resolve(binder.scope, name, None, binder.context)


_ARITHMETIC: Mapping[type[Node], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
}  # fmt: skip


def _arithmetic(binder: Binder, node: Node) -> Expr:
    # `typed` and `safe` restate the dialect's division, which the operands' types decide here.
    only(node, "this", "expression", "typed", "safe")
    op = _ARITHMETIC[type(node)]
    rules = binder.context.dialect.rules.expressions
    if op == "div" and not rules.has_integer_division:
        raise Unsupported("integer division operator")
    if rules.interval_is_syntax and any(isinstance(item, exp.Interval) for item in node.args.values()):
        return functions.shifted_date(binder, node)
    left, right = binder.expr(node.this), binder.expr(node.expression)
    if op == "-" and left.type.kind is Kind.JSONB:
        return json_operators.removed(left, right)
    return arithmetic(op, left, right, binder.context)


def _negate(binder: Binder, node: Node) -> Expr:
    only(node, "this")
    negated = negate(binder.expr(node.this), binder.context)
    inner = node.this
    while isinstance(inner, (exp.Paren, exp.Neg)):
        inner = inner.this
    if isinstance(inner, exp.Literal) and isinstance(negated, Const) and negated.type.kind is not Kind.DOUBLE:
        # PostgreSQL types a number after its sign: -2147483648 is an int though 2147483648 is a bigint.
        return signed_literal(negated, binder.context.dialect)
    return negated


def _case(binder: Binder, node: Node) -> Expr:
    only(node, "this", "ifs", "default")
    subject = node.args.get("this")
    if isinstance(subject, (exp.Literal, exp.Null)) and is_loose(binder.expr(subject)):
        # PostgreSQL 10.5: an untyped subject is a text, whatever it is compared with
        if not binder.context.dialect.rules.expressions.case_of_literals:
            raise Unsupported("CASE of an untyped literal")
        subject = exp.Cast(this=subject, to=exp.DataType.build("text", dialect="postgres"))
    conditions: list[Expr] = []
    given: list[Expr] = []
    compared: list[Expr] = []
    results: list[Node] = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        if subject is None:
            conditions.append(binder.condition(branch.this))
        else:
            one, other = binder.expr(subject), binder.expr(branch.this)
            given += (one, other)
            compared += comparable(one, other, binder.context, "=")
        results.append(branch.args["true"])
    compared = jointly(given, compared, binder.context)
    pairs = zip(compared[::2], compared[1::2], strict=True)
    conditions += [Binary("=", left, right, BOOLEAN) for left, right in pairs]
    default = node.args.get("default")
    return case(binder, conditions, [binder.expr(item) for item in results],
                null() if default is None else binder.expr(default))  # fmt: skip


def case(binder: Binder, conditions: list[Expr], results: list[Expr], default: Expr) -> Expr:
    """A searched CASE with its branches converted to their common type."""
    values, target = unify([default, *results], binder.context, "CASE")
    return Case(tuple(zip(conditions, values[1:], strict=True)), values[0], target)


def _if(binder: Binder, node: Node) -> Expr:
    only(node, "this", "true", "false")
    otherwise = node.args.get("false")
    return case(binder, [binder.condition(node.this)], [binder.expr(node.args["true"])],
                null() if otherwise is None else binder.expr(otherwise))  # fmt: skip


def _anonymous(binder: Binder, node: Node) -> Expr:
    if aggregates.is_aggregate(node, binder):
        return aggregates.aggregate(binder, node)
    if row_items(node) is not None:
        return composites.bind_row(binder, node)
    found = bind_invocation(binder, node) or free.bind_named(binder, node)
    return functions.by_name(binder, node) if found is None else found


Handler = Callable[[Binder, Node], Expr]
_HANDLERS: Mapping[type[Node], Handler] = {
    exp.Literal: _literal,
    exp.RawString: _raw_string,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Placeholder: _placeholder,
    exp.Parameter: _at_name,
    exp.Column: _column,
    exp.Neg: _negate,
    exp.Case: _case,
    exp.If: _if,
    **conversions.HANDLERS,
    **arrays.HANDLERS,
    **composites.HANDLERS,
    **json_operators.HANDLERS,
    exp.Anonymous: _anonymous,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **aggregates.HANDLERS,
    **windows.HANDLERS,
    **predicates.HANDLERS,
    **subqueries.HANDLERS,
    **functions.HANDLERS,
    **free.HANDLERS,
}
