"""No part about one row of what a database under snapshot isolation did is a violation: a few keys, values that come
again, rows that go and come back, transactions that abort or whose outcome is not known, times that are left out.

Does not check what is a violation, nor how a part is decided.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.serial import Line, written
from sql_semantics.records import dataclass, field
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.facts.rows.one_row import about_one_row
from troubadour.formats import read_log
from troubadour.model.verdict import Status

FAST, SLOW = range(150, 162), [range(start, start + 100) for start in range(1_000, 3_000, 100)]
LEVELS = ("strict-snapshot", "postgres:repeatable-read")
KEYS = (1, 2, 3)
INITIAL = {("t", 1): 1, ("t", 2): 2, ("u", 1): 1}
TRANSACTIONS = 14

Cell = tuple[str, int]
State = dict[Cell, int | None]


@dataclass(slots=True)
class Open:
    """A transaction under way: `snapshot` is the number of the state that it sees, once it has one."""

    line: Line
    left: int
    snapshot: int | None = None
    writes: State = field(default_factory=dict)
    fails: bool = False


class Database:
    """A database under snapshot isolation and its clients, driven at random."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._clock = 0
        self._states: list[State] = [dict(INITIAL)]
        self._changed: list[set[Cell]] = [set()]
        self._open: dict[int, Open] = {}
        self._begun = 0

    def log(self) -> list[Line]:
        """The lines of a log of all that it did."""
        done: list[Line] = []
        while self._begun < TRANSACTIONS or self._open:
            session = self._random.randrange(3)
            one = self._open.get(session)
            if one is None:
                self._begin(session)
            elif one.left and not one.fails:
                one.left -= 1
                self._step(one)
            else:
                del self._open[session]
                done.append(self._ended(one))
        if self._random.random() < 0.5:
            self._random.shuffle(done)
        rows = {name: [[key, value] for (table, key), value in INITIAL.items() if table == name] for name in "tu"}
        schema = [f"CREATE TABLE {name} (k INT PRIMARY KEY, v INT)" for name in rows]
        initial = {name: {"columns": ["k", "v"], "rows": some} for name, some in rows.items()}
        header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": schema, "initial": initial}
        return [header, *done]

    def _now(self) -> int:
        self._clock += self._random.randint(1, 3)
        return self._clock

    def _begin(self, session: int) -> None:
        if self._begun < TRANSACTIONS:
            self._begun += 1
            line = {"id": f"t{self._begun}", "session": f"s{session}", "invoked": self._now(), "statements": []}
            self._open[session] = Open(line, self._random.randint(1, 4))

    def _step(self, one: Open) -> None:
        asked = self._now()
        statement = self._asked(one)
        if statement is None:
            one.fails = True
            return
        if self._random.random() < 0.1:
            statement.pop("result", None)
        answered = self._now()
        for name, time in (("invoked", asked), ("returned", answered)):
            if self._random.random() < 0.85:
                statement[name] = time
        one.line["statements"].append(statement)

    def _asked(self, one: Open) -> Line | None:
        """A statement with its answer; None where it fails, as another transaction has written the row."""
        if self._random.random() < 0.15:
            return {"sql": "SET LOCAL work_mem = '4MB'"}
        if one.snapshot is None:
            one.snapshot = len(self._states) - 1
        seen = {**self._states[one.snapshot], **one.writes}
        table, key = self._random.choice("tttu"), self._random.choice(KEYS)
        value, kind = seen.get((table, key)), self._random.random()
        if kind < 0.4:
            return _read(f"SELECT v FROM {table} WHERE k = $1", [] if value is None else [[value]], [key])
        if kind < 0.5:
            two = sorted(self._random.sample(KEYS, 2))
            rows = [[each, seen[table, each]] for each in two if seen.get((table, each)) is not None]
            return _read(f"SELECT k, v FROM {table} WHERE k IN ({two[0]}, {two[1]}) ORDER BY k", rows)
        if kind < 0.55:
            return _read(f"SELECT count(*) FROM {table}", [[sum(seen.get((table, each)) is not None for each in KEYS)]])
        return self._changing(one, (table, key), value, kind)

    def _changing(self, one: Open, cell: Cell, value: int | None, kind: float) -> Line | None:
        assert one.snapshot is not None
        newer = set().union(*self._changed[one.snapshot + 1 :])
        if cell in newer or any(cell in other.writes for other in self._open.values() if other is not one):
            return None
        (table, key), there = cell, int(value is not None)
        if kind < 0.75:
            new = self._random.randint(1, 4)
            if there:
                one.writes[cell] = new
            return {"sql": f"UPDATE {table} SET v = $1 WHERE k = $2", "params": [new, key], "affected": there}
        if kind < 0.85:
            if there:
                one.writes[cell] = None
            return {"sql": f"DELETE FROM {table} WHERE k = {key}", "affected": there}
        one.writes[cell] = 3 if value is None else value + 1
        if value is not None and kind < 0.9:
            return _read(f"UPDATE {table} SET v = v + 1 WHERE k = {key} RETURNING v", [[value + 1]])
        upsert = f"INSERT INTO {table} (k, v) VALUES ({key}, 3) ON CONFLICT (k) DO UPDATE SET v = {table}.v + 1"
        return {"sql": upsert, "affected": 1}

    def _ended(self, one: Open) -> Line:
        sent = self._now()
        aborted = one.fails or self._random.random() < 0.12
        if not aborted:
            self._states.append({**self._states[-1], **one.writes})
            self._changed.append(set(one.writes))
        unknown = not aborted and self._random.random() < 0.1
        line = {**one.line, "status": "aborted" if aborted else "unknown" if unknown else "committed"}
        end: dict[str, Any] = {"invoked": sent}
        if not unknown:
            end["returned"] = line["returned"] = self._now()
        return line if self._random.random() < 0.2 else {**line, "end": end}


def _read(sql: str, rows: list[list[int | None]], params: list[int] | None = None) -> Line:
    result = {"columns": ["c"] * (len(rows[0]) if rows else 1), "rows": rows}
    return {"sql": sql, "result": result} | ({} if params is None else {"params": params})


@pytest.mark.parametrize("seeds", [FAST, *(pytest.param(seeds, marks=pytest.mark.slow) for seeds in SLOW)], ids=str)
def test_no_part_of_what_a_database_did_is_a_violation(seeds: range, tmp_path: Path) -> None:
    made = 0
    for seed in seeds:
        whole = read_log([written(tmp_path / "log.jsonl", iter(Database(seed).log()))])
        for level in LEVELS:
            log, library = library_for(whole, level)
            known = set()
            for place, one in enumerate(log.transactions):
                for statement in range(len(one.statements) if one.status != "aborted" else 0):
                    part = about_one_row(log, library, level, place, statement)
                    if part is None or (part.table, part.key) in known:
                        continue
                    known.add((part.table, part.key))
                    verdict = audit(part.log, library, Options(level, effort=3.0))
                    where = f"seed {seed} at {level}, {part.table}{part.key}: {verdict.explanation}"
                    assert verdict.status is not Status.VIOLATION, where
            made += len(known)
    assert made > 4 * len(seeds), made
