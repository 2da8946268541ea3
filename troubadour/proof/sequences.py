"""What a log says of sequences at first glance.

Where RETURNING or a SELECT shows a number that was drawn just there, no state has anything to do with it. Nobody else
can have got those numbers, and one that comes twice from a sequence is a violation, unless a statement that is not
modelled may have set the sequence back (setval, ALTER SEQUENCE) or the server lost it in a crash, which happens to
numbers of transactions that did not commit. Does not know how numbers are guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Column, Expr, Free
from sql_semantics.ir.queries import OutputColumn, Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Insert, Statement
from sql_semantics.ir.walks.effects import triggers_of
from sql_semantics.records import dataclass
from sql_semantics.values.types import Value
from troubadour.execution.free.values import DISTINCT
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import PreparedStatement, UnsupportedStatement
from troubadour.model.values import REDACTED
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Number:
    """A number observed, of which sequence, by which statement; `drawn`: it was drawn right there."""

    name: str
    value: Value
    item: int
    statement: int
    drawn: bool


@dataclass(frozen=True, slots=True)
class Repeated:
    """A number that a sequence gave twice."""

    first: Number
    second: Number


def survey(problem: Problem) -> Repeated | None:
    """Tell the problem's free values which numbers are taken; the first that a sequence gave twice."""
    taken: dict[str, set[Value]] = {}
    drawn: dict[tuple[str, Value], Number] = {}
    repeated: Repeated | None = None
    restarted = False
    if not problem.library.chooses:
        return None
    for item in range(len(problem.statuses)):
        try:
            statements = problem.prepared(item).statements
        except UnsupportedStatement:
            restarted = True
            continue
        committed = problem.statuses[item] == "committed"
        for statement in statements:
            restarted = restarted or isinstance(statement.failure, Unsupported)
            for number in _numbers(item, statement, problem.library.catalog):
                taken.setdefault(number.name, set()).add(number.value)
                if number.drawn and committed:
                    other = drawn.setdefault((number.name, number.value), number)
                    if other is not number and repeated is None:
                        repeated = Repeated(other, number)
    problem.free.reserved = {name: frozenset(values) for name, values in taken.items()}
    return None if restarted else repeated


def _numbers(item: int, statement: PreparedStatement, catalog: Catalog) -> Iterator[Number]:
    results = statement.observation.results
    if statement.program is None or not results or statement.judged.fate is not Fate.RUN:
        return
    bound = statement.program.statement
    if any(trigger.before for trigger in triggers_of(bound, catalog)):
        return  # what is shown need not be what was drawn
    for place, free in _shown(bound):
        drawn = free.source in DISTINCT and not (isinstance(bound, Insert) and bound.conflict is not None)
        for row in results[0].rows or ():
            if row[place] is not REDACTED:
                yield Number(free.name, row[place], item, statement.index, drawn)  # type: ignore[arg-type]


def _shown(bound: Statement) -> Iterator[tuple[int, Free]]:
    """The columns of the answer that show what was drawn in every row."""
    match bound:
        case Select(sources=(), outputs=outputs):
            yield from _of(outputs, {})
        case Insert(rows=rows, query=None, returning=outputs) if rows and outputs is not None:
            first = rows[0]
            same = {n: expr for n, expr in enumerate(first) if all(row[n] == expr for row in rows)}
            yield from _of(outputs, same)
        case Insert(from_query=row, returning=outputs) if outputs is not None:
            yield from _of(outputs, dict(enumerate(row)))


def _of(outputs: tuple[OutputColumn, ...], stored: dict[int, Expr]) -> Iterator[tuple[int, Free]]:
    shown: set[int] = set()
    for place, output in enumerate(outputs):
        expression = output.expression
        if isinstance(expression, Column):
            if expression.index in shown:
                continue  # the same number once more
            shown.add(expression.index)
            expression = stored.get(expression.index, expression)
        if isinstance(expression, Free) and expression.source in ("nextval", "auto", "rowid", "currval"):
            yield place, expression
