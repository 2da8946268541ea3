"""A transaction and what was seen of it, in a few lines for people. Does not know what any statement means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from troubadour.model.log import Begin, JsonValue, ObservedRows, Statement, Transaction, TransactionId
from troubadour.model.objects import READ, WRITE, ObjectLog
from troubadour.model.values import REDACTED

_STATEMENTS = 8
_ROWS = 4
_SQL = 200


def name(identifier: TransactionId) -> str:
    """A transaction's id, without quotes around text."""
    return identifier if isinstance(identifier, str) else str(identifier)


def transaction_lines(transaction: Transaction, told: Sequence[str] | None = None) -> Iterator[str]:
    """A line with its times, and one for each statement, or for each operation as `told`."""
    facts = [transaction.status] if transaction.status != "committed" else []
    if transaction.session is not None:
        facts.append(f"session {transaction.session}")
    for label in ("start", "commit", "invoked", "returned", "xid", "snapshot", "snapshot_at", "trace_id"):
        value = getattr(transaction, label)
        if value is not None:
            facts.append(f"{label} {value}")
    if transaction.begin is not None:
        facts.append(_begin_text(transaction.begin))
    yield name(transaction.id) + (f"  ({', '.join(facts)})" if facts else "")
    if told is not None:
        yield from (f"  {line}" for line in told)
        return
    for statement in transaction.statements[:_STATEMENTS]:
        yield f"  {statement_line(statement)}"
    if len(transaction.statements) > _STATEMENTS:
        yield f"  ... and {len(transaction.statements) - _STATEMENTS} more statements"


def operation_lines(log: ObjectLog, place: int) -> list[str]:
    """The operations of a transaction, a line each: ``kv 7 = 3`` read, ``kv 7 := 4`` written, ``l 1 += 9`` appended,
    added or counted."""
    signs = {READ: "=", WRITE: ":="}
    found = []
    for one in log.operations(place):
        value = msgspec.json.encode(one.value).decode() if one.known else "?"
        key = msgspec.json.encode(one.key).decode()
        found.append(f"{log.objects[one.object].name} {_cut(key, 60)} {signs.get(one.kind, '+=')} {_cut(value, _SQL)}")
    return found


def _begin_text(begin: Begin) -> str:
    times = (("invoked", begin.invoked), ("returned", begin.returned))
    said = " ".join(f"{label} {time}" for label, time in times if time is not None)
    taken = {True: "with the snapshot", False: "without a snapshot", None: ""}[begin.snapshot]
    return " ".join(text for text in ("begin", said, taken) if text)


def statement_line(statement: Statement) -> str:
    """A statement, its parameters and its observation."""
    sql = _cut(" ".join(statement.sql.split()), _SQL)
    parameters = parameters_text(statement)
    if parameters:
        sql += f"  [{parameters}]"
    observed = observed_text(statement)
    return f"{sql}  -> {observed}" if observed else sql


def parameters_text(statement: Statement) -> str:
    """Its parameters, by name where they have names."""
    if isinstance(statement.params, Mapping):
        return ", ".join(f"{key}={_value(value)}" for key, value in statement.params.items())
    return ", ".join(map(_value, statement.params or ()))


def observed_text(statement: Statement) -> str:
    """What was observed of it."""
    if statement.error is not None:
        return f"error {statement.error.sqlstate}"
    if statement.outcome_unknown:
        return "unknown"
    parts = []
    if statement.affected is not None:
        parts.append(f"{statement.affected} row{'' if statement.affected == 1 else 's'} affected")
    if statement.results is not None:
        parts.append(" ; ".join(map(_rows, statement.results)))
    return ", ".join(parts)


def _rows(result: ObservedRows) -> str:
    shown = " ".join(_row(row) for row in result.rows[:_ROWS]) or "no row"
    more = len(result.rows) - _ROWS
    return shown + (f" and {more:,} more rows" if more > 0 else "") + (" (truncated)" if result.truncated else "")


def _row(row: Iterable[JsonValue]) -> str:
    return f"({', '.join(map(_value, row))})"


def _value(value: JsonValue) -> str:
    if value is REDACTED:
        return "?"
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _cut(msgspec.json.encode(value).decode(), 60)
    return _cut(str(value), 60)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
