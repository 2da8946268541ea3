"""What connections see where random triggers are run is explained at the product's profile; an altered answer is not.

After the transactions one more reads all tables, so that whatever triggers wrote is seen. Does not know the triggers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.differential.trigger_generator import ROUTINE, ROWS, TABLES, TriggerGenerator
from tests.live.interleaved import Product, interleave
from tests.live.test_interleaved import LEVELS, connected
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of as library
from troubadour.formats import read_log
from troubadour.model.verdict import Status

FAST, SLOW = range(3), range(12)
NAMES = ("t", "u", "seen")
READS = (
    "SELECT * FROM t",
    "SELECT id, v FROM t WHERE id = {a}",
    "SELECT count(*) FROM seen",
    "SELECT n, what FROM seen",
    "SELECT t.id, u.v FROM t JOIN u ON u.t = t.id",
)


def script(random: Random, generator: TriggerGenerator) -> list[list[str]]:
    """Two transactions of one session."""

    def statement() -> str:
        if random.random() < 0.35:
            return random.choice(READS).format(a=random.randint(1, 5))
        return generator.statement()

    return [[statement() for _ in range(random.randint(1, 3))] for _ in range(2)]


def prepared(dsn: str, generator: TriggerGenerator) -> tuple[list[str], list[str], dict[str, Any]]:
    """The tables with triggers in the server; the schema and the routines of the log, and its first rows."""
    with psycopg.connect(dsn, autocommit=True) as first:
        first.execute("DROP TABLE IF EXISTS seen, u, t CASCADE")
        for text in (*TABLES, *ROWS, ROUTINE.replace("CREATE", "CREATE OR REPLACE", 1)):
            first.execute(text)
        kept: list[tuple[str, str]] = []
        for function, trigger in generator.definitions():
            try:
                first.execute(function.replace("CREATE", "CREATE OR REPLACE", 1))
                first.execute(trigger)
            except psycopg.Error:
                continue
            kept.append((function, trigger))
        initial = {}
        for name in NAMES:
            cursor = first.execute(f"SELECT * FROM {name}".encode())
            columns = [column.name for column in cursor.description or ()]
            initial[name] = {"columns": columns, "rows": [list(row) for row in cursor.fetchall()]}
    return [*TABLES, *(trigger for _, trigger in kept)], [ROUTINE, *(function for function, _ in kept)], initial


def recorded(dsn: str, level: str, seed: int, path: Path) -> bool:
    """Write the log of one run; whether a trigger of it is run in the interpreter."""
    random, generator = Random(seed), TriggerGenerator(seed)
    schema, routines, initial = prepared(dsn, generator)
    header = {"schema": schema, "procedures": routines, "initial": initial, "isolation": level}
    header["settings"] = {"collation": "C"}
    with ExitStack() as opened:
        product: Product = connected(dsn, LEVELS[level], opened)
        scripts = [script(random, generator) for _ in range(random.randint(1, 3))]
        interleave(product, header, scripts, random, path)
        lines = path.read_text().splitlines()
        interleave(product, header, [[[f"SELECT * FROM {name}" for name in NAMES]]], random, path)
        last = json.loads(path.read_text().splitlines()[1]) | {"id": "last", "session": "last"}
    end = json.loads(lines[-1])
    lines[-1:] = [json.dumps(last), json.dumps(end | {"transactions": end["transactions"] + 1})]
    path.write_text("".join(line + "\n" for line in lines))
    return bool(library(read_log([path])).catalog.triggers)


def verdict(path: Path) -> tuple[Status, str]:
    """What is said of a log, and of which transaction."""
    log = read_log([path])
    found = audit(log, library(log), Options(None, timeout=600))
    return found.status, f"{found.failing_transaction}: {found.explanation or found.reason}"


def altered(path: Path) -> Iterator[Path]:
    """The log with one row less, and with one row more, in each of the last answers."""
    *lines, text, end = path.read_text().splitlines()
    for place in range(len(NAMES)):
        for change in ("less", "more"):
            last = json.loads(text)
            rows = last["statements"][place]["result"]["rows"]
            if change == "less":
                del rows[:1]
            else:
                rows.append([77, *[None] * (len(last["statements"][place]["result"]["columns"]) - 1)])
            other = path.with_suffix(f".{place}{change}.jsonl")
            other.write_text("".join(line + "\n" for line in (*lines, json.dumps(last), end)))
            if rows or change == "less":
                yield other


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("level", [level for level in LEVELS if level.startswith("postgres")])
def test_triggers(request: pytest.FixtureRequest, tmp_path: Path, level: str, seeds: range) -> None:
    schema = request.getfixturevalue("database_schema")
    dsn = psycopg.conninfo.make_conninfo(
        request.getfixturevalue("postgres_dsn"), options=f"-c search_path={schema} -c statement_timeout=5000"
    )
    said: Counter[Status] = Counter()
    refuted: Counter[Status] = Counter()
    for seed in seeds:
        path = tmp_path / f"{seed}.jsonl"
        if not recorded(dsn, level, seed, path):
            continue
        status, told = verdict(path)
        assert status is not Status.VIOLATION, f"seed {seed}: {told}"
        said[status] += 1
        if status is Status.CORRECT:
            before = json.loads(path.read_text().splitlines()[-2])
            for other in altered(path):
                if json.loads(other.read_text().splitlines()[-2]) != before:
                    refuted[verdict(other)[0]] += 1
    assert said[Status.CORRECT] > len(seeds) // 4, said
    assert refuted[Status.VIOLATION] > (10 if seeds is SLOW else 3) and not refuted[Status.CORRECT], refuted
