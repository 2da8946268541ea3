"""A chain of what transactions saw of one another refutes only where all its steps are there (proof, *visibility*)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.case_files import read_case
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.order.engine import Alone, contradiction_of, first_refuted, infer
from troubadour.order.visibility import Unseen, Why, unseen
from troubadour.problem.problem import Problem
from troubadour.proof.chains.visibility_chain import checked_visibility

TABLE = """
# level: causal   expect: violation at r
CREATE TABLE t (a INT PRIMARY KEY, b INT)
init t (1, 1) (2, 2)
"""
MISSING_CAUSE = """
w1  UPDATE t SET b = 10 WHERE a = 1  -> affected 1
w2  SELECT b FROM t WHERE a = 1  -> (10)
    UPDATE t SET b = 20 WHERE a = 2  -> affected 1
r   SELECT b FROM t WHERE a = 2  -> (20)
    SELECT b FROM t WHERE a = 1  -> (1)
"""
# the reader sees both writers, each of which is the later one by one row
IN_A_CIRCLE = """
w1  UPDATE t SET b = 10 WHERE a = 1  -> affected 1
    UPDATE t SET b = 30 WHERE a = 2  -> affected 1
w2  UPDATE t SET b = 20 WHERE a = 1  -> affected 1
    UPDATE t SET b = 40 WHERE a = 2  -> affected 1
r   SELECT b FROM t WHERE a = 1  -> (10)
    SELECT b FROM t WHERE a = 2  -> (40)
"""
ADDED = """
w1  INSERT INTO t VALUES (3, 3)  -> affected 1
w2  SELECT b FROM t WHERE a = 3  -> (3)
    UPDATE t SET b = 20 WHERE a = 2  -> affected 1
r   SELECT b FROM t WHERE a = 2  -> (20)
    SELECT b FROM t WHERE a = 3  -> no row (b)
"""
LOGS = {"missing cause": MISSING_CAUSE, "circle": IN_A_CIRCLE, "a row that was added": ADDED}


def problem_of(text: str, folder: Path, level: str) -> Problem:
    log = read_case(TABLE + text, "visibility").log(folder)
    return Problem(log, library_of(log), known_rows(log, library_of(log)), isolation=level)


def found_in(problem: Problem) -> Unseen:
    found = unseen(problem)
    assert found is not None
    return found


@pytest.mark.parametrize("text", LOGS.values(), ids=LOGS.keys())
def test_every_step_is_needed(text: str, tmp_path: Path) -> None:
    problem = problem_of(text, tmp_path, "causal")
    found = found_in(problem)
    count, shorter = first_refuted(problem, found)
    assert isinstance(shorter, Unseen)
    chain = shorter.chain
    assert count == 3
    shown = checked_visibility(problem, chain, count, found.accounts)
    assert shown is not None and shown.every_order
    assert shown.transactions == {0, 1, 2}
    for number in range(len(chain.steps)):
        less = replace(chain, steps=(*chain.steps[:number], *chain.steps[number + 1 :]))
        assert checked_visibility(problem, less, count, found.accounts) is None, chain.steps[number]


@pytest.mark.parametrize("text", LOGS.values(), ids=LOGS.keys())
def test_steps_about_others_are_refused(text: str, tmp_path: Path) -> None:
    problem = problem_of(text, tmp_path, "causal")
    found = found_in(problem)
    for number, step in enumerate(found.chain.steps):
        others = {0, 1, 2} - {step.earlier}
        for other in others if step.why is not Why.HAPPENED else ():
            wrong = (*found.chain.steps[:number], replace(step, earlier=other), *found.chain.steps[number + 1 :])
            assert checked_visibility(problem, replace(found.chain, steps=wrong), 3, found.accounts) is None


def test_causes_are_not_asked_for_where_visibility_is_not_closed(tmp_path: Path) -> None:
    assert unseen(problem_of(MISSING_CAUSE, tmp_path, "read-atomic")) is None
    assert unseen(problem_of(IN_A_CIRCLE, tmp_path, "read-atomic")) is not None


def test_states_are_not_for_it(tmp_path: Path) -> None:
    assert unseen(problem_of(MISSING_CAUSE, tmp_path, "serializable")) is None


REPLACED = """
t1  DELETE FROM t WHERE a = 1  -> affected 1
t2  INSERT INTO t VALUES (1, 4)  -> affected 1
"""
TWO_VERSIONS = """
t1  UPDATE t SET b = 11 WHERE a = 1  -> affected 1
t2  SELECT b FROM t WHERE a = 1  -> (11)
    SELECT b FROM t WHERE a = 1  -> (10)
"""


@pytest.mark.parametrize("level", ["read-atomic", "causal", "parallel-snapshot"])
def test_a_row_may_be_seen_beside_the_one_of_its_key_that_was_deleted(level: str, tmp_path: Path) -> None:
    """A set may have both insertions and not the deletion, so that no answer contradicts itself."""
    problem = problem_of(REPLACED + "t3  SELECT b FROM t WHERE a = 1  -> (1) (4)\n", tmp_path, level)
    assert infer(problem).contradiction is None
    assert contradiction_of(problem) is None
    accounts = accounts_for(problem, problem.levels[0])
    assert accounts.of(2).contradicts, "of a state it would"


@pytest.mark.parametrize("level", ["read-atomic", "causal", "parallel-snapshot"])
def test_one_row_in_two_versions_contradicts_itself(level: str, tmp_path: Path) -> None:
    problem = problem_of(TWO_VERSIONS, tmp_path, level)
    for found in (infer(problem).contradiction, contradiction_of(problem)):
        assert isinstance(found, Alone) and found.item == 1
        assert first_refuted(problem, found)[0] == 2
