"""What is refuted in every order has, by the oracle, no witness in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.case_files import Case, all_cases, opened
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.facts.sql.effects import Accounts, reads_once
from troubadour.isolation.levels import Visible
from troubadour.oracle import explain
from troubadour.order.engine import infer, is_for
from troubadour.order.visibility import contradict_in_sets, unseen
from troubadour.problem.problem import Problem
from troubadour.proof.chains.visibility_chain import checked_visibility
from troubadour.search.inference.values.reachable_numbers import is_no_sum, numbers_of_all
from troubadour.search.inference.values.unreachable_rows import RowsByKey
from troubadour.search.inference.values.value_closure import is_refuted_anywhere
from troubadour.search.inference.values.visible_values import refuted_by_times

FAST, SLOW = range(9020, 9032), range(9000, 11000)
LEVELS = (
    "read-committed",
    "snapshot",
    "serializable",
    "session-snapshot",
    "strict-serializable",
    "strict-snapshot",
    "postgres:repeatable-read",
)

SETS = ("causal", "parallel-snapshot", "read-atomic", "session-read-atomic", "update-atomic")


def is_unseen(problem: Problem, place: int) -> bool:
    """Whether no visibility explains a prefix; the chain that shows it passes its check."""
    found = unseen(problem, place + 1)
    if found is None:
        return False
    assert checked_visibility(problem, found.chain, place + 1, found.accounts) is not None, found.chain
    return True


def contradicts_itself(problem: Problem, item: int) -> bool:
    """Whether no one state, or set of others, gives the answers of a transaction, where it reads one."""
    level = problem.levels[item]
    accounts = Accounts(problem, latest=level.horizon.latest)
    if level.visible is not Visible.STATE:
        return contradict_in_sets(problem, accounts, [item]) is not None
    return reads_once(problem, level) and accounts.of(item).contradicts


def was_never_so(problem: Problem, item: int) -> bool:
    """Whether it saw a row as no version is."""
    numbers = numbers_of_all(problem)
    return numbers is not None and RowsByKey(numbers).unreachable(problem, item) is not None


REFUTERS: Mapping[str, Callable[[Problem, int, int], bool]] = {
    "value_closure": lambda problem, _, item: is_refuted_anywhere(problem, item),
    "visible_values": lambda problem, _, item: refuted_by_times(problem, item) is not None,
    "reachable_numbers": lambda problem, _, item: is_no_sum(problem, item) is not None,
    "unreachable_rows": lambda problem, _, item: was_never_so(problem, item),
    "effects": lambda problem, _, item: contradicts_itself(problem, item),
    "visibility": lambda problem, place, _: is_unseen(problem, place),
}
"""By name, of a problem, the place of an item among the committed ones, and the item."""


def right_ones() -> Iterator[ParameterSet]:
    """Every case with a level at which it is correct; one of its levels, in turn, and the others slowly."""
    for number, case in enumerate(all_cases()):
        levels = [each.level for each in case.expectations if each.verdict == "correct" and each.level != "own"]
        for place, level in enumerate(levels):
            marks = [] if place == number % len(levels) else [pytest.mark.slow]
            yield pytest.param(case, level, id=f"{case.name} at {level}", marks=marks)


def refuted_by(problem: Problem) -> dict[str, int]:
    """The refuters that say, asked by themselves, that there is no explanation; and of the first how many of the
    committed transactions."""
    found: dict[str, int] = {}
    for place, item in enumerate(problem.committed, 1):
        for name, refutes in REFUTERS.items():
            if name not in found and refutes(problem, place - 1, item):
                found[name] = place
    if problem.committed and is_for(problem) and infer(problem).contradiction is not None:
        found["infer"] = len(problem.committed)
    return found


@pytest.mark.parametrize(("case", "level"), [*right_ones()])
def test_nothing_of_a_correct_case_is_refuted(case: Case, level: str, tmp_path: Path) -> None:
    log, library = opened(case.log(tmp_path), level)
    rows, unknown = known_rows(log, library), unknown_tables(log, library)
    problem = Problem(log, library, rows, isolation=level, unknown=unknown).in_open_world()
    assert not refuted_by(problem)


def compare(seed: int, level: str) -> dict[str, int]:
    """Which refuters fire on a random log; the oracle finds no explanation there, either."""
    log = random_log(seed, wider=seed % 3 == 1, savepoints=seed % 3 == 2, sets=level in SETS and not seed % 3)
    problem = Problem(log, library(), known_rows(log, library()), isolation=level)
    refuted = refuted_by(problem)
    if refuted:
        answer = explain(log, library(), level)
        assert answer.verified_prefix < min(refuted.values()), f"{seed} at {level}: {refuted}, {answer}\n{write(log)}"
    return refuted


@pytest.mark.parametrize("level", [*LEVELS, *SETS])
def test_refutations_and_the_oracle_agree(level: str) -> None:
    fired = {name for seed in FAST for name in compare(seed, level)}
    timed = level.startswith("strict") or ":" in level
    of_level = {"visible_values"} if timed else {"visibility"} if level in SETS else set()
    assert fired >= {"value_closure", "reachable_numbers", *of_level}


@pytest.mark.parametrize("level", ["snapshot", "session-snapshot"])
def test_what_a_commit_test_compares_was_read_at_no_time(level: str) -> None:
    """What is restored by a commit sent later may stand before it in the order."""
    assert "infer" not in compare(400323, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", [*LEVELS, *SETS])
@pytest.mark.parametrize("seeds", [SLOW[n : n + 200] for n in range(0, len(SLOW), 200)], ids=str)
def test_refutations_and_the_oracle_agree_on_many(seeds: range, level: str) -> None:
    for seed in seeds:
        compare(seed, level)
