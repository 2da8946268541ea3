"""Scans of states of the versioned map, against asking every row, while states come and go. Does not test indexes."""

from __future__ import annotations

import random

from sql_semantics.frontend import read_schema
from sql_semantics.terms import atom
from sql_semantics.values.dialect import Dialect
from troubadour.execution.states.history import Guarded, RowHistory, Version
from troubadour.execution.states.state_map import StateMap


def test_a_scan_finds_what_every_row_says() -> None:
    rng = random.Random("scans of states")
    tables = read_schema(["CREATE TABLE a (k INT)", "CREATE TABLE b (k INT)"], Dialect("postgres"))
    for _ in range(40):
        states = StateMap(tables, {"a": [(1,), (2,)], "b": []})
        for step in range(60):
            kind = rng.random()
            if kind < 0.45:
                states.place(_writes(rng, states, step))
            elif kind < 0.6:
                states.truncate(rng.randint(max(0, states.length - 4), states.length))
            name, state = rng.choice("ab"), rng.randint(0, states.length)
            versions = [(row, row.at(state)) for row in states.tables[name].rows]
            found = states.rows_at(name, state)
            if any(isinstance(version, Guarded) for _, version in versions):
                assert found is None
            else:
                assert found == [(row, version) for row, version in versions if version is not None]


def test_tables_that_hold_the_same_have_the_same_digest() -> None:
    rng = random.Random("digests of states")
    tables = read_schema(["CREATE TABLE a (k INT)", "CREATE TABLE b (k INT)"], Dialect("postgres"))
    states = StateMap(tables, {"a": [(1,), (2,), (2,)], "b": []})
    held: dict[int, list[object]] = {}
    again = 0
    for step in range(4000):
        kind = rng.random()
        if kind < 0.4:
            states.place(_writes(rng, states, step % 3))
        elif kind < 0.7:
            states.truncate(rng.randint(max(0, states.length - 4), states.length))
        name, state = rng.choice("ab"), rng.randint(max(0, states.length - 6), states.length)
        versions = [row.at(state) for row in states.tables[name].rows]
        digest = states.contents_at(name, state)
        if any(isinstance(version, Guarded) for version in versions):
            assert digest is None
        elif digest is not None:
            rows = sorted(version for version in versions if version is not None)
            again += digest in held
            assert held.setdefault(digest, rows) == rows
            assert list(held.values()).count(rows) == 1
    assert again > 100


def test_what_is_forgotten_is_no_part_of_later_states() -> None:
    rng = random.Random("forgotten states")
    tables = read_schema(["CREATE TABLE a (k INT)", "CREATE TABLE b (k INT)"], Dialect("postgres"))
    for _ in range(60):
        initial = {"a": [(1,), (2,)], "b": []}
        states, plain = StateMap(tables, initial), StateMap(tables, initial)
        twins = {row.address: row for table in plain.tables.values() for row in table.rows}
        for step in range(50):
            kind = rng.random()
            if kind < 0.5:
                drawn = _writes(rng, states, step).items()
                alive = {row: v for row, v in drawn if not row.positions or row.versions[-1] is not None}
                writes = {row: v for row, v in alive.items() if not isinstance(v, Guarded)}
                fresh = {row.address: RowHistory(row.table, row.author, row.ordinal) for row in writes}
                states.place(writes)
                plain.place({_twin(twins, fresh[row.address]): version for row, version in writes.items()})
            elif kind < 0.6:
                length = rng.randint(max(states.floor, states.length - 4), states.length)
                states.truncate(length)
                plain.truncate(length)
            elif kind < 0.8:
                states.forget(rng.randint(states.floor, states.length))
            name, state = rng.choice("ab"), rng.randint(states.floor, states.length)
            key = (rng.randint(0, step),)
            assert _held(states, name, state) == _held(plain, name, state)
            assert _found(states, name, state, key) == _found(plain, name, state, key)
        states.forget(states.length)
        assert all(len(row.versions) == 1 for table in states.tables.values() for row in table.rows)
        for table in states.tables.values():
            alive = [row for row in table.rows if row.versions != [None]]
            assert table.rows == alive
            for value in range(50):
                assert set(table.bucket((0,), (value,))) >= {row for row in alive if row.versions == [(value,)]}


def _twin(twins: dict[str, RowHistory], row: RowHistory) -> RowHistory:
    known = twins.get(row.address)
    if known is None or not known.positions:
        known = twins[row.address] = row
    return known


def _held(states: StateMap, name: str, state: int) -> list[tuple[str, Version]]:
    return sorted((row.address, version) for row, version in states.rows_at(name, state) or ())


def _found(states: StateMap, name: str, state: int, key: tuple[int]) -> list[tuple[str, Version]]:
    rows = states.tables[name].bucket((0,), key)
    return sorted((row.address, row.at(state)) for row in rows if row.at(state) == key)


def _writes(rng: random.Random, states: StateMap, step: int) -> dict[RowHistory, Version]:
    writes: dict[RowHistory, Version] = {}
    for name in "ab":
        for row in states.tables[name].rows:
            if rng.random() < 0.2:
                writes[row] = rng.choice((None, (step,), (step,)))
        if rng.random() < 0.3:
            symbolic = rng.random() < 0.1
            writes[RowHistory(name, f"t{step}", 0)] = Guarded(((atom(step), (step,)),)) if symbolic else (step,)
    return writes
