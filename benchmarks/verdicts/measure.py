"""One audit measured: verdict, scope, core, prefix, processor seconds, peak memory.

An audit is a process of its own under a limit of processor seconds and of memory (`audit_server`); one that reaches the
limit is undecided. Does not know what the verdict ought to be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SERVER = Path(__file__).with_name("audit_server.py")
WARM_UP = Path(__file__).parents[2] / "logs" / "anomalies" / "lost-update.jsonl"
MEMORY = 4_096
"""MiB that an audit may have."""
REFERENCE = 0.0075
"""Processor seconds of the server's calibration on the machine whose seconds are meant."""
VERDICTS = {0: "correct", 1: "violation", 2: "unusable", 3: "undecided"}
LIMITED = "the limit of this measurement"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one audit came to. `work`: processor seconds, in those of the machine at its usual speed. `core`: how many
    transactions; `reason`: of one that is undecided, cannot be used, or crashed."""

    verdict: str
    scope: str | None
    core: int | None
    verified: int | None
    failing: str | None
    work: float
    cpu: float
    peak: int
    reason: str | None

    @property
    def decided(self) -> bool:
        """Whether something was found out."""
        return self.verdict in ("correct", "violation")

    @property
    def claim(self) -> str:
        """The verdict, as far as it speaks of every order."""
        return "undecided" if self.scope == "recorded-order" else self.verdict

    @property
    def limited(self) -> bool:
        """Whether the limit struck, so that the work says nothing."""
        return self.reason == LIMITED


class Auditor:
    """Audits by the installation of one interpreter. A context manager."""

    def __init__(self, python: Path | None = None, hash_seed: int = 0) -> None:
        self._python, self._hash_seed = python or Path(sys.executable), hash_seed
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        # outside this repository's root, so that the interpreter's own installation is the one that is imported
        self._process = subprocess.Popen(
            [str(self._python.absolute()), "-P", str(SERVER), str(WARM_UP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=SERVER.parent,
            env={**os.environ, "PYTHONHASHSEED": str(self._hash_seed)},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()

    def audit(self, paths: Sequence[Path], level: str | None, cpu: float, memory: int = MEMORY) -> Figures:
        """Audit a log, its segments together."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        args = ["audit", *(str(path.absolute()) for path in paths), "--format", "json"]
        args += ["--isolation", level] if level is not None else []
        process.stdin.write(json.dumps({"args": args, "cpu": cpu, "memory": memory}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the measured installation does not run: {self._python}")
        return figures(json.loads(line))


def figures(answer: dict[str, object]) -> Figures:
    """What the server answered, read."""
    status, text, error = int(str(answer["exit"])), str(answer["out"]), str(answer["err"])
    cpu, peak, speed = float(str(answer["cpu"])), int(str(answer["peak"])), float(str(answer["speed"]))
    work = cpu * REFERENCE / speed
    if status < 0:
        return Figures("undecided", None, None, None, None, work, cpu, peak, LIMITED)
    if "MemoryError" in error or "bad_alloc" in error or "out of memory" in error.lower():
        return Figures("undecided", None, None, None, None, work, cpu, peak, "memory")
    verdict = VERDICTS.get(status, "crashed")
    if verdict in ("unusable", "crashed"):
        said = (error.strip().splitlines() or [f"exit {status}"])[-1]
        return Figures(verdict, None, None, None, None, work, cpu, peak, said[-200:])
    said_by = json.loads(text)
    core, failing = said_by["core"], said_by["failing_transaction"]
    return Figures(
        verdict,
        said_by["scope"],
        None if core is None else len(core),
        said_by["verified_prefix"],
        None if failing is None else str(failing),
        work,
        cpu,
        peak,
        said_by["reason"],
    )
