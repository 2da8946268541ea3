"""How large what decides is, how far one transaction walks through it, and whether the page on its steps has all.

The ceilings may only go down. Does not know what the code does.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.sizes import PACKAGES, constants, files, lines
from benchmarks.walk import stays, walked
from sql_semantics.library import SqlLibrary
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.execution import prepared
from troubadour.formats import read_log
from troubadour.model.log import Transaction
from troubadour.model.verdict import Status
from troubadour.problem.heuristics import Heuristics
from troubadour.proof.refuters import REFUTERS
from troubadour.search.repair.mending import MOVES

ROOT = Path(__file__).parents[2]

LINES = 28_834
STAYS_STRAIGHT, STAYS = 92, 132
"""Of one plain transaction from log to verdict (benchmarks/walk): on the newest states, and by the search."""
CONSTANTS = 73


def test_what_decides_grows_no_larger() -> None:
    assert sum(map(lines, files(*PACKAGES))) <= LINES


def test_bounds_are_taken_from_the_ladder() -> None:
    found = [f"{path.relative_to(ROOT)}: {name}" for path in files(*PACKAGES) for name in constants(path)]
    assert len(found) <= CONSTANTS, "\n".join(found)


def test_the_page_on_the_steps_has_every_move_and_refuter() -> None:
    page = (ROOT / "docs" / "steps.md").read_text(encoding="utf-8")
    _, *tables = re.split(r"^\| (?:step|move|refuter) \|.*\n\|[-|:]+\n", page, flags=re.M)
    names = [re.findall(r"^\| ([^|]+) \|", re.split(r"\n\n", table)[0], re.M) for table in tables]
    assert names[1:] == [[move.name for move in MOVES], [refuter.name for refuter in REFUTERS]]


@pytest.mark.parametrize(("straight", "most"), [(True, STAYS_STRAIGHT), (False, STAYS)])
def test_the_walk_of_one_transaction_grows_no_longer(straight: bool, most: int) -> None:
    assert len(stays(walked(straight=straight))) <= most


def test_search_and_replay_share_what_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    prepare = prepared.prepare

    def counted(transaction: Transaction, library: SqlLibrary) -> prepared.PreparedTransaction:
        asked[str(transaction.id)] += 1
        return prepare(transaction, library)

    monkeypatch.setattr(prepared, "prepare", counted)
    log = read_log([ROOT / "logs" / "recorded" / "bank-snapshot-20.jsonl.gz"])
    verdict = audit(log, library_of(log), Options(heuristics=Heuristics(straight=False)))
    assert verdict.status is Status.CORRECT
    assert set(asked.values()) == {1}
