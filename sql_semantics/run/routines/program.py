"""Routines into generated Python: control flow becomes the language's own, a round costs no call (paper Fig. 2).

One Python function per routine, f(view, frame, run): expressions stand inline, SQL statements are calls of their
compiled closures. Where a jump crosses an inner loop, its target is put into ``_j`` and the loops in between are left
one by one. Handlers of SQL/PSM become local functions that answer whose block is over (0: go on). Does not know
guarded execution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.programs import (
    Attempt,
    Conditions,
    Fetch,
    Handled,
    Iterate,
    Labelled,
    Leave,
    Loop,
    RangeLoop,
    Return,
    RowLoop,
)
from sql_semantics.ir.queries import Query
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, If, Procedure, SelectInto, SetVariable, Statement, Write
from sql_semantics.ir.walks.nesting import expressions_of, nested
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.outcome import ResultSet
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run.expressions.conditions import Scope, chooser, matcher, matches
from sql_semantics.run.expressions.expressions import Emitter, Frame
from sql_semantics.run.routines.draft import Draft
from sql_semantics.run.routines.routines import Invocation, helpers
from sql_semantics.run.routines.steps import query_source, set_parameters, simple, store
from sql_semantics.run.writes.keyed import unique_state
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

Program = Callable[..., Any]
"""f(view, frame, run) -> what a function returns; None for a procedure."""


def write_body(w: Draft, statements: Sequence[Statement]) -> None:
    """A sequence of statements."""
    for statement in statements:
        write_statement(w, statement)


def write_statement(w: Draft, statement: Statement) -> None:
    """One statement."""
    match statement:
        case If():
            if_(w, statement)
        case Loop():
            loop(w, statement)
        case RangeLoop():
            range_loop(w, statement)
        case RowLoop():
            row_loop(w, statement)
        case Labelled(label, body):
            with w.python_loop(label, "while True:"):
                write_body(w, body)
                w.line("break")
        case Leave(label):
            w.jump(label, True)
        case Iterate(label):
            w.jump(label, False)
        case Attempt():
            attempt(w, statement)
        case Handled():
            handled(w, statement)
        case Return(values):
            return_(w, values)
        case _:
            with w.guarded(_after_failure(statement)):
                simple(w, statement)


def if_(w: Draft, statement: If) -> None:
    """IF; with queries in later conditions, one inside the other. Under handlers that go on, a condition that
    fails takes no branch."""
    if w.handlers and any(w.fallible(condition) for condition, _ in statement.branches):
        name = w.fresh("_b")
        w.line(f"{name} = -1")
        with w.guarded():
            decide(w, statement, 0, name)
        for number, (_, body) in enumerate(statement.branches):
            with w.inside(f"{'el' if number else ''}if {name} == {number}:"):
                write_body(w, body)
        with w.inside(f"elif {name} == {len(statement.branches)}:"):
            write_body(w, statement.otherwise)
        return
    depth = 0
    for number, (condition, body) in enumerate(statement.branches):
        if number and has_queries(condition):
            w.line("else:")
            w.indent += 1
            depth += 1
        first = number == 0 or has_queries(condition)
        test = w.truth(condition)
        with w.inside(f"{'if' if first else 'elif'} {test}:"):
            write_body(w, body)
    if statement.otherwise:
        with w.inside("else:"):
            write_body(w, statement.otherwise)
    w.indent -= depth


def decide(w: Draft, statement: If, number: int, name: str) -> None:
    """The number of the branch that is taken."""
    if number == len(statement.branches):
        w.line(f"{name} = {number}")
        return
    with w.inside(f"if {w.truth(statement.branches[number][0])}:"):
        w.line(f"{name} = {number}")
    with w.inside("else:"):
        decide(w, statement, number + 1, name)


def test(w: Draft, condition: Expr, stop_if: bool) -> None:
    """Leave the loop by a condition; one that fails under a handler that goes on leaves it too."""
    if w.handlers and w.fallible(condition):
        name = w.fresh("_b")
        w.line(f"{name} = {stop_if}")
        with w.guarded():
            w.line(f"{name} = {w.truth(condition)}")
    else:
        name = w.truth(condition)
    with w.inside(f"if {'' if stop_if else 'not '}({name}):"):
        w.line("break")


def loop(w: Draft, statement: Loop) -> None:
    """LOOP, WHILE, REPEAT."""
    with w.python_loop(statement.label, "for _ in _rounds():", ["else:", "    raise _too_long()"]):
        if statement.condition is not None:
            test(w, statement.condition, False)
        write_body(w, statement.body)
        if statement.until is not None:
            test(w, statement.until, True)


def range_loop(w: Draft, statement: RangeLoop) -> None:
    """FOR over numbers."""
    names = [w.fresh("_n") for _ in range(3)]
    parts = (statement.low, statement.high, statement.step)
    for name, expr in zip(names, parts, strict=True):
        w.line(f"{name} = {'1' if expr is None else w.value(expr)}")
    counter = f"_range({', '.join(names)}, {statement.reverse})"
    some = w.fresh("_f")
    if statement.found is not None:
        w.line(f"{some} = False")
    then = [] if statement.found is None else [f"frame[{statement.found}] = {some}"]
    with w.python_loop(statement.label, f"for _i{statement.label} in {counter}:", then):
        w.line(f"frame[{statement.slot}] = _i{statement.label}")
        if statement.found is not None:
            w.line(f"{some} = True")
        write_body(w, statement.body)


def row_loop(w: Draft, statement: RowLoop) -> None:
    """FOR over rows."""
    name = w.fresh("_q")
    with w.guarded():
        if statement.cursor is not None:
            w.line(f"_not_open(frame[{statement.cursor}])")
        set_parameters(w, statement.arguments)
        w.line(f"{name} = _loop_rows({query_source(w, statement.query)}, view)")
    with w.inside(f"if not {name}:"):
        if statement.slots:
            w.line(f"{' = '.join(f'frame[{slot}]' for slot in statement.slots)} = None")
    row = f"_r{statement.label}"
    then = [] if statement.found is None else [f"frame[{statement.found}] = len({name}) > 0"]
    with w.python_loop(statement.label, f"for {row} in {name}:", then):
        store(w, statement.slots, w.row(statement.row, row))
        write_body(w, statement.body)


def return_(w: Draft, values: Sequence[Expr]) -> None:
    """RETURN; from inside a handler it passes through the handler's function."""
    signature = None if w.procedure.routine is None else w.procedure.routine.signature
    if signature is not None and signature.rows:
        result = "_rows"
    elif not values:
        result = "None"
    else:
        name = w.fresh("_v")
        single = len(values) == 1 and not (signature is not None and signature.record)
        if w.handlers:
            w.line(f"{name} = _unset")
        with w.guarded():
            w.line(f"{name} = {w.value(values[0]) if single else w.values(values)}")
        if w.handlers:
            with w.inside(f"if {name} is _unset:"):
                w.line("raise _failed_return()")
        result = name
    if w.in_handler:
        w.line(f"_box.append({result})")
        w.line("return -1")
    elif signature is None or not signature.function:
        w.line("return _answers(frame)")
    else:
        w.line(f"return {result}")


