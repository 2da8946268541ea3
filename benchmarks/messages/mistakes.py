"""Forty mistakes as people make them: the files that they wrote, and the command that they typed.

Does not know what is said of them: that stands in `said.json`, beside what was said at an earlier commit.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Content = str | bytes | None
"""A file's content; None: a folder."""

_SCHEMA = "CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"
_HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "serializable",
    "schema": [_SCHEMA],
    "initial": {"accounts": {"columns": ["id", "balance"], "rows": [[1, "100.00"], [2, "300.00"]]}},
}
_READ: dict[str, Any] = {
    "sql": "SELECT balance FROM accounts WHERE id = $1",
    "params": [1],
    "result": {"columns": ["balance"], "rows": [["100.00"]]},
}
_GOOD: dict[str, Any] = {"id": "t1", "session": "a", "status": "committed", "statements": [_READ]}


@dataclass(frozen=True, slots=True)
class Mistake:
    """`what` it is, in a few words; the `command`, without `troubadour`; the `files` of the folder it is typed in."""

    what: str
    command: Sequence[str]
    files: Mapping[str, Content] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Make the files."""
        for name, content in self.files.items():
            path = folder / name
            if content is None:
                path.mkdir()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)


def _lines(*entries: object) -> str:
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def _log(what: str, *entries: object, header: Mapping[str, Any] = _HEADER) -> Mistake:
    return Mistake(what, ("audit", "run.jsonl"), {"run.jsonl": _lines(header, *entries)})


def _raw(what: str, content: Content, name: str = "run.jsonl") -> Mistake:
    return Mistake(what, ("audit", name), {name: content})


def _typed(what: str, *command: str) -> Mistake:
    return Mistake(what, command, {"run.jsonl": _RIGHT})


def _policy(what: str, text: str) -> Mistake:
    return Mistake(what, ("gate", "run.jsonl"), {"run.jsonl": _RIGHT, "troubadour.toml": text})


def _statement(**fields: object) -> dict[str, Any]:
    return _GOOD | {"statements": [_READ | fields]}


_RIGHT = _lines(_HEADER, _GOOD)
_TWO = _lines(_HEADER, _GOOD, _GOOD | {"id": "t2"})

MISTAKES = (
    _log("a field of a transaction is misspelt", _GOOD | {"sesion": "a"}),
    _log("a field of a statement is misspelt", _statement(afected=1)),
    _log("a field of the header is misspelt", _GOOD, header=_HEADER | {"dialct": "postgres"}),
    _log("a status of another tool's", _GOOD | {"status": "commited"}),
    _log("a dialect by another name", _GOOD, header=_HEADER | {"dialect": "postgresql"}),
    _log("the header's version is a text", _GOOD, header=_HEADER | {"version": "1"}),
    _log("times as ISO texts", _GOOD | {"invoked": "2026-11-27T10:00:00Z", "returned": "2026-11-27T10:00:01Z"}),
    _log("times as seconds with a fraction", _GOOD | {"invoked": 1764237600.25, "returned": 1764237600.5}),
    _log("commit before start", _GOOD | {"start": 9, "commit": 5}),
    _log("returned before invoked", _GOOD | {"invoked": 9, "returned": 5}),
    _log("an id twice", _GOOD, _GOOD),
    _log("an id that is missing", {key: value for key, value in _GOOD.items() if key != "id"}),
    _log("statements as plain texts", _GOOD | {"statements": ["SELECT 1"]}),
    _log("rows that are no lists", _statement(result={"columns": ["balance"], "rows": ["100.00"]})),
    _log("a count as a text", _GOOD | {"statements": [{"sql": "DELETE FROM accounts", "affected": "2"}]}),
    _log("an answer with a column too many", _statement(result={"columns": ["a", "b"], "rows": [[1, 2]]})),
    _log("a value of another type", _statement(result={"columns": ["balance"], "rows": [["many"]]})),
    _log("a parameter too few", _statement(params=[])),
    _log("a table that is in no schema", _GOOD | {"statements": [{"sql": "SELECT * FROM account"}]}),
    _log("a column that is in no table", _GOOD | {"statements": [{"sql": "SELECT ballance FROM accounts"}]}),
    _log("BEGIN and COMMIT as statements", _GOOD | {"statements": [{"sql": "BEGIN"}, _READ, {"sql": "COMMIT"}]}),
    _log("a level of the header that there is none of", _GOOD, header=_HEADER | {"isolation": "serialisable"}),
    _log("the level as SQL writes it", _GOOD, header=_HEADER | {"isolation": "REPEATABLE READ"}),
    _log("no level at all", _GOOD, header={key: value for key, value in _HEADER.items() if key != "isolation"}),
    _log("a schema as one text", _GOOD, header=_HEADER | {"schema": _SCHEMA}),
    _log("a file that ends early", _GOOD, {"kind": "end", "transactions": 3}),
    _raw("one JSON array", json.dumps([_HEADER, _GOOD])),
    _raw("pretty-printed JSON", json.dumps(_HEADER, indent=2) + "\n" + json.dumps(_GOOD, indent=2)),
    _raw("UTF-16", _RIGHT.encode("utf-16")),
    _raw("a byte order mark", b"\xef\xbb\xbf" + _RIGHT.encode()),
    _raw("an empty file", ""),
    _raw("a last line that is torn", _TWO[:-40]),
    _raw("a gzip file that is torn", gzip.compress(_TWO.encode(), mtime=0)[:-30], "run.jsonl.gz"),
    _raw("a folder", None, "runs"),
    _typed("a file that is not there", "audit", "rnu.jsonl"),
    _typed("an option under another name", "audit", "run.jsonl", "--lvel", "snapshot"),
    _typed("a level that there is none of", "audit", "run.jsonl", "--isolation", "repeatable-read"),
    _typed("a command that is misspelt", "adit", "run.jsonl"),
    _policy("a misspelt level of the policy", '[gate]\nisolation = "snapshott"\n'),
    _policy("a misspelt key of the policy", "[gate]\ntime_out = 60\n"),
)
