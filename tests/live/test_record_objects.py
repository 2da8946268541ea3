"""Object workloads on real databases, recorded while connections break, are correct at the level that they ran at."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.patience import PATIENCE, until
from troubadour.cli.auditing.audit import audit
from troubadour.cli.recording.record import record


def run(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(record, arguments)
    return ended.exit_code, ended.output


TYPES = ("register", "list", "set", "counter")


QUICK = (("sqlite", "serializable", "set"), ("duckdb", "snapshot", "register"), ("postgres", "snapshot", "list"))
LEVELS = {
    "sqlite": ("serializable",),
    "duckdb": ("snapshot",),
    "postgres": ("read-committed", "snapshot", "serializable"),
    "mariadb": ("read-committed", "snapshot", "serializable"),
}
ALL = [(dbms, level, type) for dbms, levels in LEVELS.items() for level in levels for type in TYPES]


@pytest.mark.parametrize(
    ("dbms", "isolation", "type"),
    [each if each in QUICK else pytest.param(*each, marks=pytest.mark.slow) for each in ALL],
)
def test_a_disturbed_run_is_correct(dbms: str, isolation: str, type: str, tmp_path: Path) -> None:
    if dbms == "mariadb":
        from troubadour.record.servers.embedded_mariadb import missing

        if (reason := missing()) is not None:
            pytest.skip(reason)
    out = tmp_path / "run.jsonl"
    made = run(
        "objects", "--dbms", dbms, "--type", type, "--isolation", isolation, "--keys", "6", "--operations",
        "1-4", "--writes-per-key", "20", "--transactions", "60", "--disturb", "--out", str(out),
    )  # fmt: skip
    assert made[0] == 0, made
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(line.get("status") == "committed" for line in lines) >= 60
    audited = CliRunner().invoke(audit, [str(out)])
    assert audited.exit_code == 0, audited.output


def test_a_level_that_a_product_lacks(tmp_path: Path) -> None:
    status, told = run("objects", "--dbms", "sqlite", "--isolation", "snapshot", "--out", str(tmp_path / "x.jsonl"))
    assert status == 2
    assert "sqlite has no level snapshot" in told


def test_what_ends_the_recording_ends_its_server(tmp_path: Path) -> None:
    """A server of the recording's own is gone, and so is its folder, where a signal asks the process to end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    main = "from troubadour.cli.main import main; import sys; main(sys.argv[1:])"
    command = [sys.executable, "-c", main, "record", "objects", "--dbms", "postgres"]
    arguments = ["--transactions", "1000000", "--out", str(tmp_path / "run.jsonl")]
    recording = subprocess.Popen([*command, *arguments], env={**os.environ, "TMPDIR": str(folder)})
    try:
        until(lambda: (tmp_path / "run.jsonl").exists() or recording.poll() is not None)
        assert recording.poll() is None
        recording.send_signal(signal.SIGTERM)
        assert recording.wait(PATIENCE) == -signal.SIGTERM
    finally:
        recording.kill()
    assert list(folder.glob("troubadour-pg-*")) == []
