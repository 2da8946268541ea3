"""One audit of a gate, as a command: how it is asked for and what came of it. Does not know where it runs, nor what is
made of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from sql_semantics.records import dataclass
from troubadour.gate.policy import Rules

COMMAND = (sys.executable, "-c", "from troubadour.cli.main import main; main()")

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str] | None"]
"""Runs a command to its end; None where it was ended before."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an audit ended: its exit status, what it printed, and its seconds; `lost`: why it came to no end."""

    status: int
    out: str
    errors: str
    seconds: float
    lost: str | None = None


Auditor = Callable[[Sequence[Path], Rules, Path | None], Ended | None]
"""Audits the files of a log by its rules, and leaves in the folder, where one is given, what is kept of it; None where
all audits were ended meanwhile."""


def audit_by(run: Run, files: Sequence[Path], rules: Rules, folder: Path | None) -> Ended | None:
    """As an `Auditor`, by a command that `run` runs."""
    begun = time.monotonic()
    ended = run([*COMMAND, "audit", "--format", "json", *_options(rules, folder), "--", *map(str, files)])
    if ended is None:
        return None
    return Ended(ended.returncode, ended.stdout, ended.stderr, time.monotonic() - begun)


def _options(rules: Rules, folder: Path | None) -> Iterator[str]:
    given = {
        "--isolation": rules.isolation,
        "--order": rules.order,
        "--timeout": rules.timeout,
        "--memory": rules.memory,
        "--min-transactions": rules.min_transactions,
    }
    for option, value in given.items():
        if value is not None:
            yield option
            yield str(value)
    if rules.allow_unobserved:
        yield "--allow-unobserved"
    for construct in rules.allow_unjudged or ():
        yield "--allow-unjudged"
        yield construct
    if folder is not None:
        yield "--witness"
        yield str(folder / "witness.json")
        yield "--reproduce"
        yield str(folder / "reproduction")
        if find_spec("jinja2") is not None:
            yield "--report"
            yield str(folder / "report.html")
