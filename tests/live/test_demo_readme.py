"""The README's five minutes, on a real PostgreSQL: its Python block as it stands, then audit and verify."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from troubadour.cli.main import cli
from troubadour.record import connect

README = Path(__file__).parents[2] / "README.md"


def test_the_five_minutes(
    postgres_dsn: str, database_schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    assert block.count('"host=localhost dbname=test"') == 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGOPTIONS", f"-c search_path={database_schema}")
    with psycopg.connect(postgres_dsn) as setup:
        setup.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)")
        setup.execute("INSERT INTO accounts VALUES (1, 100), (2, 300)")
    exec(block.replace('"host=localhost dbname=test"', repr(postgres_dsn)), {})
    with connect(postgres_dsn) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {database_schema}.accounts").fetchone() or (None,)
    assert count == 2
    runner = CliRunner()
    for arguments in (
        ["audit", "run.jsonl.gz"],
        ["audit", "--isolation", "serializable", "run.jsonl.gz"],
        ["audit", "--witness", "witness.json", "run.jsonl.gz"],
        ["verify", "run.jsonl.gz", "witness.json"],
    ):
        ended = runner.invoke(cli, arguments)
        assert ended.exit_code == 0, f"{arguments}: {ended.output}"
    assert "1 committed" in runner.invoke(cli, ["audit", "run.jsonl.gz"]).output
