"""Expressions over guarded cases (paper Definition 5.2). Does not know views.

Where every input is concrete the concrete compiled function runs. Where one input has cases, that function runs once
per case. Otherwise the expression is evaluated node by node, each node's own concrete function lifted over the cases
of its operands, and equal results merged early; unknown terms take the operators of `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.lifting import attempt, combinations, is_failure, lifted, unknown_operand
from sql_semantics.guarded.native import terms
from sql_semantics.guarded.native.predicates import (
    NO,
    YES,
    Predicate,
    both,
    either,
    negation,
    of_scalar,
    to_predicate,
    to_scalar,
    where,
)
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Expr,
    Function,
    InList,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Subquery,
    Unary,
    Variable,
)
from sql_semantics.ir.walks.traverse import children, conjuncts, disjuncts, walk
from sql_semantics.run.expressions.expressions import compile_expression
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, Term, choose, conj, disj, items_of, neg
from sql_semantics.terms.scalars import CASE_BOUND
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, Value

Row = Sequence[Scalar]
Arguments = Sequence[Value] | Mapping[str, Value]
Frame = Sequence[Scalar]
Evaluate = Callable[[Row, Arguments, Frame], Scalar]
Test = Callable[[Row, Arguments, Frame], Predicate]
Symbolic = Callable[[Row, Arguments, Frame], Scalar | Predicate]

DIRECT = 16
"""Combinations of cases up to which the whole expression is evaluated at once for each of them."""

SINGLE = CASE_BOUND
"""The same bound where one input alone has cases."""

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "is_distinct", "is_not_distinct"})


def compile_scalar(expr: Expr, dialect: Dialect, *, may: bool = False) -> Evaluate:
    """f(row, args, frame) -> scalar, whose leaves may be failures. Raises Unsupported, also when it runs."""
    symbolic = compile_symbolic(expr, dialect, may)
    return lambda row, args, frame: to_scalar(symbolic(row, args, frame))


def compile_test(expr: Expr, dialect: Dialect, *, may: bool = False) -> Test:
    """f(row, args, frame) -> predicate. Raises Unsupported, also when it runs."""
    symbolic = compile_symbolic(expr, dialect, may)
    return lambda row, args, frame: to_predicate(symbolic(row, args, frame))


def compile_symbolic(expr: Expr, dialect: Dialect, may: bool) -> Symbolic:
    """f(row, args, frame) -> scalar, or predicate where that is the natural form."""
    match expr:
        case Column(index, type_) if not type_.padded:
            return lambda row, args, frame: row[index]
        case Variable(slot):
            return lambda row, args, frame: frame[slot]
    parts = list(walk(expr))
    if any(isinstance(part, Invoke) for part in parts):
        raise Unsupported("a function call on symbolic rows")
    if any(isinstance(part, Outer | Subquery) for part in parts):
        return _embedding(expr, dialect, may)
    concrete = compile_expression(expr, dialect, may=may)
    columns = sorted({part.index for part in parts if isinstance(part, Column)})
    slots = sorted({part.slot for part in parts if isinstance(part, Variable)})
    connective = isinstance(expr, Binary) and expr.op in ("and", "or")
    compiled: list[Symbolic] = []

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar | Predicate:
        cased: list[tuple[bool, int, Scalar]] = []
        count = 1
        for index in columns:
            scalar = row[index]
            if isinstance(scalar, Cases | Term):
                cased.append((True, index, scalar))
                count *= _directly(scalar)
        for slot in slots:
            scalar = frame[slot]
            if isinstance(scalar, Cases | Term):
                cased.append((False, slot, scalar))
                count *= _directly(scalar)
        if not cased:
            return cast(Scalar, attempt(concrete, row, args, frame))
        if count <= (SINGLE if len(cased) == 1 else 1 if connective else DIRECT):
            return _case_by_case(concrete, cased, row, args, frame)
        if not compiled:
            compiled.append(_node(expr, dialect, may))
        return compiled[0](row, args, frame)

    return evaluate


def _embedding(expr: Expr, dialect: Dialect, may: bool) -> Symbolic:
    """An expression with outer values or subqueries in it, node by node: these have no concrete function."""
    from sql_semantics.guarded.native.subquery import compile_embedded  # compiling a query compiles expressions

    return compile_embedded(expr, dialect) or _node(expr, dialect, may)


def _directly(scalar: Scalar) -> int:
    """The number of cases; beyond every bound where a term is among them."""
    items = items_of(scalar)
    return CASE_BOUND + 1 if any(isinstance(leaf, Term) for _, leaf in items) else len(items)


def _case_by_case(
    concrete: Callable[..., Any],
    cased: list[tuple[bool, int, Scalar]],
    row: Row,
    args: Arguments,
    frame: Frame,
) -> Scalar:
    values, variables = list(row), list(frame)
    results: list[tuple[Guard, Scalar]] = []
    for guard, leaves in combinations("an expression", [scalar for _, _, scalar in cased]):
        for (of_row, index, _), leaf in zip(cased, leaves, strict=True):
            (values if of_row else variables)[index] = leaf
        results.append((guard, attempt(concrete, values, args, variables)))
    return choose(results)


def _node(expr: Expr, dialect: Dialect, may: bool) -> Symbolic:
    """The top operator over its lifted operands."""
    match expr:
        case Binary("and" | "or"):
            return _connective(expr, dialect)
        case Unary("not", operand):
            test = compile_test(operand, dialect, may=may)
            return lambda row, args, frame: negation(test(row, args, frame))
        case IsTruth():
            return _is_truth(expr, dialect, may)
        case InList():
            return _in_list(expr, dialect, may)
        case Case(whens, otherwise):
            return _case(whens, otherwise, dialect, may)
        case Function("if", (condition, first, second)):
            return _case(((condition, first),), second, dialect, may)
        case Function("coalesce" | "ifnull", arguments):
            return _coalesce([compile_scalar(argument, dialect, may=may) for argument in arguments])
        case Column():
            raise unknown_operand("a CHAR value")
    return _lifted_node(expr, dialect, may)


def _connective(expr: Expr, dialect: Dialect) -> Symbolic:
    """AND or OR, left to right; errors of operands are `may`, as the order is the DBMS's to choose."""
    conjunction = isinstance(expr, Binary) and expr.op == "and"
    operands = conjuncts(expr) if conjunction else disjuncts(expr)
    tests = [compile_test(operand, dialect, may=True) for operand in operands]
    join, start = (both, YES) if conjunction else (either, NO)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Predicate:
        result = start
        for test in tests:
            result = join(result, test(row, args, frame))
            if (result.false if conjunction else result.true) is TRUE:
                break
        return result

    return evaluate


