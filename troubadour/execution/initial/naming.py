"""Which rows of an unknown initial state a statement names, by its text or by its answer.

A statement *names* a row that it restricts itself to by a key (``id = 5``, ``id IN (1, 2)``), or that its answer
shows with a key. Where it names every row that can matter to its answer, a row that nothing names makes no difference
to it. Does not know states: what a statement looks up while it runs is noted by the views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product

from sql_semantics.errors import SqlError
from sql_semantics.ir.expressions import Binary, Cast, Column, Const, Expr, InList, Param
from sql_semantics.ir.queries import BaseTable, Identified, OutputColumn, Select, Source
from sql_semantics.ir.statements import Delete, Insert, Statement, Update
from sql_semantics.ir.walks.traverse import conjuncts, has_subquery, walk
from sql_semantics.library import Program
from sql_semantics.plan.access import bare_column
from sql_semantics.records import dataclass
from sql_semantics.run import Arguments
from sql_semantics.run.expressions.expressions import compile_row
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import Kind, Value
from sql_semantics.view import Row
from troubadour.execution.initial.discovery import Columns, Discovery
from troubadour.execution.observations.observation import ParsedRows
from troubadour.execution.prepared import PreparedStatement
from troubadour.model.values import REDACTED

MOST = 1_000
"""Combinations of values of one condition that are looked at."""

MOST_KEPT = 32
"""Rows that a table is known to have had of which a query is asked whether it lacks one."""

Values = Mapping[int, frozenset[Value]]
"""Column positions of an environment row that a condition restricts to some values each."""


def name_rows(statement: PreparedStatement, discovery: Discovery, dialect: Dialect) -> frozenset[str]:
    """Note the rows that a statement names; the tables of which it names all that can matter to its answer."""
    program = statement.program
    if program is None:
        return frozenset()
    naming = _naming_of(program, dialect)
    restricted = naming.restricted(statement.arguments)
    told: dict[str, bool] = {}
    for table, offset in naming.tables:
        if table not in discovery.unknown:
            continue
        named = _by_condition(table, offset, restricted, discovery) or _by_answer(
            statement, table, offset, restricted, discovery
        )
        told[table] = told.get(table, True) and named
    return (
        frozenset()
        if naming.has_subquery or program.calls
        else frozenset(table for table, named in told.items() if named)
    )


def name_kept_rows(
    statement: PreparedStatement, discovery: Discovery, dialect: Dialect, keys: Mapping[str, Sequence[Value]]
) -> None:
    """Note of a query's rows those that its condition admits by their key, of one column, among the `keys` that its
    table is known to have had: its answer may lack one. Not where these are many."""
    program = statement.program
    if program is None or not isinstance(program.statement, Select):
        return
    naming = _naming_of(program, dialect)
    if naming.has_subquery or len(naming.tables) != 1:
        return
    ((table, offset),) = naming.tables
    columns = (
        next((key for key in discovery.keys(table) if len(key) == 1), None) if table in discovery.unknown else None
    )
    if columns is None or not keys.get(table):
        return
    (column,) = columns
    admits = _admitting(program, offset + column, dialect)
    admitted: list[Value] = []
    with suppress(SqlError):
        for value in keys[table]:
            if admits((*(None,) * (offset + column), value), statement.arguments):
                admitted.append(value)
                if len(admitted) > MOST_KEPT:
                    return
        for value in admitted:
            discovery.find(table, columns, (value,))


def _admitting(program: Program, column: int, dialect: Dialect) -> Callable[[Row, Arguments], bool]:
    """Whether the conditions of a program's statement on a column alone hold for a row."""
    alone = (one for one in _conditions(program.statement) if _is_of(one, column))
    compiled = program.remember("admitting", lambda: compile_row(tuple(alone), dialect))
    return lambda row, arguments: all(held is True for held in compiled(row, arguments, []))


def _is_of(condition: Expr, column: int) -> bool:
    parts = list(walk(condition))
    plain = all(isinstance(part, Const | Param | Cast | Column | Binary) for part in parts)
    return plain and all(part.index == column for part in parts if isinstance(part, Column))


Restriction = Callable[[Arguments], Values]
"""What a condition restricts columns to, by the statement's arguments."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """What a program's statement says of the rows that it names, whatever its arguments are: once for each program."""

    tables: tuple[tuple[str, int], ...]
    conditions: tuple[Restriction, ...]
    has_subquery: bool

    def restricted(self, arguments: Arguments) -> Values:
        """The values that columns are restricted to."""
        found: dict[int, frozenset[Value]] = {}
        for condition in self.conditions:
            for column, values in condition(arguments).items():
                found[column] = found[column] & values if column in found else values
        return found


def _naming_of(program: Program, dialect: Dialect) -> _Naming:
    found: _Naming | None = program.remembered.get("naming")
    if found is None:
        bound = program.statement
        conditions = [_restriction(condition, dialect) for condition in _conditions(bound)]
        found = program.remembered["naming"] = _Naming(
            tuple(_tables(bound)), tuple([one for one in conditions if one is not None]), has_subquery(bound)
        )
    return found


def _tables(bound: Statement) -> Iterator[tuple[str, int]]:
    """The stored tables that a statement's own condition ranges over, with the offset of their columns."""
    match bound:
        case Select(sources=sources) if all(_is_plain(source) for source in sources):
            for source in sources:
                assert isinstance(source.relation, BaseTable | Identified)
                yield source.relation.name, source.offset
        case Update(table=table) | Delete(table=table) | Insert(table=table, query=None):
            yield table, 0


