"""Statements of a routine that hold no others, written as Python: SQL, cursors, assignments (paper Fig. 2).

Does not know control flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.programs import (
    CloseCursor,
    Fetch,
    OpenCursor,
    Perform,
    Raise,
    Reraise,
    ReturnNext,
    ReturnQuery,
)
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import (
    Call,
    Delete,
    Insert,
    JoinedWrite,
    Merge,
    NoEffect,
    Release,
    RollbackTo,
    Savepoint,
    SelectInto,
    SetVariable,
    Statement,
    Together,
    Truncate,
    Update,
    Write,
)
from sql_semantics.ir.walks.effects import acting_of, writing_of
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.ir.walks.traverse import has_queries
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.conditions import matches
from sql_semantics.run.expressions.expressions import Arguments, Frame, compile_row
from sql_semantics.run.routines.draft import Draft, raiser
from sql_semantics.run.routines.routines import caller, compile_rows, compile_writing, handle
from sql_semantics.run.routines.savepoints import apply_savepoint
from sql_semantics.run.writes.keyed import keyed, moves_keys, unique_state
from sql_semantics.run.writes.together import compile_together
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View


def simple(w: Draft, statement: Statement) -> None:
    """A statement without statements inside."""
    match statement:
        case SetVariable(slot, expression):
            w.line(f"frame[{slot}] = {w.value(expression)}")
        case Raise(sqlstate, message, number):
            w.line(f"raise {w.emitter.name(raiser(sqlstate, message, number))}()")
        case Reraise():
            if not w.errors:
                raise Unsupported("RESIGNAL or RAISE outside a handler")
            w.line(f"raise {w.errors[-1]}")
        case Call():
            call_(w, statement)
        case CloseCursor(slot):
            w.line(f"frame[{slot}] = _close(frame[{slot}])")
        case OpenCursor(slot, query, arguments):
            w.line(f"_not_open(frame[{slot}])")
            set_parameters(w, arguments)
            w.line(f"frame[{slot}] = _open({query_source(w, query)}, view)")
        case Fetch():
            fetch_(w, statement)
        case Perform():
            perform(w, statement)
        case ReturnNext(values):
            w.line(f"_rows.append({w.values(values)})")
        case ReturnQuery(query, row, found, count):
            name = w.fresh("_q")
            w.line(f"{name} = _cut({query_source(w, query)}, view.choose)")
            converted = w.emitter.name(compile_row(row, w.dialect))
            w.line(f"_rows.extend([{converted}(_r, (), frame) for _r in {name}])")
            diagnose(w, found, count, f"len({name})")
        case SelectInto(query, slots):
            select_into(w, query, slots)
        case Insert() | Update() | Delete() | JoinedWrite() | Merge() | Truncate():
            name = w.fresh("_w")
            w.line(f"{name} = {write_source(w, statement)}[2]")
            with w.inside(f"if {name} is not None:"):
                w.line(f"run.results.append({name})")
        case Savepoint() | RollbackTo() | Release():
            apply = w.emitter.name(_savepoint(statement, w.dialect))
            w.line(f"{apply}(view)")
        case NoEffect():
            w.line("pass")
        case _ if isinstance(statement, Query):
            w.line(f"run.results.append({query_source(w, statement)})")
        case _:
            raise Unsupported(f"statement {type(statement).__name__} in a procedure")


def query_source(w: Draft, query: Query | Write | Together) -> str:
    """Source of the result of a query or of RETURNING, in a statement execution of its own."""
    if isinstance(query, Write | Together):
        return f"{write_source(w, query)}[2]"
    w.begin(acting_of(query))
    return f"{w.emitter.name(compile_rows(query, w.dialect))}(view, (), frame)"


def write_source(w: Draft, statement: Write | Together) -> str:
    """Source of (affected, matched, rows of RETURNING or of the query)."""
    if w.stable:
        refusal = raiser("0A000", "a write in a function that is not volatile", None)
        w.line(f"raise {w.emitter.name(refusal)}()")
    if isinstance(statement, Together):
        return _together_source(w, statement)
    w.begin(writing_of(statement))
    write = compile_writing(statement, w.catalog, w.dialect)
    plain = w.emitter.name(write)
    if not moves_keys(statement, w.catalog):
        return f"{plain}(view, (), frame)"
    checked = w.emitter.name(keyed(write, w.catalog, w.dialect))
    if any(matches(conditions, unique_state(w.dialect), 1062) for conditions in w.caught):
        return f"{checked}(view, (), frame)"
    return f"({checked} if run.keyed else {plain})(view, (), frame)"


def _together_source(w: Draft, statement: Together) -> str:
    """The same of a statement under WITH items that write. Raises Unsupported under a handler for a violated key."""
    if any(matches(conditions, unique_state(w.dialect), 1062) for conditions in w.caught):
        raise Unsupported("WITH items that change data under a handler for a violated key")
    w.begin("acts")
    run = compile_together(statement, w.catalog, w.dialect)
    keyless = not any(moves_keys(part, w.catalog) for part in nested(statement) if isinstance(part, Write))

    def written(view: View, args: Arguments, frame: Frame, keyed: bool) -> tuple[Any, Any, ResultSet[Value] | None]:
        if keyed and not keyless:
            raise Unsupported("WITH items that change data under a handler for a violated key")
        outcome = run(view, args, frame)
        result = outcome.results[0] if outcome.results else None
        affected = len(result.rows) if outcome.affected is None and result is not None else outcome.affected
        return affected, outcome.matched, result

    return f"{w.emitter.name(written)}(view, (), frame, run.keyed)"


def store(w: Draft, slots: Sequence[int], row: str) -> None:
    """The variables get a row's values."""
    if len(slots) == 1:
        w.line(f"frame[{slots[0]}] = {row}[0]")
    elif slots:
        w.line(f"{', '.join(f'frame[{slot}]' for slot in slots)} = {row}")


