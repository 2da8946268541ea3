"""What is said of an execution that stands against the clients' times, where a level allows that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_files import read_case
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Status
from troubadour.testing.audited import CONTRADICTS

RESET = """
# level: serializable  expect: correct
schema: kv.sql
init kv ('x', 0) ('y', 0)
t1 ~1-5    UPDATE kv SET v = 0
t2 ~10-50  SELECT v FROM kv WHERE k = 'y'  -> (0)
           UPDATE kv SET v = 1 WHERE k = 'x'
t3 ~20-60  SELECT v FROM kv WHERE k = 'x'  -> (0)
           UPDATE kv SET v = 1 WHERE k = 'y'
"""
"""Two that skew each other's writes, after a fixture has made the rows what they were."""

STALE = """
# level: snapshot  expect: correct
schema: kv.sql
init kv ('x', 0)
t1 ~1-5    UPDATE kv SET v = 1
t2 ~10-50  SELECT v FROM kv WHERE k = 'x'  -> (0)
"""


@pytest.mark.parametrize(
    ("text", "level", "which"),
    [
        (RESET, "serializable", "stands before it"),
        (STALE, "serializable", "stands before it"),
        (STALE, "snapshot", "does not see it"),
        (RESET, "snapshot", None),
    ],
)
def test_times_that_an_execution_contradicts_are_told(text: str, level: str, which: str | None, tmp_path: Path) -> None:
    log = read_case(text, "times").log(tmp_path)
    verdict = audit(log, library_of(log), Options(level))
    assert verdict.status is Status.CORRECT
    told = [note for note in verdict.notes if CONTRADICTS in note]
    assert [which in note for note in told if which is not None] == ([True] if which is not None else [])
    assert bool(told) is (which is not None)


@pytest.mark.parametrize("level", ["strict-serializable", "postgres:serializable"])
def test_what_keeps_real_time_does_not_put_a_reset_in_between(level: str, tmp_path: Path) -> None:
    log = read_case(RESET, "times").log(tmp_path)
    verdict = audit(log, library_of(log), Options(level))
    assert verdict.status is Status.VIOLATION
