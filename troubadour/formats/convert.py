"""From a line's record to the model, with the checks that types cannot say.

Does not know other transactions, nor the columns' SQL types.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import chain
from typing import Any

import msgspec

from sql_semantics.patterns import pattern
from troubadour.formats.entries import BadEntry, RawStatement, RawTransaction, outline_again, shorten
from troubadour.model.log import Begin, End, ObservedError, ObservedRows, Outline, Statement, Transaction
from troubadour.model.objects import MISSING
from troubadour.model.values import REDACTED

Texts = dict[Any, Any]
"""Equal texts and tuples kept once: statements repeat all the time."""

_TEXTS_KEPT = 10_000
_SCALARS = frozenset({int, str, bool, Decimal, type(None)})
_SQLSTATE = pattern(r"[0-9A-Z]{5}", re.ASCII)
_LARGEST = 2**63 - 1


def transaction_of(raw: RawTransaction, place: int, header_clock: str | None, texts: Texts) -> Transaction:
    """The transaction that a line tells of. Raises BadEntry with the statement's number, without the transaction."""
    if raw.ops is not None:
        raise BadEntry("operations, in a log whose header names no objects")
    if raw.statements is None:
        raise BadEntry("missing required field 'statements'")
    check_times(raw)
    start, commit, invoked, returned, end, session = (
        raw.start,
        raw.commit,
        raw.invoked,
        raw.returned,
        raw.end,
        raw.session,
    )
    if raw.begin is not None:
        invoked = raw.begin.invoked if invoked is None else invoked
    if session is not None and not isinstance(session, str):
        session = str(session)
    statements = []
    for statement in raw.statements:
        try:
            statements.append(statement_of(statement, texts))
        except BadEntry as error:
            raise BadEntry(error.text, statement=len(statements) + 1) from error
    return Transaction(
        raw.id,
        raw.status,
        tuple(statements),
        place,
        session,
        raw.isolation,
        raw.read_only,
        start,
        commit,
        invoked,
        returned,
        end,
        raw.clock or header_clock,
        raw.xid,
        raw.snapshot,
        raw.snapshot_at,
        raw.begin,
        raw.sno,
        raw.trace_id,
    )


def outline_of(line: bytes, header_clock: str | None) -> Outline:
    """When a transaction ran whose line was read before."""
    one = outline_again(line)
    clock = one.clock or header_clock
    invoked = one.begin.invoked if one.invoked is None and one.begin is not None else one.invoked
    if clock == one.clock and invoked == one.invoked:
        return one
    return msgspec.structs.replace(one, clock=clock, invoked=invoked)


def check_times(raw: RawTransaction) -> None:
    """Raises BadEntry where what a line says of the transaction as a whole cannot be."""
    start, commit, invoked, returned = raw.start, raw.commit, raw.invoked, raw.returned
    if returned is not None and invoked is not None and returned < invoked:
        raise BadEntry(_backwards("the transaction", invoked, returned))
    if commit is not None and start is not None and commit < start:
        raise BadEntry(f"commit {commit} is before start {start}")
    if raw.kind == "intent" and raw.status != "unknown":
        raise BadEntry(f"an intent has status 'unknown', not {raw.status!r}")
    if raw.begin is not None:
        _check_begin(raw.begin, raw)
    if raw.end is not None:
        _check_end(raw.end, raw.status)


def statement_of(raw: RawStatement, texts: Texts) -> Statement:
    """The statement as the model has it. Raises BadEntry."""
    sql, params, results, invoked, returned = raw.sql, raw.params, raw.results, raw.invoked, raw.returned
    known = texts.get(sql)
    if known is not None:
        sql = known
    elif len(texts) < _TEXTS_KEPT:
        texts[sql] = sql
    if returned is not None and invoked is not None and returned < invoked:
        raise BadEntry(_backwards("the statement", invoked, returned))
    if params is not None and not _SCALARS.issuperset(
        map(type, params.values() if isinstance(params, dict) else params)
    ):
        params = _marked_params(params)
    several = results is not None
    if raw.result is not None:
        if several:
            raise BadEntry("both result and results")
        results = (checked_rows(raw.result),)
    elif results is not None:
        results = tuple(map(checked_rows, results))
    error = raw.error
    if error is not None:
        if raw.affected is not None or results is not None:
            raise BadEntry("an error together with another observation")
        _check_error(error)
    unknown = raw.outcome is not None
    if unknown and (raw.affected is not None or results is not None or error is not None):
        raise BadEntry("an unknown outcome together with an observation")
    return Statement(sql, params, results, several, raw.affected, error, unknown, invoked, returned)


