"""Hunts that are ended from outside, in whatever way: no server and no file of theirs is left, and they go on later.

Does not look at what they find.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from troubadour.hunt.engines.postgres import Postgres
from troubadour.hunt.engines.protocol import EngineDied
from troubadour.record.servers.embedded_mariadb import missing

COMMAND = "from troubadour.cli.main import main; main()"


@pytest.fixture
def place() -> Iterator[Path]:
    """For the files of a hunt: short, since sockets lie there, and open to the user that PostgreSQL runs as. The wheel
    of the server puts a lock there, which stays."""
    folder = Path(tempfile.mkdtemp(prefix="ended-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def hunting(engine: str, place: Path, out: Path) -> subprocess.Popen[bytes]:
    arguments = ["hunt", engine, "--minutes", "10", "--seed", "1", "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def runs(out: Path) -> int:
    state = out / "state.json"
    return int(json.loads(state.read_text())["tally"]["runs"]) if state.exists() else 0


def of(place: Path) -> list[str]:
    """The processes that have the folder in their command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(place) in (text := entry.read_bytes()):
                found.append(os.fsdecode(text.replace(b"\0", b" ")))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        pytest.param("postgres", signal.SIGTERM, marks=pytest.mark.slow),
        ("postgres", signal.SIGKILL),
        pytest.param("mariadb", signal.SIGHUP, marks=pytest.mark.slow),
        pytest.param("mariadb", signal.SIGKILL, marks=pytest.mark.slow),
        ("sqlite", signal.SIGINT),
        pytest.param("sqlite", signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_a_hunt_that_is_ended_leaves_nothing_behind_and_goes_on_later(
    engine: str, number: signal.Signals, place: Path, tmp_path: Path
) -> None:
    if engine == "mariadb" and (reason := missing()) is not None:
        pytest.skip(reason)
    out = tmp_path / "out"
    process = hunting(engine, place, out)
    try:
        until(lambda: runs(out) >= 1 or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(number)
        status = process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
    expected = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 2}
    assert status == expected.get(number, 128 + number)
    until(lambda: not of(place) and not list(place.glob("troubadour*")))
    before = runs(out)
    assert before >= 1
    if engine == "sqlite":
        again = [sys.executable, "-c", COMMAND, "hunt", engine, "--minutes", "0", "--seed", "1", "--out", str(out)]
        subprocess.run(again, check=False, capture_output=True, timeout=PATIENCE)
        assert runs(out) == before + 1


def test_a_start_that_is_killed_leaves_nothing_behind(place: Path, tmp_path: Path) -> None:
    process = hunting("postgres", place, tmp_path / "out")
    try:
        until(lambda: any("initdb" in text or "postgres" in text for text in of(place)) or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    until(lambda: not of(place) and not list(place.glob("troubadour*")))


def test_a_statement_that_outlives_its_cancellation_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troubadour.hunt.engines.threaded.CANCELLED", 0.3)
    engine = Postgres("busy")
    try:
        with pytest.raises(EngineDied, match="goes on"), engine.database():  # noqa: PT012  its end is what raises
            session = engine.connection(0, engine.levels["serializable"])
            monkeypatch.setattr(session, "cancel", lambda: None)
            session.send("SELECT pg_sleep(300)")
            assert session.answer(0.2) is None
        engine.restart()
        with engine.database():
            fresh = engine.connection(0, engine.levels["serializable"])
            fresh.send("SELECT 1")
            answer = fresh.answer(PATIENCE)
            assert answer is not None and answer.rows == [[1]]
    finally:
        engine.close()
