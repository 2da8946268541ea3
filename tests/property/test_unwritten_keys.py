"""Errors that name a key, in random logs of inserts, deletes and updates: an error that a run had is never refuted, and
one on a key that nothing writes always is; so says an enumeration of the log's texts, which knows no SQL. Does not look
at orders.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status

SCHEMA = [
    "CREATE TABLE p (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, n INT, UNIQUE (n), FOREIGN KEY (p) REFERENCES p (id))",
]
TAKEN = {"postgres": "23505", "mysql": "23000", "duckdb": "23505", "sqlite": "23505"}
MISSING = {"postgres": "23503", "mysql": "23000", "duckdb": "23503", "sqlite": "23503"}
FAST, SLOW = range(40), range(40, 2000)


def random_log(seed: int, dialect: str) -> tuple[list[dict[str, Any]], str | None]:
    """A log of serial transactions with the errors that a database would answer, and one more error, of which the
    enumeration says whether it can be; and the transaction that had one that cannot (None: all can)."""
    rng = random.Random(f"keys {seed} {dialect}")
    parents, children = {1: 0, 2: 0}, {1: (1, 11)}
    written = {"c": {1}, "n": {11}}
    stays, anything = {1, 2}, False
    lines: list[dict[str, Any]] = []
    for number in range(rng.randint(2, 6)):
        before = dict(parents), dict(children)
        statements: list[dict[str, Any]] = []
        for _ in range(rng.randint(1, 2)):
            key, parent, n = rng.randint(1, 5), rng.choice((1, 2, 3, None)), rng.choice((11, 12, 13, None))
            kind = rng.random()
            if kind < 0.55:
                shown = ["NULL" if one is None else str(one) for one in (key, parent, n)]
                entry: dict[str, Any] = {"sql": f"INSERT INTO c VALUES ({', '.join(shown)})"}
                taken = key in children or (n is not None and n in {one[1] for one in children.values()})
                missing = parent is not None and parent not in parents
                if taken or missing:
                    entry["error"] = {"sqlstate": TAKEN[dialect] if taken else MISSING[dialect]}
                    statements.append(entry)
                    break
                children[key] = (parent, n)  # type: ignore[assignment]
                written["c"].add(key)
                written["n"].add(n)  # type: ignore[arg-type]
                statements.append(entry | {"affected": 1})
            elif kind < 0.7:
                count = int(children.pop(key, None) is not None)
                statements.append({"sql": f"DELETE FROM c WHERE id = {key}", "affected": count})
            elif kind < 0.8 and 2 in parents and all(one[0] != 2 for one in children.values()):
                del parents[2]
                stays.discard(2)
                statements.append({"sql": "DELETE FROM p WHERE id = 2", "affected": 1})
            elif kind < 0.88:
                statements.append({"sql": "UPDATE p SET n = n + 1 WHERE id = 1", "affected": 1})
                if dialect == "duckdb":
                    stays.clear()
            elif kind < 0.92 and 4 not in children and not anything:
                statements.append({"sql": "INSERT INTO c SELECT id + 3, NULL, NULL FROM p WHERE id = 1", "affected": 1})
                children[4] = (None, None)  # type: ignore[assignment]
                anything = True
            else:
                rows = [[len(children)]]
                statements.append({"sql": "SELECT COUNT(*) FROM c", "result": {"columns": ["n"], "rows": rows}})
        failed = any("error" in one for one in statements)
        if failed or rng.random() < 0.15:
            parents, children = before  # type: ignore[assignment]
        aborted = failed or ((parents, children) == before and rng.random() < 0.1)
        status = "aborted" if aborted or ((parents, children) == before and not _reads(statements)) else "committed"
        lines.append({"id": f"t{number}", "status": status, "statements": statements, **_times(number)})
    key, parent, n = rng.randint(3, 7), rng.choice((1, 2, None)), rng.choice((12, 14, None))
    state = rng.choice((TAKEN[dialect], MISSING[dialect]))
    shown = ["NULL" if one is None else str(one) for one in (key, parent, n)]
    sql = f"INSERT INTO c VALUES ({', '.join(shown)})"
    last = {"sql": sql, "error": {"sqlstate": state}}
    lines.append({"id": "x", "status": "aborted", "statements": [last], **_times(len(lines))})
    clash = anything or key in written["c"] or (n is not None and n in written["n"])
    gone = parent is not None and parent not in stays
    possible = {"23505": clash, "23503": gone, "23000": clash or gone}[state]
    return lines, None if possible else "x"


def _reads(statements: list[dict[str, Any]]) -> bool:
    return all("SELECT COUNT" in one["sql"] for one in statements)


def _times(number: int) -> dict[str, int]:
    return {"invoked": 100 * number, "returned": 100 * number + 50}


def compare(seeds: range, dialect: str, folder: Path) -> int:
    refuted = 0
    for seed in seeds:
        lines, impossible = random_log(seed, dialect)
        header = {
            "format": "troubadour-log", "version": 1, "dialect": dialect, "schema": SCHEMA,
            "settings": {"collation": "utf8mb4_bin"} if dialect == "mysql" else {},
            "initial": {"p": {"rows": [[1, 0], [2, 0]]}, "c": {"rows": [[1, 1, 11]]}},
        }  # fmt: skip
        if dialect == "sqlite":
            header["settings"] = {"foreign_keys": True}
        path = folder / "log.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)), encoding="utf-8")
        log = read_log([path])
        verdict = audit(log, library_of(log), Options("serializable"))
        expected = Status.CORRECT if impossible is None else Status.VIOLATION
        said = f"seed {seed} of {dialect}: {verdict.explanation or verdict.reason}\n{path.read_text()}"
        assert (verdict.status, verdict.failing_transaction) == (expected, impossible), said
        refuted += impossible is not None
    return refuted


@pytest.mark.parametrize("dialect", TAKEN)
def test_errors_that_name_keys(dialect: str, tmp_path: Path) -> None:
    assert len(FAST) // 8 < compare(FAST, dialect, tmp_path) < len(FAST)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", TAKEN)
def test_errors_that_name_keys_in_many_logs(dialect: str, tmp_path: Path) -> None:
    assert compare(SLOW, dialect, tmp_path)
