"""What a search over statements' states passes over, because it failed after the same writes, explains nothing else: on
and off find the same outcomes of the same transactions.

Does not know which outcome is right.
"""

from __future__ import annotations

import random
from functools import partial

import pytest

from sql_semantics.library import SqlLibrary
from tests.property.test_profiles_agreement import library, log_of
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.problem.problem import Problem
from troubadour.search.schedule import read_candidates as candidates
from troubadour.search.schedule.placement import content
from troubadour.search.schedule.trace import Trace

LEVEL = "postgres:read-committed"
WRITERS = 8
SUM, HIGHEST = "SELECT SUM(v) FROM n", "UPDATE n SET v = (SELECT MAX(v) FROM n WHERE k < 9) WHERE k = 9"


def outcomes(trace: Trace, item: int) -> tuple[int, set[object]]:
    """How many readings there are, and the write maps of all that explain it."""
    found = list(trace.candidates(item))
    return len(found), {content(one.view.writes()) for one in found if one.failure is None}


def compared(log: Log, sql: SqlLibrary, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Place a log in hint order as far as that goes, and compare on the way; how many outcomes there were, and how many
    readings were passed over."""
    problem = Problem(log, sql, known_rows(log, sql), isolation=LEVEL)
    trace = Trace(problem)
    explained = passed_over = 0
    searching = candidates.Executions
    for item in problem.committed:
        runs, learned = outcomes(trace, item)
        with monkeypatch.context() as patched:
            patched.setattr(candidates, "Executions", partial(searching_all, searching))
            all_runs, found = outcomes(trace, item)
        assert learned == found, item
        explained += len(learned)
        passed_over += all_runs - runs
        trace.place(item)
    return explained, passed_over


def searching_all(searching: type, *arguments: object, learns: bool) -> object:
    """A search that passes over nothing."""
    return searching(*arguments)


def three_statements(seed: int) -> Log:
    """Who reads a sum, writes a maximum and reads a sum again, while others write; at times a sum that never was."""
    rng = random.Random(f"three {seed}")
    rows = {k: rng.randrange(4) for k in range(1, 10)}
    states, writers = [dict(rows)], []
    for number in range(WRITERS):
        key = rng.randrange(1, 4)
        rows[key] += rng.choice((1, 1, 2, -1))
        states.append(dict(rows))
        texts = (Statement(sql=f"UPDATE n SET v = {rows[key]} WHERE k = {key}", affected=1),)
        end = End(invoked=30 + number, returned=900 + number)
        writers.append(Transaction(f"w{number}", "committed", texts, number, invoked=0, end=end))
    first, second, third = sorted(rng.randrange(len(states)) for _ in range(3))
    third_rows = {**states[third], 9: max(states[second][k] for k in range(1, 9))}
    sums = [sum(states[first].values()), sum(third_rows.values()) + rng.choice((0, 0, 0, 50))]
    answers = [ObservedRows(columns=("sum",), rows=((value,),)) for value in sums]
    statements = (
        Statement(sql=SUM, results=(answers[0],), invoked=10, returned=100),
        Statement(sql=HIGHEST, affected=1, invoked=101, returned=200),
        Statement(sql=SUM, results=(answers[1],), invoked=201, returned=300),
    )
    reader = Transaction("r", "committed", statements, WRITERS, invoked=5, end=End(invoked=301, returned=910))
    header = Header(
        dialect="postgres",
        schema=("CREATE TABLE n (k INT PRIMARY KEY, v INT NOT NULL)",),
        initial=(InitialTable("n", ("k", "v"), sorted(states[0].items())),),
    )
    return Log(header, [*writers, reader], "")


@pytest.fixture(autouse=True)
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missed for want of runs."""
    for bound in ("MANY", "SEVERAL"):
        monkeypatch.setattr(candidates, bound, 100_000)


def test_statements_among_many_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = passed_over = 0
    for seed in range(40):
        log = three_statements(seed)
        more, fewer = compared(log, library_of(log), monkeypatch)
        explained, passed_over = explained + more, passed_over + fewer
    assert explained > 100
    assert passed_over > 100


def test_random_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = (log for log in map(partial(log_of, dialect="postgres"), range(500, 560)) if log is not None)
    assert sum(compared(log, library("postgres"), monkeypatch)[0] for log in logs) > 100
