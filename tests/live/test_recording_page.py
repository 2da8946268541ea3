"""docs/recording.md, tried literally: the five minutes in an empty folder, then every other snippet on its driver."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.live.audited import done
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recording.md").read_text(encoding="utf-8")
TABLE = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"


def block(first: str) -> str:
    """The Python block that begins with this comment."""
    (found,) = re.findall(rf"^```python\n(# {re.escape(first)}\n.*?)^```", PAGE, re.S | re.M)
    return str(found)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )


def checkout(folder: Path) -> Path:
    """What pip needs of a checkout; pip leaves its own files there."""
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    for package in ("sql_semantics", "troubadour"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["checkout", "wheel"])
def test_five_minutes_from_an_empty_folder(kind: str, tmp_path: Path) -> None:
    folder, source = tmp_path / "empty", tmp_path / "checkout"
    folder.mkdir()
    source.mkdir()
    given = checkout(source)
    if kind == "wheel":
        build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
        subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True, timeout=PATIENCE)
        (given,) = tmp_path.glob("*.whl")
    install, use, *_ = re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TROUBADOUR": str(given), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    installed = subprocess.run(
        ["bash", "-euc", f"{install}which troubadour"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert installed.stdout.strip() == str(folder / ".venv/bin/troubadour"), installed.stdout + installed.stderr
    (folder / "app.py").write_text(block("app.py"))
    environment["PATH"] = f"{folder / '.venv/bin'}{os.pathsep}{path}"
    for line in use.splitlines():
        command, _, expected = line.partition("#")
        ended = subprocess.run(
            ["bash", "-uc", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert expected.strip() in ended.stdout, ended.stdout + ended.stderr
        assert ended.returncode == ("VIOLATION" in expected), ended.stdout + ended.stderr


@pytest.mark.parametrize("run_number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 20))])
def test_the_five_minutes_reach_the_verdicts_that_they_print(tmp_path: Path, run_number: int) -> None:
    (tmp_path / "app.py").write_text(block("app.py"))
    _, use, *_ = re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)
    for line in use.splitlines():
        command, _, expected = line.partition("#")
        program, *arguments = shlex.split(command)
        ended = run(tmp_path, *(["-c", MAIN] if program == "troubadour" else []), *arguments)
        assert expected.strip() in ended.stdout, ended.stdout + ended.stderr
        assert ended.returncode == ("VIOLATION" in expected), ended.stdout + ended.stderr


MAIN = "from troubadour.cli.main import main; main()"


@pytest.mark.parametrize("which", ["psycopg", "psycopg, asyncio"])
def test_psycopg(postgres_dsn: str, database_schema: str, tmp_path: Path, which: str) -> None:
    dsn = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(dsn) as setup:
        setup.execute(TABLE.encode())
        setup.execute("INSERT INTO accounts VALUES (1, 100)")
    text = block(which)
    assert text.count('"host=localhost dbname=shop"') == 1
    (tmp_path / "app.py").write_text(text.replace('"host=localhost dbname=shop"', repr(dsn)))
    ended = run(tmp_path, "app.py")
    assert ended.returncode == 0, ended.stderr
    (transaction,) = done(tmp_path / "run.jsonl").transactions
    assert transaction.statements[0].affected == 1


@pytest.mark.parametrize("which", ["sqlite3", "SQLAlchemy", "DuckDB"])
def test_files(which: str, tmp_path: Path) -> None:
    if which == "SQLAlchemy":
        pytest.importorskip("sqlalchemy")
    if which == "DuckDB":
        connection = pytest.importorskip("duckdb").connect(str(tmp_path / "shop.duckdb"))
    else:
        connection = sqlite3.connect(tmp_path / "shop.db")
    # DuckDB's arithmetic of decimals is not modelled
    connection.execute(TABLE.replace("NUMERIC(12,2)", "INTEGER") if which == "DuckDB" else TABLE)
    connection.execute("INSERT INTO accounts VALUES (1, 100)")
    connection.commit()
    connection.close()
    (tmp_path / "app.py").write_text(block(which))
    ended = run(tmp_path, "app.py")
    assert ended.returncode == 0, ended.stderr
    (transaction,) = done(tmp_path / "run.jsonl").transactions
    assert transaction.statements[0].affected == 1


def test_pymysql(mariadb_dsn: str, tmp_path: Path) -> None:
    from troubadour.record.drivers import mysql

    with mysql.scratch_database(mariadb_dsn) as database:
        socket = mariadb_dsn.partition("unix_socket=")[2].partition("&")[0]
        setup = mysql.connect(mariadb_dsn, database)
        with setup.cursor() as cursor:
            cursor.execute(TABLE)
            cursor.execute("INSERT INTO accounts VALUES (1, 100)")
        setup.close()
        text = block("PyMySQL")
        given = 'host="localhost", user="root", database="shop"'
        assert text.count(given) == 1
        level = 'init_command="SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"'
        own = f'unix_socket={socket!r}, user="root", database={database!r}, {level}'
        (tmp_path / "app.py").write_text(text.replace(given, own))
        ended = run(tmp_path, "app.py")
    assert ended.returncode == 0, ended.stderr
    (transaction,) = done(tmp_path / "run.jsonl").transactions
    assert transaction.statements[0].affected == 1
