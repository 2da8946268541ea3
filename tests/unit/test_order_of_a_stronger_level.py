"""Where no order of snapshots and commits is found, one in which each transaction reads the newest state is tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from troubadour.audit.objects.candidates import candidates
from troubadour.audit.objects.decide import ObjectOptions, decide_objects
from troubadour.facts.objects.accesses import Ints
from troubadour.facts.objects.facts import Facts
from troubadour.formats import read_either
from troubadour.isolation.levels import Level
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status
from troubadour.order.objects.known import Relation
from troubadour.replay.objects import Reading

SERIAL = [[["w", "r", 1, 5], ["w", "r", 2, 5]], [["r", "r", 1, 5], ["w", "r", 1, 6]], [["r", "r", 1, 6]]]
SKEW = [[["r", "r", 1, None], ["w", "r", 2, 5]], [["r", "r", 2, None], ["w", "r", 1, 6]], [["r", "r", 1, 6]]]


@pytest.mark.parametrize("level", ["snapshot", "session-snapshot", "prefix"])
@pytest.mark.parametrize(("transactions", "decided"), [(SERIAL, Status.CORRECT), (SKEW, None)])
def test_order_of_whole_transactions(
    level: str, transactions: list[list[list[object]]], decided: Status | None,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "log.jsonl"
    lines = [{"format": "troubadour-log", "version": 1, "objects": {"r": "register"}}]
    lines += [{"id": f"t{n}", "status": "committed", "ops": ops} for n, ops in enumerate(transactions)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log = read_either([path])
    assert isinstance(log, ObjectLog)

    def of_whole_transactions(facts: Facts, relation: Relation, level: Level, order: Ints | None) -> Iterator[Reading]:
        if not relation.split:
            yield from candidates(facts, relation, level, order)

    monkeypatch.setattr("troubadour.audit.objects.decide.candidates", of_whole_transactions)
    verdict = decide_objects(log, ObjectOptions(level), lambda core, called: Status.VIOLATION)
    assert (None if verdict is None else verdict.status) == decided
