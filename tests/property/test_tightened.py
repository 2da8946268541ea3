"""A server's rules are tried before those of the level, and nobody is held to them (paper §7 H4).

Search and oracle on random logs where they are tried on all lengths, and stale reads in a log of many transactions.
Does not know how often they explain a run.
"""

from __future__ import annotations

import pytest

from tests.property.test_agreement import compare
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.log import End, Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.search import stronger_first as tighten

LEVELS = ("snapshot", "session-snapshot")
SEEDS = 10
WRITERS = 40


def test_search_and_oracle_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tighten, "SOME", 0)
    compare(range(700, 700 + SEEDS), "snapshot")


def stale(readers: int) -> Log:
    """Writers one after the other, and readers among them of what was there 20 writers before."""
    kept = []
    for number in range(WRITERS + readers):
        at = 100 * number
        end = End(invoked=at + 30, returned=at + 40)
        if number < WRITERS:
            made = Statement(sql="UPDATE n SET v = v + 1 WHERE k = 1", affected=1, invoked=at + 10, returned=at + 20)
        else:
            seen = ObservedRows(("v",), ((WRITERS - 20,),))
            made = Statement(sql="SELECT v FROM n WHERE k = 1", results=(seen,), invoked=at + 10, returned=at + 20)
        kept.append(Transaction(f"t{number}", "committed", (made,), number, invoked=at, returned=at + 50, end=end))
    header = Header(
        dialect="postgres",
        schema=("CREATE TABLE n (k INT PRIMARY KEY, v INT NOT NULL)",),
        initial=(InitialTable("n", ("k", "v"), [(1, 0)]),),
    )
    return Log(header, kept, "")


@pytest.mark.parametrize("readers", [2, 6])
def test_stale_reads_are_let_off(readers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tighten, "SOME", 30)
    monkeypatch.setattr(tighten, "LET_OFF", 3)
    log = stale(readers)
    found = {level: audit(log, library_of(log), Options(level)).status for level in (*LEVELS, "strict-snapshot")}
    assert found == dict.fromkeys(LEVELS, Status.CORRECT) | {"strict-snapshot": Status.VIOLATION}
