"""What a verdict says of what is not modelled, and what a user lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import HEADER, balance, transaction, write

PROBE = transaction("SELECT jsonb_path_exists('{}', '$')", id="probe")
READ = transaction(id="t0", params=[1], result=balance("100.00"))
WRONG = transaction(id="t0", params=[1], result=balance("7.00"))


def test_what_is_not_modelled_costs_itself(run: Any, tmp_path: Path) -> None:
    ended = run("audit", "--format", "json", write(tmp_path, HEADER, READ, PROBE))
    assert (ended.status, ended.json["verdict"], ended.json["verified_prefix"]) == (3, "undecided", 2)
    assert ended.json["reason"].startswith("everything judged is explained; not modelled: function jsonb_path_exists()")
    (gap,) = ended.json["coverage"]["unjudged"]
    assert (ended.json["coverage"]["statements"], ended.json["coverage"]["judged"]) == (2, 1)
    assert (gap["construct"], gap["table"], gap["statements"]) == ("function jsonb_path_exists()", None, 1)
    assert gap["example"].startswith("probe, statement 1: SELECT jsonb_path_exists")
    violated = run("audit", "--format", "json", write(tmp_path, HEADER, WRONG, PROBE))
    assert (violated.status, violated.json["failing_transaction"]) == (1, "t0")


@pytest.mark.parametrize(
    ("allowed", "status"),
    [(["all"], 0), (["Function JSONB_PATH_EXISTS()"], 0), (["function other()"], 3), (["function other()", "ALL"], 0)],
)
def test_gaps_may_be_allowed(run: Any, tmp_path: Path, allowed: list[str], status: int) -> None:
    options = [word for name in allowed for word in ("--allow-unjudged", name)]
    log, witness = write(tmp_path, HEADER, READ, PROBE), str(tmp_path / "witness.json")
    ended = run("audit", "--format", "json", "--witness", witness, *options, log)
    assert ended.status == status
    assert Path(witness).exists() is (status == 0)
    if status == 0:
        assert "jsonb_path_exists" in ended.json["notes"][0]
        assert run("verify", log, witness).status == 3
        assert run("verify", *options, log, witness).status == 0
    assert run("audit", *options, write(tmp_path, HEADER, WRONG, PROBE)).status == 1


def test_a_log_without_a_judged_statement_is_never_correct(run: Any, tmp_path: Path) -> None:
    for entries in ([], [PROBE], [transaction("SET statement_timeout = 1")]):
        ended = run("audit", "--format", "json", "--allow-unjudged", "all", write(tmp_path, HEADER, *entries))
        assert (ended.status, ended.json["verdict"]) == (3, "undecided"), entries
        assert ended.json["reason"].startswith("no statement is judged")


def test_more_transactions_may_be_asked_for(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, READ, PROBE)
    assert run("audit", "--allow-unjudged", "all", "--min-transactions", "1", log).status == 0
    ended = run("audit", "--format", "json", "--allow-unjudged", "all", "--min-transactions", "2", log)
    assert (ended.status, "--min-transactions" in ended.json["reason"]) == (3, True)
    assert run("audit", "--min-transactions", "9", write(tmp_path, HEADER, WRONG)).status == 1


def test_validate_tells_beforehand(run: Any, tmp_path: Path) -> None:
    ended = run("log", "validate", write(tmp_path, HEADER, READ, PROBE))
    assert ended.status == 3
    assert "1 of 2 statements would be judged" in ended.out
    assert "1 x function jsonb_path_exists()" in ended.out


def test_a_table_altered_by_what_is_not_modelled_is_no_bad_input(run: Any, tmp_path: Path) -> None:
    altered = transaction("ALTER TABLE accounts ADD COLUMN z INT", id="ddl")
    read = transaction("SELECT z FROM accounts", id="t1", result={"columns": ["z"], "rows": [["x"]]})
    assert run("audit", write(tmp_path, HEADER, altered, read)).status == 3


COMING = (
    [{"sql": "SELECT balance FROM accounts WHERE id = 1", "result": balance("100.00")}],
    [
        {"sql": "CREATE TABLE n (a INT PRIMARY KEY)"},
        {"sql": "INSERT INTO n VALUES (1)", "affected": 1},
        {"sql": "UPDATE accounts SET balance = 2 WHERE id = 1", "affected": 1},
    ],
    [{"sql": "SELECT a FROM n", "result": {"columns": ["a"], "rows": [[1]]}}],
)


@pytest.mark.parametrize(
    ("seen", "beside", "status"), [("2.00", True, 3), ("7.00", True, 1), ("2.00", False, 0), ("7.00", False, 1)]
)
def test_a_table_that_comes_costs_what_uses_it(run: Any, tmp_path: Path, seen: str, beside: bool, status: int) -> None:
    """Beside others it is not known which of them met it."""
    last = [{"sql": "SELECT balance FROM accounts WHERE id = 1", "result": balance(seen)}]
    entries = [
        {
            "id": f"t{n}",
            "status": "committed",
            "invoked": 10 * n,
            "returned": 10 * n + (15 if beside else 5),
            "statements": statements,
        }
        for n, statements in enumerate((*COMING, last))
    ]
    ended = run(
        "audit", "--format", "json", "--isolation", "postgres:read-committed", write(tmp_path, HEADER, *entries)
    )
    assert ended.status == status, ended.json
    if status == 3:
        assert ended.json["reason"].startswith("everything judged is explained; not modelled: tables that come and go")
        assert (ended.json["coverage"]["judged"], ended.json["coverage"]["statements"]) == (3, 6)
