"""A case made small with the server in the loop: whatever goes, the rest has to show the same finding still.

Does not know what a finding is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from troubadour.hunt.case import ALONE, STATEMENT, Case, Step
from troubadour.hunt.generate.pieces import simpler
from troubadour.hunt.generate.schemas import TableSpec

Shows = Callable[[Case], bool]


def shrink(case: Case, shows: Shows) -> Case:
    """A case from which nothing more can be taken: transactions, statements, sessions, tables, rows, columns, clauses.

    `shows` runs a case and tells whether the finding is there. The largest steps are tried first; after a pass that
    took something away another one begins.
    """
    progress = True
    while progress:
        before = case.size()
        for steps in (_transactions, _in_a_row, _statements, _tables, _rows, _columns, _clauses):
            case = steps(case, shows)
        progress = case.size() < before
    return case


def _transactions(case: Case, tried: Shows) -> Case:
    """Halves of them, then quarters, then one by one."""
    size = max(1, len(case.transactions) // 2)
    while True:
        place = 0
        while place < len(case.transactions):
            smaller = case.without(frozenset(case.transactions[place : place + size]))
            if smaller.steps and tried(smaller):
                case = smaller
            else:
                place += size
        if size == 1:
            return case
        size //= 2


def in_a_row(case: Case) -> Case:
    """The case on one session, one transaction after another in the order of their first steps."""
    places = {transaction: place for place, transaction in enumerate(case.transactions)}
    steps = sorted(case.steps, key=lambda step: places[step.transaction])
    return replace(case, steps=tuple(replace(step, session=0) for step in steps))


def _in_a_row(case: Case, tried: Shows) -> Case:
    """One session, where that shows it."""
    serial = in_a_row(case)
    return serial if len(case.sessions) > 1 and tried(serial) else case


def _statements(case: Case, tried: Shows) -> Case:
    """Statements one by one; what begins and ends a transaction, where it has one statement or can do without."""
    place = len(case.steps) - 1
    while place >= 0:
        if place < len(case.steps) and case.steps[place].role == STATEMENT:
            smaller = replace(case, steps=case.steps[:place] + case.steps[place + 1 :])
            if tried(smaller):
                case = smaller
        place -= 1
    for transaction in case.transactions:
        own = [step for step in case.steps if step.transaction == transaction]
        if len(own) == 1:
            continue
        steps = tuple(
            replace(step, role=ALONE) if step.role == STATEMENT and step.transaction == transaction else step
            for step in case.steps
            if step.transaction != transaction or step.role == STATEMENT
        )
        smaller = replace(case, steps=_numbered(steps, transaction, case))
        if smaller.steps and tried(smaller):
            case = smaller
    return case


def _numbered(steps: tuple[Step, ...], transaction: int, case: Case) -> tuple[Step, ...]:
    """Statements of what was one transaction, each of which is one by itself now."""
    fresh = max(case.transactions)
    found = []
    for step in steps:
        if step.transaction == transaction:
            fresh += 1
            step = replace(step, transaction=fresh)
        found.append(step)
    return tuple(found)


def _tables(case: Case, tried: Shows) -> Case:
    for text in case.extra:
        smaller = replace(case, extra=tuple(other for other in case.extra if other != text))
        if tried(smaller):
            case = smaller
    for table in case.tables:
        smaller = replace(case, tables=tuple(other for other in case.tables if other is not table))
        if len(case.tables) > 1 and tried(smaller):
            case = smaller
    return case


def _with_table(case: Case, place: int, table: TableSpec) -> Case:
    return replace(case, tables=(*case.tables[:place], table, *case.tables[place + 1 :]))


def _rows(case: Case, tried: Shows) -> Case:
    for place in range(len(case.tables)):
        size = max(1, len(case.tables[place].rows))
        while size:
            at = 0
            while at < len(case.tables[place].rows):
                table = case.tables[place]
                smaller = _with_table(case, place, replace(table, rows=table.rows[:at] + table.rows[at + size :]))
                if tried(smaller):
                    case = smaller
                else:
                    at += size
            size //= 2
    return case


def _columns(case: Case, tried: Shows) -> Case:
    """Columns, constraints, and what stands behind the type of a column."""
    for place in range(len(case.tables)):
        for smaller in _plainer(case, place):
            if tried(smaller):
                case = smaller
        for name in [column.name for column in case.tables[place].columns[1:]]:
            table = case.tables[place]
            at = [column.name for column in table.writable()].index(name) if name in table.filled() else None
            rows = table.rows if at is None else [row[:at] + row[at + 1 :] for row in table.rows]
            columns = [column for column in table.columns if column.name != name]
            smaller = _with_table(case, place, replace(table, columns=columns, rows=rows))
            if tried(smaller):
                case = smaller
    return case


def _plainer(case: Case, place: int) -> Iterator[Case]:
    table = case.tables[place]
    for constraint in table.constraints:
        rest = [other for other in table.constraints if other != constraint]
        yield _with_table(case, place, replace(table, constraints=rest))
    for at, column in enumerate(table.columns):
        if column.suffix or column.not_null:
            plain = replace(column, suffix="", not_null=False)
            columns = [*table.columns[:at], plain, *table.columns[at + 1 :]]
            yield _with_table(case, place, replace(table, columns=columns))


def _clauses(case: Case, tried: Shows) -> Case:
    """Each statement's tree, the largest cuts first. After a cut the next ones are tried, and those before it once all
    were: most of them fail again."""
    for place, step in enumerate(case.steps):
        if step.role not in (STATEMENT, ALONE):
            continue
        at, progress = 0, True
        while progress or at:
            if not at:
                progress = False
            for text in islice(simpler(case.steps[place].text), at, None):
                steps = (*case.steps[:place], replace(step, text=text), *case.steps[place + 1 :])
                smaller = replace(case, steps=steps)
                if tried(smaller):
                    case, progress = smaller, True
                    break
                at += 1
            else:
                at = 0
    return case
