"""What people type, from a folder of their own. Does not know what for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.patience import PATIENCE


def troubadour(
    folder: Path, status: int, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a folder, which has to end with this status."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **(environment or {})}
    )
    assert ended.returncode == status, f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
    return ended


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a folder, which has to end well."""
    ended = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended
