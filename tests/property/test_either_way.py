"""Transactions that compare texts without order and dates, which no condition is built for, on rows that others number:
what few of them are said to contradict each other by is a violation for the oracle, too, whatever the level.

On random logs of MySQL of two to four transactions. Does not know how a contradiction is found.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.problem.problem import Problem
from troubadour.proof.cores.few_in_every_order import Meter, few_in_every_order

SCHEMA = ["CREATE TABLE r (id INT AUTO_INCREMENT PRIMARY KEY, code VARCHAR(9), d DATE, n INT)"]
LEVELS = ("serializable", "strict-serializable", "snapshot", "strict-snapshot")
FAST, SLOW = range(24), range(24, 1500)


def random_log(seed: int, folder: Path) -> Log:
    rng = random.Random(f"either way {seed}")
    rows = [[1, "X", "2020-01-01", 0]][: rng.randint(0, 1)]
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "mysql", "schema": SCHEMA,
        "initial": {"r": {"columns": ["id", "code", "d", "n"], "rows": rows}},
    }  # fmt: skip
    lines: list[dict[str, Any]] = [header]
    for number in range(rng.randint(2, 4)):
        begins = rng.randint(0, 12) * 10
        statements = [_statement(rng) for _ in range(rng.randint(1, 2))]
        for place, statement in enumerate(statements):
            statement |= {"invoked": begins + 2 * place, "returned": begins + 2 * place + 1}
        over = begins + rng.randint(5, 40)
        lines.append(
            {
                "id": f"t{number}", "session": f"s{number}", "status": "committed", "statements": statements,
                "invoked": begins, "end": {"invoked": over, "returned": over + 1}, "returned": over + 1,
            }
        )  # fmt: skip
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read_log([path])


def _statement(rng: random.Random) -> dict[str, Any]:
    code, day, n = rng.choice("XY"), rng.choice(("2020-01-01", "2020-01-02")), rng.randint(0, 2)
    tests = (f"code = '{code}'", f"code <> '{code}'", f"d = '{day}'", f"d < '{day}'", f"NOT d < '{day}'")
    where = rng.choice((*tests, f"code IN ('{code}')"))
    kind = rng.random()
    if kind < 0.45:
        count = rng.choice((0, 0, 1, 1, 2))
        return {"sql": f"SELECT COUNT(*) FROM r WHERE {where}", "result": {"columns": ["c"], "rows": [[count]]}}
    if kind < 0.8:
        return {"sql": f"INSERT INTO r (code, d, n) VALUES ('{code}', '{day}', {n})", "affected": 1}
    if kind < 0.92:
        return {"sql": f"UPDATE r SET n = n + 1, code = '{code}' WHERE {where}"}
    return {"sql": f"DELETE FROM r WHERE {where}"}


def agree(seeds: range, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        log = random_log(seed, folder)
        library = library_of(log)
        level = LEVELS[seed % len(LEVELS)]
        answer = explain(log, library, level)
        said = f"seed {seed} at {level}\n{(folder / 'log.jsonl').read_text()}"
        problem = Problem(log, library, known_rows(log, library), isolation=level, unknown=unknown_tables(log, library))
        for item in problem.committed:
            core = few_in_every_order(problem, {item}, Meter(problem.budget))
            if core is not None and core.confirmed:
                assert answer.status is not Status.CORRECT, f"{core} of {said}"
                found["cores"] += 1
        verdict = audit(log, library, Options(level)).status
        assert Status.UNDECIDED in (verdict, answer.status) or verdict is answer.status, said
        found[verdict.value] += 1
    return found


def test_what_is_contradicted_is_a_violation(tmp_path: Path) -> None:
    found = agree(FAST, tmp_path)
    assert found["cores"] > len(FAST) // 8
    assert found["violation"] > len(FAST) // 5
    assert found["correct"] > len(FAST) // 10


@pytest.mark.slow
def test_what_is_contradicted_is_a_violation_in_many_logs(tmp_path: Path) -> None:
    assert agree(SLOW, tmp_path)["cores"] > len(SLOW) // 8
