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
    assert text.rstrip().endswith("a contradiction!\n  - its component has 2 transactions")
    edn = (tmp_path / "out" / "results.edn").read_text()
    assert edn.startswith("{:valid? false\n :anomaly-types [:G2-item]")
    assert ":not #{:repeatable-read}" in edn
    assert ElementTree.parse(tmp_path / "out" / "G2-item.svg").getroot().tag.endswith("svg")


def test_components_and_answers_are_drawn(run: Any, tmp_path: Path) -> None:
    texts = ["x+1", "x+2", "x=12", "x=21", "y= z+1", "z= y+2", "u= y+3 z=", "y=23 u+1"]
    log = write(tmp_path, *lines_of(texts, times=False))
    run("anomalies", log, "--expect", "serializable", "--out", str(tmp_path / "out"))
    component = (tmp_path / "out" / "G2-item-component.dot").read_text()
    assert {line for line in component.splitlines() if "->" in line} == {
        '  "t5" -> "t6" [label="rw"];', '  "t6" -> "t5" [label="rw"];', '  "t6" -> "t7" [label="ww"];',
        '  "t7" -> "t5" [label="rw"];',
    }  # fmt: skip
    assert "its component has 3 transactions" in (tmp_path / "out" / "G2-item.txt").read_text()
    drawn = ElementTree.parse(tmp_path / "out" / "G2-item-component.svg").getroot()
    assert sum(one.tag.endswith("circle") for one in drawn) == 3
    rows = ElementTree.parse(tmp_path / "out" / "incompatible-order-reads.svg").getroot()
    found = {(one.get("y"), one.text) for one in rows if one.tag.endswith("text")}
    assert found >= {("44", "t3"), ("44", "1"), ("44", "2"), ("64", "t4"), ("64", "2"), ("64", "1")}
    assert sum(one.get("fill") == "#c00" for one in rows) == 2


def test_large_components_are_told_of_and_not_drawn(run: Any, tmp_path: Path) -> None:
    # each reads what the next one appends to, the last what the first does
    count = 1_100
    lines: list[dict[str, Any]] = [{"format": "troubadour-log", "version": 1, "objects": {"l": "list"}}]
    for number in range(count):
        ops = [["r", "l", number, []], ["append", "l", (number + 1) % count, number]]
        lines.append({"id": number, "status": "committed", "ops": ops})
    run("anomalies", write(tmp_path, *lines), "--expect", "serializable", "--out", str(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["G2-item.txt", "results.edn"]
    assert (
        "its component has 1,100 transactions, too many to be drawn" in (tmp_path / "out" / "G2-item.txt").read_text()
    )


def test_a_report_shows_operations(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = run("audit", log_of(tmp_path, SKEW), "--isolation", "serializable", "--report", str(page))
    assert ended.status == 1
    shown = page.read_text()
    assert "l &#34;x&#34; = []" in shown
    assert "l &#34;y&#34; += 1" in shown
    assert "UPDATE" not in shown
    assert "SELECT" not in shown


def test_what_was_there_at_first_need_not_be_known(run: Any, tmp_path: Path) -> None:
    history = tmp_path / "history.edn"
    history.write_text(
        "{:type :invoke, :f :read, :value nil, :process 0, :index 0, :time 1}\n"
        "{:type :ok, :f :read, :value {0 -10, 1 20}, :process 0, :index 1, :time 2}\n"
    )
    ended = run("anomalies", "--from", "elle", str(history), "--expect", "strict-serializable")
    assert ended.status == 0, ended.err
    assert "none found" in ended.out


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