def diagnose(w: Draft, found: int | None, count: int | None, number: str) -> None:
    """FOUND and ROW_COUNT after a statement that processed so many rows."""
    if found is not None:
        w.line(f"frame[{found}] = {number} > 0")
    if count is not None:
        w.line(f"frame[{count}] = {number}")


def select_into(w: Draft, query: Query, slots: Sequence[int]) -> None:
    """SQL/PSM: no row leaves the variables alone and is a condition of class 02; two are error 42000."""
    name = w.fresh("_q")
    w.line(f"{name} = _one({query_source(w, query)}, view)")
    with w.inside(f"if {name} is not None:"):
        store(w, slots, name)
    if any(matches(scope.conditions, "02000", 1329) for scope in w.handlers):
        with w.inside("else:"):
            w.line("raise _no_data()")
    elif w.dialect.rules.running.no_data_reaches_callers:
        with w.inside("elif run.awaited:"):
            w.line("_unawaited()")


def perform(w: Draft, statement: Perform) -> None:
    """PL/pgSQL: the first row, or NULLs."""
    inner, slots = statement.statement, statement.slots
    written = inner.main if isinstance(inner, Together) else inner
    writes = isinstance(written, Write)
    if isinstance(inner, Write | Together) and not slots:
        name = w.fresh("_w")
        w.line(f"{name} = {write_source(w, inner)}[0]")
        diagnose(w, statement.found, statement.count, name)
        return
    name = w.fresh("_q")
    if not slots:
        w.line(f"{name} = _size({query_source(w, inner)})")
        diagnose(w, statement.found, statement.count, name)
        return
    first = "_strict" if statement.strict else "_single" if writes else "_first"
    more = ", view"
    w.line(f"{name} = {first}({query_source(w, inner)}{more})")
    with w.inside(f"if {name} is not None:"):
        store(w, slots, w.row(statement.row, name))
    with w.inside("else:"):
        w.line(f"{' = '.join(f'frame[{slot}]' for slot in slots)} = None")
    diagnose(w, statement.found, statement.count, f"({name} is not None)")


def call_(w: Draft, statement: Call) -> None:
    """CALL of a procedure; its OUT parameters go to variables or into a result row."""
    invoke = w.emitter.name(caller(handle(statement.procedure, w.catalog), w.dialect))
    name = w.fresh("_a")
    if has_queries(statement.arguments):
        w.begin(w.dialect.rules.running.expressions_begin)
        arguments = w.emitter.name(compile_row(statement.arguments, w.dialect))
        given = f"{arguments}((), (), _frame(view, frame))"
    else:
        given = "(" + "".join(f"{w.emitter.value(item)}, " for item in statement.arguments) + ")"
    awaited = any(matches(scope.conditions, "02000", 1329) for scope in w.handlers)
    w.line(f"{name} = {invoke}(view, {given}, run, {awaited})")
    if statement.targets:
        store(w, statement.targets, name)


def set_parameters(w: Draft, arguments: Sequence[tuple[int, Expr]]) -> None:
    """The parameters of a cursor."""
    for slot, expression in arguments:
        w.line(f"frame[{slot}] = {w.value(expression)}")


def fetch_(w: Draft, statement: Fetch) -> None:
    """The next row of a cursor."""
    name = w.fresh("_q")
    w.line(f"{name} = _next(frame[{statement.slot}])")
    with w.inside(f"if {name} is not None:"):
        store(w, statement.slots, w.row(statement.row, name))
    with w.inside("else:"):
        if statement.raises:
            w.line("raise _no_data()")
        elif statement.slots:
            w.line(f"{' = '.join(f'frame[{slot}]' for slot in statement.slots)} = None")
    diagnose(w, statement.found, statement.count, f"({name} is not None)")


def _savepoint(statement: Savepoint | RollbackTo | Release, dialect: Dialect) -> Callable[[Any], None]:
    return lambda view: apply_savepoint(statement, view.savepoints, dialect, view.savepoint, view.rollback)
