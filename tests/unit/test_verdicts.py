"""The corpus of verdicts: its short part is audited against the last results, and what counts as lost is tried out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.verdicts import audit_server, results
from benchmarks.verdicts.corpus import ANY, Entry, corpus
from benchmarks.verdicts.implied import contradictions, is_exact
from benchmarks.verdicts.measure import LIMITED, REFERENCE, WARM_UP, Auditor, Figures, figures

CORRECT = Figures("correct", None, None, 3, None, 1.0, 1.0, 50, None)
VIOLATION = Figures("violation", "every-order", 2, 2, "t3", 1.0, 1.0, 50, None)
RECORDED = replace(VIOLATION, scope="recorded-order")
UNDECIDED = Figures("undecided", None, None, 1, None, 1.0, 1.0, 50, "too many cases")
CRASHED = Figures("crashed", None, None, None, None, 1.0, 1.0, 50, "IndexError")


def entry(*right: str) -> Entry:
    return Entry("family", "name", (WARM_UP,), "snapshot", frozenset(right) or ANY)


@pytest.fixture(scope="module")
def auditor() -> Iterator[Auditor]:
    with Auditor() as running:
        yield running


JUDGED_BY_CASES = {"anomalies", "regress"}
"""Families whose every log `test_cases` audits at every level here."""
LIGHT = 0.25
"""Seconds of work that a log here took at most when it was measured."""


@pytest.mark.parametrize("left", [JUDGED_BY_CASES, pytest.param(set(), marks=pytest.mark.slow)], ids=["rest", "all"])
def test_no_verdict_of_the_short_corpus_is_lost(auditor: Auditor, tmp_path: Path, left: set[str]) -> None:
    before = results.read()
    assert before is not None
    heavy = {key for key, result in before.results.items() if result.figures.work > LIGHT} if left else set()
    entries = [each for each in corpus(tmp_path) if each.fast and each.family not in left and each.key not in heavy]
    assert len(entries) > 100
    troubles, compared = [], 0
    verdicts: dict[str, dict[str, str]] = {}
    for each in entries:
        stored = before.results.get(each.key)
        old = stored.figures if stored is not None and stored.log == results.digest(each.paths) else None
        now = auditor.audit(each.paths, each.level, 20)
        compared += old is not None
        trouble = results.lost(each, old, now)
        if trouble is not None:
            troubles.append(f"{each.key}: {trouble}")
        if not is_exact(each.paths[0]):
            verdicts.setdefault(each.name, {})[each.level or "own"] = now.claim
    assert not troubles
    assert compared > 100
    assert not list(contradictions(verdicts))


@pytest.mark.parametrize(
    ("right", "before", "now", "is_lost"),
    [
        ((), CORRECT, CORRECT, False),
        ((), CORRECT, UNDECIDED, True),
        ((), VIOLATION, CORRECT, True),
        ((), RECORDED, UNDECIDED, False),
        ((), RECORDED, CORRECT, False),
        ((), UNDECIDED, CORRECT, False),
        ((), CORRECT, CRASHED, True),
        (("correct",), VIOLATION, CORRECT, False),
        (("correct",), UNDECIDED, VIOLATION, True),
        (("correct",), RECORDED, VIOLATION, True),
        (("correct",), VIOLATION, VIOLATION, False),
        (("correct",), CORRECT, VIOLATION, True),
        (("violation",), RECORDED, UNDECIDED, False),
        (("violation",), VIOLATION, UNDECIDED, True),
        (("violation",), None, CORRECT, True),
        (("violation",), None, UNDECIDED, False),
    ],
)
def test_what_counts_as_lost(right: tuple[str, ...], before: Figures | None, now: Figures, is_lost: bool) -> None:
    assert (results.lost(entry(*right), before, now) is not None) == is_lost


def test_what_counts_as_heavier() -> None:
    assert not results.is_heavier(CORRECT, replace(CORRECT, work=1.7))
    assert results.is_heavier(CORRECT, replace(CORRECT, work=1.9))
    assert not results.is_heavier(UNDECIDED, replace(CORRECT, work=9.0))
    assert not results.is_heavier(CORRECT, replace(UNDECIDED, work=9.0, reason=LIMITED))
    small, more = replace(CORRECT, work=0.1), replace(CORRECT, work=0.4)
    assert results.heavier_families([(entry(), small, small)] * 10) == []
    assert results.heavier_families([(entry(), small, more)] * 10) == ["family: 1.0 s of work were 4.0 s"]


def test_results_are_read_as_written(tmp_path: Path) -> None:
    found = results.Pass("abc", {"a @ own": results.Result("1", VIOLATION), "b @ own": results.Result("2", UNDECIDED)})
    results.write(found, tmp_path / "last.json")
    assert results.read(tmp_path / "last.json") == found
    assert results.read(tmp_path / "none.json") is None


def test_an_audit_that_takes_too_long_is_undecided(auditor: Auditor) -> None:
    answer: dict[str, object] = {"out": "", "err": "", "cpu": 3.0, "peak": 50, "speed": 2 * REFERENCE}
    ended = figures({**answer, "exit": -int(signal.SIGXCPU)})
    assert (ended.verdict, ended.reason, ended.work) == ("undecided", LIMITED, 1.5)
    assert figures({**answer, "exit": 70, "err": "IndexError: 3\nthis is a fault"}).verdict == "crashed"
    assert figures({**answer, "exit": 70, "err": "MemoryError"}).reason == "memory"
    assert auditor.audit((WARM_UP,), "snapshot", 20).verdict == "violation"


def test_a_level_that_accepts_what_a_weaker_one_refuses_is_told() -> None:
    assert list(contradictions({"log": {"serializable": "correct", "causal": "correct", "snapshot": "violation"}})) == [
        "log: correct at serializable, a violation at snapshot"
    ]
    assert (VIOLATION.claim, RECORDED.claim) == ("violation", "undecided")
    assert not list(contradictions({"log": {"snapshot": "correct", "serializable": "violation", "own": "violation"}}))


def test_only_a_process_that_waits_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([3, 4, 5, 5, 6])
    ended: list[tuple[int, int]] = []
    monkeypatch.setattr(audit_server, "ticks", lambda process: next(told))
    monkeypatch.setattr(audit_server.os, "kill", lambda *process_and_signal: ended.append(process_and_signal))
    audit_server.end_waiting(7, 0.0, threading.Event())
    assert ended == [(7, signal.SIGKILL)]
    assert next(told) == 6  # it went on as long as it had the processor


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="told by Linux alone")
def test_what_a_process_had_of_the_processor_is_told() -> None:
    # this one has imported what audits need
    assert audit_server.ticks(os.getpid()) > 0
