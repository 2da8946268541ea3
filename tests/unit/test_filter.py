"""``audit --filter``: the answers of some transactions are judged, the others stay as writers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import write
from troubadour.coverage.filtering import FilterError, read_filter

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "snapshot",
    "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"],
    "initial": {"kv": {"columns": ["k", "v"], "rows": [[1, 0], [2, 0]]}},
}


def one(name: str, session: str, at: int, *statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": name, "session": session, "status": "committed", "invoked": at, "returned": at + 50,
        "statements": list(statements), **more,
    }  # fmt: skip


def read(value: int, key: int = 1) -> dict[str, Any]:
    return {"sql": f"SELECT v FROM kv WHERE k = {key}", "result": {"columns": ["v"], "rows": [[value]]}}


def put(value: int, key: int = 1) -> dict[str, Any]:
    return {"sql": f"UPDATE kv SET v = {value} WHERE k = {key}", "affected": 1}


LOG = (
    one("w", "writer", 0, put(7), trace_id="0af7651916cd43dd8448eb211c80319c"),
    one("bad", "broken", 100, read(99)),
    one("good", "fine", 200, read(7)),
)
"""A writer, a reader of what nothing wrote, and a reader of what the writer wrote."""


@pytest.fixture
def log(tmp_path: Path) -> str:
    return write(tmp_path, HEADER, *LOG)


@pytest.mark.parametrize(
    ("terms", "status", "filtered", "judged"),
    [
        ([], 1, 0, 3),
        (["session=fine"], 0, 2, 1),
        (["session=broken"], 1, 2, 1),
        (["session=fi*,writer"], 0, 1, 2),
        (["time=200..300"], 0, 2, 1),
        (["time=100.."], 1, 1, 2),
        (["time=..60"], 0, 2, 1),
        (["session=fine,broken time=190.."], 0, 2, 1),
        (["id=good"], 0, 2, 1),
        (["trace=0af7*"], 0, 2, 1),
    ],
)
def test_only_selected_answers_are_judged(
    run: Any, log: str, terms: list[str], status: int, filtered: int, judged: int
) -> None:
    ended = run("audit", log, "--format", "json", *(part for term in terms for part in ("--filter", term)))
    coverage = ended.json["coverage"]
    assert (ended.status, coverage["filtered"], coverage["judged"]) == (status, filtered, judged)


def test_terms_may_follow_one_filter(run: Any, log: str) -> None:
    assert run("audit", "--filter", "session=fine", "time=0..300", log).status == 0


def test_what_the_others_wrote_still_counts(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, one("w", "writer", 0, put(7)), one("r", "reader", 100, read(0)))
    assert run("audit", log, "--isolation", "strict-serializable", "--filter", "session=reader").status == 1


def test_a_statement_that_failed_wrote_nothing(run: Any, tmp_path: Path) -> None:
    failed = {"sql": "INSERT INTO kv VALUES (1, 5)", "error": {"sqlstate": "40001", "message": "m"}}
    writer = {**one("w", "writer", 0, put(8), failed), "status": "aborted"}
    log = write(tmp_path, HEADER, writer, one("r", "reader", 100, read(8)))
    assert run("audit", log, "--filter", "session=reader").status == 1
    log = write(tmp_path, HEADER, writer, one("r", "reader", 100, read(0)))
    assert run("audit", log, "--filter", "session=reader").status in (0, 3)


def test_object_logs_are_filtered_too(run: Any, tmp_path: Path) -> None:
    header = {"format": "troubadour-log", "version": 1, "isolation": "serializable", "objects": {"kv": "register"}}
    lines = [
        {"id": 1, "session": "a", "status": "committed", "ops": [["w", "kv", 1, 5]], "trace_id": "0" * 31 + "1"},
        {"id": 2, "session": "b", "status": "committed", "ops": [["r", "kv", 1, 9]]},
        {"id": 3, "session": "c", "status": "committed", "ops": [["r", "kv", 1, 5]]},
    ]
    log = write(tmp_path, header, *lines)
    assert run("audit", log).status == 1
    assert run("audit", log, "--filter", "session=c").status == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--filter", "sessions=a"], "--filter: 'sessions=a' is none of session=NAME, time=FROM..TO, id=ID, trace=ID"),
        (["--filter", "session="], "--filter: 'session=' is none of session=NAME, time=FROM..TO, id=ID, trace=ID"),
        (
            ["--filter", "time=5"],
            "--filter: time=5 is no interval; write time=FROM..TO in the log's microseconds, either may be left out",
        ),
        (["--filter", "session=nobody"], "--filter: no transaction of the log is selected"),
        (
            ["--filter", "session=fine", "--witness", "w.json"],
            "--filter: of some of the answers there is no --witness, --certificate or --strongest",
        ),
    ],
)
def test_what_cannot_be_filtered_is_refused(run: Any, log: str, options: list[str], said: str) -> None:
    ended = run("audit", log, *options)
    assert (ended.status, ended.out, ended.err) == (2, "", f"troubadour: {said}\n")


def test_an_interval_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(FilterError):
        read_filter(["time=9..3"])
