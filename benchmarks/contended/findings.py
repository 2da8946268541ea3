"""A run held to more than it ran at: what is found, how small it is, and what the oracle says of it.

Does not know how a core is made.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contended.kinds import kind_of
from sql_semantics.library import SqlLibrary
from troubadour.audit.driver import Options, audit
from troubadour.audit.witness import witness_of
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.model.log import Log, TransactionId
from troubadour.model.verdict import Status, Verdict
from troubadour.oracle import BudgetExceeded, explain
from troubadour.oracle.sub_log import around, sent, sub_log
from troubadour.problem.budget import Budget
from troubadour.problem.problem import Problem
from troubadour.replay.checker import check
from troubadour.search.scheduler import Search

PROFILES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("postgres", "read-committed"): ("postgres:read-committed", "snapshot"),
    ("postgres", "snapshot"): ("postgres:repeatable-read", "serializable"),
    ("mysql", "mysql:repeatable-read"): ("mysql:repeatable-read", "snapshot"),
}
"""The profile of a run and a level that it is not owed, by dialect and the level that it was recorded at."""

BESIDE = 8
"""Transactions around a core of which one is taken as it was, where a core was found in one order only."""

BUDGET = 15_000
"""Transactions that the oracle runs for one question."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`prefix` transactions were explained at `level`, `core` are too many; `cpu` seconds from the file to the verdict.
    `kind` and `confirmed` are empty where there is no violation; `told` is what the audit says."""

    name: str
    level: str
    verdict: str
    prefix: int
    core: tuple[TransactionId, ...]
    kind: str
    confirmed: str
    cpu: float
    told: str

    @property
    def text(self) -> str:
        """One row of a table."""
        columns = (self.name, self.level, self.verdict, str(self.prefix), str(len(self.core)), self.kind)
        return f"| {' | '.join(columns)} | {self.confirmed} | {self.cpu:.1f} |"


def find(path: Path, level: str | None = None, timeout: float = 300.0) -> Finding:
    """Audit a log at a level (None: that of `PROFILES`) and ask the oracle about what is found."""
    begun = time.process_time()
    log = read_log([path])
    library = library_of(log)
    profile, held_to = PROFILES[log.header.dialect, str(log.header.isolation)]
    level = level or held_to
    verdict = audit(log, library, Options(level, timeout=timeout))
    if verdict.status is Status.UNDECIDED:
        # not every order was excluded; in the order that the log gives there is one all the same
        verdict = audit(log, library, Options(level, order_recorded=True, timeout=timeout))
    cpu = time.process_time() - begun
    kind, said = _judged(log, library, verdict, profile, level) if verdict.status is Status.VIOLATION else ("", "")
    told = str(verdict.explanation or verdict.reason or "")
    core = _shown(verdict)
    return Finding(path.name, level, verdict.status.value, verdict.verified_prefix, core, kind, said, cpu, told)


def _judged(log: Log, library: SqlLibrary, verdict: Verdict, profile: str, level: str) -> tuple[str, str]:
    """The kind of an anomaly, and whether the oracle says that it is one: the core, among what others really wrote."""
    core = _shown(verdict)
    part = until(log, core)
    problem = Problem(part, library, known_rows(part, library), isolation=profile, budget=Budget(120.0))
    found = Search(problem).run()
    if found.failure is not None or found.stopped is not None:
        return "", f"not asked: {profile} is undecided"
    witness = witness_of(problem, found)
    refusal = check(part, witness, library, isolation=profile)
    if refusal is not None:
        return "", f"not asked: {refusal.text}"
    kind = kind_of(problem, found, [problem.index_of(id) for id in core], serial=level == "serializable")
    beside = around(part, core, witness)[:BESIDE]
    said = "too large"
    for more in [(), *((id,) for id in beside)]:
        for since in (verdict.failing_transaction, None):
            small = sub_log(part, library, core, witness, profile, beside=more, since=since)
            if small is None:
                continue
            try:
                if _is_confirmed(small, library, level, verdict.failing_transaction):
                    return kind, "yes, with one more as logged" if more else "yes"
                said = "no"
            except BudgetExceeded:
                continue
    return kind, said


def _is_confirmed(small: Log, library: SqlLibrary, level: str, failing: TransactionId | None) -> bool:
    """Whether the oracle explains all but the failing one, and not that one with them."""
    if explain(small, library, level, budget=BUDGET).status is not Status.VIOLATION:
        return False
    others = Log(small.header, [t for t in small.transactions if t.id != failing], small.digest)
    return explain(others, library, level, budget=BUDGET).status is Status.CORRECT


def _shown(verdict: Verdict) -> tuple[TransactionId, ...]:
    """The core, or what clashes in its place."""
    return verdict.core or () if verdict.clash is None else verdict.clash.transactions


def until(log: Log, core: Sequence[TransactionId]) -> Log:
    """The log without those whose commit was sent after the last of a core was over: none before has seen them."""
    over = max(t.returned for t in log.transactions if t.id in core and t.returned is not None)
    return Log(log.header, [t for t in log.transactions if (sent(t) or 0) <= over], f"{log.digest}-until-{over}")
