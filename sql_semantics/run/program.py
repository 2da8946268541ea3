"""Routines into generated Python: control flow becomes the language's own, a round costs no call (paper Fig. 2).

One Python function per routine, f(view, frame, run): expressions stand inline, SQL statements are calls of their
compiled closures. Where a jump crosses an inner loop, its target is put into ``_j`` and the loops in between are left
one by one. Handlers of SQL/PSM become local functions that answer whose block is over (0: go on). Does not know
guarded execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.nesting import expressions_of, nested
from sql_semantics.ir.programs import (
    Attempt,
    CloseCursor,
    Conditions,
    Fetch,
    Handled,
    Iterate,
    Labelled,
    Leave,
    Loop,
    OpenCursor,
    Perform,
    Raise,
    RangeLoop,
    Reraise,
    Return,
    ReturnNext,
    ReturnQuery,
    RowLoop,
)
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    If,
    Insert,
    JoinedWrite,
    Procedure,
    Query,
    Release,
    RollbackTo,
    Savepoint,
    SelectInto,
    SetVariable,
    Statement,
    Truncate,
    Update,
    Write,
)
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions import Emitter, Frame, compile_expression, compile_predicate, compile_row
from sql_semantics.run.folding import fold_error
from sql_semantics.run.freedom import free_errors
from sql_semantics.run.keyed import keyed, moves_keys, unique_state
from sql_semantics.run.routines import Invocation, caller, compile_rows, compile_writing, handle, helpers
from sql_semantics.run.savepoints import apply_savepoint
from sql_semantics.run.traverse import can_raise, has_queries
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

Program = Callable[..., Any]
"""f(view, frame, run) -> what a function returns; None for a procedure."""


@dataclass(slots=True)
class _Place:
    """A Python loop around the code being written: its label, and whether jumps to outer ones cross it."""

    label: int
    crossed: bool = False


@dataclass(slots=True)
class _Writer:
    """Writes one routine. `handlers` are the dispatchers around the code being written, innermost last; `errors` the
    names of the errors being handled."""

    procedure: Procedure
    catalog: Catalog
    dialect: Dialect
    stable: bool
    emitter: Emitter
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    places: list[_Place] = field(default_factory=list)
    handlers: list[_Scope] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    caught: list[Conditions] = field(default_factory=list)
    in_handler: bool = False
    names: int = 0

    # --- lines ----------------------------------------------------------------------------------------------------

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

    def begin(self) -> None:
        """A statement execution begins; those of a stable function read what their caller reads."""
        if not self.stable:
            self.line("view.begin()")

    # --- expressions ----------------------------------------------------------------------------------------------

    def evaluated(self, expr: Expr, compile_: Callable[..., Any], inline: Callable[[Expr], str]) -> str:
        """Source of an expression's value; one with subqueries is a statement execution of its own."""
        certain = fold_error(expr, self.dialect)
        if certain is not None:
            self.line(f"raise {self.emitter.name(_raiser(certain.sqlstate, certain.message, None))}()")
        if not has_queries(expr):
            return inline(expr)
        self.begin()
        function = self.emitter.name(compile_(expr, self.dialect))
        return f"{function}((), (), _frame(view, frame))"

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

    # --- bodies ---------------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[Statement]) -> None:
        """A sequence of statements."""
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        """One statement."""
        match statement:
            case If():
                self.if_(statement)
            case Loop():
                self.loop(statement)
            case RangeLoop():
                self.range_loop(statement)
            case RowLoop():
                self.row_loop(statement)
            case Labelled(label, body):
                with self.python_loop(label, "while True:"):
                    self.body(body)
                    self.line("break")
            case Leave(label):
                self.jump(label, True)
            case Iterate(label):
                self.jump(label, False)
            case Attempt():
                self.attempt(statement)
            case Handled():
                self.handled(statement)
            case Return(values):
                self.return_(values)
            case _:
                with self.guarded(_after_failure(statement)):
                    self.simple(statement)

    def simple(self, statement: Statement) -> None:
        """A statement without statements inside."""
        match statement:
            case SetVariable(slot, expression):
                self.line(f"frame[{slot}] = {self.value(expression)}")
            case Raise(sqlstate, message, number):
                self.line(f"raise {self.emitter.name(_raiser(sqlstate, message, number))}()")
            case Reraise():
                if not self.errors:
                    raise Unsupported("RESIGNAL or RAISE outside a handler")
                self.line(f"raise {self.errors[-1]}")
            case Call():
                self.call(statement)
            case CloseCursor(slot):
                self.line(f"frame[{slot}] = _close(frame[{slot}])")
            case OpenCursor(slot, query, arguments):
                self.line(f"_not_open(frame[{slot}])")
                self.arguments(arguments)
                self.line(f"frame[{slot}] = _open({self.query(query)}, view)")
            case Fetch():
                self.fetch(statement)
            case Perform():
                self.perform(statement)
            case ReturnNext(values):
                self.line(f"_rows.append({self.row(values, '()')})")
            case ReturnQuery(query, row, found, count):
                name = self.fresh("_q")
                self.line(f"{name} = _cut({self.query(query)})")
                converted = self.emitter.name(compile_row(row, self.dialect))
                self.line(f"_rows.extend([{converted}(_r, (), frame) for _r in {name}])")
                self.diagnose(found, count, f"len({name})")
            case SelectInto(query, slots):
                self.select_into(query, slots)
            case Insert() | Update() | Delete() | JoinedWrite() | Truncate():
                name = self.fresh("_w")
                self.line(f"{name} = {self.write(statement)}[2]")
                with self.inside(f"if {name} is not None:"):
                    self.line(f"run.results.append({name})")
            case Savepoint() | RollbackTo() | Release():
                apply = self.emitter.name(_savepoint(statement, self.dialect))
                self.line(f"{apply}(view)")
            case _ if isinstance(statement, Query):
                self.line(f"run.results.append({self.query(statement)})")
            case _:
                raise Unsupported(f"statement {type(statement).__name__} in a procedure")

    # --- SQL ------------------------------------------------------------------------------------------------------

    def query(self, query: Query | Write) -> str:
        """Source of the result of a query or of RETURNING, in a statement execution of its own."""
        if isinstance(query, Write):
            return f"{self.write(query)}[2]"
        self.begin()
        return f"{self.emitter.name(compile_rows(query, self.dialect))}(view, (), frame)"

    def write(self, statement: Write) -> str:
        """Source of (affected, matched, rows of RETURNING)."""
        if self.stable:
            refusal = _raiser("0A000", "a write in a function that is not volatile", None)
            self.line(f"raise {self.emitter.name(refusal)}()")
        self.begin()
        write = compile_writing(statement, self.catalog, self.dialect)
        plain = self.emitter.name(write)
        if not moves_keys(statement, self.catalog):
            return f"{plain}(view, (), frame)"
        checked = self.emitter.name(keyed(write, self.catalog, self.dialect))
        if any(matches(conditions, unique_state(self.dialect), 1062) for conditions in self.caught):
            return f"{checked}(view, (), frame)"
        return f"({checked} if run.keyed else {plain})(view, (), frame)"

    def store(self, slots: Sequence[int], row: str) -> None:
        """The variables get a row's values."""
        if len(slots) == 1:
            self.line(f"frame[{slots[0]}] = {row}[0]")
        elif slots:
            self.line(f"{', '.join(f'frame[{slot}]' for slot in slots)} = {row}")

    def diagnose(self, found: int | None, count: int | None, number: str) -> None:
        """FOUND and ROW_COUNT after a statement that processed so many rows."""
        if found is not None:
            self.line(f"frame[{found}] = {number} > 0")
        if count is not None:
            self.line(f"frame[{count}] = {number}")

    def select_into(self, query: Query, slots: Sequence[int]) -> None:
        """SQL/PSM: no row leaves the variables alone and is a condition of class 02; two are error 42000."""
        name = self.fresh("_q")
        self.line(f"{name} = _one({self.query(query)})")
        with self.inside(f"if {name} is not None:"):
            self.store(slots, name)
        if any(matches(scope.conditions, "02000", 1329) for scope in self.handlers):
            with self.inside("else:"):
                self.line("raise _no_data()")
        elif self.dialect.name == "mysql":
            with self.inside("elif run.awaited:"):
                self.line("_unawaited()")

    def perform(self, statement: Perform) -> None:
        """PL/pgSQL: the first row, or NULLs."""
        inner, slots = statement.statement, statement.slots
        writes = isinstance(inner, Write)
        if isinstance(inner, Write) and not slots:
            name = self.fresh("_w")
            self.line(f"{name} = {self.write(inner)}[0]")
            self.diagnose(statement.found, statement.count, name)
            return
        name = self.fresh("_q")
        if not slots:
            self.line(f"{name} = _size({self.query(inner)})")
            self.diagnose(statement.found, statement.count, name)
            return
        first = "_strict" if statement.strict else "_single" if writes else "_first"
        self.line(f"{name} = {first}({self.query(inner)})")
        with self.inside(f"if {name} is not None:"):
            self.store(slots, self.row(statement.row, name))
        with self.inside("else:"):
            self.line(f"{' = '.join(f'frame[{slot}]' for slot in slots)} = None")
        self.diagnose(statement.found, statement.count, f"({name} is not None)")

    def call(self, statement: Call) -> None:
        """CALL of a procedure; its OUT parameters go to variables or into a result row."""
        invoke = self.emitter.name(caller(handle(statement.procedure, self.catalog), self.dialect))
        name = self.fresh("_a")
        if has_queries(statement.arguments):
            self.begin()
            arguments = self.emitter.name(compile_row(statement.arguments, self.dialect))
            given = f"{arguments}((), (), _frame(view, frame))"
        else:
            given = "(" + "".join(f"{self.emitter.value(item)}, " for item in statement.arguments) + ")"
        awaited = any(matches(scope.conditions, "02000", 1329) for scope in self.handlers)
        self.line(f"{name} = {invoke}(view, {given}, run, {awaited})")
        if statement.targets:
            self.store(statement.targets, name)

    def arguments(self, arguments: Sequence[tuple[int, Expr]]) -> None:
        """The parameters of a cursor."""
        for slot, expression in arguments:
            self.line(f"frame[{slot}] = {self.value(expression)}")

    def fetch(self, statement: Fetch) -> None:
        """The next row of a cursor."""
        name = self.fresh("_q")
        self.line(f"{name} = _next(frame[{statement.slot}])")
        with self.inside(f"if {name} is not None:"):
            self.store(statement.slots, self.row(statement.row, name))
        with self.inside("else:"):
            if statement.raises:
                self.line("raise _no_data()")
            elif statement.slots:
                self.line(f"{' = '.join(f'frame[{slot}]' for slot in statement.slots)} = None")
        self.diagnose(statement.found, statement.count, f"({name} is not None)")

    # --- jumps ----------------------------------------------------------------------------------------------------

    @contextmanager
    def python_loop(self, label: int, head: str, then: Sequence[str] = ()) -> Iterator[None]:
        """A Python loop that jumps may name or cross; `then` are the lines after it."""
        place = _Place(label)
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

    def if_(self, statement: If) -> None:
        """IF; with queries in later conditions, one inside the other. Under handlers that go on, a condition that
        fails takes no branch."""
        if self.handlers and any(self.fallible(condition) for condition, _ in statement.branches):
            name = self.fresh("_b")
            self.line(f"{name} = -1")
            with self.guarded():
                self.decide(statement, 0, name)
            for number, (_, body) in enumerate(statement.branches):
                with self.inside(f"{'el' if number else ''}if {name} == {number}:"):
                    self.body(body)
            with self.inside(f"elif {name} == {len(statement.branches)}:"):
                self.body(statement.otherwise)
            return
        depth = 0
        for number, (condition, body) in enumerate(statement.branches):
            if number and has_queries(condition):
                self.line("else:")
                self.indent += 1
                depth += 1
            first = number == 0 or has_queries(condition)
            test = self.truth(condition)
            with self.inside(f"{'if' if first else 'elif'} {test}:"):
                self.body(body)
        if statement.otherwise:
            with self.inside("else:"):
                self.body(statement.otherwise)
        self.indent -= depth

    def decide(self, statement: If, number: int, name: str) -> None:
        """The number of the branch that is taken."""
        if number == len(statement.branches):
            self.line(f"{name} = {number}")
            return
        with self.inside(f"if {self.truth(statement.branches[number][0])}:"):
            self.line(f"{name} = {number}")
        with self.inside("else:"):
            self.decide(statement, number + 1, name)

    def fallible(self, expr: Expr) -> bool:
        """Whether an error may come from here."""
        return can_raise(expr) or has_queries(expr)

    def test(self, condition: Expr, stop_if: bool) -> None:
        """Leave the loop by a condition; one that fails under a handler that goes on leaves it too."""
        if self.handlers and self.fallible(condition):
            name = self.fresh("_b")
            self.line(f"{name} = {stop_if}")
            with self.guarded():
                self.line(f"{name} = {self.truth(condition)}")
        else:
            name = self.truth(condition)
        with self.inside(f"if {'' if stop_if else 'not '}({name}):"):
            self.line("break")

    def loop(self, statement: Loop) -> None:
        """LOOP, WHILE, REPEAT."""
        with self.python_loop(statement.label, "for _ in _rounds():", ["else:", "    raise _too_long()"]):
            if statement.condition is not None:
                self.test(statement.condition, False)
            self.body(statement.body)
            if statement.until is not None:
                self.test(statement.until, True)

    def range_loop(self, statement: RangeLoop) -> None:
        """FOR over numbers."""
        names = [self.fresh("_n") for _ in range(3)]
        parts = (statement.low, statement.high, statement.step)
        for name, expr in zip(names, parts, strict=True):
            self.line(f"{name} = {'1' if expr is None else self.value(expr)}")
        counter = f"_range({', '.join(names)}, {statement.reverse})"
        some = self.fresh("_f")
        if statement.found is not None:
            self.line(f"{some} = False")
        then = [] if statement.found is None else [f"frame[{statement.found}] = {some}"]
        with self.python_loop(statement.label, f"for _i{statement.label} in {counter}:", then):
            self.line(f"frame[{statement.slot}] = _i{statement.label}")
            if statement.found is not None:
                self.line(f"{some} = True")
            self.body(statement.body)

    def row_loop(self, statement: RowLoop) -> None:
        """FOR over rows."""
        name = self.fresh("_q")
        with self.guarded():
            if statement.cursor is not None:
                self.line(f"_not_open(frame[{statement.cursor}])")
            self.arguments(statement.arguments)
            self.line(f"{name} = _loop_rows({self.query(statement.query)}, view)")
        with self.inside(f"if not {name}:"):
            if statement.slots:
                self.line(f"{' = '.join(f'frame[{slot}]' for slot in statement.slots)} = None")
        row = f"_r{statement.label}"
        then = [] if statement.found is None else [f"frame[{statement.found}] = len({name}) > 0"]
        with self.python_loop(statement.label, f"for {row} in {name}:", then):
            self.store(statement.slots, self.row(statement.row, row))
            self.body(statement.body)

    def return_(self, values: Sequence[Expr]) -> None:
        """RETURN; from inside a handler it passes through the handler's function."""
        signature = None if self.procedure.routine is None else self.procedure.routine.signature
        if signature is not None and signature.rows:
            result = "_rows"
        elif not values:
            result = "None"
        else:
            name = self.fresh("_v")
            single = len(values) == 1 and not (signature is not None and signature.record)
            if self.handlers:
                self.line(f"{name} = _unset")
            with self.guarded():
                self.line(f"{name} = {self.value(values[0]) if single else self.row(values, '()')}")
            if self.handlers:
                with self.inside(f"if {name} is _unset:"):
                    self.line("raise _failed_return()")
            result = name
        if self.in_handler:
            self.line(f"_box.append({result})")
            self.line("return -1")
        elif signature is None or not signature.function:
            self.line("return _answers(frame)")
        else:
            self.line(f"return {result}")

    # --- errors ---------------------------------------------------------------------------------------------------

    def attempt(self, statement: Attempt) -> None:
        """PL/pgSQL's exception block."""
        mark, error = self.fresh("_m"), self.fresh("_e")
        self.choices([conditions for conditions, _ in statement.clauses], statement.body)
        self.line(f"{mark} = view.savepoint()")
        self.caught += [conditions for conditions, _ in statement.clauses]
        with self.inside("try:"):
            self.body(statement.body)
        del self.caught[len(self.caught) - len(statement.clauses) :]
        with self.inside(f"except SqlError as {error}:"):
            self.line(f"_certain({error}, view)")
            self.line(f"view.rollback({mark})")
            self.errors.append(error)
            for number, (conditions, body) in enumerate(statement.clauses):
                test = self.emitter.name(matcher(conditions))
                with self.inside(f"{'el' if number else ''}if {test}({error}):"):
                    if statement.state is not None:
                        self.line(f"frame[{statement.state}] = {error}.sqlstate")
                    self.body(body)
            with self.inside("else:"):
                self.line("raise")
            self.errors.pop()

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
                # what lies further out is for whoever called the handler
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

    def handled(self, statement: Handled) -> None:
        """A block with handlers: a function that runs the handler which is for an error, and the block's own code."""
        function = self.fresh("_h")
        conditions = tuple(handler.conditions for handler in statement.handlers)
        choose = self.emitter.name(chooser(conditions))
        with self.inside(f"def {function}(_error):"):
            saved = (self.places, self.in_handler)
            self.places, self.in_handler = [], True
            self.line("_j = 0")
            self.line("_certain(_error, view)")
            self.line(f"_n = {choose}(_error)")
            self.errors.append("_error")
            for number, handler in enumerate(statement.handlers):
                with self.inside(f"{'el' if number else ''}if _n == {number}:"):
                    self.body(handler.body)
                    self.line(f"return {2 * statement.label if handler.leaves else 0}")
            self.errors.pop()
            if self.handlers:
                self.line(f"return {self.handlers[-1].function}(_error)")
            else:
                self.line("raise _error")
            self.places, self.in_handler = saved
        self.choices(conditions, statement.body)
        scope = _Scope(function, conditions)
        self.handlers.append(scope)
        self.caught += conditions
        with self.python_loop(statement.label, "while True:"):
            self.body(statement.body)
            self.line("break")
        del self.caught[len(self.caught) - len(conditions) :]
        self.handlers.pop()

    def choices(self, handlers: Sequence[Conditions], body: Sequence[Statement]) -> None:
        """What may have sent the DBMS into a handler though nothing here does: errors that need no reason in the data
        (a deadlock, a time limit), errors that depend on the order of evaluation. What is called may meet keys."""

        def handled(state: str, number: int | None) -> bool:
            return any(matches(conditions, state, number) for conditions in handlers)

        if any(map(_touches_data, body)) and any(handled(state, number) for state, number in _FOREIGN):
            self.line("view.arbitrary('whether a handler met an error that has its reason outside of the data')")
        elif any(handled(state, None) for item in body for state in free_errors(item, self.catalog)):
            self.line("view.arbitrary('whether a handler met an error that depends on the order of evaluation')")
        if handled(unique_state(self.dialect), 1062):
            self.line("run.keyed = True")


