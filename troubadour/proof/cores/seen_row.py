"""A row seen as it never was, for people: the reader, and the last that wrote the row (docs/cli.md *clash*).

The core of that has every writer of the row and of what was copied to it, often hundreds. Here the log before the
reader is explained; in that explanation no version of the row is as it was seen, so the reader stands against what the
row's last writers wrote, in whatever order. Does not know other explanations, nor says anything of them.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from sql_semantics.records import dataclass
from troubadour.execution.states.history import Guarded
from troubadour.model import verdict
from troubadour.model.log import Log, ObservedRows, Transaction
from troubadour.model.values import REDACTED
from troubadour.problem.budget import FEW, THOROUGHLY
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.inference.values.unreachable_rows import Unreachable
from troubadour.search.schedule.trace import Trace
from troubadour.search.scheduler import Search

SHARE = 0.5
"""Part of what is left of the user's limit that this may take."""


@dataclass(frozen=True, slots=True)
class Explained:
    """All transactions of a log before a reader, in hint order, as `trace` places them; the reader among them, its
    answer without the value that it saw amiss, where that is explained too."""

    problem: Problem
    trace: Trace


def explained_but_for(problem: Problem, shown: Unreachable) -> Explained | None:
    """The log up to a reader, as it is explained if it saw anything where it saw amiss; None where no explanation is
    found in time."""
    if problem.order_recorded or problem.unknown or problem.discovery.unknown or problem.max_staleness is not None:
        return None
    log = problem.log
    before, reader = log.transactions[: shown.item], log.transactions[shown.item]
    left = problem.budget.left()
    with suppress(OutOfTime), problem.budget.within(effort=THOROUGHLY, seconds=None if left is None else left * SHARE):
        for transactions in ([*before, _without(reader, shown)], before):
            part = Problem(
                Log(log.header, transactions, log.digest),
                problem.library,
                problem.initial,
                isolation=problem.isolation,
                heuristics=problem.heuristics,
                budget=problem.budget,
            )
            found = Search(part).run()
            if found.failure is None and found.stopped is None and found.conflict is None:
                return Explained(part, found.trace)
    return None


def _without(transaction: Transaction, shown: Unreachable) -> Transaction:
    """The transaction without a value that it saw."""
    index, number, output = shown.cell
    statement = transaction.statements[index]
    assert statement.results is not None
    seen = statement.results[0]
    rows = list(seen.rows)
    rows[number] = (*rows[number][:output], REDACTED, *rows[number][output + 1 :])
    results = (ObservedRows(seen.columns, tuple(rows), seen.truncated),)
    statements = list(transaction.statements)
    statements[index] = msgspec.structs.replace(statement, results=results)
    return msgspec.structs.replace(transaction, statements=tuple(statements))


def clash_of(explained: Explained, reader: Transaction, shown: Unreachable) -> verdict.Clash | None:
    """The reader among what the last writers of the row wrote; None where some version is as it was seen."""
    problem, trace = explained.problem, explained.trace
    table = trace.states.tables[shown.table]
    key = next(one.columns for one in table.schema.keys if one.plain)
    positions: set[int] = set()
    for row in table.rows:
        versions = [version for version in row.versions if isinstance(version, tuple)]
        if any(shown.is_row(version, key) for version in versions):
            if any(isinstance(version, Guarded) for version in row.versions):
                return None
            if any(version[shown.place] == shown.value for version in versions):
                return None
            positions.update(position for position in row.positions if position)
    last = sorted(positions)[-FEW:]
    order = [placement.item for placement in trace.placements]
    writers = tuple(problem.transaction(order[position - 1]).id for position in last)
    first = order[: last[0] - 1] if last else order
    return verdict.Clash((reader.id,), sum(item != shown.item for item in first), writers)
