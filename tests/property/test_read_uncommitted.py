"""Nothing that a store answers whose readers know no isolation is a violation at `read-uncommitted`.

Transactions run statement by statement on one SQLite connection, each seeing at once what every other did, aborted ones
included (whose changes stay, as if they had been read in time). Rows that one wrote are its own until it is over, so
that it does not miss its own writes. Other logs then get a value that nobody wrote.
"""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from tests.case_files import Case, read_case
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Status, Verdict

GARBAGE = 9999


def dirty_case(seed: int, *, garbage: bool) -> Case:
    """A log of such a run; with `garbage` one observed number is replaced."""
    rng = random.Random(f"dirty {seed}")
    store = sqlite3.connect(":memory:", isolation_level=None)
    store.execute("CREATE TABLE kv (k TEXT PRIMARY KEY, v INT)")
    store.execute("INSERT INTO kv VALUES ('x', 0), ('y', 0)")
    inserts = rng.random() < 0.3
    steps = [number for number in range(rng.choice((2, 3, 4))) for _ in range(rng.choice((1, 2, 3)))]
    rng.shuffle(steps)
    told: dict[int, list[str]] = {number: [] for number in steps}
    shown: list[tuple[int, int]] = []
    held: dict[str, int] = {}
    for step, number in enumerate(steps):
        held = {key: owner for key, owner in held.items() if owner in steps[step:]}
        sql = statement(rng, inserts)
        written = written_by(store, sql)
        if any(held.get(key, number) != number for key in written):
            continue
        try:
            cursor = store.execute(sql)
        except sqlite3.IntegrityError:
            continue
        held |= dict.fromkeys(written, number)
        if sql.startswith("SELECT"):
            rows = cursor.fetchall()
            text = " ".join(f"({', '.join(map(literal, row))})" for row in rows) or "no row (v)"
            if rows and "k, v" not in sql and "count" not in sql:
                shown.append((number, len(told[number])))
            text = text if rows or "k, v" not in sql else "no row (k, v)"
            told[number].append(f"{sql}  -> {text}")
        else:
            told[number].append(f"{sql}  -> affected {cursor.rowcount}")
    if garbage and shown:
        number, place = rng.choice(shown)
        told[number][place] = told[number][place].partition("->")[0] + f"-> ({GARBAGE})"
    lines = ["# level: read-uncommitted  expect: correct", "schema: kv.sql", "init kv ('x', 0) ('y', 0)"]
    for number, texts in told.items():
        if texts:
            lines.append(f"t{number} {rng.choice(('committed', 'committed', 'aborted'))}  {texts[0]}")
            lines += [f"  {text}" for text in texts[1:]]
    return read_case("\n".join(lines), f"dirty-{seed}")


def statement(rng: random.Random, inserts: bool) -> str:
    key, value = rng.choice("xy"), rng.choice((1, 2, 3))
    found = [
        f"SELECT v FROM kv WHERE k = '{key}'",
        f"SELECT v FROM kv WHERE k = '{key}'",
        "SELECT k, v FROM kv",
        f"SELECT count(*) FROM kv WHERE v >= {value}",
        f"UPDATE kv SET v = v + {value} WHERE k = '{key}'",
        f"UPDATE kv SET v = {value} WHERE k = '{key}'",
        f"UPDATE kv SET v = v + 1 WHERE v < {value}",
        f"DELETE FROM kv WHERE v = {value}",
    ]
    if inserts:
        found += [f"INSERT INTO kv VALUES ('{rng.choice('xyz')}', {value})"] * 3
    return rng.choice(found)


def written_by(store: sqlite3.Connection, sql: str) -> list[str]:
    """The keys of the rows that a statement would write."""
    if sql.startswith("INSERT"):
        return [sql.split("'")[1]]
    if sql.startswith("SELECT"):
        return []
    return [key for (key,) in store.execute(f"SELECT k FROM kv WHERE {sql.partition('WHERE ')[2]}")]


def literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def verdict_of(case: Case, folder: Path) -> Verdict:
    log = case.log(folder)
    return audit(log, library_of(log), Options("read-uncommitted"))


@pytest.mark.parametrize(
    "start", [*range(0, 100, 50), *(pytest.param(n, marks=pytest.mark.slow) for n in range(100, 2000, 50))]
)
def test_no_false_alarm(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 50):
        verdict = verdict_of(dirty_case(seed, garbage=False), tmp_path)
        assert verdict.status is not Status.VIOLATION, f"seed {seed}: {verdict.explanation}"


def test_garbage_is_found_where_nobody_wrote(tmp_path: Path) -> None:
    found = [verdict_of(dirty_case(seed, garbage=True), tmp_path).status for seed in range(60)]
    assert found.count(Status.VIOLATION) >= 3, found
