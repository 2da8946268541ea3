"""RELEASE of the savepoint that began a transaction commits it: an intent is written before, whatever the name."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from troubadour.formats import read_log

APPLICATION = """
import os, sqlite3, sys
from troubadour.record import recorder
connection = recorder.wrap(sqlite3.connect(sys.argv[1], isolation_level=None), log=sys.argv[2])
connection.execute("SAVEPOINT " + sys.argv[3])
connection.execute("INSERT INTO t VALUES (1)")
connection.execute("RELEASE " + sys.argv[4])
os._exit(0)
"""


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("a", "SAVEPOINT A"),
        ('"a savepoint b"', '"A Savepoint B"'),
        ("savepoints", "savepoints -- all of it"),
        ("'x y'", '"x y"'),
        ("[a;b]", "`a;b`;"),
    ],
)
def test_a_process_that_ends_behind_a_release_loses_nothing(name: str, again: str, tmp_path: Path) -> None:
    database, log = tmp_path / "db", tmp_path / "log.jsonl"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    connection.close()
    subprocess.run([sys.executable, "-c", APPLICATION, str(database), str(log), name, again], check=True)
    main = "from troubadour.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", main, "log", "repair", str(log)], check=True, capture_output=True)
    (found,) = read_log([log]).transactions
    assert found.status in ("committed", "unknown")
    assert "INSERT INTO t VALUES (1)" in [statement.sql for statement in found.statements]
