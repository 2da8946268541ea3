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


@pytest.mark.parametrize(("id", "sno", "says"), [("a", 1, "a repeated id"), ("b", 0, "a repeated sno")])
def test_what_is_repeated_is_bad_input(run: Any, tmp_path: Path, id: str, sno: int, says: str) -> None:
    lines = [
        one("a", 1, 2, ["w", "kv", 1, 1], session="s", sno=0),
        one(id, 3, 4, ["r", "kv", 1, 1], session="s", sno=sno),
    ]
    ended = run("audit", "--isolation", "timestamp-snapshot", log_of(tmp_path, *lines))
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
    assert either.status == 0 and "numbers of sessions are missing in 1 place," in either.json["notes"][0]
    visible = run(*level, "--ties", "visible", log)
    assert visible.status == 1 and visible.json["violations"]["first"][0]["axiom"] == "EXT"
    gaps = run(*level, "--session-gaps", "violation", log)
    assert gaps.status == 1 and gaps.json["violations"]["first"][0]["origin"] == "gap"


@pytest.mark.parametrize(("first", "status"), [((1, 4), 0), ((1, 5), 1)])
def test_a_session_that_is_numbered_in_part_is_in_hint_order(
    run: Any, tmp_path: Path, first: tuple[int, int], status: int
) -> None:
    log = log_of(
        tmp_path,
        one("a", *first, ["w", "kv", 1, 1], session="s"),
        one("b", 4, 6, ["w", "kv", 1, 2], session="s", sno=0),
        one("c", 7, 8, ["r", "kv", 1, 2], session="t", sno=0),
    )
    assert run("audit", "--isolation", "timestamp-snapshot", log).status == status


@pytest.mark.parametrize("kind", ["register", "list", "set"])
def test_unknown_outcomes_that_were_read_are_placed(run: Any, tmp_path: Path, kind: str) -> None:
    """They have no timestamps of their own; what was read of them tells where they stand."""
    log, witness = str(tmp_path / "log.jsonl"), str(tmp_path / "witness.json")
    plan = ("--transactions", "600", "--operations", "6", "--sessions", "10", "--keys", "60", "--unknown", "6")
    assert run("record", "simulated", "--workload", "objects", "--type", kind, *plan, "--out", log).status == 0
    level = ("--isolation", "timestamp-snapshot")
    told = run("audit", *level, "--format", "json", "--timeout", "60", "--witness", witness, log)
    assert told.status == 0 and told.json["engine"] == "timestamps", told.json
    assert told.json["transactions"]["unknown"] > 20
    assert run("verify", *level, log, witness).status == 0


def test_one_of_unknown_outcome_stands_before_what_read_it_alone(run: Any, tmp_path: Path) -> None:
    """Its other key was overwritten before it was read: it stands before that, as a later read denies."""
    unknown = {"id": "u", "status": "unknown", "ops": [["w", "kv", 1, 5], ["w", "kv", 2, 5]]}
    lines = (
        one("a", 1, 2, ["w", "kv", 1, 1], ["w", "kv", 2, 1]),
        unknown,
        one("b", 5, 6, ["w", "kv", 2, 2]),
        one("c", 7, 8, ["r", "kv", 1, 5], ["r", "kv", 2, 2]),
    )
    for level in ("timestamp-snapshot", "timestamp-serializable"):
        told = run("audit", "--isolation", level, "--format", "json", log_of(tmp_path, *lines))
        assert (told.status, told.json["engine"]) == (0, "timestamps")
        wrong = (*lines, one("d", 9, 10, ["r", "kv", 1, 5], ["r", "kv", 2, 5]))
        assert run("audit", "--isolation", level, "--format", "json", log_of(tmp_path, *wrong)).status == 1
