"""A log that is too open at a weak level, and that a stronger level explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_files import read_case
from troubadour.audit.again.stronger import explained_by_stronger
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.model.verdict import Status
from troubadour.problem.problem import Problem
from troubadour.replay.checker import check

SERIAL = """
# level: read-committed  expect: correct
schema: kv.sql
init kv ('x', 0) ('y', 0)
t1 @0-1  UPDATE kv SET v = v + 1
t2 @2-3  SELECT k, v FROM kv  -> ('x', 1) ('y', 1)
"""
LOST = """
# level: read-committed  expect: correct
schema: kv.sql
init kv ('x', 0) ('y', 0)
t1  UPDATE kv SET v = 1
t2  SELECT k, v FROM kv  -> ('x', 1) ('y', 0)
"""


@pytest.mark.parametrize(("text", "explained"), [(SERIAL, True), (LOST, False)])
def test_what_a_stronger_level_explains_passes_replay_at_the_weaker(text: str, explained: bool, tmp_path: Path) -> None:
    log = read_case(text, "stronger").log(tmp_path)
    library = library_of(log)

    def at(isolation: str | None) -> Problem:
        return Problem(log, library, known_rows(log, library), isolation=isolation)

    verdict = explained_by_stronger(at("read-committed"), at)
    assert (verdict is not None) is explained
    if verdict is not None:
        assert verdict.status is Status.CORRECT and verdict.isolation == "read-committed"
        assert verdict.witness is not None
        assert check(log, verdict.witness, library, isolation="read-committed") is None
    assert audit(log, library, Options("read-committed")).status is Status.CORRECT


def test_an_order_that_is_bound_is_not_taken_from_a_stronger_level(tmp_path: Path) -> None:
    log = read_case("order: exact\n" + SERIAL, "bound").log(tmp_path)
    library = library_of(log)

    def at(isolation: str | None) -> Problem:
        return Problem(log, library, known_rows(log, library), isolation=isolation)

    assert explained_by_stronger(at("read-committed"), at) is None
