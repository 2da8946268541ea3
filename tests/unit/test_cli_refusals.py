"""What the command line refuses: exit status 2, one line on standard error, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import ACCOUNTS, GOOD, HEADER, balance, refused, transaction, write

BAD: dict[str, tuple[list[dict[str, Any] | str], str]] = {
    "broken JSON": ([HEADER, '{"id": "t1", "status" "committed"}\n', GOOD | {"id": "t2"}], ":2:"),
    "a torn last line": ([HEADER, json.dumps(GOOD)[:40]], "torn"),
    "a repeated id": ([HEADER, GOOD, GOOD], "repeated id"),
    "no header": ([GOOD], ":1:"),
    "an empty file": ([], "empty"),
    "an unknown kind": ([HEADER, {"kind": "transactions"}], "transactions"),
    "an unknown field": ([HEADER, GOOD | {"comit": 3}], "comit"),
    "an end that does not count": ([HEADER, GOOD, {"kind": "end", "transactions": 2}], "end"),
    "an unknown dialect": ([HEADER | {"dialect": "oracle9"}, GOOD], "oracle9"),
    "a table named nowhere": ([HEADER, transaction("SELECT * FROM nosuch")], "nosuch"),
    "a table named nowhere, aborted": ([HEADER, transaction("SELECT * FROM nosuch", status="aborted")], "nosuch"),
    "initial rows of no table": ([HEADER | {"initial": {"nosuch": {"rows": [[1]]}}}, GOOD], "nosuch"),
    "a column that the schema lacks": ([HEADER, transaction("SELECT extra FROM accounts")], "older than the log"),
    "a result of another width": (
        [HEADER, transaction(params=[1], result={"columns": ["a", "b"], "rows": [[1, 2]]})],
        "2 columns",
    ),
    "an empty result of another width": (
        [HEADER, transaction(params=[1], result={"columns": ["a", "b"], "rows": []})],
        "2 columns",
    ),
    "rows of a write that gives none": (
        [HEADER, transaction("DELETE FROM accounts", result={"columns": ["a"], "rows": [[1]]})],
        "the recording is at fault",
    ),
    "a parameter that does not fit": ([HEADER, transaction(params=["x"])], "'x'"),
    "a parameter too many": ([HEADER, transaction(params=[1, 2])], "parameter 2 has no placeholder"),
    "a parameter too few": ([HEADER, transaction()], "no parameters are given"),
    "BEGIN as a statement": ([HEADER, transaction("BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY")], "one line"),
    "COMMIT as a statement": ([HEADER, transaction("/* a */ commit work;")], '"status": "committed"'),
    "ROLLBACK as a statement": ([HEADER, transaction("ROLLBACK", status="aborted")], '"status": "aborted"'),
    "a message as long as its cause": ([HEADER, transaction("SELECT * FROM " + "x" * 5000)], "no table named"),
    "a level of a similar name": ([HEADER | {"isolation": "Repeatable Read"}, GOOD], "postgres:repeatable-read?"),
    "a parameter out of range": ([HEADER, transaction(params=[10**30])], "range"),
    "a result that does not fit": ([HEADER, transaction(params=[1], result=balance("abc"))], "'abc'"),
    "a result of no scalar": ([HEADER, transaction(params=[1], result=balance([1]))], "t1"),
    "a row too wide": ([HEADER, transaction(params=[1], result={"columns": ["a"], "rows": [[1, 2]]})], "row 1"),
    "initial rows that do not fit": ([HEADER | {"initial": {"accounts": {"rows": [["x", "1.00"]]}}}, GOOD], "'x'"),
    "more initial rows that do not fit": (
        [HEADER, {"kind": "rows", "table": "accounts", "columns": ["id", "balance"], "rows": [[3, "abc"]]}, GOOD],
        "'abc'",
    ),
    "a schema that is no SQL": ([HEADER | {"schema": ["garbage"], "initial": {}}, GOOD], "schema"),
    "a schema that breaks off": ([HEADER | {"schema": ["CREATE TABLE x ("], "initial": {}}, GOOD], "schema"),
    "a schema with a slip": ([HEADER | {"schema": ["CREATE TABEL x (id INT)"], "initial": {}}, GOOD], "schema"),
    "a schema that contradicts itself": ([HEADER | {"schema": [ACCOUNTS, ACCOUNTS]}, GOOD], "accounts"),
    "commit before start": ([HEADER, GOOD | {"start": 5, "commit": 4}], "before start"),
    "returned before invoked": ([HEADER, GOOD | {"invoked": 5, "returned": 4}], "before"),
    "no isolation anywhere": ([{k: v for k, v in HEADER.items() if k != "isolation"}, GOOD], "--isolation"),
    "an unknown level in the header": ([HEADER | {"isolation": "sloppy"}, GOOD], "sloppy"),
    "an unknown level of a transaction": ([HEADER, GOOD | {"isolation": "sloppy"}], "sloppy"),
}


UNREAD = {
    "a table": {"schema": [ACCOUNTS, "CREATE TABLE x ("]},
    "a routine": {"procedures": ["CREATE PROCEDURE p( BEGIN"]},
    "a routine over no table": {"procedures": ["CREATE PROCEDURE p() BEGIN SELECT 1 FROM nosuch; END"]},
}


@pytest.mark.parametrize("what", UNREAD)
def test_a_definition_that_cannot_be_read_costs_what_uses_it(run: Any, tmp_path: Path, what: str) -> None:
    log = write(tmp_path, HEADER | UNREAD[what], GOOD)
    assert run("audit", log).status == 0
    validated = run("log", "validate", log)
    assert validated.status == 3
    assert "cannot be read" in validated.out


def test_a_column_that_the_schema_lacks(run: Any) -> None:
    refused(run("audit", str(Path(__file__).parents[1] / "data" / "strangers-3" / "unknown-column.jsonl")), "extra_col")


def test_what_begins_like_no_definition_may_concern_anything(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, HEADER | {"schema": [ACCOUNTS, "CREATE TABEL x (id INT)"]}, GOOD)
    ended = run("audit", log)
    assert ended.status == 3
    assert "a definition that cannot be read (CREATE TABEL is no statement of a schema)" in " ".join(ended.out.split())


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("what", BAD)
def test_input_that_cannot_be_used(run: Any, tmp_path: Path, what: str, form: str) -> None:
    entries, word = BAD[what]
    refused(run("audit", "--format", form, write(tmp_path, *entries)), word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["audit", "nosuch.jsonl"], "nosuch.jsonl"),
        (["audit", "."], "directory"),
        (["audit"], "LOG"),
        (["audit", "--isolation", "sloppy", "LOG"], "sloppy"),
        (["audit", "--order", "sloppy", "LOG"], "sloppy"),
        (["audit", "--format", "xml", "LOG"], "xml"),
        (["audit", "--timeout", "0", "LOG"], "timeout"),
        (["audit", "--timeout", "soon", "LOG"], "soon"),
        (["audit", "--nosuch", "LOG"], "--nosuch"),
        (["audit", "--witness", "nosuch/w.json", "LOG"], "nosuch/w.json"),
        (["audit", "--witness", "LOG", "LOG"], "is the log"),
        (["audit", "LOG", "LOG"], "repeated id"),
        (["verify", "LOG"], "witness"),
        (["verify", "LOG", "nosuch.json"], "nosuch.json"),
        (["verify", "LOG", "LOG"], "log.jsonl"),
        (["nosuch"], "nosuch"),
        (["audit", "--lvel", "snapshot", "LOG"], "Did you mean '--isolation'?"),
        (["audit", "--isolaton", "snapshot", "LOG"], "Did you mean '--isolation'?"),
        (["audti", "LOG"], "Did you mean 'audit'?"),
        (["log", "valdate", "LOG"], "Did you mean 'validate'?"),
        (["record", "bank"], "--out"),
    ],
)
def test_options_that_cannot_be_used(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    log = write(tmp_path, HEADER, GOOD)
    refused(run(*(log if argument == "LOG" else argument for argument in arguments)), word)


def test_a_statement_that_cannot_be_used_is_named_by_its_line(run: Any, tmp_path: Path) -> None:
    entries = [HEADER, GOOD | {"id": "a"}, transaction("SELECT * FROM nosuch"), GOOD | {"id": 1}]
    one = write(tmp_path, *entries)
    expected = f"{one}:3: transaction 't1', statement 1: no table named 'nosuch'"
    for command in (["audit"], ["audit", "--strongest"], ["log", "validate"]):
        refused(run(*command, one), expected)
    # "1" and 1 are two ids, and a segment has lines of its own
    level = {"isolation": "sloppy"}
    first = write(tmp_path, HEADER, GOOD | {"id": "1"}, name="first.jsonl")
    second = write(tmp_path, HEADER, GOOD | {"id": "b"}, GOOD | {"id": 1} | level, name="second.jsonl")
    refused(run("audit", first, second), f"{second}:3: transaction 1: unknown level 'sloppy'")


def test_a_level_is_suggested_by_the_logs_dialect(run: Any, tmp_path: Path) -> None:
    for dialect, near in (("postgres", "postgres:repeatable-read"), ("mysql", "mysql:repeatable-read")):
        log = write(tmp_path, HEADER | {"dialect": dialect}, name=f"{dialect}.jsonl")
        for command in (["audit"], ["audit", "--timeout", "60"]):
            refused(run(*command, "--isolation", "repeatable-read", log), f"did you mean {near}?")
    witness = tmp_path / "w.json"
    good = write(tmp_path, HEADER, GOOD)
    assert run("audit", "--witness", str(witness), good).status == 0
    refused(run("verify", "--isolation", "serialisable", good, str(witness)), "did you mean serializable?")


def test_a_begin_that_failed_is_a_statement(run: Any, tmp_path: Path) -> None:
    error = {"sqlstate": "25001", "message": ""}
    log = write(tmp_path, HEADER, transaction("BEGIN", error=error, status="aborted"))
    assert run("audit", log).status != 2
    log = write(tmp_path, HEADER, transaction("ROLLBACK TO a", error={"sqlstate": "3B001"}, status="aborted"))
    assert run("audit", log).status != 2


def test_an_isolation_named_by_hand_overrides_all(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, {**HEADER, "isolation": "sloppy"}, GOOD | {"isolation": "slack"})
    ended = run("audit", "--format", "json", "--isolation", "serializable", log)
    assert (ended.status, ended.json["isolation"]) == (0, "serializable")


def test_an_observed_error_is_no_bad_input(run: Any, tmp_path: Path) -> None:
    failed = transaction("SELEC 1 FROM nosuch", status="aborted", error={"sqlstate": "42601"})
    assert run("audit", write(tmp_path, HEADER, failed)).status == 0
