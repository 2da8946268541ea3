"""Small logs for the command line, and how a command ended. Does not know any verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.case_files import CASES, read_case

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"
HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "snapshot",
    "schema": [ACCOUNTS],
    "initial": {"accounts": {"columns": ["id", "balance"], "rows": [[1, "100.00"], [2, "300.00"]]}},
}
READ = "SELECT balance FROM accounts WHERE id = $1"
FIG_1 = read_case((CASES / "paper/fig-1.case").read_text(encoding="utf-8"), "fig-1")


def transaction(sql: str = READ, id: str | int = "t1", status: str = "committed", **fields: Any) -> dict[str, Any]:
    """A transaction of one statement; what is a statement's field goes there."""
    statement = {"sql": sql}
    for key in ("params", "result", "affected", "error"):
        if key in fields:
            statement[key] = fields.pop(key)
    return {"id": id, "status": status, "statements": [statement], **fields}


def balance(value: Any) -> dict[str, Any]:
    return {"columns": ["balance"], "rows": [[value]]}


def write(folder: Path, *entries: dict[str, Any] | str, name: str = "log.jsonl") -> str:
    """A log; what is text already is written as it is."""
    path = folder / name
    path.write_text("".join(e if isinstance(e, str) else json.dumps(e) + "\n" for e in entries), encoding="utf-8")
    return str(path)


GOOD = transaction(params=[1], result=balance("100.00"))


class Ended:
    """How a command ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        (line,) = self.out.splitlines()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found


_MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write(f"\\n{used.ru_utime + used.ru_stime} {used.ru_maxrss >> 10}")
sys.exit(status)
"""
"""Runs a command and writes what it took as the last line of standard error."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How a command ended, and what it took: processor seconds, in which nothing is that a machine does besides, and
    the MiB of its largest process."""

    status: int
    out: str
    err: str
    seconds: float
    largest: int


def measured(*command: str) -> Measured:
    """Run a command, from a process of its own: servers that other tests ended count as children of this one."""
    ended = subprocess.run([sys.executable, "-c", _MEASURED, *command], capture_output=True, text=True, check=False)
    told, _, last = ended.stderr.rpartition("\n")
    seconds, largest = last.split()
    return Measured(ended.returncode, ended.stdout, told, float(seconds), int(largest))


def refused(ended: Ended, word: str) -> None:
    assert ended.status == 2, ended.err
    assert ended.out == ""
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.endswith("\n")
    assert len(ended.err) < 500
    assert "Traceback" not in ended.err
    assert word in ended.err
