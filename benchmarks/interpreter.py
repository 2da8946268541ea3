"""How fast statements run on the versioned state map with read records, beside SQLite called from Python.

Each run is one transaction of one statement on concrete data, through the view that search uses: the rows looked at are
recorded. `rows` also records the version that each row read took, as at row scope; `plain` is the same statement on
rows in memory without records. Ratios are ours to SQLite's, in memory, measured in turns in the same process. Run as
``python -m benchmarks.interpreter``. Knows no isolation levels and no logs.
"""

from __future__ import annotations

import sqlite3
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import Arguments, MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind, Value
from sql_semantics.view import View
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.execution.views.rowwise import RowView

Run = Callable[[View, Arguments], Outcome]

ROWS = 100_000
ACCOUNTS = "CREATE TABLE accounts (id integer PRIMARY KEY, branch integer, owner text, balance bigint)"
BRANCHES = "CREATE TABLE branches (id integer PRIMARY KEY, city text)"
BRANCH_COUNT = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """A statement with its arguments; `number` executions are one round."""

    name: str
    sql: str
    arguments: tuple[int, ...]
    number: int


CASES = (
    Case("select by key", "SELECT id, owner, balance FROM accounts WHERE id = $1", (4711,), 5_000),
    Case("update by key", "UPDATE accounts SET balance = balance + $1 WHERE id = $2", (1, 4711), 5_000),
    Case("scan, few match", "SELECT id FROM accounts WHERE balance < $1", (5000,), 3),
    Case("scan and sum", "SELECT SUM(balance) FROM accounts WHERE balance > $1", (5000,), 2),
    Case(
        "join by key, one row",
        "SELECT a.owner, b.city FROM accounts a JOIN branches b ON b.id = a.branch WHERE a.id = $1",
        (4711,),
        3_000,
    ),
    Case(
        "join by key, all rows",
        "SELECT SUM(a.balance) FROM accounts a JOIN branches b ON b.id = a.branch WHERE b.city = 'c7'",
        (),
        1,
    ),
)


def best(actions: Sequence[Callable[[], object]], number: int, rounds: int = 7) -> list[float]:
    """Microseconds of the processor per call of each action, the best of `rounds` in turns: noise meets all alike."""
    times = [float("inf")] * len(actions)
    for _ in range(rounds):
        for index, action in enumerate(actions):
            took = timeit.timeit(action, timer=time.process_time, number=number)
            times[index] = min(times[index], took / number * 1e6)
    return times


def main() -> None:
    """Measure and print one line per statement."""
    dialect = Dialect("postgres", collation="C")
    catalog = Catalog(read_schema([ACCOUNTS, BRANCHES], dialect))
    accounts: list[tuple[Value, ...]] = [(n, n % BRANCH_COUNT, f"o{n % 97}", n * 10) for n in range(ROWS)]
    branches: list[tuple[Value, ...]] = [(n, f"c{n % 50}") for n in range(BRANCH_COUNT)]
    initial = {"accounts": accounts, "branches": branches}
    memory = MemoryView(initial)
    states = StateMap(catalog.tables, initial)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for schema in (ACCOUNTS, BRANCHES):
        connection.execute(schema)
    connection.executemany("INSERT INTO accounts VALUES (?, ?, ?, ?)", accounts)
    connection.executemany("INSERT INTO branches VALUES (?, ?)", branches)
    connection.execute("BEGIN")
    head = f"{'':22} {'sqlite us':>12} {'versioned us':>13} {'ratio':>7} {'rows':>7} {'plain':>7}\n"
    sys.stdout.write(head)
    for case in CASES:
        bound = bind(case.sql, tuple(Kind.INT for _ in case.arguments), catalog, dialect)
        run = compile_statement(bound.statement, catalog, dialect)
        arguments = case.arguments
        theirs = case.sql.replace("$1", "?1").replace("$2", "?2")

        def in_sqlite(sql: str = theirs, arguments: tuple[int, ...] = arguments) -> object:
            return connection.execute(sql, arguments).fetchall()

        def versioned(run: Run = run, arguments: tuple[int, ...] = arguments, reads: bool = False) -> object:
            view = RowView(states, "t", Choices(0), wanted=True) if reads else ConcreteView(states, "t", Choices(0))
            view.enter_statement(0)
            return run(view, arguments)

        def by_row(versioned: Callable[..., object] = versioned) -> object:
            return versioned(reads=True)

        def plain(run: Run = run, arguments: tuple[int, ...] = arguments) -> object:
            return run(memory, arguments)

        sqlite_us, ours, rows_us, plain_us = best((in_sqlite, versioned, by_row, plain), case.number)
        ratios = f"{ours / sqlite_us:7.2f} {rows_us / sqlite_us:7.2f} {plain_us / sqlite_us:7.2f}"
        sys.stdout.write(f"{case.name:22} {sqlite_us:12.2f} {ours:13.2f} {ratios}\n")


if __name__ == "__main__":
    main()
