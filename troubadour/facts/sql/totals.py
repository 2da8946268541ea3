"""What a transaction was told of a whole table: how many rows it has, or what a column adds up to.

A total is told of the state that the transaction reads, without what it wrote itself before. Does not know any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from sql_semantics.ir.expressions import Column
from sql_semantics.ir.queries import BaseTable, Select
from sql_semantics.values.types import INTEGER_KINDS
from troubadour.execution.observations.observation import ParsedRows
from troubadour.execution.prepared import PreparedStatement
from troubadour.facts.sql.effects import Account, Accounts, Place, Unknown
from troubadour.problem.budget import THOUSANDS
from troubadour.problem.problem import Problem


class Total(NamedTuple):
    """The rows of a table (`column` None), or what an integer column of it adds up to."""

    table: str
    column: int | None


def asks_totals(problem: Problem) -> bool:
    """Whether any transaction that committed was told a total."""
    if len(problem.committed) > THOUSANDS:
        return False
    return any(_asked(one) is not None for item in problem.committed for one in problem.prepared(item).statements)


class Totals:
    """What the transactions of a problem were told of totals, and what each adds to them. All read one state each."""

    def __init__(self, problem: Problem, accounts: Accounts) -> None:
        self._problem = problem
        self._accounts = accounts

    def told(self, item: int) -> Iterator[tuple[Total, int]]:
        """The totals that a transaction was told, of the state that it reads, where what it wrote itself is known."""
        statements = self._problem.prepared(item).statements
        for place, statement in enumerate(statements):
            found = _asked(statement)
            if found is None or found[0].table not in self._accounts.places:
                continue
            total, value = found
            before = self._accounts.of_statements(item, statements[:place])
            added = self.added(total, before)
            if added is not None:
                yield total, value - added

    def added(self, total: Total, account: Account) -> int | None:
        """How much a transaction adds to a total; None where that is not known."""
        if total.table in account.wild:
            return None
        found = 0
        for place, written in account.wrote.items():
            if place[0] != total.table:
                continue
            if not written.certain:
                return None
            own = self._added_at(total, place, account)
            if own is None:
                return None
            found += own
        return found

    def _added_at(self, total: Total, place: Place, account: Account) -> int | None:
        written, after = account.wrote[place], account.wrote[place].after
        met = None if place in account.inserted else account.met.get(place, Unknown.ROW)
        if total.column is not None and met is not None and written.added:
            return written.added[total.column]
        if after is Unknown.ROW or met is Unknown.ROW:
            return None
        if total.column is None:
            return (after is not None) - (met is not None)
        before, behind = (0 if row is None else _whole(row[total.column]) for row in (met, after))
        return None if before is None or behind is None else behind - before

    def initial(self, total: Total) -> int | None:
        """What a total is at first; None where that is not known."""
        rows = self._problem.initial.get(total.table, ())
        if total.column is None:
            return len(rows)
        numbers = [None if row is None else _whole(row[total.column]) for row in rows]
        return None if None in numbers else sum(number or 0 for number in numbers)


def _asked(statement: PreparedStatement) -> tuple[Total, int] | None:
    """The total that a statement asks for and was told; None where it asks for something else."""
    bound = None if statement.program is None else statement.program.statement
    if not isinstance(bound, Select) or len(bound.sources) != 1 or len(bound.aggregates) != 1 or bound.groups != ():
        return None
    relation, aggregate = bound.sources[0].relation, bound.aggregates[0]
    plain = bound.where is bound.having is bound.limit is bound.offset is bound.qualify is aggregate.filter is None
    if not isinstance(relation, BaseTable) or not plain or aggregate.distinct or len(bound.outputs) != 1:
        return None
    match statement.observation.results:
        case [ParsedRows(plain=True, rows=[[shown]])] if isinstance(bound.outputs[0].expression, Column):
            value = _whole(shown)
        case _:
            return None
    if value is None:
        return None
    match aggregate.function, aggregate.arguments:
        case "count_star", _:
            return Total(relation.name, None), value
        case "sum", (Column(index=index, type=kind),) if kind.kind in INTEGER_KINDS:
            return Total(relation.name, index), value
    return None


def _whole(value: object) -> int | None:
    """A whole number; None for anything else."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value // 1 == value:
        return int(value)
    return None
