"""What people are told of mistakes, and of their logs, to the letter: as `make messages` kept it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.messages.__main__ import ROOT, timeless
from benchmarks.messages.mistakes import MISTAKES, Mistake
from benchmarks.messages.verdicts import VERDICTS, Asked

SAID = json.loads((ROOT / "benchmarks" / "messages" / "said.json").read_text(encoding="utf-8"))
QUICK = [asked for asked in VERDICTS if "/anomalies/" in asked.command[1]]
"""Of small logs."""


def test_all_are_kept() -> None:
    for kept, commands in (("mistakes", MISTAKES), ("verdicts", VERDICTS)):
        assert [one["command"] for one in SAID[kept]] == [" ".join(one.command) for one in commands]
    assert (len(MISTAKES), len(VERDICTS)) == (40, 24)
    assert len(QUICK) > 10


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def now(kept: str, what: str) -> tuple[int, str]:
    (found,) = [one["now"] for one in SAID[kept] if one["what"] == what]
    return found["status"], found["text"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.what)
def test_a_mistake_is_told_in_these_words(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: Mistake
) -> None:
    mistake.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    ended = run(*mistake.command)
    assert (ended.status, timeless(ended.out + ended.err)) == now("mistakes", mistake.what)
    assert ended.status == 2


@pytest.mark.parametrize("asked", QUICK, ids=lambda one: one.what)
def test_a_verdict_is_told_in_these_words(run: Any, monkeypatch: pytest.MonkeyPatch, asked: Asked) -> None:
    monkeypatch.chdir(ROOT)
    ended = run(*asked.command)
    assert (ended.status, timeless(ended.out + ended.err)) == now("verdicts", f"{asked.whose}: {asked.what}")
