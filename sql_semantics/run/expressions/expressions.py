"""Bound expressions to generated Python source, one function per expression.

The generated function is f(row, args, frame): the environment row, the statement's parameters and the procedure's
variables (a `QueryFrame` where the statement holds subqueries, which carries the view and the rows around them). NULL
logic is inlined by conditional expressions and walrus temporaries; AND and OR go left to right and
stop at a deciding operand, and an error raised inside an operand of AND or OR (whose order the DBMS is free to
choose) is marked `may`. Does not know where rows come from, nor symbolic values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, cast

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Expr,
    Free,
    Function,
    InList,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Param,
    Subquery,
    Unary,
    Variable,
)
from sql_semantics.ir.walks.traverse import can_raise, columns_read, conjuncts, disjuncts
from sql_semantics.run.expressions.calls import (
    as_text,
    emit_cast,
    emit_function,
    emit_in_list,
    emit_like,
)
from sql_semantics.run.expressions.operators import arithmetic, comparison, negation
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.order import sort_key
from sql_semantics.values.text import (
    common_rule,
    equal_by_code_points,
    joined,
    text_rule,
)
from sql_semantics.values.types import (
    Kind,
    SqlType,
    Value,
)

Arguments = Sequence[Value] | Mapping[str, Value]
Row = tuple[Value, ...]
Frame = list[Value]
Evaluate = Callable[[Row, Arguments, Frame], Value]
EvaluateRow = Callable[[Row, Arguments, Frame], Row]
Predicate = Callable[[Row, Arguments, Frame], bool]

_DEPTH = 12
"""Nesting beyond which a subexpression becomes a function of its own (CPython's parser stops at 200 parentheses)."""


def _compiled(source: str, name: str, mode: str) -> CodeType:
    """Generated code. Raises Unsupported where it is nested more deeply than its own parser can follow, which says so
    in three ways, want of memory being one."""
    try:
        code: CodeType = compile(source, name, mode)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise Unsupported("an expression nested too deeply") from error
    return code


class Emitter:
    """Collects the names that generated source refers to, and turns expressions into source.

    `row` is the source text of the environment row. One emitter per generated function.
    """

    def __init__(self, dialect: Dialect, may: bool = False) -> None:
        self.dialect = dialect
        self.rule = text_rule(dialect)
        self.names: dict[str, Any] = {}
        # DuckDB's optimizer removes what it can prove unneeded, errors included.
        self.may = may or dialect.rules.running.elides_errors
        self.row = "row"
        # Where the environment row begins in the numbering of columns, for rows of one FROM item alone.
        self.offset = 0
        # Parameters that a loop reads: their source, and the local name that holds them and is not NULL there.
        self.hoisted: dict[str, str] | None = None
        self._temporaries = 0
        self._depth = 0

    def name(self, value: object) -> str:
        """A global name bound to `value` in the generated code."""
        name = f"_g{len(self.names)}"
        self.names[name] = value
        return name

    def temporary(self) -> str:
        """A fresh local name."""
        self._temporaries += 1
        return f"_t{self._temporaries}"

    def function(self, parameters: str, body: str) -> Callable[..., Any]:
        """``lambda parameters: body`` over the collected names."""
        code = _compiled(f"lambda {parameters}: {body}", "<sql expression>", "eval")
        return cast(Callable[..., Any], eval(code, self.names))

    def define(self, source: str, function: str) -> Callable[..., Any]:
        """Run a ``def`` over the collected names and return what it defines."""
        exec(_compiled(source, "<sql statement>", "exec"), self.names)
        return cast(Callable[..., Any], self.names[function])

    def apart(self, expr: Expr) -> Evaluate:
        """The expression as a function of its own over what the code being written has at hand."""
        return compile_expression(expr, self.dialect, may=self.may, offset=self.offset)

    # --- values -----------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> str:
        """Source that evaluates to the expression's value."""
        self._depth += 1
        try:
            if self._depth > _DEPTH and not isinstance(expr, (Const, Column, Param, Variable)):
                return f"{self.name(self.apart(expr))}({self.row}, args, frame)"
            return self._value(expr)
        finally:
            self._depth -= 1

    def _value(self, expr: Expr) -> str:
        match expr:
            case Const(value, type_):
                return self.constant(value, type_)
            case Column(index, type_):
                return self._stripped(f"{self.row}[{index - self.offset}]", type_)
            case Outer(depth, index, type_):
                return self._stripped(f"frame.rows[-{depth}][{index}]", type_)
            case Param(key, type_):
                source = f"args[{key!r}]"
                if self.hoisted is not None and not type_.padded:
                    return self.hoisted.setdefault(source, f"_p{len(self.hoisted)}")
                return self._stripped(source, type_)
            case Variable(slot):
                return f"frame[{slot}]"
            case Unary(op, operand, type_):
                return self._unary(op, operand, type_)
            case Binary(op, left, right, type_):
                return self._binary(expr, op, left, right, type_)
            case IsNull(operand, negated):
                return f"(({self.temporary()} := {self.value(operand)}) is {'not ' if negated else ''}None)"
            case IsTruth(operand, truth, negated):
                return f"({self.boolean(operand)} is {'not ' if negated else ''}{truth})"
            case InList():
                return emit_in_list(self, expr)
            case Like():
                return emit_like(self, expr)
            case Case(whens, otherwise):
                branches = [(self.truth(when), result) for when, result in whens]
                parts = [f"{self.value(r)} if {test} else" for test, r in branches if test not in ("None", "False")]
                return f"({' '.join(parts)} {self.value(otherwise)})" if parts else self.value(otherwise)
            case Free(free_source, name, type_):
                return f"frame.view.free({free_source!r}, {name!r}, {self.name(type_)})"
            case Function(name, arguments, type_):
                return emit_function(self, name, arguments, type_)
            case Cast(operand, type_, assignment):
                return emit_cast(self, operand, type_, assignment)
            case Invoke():
                return self._invocation(expr)
        if isinstance(expr, Subquery):
            return self._subquery(expr)
        raise Unsupported(f"expression {type(expr).__name__}")

    def _invocation(self, expr: Invoke) -> str:
        from sql_semantics.run.routines.routines import invoker  # routines hold expressions

        invoke = self.name(invoker(expr.routine, self.dialect.in_routine()))
        given = "".join(f"{self.value(argument)}, " for argument in expr.arguments)
        within = "None" if expr.within is None else f"frame[{expr.within}]"
        return f"{invoke}(frame.view, ({given}), {within})"

    def _subquery(self, expr: Subquery) -> str:
        from sql_semantics.run.expressions.subquery import compile_subquery  # compiling a query compiles expressions

        evaluate = self.name(compile_subquery(expr, self.dialect, self.may))
        return f"{evaluate}({self.row if columns_read(expr) else '()'}, args, frame)"

    def _stripped(self, source: str, type_: SqlType) -> str:
        """CHAR(n) without its trailing blanks, which initial rows and parameters may still have."""
        return self.strict([source], lambda v: f"{v[0]}.rstrip(' ')") if type_.padded else source

    def constant(self, value: Value, type_: SqlType) -> str:
        """A literal, or the name of a constant."""
        value = constant_value(value, type_)
        if value is None or isinstance(value, (bool, str)):
            return repr(value)
        if isinstance(value, int):
            return repr(value) if value >= 0 else f"({value!r})"
        return self.name(value)

    def strict(
        self,
        sources: Sequence[str],
        build: Callable[[list[str]], str],
        all_first: bool = False,
    ) -> str:
        """NULL where any operand is NULL, else what `build` makes of the operands' names.

        `all_first`: evaluate every operand even behind a NULL, because one may raise.
        """
        if "None" in sources and self.dialect.writing is None:
            return "None"  # as planners fold it: the other operands are not evaluated
        if "None" in sources:  # MySQL evaluates those before it, which matters where they may raise
            before = [f"({source}, None)[1]" for source in sources[: sources.index("None")]]
            return f"({' or '.join([*before, 'None'])})" if before else "None"
        names: list[str] = []
        tests: list[str] = []
        for source in sources:
            if _never_null(source):
                names.append(source)
                continue
            name = self.temporary()
            names.append(name)
            tests.append(f"({name} := {source}) is None")
        if not tests:
            return build(names)
        condition = " | ".join(f"({test})" for test in tests) if all_first else " or ".join(tests)
        return f"(None if {condition} else {build(names)})"

    def _operands(self, expressions: Sequence[Expr]) -> tuple[list[str], bool]:
        return [self.value(e) for e in expressions], any(can_raise(e) for e in expressions[1:])

    def _unary(self, op: str, operand: Expr, type_: SqlType) -> str:
        if op == "not":
            return self.strict([self.boolean(operand)], lambda v: f"(not {v[0]})")
        if op == "+":
            return self.value(operand)
        return self.strict([self.value(operand)], lambda v: negation(self, v[0], type_))

    def _binary(self, expr: Expr, op: str, left: Expr, right: Expr, type_: SqlType) -> str:
        if op in ("and", "or"):
            return self._connective(expr, op)
        if op in ("is_distinct", "is_not_distinct"):
            same = self._null_safe(left, right)
            return same if op == "is_not_distinct" else f"(not {same})"
        if op in ("=", "<>", "<", "<=", ">", ">="):
            # MySQL does not look at the right side of a comparison where the left one is NULL.
            sources = self.comparable(left, right)
            all_first = can_raise(right) and not self.dialect.rules.running.comparisons_stop_at_null
            return self.strict(
                sources,
                lambda v: comparison(self, op, v[0], v[1], left.type, right.type),
                all_first,
            )
        sources, all_first = self._operands((left, right))
        if op == "||":
            if not self.dialect.rules.values.double_pipe_joins:
                raise Unsupported("|| in mysql depends on sql_mode")
            texts = [as_text(self, s, e.type) for s, e in zip(sources, (left, right), strict=True)]
            return self.strict(texts, lambda v: f"{self.name(joined)}({v[0]}, {v[1]})", all_first)
        return self.strict(
            sources,
            lambda v: arithmetic(self, op, v[0], v[1], left.type, right.type, type_),
            all_first,
        )

    def comparable(self, left: Expr, right: Expr) -> list[str]:
        """The operands of a comparison; a literal or parameter beside a CHAR(n) loses its trailing blanks too."""
        sources = []
        for one, other in ((left, right), (right, left)):
            source = self.value(one)
            if other.type.padded and not one.type.padded and isinstance(one, (Const, Param)):
                source = self.strict([source], lambda v: f"{v[0]}.rstrip(' ')")
            sources.append(source)
        return sources

    def _null_safe(self, left: Expr, right: Expr) -> str:
        first, second = self.temporary(), self.temporary()
        a, b = self.comparable(left, right)
        equal = comparison(self, "=", first, second, left.type, right.type)
        return (
            f"(({second} := {b}) is None if ({first} := {a}) is None"
            f" else False if ({second} := {b}) is None else {equal})"
        )

    def boolean(self, expr: Expr) -> str:
        """Source of True, False or None."""
        source = self.value(expr)
        if expr.type.kind in (Kind.BOOLEAN, Kind.NULL):
            return source
        if expr.type.kind is Kind.TEXT:
            raise Unsupported("text used as a condition")
        return self.strict([source], lambda v: f"({v[0]} != 0)")

    def _connective(self, expr: Expr, op: str) -> str:
        operands = conjuncts(expr) if op == "and" else disjuncts(expr)
        outer, self.may = self.may, True
        try:
            sources = [self.boolean(operand) for operand in operands]
        finally:
            self.may = outer
        names = [self.temporary() for _ in sources]
        stop, otherwise = ("False", "True") if op == "and" else ("True", "False")
        parts = [f"{stop} if ({name} := {source}) is {stop} else" for name, source in zip(names, sources, strict=True)]
        unknown = " or ".join(f"{name} is None" for name in names)
        return f"({' '.join(parts)} None if {unknown} else {otherwise})"

    # --- conditions -------------------------------------------------------------------------------------------

    def truth(self, expr: Expr) -> str:
        """Source that is truthy exactly where the condition is TRUE (not FALSE, not unknown)."""
        if isinstance(expr, Binary) and not can_raise(expr):
            if expr.op in ("and", "or"):
                parts = conjuncts(expr) if expr.op == "and" else disjuncts(expr)
                return "(" + f" {expr.op} ".join(self.truth(part) for part in parts) + ")"
            if expr.op == "=" and self.native_equality(expr.left.type, expr.right.type):
                return self._true_equality(*self.comparable(expr.left, expr.right))
            if expr.op in ("=", "<>", "<", "<=", ">", ">="):
                return self._true_comparison(expr)
        return self.boolean(expr)

    def native_equality(self, left: SqlType, right: SqlType) -> bool:
        """Whether Python's == on non-null values is SQL equality."""
        if Kind.TEXT in (left.kind, right.kind):
            return equal_by_code_points(common_rule((left, right), self.rule))
        return sort_key(left.kind) is None and sort_key(right.kind) is None

    def _true_equality(self, left: str, right: str) -> str:
        if "None" in (left, right):
            return "False"
        if _never_null(left) or _never_null(right):
            return f"{left} == {right}"
        name = self.temporary()
        return f"(({name} := {left}) is not None and {name} == {right})"

    def _true_comparison(self, expr: Binary) -> str:
        names, tests = [], []
        for source in self.comparable(expr.left, expr.right):
            if _never_null(source):
                names.append(source)
            else:
                name = self.temporary()
                names.append(name)
                tests.append(f"({name} := {source}) is not None")
        test = comparison(self, expr.op, names[0], names[1], expr.left.type, expr.right.type)
        return "(" + " and ".join([*tests, test]) + ")"

    def failure(self, sqlstate: str, message: str, *, may: bool = False) -> str:
        """The name of a function that raises this SqlError."""
        may = may or self.may

        def fail() -> Value:
            raise SqlError(sqlstate, message, may=may)

        return self.name(fail)


def _never_null(source: str) -> bool:
    """Whether this source is a non-null literal (or a name of one), cheap enough to repeat."""
    return source != "None" and (
        source.isdigit()
        or source in ("True", "False")
        or (source[:2] in ("_g", "_p") and source[2:].isdigit())
        or (source[0] == "(" and source[1:2] == "-" and source[2:-1].isdigit())
        or (source[0] in "'\"" and source.count(source[0]) == 2 and source[-1] == source[0])
    )


def compile_expression(expr: Expr, dialect: Dialect, *, may: bool = False, offset: int = 0) -> Evaluate:
    """f(row, args, frame) -> value. `may`: every error it raises depends on the evaluation order. The row's first
    column is column `offset`.

    Raises Unsupported for what is not modelled; the function raises SqlError, and Unsupported where the answer
    hangs on an unknown collation.
    """
    emitter = Emitter(dialect, may)
    emitter.offset = offset
    source = emitter.value(expr)
    return emitter.function("row, args, frame", source)


def constant_value(value: Value, type_: SqlType) -> Value:
    """A constant as expressions see it: blanks at the end of a CHAR are none of its own."""
    return value.rstrip(" ") if type_.padded and isinstance(value, str) else value


def compile_predicate(expr: Expr, dialect: Dialect, *, may: bool = False) -> Predicate:
    """f(row, args, frame), truthy exactly where the condition is TRUE."""
    emitter = Emitter(dialect, may)
    source = emitter.truth(expr)
    return emitter.function("row, args, frame", source)


def _is_plain(expr: Expr) -> bool:
    """Whether it is a parameter that is taken as it is given."""
    return isinstance(expr, Param) and not expr.type.padded


def _given(expr: Expr) -> tuple[bool, Any]:
    """A parameter by its key, or a constant by its value."""
    if isinstance(expr, Param):
        return True, expr.key
    assert isinstance(expr, Const)
    return False, constant_value(expr.value, expr.type)


def compile_row(expressions: Sequence[Expr], dialect: Dialect, *, may: bool = False) -> EvaluateRow:
    """f(row, args, frame) -> tuple of the expressions' values."""
    if expressions and all(isinstance(expr, Const) for expr in expressions):
        fixed = tuple([constant_value(expr.value, expr.type) for expr in expressions if isinstance(expr, Const)])
        return lambda row, args, frame: fixed
    if expressions and all(isinstance(expr, Const) or _is_plain(expr) for expr in expressions):
        parts = [_given(expr) for expr in expressions]  # most of a long statement, and nothing to compile
        return lambda row, args, frame: tuple([args[key] if given else key for given, key in parts])
    emitter = Emitter(dialect, may)
    source = "".join(f"{emitter.value(expr)}, " for expr in expressions)
    return emitter.function("row, args, frame", f"({source})")
