"""Histories of others (`troubadour.formats.histories`) as histories on one table whose rows are all there at first,
for the references.

Only registers, and only committed transactions. Keys and values are numbered where they are texts. Does not know the
formats, nor what is published of a file.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.histories.history import History, Kind, Operation, Transaction, Value
from troubadour.formats.histories import FORMATS, HistoryError, told_apart
from troubadour.formats.histories import read_history as read_format
from troubadour.formats.histories.imported import Imported, Scalar


class BadHistory(Exception):
    """A file is of no format that is known, or not of the one that it was taken for."""


def read_history(path: Path, form: str | None = None) -> History:
    """Read a file, or a folder of Cobra's; the format is one of `FORMATS`, told by the content where it is not named.

    Raises BadHistory and OSError.
    """
    form = form or told_apart(path)
    if form is None or form not in FORMATS:
        raise BadHistory(f"{path.name}: of no known format")
    try:
        return history_of(read_format(path, form), path.name)
    except HistoryError as error:
        raise BadHistory(str(error)) from error


def history_of(imported: Imported, note: str) -> History:
    """Grouped by session, as most formats say no more of the order."""
    if set(imported.header["objects"].values()) != {"register"}:
        raise BadHistory(f"{note}: {imported.told or 'a history'} of something else than registers")
    keys: dict[tuple[str, Scalar], int] = {}
    texts: dict[str, int] = {}
    starts = imported.header.get("initial", {})
    initial: dict[int, Value] = {}

    def value(found: Scalar | None) -> Value:
        return -(1 << 40) - texts.setdefault(found, len(texts)) if isinstance(found, str) else _signed(found)

    def key(table: str, name: Scalar) -> int:
        number = keys.setdefault((table, name), len(keys))
        if number not in initial:
            start = starts.get(table, {})
            rows = dict(map(tuple, start.get("rows", ())))
            initial[number] = value(rows.get(name, start.get("default")))
        return number

    sessions: dict[str, list[tuple[Operation, ...]]] = {}
    for line in imported.transactions:
        operations = tuple(
            Operation(Kind.READ if kind == "r" else Kind.WRITE, key(table, name), value(found))
            for kind, table, name, found in line["ops"]
        )
        if operations and line["status"] == "committed":
            sessions.setdefault(line["session"], []).append(operations)
    transactions = tuple(
        Transaction(f"{session}.{number}", operations, f"s{session}")
        for session, those in sessions.items()
        for number, operations in enumerate(those, 1)
    )
    return History(transactions, initial, note=note)


def _signed(number: int | None) -> Value:
    """As a BIGINT holds it."""
    return number - (1 << 64) if number is not None and number >> 63 == 1 else number
