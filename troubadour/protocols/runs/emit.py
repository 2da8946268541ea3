"""A run of a protocol as a log of what its clients saw: rows read, rows written, when. Every write has a
value of its own. Does not know any verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from troubadour.formats.write import LogWriter
from troubadour.protocols.runs.machine import Machine
from troubadour.protocols.runs.trace import Trace, history_of, initial_values

SCHEMA = "CREATE TABLE store (key INT PRIMARY KEY, value INT NOT NULL)"
READ = "SELECT value FROM store WHERE key = $1"
WRITE = "UPDATE store SET value = $1 WHERE key = $2"
STEP = 10
"""Microseconds between two steps: a transaction begins before the step that issues it and returns after another."""


def emit_log(machine: Machine, trace: Trace, level: str, path: Path) -> int:
    """Write the committed transactions of a run; how many these are. Raises OSError as files do.

    One that has not returned when the run ends returns after it. The order of the commits is a hint, no more.
    """
    values = initial_values(machine, trace.programs, trace.initial)
    header: dict[str, Any] = {
        "dialect": "postgres",
        "dbms": f"the protocol {machine.model.name}",
        "isolation": level,
        "schema": [SCHEMA],
        "initial": {
            "store": {"columns": ["key", "value"], "rows": [[key + 1, value] for key, value in values.items()]}
        },
    }
    entries = _entries(machine, trace)
    with LogWriter(path, header) as log:
        for entry in entries:
            log.transaction(entry)
    return len(entries)


def _entries(machine: Machine, trace: Trace) -> list[Mapping[str, Any]]:
    issued: dict[int, int] = {}
    decided: dict[int, int] = {}
    returned: dict[int, int] = {}
    for place, taken in enumerate(trace.steps):
        t = taken.transaction
        if t is None:
            continue
        if taken.event.issues:
            issued.setdefault(t, place)
        if taken.commit is not None:
            decided.setdefault(t, place)
        if taken.event.returns:
            returned.setdefault(t, place)
    history = history_of(machine, trace.programs, trace.initial, trace.seen)
    entries: list[Mapping[str, Any]] = []
    for one in history.transactions:
        # what commits without being issued has begun at any time before
        invoked = issued.get(one.name, 0) * STEP
        entry: dict[str, Any] = {
            "id": f"t{one.name}",
            "status": "committed",
            "commit": decided[one.name],
            "invoked": invoked,
            "returned": max(invoked, returned.get(one.name, len(trace.steps)) * STEP + STEP // 2),
            "statements": [*map(_read, one.reads.items()), *map(_write, one.writes.items())],
        }
        if one.client is not None:
            entry["session"] = f"c{one.client + 1}"
        entries.append(entry)
    return entries


def _read(read: tuple[int, int]) -> Mapping[str, Any]:
    key, value = read
    return {"sql": READ, "params": [key + 1], "result": {"columns": ["value"], "rows": [[value]]}}


def _write(write: tuple[int, int]) -> Mapping[str, Any]:
    key, value = write
    return {"sql": WRITE, "params": [value, key + 1], "affected": 1}
