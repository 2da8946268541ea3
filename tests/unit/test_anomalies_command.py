"""`troubadour anomalies`: exit status, JSON, text, files, and logs of SQL. Names and levels: test_anomalies_of_elle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.unit.commands import Ended, refused, write
from tests.unit.test_anomalies_of_elle import lines_of

ROOT = Path(__file__).parents[2]
SKEW = ["x= y+1", "y= x+1", "x=1 y=1"]
FINE = ["x= y+1", "y=1 x+1", "x=1 y=1"]


def log_of(folder: Path, texts: list[str], **header: Any) -> str:
    lines = lines_of(texts, times=False)
    lines[0] |= header
    return write(folder, *lines)


Told = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def told(run: Callable[..., Ended]) -> Told:
    def told(*arguments: str) -> tuple[int, dict[str, Any]]:
        ended = run("anomalies", *arguments, "--format", "json")
        return ended.status, ended.json

    return told


@pytest.mark.parametrize(
    ("texts", "level", "status"),
    [
        (SKEW, "serializable", 1), (SKEW, "snapshot", 0), (SKEW, "repeatable-read", 1), (SKEW, "PL-1", 0),
        (SKEW, "snapshot-isolation", 0), (FINE, "strict-serializable", 0), (FINE, "cursor-stability", 0),
    ],
)  # fmt: skip
def test_the_expected_level_is_the_exit_status(
    told: Told, tmp_path: Path, texts: list[str], level: str, status: int
) -> None:
    ended, found = told(log_of(tmp_path, texts), "--expect", level)
    assert ended == status
    assert found["standing"] == {0: "proved", 1: "ruled out"}[status]
    assert [one["name"] for one in found["anomalies"]] == (["G2-item"] if texts is SKEW else [])


def test_the_levels_are_told_each_once(told: Told, tmp_path: Path) -> None:
    _, found = told(log_of(tmp_path, SKEW), "--expect", "snapshot")
    assert found["not"] == ["repeatable-read"]
    assert {"serializable", "strict-serializable", "session-serializable"} <= set(found["also_not"])
    assert {"snapshot", "prefix", "read-committed", "consistent-view", "PL-1"} <= set(found["proved"])
    every = [*found["not"], *found["also_not"], *found["proved"], *found["open"]]
    assert len(every) == len(set(every))
    (one,) = found["anomalies"]
    assert (one["transactions"], one["count"], one["title"]) == (["t1", "t2"], 1, "write skew")
    assert one["explanation"].endswith("a contradiction")
    assert [edge["kind"] for edge in one["chain"]] == ["rw", "rw"]


def test_the_log_s_own_level_is_expected(told: Told, tmp_path: Path) -> None:
    assert told(log_of(tmp_path, SKEW, isolation="serializable"))[0] == 1
    assert told(log_of(tmp_path, SKEW, isolation="snapshot"))[0] == 0


def test_without_a_level_nothing_is_decided(told: Told, tmp_path: Path) -> None:
    status, found = told(log_of(tmp_path, SKEW))
    assert status == 3
    assert found["expected"] is None
    assert found["not"] == ["repeatable-read"]


def test_what_each_transaction_asks_for(told: Told, tmp_path: Path) -> None:
    lines = lines_of(SKEW, times=False)
    for line, level in zip(lines[1:], ("serializable", "serializable", "snapshot"), strict=True):
        line["isolation"] = level
    assert told(write(tmp_path, *lines))[0] == 1
    lines[2]["isolation"] = "snapshot"
    lines[1]["isolation"] = "read-committed"
    assert told(write(tmp_path, *lines))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--expect", "seriallizable"], "did you mean serializable?"),
        (["--assume", "fast-keys"], "--assume"),
        (["--from", "elle"], "log.jsonl"),
    ],
)
def test_what_cannot_be_used_is_refused(run: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    ended = run("anomalies", log_of(tmp_path, SKEW), *arguments)
    refused(ended, message)


def test_a_level_that_there_is_none_of(run: Any, tmp_path: Path) -> None:
    refused(run("anomalies", log_of(tmp_path, SKEW, isolation="nonsense")), "nonsense")


def test_text_and_files(run: Any, tmp_path: Path) -> None:
    ended = run("anomalies", log_of(tmp_path, SKEW), "--expect", "serializable", "--out", str(tmp_path / "out"))
    assert ended.status == 1
    assert "G2-item, write skew" in ended.out
    assert "serializable: ruled out" in ended.out
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["G2-item.dot", "G2-item.svg", "G2-item.txt", "results.edn"]
    text = (tmp_path / "out" / "G2-item.txt").read_text()
    assert 't1 = r l("x") []; append l("y") 1' in text
    assert text.rstrip().endswith("a contradiction!")
    edn = (tmp_path / "out" / "results.edn").read_text()
    assert edn.startswith("{:valid? false\n :anomaly-types [:G2-item]")
    assert ":not #{:repeatable-read}" in edn
    assert ElementTree.parse(tmp_path / "out" / "G2-item.svg").getroot().tag.endswith("svg")


def test_what_is_assumed_is_named(told: Told, tmp_path: Path) -> None:
    log = write(tmp_path, *lines_of(["x:1 y:2 @0", "x:2 y:1 @1", "x?2 @0", "y?2 @1"], times=False))
    status, plain = told(log, "--expect", "serializable")
    assert status == 0
    assert not any(one["assumed"] for one in plain["anomalies"])
    status, found = told(log, "--expect", "serializable", "--assume", "sequential-keys")
    assert status == 1
    assert ("G0", ["sequential-keys"]) in [(one["name"], one["assumed"]) for one in found["anomalies"]]
    assert "serializable" not in found["proved"]


def test_time_that_is_up_is_undecided(run: Any, tmp_path: Path) -> None:
    ended = run("anomalies", log_of(tmp_path, SKEW), "--timeout", "0.001", "--format", "json")
    assert ended.status == 3
    assert ended.json["reason"] == "the time limit was reached"


def test_a_schema_that_cannot_be_used_is_refused(run: Any, tmp_path: Path) -> None:
    header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": [], "isolation": "snapshot"}
    line = {"id": "a", "status": "committed", "statements": [{"sql": "SELECT v FROM nowhere"}]}
    refused(run("anomalies", write(tmp_path, header, line)), "nowhere")


@pytest.mark.parametrize(
    ("name", "level", "anomaly"),
    [
        ("write-skew", "serializable", "G2-item"), ("lost-update", "snapshot", "lost-update"),
        ("aborted-read", "read-committed", "G1a"), ("long-fork", "snapshot", "G-nonadjacent"),
    ],
)  # fmt: skip
def test_logs_of_sql(told: Told, name: str, level: str, anomaly: str) -> None:
    status, found = told(str(ROOT / "logs" / "anomalies" / f"{name}.jsonl"), "--expect", level)
    assert status == 1
    assert anomaly in {one["name"] for one in found["anomalies"]}
    assert level in {*found["not"], *found["also_not"]}


def test_sql_goes_on_behind_the_first_violation(told: Told, tmp_path: Path) -> None:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable",
        "schema": ["CREATE TABLE a (id INT PRIMARY KEY, v INT)", "CREATE TABLE b (id INT PRIMARY KEY, v INT)"],
        "initial": {table: {"columns": ["id", "v"], "rows": [[1, 0], [2, 0]]} for table in "ab"},
    }  # fmt: skip
    lines = [header]
    for table in "ab":
        for own, other in ((1, 2), (2, 1)):
            read = {"sql": f"SELECT v FROM {table} WHERE id = {other}", "result": {"columns": ["v"], "rows": [[0]]}}
            change = {"sql": f"UPDATE {table} SET v = 1 WHERE id = {own}", "affected": 1}
            lines.append({"id": f"{table}{own}", "status": "committed", "statements": [read, change]})
    status, found = told(write(tmp_path, *lines))
    assert status == 1
    pairs = {frozenset(one["transactions"]) for one in found["anomalies"]}
    assert {frozenset({"a1", "a2"}), frozenset({"b1", "b2"})} <= pairs
