"""The text of a generated routine: lines, expressions in it, jumps, and what watches over a statement (paper Fig. 2).

Where a jump crosses an inner loop, its target is put into ``_j`` and the loops in between are left one by one. Does not
know statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sql_semantics.errors import SqlError
from sql_semantics.ir.expressions import Expr, Subquery
from sql_semantics.ir.programs import Conditions
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Procedure
from sql_semantics.ir.walks.traverse import can_raise, has_queries, walk
from sql_semantics.records import dataclass, field
from sql_semantics.run.expressions.conditions import Scope
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Emitter,
    Frame,
    Row,
    compile_expression,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.folding import fold_error, hangs_on_planning, spared_by_planning
from sql_semantics.run.routines.routines import refuse_repeated_writes
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Acting


@dataclass(slots=True)
class Place:
    """A Python loop around the code being written: its label, and whether jumps to outer ones cross it."""

    label: int
    crossed: bool = False


@dataclass(slots=True)
class Draft:
    """One routine being written. `handlers` are the dispatchers around the code being written, innermost last; `errors`
    the names of the errors being handled."""

    procedure: Procedure
    catalog: Catalog
    dialect: Dialect
    stable: bool
    emitter: Emitter
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    places: list[Place] = field(default_factory=list)
    handlers: list[Scope] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    caught: list[Conditions] = field(default_factory=list)
    in_handler: bool = False
    names: int = 0

    def line(self, text: str) -> None:
        """One line of Python."""
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def inside(self, text: str) -> Iterator[None]:
        """The lines of a compound statement."""
        self.line(text)
        self.indent += 1
        length = len(self.lines)
        yield
        if len(self.lines) == length:
            self.line("pass")
        self.indent -= 1

    def fresh(self, prefix: str) -> str:
        """A local name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def begin(self, acting: Acting = "reads") -> None:
        """A statement execution begins; those of a stable function read what their caller reads."""
        if not self.stable:
            self.line(f"view.begin({acting!r})")

    # --- expressions ----------------------------------------------------------------------------------------------

    def evaluated(self, expr: Expr, compile_: Callable[..., Any], inline: Callable[[Expr], str]) -> str:
        """Source of an expression's value; one with subqueries is a statement execution of its own."""
        certain = fold_error(expr, self.dialect)
        if certain is not None:
            self.line(f"raise {self.emitter.name(raiser(certain.sqlstate, certain.message, None))}()")
        if not has_queries(expr):
            return inline(expr)
        for part in walk(expr):
            if isinstance(part, Subquery):
                refuse_repeated_writes(part)
        self.begin(self.dialect.rules.running.expressions_begin)
        evaluate = compile_(expr, self.dialect)
        if self.dialect.rules.running.plans_raise and hangs_on_planning(expr):
            evaluate = _doubted(expr, evaluate, self.dialect)
        return f"{self.emitter.name(evaluate)}((), (), _frame(view, frame))"

    def value(self, expr: Expr) -> str:
        """Source of a value that is stored: MySQL's strict mode looks at it as at a column's."""
        outer = self.dialect
        self.emitter.dialect = self.dialect = outer.in_write("value")
        try:
            return self.evaluated(expr, compile_expression, self.emitter.value)
        finally:
            self.emitter.dialect = self.dialect = outer

    def truth(self, expr: Expr) -> str:
        """Source of a condition."""
        return self.evaluated(expr, compile_predicate, self.emitter.truth)

    def row(self, expressions: Sequence[Expr], row: str) -> str:
        """Source of a tuple of values over the row whose source is given."""
        if not expressions:
            return "()"
        return f"{self.emitter.name(compile_row(expressions, self.dialect))}({row}, (), frame)"

    def values(self, expressions: Sequence[Expr]) -> str:
        """Source of a tuple of values that hang on no row."""
        return "(" + "".join(f"{self.value(item)}, " for item in expressions) + ")"

    # --- bodies ---------------------------------------------------------------------------------------------------

    @contextmanager
    def python_loop(self, label: int, head: str, then: Sequence[str] = ()) -> Iterator[None]:
        """A Python loop that jumps may name or cross; `then` are the lines after it."""
        place = Place(label)
        self.places.append(place)
        with self.inside(head):
            yield
        self.places.pop()
        for text in then:
            self.line(text)
        if place.crossed:
            self.after(label)

    def after(self, label: int) -> None:
        """Behind a loop that was left by ``_j``."""
        with self.inside("if _j:"):
            with self.inside(f"if _j == {2 * label}:"):
                self.line("_j = 0")
            if self.places:
                outer = self.places[-1]
                with self.inside(f"elif _j == {2 * outer.label + 1}:"):
                    self.line("_j = 0")
                    self.line("continue")
                with self.inside("else:"):
                    outer.crossed = True
                    self.line("break")
            elif self.in_handler:
                with self.inside("else:"):
                    self.line("return _j")

    def jump(self, label: int, leave: bool) -> None:
        """LEAVE or ITERATE."""
        innermost = self.places[-1] if self.places else None
        if innermost is not None and innermost.label == label:
            self.line("break" if leave else "continue")
            return
        if innermost is None or all(place.label != label for place in self.places):
            raise AssertionError("a jump to a label that is not around it")
        self.line(f"_j = {2 * label + (not leave)}")
        innermost.crossed = True
        self.line("break")

    # --- control flow ---------------------------------------------------------------------------------------------

    @contextmanager
    def guarded(self, failed: str = "") -> Iterator[None]:
        """A statement that the handlers around it, if any, watch over; `failed` runs before them."""
        if not self.handlers:
            yield
            return
        error, answer = self.fresh("_e"), self.fresh("_x")
        with self.inside("try:"):
            yield
        with self.inside(f"except SqlError as {error}:"):
            if failed:
                self.line(failed.format(error=error))
            self.line(f"{answer} = {self.handlers[-1].function}({error})")
            self.obey(answer)

    def obey(self, answer: str) -> None:
        """Go where a handler says: on (0), out of the routine (-1), or out of a block."""
        with self.inside(f"if {answer}:"):
            if self.in_handler:
                # what lies further out is for the caller of the handler
                with self.inside(f"if {answer} < 0 or {answer} not in {self.own_labels()!r}:"):
                    self.line(f"return {answer}")
            else:
                with self.inside(f"if {answer} < 0:"):
                    self.line("return _box.pop()")
            if self.places:
                self.places[-1].crossed = True
                self.line(f"_j = {answer}")
                self.line("break")

    def own_labels(self) -> tuple[int, ...]:
        """The blocks that code of the handler being written may leave by itself."""
        return tuple(2 * place.label for place in self.places)

    def fallible(self, expr: Expr) -> bool:
        """Whether an error may come from here."""
        return can_raise(expr) or has_queries(expr)


def raiser(sqlstate: str, message: str, number: int | None) -> Callable[[], SqlError]:
    """f() -> a new error."""
    return lambda: SqlError(sqlstate, message, number=number)


def _doubted(expr: Expr, evaluate: Callable[..., Any], dialect: Dialect) -> Callable[..., Any]:
    """The evaluation; an error that a plan for the variables' values would not raise is one that may be raised."""

    def value(row: Row, args: Arguments, frame: Frame) -> Any:
        try:
            return evaluate(row, args, frame)
        except SqlError as error:
            if spared_by_planning(expr, frame, dialect):
                raise SqlError(error.sqlstate, error.message, may=True) from error
            raise

    return value
