"""How long TPC-C's procedures and a bare loop take in the interpreter, on rows in memory.

Prints microseconds per call of each transaction, calls prepared once, and nanoseconds per round of a loop. Run as
``python -m benchmarks.tpcc.speed``. Knows no isolation levels and no logs.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict

from benchmarks.tpcc.texts import calls, rows, small
from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from troubadour.workloads.texts import DialectName

_TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock")
LOOP = (
    "CREATE FUNCTION spin(n int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE i int := 0; s int := 0; BEGIN"
    " WHILE i < n LOOP i := i + 1; IF i % 3 = 0 THEN s := s + i; ELSE s := s - 1; END IF; s := s % 1000; END LOOP;"
    " RETURN s; END $$"
)


def main() -> None:
    """Measure both languages and the loop."""
    dialects: tuple[DialectName, ...] = ("postgres", "mysql")
    for dialect in dialects:
        workload = small(dialect)
        library = SqlLibrary(Dialect(dialect, collation="C"), workload.schema, workload.procedures)
        view = MemoryView({name: [] for name in library.catalog.tables})
        for sql in rows(workload):
            library.program(sql).run(view, ())
        spent: dict[str, list[float]] = defaultdict(list)
        for sql in calls(workload, 2, 2000):
            program = library.program(sql)
            begun = time.perf_counter()
            try:
                program.run(view, ())
            except SqlError:
                continue
            name = next(word for word in _TRANSACTIONS if word in sql)
            spent[name].append(time.perf_counter() - begun)
        for name, seconds in spent.items():
            middle = sorted(seconds)[len(seconds) // 2] * 1e6
            sys.stdout.write(f"{dialect:9}{name:13}{middle:9.1f} us (median of {len(seconds)})\n")
    program = SqlLibrary(Dialect("postgres"), [], [LOOP]).program("SELECT spin(200000)")
    begun = time.perf_counter()
    program.run(MemoryView({}), ())
    sys.stdout.write(f"a round of a loop {(time.perf_counter() - begun) / 200_000 * 1e9:.0f} ns\n")


if __name__ == "__main__":
    main()
