"""A log with other texts and ids has the verdict that it had, and nothing of what it said. Does not know why."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log, write_log
from troubadour.model.log import Log
from troubadour.tools.anonymize import Anonymizer

FAST, SLOW = range(25), range(25, 3000)
"""`make slow` has the second."""
LEVELS = ("read-committed", "snapshot", "serializable")


@pytest.mark.parametrize("wider", [False, True])
def test_the_verdict_is_the_same(tmp_path: Path, wider: bool) -> None:
    replaced = compare(FAST, wider, tmp_path)
    assert replaced > 0.3 * len(FAST)


@pytest.mark.slow
@pytest.mark.parametrize("wider", [False, True])
def test_the_verdict_is_the_same_of_many(tmp_path: Path, wider: bool) -> None:
    compare(SLOW, wider, tmp_path)


def compare(seeds: range, wider: bool, folder: Path) -> int:
    """Counts the logs whose ids were replaced."""
    replaced = 0
    for seed in seeds:
        log = random_log(seed, wider=wider)
        try:
            anonymizer = Anonymizer(log, library())
        except Unsupported as refused:
            pytest.fail(f"seed {seed}: {refused.construct}\n{write(log)}")
        path = folder / "log.jsonl"
        write_log(path, anonymizer.header(), anonymizer.transactions())
        other = read_log([path])
        replaced += "accounts.id" not in dict(anonymizer.kept())
        level = LEVELS[seed % 3]
        before, after = told(log, level), told(other, level)
        if before[2] is not None:
            before = (*before[:2], anonymizer.ids[before[2]], *before[3:])
        assert before == after, f"seed {seed} at {level}: {before}, then {after}\n{write(log)}\n{write(other)}"
    return replaced


def told(log: Log, level: str) -> tuple[Any, ...]:
    """What an audit says, without ids and texts."""
    verdict = audit(log, library_of(log), Options(level))
    return verdict.status, verdict.verified_prefix, verdict.failing_transaction, verdict.scope


MARK = "zq"
"""Stands in everything that has to go, and in nothing else."""


def marked(text: str, chance: random.Random) -> str:
    """A log whose ids, sessions, clocks, texts, comments, settings, messages and names of result columns have the
    mark."""
    lines = []
    for line in map(json.loads, text.splitlines()):
        for name in ("session", "clock", "xid"):
            if line.get(name) is not None:
                line[name] = f"{MARK}-{name}-{line[name]}"
        if "format" in line:
            line["schema"] = [_said(sql, chance) for sql in line["schema"]]
            line["procedures"] = [_literals(sql) for sql in line.get("procedures", [])]
            line["settings"] = {**line.get("settings", {}), "application_name": f"{MARK}-setting"}
        if "rows" in line:
            line["rows"] = [_row(row) for row in line["rows"]]
        if "statements" in line:
            line["id"] = f"{MARK}-tx-{line['id']}"
        for statement in line.get("statements", ()):
            statement["sql"] = _said(statement["sql"], chance)
            if statement.get("params"):
                statement["params"] = _row(statement["params"])
            if statement.get("error"):
                statement["error"]["message"] = f"{MARK}-message"
            for result in [statement["result"]] if statement.get("result") else statement.get("results") or ():
                result["columns"] = [f"{MARK}-{name}" for name in result["columns"]]
                result["rows"] = [_row(row) for row in result["rows"]]
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


def _said(sql: str, chance: random.Random) -> str:
    comment = chance.choice(["", f"/* {MARK}-comment */ ", f"-- {MARK} 'comment'\n"])
    return comment + _literals(sql)


def _literals(sql: str) -> str:
    return re.sub(r"'([^']*)'", lambda found: f"'{MARK}-{found[1]}'", sql)


def _row(row: Any) -> Any:
    if isinstance(row, dict):
        return {name: _row([value])[0] for name, value in row.items()}
    return [f"{MARK}-{value}" if isinstance(value, str) else value for value in row]


@pytest.mark.parametrize("wider", [False, True])
def test_nothing_of_it_is_left(tmp_path: Path, wider: bool) -> None:
    left_texts = 0
    for seed in FAST:
        path, out = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
        path.write_text(marked(write(random_log(seed, wider=wider)), random.Random(seed)))
        log = read_log([path])
        try:
            anonymizer = Anonymizer(log, library_of(log))
        except Unsupported as refused:
            pytest.fail(f"seed {seed}: {refused.construct}\n{path.read_text()}")
        write_log(out, anonymizer.header(), anonymizer.transactions())
        assert MARK not in out.read_text(), f"seed {seed}\n{path.read_text()}\n{out.read_text()}"
        assert len(read_log([out]).transactions) == len(log.transactions)
        left_texts += path.read_text().count(f'"{MARK}-')
    assert left_texts > 300


@pytest.mark.parametrize(
    ("column", "sql", "params"),
    [
        ("m mood", "SELECT 1", None),
        ("a text[]", "SELECT 1", None),
        ("j jsonb", "SELECT 1", None),
        ("k int", "SELECT '{\"a\": \"zq\"}'::jsonb ->> 'a'", None),
        ("k int", "SELECT 1 WHERE '{zq}'::text[] = ARRAY['x']", None),
        ("k int", "SELECT %s::jsonb", ['"zq"']),
        ("k int", "SELECT %s::text[]", [["zq"]]),
        ("k int", "SELECT 'zq'::mood", None),
    ],
)
def test_what_would_stay_is_refused(tmp_path: Path, column: str, sql: str, params: list[Any] | None) -> None:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "settings": {"collation": "C"},
        "schema": ["CREATE TYPE mood AS ENUM ('zq', 'ok')", f"CREATE TABLE t ({column})"],
    }  # fmt: skip
    statement = {"sql": sql} if params is None else {"sql": sql, "params": params}
    path = tmp_path / "log.jsonl"
    lines = [header, {"id": 1, "status": "committed", "statements": [statement]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_log([path])
    with pytest.raises(Unsupported, match=r"type|function .* of a text"):
        Anonymizer(log, library_of(log))