def attempt(w: Draft, statement: Attempt) -> None:
    """PL/pgSQL's exception block."""
    mark, error = w.fresh("_m"), w.fresh("_e")
    choices(w, [conditions for conditions, _ in statement.clauses], statement.body)
    w.line(f"{mark} = view.savepoint()")
    w.line("view.attempting(1)")
    w.caught += [conditions for conditions, _ in statement.clauses]
    with w.inside("try:"):
        with w.inside("try:"):
            write_body(w, statement.body)
        with w.inside("finally:"):
            w.line("view.attempting(-1)")
    del w.caught[len(w.caught) - len(statement.clauses) :]
    with w.inside(f"except SqlError as {error}:"):
        w.line(f"_certain({error}, view)")
        w.line(f"view.rollback({mark})")
        w.errors.append(error)
        for number, (conditions, body) in enumerate(statement.clauses):
            test = w.emitter.name(matcher(conditions))
            with w.inside(f"{'el' if number else ''}if {test}({error}):"):
                if statement.state is not None:
                    w.line(f"frame[{statement.state}] = {error}.sqlstate")
                write_body(w, body)
        with w.inside("else:"):
            w.line("raise")
        w.errors.pop()


def handled(w: Draft, statement: Handled) -> None:
    """A block with handlers: a function that runs the handler which is for an error, and the block's own code."""
    function = w.fresh("_h")
    conditions = tuple(handler.conditions for handler in statement.handlers)
    choose = w.emitter.name(chooser(conditions))
    with w.inside(f"def {function}(_error):"):
        saved = (w.places, w.in_handler)
        w.places, w.in_handler = [], True
        w.line("_j = 0")
        w.line("_certain(_error, view)")
        w.line(f"_n = {choose}(_error)")
        w.errors.append("_error")
        for number, handler in enumerate(statement.handlers):
            with w.inside(f"{'el' if number else ''}if _n == {number}:"):
                write_body(w, handler.body)
                w.line(f"return {2 * statement.label if handler.leaves else 0}")
        w.errors.pop()
        if w.handlers:
            w.line(f"return {w.handlers[-1].function}(_error)")
        else:
            w.line("raise _error")
        w.places, w.in_handler = saved
    choices(w, conditions, statement.body)
    scope = Scope(function, conditions)
    w.handlers.append(scope)
    w.caught += conditions
    with w.python_loop(statement.label, "while True:"):
        write_body(w, statement.body)
        w.line("break")
    del w.caught[len(w.caught) - len(conditions) :]
    w.handlers.pop()


