"""Of a long log of operations with many faults the first one is told of, in a time that does not grow with their
number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from troubadour.audit.objects.decide import ObjectOptions, decide_objects
from troubadour.cli.recording.simulated import simulated
from troubadour.facts.objects import gather
from troubadour.formats import read_either
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """A run whose updates get lost now and then, without the database's timestamps."""
    path = folder / "run.jsonl"
    options = ["--type", "list", "--transactions", "3000", "--sessions", "20", "--concurrency", "20", "--fault"]
    options += ["lost-update", "--rate", "0.05", "--seed", "3", "--writes-per-key", "100"]
    simulated.main(["--workload", "objects", *options, "--out", str(path)], standalone_mode=False)
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()][:-1]
    for line in lines:
        line.pop("start", None)
        line.pop("commit", None)
    return lines


def decided(folder: Path, lines: list[dict[str, Any]]) -> Verdict | None:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_either([path])
    assert isinstance(log, ObjectLog)
    return decide_objects(log, ObjectOptions("snapshot"), lambda *_: Status.VIOLATION)


def test_the_first_of_many_faults(tmp_path: Path, monkeypatch: Any) -> None:
    lines = lines_of(tmp_path)
    derived: list[int] = []
    plain = gather.facts_of

    def facts_of(log: ObjectLog, *, grows: bool) -> Any:
        derived.append(len(log))
        return plain(log, grows=grows)

    monkeypatch.setattr(gather, "facts_of", facts_of)
    found = decided(tmp_path, lines)
    assert found is not None
    assert found.status is Status.VIOLATION
    ends = sorted((line["returned"], line["id"]) for line in lines[1:] if line["status"] == "committed")
    assert ends[found.verified_prefix][1] == found.failing_transaction
    until = ends[found.verified_prefix][0]
    before: list[dict[str, Any]] = [lines[0], *(line for line in lines[1:] if line["returned"] < until)]
    # without the one that fails, what happened before it is explained
    shorter = decided(tmp_path, before)
    assert shorter is not None
    assert shorter.status is Status.CORRECT
    assert len(derived) < 40
