"""Row by row the likeliest reading comes first, and the choice that is to blame is taken back when it shows later.

Workers take the first job of a queue and count it; what they took, nobody is told. Two of them overlap. Does not look
at logs whose answers name the job.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.heuristics import Heuristics
from troubadour.search.repair.placer import Frontier

TAKE = """CREATE PROCEDURE take() LANGUAGE plpgsql AS $$
DECLARE
    job int;
BEGIN
    SELECT id INTO job FROM queue ORDER BY id LIMIT 1;
    DELETE FROM queue WHERE id = job;
    UPDATE jobs SET done = done + 1 WHERE id = job;
END$$"""

OTHERS = 60

LATER = 20
"""Jobs taken one after the other, by workers who meet nobody: each of them hangs on what those before it took."""


def log_of(path: Path, counts: tuple[int, int], *, late: int, later: int = LATER) -> Path:
    """Two workers, the second one sent `late` after the first; many others; at the end, how often the first two jobs
    were done."""
    tables = ["CREATE TABLE queue (id INT PRIMARY KEY)", "CREATE TABLE jobs (id INT PRIMARY KEY, done INT NOT NULL)"]
    header = {
        "format": "troubadour-log",
        "version": 1,
        "clock": "one",
        "order": "hint",
        "dialect": "postgres",
        "schema": tables,
        "procedures": [TAKE],
    }
    lines: list[object] = [header]
    lines.append({"kind": "rows", "table": "queue", "columns": ["id"], "rows": [[n + 1] for n in range(later + 3)]})
    initial = [[n + 1, 0] for n in range(OTHERS + later + 3)]
    lines.append({"kind": "rows", "table": "jobs", "columns": ["id", "done"], "rows": initial})

    def add(session: str, begin: int, end: int, sql: str, answer: dict[str, object]) -> None:
        statement = {"sql": sql, "invoked": begin, "returned": end, **answer}
        name = f"t{len(lines)}"
        one = {"id": name, "session": session, "status": "committed", "invoked": begin, "returned": end}
        lines.append({**one, "statements": [statement]})

    add("a", 1000, 2000, "CALL take()", {})
    add("b", 1000 + late, 2500 + late, "CALL take()", {})
    for n in range(later):
        add("a", 4000 + 100 * n, 4050 + 100 * n, "CALL take()", {})
    for n in range(OTHERS):
        sql = f"UPDATE jobs SET done = done + 1 WHERE id = {n + later + 4}"
        add("c", 10_000 + 100 * n, 10_050 + 100 * n, sql, {"affected": 1})
    for n, count in enumerate(counts):
        answer = {"result": {"columns": ["done"], "rows": [[count]]}}
        sql = f"SELECT done FROM jobs WHERE id = {n + 1}"
        add("d", 50_000 + 100 * n, 50_050 + 100 * n, sql, answer)
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


def verdict_of(path: Path) -> Verdict:
    log = read_log([path])
    return audit(log, library_of(log), Options("read-committed", heuristics=Heuristics(straight=False)))


CASES = {
    # the second one waited for the first, as it is taken to have at once
    "waited": ((2, 0), 100, 0),
    # the same times, but it did not
    "had not waited": ((1, 1), 100, 1),
    # sent when the first was all but answered: taken to have seen it, and it had
    "had seen it": ((1, 1), 900, 0),
    # the same times, but it had waited
    "waited though late": ((2, 0), 900, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_read_shows_later(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, late, helped = CASES[case]
    reread, found = Frontier.place_rereading, []

    def noted(frontier: Frontier, item: int) -> bool:
        found.append(reread(frontier, item))
        return found[-1]

    monkeypatch.setattr(Frontier, "place_rereading", noted)
    verdict = verdict_of(log_of(tmp_path / "log.jsonl", counts, late=late))
    assert verdict.status is Status.CORRECT
    assert sum(found) == helped


def test_no_reading_is_guessed_where_none_explains_it(tmp_path: Path) -> None:
    # a stale reading of the queue may take a job once more, but none is done more often than take() is called
    log = log_of(tmp_path / "log.jsonl", (0, 6), late=100, later=3)
    assert verdict_of(log).status is Status.VIOLATION
