"""What answers tell of rows contradicts no log that is correct (`order.rows`), whatever the search would find first."""

from __future__ import annotations

from pathlib import Path

import pytest

from sql_semantics.errors import Unsupported
from tests.case_files import Case, all_cases, opened
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.formats import read_log
from troubadour.hunt.derived import contradiction
from troubadour.hunt.libraries import Libraries
from troubadour.model.log import LogError
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem

RIGHT = [
    [
        (case, expected.level)
        for expected in case.expectations
        if expected.verdict == "correct" and not expected.order_recorded
    ]
    for case in all_cases()
]
"""Of each case the levels at which it is correct."""
IN_TURN = [levels[number % len(levels)] for number, levels in enumerate(RIGHT) if levels]


def conflict_of(case: Case, level: str | None, folder: Path) -> object:
    """What contradicts itself; `False` where nothing is derived of such a log."""
    try:
        log, library = opened(case.log(folder), level)
        problem = Problem(log, library, known_rows(log, library), isolation=level, unknown=unknown_tables(log, library))
        derived = Rows(problem).derive() if problem.committed else None
    except (Unsupported, UnsupportedStatement, LogError):
        return False
    return False if derived is None else derived.conflict


@pytest.mark.parametrize(
    ("some", "least"),
    [
        pytest.param(IN_TURN, 100, id="each case at a level"),
        pytest.param([one for levels in RIGHT for one in levels], 300, id="all", marks=pytest.mark.slow),
    ],
)
def test_nothing_contradicts_itself(
    some: list[tuple[Case, str]], least: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """`least`: of how many of them something is derived, at least."""
    folder = tmp_path_factory.mktemp("cases")
    derived = 0
    for case, level in some:
        found = conflict_of(case, None if level == "own" else level, folder)
        derived += found is not False
        assert not found, f"{case.name} at {level}: {found}"
    assert derived >= least


def test_a_row_may_change_under_key_share() -> None:
    """A log of PostgreSQL: an UPDATE that leaves the keys alone does not wait for FOR KEY SHARE."""
    log = read_log([Path(__file__).parents[2] / "logs/regress/2026-11-28-key-share-lets-the-row-change.jsonl"])
    assert contradiction(log, Libraries().of(log)) is None