def _is_truth(expr: IsTruth, dialect: Dialect, may: bool) -> Symbolic:
    test = compile_test(expr.operand, dialect, may=may)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Predicate:
        tested = test(row, args, frame)
        holds, fails = (tested.true, tested.false) if expr.truth else (tested.false, tested.true)
        result = Predicate(holds, disj(fails, tested.null), FALSE, tested.failures)
        return negation(result) if expr.negated else result

    return evaluate


def _in_list(expr: InList, dialect: Dialect, may: bool) -> Symbolic:
    """One look into the list per case of the operand; for terms and computed items a chain of OR."""
    test: Expr = Binary("=", expr.operand, expr.items[0], BOOLEAN)
    for item in expr.items[1:]:
        test = Binary("or", test, Binary("=", expr.operand, item, BOOLEAN), BOOLEAN)
    chain = compile_symbolic(Unary("not", test, BOOLEAN) if expr.negated else test, dialect, may)
    if any(_reads(item) for item in expr.items):
        return chain
    operand = compile_scalar(expr.operand, dialect, may=may)
    member = _lifted_node(expr, dialect, may)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar | Predicate:
        scalar = operand(row, args, frame)
        if any(isinstance(leaf, Term) for _, leaf in items_of(scalar)):
            return chain(row, args, frame)
        return member(row, args, frame)

    return evaluate


def _case(whens: Sequence[tuple[Expr, Expr]], otherwise: Expr, dialect: Dialect, may: bool) -> Symbolic:
    tests = [compile_test(when, dialect, may=may) for when, _ in whens]
    results = [compile_scalar(result, dialect, may=may) for _, result in whens]
    last = compile_scalar(otherwise, dialect, may=may)

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar:
        remaining = TRUE
        items: list[tuple[Guard, Any]] = []
        for test, result in zip(tests, results, strict=True):
            tested = test(row, args, frame)
            items += where(remaining, tested.failures)
            taken = conj(remaining, tested.true)
            if taken is not FALSE:
                items.append((taken, result(row, args, frame)))
            remaining = conj(remaining, neg(tested.true))
            if remaining is FALSE:
                break
        if remaining is not FALSE:
            items.append((remaining, last(row, args, frame)))
        return choose(cast("list[tuple[Guard, Scalar]]", items))

    return evaluate


def _coalesce(arguments: list[Evaluate]) -> Symbolic:
    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar:
        remaining = TRUE
        items: list[tuple[Guard, Scalar]] = []
        for argument in arguments:
            absent: list[Guard] = []
            for guard, leaf in items_of(argument(row, args, frame)):
                if leaf is None:
                    absent.append(guard)
                else:
                    items.append((conj(remaining, guard), leaf))
            remaining = conj(remaining, disj(*absent))
            if remaining is FALSE:
                break
        items.append((remaining, None))
        return choose(items)

    return evaluate


