"""Certificates at size: the workloads of Emme §7.2, 30% updates, 40% reads, 20% increments, 10% inserts, five per
transaction on 1,000 keys; with predicates 100 keys, and ranges, minima and maxima among the reads.

``order`` makes logs of a serial run with their expected serialization order (Alg. 4), ``snapshots`` records a real
PostgreSQL. Prints CPU seconds from the files on, rates and peak memory, each size in a process of its own.
``workloads`` records ours on PostgreSQL, and holds what becomes of each certificate against the search's verdict. Does
not know what a verdict ought to be but correct.

    python -m benchmarks.certificates.emme workloads [--runs 2] [--sizes 150]
    python -m benchmarks.certificates.emme order --sizes 10000,100000 [--predicates]
    python -m benchmarks.certificates.emme snapshots --sizes 2500,10000 [--predicates] [--isolation serializable]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from troubadour.audit.certified.examine import examine
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import STREAMED_BYTES, read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Standing
from troubadour.model.verdict import Status
from troubadour.record import EmbeddedPostgres, Workload, record_run, recorder
from troubadour.workloads.bank import Bank
from troubadour.workloads.kv import KeyValue
from troubadour.workloads.smallbank import SmallBank
from troubadour.workloads.tpcc import Tpcc

SCHEMA = "CREATE TABLE kv (k INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL)"
INSERT = "INSERT INTO kv VALUES ($1, $2, $3) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
OPERATIONS = 5
WORKLOADS: dict[str, Callable[[int], Workload]] = {
    "bank": lambda seed: Bank(seed=seed),
    "kv": lambda seed: KeyValue(),
    "smallbank": lambda seed: SmallBank(seed=seed),
    "tpcc": lambda seed: Tpcc(seed=seed),
}
SESSIONS = 4


@dataclass(frozen=True, slots=True)
class Operation:
    """A statement of the workload with its parameters."""

    sql: str
    parameters: tuple[int, ...]


class Draw:
    """Seeded operations on `keys` keys, of a table that is empty at first (Emme §7.2)."""

    def __init__(self, seed: int, keys: int, *, predicates: bool, session: int = 0) -> None:
        self._random = Random(f"{seed}/{session}")
        self._keys, self._predicates = keys, predicates
        self._values = 100 if predicates else 1_000_000

    def transaction(self) -> list[list[Operation]]:
        """The operations of the next one, each as its statements: an increment reads the row that it updates."""
        return [self._operation() for _ in range(OPERATIONS)]

    def _operation(self) -> list[Operation]:
        random = self._random
        key = random.randint(1, self._keys)
        read = Operation("SELECT v FROM kv WHERE k = $1", (key,))
        match random.choices(("update", "read", "increment", "insert"), (30, 40, 20, 10))[0]:
            case "update":
                return [Operation("UPDATE kv SET v = $1 WHERE k = $2", (random.randrange(self._values), key))]
            case "increment":
                return [read, Operation("UPDATE kv SET v = v + 1 WHERE k = $1", (key,))]
            case "insert":
                return [Operation(INSERT, (key, random.randrange(self._values), random.randrange(self._values)))]
        if not self._predicates:
            return [read]
        match random.randrange(3):
            case 0:
                low = random.randrange(self._values)
                return [Operation("SELECT k, v FROM kv WHERE v >= $1 AND v <= $2", (low, low + 10))]
            case 1:
                return [Operation("SELECT min(v) FROM kv WHERE k <= $1", (key,))]
        return [Operation("SELECT max(v) FROM kv WHERE k > $1", (key,))]


def serial_run(path: Path, transactions: int, seed: int, *, predicates: bool = False) -> None:
    """A serial run, with the order in which it ran as its certificate."""
    keys = 100 if predicates else 1000
    draw, values = Draw(seed, keys, predicates=predicates), dict[int, int]()
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "isolation": "serializable",
        "log_id": f"serial-{seed}",
        "schema": [SCHEMA],
        "initial": {"kv": {"rows": []}},
    }
    certificate = path.with_suffix(".cert.jsonl")
    with path.open("w", encoding="utf-8") as log, certificate.open("w", encoding="utf-8") as account:
        log.write(json.dumps(header) + "\n")
        about = {"format": "troubadour-certificate", "version": 1, "log_id": header["log_id"], "dbms": "serial"}
        account.write(json.dumps({**about, "scheme": "serialization-order"}) + "\n")
        for number in range(transactions):
            statements = [_done(one, values) for operation in draw.transaction() for one in operation]
            log.write(json.dumps({"id": number, "status": "committed", "statements": statements}) + "\n")
            account.write(json.dumps({"kind": "read", "transaction": number, "timestamp": number}) + "\n")
        account.write(json.dumps({"kind": "end", "commits": 0, "reads": transactions}) + "\n")


def _done(one: Operation, values: dict[int, int]) -> dict[str, Any]:
    entry: dict[str, Any] = {"sql": one.sql, "params": list(one.parameters)}
    verb = one.sql.split()[0]
    if verb == "SELECT":
        columns, rows = _answer(one, values)
        return {**entry, "result": {"columns": columns, "rows": rows}}
    if verb == "INSERT":
        values[one.parameters[0]] = one.parameters[1]
        return {**entry, "affected": 1}
    key = one.parameters[-1]
    if key in values:
        values[key] = one.parameters[0] if len(one.parameters) == 2 else values[key] + 1
    return {**entry, "affected": int(key in values)}


def _answer(one: Operation, values: dict[int, int]) -> tuple[list[str], list[list[int | None]]]:
    key = one.parameters[0]
    if "<= $2" in one.sql:
        return ["k", "v"], [[k, v] for k, v in values.items() if key <= v <= one.parameters[1]]
    if "min" in one.sql:
        return ["min"], [[min((v for k, v in values.items() if k <= key), default=None)]]
    if "max" in one.sql:
        return ["max"], [[max((v for k, v in values.items() if k > key), default=None)]]
    return ["v"], [[values[key]]] if key in values else []


def recorded_run(path: Path, transactions: int, seed: int, isolation: str, *, predicates: bool) -> None:
    """A run of four sessions on an embedded PostgreSQL with its certificate, until so many have committed."""
    keys = 100 if predicates else 1000
    level = (
        psycopg.IsolationLevel.SERIALIZABLE if isolation == "serializable" else psycopg.IsolationLevel.REPEATABLE_READ
    )

    def session(dsn: str, number: int) -> None:
        draw = Draw(seed, keys, predicates=predicates, session=number)
        certificate = path.with_suffix(".cert.jsonl")
        connection = recorder.connect(dsn, log=path, certificate=certificate, cursor_factory=psycopg.RawCursor)
        connection.isolation_level = level
        committed = 0
        while committed < transactions // SESSIONS:
            try:
                with connection.transaction():
                    for one in (statement for operation in draw.transaction() for statement in operation):
                        cursor = connection.execute(one.sql.encode(), one.parameters)
                        if one.sql.startswith("SELECT"):
                            cursor.fetchall()
                committed += 1
            except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                continue  # the recorder has it; the next one is drawn
        connection.close()

    with EmbeddedPostgres({"wal_level": "logical"}) as server:
        with psycopg.connect(server.dsn) as setup:
            setup.execute(SCHEMA.encode())
        threads = [threading.Thread(target=session, args=(server.dsn, number)) for number in range(SESSIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.close()


def examined(path: Path, isolation: str) -> str:
    """A row of the table: what the certificate came to and what that cost."""
    begun = time.process_time()
    log = read_log([path], spill_bytes=STREAMED_BYTES)
    found, _ = examine(log, library_of(log), read_certificate(path.with_suffix(".cert.jsonl")), isolation=isolation)
    cpu = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    because = f" ({found.transaction}: {found.because})" if found.because is not None else ""
    return f"| {log.committed:,} | {found.status.value}{because} | {cpu:.1f} | {log.committed / cpu:,.0f} | {peak:,} |"


def _rows(arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    pool = multiprocessing.get_context("spawn")
    for size in map(int, (arguments.sizes or "10000,100000").split(",")):
        path = folder / f"{arguments.kind}-{size}.jsonl"
        if arguments.kind == "order":
            serial_run(path, size, arguments.seed, predicates=arguments.predicates)
        else:
            recorded_run(path, size, arguments.seed, arguments.isolation, predicates=arguments.predicates)
        with pool.Pool(1) as alone:
            yield alone.apply(examined, (path, "serializable" if arguments.kind == "order" else arguments.isolation))


def of_workloads(names: Sequence[str], runs: int, transactions: int, folder: Path) -> Iterator[str]:
    """A row for each workload and level: certificates accepted, verdicts that the search gives too, and by how much
    the certificate took less."""
    with EmbeddedPostgres({"wal_level": "logical", "track_commit_timestamp": "on"}) as server:
        for name in names:
            make = WORKLOADS[name]
            for isolation in ("snapshot", "serializable"):
                accepted = equal = committed = 0
                spent = [0.0, 0.0]
                for seed in range(runs):
                    path = folder / f"{name}-{isolation}-{seed}.jsonl"
                    told = path.with_suffix(".cert.jsonl")
                    record_run(
                        make(seed), server.dsn, path, isolation=isolation, sessions=SESSIONS, transactions=transactions,
                        seed=seed, certificate=told,
                    )  # fmt: skip
                    log = read_log([path])
                    begun = time.process_time()
                    found, _ = examine(log, library_of(log), read_certificate(told), isolation=isolation)
                    between = time.process_time()
                    verdict = audit(log, library_of(log), Options(isolation, timeout=120))
                    spent[0] += between - begun
                    spent[1] += time.process_time() - between
                    accepted += found.status is Standing.ACCEPTED
                    equal += (found.status is Standing.ACCEPTED) == (verdict.status is Status.CORRECT)
                    committed += log.committed
                    if found.because is not None:
                        print(f"{name} {isolation} {seed}: {found.because}", file=sys.stderr)
                yield (
                    f"| {name} | {isolation} | {committed:,} | {accepted} of {runs} | {equal} of {runs} "
                    f"| {spent[0]:.1f} | {spent[1]:.1f} |"
                )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["workloads", "order", "snapshots"])
    parser.add_argument("--sizes", help="Transactions of a log; several with commas, but for workloads.")
    parser.add_argument("--names", default=",".join(WORKLOADS), help="Workloads of ours.")
    parser.add_argument("--runs", type=int, default=2, help="Logs of each workload at each level.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--isolation", choices=["snapshot", "serializable"], default="serializable")
    parser.add_argument("--predicates", action="store_true")
    arguments = parser.parse_args()
    if arguments.kind == "workloads":
        print("| workload | level | committed | accepted | as the search | CPU s | search's |\n|---|---|" + "---:|" * 5)
        with tempfile.TemporaryDirectory() as folder:
            for row in of_workloads(
                arguments.names.split(","), arguments.runs, int(arguments.sizes or 150), Path(folder)
            ):
                print(row, flush=True)
        return
    print("| committed | certificate | CPU s | per CPU s | peak MiB |\n|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for row in _rows(arguments, Path(folder)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
