"""Lookups that leave out what was gone long ago find what lookups among all rows find, and changed when those did."""

from __future__ import annotations

import random

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.values.dialect import Dialect
from troubadour.execution.states import history, index
from troubadour.execution.states.history import RowHistory, TableHistory, Version
from troubadour.execution.states.state_map import StateMap

KEYS = 3


def test_recent_lookups_find_what_all_rows_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LATELY", 6)
    monkeypatch.setattr(index, "FEW", 2)
    monkeypatch.setattr(history, "LATELY", 6)
    rng = random.Random("rows that come and go")
    left_out = 0
    for _ in range(30):
        states = StateMap(read_schema(["CREATE TABLE a (k INT, v INT)"], Dialect("postgres")), {"a": [(1, 0), (2, 0)]})
        table = states.tables["a"]
        for step in range(150):
            if rng.random() < 0.1:
                states.truncate(max(0, states.length - rng.choice((1, 2, 3, 20))))
            states.place(_writes(rng, table, step))
            newest = states.length
            for state in {newest, max(0, newest - 3), rng.randint(0, newest)}:
                for key in range(KEYS):
                    left_out += _compare(table, key, state, newest)
                present = [row for row in table.rows if row.at(state) is not None]
                assert [row for row in table.all_lately(state, newest) if row.at(state) is not None] == present
                assert {row for row, _ in states.rows_at("a", state) or ()} == set(present)
    assert left_out > 1000


def _compare(table: TableHistory, key: int, state: int, newest: int) -> int:
    def has_it(row: RowHistory) -> bool:
        version = row.at(state)
        return isinstance(version, tuple) and version[0] == key

    everything = list(table.bucket((0,), (key,)))
    rows, aside = table.lately((0,), (key,), state, newest)
    assert {row for row in rows if has_it(row)} == {row for row in everything if has_it(row)}
    footprint = [*rows, *(() if aside is None else (aside,))]
    changed = max((row.changed_at(state) for row in footprint), default=-1)
    assert changed >= max((_changed_key(row, key, state) for row in everything), default=-1)
    return len(everything) - len(rows)


def _changed_key(row: RowHistory, key: int, state: int) -> int:
    """The newest position up to `state` at which the row changed that had the key before or has it since."""
    found, had = -1, False
    for position, version in zip(row.positions, row.versions, strict=True):
        has = isinstance(version, tuple) and version[0] == key
        if position <= state and (had or has):
            found = position
        had = has
    return found


def _writes(rng: random.Random, table: TableHistory, step: int) -> dict[RowHistory, Version]:
    writes: dict[RowHistory, Version] = {}
    for row in table.rows:
        if row.versions[-1] is not None and rng.random() < 0.3:
            writes[row] = rng.choice((None, (rng.randrange(KEYS), step)))
    if rng.random() < 0.5:
        writes[RowHistory("a", f"t{step}", 0)] = (rng.randrange(KEYS), step)
    return writes
