"""The process that watches over a server's folder. Starts no server."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE, until
from troubadour.record.servers.guard import Guard


def test_it_removes_the_folder_once_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    (folder / "data").mkdir(parents=True)
    Guard(folder).close()
    assert not folder.exists()


def test_it_ends_though_a_forked_process_lives(tmp_path: Path) -> None:
    guard = Guard(tmp_path / "gone")
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(PATIENCE,))
    process.start()
    try:
        guard.close()
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


def test_it_removes_the_folder_of_a_process_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    text = f"import os, signal; from pathlib import Path; from troubadour.record.servers.guard import Guard;" \
        f"guard = Guard(Path({str(folder)!r})); os.kill(os.getpid(), signal.SIGKILL)"  # fmt: skip
    subprocess.run([sys.executable, "-c", text], check=False)
    until(lambda: not folder.exists())