def choices(w: Draft, handlers: Sequence[Conditions], body: Sequence[Statement]) -> None:
    """What may have sent the DBMS into a handler though nothing here does: errors that need no reason in the data
    (a deadlock, a time limit), errors that depend on the order of evaluation. What is called may meet keys."""

    def handled(state: str, number: int | None) -> bool:
        return any(matches(conditions, state, number) for conditions in handlers)

    if any(map(_touches_data, body)) and any(handled(state, number) for state, number in _FOREIGN):
        w.line("view.arbitrary('whether a handler met an error that has its reason outside of the data')")
    elif any(handled(state, None) for item in body for state in free_errors(item, w.catalog, w.dialect.name)):
        w.line("view.arbitrary('whether a handler met an error that depends on the order of evaluation')")
    if handled(unique_state(w.dialect), 1062):
        w.line("run.keyed = True")


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


def compile_program(procedure: Procedure, catalog: Catalog, dialect: Dialect) -> Program:
    """f(view, frame, run), compiled once.

    Raises Unsupported and UnknownTable; the function raises SqlError where the DBMS would fail, and Unsupported.
    """
    signature = None if procedure.routine is None else procedure.routine.signature
    dialect = dialect.in_routine()
    emitter = Emitter(dialect)
    writer = Draft(procedure, catalog, dialect, signature is not None and signature.stable, emitter)
    emitter.names.update(helpers(dialect))
    emitter.names["_answers"] = _answers(procedure)
    rows = signature is not None and signature.rows
    for text in ("args = ()", "row = ()", "_j = 0", "_box = []"):
        writer.line(text)
    if rows:
        writer.line("_rows = []")
    if procedure.invocation is not None:
        writer.line(f"frame[{procedure.invocation}] = run")
    write_body(writer, procedure.body)
    if rows:
        writer.line("return _rows")
    elif signature is None or not signature.function:
        writer.line("return _answers(frame)")
    elif not signature.results and not signature.trigger:
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
