"""Wrong results that SQLancer found (tests/data/README.md), as logs of one session. Does not know any verdict."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "tests" / "data" / "sqlancer" / "bugs.jsonl.gz"
DIALECTS = {"TiDB": "mysql", "DuckDB": "duckdb"}
FAILED = {"duckdb-16": 1}
"""The write that breaks a key, by its place among the writes."""


def bugs() -> list[Any]:
    """What is kept of each."""
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).decode().splitlines()]


def log_of(bug: Any, rows: Any) -> str:
    """A bug's statements as one session's transactions, the last with these rows."""
    observed = bug["observations"][0]
    texts = bug["statements"][: observed["statement_index0"]]
    schema = [text for text in texts if text.upper().startswith("CREATE")]
    lines: list[dict[str, Any]] = [
        {
            "format": "troubadour-log",
            "version": 1,
            "dialect": DIALECTS[bug["dbms"]],
            "isolation": "strict-serializable",
            "schema": schema,
        }
    ]
    writes: list[dict[str, Any]] = [{"sql": text} for text in texts if text not in schema]
    width = len(rows[0]) if rows else len((observed["right"] or observed["wrong"])[0])
    read = {"sql": observed["sql"], "result": {"columns": [f"c{i}" for i in range(width)], "rows": rows}}
    for number, statement in enumerate((*writes, read)):
        line = {"id": number, "session": "a", "status": "committed", "start": 2 * number, "statements": [statement]}
        if FAILED.get(bug["id"]) == number:
            statement["error"] = {"sqlstate": "23505", "message": "duplicate key"}
            lines.append({**line, "status": "aborted"})
        else:
            lines.append({**line, "commit": 2 * number + 1})
    return "\n".join(json.dumps(line) for line in lines) + "\n"
