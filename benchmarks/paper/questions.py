"""What the paper's four questions (§8) are asked with: each gives rows of figures. Does not know a page.

The seconds are the processor's; a row of an audit of a log has those from the file to the verdict.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import rq1
from benchmarks.paper import bugs as sqlancer
from benchmarks.paper.runs import ALL_ON, LEVELS, SWITCHED, Auditor, Logs
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log

Row = dict[str, Any]
LOGS = Path(__file__).parents[2] / "logs" / "anomalies"
ROWS_ACCESSED = (0.2, 1.0, 5.0, 20.0, 100.0)
BLIND = (0.0, 25.0, 50.0, 75.0, 100.0)
READ_ONLY = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
WORKLOADS = ("Twitter", "RUBiS", "TPC-C")
KEYS, VALUES, HISTORY, HISTORIES = 10, 100, 50, 100
_ALL, _BUT_RC, _SERIALIZABLE = frozenset(LEVELS), frozenset({"serializable", "snapshot"}), frozenset({"serializable"})
ANOMALIES = {
    "dirty update": ("dirty-update", _ALL),
    "duplicate write": ("duplicate-write", _ALL),
    "dirty write": ("dirty-write", _ALL),
    "aborted read": ("aborted-read", _ALL),
    "garbage read": ("garbage-read", _ALL),
    "intermediate read": ("intermediate-read", _ALL),
    "circular information flow": ("circular-information-flow", _ALL),
    "phantom read": ("phantom", _BUT_RC),
    "lost update": ("lost-update", _BUT_RC),
    "read skew": ("read-skew", _BUT_RC),
    "internal inconsistency": ("internal-inconsistency", _BUT_RC),
    "write skew": ("write-skew", _SERIALIZABLE),
}
"""The paper's names, our cases, and the levels that it says forbid them."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured: transactions of a recorded log and of one for the ablation, seconds of an audit, the k of
    RQ1."""

    transactions: int
    ablation: int
    timeout: float
    rq1: Sequence[int]


def encoding(sizes: Sizes) -> Iterator[Row]:
    """RQ1, Fig. 8: k transactions of which the last one reads 66.00, which cannot be, or 400.00."""
    rq1.measure(10, rq1.IMPOSSIBLE, 1, 60, rq1.Shape())  # what is compiled once
    for size in sizes.rq1:
        for balance in (rq1.IMPOSSIBLE, rq1.POSSIBLE):
            verdict, seconds = rq1.measure(size, balance, 3, sizes.timeout, rq1.Shape())
            yield {"k": size, "balance": balance, "verdict": verdict.status.value, "seconds": round(seconds, 4)}


def bugs(sizes: Sizes) -> Iterator[Row]:
    """RQ2: wrong answers that SQLancer found, the anomalies by name, and random key-value logs."""
    for bug in sqlancer.bugs():
        observed = bug["observations"][0]
        for rows, expected in ((observed["right"], "correct"), (observed["wrong"], "violation")):
            row = _decided(sqlancer.log_of(bug, rows).splitlines(), "strict-serializable")
            yield {"of": "SQLancer", "name": bug["id"], "dbms": bug["dbms"], "expected": expected, **row}
    for name, (case, forbidden) in ANOMALIES.items():
        lines = (LOGS / f"{case}.jsonl").read_text(encoding="utf-8").splitlines()
        for level in LEVELS:
            expected = "violation" if level in forbidden else "correct"
            yield {"of": "anomalies", "name": name, "level": level, "expected": expected, **_decided(lines, level)}
    for seed in range(HISTORIES):
        row = _decided(history(seed), "read-committed")
        yield {"of": "key-value", "name": seed, "expected": "correct", **row}


def history(seed: int) -> list[str]:
    """The lines of a log that is correct at read committed: each transaction reads one key, some value that it had, or
    writes one."""
    draw = random.Random(seed)
    had: dict[int, list[int]] = {key: [0] for key in range(KEYS)}
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "isolation": "read-committed",
        "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL)"],
        "initial": {"kv": {"columns": ["k", "v"], "rows": [[key, 0] for key in had]}},
    }
    lines: list[Row] = [header]
    for place in range(HISTORY):
        key = draw.randrange(KEYS)
        if draw.random() < 0.5:
            seen = {"columns": ["v"], "rows": [[draw.choice(had[key])]]}
            statement: Row = {"sql": "SELECT v FROM kv WHERE k = $1", "params": [key], "result": seen}
        else:
            value = draw.randint(1, VALUES)
            had[key].append(value)
            statement = {"sql": "UPDATE kv SET v = $1 WHERE k = $2", "params": [value, key], "affected": 1}
        lines.append({"id": place, "status": "committed", "commit": place, "statements": [statement]})
    return [json.dumps(line) for line in lines]


def _decided(lines: Iterable[str], level: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        begun = time.process_time()
        log = read_log([path])
        verdict = audit(log, library_of(log), Options(level, timeout=60))
        return {"verdict": verdict.status.value, "seconds": round(time.process_time() - begun, 4)}


def workloads(sizes: Sizes, logs: Logs, audited: Auditor) -> Iterator[Row]:
    """RQ3, Fig. 9 and Table 1: the bank as one of its parameters varies, and the other workloads."""

    def row(part: str, value: float | str, level: str, path: Path) -> Row:
        return {"part": part, "value": value, "level": level, **asdict(audited(path, level, sizes.timeout, ALL_ON))}

    parts: dict[str, tuple[Sequence[float], Callable[[str, float], Path]]] = {
        "rows accessed": (ROWS_ACCESSED, lambda level, value: logs.bank(level, rows=value)),
        "blind writes": (BLIND, lambda level, value: logs.bank(level, blind=value)),
        "read-only": (READ_ONLY, lambda level, value: logs.bank(level, reads=value)),
    }
    for level in LEVELS:
        for part, (values, path) in parts.items():
            for value in values:
                yield row(part, value, level, path(level, value))
        for name in WORKLOADS:
            yield row("workload", name, level, logs.workload(name, level))


def heuristics(sizes: Sizes, logs: Logs, audited: Auditor) -> Iterator[Row]:
    """RQ4, Fig. 10: the heuristics added one by one, for several parts of the rows accessed."""
    for level in LEVELS:
        for value in ROWS_ACCESSED:
            for name in SWITCHED:
                found = audited(logs.bank(level, rows=value), level, sizes.timeout, name)
                yield {"value": value, "level": level, "heuristics": name, **asdict(found)}
