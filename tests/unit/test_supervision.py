"""Work in a process of its own, ended by its alarm wherever that strikes."""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
import time
from collections.abc import Callable
from random import Random

import duckdb
import pytest

from troubadour.cli.common import refuse
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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = supervise(_gives_back_for_ever, Bounds(timeout=1.0))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.reason == "the time limit was reached"
    # in processor time, of which the work takes all that it is given
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3.0
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


def _ends(number: int) -> Callable[[Work], int]:
    """Work that ends with a status, and is held up on the way until the alarm strikes."""

    def work(work: Work) -> int:
        try:
            sys.exit(number)
        finally:
            while True:
                pass

    return work


def _told_otherwise(work: Work) -> int:
    """The interpreter, or a library, has another error in the place of the alarm's."""
    try:
        while True:
            pass
    finally:
        raise RuntimeError("something was cut short")


def test_an_alarm_on_the_way_to_exit_2_leaves_it() -> None:
    ended = supervise(_ends(2), Bounds(timeout=0.5))
    assert (ended.status, ended.reason) == (2, None)
    assert supervise(_ends(0), Bounds(timeout=0.5)).reason == "the time limit was reached"
    assert supervise(_told_otherwise, Bounds(timeout=0.5)).reason == "the time limit was reached"


@pytest.mark.parametrize("seed", range(6))
def test_an_alarm_strikes_anywhere_while_bad_input_is_told(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    """At a random moment of what refuses: exit 2 with its line, or the time limit, never a traceback."""

    def work(work: Work) -> int:
        random = Random(seed)
        while True:
            with contextlib.suppress(SystemExit):
                sum(range(random.randrange(200)))
                refuse("it cannot be used" * 20)

    ended = supervise(work, Bounds(timeout=0.1))
    assert ended.status == 2 or ended.reason == "the time limit was reached"
    assert "Traceback" not in capfd.readouterr().err


def _collects(work: Work) -> int:
    gc.collect()
    return 0


def test_garbage_of_the_parent_is_left_to_the_parent() -> None:
    gc.disable()
    try:
        database = duckdb.connect()
        database.execute("SELECT sum(i) FROM range(1000000) t(i)").fetchall()
        held: list[object] = [database]
        held.append(held)  # a circle: only a collection gives it back
        del database, held
        ended = supervise(_collects, Bounds())
        assert (ended.status, ended.reason) == (0, None)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert supervise(_collects, Bounds()).status == 0
    assert gc.isenabled()