_FOREIGN = (("40001", 1213), ("40P01", -1), ("55P03", -1), ("57014", -1), ("53100", -1), ("08006", -1), ("HY000", 1205))


def _touches_data(statement: Statement) -> bool:
    """Whether a statement meets rows or routines, where locks and limits are."""
    if isinstance(statement, Query | Write | Call | SelectInto):
        return True
    return any(map(_touches_data, nested(statement))) or any(map(has_queries, expressions_of(statement)))


def _after_failure(statement: Statement) -> str:
    """What SQL/PSM does to the variables of a statement that fails: SET leaves NULL."""
    match statement:
        case SetVariable(slot):
            return f"frame[{slot}] = None"
        case SelectInto() | Fetch():
            return "_unknown_targets({error})"
    return ""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The handlers of a block around the code being written."""

    function: str
    handlers: tuple[Conditions, ...]

    @property
    def conditions(self) -> Conditions:
        """What any of them is for."""
        found = self.handlers
        return Conditions(
            frozenset().union(*(item.states for item in found)),
            frozenset().union(*(item.classes for item in found)),
            frozenset().union(*(item.numbers for item in found)),
            any(item.others for item in found),
            frozenset().union(*(item.except_ for item in found)),
        )


# --- conditions -------------------------------------------------------------------------------------------------------


def rank(conditions: Conditions, sqlstate: str, number: int | None) -> int:
    """How closely conditions fit an error: 3 by number, 2 by SQLSTATE, 1 by class, 0 not at all.

    Raises Unsupported where they name a number and the error's is not known.
    """
    if conditions.numbers:
        if number is None:
            raise Unsupported(f"a handler for error number {min(conditions.numbers)}")
        if number in conditions.numbers:
            return 3
    if sqlstate in conditions.states:
        return 2
    if sqlstate[:2] in conditions.classes:
        return 1
    if conditions.others and sqlstate not in conditions.except_ and sqlstate[:2] not in conditions.except_:
        return 1
    return 0


def matches(conditions: Conditions, sqlstate: str, number: int | None) -> bool:
    """Whether conditions are, or may be, for an error."""
    if number is None and conditions.numbers:
        return True
    return rank(conditions, sqlstate, number) > 0


def matcher(conditions: Conditions) -> Callable[[SqlError], bool]:
    """f(error): whether the clause is for it."""
    return lambda error: rank(conditions, error.sqlstate, error.number) > 0


def chooser(handlers: Sequence[Conditions]) -> Callable[[SqlError], int]:
    """f(error): the handler that fits it most closely, -1 for none."""

    def choose(error: SqlError) -> int:
        ranks = [rank(conditions, error.sqlstate, error.number) for conditions in handlers]
        best = max(ranks)
        return ranks.index(best) if best else -1

    return choose


def _raiser(sqlstate: str, message: str, number: int | None) -> Callable[[], SqlError]:
    return lambda: SqlError(sqlstate, message, number=number)


def _savepoint(statement: Savepoint | RollbackTo | Release, dialect: Dialect) -> Callable[[Any], None]:
    return lambda view: apply_savepoint(statement, view.savepoints, dialect, view.savepoint, view.rollback)


# --- the door ---------------------------------------------------------------------------------------------------------


def compile_program(procedure: Procedure, catalog: Catalog, dialect: Dialect) -> Program:
    """f(view, frame, run), compiled once.

    Raises Unsupported and UnknownTable; the function raises SqlError where the DBMS would fail, and Unsupported.
    """
    signature = None if procedure.routine is None else procedure.routine.signature
    emitter = Emitter(dialect)
    writer = _Writer(procedure, catalog, dialect, signature is not None and signature.stable, emitter)
    emitter.names.update(helpers(dialect))
    emitter.names["_answers"] = _answers(procedure)
    rows = signature is not None and signature.rows
    for text in ("args = ()", "row = ()", "_j = 0", "_box = []"):
        writer.line(text)
    if rows:
        writer.line("_rows = []")
    if procedure.invocation is not None:
        writer.line(f"frame[{procedure.invocation}] = run")
    writer.body(procedure.body)
    if rows:
        writer.line("return _rows")
    elif signature is None or not signature.function:
        writer.line("return _answers(frame)")
    elif not signature.results:
        writer.line("return None")
    else:
        writer.line("raise _no_return()")
    source = "\n".join(["def program(view, frame, run):", *writer.lines])
    try:
        return emitter.define(source, "program")
    except (SyntaxError, RecursionError) as error:
        raise Unsupported(f"a procedure that is nested too deeply ({error})") from error


def compile_step(
    statement: Statement, catalog: Catalog, dialect: Dialect
) -> Callable[[View, Frame, list[ResultSet[Value]]], Any]:
    """f(view, frame, results): one statement of a body, by itself."""
    program = compile_program(Procedure("", (), (), (statement,)), catalog, dialect)
    return lambda view, frame, results: program(view, frame, Invocation(results))


def _answers(procedure: Procedure) -> Callable[[list[Any]], tuple[Any, ...]]:
    slots = procedure.answers
    return lambda frame: tuple([frame[slot] for slot in slots])
