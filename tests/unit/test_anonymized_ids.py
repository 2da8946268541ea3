"""`troubadour log anonymize`: numbers and UUIDs are replaced where they are only compared; else they stay, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from troubadour.cli.logs.log import log
from troubadour.formats import read_log
from troubadour.model.log import Log, Transaction
from troubadour.tools.anonymize.domains import Domain, renamed

SCHEMA = [
    "CREATE TABLE users (id INT PRIMARY KEY, code SMALLINT NOT NULL, token UUID)",
    "CREATE TABLE posts (no BIGINT PRIMARY KEY, author INT REFERENCES users(id), votes INT NOT NULL)",
]
TOKENS = ("6f9619ff-8b86-d011-b42d-00c04fc964ff", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
INITIAL = {
    "users": {"columns": ["id", "code", "token"], "rows": [[4711, 77, TOKENS[0]], [8080, 78, TOKENS[1]]]},
    "posts": {"columns": ["no", "author", "votes"], "rows": [[900001, 4711, 3], [900007, 8080, 5]]},
}


def anonymized(tmp_path: Path, *statements: dict[str, Any], procedures: list[str] | None = None) -> tuple[Log, str]:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable", "schema": SCHEMA,
        "settings": {"collation": "C"}, "initial": INITIAL, "procedures": procedures or [],
    }  # fmt: skip
    lines = [header]
    for number, statement in enumerate(statements, 1):
        lines.append({"id": number, "status": "committed", "statements": [statement]})
    path, out = tmp_path / "log.jsonl", tmp_path / "shared.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = CliRunner().invoke(log, ["anonymize", str(path), "--out", str(out)])
    assert said.exit_code == 0, said.output
    assert "verdict before and after: correct" in said.stdout
    return read_log([out]), said.stdout


def found(transaction: Transaction) -> list[tuple[Any, ...]]:
    (statement,) = transaction.statements
    assert statement.results is not None
    return [tuple(row) for row in statement.results[0].rows]


def rows(*found: list[Any]) -> dict[str, Any]:
    return {"columns": ["a"] * len(found[0]), "rows": list(found)}


def test_ids_are_the_same_everywhere_and_others_than_before(tmp_path: Path) -> None:
    after, said = anonymized(
        tmp_path,
        {"sql": "SELECT no, author FROM posts WHERE author = $1", "params": [4711], "result": rows([900001, 4711])},
        {"sql": "INSERT INTO users VALUES ($1, $2, $3)", "params": [9999, "79", TOKENS[0]], "affected": 1},
        {"sql": "SELECT u.token, max(p.no) FROM users u JOIN posts p ON p.author = u.id GROUP BY u.token ORDER BY 2",
         "result": rows([TOKENS[0], 900001], [TOKENS[1], "900007"])},
        {"sql": "UPDATE posts SET votes = votes + 1 WHERE no = $1 RETURNING votes", "params": [900007],
         "result": rows([6])},
        {"sql": "WITH gone AS (DELETE FROM posts WHERE no = $1 RETURNING author) SELECT author FROM gone",
         "params": [900001], "result": rows([4711])},
        {"sql": "MERGE INTO posts USING users ON posts.author = users.id AND posts.no = $1 WHEN MATCHED THEN DELETE"
         " RETURNING users.id", "params": [900007], "result": rows([8080])},
    )  # fmt: skip
    text = (tmp_path / "shared.jsonl").read_text()
    assert not [word for word in ("4711", "8080", "9999", "900001", "900007", "77", *TOKENS) if word in text]
    first, insert, joined, update, moved, merged = after.transactions
    ((no, author),) = found(first)
    assert first.statements[0].params == (author,)
    ((token, same), (_, last)) = found(joined)
    assert same == no < last  # these are ordered somewhere; tokens are not
    assert insert.statements[0].params is not None
    assert insert.statements[0].params[2] == token  # type: ignore[index]
    assert (update.statements[0].params, found(update)) == ((last,), [(6,)])
    assert found(moved) == [(author,)]
    assert merged.statements[0].params == (last,)
    assert found(merged)[0][0] not in (8080, author)
    assert said.count("keeps its values") == 1
    assert "posts.votes keeps its values: operator +" in said


@pytest.mark.parametrize(
    ("sql", "params", "result", "kept"),
    [
        ("SELECT id FROM users WHERE id + $1 = 5000", [289], [4711], "users.id keeps its values: operator +"),
        ("SELECT code FROM users WHERE id = 8080", [], [78], "users.id keeps its values: a literal"),
        ("SELECT sum(author) FROM posts", [], [12791], "posts.author keeps its values: aggregate sum()"),
        ("SELECT CAST(code AS NUMERIC) FROM users LIMIT 1", [], None, "users.code keeps its values: CAST of smallint"),
        ("SELECT no FROM posts OFFSET $1", [2], [], "posts.votes"),
        (
            "SELECT author FROM (SELECT author, row_number() OVER (ORDER BY no) AS n FROM posts) x WHERE n = author",
            [], [], "users.id keeps its values: window function row_number()",
        ),
        (
            "WITH RECURSIVE w(i) AS (SELECT id FROM users WHERE id < $1 UNION ALL SELECT i + $2 FROM w WHERE i < $1)"
            " SELECT count(*) FROM w", [5000, 100], [4], "users.id keeps its values: operator +",
        ),
        (
            "SELECT (SELECT u.id % $1 FROM users u WHERE u.id = p.author) FROM posts p WHERE no = $2",
            [10, 900001], [1], "posts.author keeps its values: operator %",
        ),
    ],
)  # fmt: skip
def test_what_is_used_otherwise_is_kept(
    tmp_path: Path, sql: str, params: list[Any], result: list[Any] | None, kept: str
) -> None:
    statement = {"sql": sql, "params": params}
    if result is not None:
        statement["result"] = {"columns": ["a"], "rows": [[value] for value in result]}
    _, said = anonymized(tmp_path, statement)
    if kept == "posts.votes":  # nothing but OFFSET is about no, and votes are read by nobody
        assert "keeps" not in said
    else:
        assert kept in said


def test_arrays_as_parameters(tmp_path: Path) -> None:
    after, said = anonymized(
        tmp_path,
        {"sql": "SELECT id FROM users WHERE id = ANY ($1) AND code <> $2", "params": [[1, 4711], 5],
         "result": rows([4711])},
        {"sql": "SELECT no FROM posts WHERE author = ANY (:who)", "params": {"who": [8080, 4711]},
         "result": rows([900001], [900007])},
    )  # fmt: skip
    first, second = after.transactions
    ((user,),) = found(first)
    assert first.statements[0].params is not None
    assert first.statements[0].params[0][1] == user != 4711  # type: ignore[index]
    assert second.statements[0].params["who"][1] == user  # type: ignore[call-overload, index]
    assert "keeps" not in said


def test_values_flow_through_routines(tmp_path: Path) -> None:
    routines = [
        "CREATE FUNCTION first_of(who INT) RETURNS BIGINT LANGUAGE plpgsql AS $$ DECLARE n BIGINT; r RECORD; BEGIN"
        " FOR r IN SELECT no FROM posts WHERE author = who ORDER BY no LOOP n := r.no; EXIT; END LOOP;"
        " RETURN n; END $$",
        "CREATE PROCEDURE vote(p BIGINT) LANGUAGE plpgsql AS $$ BEGIN UPDATE posts SET votes = votes + 1 WHERE no = p;"
        " IF NOT FOUND THEN INSERT INTO posts VALUES (p, NULL, 1); END IF; END $$",
        "CREATE FUNCTION half(x BIGINT) RETURNS BIGINT LANGUAGE sql AS 'SELECT x / 2'",
    ]
    after, said = anonymized(
        tmp_path,
        {"sql": "SELECT first_of($1)", "params": [4711], "result": rows([900001])},
        {"sql": "CALL vote($1)", "params": [900009]},
        {"sql": "SELECT votes FROM posts WHERE no = $1", "params": [900009], "result": rows([1])},
        procedures=routines,
    )
    first, call, read = after.transactions
    assert first.statements[0].params != (4711,)
    assert found(first) != [(900001,)]
    assert call.statements[0].params == read.statements[0].params != (900009,)
    assert said.count("keeps its values") == 1
    _, said = anonymized(
        tmp_path,
        {"sql": "SELECT author FROM posts WHERE half(no) = $1", "params": [450003], "result": rows([8080])},
        procedures=routines,
    )
    assert "posts.no keeps its values: operator /" in said


def test_gaps_and_the_room_of_a_type() -> None:
    ordered = Domain(ordered=True, span=(-(2**15), 2**15 - 1))
    assert renamed({-5, 0, 1, 30000}, ordered) == {-5: 1000, 0: 1005, 1: 1006, 30000: 2006}
    many = renamed(range(0, 30000, 2), ordered)
    assert many is not None
    assert list(many.values()) == sorted(many.values())
    assert renamed(range(0, 40000, 2), ordered) is None  # not all of them are in it
    assert renamed({0, 3}, Domain(nonzero=True)) is None
    equal = renamed(range(100), Domain())
    assert equal is not None
    assert sorted(equal.values()) == list(range(1000, 1100))
