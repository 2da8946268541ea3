"""Edges in words: each with its statement, its row or condition, the values and the writer of each value seen.

Does not know how edges were found.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.view import Row
from troubadour.audit.account.edges import Possible
from troubadour.audit.account.rerun import Rerun
from troubadour.audit.told.explain import name
from troubadour.isolation.anomalies import Kind
from troubadour.model.account import Change, Edge
from troubadour.model.log import InitialTable, Transaction
from troubadour.problem.budget import MANY, THOUSANDS
from troubadour.proof.wording import value_text

_SHOWN = 80
"""Characters of a value, a list of values or a condition that are shown."""


def edge_of(rerun: Rerun, found: Possible) -> Edge:
    """An edge in words, and as data for a program that checks it."""
    earlier, later = rerun.at(found.earlier), rerun.at(found.later)
    one, other = name(earlier.id), name(later.id)
    if found.kind is Kind.SESSION:
        text = f"{one} comes before {other}: session {earlier.session} committed it before {other} began"
        return Edge("session", earlier.id, later.id, text)
    if found.kind is Kind.REAL_TIME:
        return Edge("real-time", earlier.id, later.id, f"{one} comes before {other}: {_times(earlier, later)}")
    row = found.row
    if row is None:
        text = (
            f"{one} comes before {other}: {one}'s snapshot, taken at {earlier.start}, lacks {other}, which committed "
            f"at {later.commit}"
        )
        return Edge("rw", earlier.id, later.id, text)
    versions = rerun.versions(row)
    assert versions is not None
    seen = None if found.made is None else versions.at(found.made)
    written = versions.at(found.earlier if found.kind is Kind.WR else found.later)
    key = rerun.key_text(row, written or seen)
    writer = rerun.at(found.made) if found.made else None
    first, second = _changed(rerun, row, seen, written)
    statement = found.statement
    if found.kind is Kind.WW:
        text = (
            f"{one} comes before {other}: both wrote {key}, {one} {_values(first)} and then {other} {_values(second)}"
        )
    elif found.kind is Kind.WR:
        first = told(rerun, row, written)
        did = "had deleted" if written is None else "wrote"
        text = (
            f"{one} comes before {other}: {other}'s statement {_number(statement)} "
            f"{_read(key, written, first, found)}, which {one} {did}{_fate(earlier)}"
        )
    else:
        origin = "" if seen is None else f", {_origin(writer)}"
        text = (
            f"{one} comes before {other}: {one}'s statement {_number(statement)} {_met(key, seen, first, found)}"
            f"{origin}, and {other} {_wrote(seen, written, second)}"
        )
    return Edge(
        found.kind.value,
        earlier.id,
        later.id,
        text,
        statement=statement,
        table=row.partition(":")[0],
        row=row,
        key=key,
        predicate=found.predicate,
        seen=first,
        writer=None if writer is None else writer.id,
        writer_status=None if writer is None else writer.status,
        written=second if found.kind is not Kind.WR else first,
    )


def changes_of(rerun: Rerun, positions: Sequence[int]) -> tuple[Change, ...]:
    """What the transactions at these positions changed, in order."""
    found = []
    for position in positions:
        for row in rerun.rows_written(position):
            versions = rerun.versions(row)
            if versions is None:
                continue
            before, after = versions.at(position - 1), versions.at(position)
            key = rerun.key_text(row, after or before)
            found.append(Change(rerun.at(position).id, key, told(rerun, row, before), told(rerun, row, after)))
    return tuple(found[:MANY])


def rows_before(rerun: Rerun, base: int) -> tuple[str, ...] | None:
    """The rows of a state, as INSERTs; None for too many."""
    found = rerun.inserts(base)
    return tuple(found) if len(found) <= THOUSANDS else None


def tables_before(rerun: Rerun, base: int) -> tuple[InitialTable, ...] | None:
    """The rows of a state, as a log has them; None for too many, or for values that it has no words for."""
    try:
        found = rerun.tables(base)
    except Unsupported:
        return None
    return found if sum(len(one.rows) for one in found) <= THOUSANDS else None


def _number(statement: int | None) -> str:
    return "?" if statement is None else str(statement + 1)


def _read(key: str, written: Row | None, values: str | None, found: Possible) -> str:
    if written is None:
        return f"did not find {key} any more"
    return f"tested {_values(values)} of {key}" if found.predicate else f"read {_values(values)} of {key}"


def _met(key: str, seen: Row | None, values: str | None, found: Possible) -> str:
    if seen is None:
        return f"found no {key}"
    if found.predicate:
        return f"did not meet {key}, which had {_values(values)}"
    return f"read {_values(values)} of {key}"


def _wrote(seen: Row | None, written: Row | None, values: str | None) -> str:
    if written is None:
        return "deleted it"
    return f"{'inserted' if seen is None else 'wrote'} {_values(values)} there"


def _origin(writer: Transaction | None) -> str:
    return "which is initial" if writer is None else f"which {name(writer.id)} wrote{_fate(writer)}"


def _fate(writer: Transaction) -> str:
    return "" if writer.status == "committed" else f" ({writer.status})"


def _values(text: str | None) -> str:
    return "nothing" if text is None else text


def told(rerun: Rerun, row: str, values: Row | None) -> str | None:
    """A version without its key."""
    if values is None:
        return None
    keys = rerun.key_columns(row)
    names = rerun.columns(row)
    places = [place for place in range(len(values)) if place not in keys] or list(range(len(values)))
    return _cut(", ".join(f"{names[place]}={value_text(values[place])}" for place in places))


def _changed(rerun: Rerun, row: str, seen: Row | None, written: Row | None) -> tuple[str | None, str | None]:
    """The columns in which two versions differ, of each; all but the key where one is missing."""
    if seen is None or written is None or seen == written:
        return told(rerun, row, seen), told(rerun, row, written)
    names = rerun.columns(row)
    places = [place for place in range(len(seen)) if seen[place] != written[place]]
    first, second = (
        _cut(", ".join(f"{names[place]}={value_text(values[place])}" for place in places)) for values in (seen, written)
    )
    return first, second


def _times(earlier: Transaction, later: Transaction) -> str:
    if earlier.commit is not None and later.start is not None and earlier.commit < later.start:
        return f"it committed at {earlier.commit}, before {name(later.id)}'s snapshot at {later.start}"
    pause = (later.invoked or 0) - (earlier.returned or 0)
    shown = f"{pause / 1e6:,.3f} s" if pause >= 1000 else f"{pause} µs"
    return f"it was answered {shown} before {name(later.id)} was sent (at {earlier.returned} and {later.invoked})"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
