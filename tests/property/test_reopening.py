"""Logs of which little is seen: what is guessed and opened again decides as what stays open all the time does.

The windows and bounds are small here, so that guesses are made, fail and are taken back. Does not know the search.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.search.ambiguity import FAMILIES, ambiguous_log
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Log, ObservedRows
from troubadour.model.verdict import Status
from troubadour.problem.problem import Heuristics
from troubadour.search.symbolic import trace as symbolic

SIZE = 32
GUESSED = Heuristics(window=2)
OPEN = Heuristics(window=None, stronger_first=False)


def shifted(log: Log, by: int) -> Log:
    """The log with the first value that its last reader saw changed a little, which may or may not be explained."""
    place = max(n for n, transaction in enumerate(log.transactions) if transaction.statements[0].results)
    reader = log.transactions[place]
    results = reader.statements[0].results
    assert results
    rows = results[0].rows
    if not rows:
        return log
    seen = ObservedRows(results[0].columns, ((rows[0][0], rows[0][1] + by), *rows[1:]))
    statement = replace(reader.statements[0], results=(seen,))
    transactions = [*log.transactions]
    transactions[place] = replace(reader, statements=(statement,))
    return Log(log.header, transactions, f"shifted by {by}")


def decide(log: Log, heuristics: Heuristics) -> Status:
    library = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema)
    return audit(log, library, Options(timeout=120.0, heuristics=heuristics)).status


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("seed", range(2))
def test_right_logs_are_correct_with_guesses(monkeypatch: pytest.MonkeyPatch, family: str, seed: int) -> None:
    monkeypatch.setattr(symbolic, "OPEN", 12)
    assert decide(ambiguous_log(family, 2 * SIZE, seed), GUESSED) is Status.CORRECT


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("by", [1, 3])
def test_guesses_decide_as_open_readings_do(monkeypatch: pytest.MonkeyPatch, family: str, by: int) -> None:
    log = shifted(ambiguous_log(family, SIZE, 7 + by), by)
    monkeypatch.setattr(symbolic, "OPEN", 10_000)
    expected = decide(log, OPEN)
    monkeypatch.setattr(symbolic, "OPEN", 12)
    assert decide(log, GUESSED) is expected
