"""Failures in the user's words: rows by their keys, transactions by their ids; and what they claim of one statement,
for a program that can ask the product itself whether that is so.

Does not decide anything.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from troubadour.execution.states.history import RowHistory, Version
from troubadour.isolation.levels import Conflict, Scope
from troubadour.model.account import Edge
from troubadour.model.log import TransactionId
from troubadour.model.verdict import Claim
from troubadour.problem.budget import FEWEST, MANY, SEVERAL
from troubadour.problem.problem import Problem
from troubadour.proof.wording import key_text, value_text
from troubadour.search.found import Found
from troubadour.search.schedule.execute import Failure
from troubadour.search.schedule.trace import Trace


def name(identifier: TransactionId) -> str:
    """A transaction's id as the log writes it, without quotes around text."""
    return identifier if isinstance(identifier, str) else msgspec.json.encode(identifier).decode()


def row_text(trace: Trace, row: RowHistory, version: Version) -> str:
    """A row by its key: ``accounts(id=2)``."""
    schema = trace.states.tables[row.table].schema
    values = version if isinstance(version, tuple) else next((v for v in row.versions if isinstance(v, tuple)), None)
    if values is None:
        return row.address
    key = schema.keys[0].columns if schema.keys else range(min(2, len(schema.columns)))
    return key_text(schema, key, [values[column] for column in key])


def explain(problem: Problem, trace: Trace, failure: Failure) -> str:
    """One sentence on why a transaction has no place after the ones in `trace`."""
    failing = name(problem.transaction(failure.item).id)
    match failure.condition:
        case "NWC" if problem.levels[failure.item].conflict is Conflict.VALUES:
            return _write_conflict(problem, trace, failure, failing)
        case "observation" | "error":
            return _observation(problem, trace, failure, failing)
    text = failure.text
    for row in failure.rows:
        text = text.replace(row.address, row_text(trace, row, failure.source))
    return f"{failing}: {text}"


def _write_conflict(problem: Problem, trace: Trace, failure: Failure, item: str) -> str:
    row = _in_trace(trace, failure.rows[0])
    if row is None:
        return f"{item}: {failure.text}"
    source, last = failure.source, row.at(trace.states.length)
    writer_position = row.positions[-1]
    writer = name(problem.transaction(trace.placements[writer_position - 1].item).id)
    changed = _changed_columns(trace, row, source, last)
    before = ", ".join(value_text(source[c]) for c in changed) if isinstance(source, tuple) else "absence"
    after = ", ".join(value_text(last[c]) for c in changed) if isinstance(last, tuple) else None
    what = f"committed {after} there" if after is not None else "deleted it"
    return f"{item} changes {row_text(trace, row, source)} from {before}, but {writer} {what} after {item}'s snapshot"


def _in_trace(trace: Trace, row: RowHistory) -> RowHistory | None:
    """The row as the trace has it now: where its author was taken back and placed again, it is another object."""
    if row.positions:
        return row
    return next((other for other in trace.states.tables[row.table].rows if other.address == row.address), None)


def _changed_columns(trace: Trace, row: RowHistory, source: Version, last: Version) -> list[int]:
    if isinstance(source, tuple) and isinstance(last, tuple):
        return [column for column in range(len(source)) if source[column] != last[column]]
    key = {column for item in trace.states.tables[row.table].schema.keys for column in item.columns}
    width = len(trace.states.tables[row.table].schema.columns)
    return [column for column in range(width) if column not in key] or list(range(width))


def _observation(problem: Problem, trace: Trace, failure: Failure, failing: str) -> str:
    texts: list[str] = []
    candidates = trace.candidates(failure.item) if failure.condition == "observation" else iter(())
    for candidate in islice(candidates, MANY):
        problem.budget.left()
        other = candidate.failure
        if other is not None and other.statement == failure.statement and other.text not in texts:
            texts.append(other.text)
        if len(texts) > FEWEST:
            break
    assert failure.statement is not None
    statement = problem.transaction(failure.item).statements[failure.statement]
    sql = " ".join(statement.sql.split())
    shown = sql if len(sql) <= 80 else sql[:77] + "..."
    if statement.params:
        shown += f" with {msgspec.json.encode(statement.params).decode()}"
    where = f"statement {failure.statement + 1} of {failing} ({shown})"
    if len(texts) <= 1:
        return f"{where}: {failure.text}"
    kind = "version" if problem.levels[failure.item].scope is Scope.ROW else "state"
    return f"{where}: no {kind} that it may read explains it: {_joined(texts)}"


def _joined(texts: list[str]) -> str:
    """Several mismatches in one: "observed 66, expected 890 or 880 or ..."."""
    parts = [text.partition(", expected ") for text in texts]
    if all(part[0] == parts[0][0] and part[1] for part in parts):
        expected = " or ".join(part[2] for part in parts[:FEWEST])
        return f"{parts[0][0]}, expected {expected}{' or ...' if len(texts) > FEWEST else ''}"
    return "; ".join(texts[:FEWEST]) + ("; ..." if len(texts) > FEWEST else "")


def claim_of(problem: Problem, found: Found, garbage: Edge | None = None) -> Claim | None:
    """The claim that a failure makes, None where it is not about an answer. `garbage`: as of `Claim`."""
    failure = found.failure
    if failure is None or failure.condition not in ("observation", "error") or failure.statement is None:
        return None
    states = found.trace.states
    told = []
    for state in range(states.length, max(-1, states.length - SEVERAL), -1):
        rows = {name: states.rows_at(name, state) for name in problem.library.catalog.tables}
        known = {name: tuple(row for _, row in some) for name, some in rows.items() if some is not None}
        if len(known) == len(rows) and known not in told:
            told.append(known)
    return Claim(problem.transaction(failure.item).id, failure.statement, tuple(told), garbage)


def claim_of_garbage(garbage: Edge) -> Claim | None:
    """The claim that a read is of no version, whichever state it was of."""
    return None if garbage.statement is None else Claim(garbage.later, garbage.statement, (), garbage)
