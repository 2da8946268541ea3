"""The logs in logs/clients, recorded through each client: read, whole, and correct at the level they ran at."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from troubadour.cli.main import cli

LOGS = Path(__file__).parents[2] / "logs"
CLIENTS = sorted((LOGS / "clients").glob("*.jsonl.gz"))


def test_there_is_one_of_each() -> None:
    assert [path.name.partition(".")[0] for path in CLIENTS] == [
        "duckdb", "psycopg", "pymysql", "sqlalchemy", "sqlite3",
    ]  # fmt: skip
    page = (LOGS / "README.md").read_text(encoding="utf-8")
    assert all(f"`clients/{path.name}`" in page for path in CLIENTS)


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.name)
def test_correct_where_it_ran(path: Path) -> None:
    ended = CliRunner().invoke(cli, ["audit", str(path)])
    assert (ended.exit_code, ended.output.startswith("CORRECT")) == (0, True), ended.output


def test_what_postgres_promises_beyond_the_general_level() -> None:
    path = str(LOGS / "clients" / "psycopg.jsonl.gz")
    for level in ("strict-snapshot", "postgres:repeatable-read"):
        assert CliRunner().invoke(cli, ["audit", "--isolation", level, path]).exit_code == 0, level