def checked_rows(result: ObservedRows) -> ObservedRows:
    """Rows as wide as there are columns, of scalars and `REDACTED` only. Raises BadEntry."""
    rows = result.rows
    width = len(result.columns)
    for row in rows:
        if len(row) != width:
            raise BadEntry(f"row {rows.index(row) + 1} has {len(row)} values for {width} columns")
    if not _SCALARS.issuperset(map(type, chain.from_iterable(rows))):
        rows = tuple(tuple(map(_marked, row)) for row in rows)
        return ObservedRows(result.columns, rows, result.truncated)
    return result


def scalar(value: Any) -> Any:
    """`value` if it is one that a log can give without redaction. Raises BadEntry."""
    if type(value) not in _SCALARS:
        raise BadEntry(f"{shorten(value)} is no value")
    return value


def _marked(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, dict) and value == {"redacted": True} and value["redacted"] is True:
        return REDACTED
    raise BadEntry(f"{shorten(value)} is no value")


def _marked_params(params: Any) -> Any:
    if isinstance(params, dict):
        return {name: _parameter(value) for name, value in params.items()}
    return tuple(map(_parameter, params))


def _parameter(value: Any) -> Any:
    """A value, or an array of values."""
    return tuple(map(_marked, value)) if isinstance(value, list) else _marked(value)


def _backwards(what: str, invoked: int, returned: int) -> str:
    return f"{what} returned at {returned}, before it was invoked at {invoked}"


def _check_begin(begin: Begin, raw: RawTransaction) -> None:
    """BEGIN comes first; what follows may have been sent before it was answered (libpq's pipelines)."""
    _check_times("begin", begin.invoked, begin.returned)
    invoked, returned = begin.invoked, begin.returned
    if invoked is not None:
        if raw.invoked is not None and invoked < raw.invoked:
            raise BadEntry(f"begin was invoked at {invoked}, before the transaction was at {raw.invoked}")
        first = next((one.invoked for one in raw.statements or () if one.invoked is not None), None)
        if first is not None and first < invoked:
            raise BadEntry(f"begin was invoked at {invoked}, after a statement was at {first}")
    if returned is not None and raw.returned is not None and raw.returned < returned:
        raise BadEntry(f"begin returned at {returned}, after the transaction did at {raw.returned}")
    if begin.snapshot is not None and raw.snapshot_at is not None and begin.snapshot != (raw.snapshot_at == "begin"):
        raise BadEntry(f"begin: snapshot is {str(begin.snapshot).lower()}, but snapshot_at is {raw.snapshot_at!r}")


def _check_end(end: End, status: str) -> None:
    _check_times("end", end.invoked, end.returned)
    if end.error is not None:
        _check_error(end.error)
        if status == "committed":
            raise BadEntry("committed, though its end failed with an error")


def _check_times(what: str, invoked: int | None, returned: int | None) -> None:
    """Those of BEGIN or of COMMIT, whose record bounds no time."""
    if any(time is not None and not MISSING < time <= _LARGEST for time in (invoked, returned)):
        raise BadEntry(f"{what}: a time beyond 64 bits")
    if returned is not None and invoked is not None and returned < invoked:
        raise BadEntry(_backwards(f"the {what}", invoked, returned))


def _check_error(error: ObservedError) -> None:
    if not _SQLSTATE.fullmatch(error.sqlstate):
        raise BadEntry(f"sqlstate {shorten(error.sqlstate)} is not five digits and capital letters")
