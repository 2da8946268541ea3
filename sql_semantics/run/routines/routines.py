"""Calls of routines at run time, and what their generated code uses (paper Fig. 2).

A routine is compiled when it is first called, once per dialect. Its cursors are lists of rows with a position, made
when they are opened. Does not know how control flow is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr, Invoke, ScalarQuery, Subquery
from sql_semantics.ir.queries import Derived, FunctionScan, Query, Relation, Select, Unnest, Values
from sql_semantics.ir.routines import Parameter, Routine, Signature
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, Truncate, Update
from sql_semantics.ir.statements import Write as WriteStatement
from sql_semantics.ir.walks.effects import routine_writes, routines_in
from sql_semantics.ir.walks.traverse import has_queries, outer_reads, walk
from sql_semantics.outcome import ResultSet
from sql_semantics.run.expressions.expressions import Frame, Row
from sql_semantics.run.expressions.frames import QueryFrame, with_queries
from sql_semantics.run.planned import planned
from sql_semantics.run.queries.queries import compile_query
from sql_semantics.run.queries.select import Execute
from sql_semantics.run.queries.ties import MOST, arranged, canonical, cut, differ, one_of
from sql_semantics.run.writes.joined import compile_joined_write, compile_truncate
from sql_semantics.run.writes.listed import converted
from sql_semantics.run.writes.merge import compile_merge
from sql_semantics.run.writes.write import Write, compile_delete, compile_insert, compile_update
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View

DEPTH = 50
"""Calls inside each other beyond which they are not followed."""
ROUNDS = 5_000_000
"""Rounds of a loop beyond which it is not followed."""


class Invocation:
    """One call that runs: the result sets of its statements so far (its caller's list), how deep it is, whether a
    caller has a handler for NOT FOUND, and whether it or a caller may have one for a violated key."""

    __slots__ = ("awaited", "depth", "keyed", "results")

    def __init__(self, results: list[ResultSet[Value]], depth: int = 0, awaited: bool = False) -> None:
        if depth > DEPTH:
            raise Unsupported(f"calls of routines more than {DEPTH} deep")
        self.results = results
        self.depth = depth
        self.awaited = awaited
        self.keyed = False


def handle(name: str, catalog: Catalog) -> Routine:
    """The handle of a procedure; one that was not read from text gets a handle of its own. Raises Unsupported."""
    procedure = catalog.procedures.get(name)
    if procedure is None:
        raise Unsupported(f"call of the unknown procedure {name!r}")
    if procedure.routine is not None:
        return procedure.routine
    parameters = tuple(map(Parameter, procedure.parameters, procedure.frame_types))
    routine = Routine(Signature(name, parameters, psm=True), catalog)
    routine.procedure = procedure
    return routine


Caller = Callable[[View, Sequence[Value], Invocation | None, bool], Any]


def _entered(routine: Routine, dialect: Dialect) -> tuple[Any, Callable[[Sequence[Value]], Frame]]:
    """The routine's program and f(arguments) -> its frame."""
    found: tuple[Any, Callable[[Sequence[Value]], Frame]] | None = routine.compiled.get(dialect)
    if found is None:
        from sql_semantics.run.routines.program import compile_program  # programs call routines

        procedure = routine.procedure
        if procedure is None:
            raise Unsupported(f"call of the unknown procedure {routine.signature.name!r}")
        parameters = routine.signature.parameters
        rest = [None] * (len(procedure.frame_types) - len(parameters))
        places = [place for place, parameter in enumerate(parameters) if parameter.mode != "out"]
        if len(places) == len(parameters):

            def frame(given: Sequence[Value]) -> Frame:
                return [*given, *rest]

        else:

            def frame(given: Sequence[Value]) -> Frame:
                made: Frame = [*(None for _ in parameters), *rest]
                for place, value in zip(places, given, strict=True):
                    made[place] = value
                return made

        found = routine.compiled[dialect] = (compile_program(procedure, routine.catalog, dialect), frame)
    return found


def caller(routine: Routine, dialect: Dialect) -> Caller:
    """f(view, arguments, caller's invocation, awaited) -> the values of the OUT and INOUT parameters."""

    def call(view: View, given: Sequence[Value], run: Invocation | None, awaited: bool) -> Any:
        program, frame = _entered(routine, dialect)
        if run is None:
            return program(view, frame(given), Invocation([]))
        inner = Invocation(run.results, run.depth + 1, awaited or run.awaited)
        inner.keyed = run.keyed
        return program(view, frame(given), inner)

    return call


def invoker(routine: Routine, dialect: Dialect) -> Callable[[View, Sequence[Value], Invocation | None], Any]:
    """f(view, arguments, caller's invocation) -> what the function returns (a set: its rows)."""
    strict, rows = routine.signature.strict, routine.signature.rows
    void, nothing = not routine.signature.results, routine.signature.void

    def invoke(view: View, given: Sequence[Value], run: Invocation | None) -> Any:
        if strict and None in given:
            return [] if rows else None
        program, frame = _entered(routine, dialect)
        inner = Invocation([], 0 if run is None else run.depth + 1)
        inner.keyed = run is not None and run.keyed
        caller = view.suspend()
        found = program(view, frame(given), inner)
        view.resume(caller)
        return nothing if void else found

    return invoke


def refuse_repeated_writes(node: object) -> None:
    """A function that writes is modelled where it is called once, or not at all: by itself, in a SELECT without tables,
    in VALUES, for the array of an unnest() alone, and there in a query which reads nothing around it, where an UPDATE
    computes what it sets. Raises Unsupported for one that a query calls for its rows."""
    inner: list[object] = [node]
    if isinstance(node, Select) and node.where is None and node.groups is None and len(node.sources) < 2:
        scans = [source.relation for source in node.sources]
        outputs = [output.expression for output in node.outputs]
        if all(isinstance(scan, FunctionScan) for scan in scans):
            inner = [part for output in outputs for part in _below_once(output)]
        elif all(_is_unnest(scan) for scan in scans) and node.limit is None:
            inner = [*outputs]
    elif isinstance(node, Values):
        inner = [part for row in node.rows for value in row for part in _below_once(value)]
    elif isinstance(node, Update):
        kept = replace(node, assignments=())
        inner = [kept, *(part for _, value in node.assignments for part in _sought(value))]
    called = [part for part in inner if isinstance(part, Routine)]
    for routine in (*called, *routines_in(tuple(part for part in inner if not isinstance(part, Routine)))):
        if routine_writes(routine):
            raise Unsupported(f"function {routine.signature.name}, which writes, in a query")


def _below_once(expr: Expr) -> Iterator[object]:
    """The queries in an expression that is evaluated once, but for those that are evaluated once themselves."""
    for part in walk(expr):
        if isinstance(part, ScalarQuery) and not outer_reads(part.query):
            refuse_repeated_writes(part.query)
        elif isinstance(part, Subquery):
            yield part


def _sought(expr: Expr) -> Iterator[object]:
    """What an expression calls by itself, and the queries in it, but for those that are evaluated once."""
    yield from (part.routine for part in walk(expr) if isinstance(part, Invoke))
    yield from _below_once(expr)


def _is_unnest(relation: Relation) -> bool:
    """Whether it is an unnest(), whose arrays are evaluated once, or the columns of the rows that one gives."""
    match relation:
        case Derived(query=Unnest(), lateral=False):
            return True
        case Derived(query=Select(sources=(source,), where=None, groups=None, limit=None), lateral=False):
            return _is_unnest(source.relation)
    return False


# --- SQL statements inside --------------------------------------------------------------------------------------------


def compile_rows(query: Query, dialect: Dialect, *, rounds: bool = False) -> Execute:
    """f(view, args, frame) -> the result of a query. `rounds` as in `compile_select`."""
    refuse_repeated_writes(query)
    return with_queries(planned(query, compile_query(query, dialect, rounds=rounds), dialect), has_queries(query))


def compile_writing(statement: WriteStatement, catalog: Catalog, dialect: Dialect) -> Write:
    """f(view, args, frame) -> (affected, matched, rows of RETURNING)."""
    refuse_repeated_writes(statement)
    dialect = dialect.in_write("condition")
    match statement:
        case Insert():
            statement = converted(statement, dialect)
            write = compile_insert(statement, catalog, dialect)
        case Update():
            write = compile_update(statement, catalog, dialect)
        case Delete():
            write = compile_delete(statement, catalog, dialect)
        case JoinedWrite():
            write = compile_joined_write(statement, catalog, dialect)
        case Merge():
            write = compile_merge(statement, catalog, dialect)
        case Truncate():
            return compile_truncate(statement, catalog, dialect)
    return with_queries(planned(statement, write, dialect), has_queries(statement))


# --- what generated code calls ----------------------------------------------------------------------------------------


def _one(result: ResultSet[Value], view: View) -> Row | None:
    rows = cut(result, view.choose)
    if len(rows) > 1:
        raise SqlError("42000", "SELECT INTO returned more than one row", number=1172)
    return rows[0] if rows else None


def _strict(result: ResultSet[Value], view: View) -> Row:
    rows = cut(result, view.choose)
    if not rows:
        raise SqlError("P0002", "query returned no rows")
    if len(rows) > 1:
        raise SqlError("P0003", "query returned more than one row")
    return rows[0]


def _single(result: ResultSet[Value], view: View) -> Row | None:
    rows = cut(result, view.choose)
    if len(rows) > 1:
        raise SqlError("P0003", "query returned more than one row")
    return rows[0] if rows else None


def _first(result: ResultSet[Value], view: View) -> Row | None:
    """The first row, which the DBMS may choose among several."""
    if result.subset and result.rows:
        result.limit = 1 if result.limit is None else min(result.limit, 1)
        return next(iter(cut(result, view.choose)), None)
    rows, keys, start = result.rows, result.keys, result.offset
    if start >= len(rows) or result.limit == 0:
        return None
    tied = rows if keys is None else [row for row, key in zip(rows, keys, strict=True) if key == keys[start]]
    if not differ(tied):
        return rows[start]
    if len(set(tied)) > MOST:
        view.arbitrary("which of several rows INTO takes")
        return min(tied, key=canonical)
    return one_of(tied, view.choose, "which of several rows INTO takes")


def _size(result: ResultSet[Value]) -> int:
    start = min(result.offset, len(result.rows))
    return len(result.rows) - start if result.limit is None else min(result.limit, len(result.rows) - start)


def _in_order(result: ResultSet[Value], view: View) -> list[Row]:
    """The rows one by one. Where their order is the DBMS's choice and there are too many orders, they go by their
    values, whatever order the view has them in, and the choice is noted."""
    rows = cut(result, view.choose)
    if len(rows) < 2:
        return rows
    keys = result.keys
    start = min(result.offset, len(result.rows))
    tied: list[list[Row]] = []
    for place, row in enumerate(rows):
        if place and (keys is None or keys[start + place] == keys[start + place - 1]):
            tied[-1].append(row)
        else:
            tied.append([row])
    what = "the order of the rows that a cursor or loop goes through"
    ordered: list[Row] = []
    for group in tied:
        found = arranged(group, view.choose, what) if differ(group) else group
        if found is None:
            view.arbitrary(what)
            found = sorted(group, key=canonical)
        ordered += found
    return ordered


class _Cursor:
    """An open cursor."""

    __slots__ = ("place", "rows")

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.place = 0


def _not_open(cursor: object) -> None:
    if cursor is not None:
        raise SqlError("24000", "cursor is already open", number=1325)


def _not_open_named(cursor: object) -> None:
    if isinstance(cursor, _Cursor):
        raise SqlError("42P03", "cursor is already in use")


def _open(result: ResultSet[Value], view: View) -> _Cursor:
    return _Cursor(_in_order(result, view))


def _next(cursor: _Cursor | None) -> Row | None:
    if cursor is None:
        raise SqlError("24000", "cursor is not open", number=1326)
    place = cursor.place
    if place >= len(cursor.rows):
        return None
    cursor.place = place + 1
    return cursor.rows[place]


_CLOSED = "closed"
"""A cursor of PL/pgSQL after CLOSE: the variable still has the name."""


def _next_named(cursor: _Cursor | str | None) -> Row | None:
    return _next(_named(cursor))


def _named(cursor: _Cursor | str | None) -> _Cursor:
    if cursor is None:
        raise SqlError("22004", "cursor variable is null")
    if isinstance(cursor, str):
        raise SqlError("34000", "cursor does not exist")
    return cursor


def _close(cursor: object) -> None:
    if cursor is None:
        raise SqlError("24000", "cursor is not open", number=1326)


def _close_named(cursor: _Cursor | str | None) -> str:
    _named(cursor)
    return _CLOSED


def _range(low: Value, high: Value, step: Value, reverse: bool) -> Iterable[int]:
    if not isinstance(low, int) or not isinstance(high, int) or not isinstance(step, int):
        raise SqlError("22004", "a bound of a FOR loop is NULL")
    if step <= 0:
        raise SqlError("22023", "the step of a FOR loop is not positive")
    numbers = range(low, high - 1, -step) if reverse else range(low, high + 1, step)
    if len(numbers) > ROUNDS:
        raise _too_long()
    return numbers


def _rounds() -> Iterable[None]:
    return repeat(None, ROUNDS)


def _too_long() -> Unsupported:
    return Unsupported(f"a loop of more than {ROUNDS} rounds")


def _certain(error: SqlError, view: View) -> None:
    """An error that need not have been raised decides which way the program goes."""
    if error.may:
        view.arbitrary(f"whether an error was raised that depends on the order of evaluation ({error.sqlstate})")


def _no_data() -> SqlError:
    return SqlError("02000", "no data", number=1329)


def _unawaited() -> None:
    raise Unsupported("SELECT INTO without a row where only a caller has a handler for NOT FOUND")


def _no_return() -> SqlError:
    return SqlError("2F005", "the function ended without RETURN", number=1321)


def _failed_return() -> Unsupported:
    return Unsupported("RETURN that fails under a CONTINUE handler")


def _unknown_targets(error: SqlError) -> None:
    """What variables hold after their statement failed half-way is not modelled."""
    if error.sqlstate != "02000":
        raise Unsupported(f"variables of SELECT INTO or FETCH that failed with {error.sqlstate}, under a handler")


def helpers(dialect: Dialect) -> dict[str, Any]:
    """The names that generated code uses."""
    named = dialect.rules.running.named_cursors
    return {
        "SqlError": SqlError,
        "_frame": QueryFrame,
        "_cut": cut,
        "_one": _one,
        "_strict": _strict,
        "_single": _single,
        "_first": _first,
        "_size": _size,
        "_loop_rows": _in_order,
        "_not_open": _not_open_named if named else _not_open,
        "_open": _open,
        "_next": _next_named if named else _next,
        "_close": _close_named if named else _close,
        "_range": _range,
        "_rounds": _rounds,
        "_too_long": _too_long,
        "_certain": _certain,
        "_no_data": _no_data,
        "_unawaited": _unawaited,
        "_no_return": _no_return,
        "_failed_return": _failed_return,
        "_unknown_targets": _unknown_targets,
        "_unset": object(),
    }
