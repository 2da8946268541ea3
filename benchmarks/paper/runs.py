"""The logs of the evaluation, recorded once, and their audits. Does not know what is asked with them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.problem.heuristics import Heuristics
from troubadour.record import EmbeddedPostgres, Workload, record_run
from troubadour.workloads.bank import Bank, Variant
from troubadour.workloads.rubis import Rubis
from troubadour.workloads.tpcc import Tpcc
from troubadour.workloads.twitter import Twitter

LEVELS = ("serializable", "snapshot", "read-committed")
SESSIONS = 2
ACCOUNTS = 1000
ALL_ON = "H1+H2+H3+H4"
SWITCHED: dict[str, Heuristics] = {
    "none": Heuristics(index=False, window=None, concretize=False, stronger_first=False),
    "H1": Heuristics(window=None, concretize=False, stronger_first=False),
    "H1+H2": Heuristics(concretize=False, stronger_first=False),
    "H1+H2+H3": Heuristics(stronger_first=False),
    ALL_ON: Heuristics(),
}
"""Added one after the other, as the paper's Fig. 10 does."""


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit: `explained` of `committed` transactions, processor seconds from the file to the verdict, MiB."""

    verdict: str
    explained: int
    committed: int
    seconds: float
    memory: int
    reason: str | None


Auditor = Callable[[Path, str, float, str], Audited]


class Logs:
    """Logs in a folder; a server is started where one is missing."""

    def __init__(self, folder: Path, transactions: int, stack: ExitStack) -> None:
        self._folder = folder
        self._transactions = transactions
        self._stack = stack
        self._dsn: str | None = None

    def of(self, name: str, workload: Workload, level: str) -> Path:
        """The log of a workload at a level."""
        path = self._folder / f"{name}-{level}-{self._transactions}.jsonl.gz"
        if not path.exists():
            if self._dsn is None:
                self._dsn = self._stack.enter_context(EmbeddedPostgres()).dsn
            partly = path.with_suffix(".part.gz")
            record_run(
                workload,
                self._dsn,
                partly,
                isolation=level,
                sessions=SESSIONS,
                transactions=self._transactions,
                seed=1,
            )
            partly.replace(path)
        return path

    def bank(self, level: str, *, rows: float = 100.0, blind: float = 0.0, reads: float = 20.0) -> Path:
        """The bank with 1,000 accounts, in percent of rows accessed, blind writes and balance checks."""
        workload = Bank(ACCOUNTS, Variant.PROCEDURES, rows_accessed=rows, blind_writes=blind, read_only=reads)
        return self.of(f"bank-{rows:g}-{blind:g}-{reads:g}", workload, level)

    def workload(self, name: str, level: str) -> Path:
        """One of the others at the paper's size."""
        made: dict[str, Workload] = {
            "Twitter": Twitter("postgres", "procedures"),
            "RUBiS": Rubis("postgres", "procedures"),
            "TPC-C": Tpcc("postgres", "procedures", districts=2, customers=3, items=1),
        }
        return self.of(name.lower(), made[name], level)


@contextmanager
def logs(folder: Path, transactions: int) -> Iterator[Logs]:
    """Logs of so many committed transactions in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        yield Logs(folder, transactions, stack)


@contextmanager
def auditor() -> Iterator[Auditor]:
    """Audits of logs at levels, for so many seconds by the clock, with some heuristics; each in a process of its own
    that has imported all and audited nothing."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.paper.runs"])
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        yield lambda path, level, timeout, heuristics: pool.submit(_audited, path, level, timeout, heuristics).result()


def _audited(path: Path, level: str, timeout: float, heuristics: str) -> Audited:
    begun = time.process_time()
    log = read_log([path])
    verdict = audit(log, library_of(log), Options(level, timeout=timeout, heuristics=SWITCHED[heuristics]))
    seconds = round(time.process_time() - begun, 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Audited(verdict.status.value, verdict.verified_prefix, log.committed, seconds, peak, verdict.reason)
