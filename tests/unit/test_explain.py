"""A failure met before repair is told after it, on rows that were placed anew. Does not test wording elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.property.random_statements import ACCOUNTS, library
from troubadour.audit.told.explain import explain
from troubadour.execution.initial.rows import initial_state
from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, ObservedRows, Statement, Transaction
from troubadour.problem.problem import Problem
from troubadour.search.repair.placer import Frontier


def test_a_conflict_on_a_row_that_was_placed_anew_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    header = Header("postgres", (ACCOUNTS,), isolation="snapshot", settings={"collation": "C"})
    old = (ObservedRows(("v",), ((1,),)),)
    transactions = [
        Transaction("a", "committed", (Statement("INSERT INTO accounts VALUES (1, 1, 'x')", affected=1),), 0),
        Transaction("b", "committed", (Statement("UPDATE accounts SET v = 2 WHERE id = 1", affected=1),), 1),
        Transaction(
            "c",
            "committed",
            (
                Statement("SELECT v FROM accounts WHERE id = 1", results=old),
                Statement("UPDATE accounts SET v = v + 5 WHERE id = 1", affected=1),
            ),
            2,
        ),
    ]
    write_log(path, header, transactions)
    log = read_log([path])
    problem = Problem(log, library(), initial_state(log, library()), isolation=None)
    frontier = Frontier(problem)
    assert frontier.place(0) is None
    assert frontier.place(1) is None
    failure = frontier.place(2)
    assert failure is not None
    assert failure.condition == "NWC"
    before = explain(problem, frontier.trace, failure)
    frontier.truncate(0)
    assert [frontier.place(0), frontier.place(1)] == [None, None]
    assert failure.rows[0] not in frontier.trace.states.tables["accounts"].rows
    assert explain(problem, frontier.trace, failure) == before
    assert before == "c changes accounts(id=1) from 1, but b committed 2 there after c's snapshot"
