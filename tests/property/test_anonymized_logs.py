"""A log with other texts and ids has the verdict that it had, and nothing of what it said. Does not know why."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from tests.property.object_logs import KINDS
from tests.property.object_logs import random_log as random_objects
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from tests.property.shaped_logs import MARK, SCHEMAS, shaped_log
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for, library_of
from troubadour.formats import read_either, read_log, write_log, write_objects
from troubadour.formats.objects.expand import expanded
from troubadour.model.log import Log
from troubadour.model.objects import ObjectLog, Operation
from troubadour.tools.anonymize import Anonymizer, without_names

FAST, SLOW = range(12), range(12, 3000)
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
    assert left_texts > 150


STRICT = "strict-serializable"
SHAPED, SHAPED_SLOW = range(6), range(6, 1000)


@pytest.mark.parametrize("dialect", list(SCHEMAS))
def test_values_of_every_shape(tmp_path: Path, dialect: str) -> None:
    compare_shaped(SHAPED, dialect, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", list(SCHEMAS))
def test_values_of_every_shape_of_many(tmp_path: Path, dialect: str) -> None:
    compare_shaped(SHAPED_SLOW, dialect, tmp_path)


def compare_shaped(seeds: range, dialect: str, folder: Path) -> None:
    refused = Counter[str]()
    statuses = Counter[str]()
    for seed in seeds:
        log = shaped_log(seed, dialect, folder)
        try:
            anonymizer = Anonymizer(*library_for(log))
        except Unsupported as why:
            refused[why.construct] += 1
            continue
        path = folder / "other.jsonl"
        write_log(path, anonymizer.header(), anonymizer.transactions())
        assert MARK not in path.read_text(), f"seed {seed}\n{(folder / 'shaped.jsonl').read_text()}{path.read_text()}"
        before, after = told(log, STRICT), told(read_log([path]), STRICT)
        if before[2] is not None:
            before = (*before[:2], anonymizer.ids[before[2]], *before[3:])
        assert before == after, f"seed {seed}\n{(folder / 'shaped.jsonl').read_text()}{path.read_text()}"
        statuses[before[0].value] += 1
    assert all(re.match("an order of ", construct) for construct in refused), refused
    assert refused.total() < 0.35 * len(seeds), refused
    assert statuses["correct"] and statuses["violation"], statuses


@pytest.mark.parametrize(
    ("column", "sql", "params"),
    [
        ("k text", "SELECT length(k) FROM t", None),
        ("a text[]", "SELECT array_to_string(a, 'zq') FROM t", None),
        ("j jsonb", "SELECT row_to_json(t) FROM t", None),
        ("b bytea", "SELECT length(b) FROM t", None),
        ("k text", "SELECT k::date FROM t", None),
        ("k text", "SELECT k || %s FROM t", ["zq"]),
        ("m mood", "SELECT 1 FROM t WHERE m::text LIKE 'zq%%'", None),
    ],
)
def test_what_is_not_faithful_is_refused(tmp_path: Path, column: str, sql: str, params: list[Any] | None) -> None:
    header = {
        "format": "troubadour-log", "version": 1, "dialect": "postgres", "settings": {"collation": "C"},
        "schema": ["CREATE TYPE mood AS ENUM ('zq', 'ok')", f"CREATE TABLE t ({column})"],
    }  # fmt: skip
    statement = {"sql": sql} if params is None else {"sql": sql, "params": params}
    path = tmp_path / "log.jsonl"
    lines = [header, {"id": 1, "status": "committed", "statements": [statement]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = read_log([path])
    with pytest.raises(Unsupported, match=r"function|operator|CAST|LIKE"):
        Anonymizer(log, library_of(log))


@pytest.mark.parametrize("kind", KINDS)
def test_logs_of_objects(tmp_path: Path, kind: str) -> None:
    compare_objects(range(10), kind, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_logs_of_objects(tmp_path: Path, kind: str) -> None:
    compare_objects(range(10, 1000), kind, tmp_path)


def compare_objects(seeds: range, kind: str, folder: Path) -> None:
    path, out = folder / "log.jsonl", folder / "other.jsonl"
    for seed in seeds:
        text = renamed_objects(random_objects(kind, seed).entries())
        path.write_text(text)
        log = read_either([path])
        assert isinstance(log, ObjectLog)
        other, ids = without_names(log)
        write_objects(out, other)
        found = read_either([out])
        assert isinstance(found, ObjectLog)
        assert MARK not in out.read_text(), f"{kind} {seed}\n{text}{out.read_text()}"
        before, after = told(expanded(log), LEVELS[seed % 3]), told(expanded(found), LEVELS[seed % 3])
        if before[2] is not None:
            before = (*before[:2], ids[before[2]], *before[3:])
        assert before == after, f"{kind} {seed}\n{text}{out.read_text()}"
        for one, two in zip(log.order, found.order, strict=True):
            assert ids[log.ids[one]] == found.ids[two]
            assert_renamed(list(log.operations(one)), list(found.operations(two)), log)


def renamed_objects(lines: list[Any]) -> str:
    """The log's lines; texts, ids, sessions and clocks have the mark, and one value is of more than 62 bits."""
    for line in lines[1:]:
        line["id"] = f"{MARK}-{line['id']}"
        line["session"] = f"{MARK}-{line.get('session')}"
        line["clock"] = f"{MARK}-clock"
        for op in line["ops"]:
            op[2] = f"{MARK}{op[2]}" if isinstance(op[2], str) else op[2] + 2**70
    for given in lines[0]["initial"].values():
        for row in given.get("rows", ()):
            row[0] = f"{MARK}{row[0]}" if isinstance(row[0], str) else row[0] + 2**70
    lines[0] |= {"log_id": MARK, "segment": MARK, "settings": {"application_name": MARK}}
    return "".join(json.dumps(line) + "\n" for line in lines)


def assert_renamed(before: list[Operation], after: list[Operation], log: ObjectLog) -> None:
    """Integers are integers and texts are texts, and what counters hold is what it was."""
    for one, two in zip(before, after, strict=True):
        assert (one.kind, one.object, one.known, type(one.key)) == (two.kind, two.object, two.known, type(two.key))
        assert type(one.value) is type(two.value)
        if log.objects[one.object].type == "counter":
            assert one.value == two.value
        elif isinstance(one.value, tuple):
            assert isinstance(two.value, tuple)
            assert len(one.value) == len(two.value)
