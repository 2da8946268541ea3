"""What a reader is told to do about a verdict that is undecided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.commands import GOOD, HEADER, transaction, write
from troubadour.cli.auditing.other_levels import decided_elsewhere
from troubadour.formats import read_log
from troubadour.model.verdict import Coverage, Status, Unjudged, Verdict
from troubadour.report.text import render_text
from troubadour.report.undecided import Nearly, levels_text, nearly, next_steps

VERDICT = Verdict(
    status=Status.UNDECIDED,
    isolation="snapshot",
    total=3,
    committed=3,
    aborted=0,
    unknown=0,
    verified_prefix=2,
    reason="no order was found that explains it",
    coverage=Coverage(3, 3, 3, ()),
)
LEVELS = "ask for other levels: troubadour audit --strongest LOG says of each whether the log keeps it"
TIMES = "record the clients' times (invoked, returned): fewer orders are left to try"


def steps(tmp_path: Path, *transactions: dict[str, Any], **fields: Any) -> list[str]:
    log = read_log([write(tmp_path, HEADER, *(transactions or (GOOD,)))])
    return next_steps(msgspec.structs.replace(VERDICT, **fields), log)


def test_a_verdict_that_is_decided_needs_nothing(tmp_path: Path) -> None:
    assert steps(tmp_path, status=Status.CORRECT) == []
    assert steps(tmp_path, status=Status.VIOLATION) == []


def test_times_that_are_missing_are_asked_for(tmp_path: Path) -> None:
    assert steps(tmp_path) == [TIMES, LEVELS]
    assert steps(tmp_path, GOOD | {"invoked": 1, "returned": 2}) == [LEVELS]


def test_those_of_unknown_outcome_are_named(tmp_path: Path) -> None:
    unknown = [GOOD | {"id": f"u{n}", "status": "unknown", "invoked": 1} for n in range(7)]
    assert steps(tmp_path, *unknown)[0] == (
        "find out what became of u0, u1, u2, u3, u4 and 2 more, and say so in the log: fewer fates are left to try"
    )


@pytest.mark.parametrize("reason", ["the time limit was reached", "the memory limit of 9 MiB was reached"])
def test_a_limit_is_raised_or_the_log_cut(tmp_path: Path, reason: str) -> None:
    found = steps(tmp_path, GOOD | {"invoked": 1}, reason=reason, coverage=None)
    assert found == [
        "give it more: --timeout SECONDS, --memory MIB",
        "or a part of it: troubadour log cut LOG --first 3 --out PART, and audit that",
        LEVELS,
    ]


def test_what_is_not_judged_may_be_left_out(tmp_path: Path) -> None:
    gap = Unjudged("type MONEY", "t", 1, "t1, statement 1")
    one = steps(tmp_path, GOOD | {"invoked": 1}, coverage=Coverage(3, 2, 2, (gap,)))
    assert (
        one[0] == "what is not judged may be left out of the verdict: --allow-unjudged 'type MONEY' (docs/coverage.md)"
    )
    assert one[1:] == [LEVELS]
    two = steps(tmp_path, GOOD, coverage=Coverage(3, 0, 2, (gap, gap)))
    assert two == [
        "what is not judged may be left out of the verdict: --allow-unjudged CONSTRUCT for each (docs/coverage.md)"
    ]


def test_a_log_without_answers_needs_some(tmp_path: Path) -> None:
    assert steps(tmp_path, coverage=Coverage(3, 3, 0, ())) == [
        "record what clients saw: rows and counts; --allow-unobserved accepts a log without"
    ]


def test_the_text_and_the_page_have_it(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, transaction(params=[1]))
    page = tmp_path / "report.html"
    ended = run("audit", "--report", str(page), log)
    assert ended.status == 3
    assert "next          record what clients saw" in ended.out
    assert "<li><bdi>record what clients saw: rows and counts" in page.read_text(encoding="utf-8")
    assert "record what clients saw" not in run("audit", "--explain", "brief", log).out


def test_it_shows_where_it_stopped_and_what_was_written_beside(tmp_path: Path) -> None:
    write_row = {"sql": "UPDATE accounts SET balance = 5 WHERE id = 1", "affected": 1}
    lines = [
        GOOD | {"id": "far", "statements": [write_row], "invoked": 0, "returned": 9},
        GOOD | {"id": "other", "invoked": 12, "returned": 18},
        GOOD | {"id": "near", "statements": [write_row], "invoked": 10, "returned": 20},
        GOOD | {"id": "blamed", "invoked": 15, "returned": 30},
        GOOD | {"id": "late", "statements": [write_row], "invoked": 25, "returned": 40},
    ]
    log = read_log([write(tmp_path, HEADER, *lines)])
    verdict = msgspec.structs.replace(VERDICT, committed=5, verified_prefix=3)
    assert nearly(verdict, log) == Nearly("blamed", ("near", "late"))
    shown = render_text(verdict, log)
    assert "No place was found for blamed; beside it, which wrote to its tables:" in shown
    assert "UPDATE accounts SET balance = 5 WHERE id = 1  -> 1 row affected" in shown
    # all explained, a limit, or a statement that is not modelled: nothing is nearly a finding
    for fields in ({"verified_prefix": 5}, {"reason": "the time limit was reached"}, {"reason": "not modelled: x"}):
        assert nearly(msgspec.structs.replace(verdict, **fields), log) is None


def test_it_says_what_other_levels_come_to(tmp_path: Path) -> None:
    levels = (("read-committed", Status.CORRECT), ("prefix", Status.CORRECT), ("serializable", Status.VIOLATION))
    verdict = msgspec.structs.replace(VERDICT, levels=levels)
    assert levels_text(verdict) == ["correct at read-committed, prefix", "a violation at serializable"]
    assert steps(tmp_path, levels=levels)[-1] == (
        "run troubadour audit --isolation serializable LOG: it tells the violation there"
    )
    assert steps(tmp_path, levels=levels[:2])[-1] == (
        "run troubadour audit --strongest LOG: it takes longer for each level, and tells of all"
    )


def test_other_levels_are_asked_where_that_may_help(tmp_path: Path) -> None:
    log = read_log([write(tmp_path, HEADER, GOOD)])
    asked: list[str] = []

    def decide(level: str, left: float) -> Verdict:
        asked.append(level)
        status = Status.CORRECT if level == "read-committed" else Status.UNDECIDED
        return msgspec.structs.replace(VERDICT, isolation=level, status=status)

    found = dict(decided_elsewhere(log, VERDICT, decide, None))
    assert found["read-committed"] is Status.CORRECT
    assert "snapshot" not in asked
    for fields in ({"reason": "the time limit was reached"}, {"coverage": Coverage(3, 2, 3)}, {"coverage": None}):
        assert decided_elsewhere(log, msgspec.structs.replace(VERDICT, **fields), decide, None) == ()
