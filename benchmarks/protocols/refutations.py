"""What the audit and the oracle say of the log of a run that refutes a level (docs/protocols.md). Does not know how the
run was found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.protocols.runs.emit import emit_log
from troubadour.protocols.runs.machine import Machine
from troubadour.protocols.runs.trace import Trace

BELOW = "read-committed"
"""A level below all eight, for protocols that keep none of them: it has no proof here."""


@dataclass(frozen=True, slots=True)
class Second:
    """Verdicts on one log: of the audit and of the oracle at the level that was refuted (None: the oracle gave up), and
    of the audit at every level that the protocol keeps."""

    level: str
    audited: Status
    oracle: Status | None
    kept: dict[str, Status]

    @property
    def agrees(self) -> bool:
        """Whether all that answered agree with the refutation and with the proofs."""
        refused = self.audited is Status.VIOLATION and self.oracle in (Status.VIOLATION, None)
        return refused and all(status is Status.CORRECT for status in self.kept.values())


def log_of(machine: Machine, trace: Trace, level: str) -> Log:
    """The run as the log that a reader of logs sees."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        emit_log(machine, trace, level, path)
        return read_log([path])


def second_opinion(machine: Machine, trace: Trace, level: str, kept: Collection[str]) -> Second:
    """Of a run that breaks the level; `kept`: levels that are proved of the protocol."""
    log = log_of(machine, trace, level)
    library = library_of(log)
    try:
        oracle = explain(log, library, level).status
    except BudgetExceeded:
        oracle = None
    return Second(
        level,
        audit(log, library, Options(level)).status,
        oracle,
        {name: audit(log, library, Options(name)).status for name in kept or (BELOW,)},
    )
