"""A run on the simulated server: sessions take turns, and the seed alone says whose turn it is.

Each session is a thread, of which only the one whose turn it is runs, so that any workload's logic can be interrupted
between its statements. Does not know the workload, nor what the faults do.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass, field
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row
from troubadour.formats import LogWriter, read_log
from troubadour.formats.certificate import write_certificate
from troubadour.model.values import read_value
from troubadour.record.errors import RecordError
from troubadour.record.runs.runner import attempt
from troubadour.record.runs.workload import Draws, Workload
from troubadour.record.settings import ALL_TOLD
from troubadour.record.simulated.certificate import certificate_of
from troubadour.record.simulated.faults import Faults
from troubadour.record.simulated.server import SimulatedServer
from troubadour.record.simulated.session import SimulatedSession
from troubadour.record.values import row_to_json

COLLATION = "C"


@dataclass(slots=True)
class Simulated:
    """What a run came to: as a `Tally`, and how often the fault happened."""

    committed: int = 0
    aborted: Counter[str] = field(default_factory=Counter)
    happened: int = 0


def simulate(
    workload: Workload,
    out: Path,
    *,
    isolation: str = "snapshot",
    sessions: int = 4,
    transactions: int = 50,
    seed: int = 0,
    fault: str | None = None,
    rate: float | None = None,
    certificate: Path | None = None,
) -> Simulated:
    """Record a run until `transactions` have committed; equal arguments give equal logs. `certificate`: where the
    server's own account goes (None: nowhere). Raises RecordError for what the server does not have, ValueError for an
    unknown fault."""
    faults = Faults(fault, rate, seed)
    library = SqlLibrary(Dialect(workload.dialect, collation=COLLATION), workload.schema, workload.procedures)
    given = {table: _stored(library, table, columns, rows) for table, columns, rows in workload.rows()}
    server = SimulatedServer(library, given, isolation, faults)
    header = {
        "dialect": workload.dialect,
        "dbms": "simulated",
        "isolation": isolation,
        "order": "hint",
        "clock": "simulated",
        "settings": {"collation": COLLATION, "timezone": "UTC", **ALL_TOLD},
        "schema": list(workload.schema),
        "procedures": list(workload.procedures),
        "initial": {
            name: {
                "columns": [column.name for column in table.columns],
                "rows": [row_to_json(row) for row in given.get(name, [])],
            }
            for name, table in library.catalog.tables.items()
        },
    }
    run = _Run(server, workload, transactions, seed)
    with LogWriter(out, header) as writer:
        run.go(sessions, writer)
    run.found.happened = faults.happened
    if certificate is not None:
        write_certificate(certificate, certificate_of(read_log([out])))
    return run.found


def _stored(library: SqlLibrary, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Row]:
    """Rows as the schema's columns have them."""
    names = [column.name for column in library.catalog.tables[table].columns]
    if sorted(names) != sorted(columns):
        raise RecordError(f"the simulated server wants all columns of {table}")
    places = [columns.index(name) for name in names]
    types = [column.type for column in library.catalog.tables[table].columns]
    found: list[Row] = []
    for row in map(row_to_json, rows):
        found.append(tuple(read_value(row[at], type, stored=True) for at, type in zip(places, types, strict=True)))
    return found


class _Turn:
    """One session's place in the queue."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self.go = threading.Semaphore(0)
        self.done = False

    def __call__(self) -> None:
        self._run.back.release()
        self.go.acquire()


class _Run:
    def __init__(self, server: SimulatedServer, workload: Workload, transactions: int, seed: int) -> None:
        self.found = Simulated()
        self.back = threading.Semaphore(0)
        self._server = server
        self._workload = workload
        self._transactions = transactions
        self._seed = seed
        self._failed = False

    def go(self, sessions: int, writer: LogWriter) -> None:
        random = Random(f"{self._seed}/turns")
        turns = [_Turn(self) for _ in range(sessions)]
        with ThreadPoolExecutor(sessions) as pool:
            working = []
            for number, turn in enumerate(turns):
                working.append(pool.submit(self._work, number, turn, writer))
                self.back.acquire()  # it waits for its first turn
            while waiting := [turn for turn in turns if not turn.done]:
                random.choice(waiting).go.release()
                self.back.acquire()
        for work in working:
            work.result()

    def _work(self, number: int, turn: _Turn, writer: LogWriter) -> None:
        name = f"s{number + 1}"
        draws = Draws(self._seed, name, number)
        session = SimulatedSession(self._server, name, writer, turn)
        try:
            turn()
            while self.found.committed < self._transactions and not self._failed:
                sqlstate = attempt(session, self._workload.draw(draws))
                if sqlstate is None:
                    self.found.committed += 1
                else:
                    self.found.aborted[sqlstate] += 1
        except BaseException:
            self._failed = True
            raise
        finally:
            turn.done = True
            self.back.release()
