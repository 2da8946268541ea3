"""`watch` tells the violation of a log from the part of it that has it as the audit of the whole log does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.property.timestamped_logs import timestamped_log
from tests.unit.commands import write
from troubadour.cli.watch import _Closing
from troubadour.watch import following

KINDS = ("register", "list", "counter")


def decided_by_part(run: Any, folder: Path, seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many logs were told so, each as its audit."""
    monkeypatch.setattr(following, "LONG", 1)
    by_part, told = _Closing.by_part, []

    def noted(self: _Closing) -> Any:
        told.append(by_part(self))
        return told[-1]

    monkeypatch.setattr(_Closing, "by_part", noted)
    for seed in seeds:
        rng = random.Random(f"part {seed}")
        draft = timestamped_log(rng.choice(KINDS), seed, least=3, most=9, ties=0.1)
        for line in draft.lines:
            if line["status"] == "unknown":
                line["status"] = "aborted"
        header = {"format": "troubadour-log", "version": 1, "objects": draft.types}
        log = write(folder, header, *draft.lines)
        level = ("--isolation", rng.choice(("timestamp-snapshot", "timestamp-serializable")))
        audited = run("audit", *level, "--format", "json", log)
        watched = run("watch", *level, "--until-idle", "0.01", log)
        *events, last = map(json.loads, watched.out.splitlines())
        assert watched.status == audited.status, seed
        assert {**last, "seconds": 0} == {**audited.json, "seconds": 0}, seed
        final = [one for one in events if one["kind"] == "violation" and one["final"]]
        assert len(final) == (last["violations"] or {"count": 0})["count"], seed
    return sum(one is not None for one in told)


TOLD_BY_PART = (81_003, 81_010, 81_020, 81_041)


def test_a_part_tells_what_the_whole_does(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided_by_part(run, tmp_path, TOLD_BY_PART, monkeypatch) == len(TOLD_BY_PART)


@pytest.mark.slow
def test_a_part_tells_what_the_whole_does_of_many(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided_by_part(run, tmp_path, range(82_000, 82_500), monkeypatch) > 75
