"""The gate's audits end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from tests.unit.commands import GOOD, HEADER, write
from troubadour.gate.children import Children

AUDIT = """
import os, sys, time
from pathlib import Path
from troubadour.cli import main
folder = Path(sys.argv[-1]).parent
if parent := os.environ.pop(main.PARENT, ""):
    main.end_with_parent(int(parent))
(folder / f"{os.getpid()}.pid").touch()
time.sleep(300)
"""
"""An audit that takes for ever, with the first lines of any command."""

GATE = f"""
import sys
import troubadour.gate.audits as audits
from troubadour.cli.main import main
audits.COMMAND = [sys.executable, "-c", {AUDIT!r}]
main(["gate", "--jobs", "2", sys.argv[1]])
"""


def lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
        (signal.SIGINT, 130),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_no_audit_outlives_the_gate(tmp_path: Path, number: signal.Signals, status: int) -> None:
    for name in "abc":
        write(tmp_path, HEADER, GOOD, name=f"{name}.jsonl")
    gate = subprocess.Popen([sys.executable, "-c", GATE, str(tmp_path)], stderr=subprocess.PIPE)
    try:
        until(lambda: len(list(tmp_path.glob("*.pid"))) == 2 or gate.poll() is not None)
        assert gate.poll() is None, gate.communicate()
        audits = sorted(tmp_path.glob("*.pid"))
        os.kill(gate.pid, number)
        _, said = gate.communicate(timeout=PATIENCE)
        assert gate.returncode == status, said
        until(lambda: not any(lives(int(audit.stem)) for audit in audits))
        assert sorted(tmp_path.glob("*.pid")) == audits
        assert b"Traceback" not in said
    finally:
        gate.kill()


def test_what_was_ended_starts_nothing_more() -> None:
    children = Children()
    told = children.run([sys.executable, "-c", "print(5)"])
    assert told is not None
    assert (told.returncode, told.stdout) == (0, "5\n")
    children.end()
    assert children.run([sys.executable, "-c", "print(5)"]) is None
