"""The command as a process: its exit status, its streams, signals and faults."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import FIG_1, GOOD, HEADER, write
from troubadour.cli import main as command


def process(*arguments: str, stdin: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        **options,
    )


def test_a_process_ends_with_the_verdict(tmp_path: Path) -> None:
    content = "".join(line + "\n" for line in FIG_1.lines()).encode()
    ended = process("audit", "--isolation", "strict-snapshot", "--format", "json", "-", stdin=content)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert json.loads(ended.stdout)["failing_transaction"] == "t3"


def test_a_reader_that_went_away_changes_no_verdict(tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", log],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is absent")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    log = write(tmp_path, HEADER, GOOD)
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", log],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1


def test_an_interrupt_is_no_violation() -> None:
    script = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # also where tests run in background\n"
        "from troubadour.cli.main import main\n"
        "main(['audit', '-'])"
    )
    waiting = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(json.dumps(HEADER).encode() + b"\n")
        waiting.stdin.flush()
        while waiting.poll() is None and unread(
            waiting.stdin.fileno()
        ):  # once the audit has taken the header it waits for more
            time.sleep(0.01)
        while waiting.poll() is None:
            waiting.send_signal(signal.SIGINT)  # one that comes just before a read starts is seen after that read only
            try:
                waiting.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue
        assert waiting.poll() == command.INTERRUPTED


def unread(pipe: int) -> int:
    """How many bytes written to ``pipe`` nobody has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_fault_is_no_violation(tmp_path: Path) -> None:
    script = (
        "import troubadour.cli.auditing.audit as audit\n"
        "def load(paths, **options): raise KeyError('nobody expected this')\n"
        "audit.load_either = load\n"
        "from troubadour.cli.main import main\nmain(['audit', 'log'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, text=True)
    assert ended.returncode == command.FAULT
    assert "nobody expected this" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("troubadour: this is a fault")
    assert ended.stdout == ""
