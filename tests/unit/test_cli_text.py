"""What people are told of a verdict, and the help."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import FIG_1, GOOD, HEADER, READ, balance, transaction, write
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Header, Log, Transaction
from troubadour.model.verdict import Status, Verdict
from troubadour.report.text import LEVELS as PROMISES
from troubadour.report.text import render_text

ANOMALIES = Path(__file__).parents[2] / "logs" / "anomalies"


def test_every_level_is_explained() -> None:
    assert set(PROMISES) == set(LEVELS)


def test_text_of_a_correct_log(run: Any, tmp_path: Path) -> None:
    ended = run("audit", write(tmp_path, HEADER, GOOD))
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("CORRECT at snapshot\n")
    assert "all 1 committed" in ended.out
    assert PROMISES["snapshot"][:30] in ended.out
    assert "\x1b" not in ended.out


def test_text_of_a_violation_shows_the_transactions_that_clash(run: Any, tmp_path: Path) -> None:
    ended = run("audit", "--isolation", "strict-snapshot", str(FIG_1.write(tmp_path)))
    assert ended.status == 1
    assert ended.out.startswith("VIOLATION at strict-snapshot: write conflict let through\n")
    lines = [line.strip() for line in ended.out.splitlines()]
    assert lines[-5:] == [
        "t2, t3 contradict each other, whatever the others wrote:",
        "t2  (start 2, commit 4)",
        "CALL Deposit(2, 100)",
        "t3  (start 3, commit 5)",
        "CALL Transfer(1, 2, 10)",
    ]
    assert "the first 2 of 4 committed" in ended.out


def test_text_says_where_other_orders_were_not_excluded(run: Any, tmp_path: Path) -> None:
    see = transaction(params=[1], result=balance("101.00"), commit=1)
    add = transaction("UPDATE accounts SET balance = balance + 1 WHERE id = 1", id="t0", commit=2)
    out = run("audit", "--order", "recorded", write(tmp_path, HEADER, see, add)).out
    assert "in the order of the log" in " ".join(out.split())
    assert "others were not excluded" in " ".join(out.split())
    assert "t1, the first one" in out


def test_text_says_where_a_core_is_of_one_order(run: Any, tmp_path: Path) -> None:
    """One client sees t1 below t2, another one t2 below t1. The core is t2 and t5 where t1 is first; were t1 later, t5
    would be explained, and another one would not: so it is not said that they contradict each other wherever t1 is.
    Floats keep what they saw from being told as a chain in every order."""
    schema = "CREATE TABLE store (key INT PRIMARY KEY, value DOUBLE PRECISION NOT NULL)"
    rows = [[1, 0], [2, 1], [3, 2]]
    header = {**HEADER, "isolation": "causal", "schema": [schema]}
    header["initial"] = {"store": {"columns": ["key", "value"], "rows": rows}}

    def one(id: str, client: str, place: int, told: dict[int, int], *, write: bool = False) -> dict[str, Any]:
        statements = [
            {"sql": "UPDATE store SET value = $1 WHERE key = $2", "params": [value, key], "affected": 1}
            if write
            else {
                "sql": "SELECT value FROM store WHERE key = $1",
                "params": [key],
                "result": {"columns": ["value"], "rows": [[value]]},
            }
            for key, value in told.items()
        ]
        return {"id": id, "session": client, "status": "committed", "commit": place, "statements": statements}

    t1 = one("t1", "c1", 1, {1: 3, 2: 4}, write=True)
    t2 = one("t2", "c2", 2, {1: 6, 3: 8}, write=True)
    entries = [
        t1,
        t2,
        one("t3", "c2", 3, {2: 10}, write=True),
        one("t6", "c3", 4, {1: 0, 2: 1, 3: 2}),
        one("t7", "c3", 5, {1: 6, 2: 4}),
        one("t4", "c1", 6, {1: 3, 2: 4, 3: 2}),
        one("t5", "c1", 7, {1: 3, 3: 8}),
    ]
    log = write(tmp_path, header, *entries)
    said = "t2, t5 contradict each other in the order that was tried last, whatever the others wrote:"
    # wherever the lines are broken
    assert said in " ".join(run("audit", log).out.split())
    found = run("audit", "--format", "json", log).json
    assert (found["core"], found["core_scope"], found["scope"]) == (["t2", "t5"], "one-order", "every-order")
    alone = write(tmp_path, header, t1, t2, entries[-1], name="alone.jsonl")
    assert run("audit", alone).status == 0


def test_text_of_a_large_core_stays_short() -> None:
    ids = tuple(f"t{number}" for number in range(500))
    header = Header("postgres", ())
    log = Log(header, [Transaction(id, "committed", (), place) for place, id in enumerate(ids)], "")
    verdict = Verdict(Status.VIOLATION, "snapshot", 500, 500, 0, 0, 499, failing_transaction="t499", core=ids)
    text = render_text(verdict, log)
    assert "494 more and t494, t495, t496, t497, t498, t499 contradict each other" in text
    assert len(text.splitlines()) < 20


def test_text_shows_markup_and_long_values_as_they_are(run: Any, tmp_path: Path) -> None:
    entry = transaction(id="[bold]t[/]", params=[1], result=balance("7.00"), session="[red]")
    out = run("audit", write(tmp_path, HEADER, entry)).out
    assert "[bold]t[/]" in out
    assert "session [red]" in out
    assert f'{READ}  [1]  -> ("7.00")' in out


def test_text_of_an_undecided_log(run: Any, tmp_path: Path) -> None:
    ended = run("audit", write(tmp_path, HEADER, transaction("SELECT setval('s', 1)")))
    assert ended.status == 3
    assert ended.out.startswith("UNDECIDED at snapshot\n")
    assert "setval()" in ended.out
    assert "transaction t1" in ended.out


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["verify", "-h"], ["record", "bank", "--help"]])
def test_help(run: Any, arguments: list[str]) -> None:
    ended = run(*arguments)
    assert (ended.status, ended.err) == (0, "")
    assert "Usage: troubadour" in ended.out


@pytest.mark.parametrize("columns", [20, 60, 100, 200, 400])
def test_text_keeps_to_the_width_of_the_terminal(run: Any, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Of 60 to 200 columns; what was sent to the database is cut nowhere."""
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = run("audit", "--isolation", "snapshot", str(ANOMALIES / "lost-update.jsonl"))
    assert max(map(len, ended.out.splitlines())) <= min(max(columns, 60), 200)
    words = " ".join(ended.out.split())
    for text in ("t2 comes before t1: t2's statement 1 read v=0 of kv(k='x')", "UPDATE kv SET v = 20 WHERE k = 'x'"):
        assert text in words


def test_text_has_colour_on_request_only() -> None:
    log = read_log([ANOMALIES / "lost-update.jsonl"])
    verdict = audit(log, library_of(log), Options("snapshot", accounts=True))
    plain, coloured = (render_text(verdict, log, color=color, width=100) for color in (False, True))
    assert "\x1b" not in plain
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain
    assert coloured.startswith("\x1b[1;31mVIOLATION")


def test_a_pipe_has_no_colour(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", "--isolation", "snapshot"]
    for variables in ({}, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}):
        ended = subprocess.run(
            [*command, str(ANOMALIES / "lost-update.jsonl")],
            capture_output=True,
            check=False,
            env=os.environ | variables,
        )
        assert ended.returncode == 1
        assert b"\x1b" not in ended.stdout + ended.stderr
