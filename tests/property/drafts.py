"""Transactions of tiny random logs in the making: what is logged of their answers, faults put into that, and times.

Times are true, shifted or left out. Does not know what the transactions read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.values.types import Kind, SqlType, Value
from tests.property.random_statements import library
from troubadour.execution.prepared import result_types
from troubadour.model.log import End, ObservedError, ObservedRows, Statement
from troubadour.model.values import param_shape


@dataclass
class Draft:
    """A transaction in the making; times in ticks, ten to a commit."""

    id: str | int
    statements: list[Statement]
    ticks: list[int]
    commit: int
    status: str = "committed"
    read_only: bool = False
    times: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    seen: frozenset[int] = frozenset()


def observed(rng: random.Random, statement: Statement, outcome: Outcome) -> Statement:
    if rng.random() < 0.1:
        return statement
    affected = outcome.affected if rng.random() < 0.8 else None
    if not outcome.results:
        return msgspec.structs.replace(statement, affected=affected)
    rows = tuple(_answered(rng, result) for result in outcome.results)
    return msgspec.structs.replace(statement, results=rows, several=len(rows) > 1, affected=affected)


def _answered(rng: random.Random, result: ResultSet[Value]) -> ObservedRows:
    rows = list(result.rows)
    if result.keys is None:
        rng.shuffle(rows)
    rows = rows[result.offset :][: result.limit]
    columns = tuple(f"c{n}" for n in range(len(result.types)))
    truncated = len(rows) > 1 and rng.random() < 0.05
    return ObservedRows(columns, tuple(map(_json, rows[:1] if truncated else rows)), truncated)


def _json(row: tuple[Value, ...]) -> tuple[Any, ...]:
    return tuple(str(value) if isinstance(value, Decimal) else value for value in row)


def failed(statement: Statement, sqlstate: str) -> Statement:
    return msgspec.structs.replace(statement, error=ObservedError(sqlstate))


def spoil(rng: random.Random, drafts: list[Draft]) -> None:
    """Now and then one observation is not what was answered."""
    if rng.random() < 0.78:
        return
    places = [
        (draft, number)
        for draft in drafts
        for number, statement in enumerate(draft.statements)
        if statement.results or statement.affected is not None
    ]
    if places:
        draft, number = rng.choice(places)
        draft.statements[number] = _mutated(rng, draft.statements[number])


def _mutated(rng: random.Random, statement: Statement) -> Statement:
    if not statement.results or (statement.affected is not None and rng.random() < 0.3):
        affected = max((statement.affected or 0) + rng.choice((1, -1)), 0)
        return msgspec.structs.replace(statement, affected=affected)
    (result, *others) = statement.results
    rows = list(result.rows)
    where = rng.randrange(len(rows)) if rows else 0
    kind = rng.random()
    if rows and kind < 0.25:
        del rows[where]
    elif rows and kind < 0.35:
        rows.append(rows[where])
    elif rows:
        row = list(rows[where])
        column = rng.randrange(len(row))
        old, kind_of = row[column], _types(statement)[column].kind
        if kind_of is Kind.TEXT:
            row[column] = "x" if old is None else "z"
        else:
            row[column] = 1 if old is None else int(old) + rng.choice((1, -1))
        rows[where] = tuple(row)
    changed = msgspec.structs.replace(result, rows=tuple(rows))
    count = len(rows) if statement.affected is not None else None
    return msgspec.structs.replace(statement, results=(changed, *others), affected=count)


def _types(statement: Statement) -> tuple[SqlType, ...]:
    program = library().program(statement.sql, param_shape(statement.params))
    types = result_types(program.statement, library().catalog)
    assert types is not None
    return types[0]


def give_times(rng: random.Random, drafts: list[Draft]) -> None:
    """DBMS times, client times, both or none; true ones, and in some logs one transaction's shifted."""
    dbms, client = rng.choice(((False, False), (True, False), (False, True), (False, True), (True, True), (True, True)))
    by_statement = rng.random() < 0.7
    with_end = rng.random() < 0.8
    clocks = ("c1", "c2") if rng.random() < 0.2 else ("c1",)
    for draft in drafts:
        shift = rng.randint(-15, 35) if rng.random() < 0.25 else 0
        ticks = sorted(draft.ticks)
        if dbms and draft.status != "unknown":
            draft.times["start"] = ticks[0] + shift
            if not (draft.read_only and rng.random() < 0.3) and draft.status == "committed":
                draft.times["commit"] = max(draft.commit + shift, ticks[0] + shift)
        if client and rng.random() < 0.9:
            _give_client_times(rng, draft, [tick + shift for tick in ticks], shift, by_statement, with_end)
            if len(clocks) > 1 or rng.random() < 0.5:
                draft.times["clock"] = rng.choice(clocks)


def _give_client_times(
    rng: random.Random, draft: Draft, ticks: list[int], shift: int, by_statement: bool, with_end: bool
) -> None:
    """In tenths of a tick around the times at which things happened."""
    base = 1000
    invoked = base + 10 * ticks[0] - rng.randint(0, 20)
    draft.times["invoked"] = last = invoked
    for number, tick in enumerate(ticks[: len(draft.statements)]):
        invoked = max(last, base + 10 * tick - rng.randint(0, 15))
        returned = last = max(invoked, base + 10 * tick + rng.randint(0, 15))
        if by_statement and rng.random() < 0.9:
            statement = draft.statements[number]
            draft.statements[number] = msgspec.structs.replace(statement, invoked=invoked, returned=returned)
    commit = base + 10 * (draft.commit + shift)
    sent = max(last, commit - rng.randint(1, 15))
    answered = max(sent, commit + rng.randint(0, 60))
    known = draft.status != "unknown"
    if with_end:
        draft.times["end"] = End(invoked=sent, returned=answered if known else None)
    if known:
        draft.times["returned"] = answered
