"""Work in a process of its own, ended by its alarm wherever that strikes (CONTRACT §2, `--timeout`)."""

from __future__ import annotations

import sys
import time

import pytest

from troubadour.cli.supervision import Bounds, Work, supervise


@pytest.fixture(autouse=True)
def _hook_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)


class _Slow:
    """An object that takes its time to be given back, so that the alarm strikes then."""

    def __init__(self) -> None:
        self.seconds = 0.6

    def __del__(self) -> None:
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            pass


def _gives_back_for_ever(work: Work) -> int:
    while True:
        _Slow()


def test_an_alarm_that_strikes_while_an_object_is_given_back_comes_again(capfd: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    ended = supervise(_gives_back_for_ever, Bounds(timeout=1.0))
    assert ended.reason == "the time limit was reached"
    assert time.monotonic() - begun < 3.0
    assert capfd.readouterr().err == ""


def _fails_while_it_is_given_back(work: Work) -> int:
    class Failing:
        def __del__(self) -> None:
            raise ValueError("a fault of another kind")

    Failing()
    return 0


def test_other_faults_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert supervise(_fails_while_it_is_given_back, Bounds(timeout=10.0)).status == 0
    assert "a fault of another kind" in capfd.readouterr().err
