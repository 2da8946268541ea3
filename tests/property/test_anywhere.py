"""What is refuted in every order has, by the oracle, no witness in any order (CONTRACT §2 *scope*)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.case_files import Case, all_cases, library_of
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.oracle import explain
from troubadour.search.inference.value_closure import is_refuted_anywhere
from troubadour.search.inference.visible_values import refuted_by_times
from troubadour.search.problem.problem import Problem

FAST, SLOW = range(9000, 9120), range(9120, 11000)
LEVELS = ("read-committed", "snapshot", "strict-serializable")
TIMED = (
    "strict-serializable",
    "strict-snapshot",
    "session-snapshot",
    "session-serializable",
    "postgres:repeatable-read",
)


def compare(seed: int, level: str) -> int:
    log = random_log(seed)
    problem = Problem(log, library(), known_rows(log, library()), isolation=level)
    refuted = [place for place, item in enumerate(problem.committed) if is_refuted_anywhere(problem, item)]
    if refuted:
        answer = explain(log, library(), level)
        assert answer.verified_prefix <= refuted[0], f"seed {seed} at {level}: {refuted}, {answer}\n{write(log)}"
    return len(refuted)


@pytest.mark.parametrize("level", LEVELS)
def test_refutations_and_the_oracle_agree(level: str) -> None:
    assert sum(compare(seed, level) for seed in FAST) > 5


CASES = [
    pytest.param(case, expected.level, id=f"{case.name} at {expected.level}")
    for case in all_cases()
    for expected in case.expectations
    if expected.verdict == "correct" and expected.level != "own"
]


@pytest.mark.parametrize(("case", "level"), CASES)
def test_nothing_of_a_correct_case_is_refuted(case: Case, level: str, tmp_path: Path) -> None:
    log = case.log(tmp_path)
    rows, unknown = known_rows(log, library_of(log)), unknown_tables(log, library_of(log))
    problem = Problem(log, library_of(log), rows, isolation=level, unknown=unknown).in_open_world()
    refuted = [n for n in problem.committed if is_refuted_anywhere(problem, n) or refuted_by_times(problem, n)]
    assert not refuted


def compare_by_times(seed: int, level: str) -> int:
    """How many are refuted by what they must see."""
    log = random_log(seed)
    problem = Problem(log, library(), known_rows(log, library()), isolation=level)
    refuted = {
        place: found for place, item in enumerate(problem.committed) if (found := refuted_by_times(problem, item))
    }
    if refuted:
        answer = explain(log, library(), level)
        assert answer.verified_prefix <= min(refuted), f"seed {seed} at {level}: {refuted}, {answer}\n{write(log)}"
    return len(refuted)


@pytest.mark.parametrize("level", TIMED)
def test_what_must_be_seen_and_the_oracle_agree(level: str) -> None:
    assert sum(compare_by_times(seed, level) for seed in FAST) >= (1 if ":" in level else 3)


@pytest.mark.slow
@pytest.mark.parametrize("level", TIMED)
@pytest.mark.parametrize("seeds", [SLOW[n : n + 235] for n in range(0, len(SLOW), 235)], ids=str)
def test_what_must_be_seen_and_the_oracle_agree_on_many(seeds: range, level: str) -> None:
    for seed in seeds:
        compare_by_times(seed, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [SLOW[n : n + 235] for n in range(0, len(SLOW), 235)], ids=str)
def test_refutations_and_the_oracle_agree_on_many(seeds: range, level: str) -> None:
    for seed in seeds:
        compare(seed, level)
