"""The second decision of what facts and order refute: an edge, or a fault, that is not so ends the command with 70, and
gives no verdict. Does not know how an edge is found.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from troubadour.audit.objects import decide
from troubadour.audit.objects.decide import Disagreement, ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.facts.objects.facts import Facts, Fault
from troubadour.formats import read_either
from troubadour.isolation.levels import Level
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status
from troubadour.order.objects import known
from troubadour.order.objects.arrays import Links
from troubadour.order.objects.known import Relation, Why

LOGS = {
    "register": [[["w", "r", 1, 5]], [["r", "r", 1, 5], ["w", "r", 1, 6]], [["r", "r", 1, 6]]],
    "list": [[["append", "r", 1, 5]], [["r", "r", 1, [5]], ["append", "r", 1, 6]], [["r", "r", 1, [5, 6]]]],
    "set": [[["add", "r", 1, 5]], [["r", "r", 1, [5]], ["add", "r", 1, 6]], [["r", "r", 1, [5, 6]]]],
    "counter": [[["r", "r", 1, 0], ["inc", "r", 1, 5]], [["r", "r", 1, 5], ["inc", "r", 1, 1]], [["r", "r", 1, 6]]],
}
"""Of each type a log that is correct at every level."""


def written(kind: str, folder: Path) -> Path:
    lines = [{"format": "troubadour-log", "version": 1, "objects": {"r": kind}}]
    lines += [{"id": f"t{number}", "status": "committed", "ops": ops} for number, ops in enumerate(LOGS[kind], 1)]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def log_of(kind: str, folder: Path) -> ObjectLog:
    found = read_either([written(kind, folder)])
    assert isinstance(found, ObjectLog)
    return found


def spoilt(facts: Facts, level: Level, why: Why, *, newest: bool = False) -> Relation:
    """What is known, and that the last transaction comes before the first, by a read of its own."""
    relation = known.known_order(facts, level, newest=newest)
    links, last = relation.links, len(relation.since) - 1
    commit = last + len(relation.since) if relation.split else last
    wrong = Links(links.events, *(np.append(one, end) for one, end in (
        (links.source, last if why is Why.RW else commit), (links.target, 0), (links.weight, last + 1))))  # fmt: skip
    at = int(np.flatnonzero(facts.accesses.txn == (last if why is Why.RW else 0))[0])
    return replace(
        relation, links=wrong, why=np.append(relation.why, int(why)), at=np.append(relation.at, at),
        by=np.append(relation.by, -1),
    )  # fmt: skip


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_each_is_correct_as_it_is(kind: str, level: str, tmp_path: Path) -> None:
    verdict = decide_objects(log_of(kind, tmp_path), ObjectOptions(level), by_sql)
    assert verdict is not None
    assert verdict.status is Status.CORRECT


@pytest.mark.parametrize("why", [Why.WR, Why.WW, Why.RW], ids=lambda why: why.name)
@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_a_spoilt_edge_is_no_verdict(
    why: Why, kind: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "known_order", lambda facts, level, newest=False: spoilt(facts, level, why))
    with pytest.raises(Disagreement):
        decide_objects(log_of(kind, tmp_path), ObjectOptions(level), by_sql)


@pytest.mark.parametrize("kind", LOGS)
def test_a_spoilt_fault_is_no_verdict(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_fault(self: object, facts: Facts, relation: Relation) -> tuple[int, Fault]:
        read = int(np.flatnonzero(facts.accesses.txn == 2)[0])
        return 3, Fault("garbage-read", 2, read, "it read what nothing wrote")

    monkeypatch.setattr(decide._Decision, "_likely", lambda self: None)  # a witness that replay accepts comes first
    monkeypatch.setattr(decide._Decision, "_first_fault", first_fault)
    with pytest.raises(Disagreement):
        decide_objects(log_of(kind, tmp_path), ObjectOptions("serializable"), by_sql)


def test_the_command_ends_with_70(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom tests.unit import test_spoilt_edges as spoil\n"
        "from troubadour.audit.objects import decide\nfrom troubadour.order.objects.known import Why\n"
        "decide.known_order = lambda facts, level, newest=False: spoil.spoilt(facts, level, Why.WR)\n"
        "from troubadour.cli.main import main\nmain(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", program, "audit", str(written("register", tmp_path)), "--isolation", "snapshot"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == 70, ended.stderr
    assert "its SQL does not" in ended.stderr
    assert not ended.stdout