def _lifted_node(expr: Expr, dialect: Dialect, may: bool) -> Symbolic:
    """A strict operator: its concrete function with the operands replaced by placeholders, lifted over their cases."""
    hollow, operands = _hollow(expr)
    concrete = compile_expression(hollow, dialect, may=may)
    evaluate_operands = [compile_scalar(operand, dialect, may=may) for operand in operands]
    symbolic = _on_terms(expr, dialect, may)
    if symbolic is not None:
        symbolic = _with_constants(symbolic, expr, dialect)
    what = _name(expr)
    strict = 0
    if isinstance(expr, Function) and expr.name in ("nullif", "concat") and _reads(expr.arguments[0]):
        skips = dialect.rules.values.concat_skips_nulls
        strict = 1 if expr.name == "nullif" else 0 if skips else len(operands)
    boolean = expr.type == BOOLEAN

    def evaluate(row: Row, args: Arguments, frame: Frame) -> Scalar | Predicate:
        scalars = [operand(row, args, frame) for operand in evaluate_operands]

        def call(*leaves: Any) -> Any:
            return concrete(leaves, args, ())  # type: ignore[arg-type]

        on_terms = None if symbolic is None else lambda *leaves: symbolic(leaves, args)
        result = lifted(what, call, on_terms, scalars, strict)
        return of_scalar(result) if boolean else result

    return evaluate


def _with_constants(symbolic: Callable[..., Scalar], expr: Expr, dialect: Dialect) -> Callable[..., Scalar]:
    """The operator on terms, its closed operands (literals, parameters) filled in between the leaves."""
    closed = {
        position: compile_expression(child, dialect)
        for position, child in enumerate(children(expr))
        if not _reads(child)
    }
    count = len(children(expr))

    def apply(leaves: Sequence[Any], args: Arguments) -> Scalar:
        pending = iter(leaves)
        operands = [
            attempt(closed[position], (), args, []) if position in closed else next(pending)
            for position in range(count)
        ]
        for operand in operands:
            if is_failure(operand):
                return cast(Scalar, operand)
        return symbolic(*operands)

    return apply


def _on_terms(expr: Expr, dialect: Dialect, may: bool) -> Callable[..., Scalar] | None:
    match expr:
        case Unary("-", _, type_):
            return terms.arithmetic("negate", type_, dialect, may)
        case Unary("+"):
            return lambda leaf: leaf
        case Binary(op, left, right) if op in _COMPARISONS:
            return terms.comparison(op, left.type, right.type, dialect)
        case Binary(op, _, _, type_):
            return terms.arithmetic(op, type_, dialect, may)
        case IsNull(_, negated):
            return lambda leaf: negated if terms.not_null(leaf) else not negated
        case Cast(operand, type_, assignment):
            if isinstance(operand, Column | Variable | Cast) and operand.type == type_:
                return lambda leaf: leaf
            return terms.conversion(operand.type, type_, assignment, dialect, may)
        case Function("greatest" | "least" as name, _, type_):
            return terms.extreme(name, type_, dialect)
    return None


def _reads(expr: Expr) -> bool:
    """Whether it reads a column or a variable at all: only these may have cases."""
    return any(isinstance(part, Column | Variable | Outer | Subquery) for part in walk(expr))


def _hollow(expr: Expr) -> tuple[Expr, list[Expr]]:
    """The node with every operand that reads something replaced by a placeholder column, and these operands.

    Literals and parameters stay, because the concrete compiler treats them by rules of their own (CHAR padding).
    """
    operands: list[Expr] = []

    def place(child: Expr) -> Expr:
        if not _reads(child):
            return child
        column = Column(len(operands), child.type, f"operand {len(operands)}")
        operands.append(child)
        return column if isinstance(child, Column | Variable | Cast) else Unary("+", column, child.type)

    match expr:
        case Unary(_, operand) | IsNull(operand) | Cast(operand):
            return replace(expr, operand=place(operand)), operands
        case Binary(_, left, right):
            return replace(expr, left=place(left), right=place(right)), operands
        case Like(operand, pattern):
            return replace(expr, operand=place(operand), pattern=place(pattern)), operands
        case InList(operand, items):
            return replace(expr, operand=place(operand), items=tuple(map(place, items))), operands
        case Function(_, arguments):
            return replace(expr, arguments=tuple(map(place, arguments))), operands
    raise AssertionError(f"{type(expr).__name__} is not lifted operand by operand")


def _name(expr: Expr) -> str:
    match expr:
        case Unary(op) | Binary(op):
            return f"the operator {op}"
        case Function(name):
            return f"the function {name}"
        case Cast(_, type_):
            return f"the conversion to {type_}"
    return {IsNull: "IS NULL", Like: "LIKE", InList: "IN"}[type(expr)]