def _is_plain(source: Source) -> bool:
    return isinstance(source.relation, BaseTable | Identified) and source.kind in ("cross", "inner")


def _conditions(bound: Statement) -> list[Expr]:
    """What has to hold of every row that matters to a statement."""
    match bound:
        case Select(sources=sources, where=where):
            conditions = [*conjuncts(where)]
            for source in sources:
                if source.kind == "inner":
                    conditions += conjuncts(source.on)
            return conditions
        case Update(where=where) | Delete(where=where):
            return [*conjuncts(where)]
    return []


def _restriction(condition: Expr, dialect: Dialect) -> Restriction | None:
    """What a condition restricts columns to; None where that is nothing."""
    pairs: tuple[tuple[Expr, tuple[Expr, ...]], ...]
    match condition:
        case Binary("or", left, right):
            first, second = _restriction(left, dialect), _restriction(right, dialect)
            return None if first is None or second is None else _either(first, second)
        case Binary("=", left, right):
            pairs = ((left, (right,)), (right, (left,)))
        case InList(operand, items, False):
            pairs = ((operand, items),)
        case _:
            return None
    closed: list[tuple[int, Callable[[Arguments], Sequence[Value]]]] = []
    for one, others in pairs:
        column = _column(one, dialect)
        if column is not None and all(_is_closed(other) for other in others):
            with suppress(SqlError):
                closed.append((column, _evaluated(others, dialect)))
    return _first_of(closed) if closed else None


def _evaluated(expressions: tuple[Expr, ...], dialect: Dialect) -> Callable[[Arguments], Sequence[Value]]:
    compiled = compile_row(expressions, dialect)
    return lambda arguments: compiled((), arguments, [])


def _either(first: Restriction, second: Restriction) -> Restriction:
    def restricted(arguments: Arguments) -> Values:
        one, other = first(arguments), second(arguments)
        return {column: one[column] | other[column] for column in one.keys() & other.keys()}

    return restricted


def _first_of(closed: Sequence[tuple[int, Callable[[Arguments], Sequence[Value]]]]) -> Restriction:
    """The first column whose values have no error."""

    def restricted(arguments: Arguments) -> Values:
        for column, values in closed:
            with suppress(SqlError):
                return {column: frozenset(value for value in values(arguments) if value is not None)}
        return {}

    return restricted


def _column(expr: Expr, dialect: Dialect) -> int | None:
    """The column that an expression is, where SQL equality of its values is equality of Python values."""
    column = bare_column(expr)
    if column is None:
        return None
    type_ = column.type
    plain = not type_.padded and not type_.collation and equal_by_code_points(text_rule(dialect))
    if type_.kind is Kind.TEXT and not plain:
        return None
    return column.index


def _is_closed(expr: Expr) -> bool:
    return all(isinstance(part, Const | Param | Cast) for part in walk(expr))


def _by_condition(table: str, offset: int, restricted: Values, discovery: Discovery) -> bool:
    """Note the rows that a condition restricts a statement to; whether it does."""
    for key in discovery.keys(table):
        if all(offset + column in restricted for column in key):
            sets = [restricted[offset + column] for column in key]
            count = 1
            for values in sets:
                count *= len(values)
            if count > MOST:
                continue
            for held in product(*sets):
                discovery.find(table, key, held)
            return True
    return False


def _by_answer(statement: PreparedStatement, table: str, offset: int, restricted: Values, discovery: Discovery) -> bool:
    """Note the rows that an answer shows with their keys; whether it shows all that can matter to it."""
    assert statement.program is not None
    outputs = _shown(statement.program.statement)
    results = statement.observation.results
    if outputs is None or results is None or len(results) != 1 or results[0].rows is None:
        return False
    for key in discovery.keys(table):
        places = [_place(outputs, offset + column) for column in key]
        fixed = [restricted.get(offset + column, frozenset()) for column in key]
        if all(place is not None or len(values) == 1 for place, values in zip(places, fixed, strict=True)):
            return _note(table, key, list(zip(places, fixed, strict=True)), results[0], discovery)
    return False


def _shown(bound: Statement) -> Sequence[OutputColumn] | None:
    """The columns of an answer that has one row for each row, or combination of rows, that matters."""
    match bound:
        case Select(
            groups=None, aggregates=(), offset=None, windows=(), qualify=None, distinct_on=(), skip_locked=False
        ):
            return bound.outputs
        case Update(returning=outputs, limit=None) | Delete(returning=outputs, limit=None):
            return outputs
    return None


def _place(outputs: Sequence[OutputColumn], column: int) -> int | None:
    """Which output shows a column of the environment row."""
    for place, output in enumerate(outputs):
        if isinstance(output.expression, Column) and output.expression.index == column:
            return place
    return None


def _note(
    table: str,
    key: Columns,
    places: Sequence[tuple[int | None, frozenset[Value]]],
    rows: ParsedRows,
    discovery: Discovery,
) -> bool:
    """Note the rows shown: each column of the key in an output, or with the one value that it can have."""
    complete = True
    for row in rows.rows or ():
        values = [next(iter(fixed)) if place is None else row[place] for place, fixed in places]
        if any(value is REDACTED for value in values):
            complete = False
        else:
            discovery.find(table, key, values)  # type: ignore[arg-type]
    return complete
