"""`audit` at the levels by timestamps: what it tells of each axiom, bad input, options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import write

HEADER = {"format": "troubadour-log", "version": 1, "objects": {"kv": "register", "l": "list"}}


def log_of(folder: Path, *lines: dict[str, Any]) -> str:
    return write(folder, HEADER, *lines)


def one(id: str, start: int | None, commit: int | None, *ops: list[Any], **more: Any) -> dict[str, Any]:
    times = {name: time for name, time in (("start", start), ("commit", commit)) if time is not None}
    return {"id": id, "status": "committed", **times, "ops": list(ops), **more}


def test_a_read_of_an_older_version(run: Any, tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        one("a", 1, 2, ["w", "kv", 7, 3]),
        one("b", 3, 4, ["w", "kv", 7, 4]),
        one("c", 5, 6, ["r", "kv", 7, 3], ["r", "kv", 7, 3]),
    )
    ended = run("audit", "--isolation", "timestamp-snapshot", "--format", "json", log)
    assert ended.status == 1
    told = ended.json
    assert told["engine"] == "timestamps" and told["scope"] == "every-order"
    assert told["failing_transaction"] == "c" and told["core"] == ["b", "c"] and told["verified_prefix"] == 2
    (first,) = told["violations"]["first"]
    assert told["violations"]["count"] == 1
    assert first == {
        "axiom": "EXT",
        "transaction": "c",
        "object": "kv",
        "key": 7,
        "expected": 4,
        "observed": 3,
        "start": 5,
        "commit": 6,
        "expected_writer": {"transaction": "b", "start": 3, "commit": 4},
        "observed_writer": {"transaction": "a", "start": 1, "commit": 2},
        "origin": "older",
    }
    text = run("audit", "--isolation", "timestamp-snapshot", log)
    assert "c (5 to 6) read 3 of kv(7), which held 4 as b left it (3 to 4)" in " ".join(text.out.split())


@pytest.mark.parametrize(
    ("lines", "axioms", "core"),
    [
        (
            [one("a", 1, 3, ["r", "l", 1, []], ["w", "kv", 1, 1]), one("b", 2, 4, ["w", "kv", 1, 1])],
            {"NOCONFLICT": 1},
            ["a", "b"],
        ),
        ([one("a", 1, 3, ["w", "kv", 1, 1], ["r", "kv", 1, 2])], {"INT": 1}, ["a"]),
        ([one("a", 1, 3, ["r", "kv", 1, None], ["r", "kv", 1, 2])], {"INT": 1}, ["a"]),
        (
            [
                one("a", 1, 3, ["r", "kv", 1, None], session="s", sno=0),
                one("b", 2, 4, ["r", "kv", 1, None], session="s", sno=1),
            ],
            {"SESSION": 1},
            ["a", "b"],
        ),
        (
            [
                one("a", 1, 2, ["append", "l", 1, 1]),
                one("b", 3, 4, ["append", "l", 1, 2]),
                one("c", 5, 6, ["r", "l", 1, [7, 2]]),
            ],
            {"EXT": 1},
            ["a", "b", "c"],
        ),
    ],
    ids=["conflict", "own write", "own read", "session", "list"],
)
def test_each_axiom(
    run: Any, tmp_path: Path, lines: list[dict[str, Any]], axioms: dict[str, int], core: list[str]
) -> None:
    ended = run("audit", "--isolation", "timestamp-snapshot", "--format", "json", log_of(tmp_path, *lines))
    assert ended.status == 1
    violations = ended.json["violations"]
    assert {name: count for name, count in violations["by_axiom"].items() if count} == axioms
    assert violations["count"] == sum(axioms.values()) == len(violations["first"])
    assert ended.json["core"] == core


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (one("a", 1, None, ["w", "kv", 1, 1]), "'commit'"),
        (one("a", None, 1, ["w", "kv", 1, 1]), "'start'"),
        (one("a", 3, 1, ["w", "kv", 1, 1]), "commit"),
    ],
)
def test_timestamps_that_are_missing_or_wrong_are_bad_input(
    run: Any, tmp_path: Path, line: dict[str, Any], says: str
) -> None:
    ended = run("audit", "--isolation", "timestamp-snapshot", log_of(tmp_path, line))
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err and ended.err.count("\n") == 1


def test_only_the_commit_is_asked_for_in_the_order_of_commits(run: Any, tmp_path: Path) -> None:
    log = log_of(tmp_path, one("a", None, 1, ["w", "kv", 1, 1]), one("b", None, 2, ["r", "kv", 1, 1]))
    assert run("audit", "--isolation", "timestamp-serializable", log).status == 0


def test_ties_and_gaps_by_option(run: Any, tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        one("a", 1, 3, ["w", "kv", 1, 1], session="s", sno=0),
        one("b", 3, 4, ["r", "kv", 1, None], session="t", sno=0),
        one("c", 5, 6, ["r", "kv", 1, 1], session="t", sno=2),
    )
    level = ("audit", "--isolation", "timestamp-snapshot", "--format", "json")
    either = run(*level, log)
    assert either.status == 0 and "numbers of sessions are missing in 1 places" in either.json["notes"][0]
    visible = run(*level, "--ties", "visible", log)
    assert visible.status == 1 and visible.json["violations"]["first"][0]["axiom"] == "EXT"
    gaps = run(*level, "--session-gaps", "violation", log)
    assert gaps.status == 1 and gaps.json["violations"]["first"][0]["origin"] == "gap"
