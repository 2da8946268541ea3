"""`troubadour log anonymize`: no text is left, the verdict is the same, what needs more of texts is refused by name."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log
from troubadour.formats import read_log

CLIENTS = Path(__file__).parents[2] / "logs" / "clients"
SCHEMA = [
    "CREATE TABLE people (name VARCHAR(20) PRIMARY KEY, town TEXT NOT NULL DEFAULT 'Ulm', age INT,"
    " CHECK (town <> 'it''s nowhere'))"
]


def written(path: Path, *statements: dict[str, Any], schema: list[str] = SCHEMA) -> Path:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable", "schema": schema,
        "settings": {"collation": "C"},
        "initial": {"people": {"columns": ["name", "town", "age"], "rows": [["Ann", "Rome", 30], ["Bob", "Oslo", 40]]}},
    }  # fmt: skip
    lines = [header]
    for number, statement in enumerate(statements, 1):
        status = "aborted" if "error" in statement else "committed"
        lines.append({"id": number, "status": status, "statements": [statement]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def anonymized(path: Path, out: Path) -> Result:
    return CliRunner().invoke(log, ["anonymize", str(path), "--out", str(out)])


def rows(*found: list[Any]) -> dict[str, Any]:
    return {"columns": ["a"] * len(found[0]), "rows": list(found)}


def test_texts_go_and_their_order_stays(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"sql": "INSERT INTO people (name, age) VALUES ($1, 5)", "params": ["Zoe"], "affected": 1},
        {"sql": "SELECT name, town, age FROM people WHERE town >= 'Rome' ORDER BY name", "result": rows(
            ["Ann", "Rome", 30], ["Zoe", "Ulm", 5])},
        {"sql": "SELECT max(town) FROM people WHERE name IN ('Ann', :n)", "params": {"n": "Zoe"},
         "result": rows(["Ulm"])},
        {"sql": "UPDATE people SET town = 'Ulm' WHERE name = 'Ann' OR name = 'it''s'", "affected": 1},
        {"sql": "INSERT INTO people VALUES ('Bob', 'x', 1)", "error": {"sqlstate": "23505", "message": "Bob exists"}},
    )  # fmt: skip
    out = tmp_path / "shared.jsonl"
    said = anonymized(path, out)
    assert said.exit_code == 0, said.output
    assert "verdict before and after: correct, 4 transactions explained" in said.stdout
    text = out.read_text()
    assert not [word for word in ("Ann", "Bob", "Zoe", "Rome", "Oslo", "Ulm", "it's", "it''s") if word in text]
    second = read_log([out]).transactions[1]
    assert second.statements[0].results is not None
    names = [row[0] for row in second.statements[0].results[0].rows]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT age FROM people WHERE name LIKE 'A%'", "LIKE"),
        ("SELECT age FROM people WHERE length(name) = 3", "function length() of a text"),
        ("SELECT age FROM people WHERE name || town = 'x'", "operator || of a text"),
        ("SELECT age FROM people WHERE name = CAST(CURRENT_DATE AS TEXT)", "CAST of date to text"),
        ("SELECT age FROM people WHERE CAST(name AS VARCHAR(1)) = 'A'", "CAST to varchar(1), which cuts texts"),
        ("SELECT age FROM people GROUP BY age HAVING string_agg(name, ',') = 'Ann'", "aggregate of texts into one"),
        (
            "SELECT age FROM people WHERE EXISTS (SELECT 1 FROM people p WHERE upper(p.name) = 'ANN')",
            "function upper()",
        ),
    ],
)
def test_what_needs_more_of_texts_is_refused(tmp_path: Path, sql: str, construct: str) -> None:
    path = written(tmp_path / "log.jsonl", {"sql": sql})
    said = anonymized(path, tmp_path / "out.jsonl")
    assert (said.exit_code, construct in said.stderr) == (3, True), said.output
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("column", "construct"),
    [
        ("c VARCHAR(1)", "too short"),
        ("c INT CHECK (length('x') > c)", "length"),
    ],
)
def test_columns_that_are_refused(tmp_path: Path, column: str, construct: str) -> None:
    path = written(tmp_path / "log.jsonl", {"sql": "SELECT 1"}, schema=[SCHEMA[0], f"CREATE TABLE t ({column})"])
    said = anonymized(path, tmp_path / "out.jsonl")
    assert (said.exit_code, construct in said.stderr) == (3, True), said.output


def test_a_violation_stays_one(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"sql": "UPDATE people SET town = 'Ulm'", "affected": 2},
        {"sql": "SELECT town FROM people WHERE name = 'Ann'", "result": rows(["Bonn"])},
    )
    out = tmp_path / "shared.jsonl"
    assert "verdict before and after: violation" in anonymized(path, out).stdout
    assert CliRunner().invoke(audit, [str(out)]).exit_code == 1


def test_a_recorded_log(tmp_path: Path) -> None:
    path, out = CLIENTS / "psycopg.jsonl.gz", tmp_path / "shared.jsonl.gz"
    assert b"owner 3" in gzip.decompress(path.read_bytes())
    said = anonymized(path, out)
    assert said.exit_code == 0, said.output
    text = gzip.decompress(out.read_bytes())
    assert b"owner 3" not in text
    assert b"monotonic-" not in text
    assert b"duplicate key" not in text


def test_nothing_is_left_that_is_promised_to_go(tmp_path: Path) -> None:
    """Ids, sessions, clocks, comments, aliases, savepoints, settings, literals, messages, names of result columns."""
    gone = [
        "tx-zq", "session-zq", "clock-zq", "log-zq", "segment-zq", "comment_zq", "setting-zq",
        "alias_zq", "table_zq", "cte_zq", "savepoint_zq", "Ann", "Ulm", "column-zq", "reason-zq",
        "message-zq", "12345:", "777777", "implicit_zq", "schema_zq", "Quoted zq",
    ]  # fmt: skip
    read = (
        "/* comment_zq */ WITH cte_zq AS (SELECT name AS alias_zq, age implicit_zq FROM people table_zq"
        " WHERE table_zq.town = 'Ulm') SELECT alias_zq AS \"Quoted zq\", CAST(implicit_zq AS int) FROM"
        ' cte_zq -- comment_zq\n ORDER BY "Quoted zq"'
    )
    statements = [
        {"sql": "SAVEPOINT savepoint_zq"},
        {"sql": "INSERT INTO people VALUES ('Ann', 'Ulm', 3)", "affected": 1},
        {"sql": read, "result": {"columns": ["column-zq", "x"], "rows": [["Ann", 3]]}},
        {"sql": "INSERT INTO people VALUES ('Ann', 'Ulm', 3)", "error": {"sqlstate": "23505", "message": "message-zq"}},
        {"sql": "ROLLBACK TO savepoint_zq"},
        {"sql": read, "result": {"columns": ["column-zq", "x"], "rows": []}},
    ]  # fmt: skip
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable",
        "schema": ["CREATE TABLE people (name TEXT PRIMARY KEY, /* schema_zq */ town TEXT, age INT)"],
        "settings": {"collation": "C", "application_name": "setting-zq"}, "clock": "clock-zq",
        "log_id": "log-zq", "segment": "segment-zq",
    }  # fmt: skip
    transaction = {
        "id": "tx-zq", "session": "session-zq", "status": "committed", "xid": "777777", "snapshot": "12345:12346:",
        "invoked": 1, "returned": 9, "clock": "clock-zq-2", "statements": statements,
    }  # fmt: skip
    gap = {"kind": "gap", "reason": "reason-zq", "since": 100, "clock": "clock-zq-2"}
    path, out = tmp_path / "log.jsonl", tmp_path / "shared.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, transaction, gap)))
    said = anonymized(path, out)
    assert said.exit_code == 0, said.output
    text = out.read_text()
    assert not [word for word in gone if word in text], text
    assert [word for word in gone if word not in path.read_text()] == []
    (after,) = read_log([out]).transactions
    assert (after.id, after.session) == ("t1", "s1")
    assert after.statements[0].sql.removeprefix("SAVEPOINT ") == after.statements[4].sql.removeprefix("ROLLBACK TO ")


DATA = Path(__file__).parents[1] / "data" / "strangers-3"


def test_names_of_types_stay(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(log, ["anonymize", str(DATA / "anonymize-type-names.jsonl"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "CREATE TABLE t (id SERIAL NOT NULL, name VARCHAR NOT NULL, PRIMARY KEY (id))" in out.read_text()


def test_a_table_with_rows_that_changes(tmp_path: Path) -> None:
    """Its rows are typed by the definition that they began with; the statement that no parser reads has texts."""
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(log, ["anonymize", str(DATA / "anonymize-keyerror.jsonl"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    (entry,) = read_log([out]).header.initial
    assert entry.columns is not None
    texts = [row[entry.columns.index("b")] for row in entry.rows]
    assert texts == sorted(texts)
    assert not {"x", "y"}.intersection(texts)


@pytest.mark.parametrize(
    ("schema", "gone"),
    [
        (["CREATE TYPE mood AS ENUM ('sad-zq', 'ok-zq')", "CREATE TABLE t (m mood DEFAULT 'ok-zq', ms mood[])"], "-zq"),
        (
            ["CREATE TABLE t (j jsonb DEFAULT '{\"zq\": 1}', b bytea DEFAULT '\\x7a71', a text[] DEFAULT '{zq}')"],
            "zq|7a71",
        ),
        (["CREATE TABLE t (k int, CHECK (k <> 5 OR 'zq' = 'zq'))"], "zq"),
    ],
)
def test_what_definitions_say_goes(tmp_path: Path, schema: list[str], gone: str) -> None:
    path, out = written(tmp_path / "log.jsonl", {"sql": "SELECT 1"}, schema=[*SCHEMA, *schema]), tmp_path / "out.jsonl"
    assert anonymized(path, out).exit_code == 0
    assert re.search(gone, path.read_text())
    assert not re.search(gone, out.read_text()), out.read_text()


def test_a_file_that_was_there_stays_where_nothing_is_written(tmp_path: Path) -> None:
    path = written(tmp_path / "log.jsonl", {"sql": "SELECT age FROM people WHERE name LIKE 'A%'"})
    out = tmp_path / "out.jsonl"
    out.write_text("kept")
    assert anonymized(path, out).exit_code == 3
    assert out.read_text() == "kept"


def test_what_is_not_modelled_has_other_texts_too(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.jsonl",
        {"sql": "SELECT soundex_zz(name, 'Zoe') FROM people", "result": rows(["Zoe"], ["\\x5a6f65"])},
        {"sql": "SELECT town FROM people WHERE name = 'Ann'", "result": rows(["Rome"])},
    )
    out = tmp_path / "out.jsonl"
    said = anonymized(path, out)
    assert said.exit_code == 0, said.output
    assert "verdict before and after: undecided" in said.stdout
    assert not re.search("Zoe|5a6f65|Ann|Rome", out.read_text()), out.read_text()
